#!/usr/bin/env bash
# Two jobs of Slurm that are given the same two processors: plain, by Slurm's task prolog under one manager, and split by
# hand with one thread each. Seconds until both have ended, launch included; interleaved rounds; ratios of medians.
#
# usage: lab/bench/slurm_pair.sh [ROUNDS]   after `make build kernels`; needs slurm-wlm (scripts/install-packages.sh slurm), taskset
#                                       and two processors
set -eu -o pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-3}
numaestro=$PWD/target/release/numaestro
kernels=$PWD/build/kernels/gcc
dir=$(mktemp -d)
end() {
    "$numaestro" --dir "$dir/manager" stop >/dev/null 2>&1 || true
    scripts/slurm-cluster.sh stop "$dir/cluster" >/dev/null || true
    rm -rf "$dir"
}
trap end EXIT
printf '#!/bin/sh\n[ -z "$PLAIN" ] || exit 0\nexec %s --dir %s shell --task-prolog\n' "$numaestro" "$dir/manager" >"$dir/prolog"
chmod +x "$dir/prolog"
scripts/slurm-cluster.sh start "$dir/cluster" --nodes 1 --oversubscribe 2 --task-prolog "$dir/prolog" --with $$
export SLURM_CONF=$dir/cluster/slurm.conf
mkdir -p "$dir/manager"
"$numaestro" --dir "$dir/manager" daemon --ignore-unmanaged --idle-exit 0 >"$dir/log" 2>&1 &

# job WORDS...: one task on both processors of the node.
job() { srun -Q -n1 -c2 "$@" >/dev/null; }
# both HOW PROGRAM REPS: seconds.
both() {
    local how=$1 program=$2 reps=$3 begin
    begin=$EPOCHREALTIME
    case $how in
        split) PLAIN=1 job taskset -c 0 "$program" --reps "$reps" --threads 1 & PLAIN=1 job taskset -c 1 "$program" --reps "$reps" --threads 1 ;;
        plain) PLAIN=1 job "$program" --reps "$reps" & PLAIN=1 job "$program" --reps "$reps" ;;
        managed) job "$program" --reps "$reps" & job "$program" --reps "$reps" ;;
    esac
    wait $!
    awk -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { print end - begin }'
}
median() { sort -n "$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

for load in sor:30000 cg:1000; do
    name=${load%:*} reps=${load#*:}
    for _ in $(seq "$rounds"); do
        for how in split managed plain; do both $how "$kernels/$name" "$reps" >>"$dir/$name.$how"; done
    done
    awk -v name="$name" -v split_s="$(median "$dir/$name.split")" -v managed="$(median "$dir/$name.managed")" -v plain="$(median "$dir/$name.plain")" \
        'BEGIN { printf "%s: managed %.2f of the split, plain %.1f times managed (medians: split %.2f s, managed %.2f s, plain %.2f s)\n", name, managed / split_s, plain / managed, split_s, managed, plain }'
done
