#!/usr/bin/env bash
# The rate at which Slurm starts short jobs: with numaestro's plugin, which registers every step with a manager and has every
# task managed, and on a cluster like it without the plugin. Rounds in turn; the ratio of the median rates.
#
# usage: lab/bench/slurm_launch.sh [JOBS [ROUNDS]]   after `make build`; needs slurm-wlm and libslurm-dev (scripts/install-packages.sh slurm)
set -eu -o pipefail
cd "$(dirname "$0")/../.."
jobs=${1:-500} rounds=${2:-3}
numaestro=$PWD/target/release/numaestro
plugin=$PWD/build/client/spank/numaestro.so
[ -e "$plugin" ] || { echo "slurm_launch: the plugin is not built: make spank" >&2; exit 1; }
dir=$(mktemp -d)
end() {
    "$numaestro" --dir "$dir/manager" stop >/dev/null 2>&1 || true
    for how in with without; do scripts/slurm-cluster.sh stop "$dir/$how" >/dev/null || true; done
    rm -rf "$dir"
}
trap end EXIT
mkdir -p "$dir/manager"
"$numaestro" --dir "$dir/manager" daemon --ignore-unmanaged --idle-exit 0 >"$dir/log" 2>&1 &
echo "optional $plugin command=$numaestro dir=$dir/manager default=on" >"$dir/plugstack.conf"
scripts/slurm-cluster.sh start "$dir/with" --nodes 1 --cpus 16 --set SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1 --plugstack "$dir/plugstack.conf" --with $$
scripts/slurm-cluster.sh start "$dir/without" --nodes 1 --cpus 16 --set SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1 --with $$

# one HOW: seconds until an array of so many jobs has ended.
one() {
    local begin=$EPOCHREALTIME
    SLURM_CONF=$dir/$1/slurm.conf sbatch -Q -W -n1 --array="1-$jobs" -o /dev/null --wrap=true >/dev/null
    awk -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { print end - begin }'
}
median() { sort -n "$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
for ((round = 0; round < rounds; round++)); do
    for how in without with; do one $how >>"$dir/$how.times"; done
done
awk -v jobs="$jobs" -v with="$(median "$dir/with.times")" -v without="$(median "$dir/without.times")" 'BEGIN {
    printf "%d jobs: %.1f a second with the plugin, %.1f without: %.3f of it\n", jobs, jobs / with, jobs / without, without / with }'
