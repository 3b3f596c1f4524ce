#!/usr/bin/env bash
# Two ranks of MPI on two processors, the second with twice the work of the first, and a reduction over both after each
# piece: under one manager, where the rank that waits lends its processor (lending); the same where it spins
# (NUMAESTRO_LIBRARIES, leave); and without numaestro, one thread a rank and a processor for each (pinned). Then messages to
# and fro between two ranks that only wait for each other, and messages after two milliseconds of waiting. And a rank that
# computes while the other one does, and tests for its message 8 times after each 5 microseconds: its pieces of work. Interleaved
# rounds; seconds as the program measures them, launch not included; ratios of medians.
#
# The bound is this machine's: one rank alone, on one processor and on two, shows what a second processor is worth. The second half
# of the longer piece takes so much less time; lending must gain four fifths of that. The rounds of one run decide.
#
# usage: lab/bench/mpi_imbalance.sh [ROUNDS]   after `make build test-programs`; needs Open MPI or MPICH
#                                          (scripts/install-packages.sh mpi), taskset and two processors
#        SWEEPS=N ITERATIONS=N             the work of the first rank in a piece, and the pieces [default: 1000, 6]
set -eu -o pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-5} sweeps=${SWEEPS:-1000} iterations=${ITERATIONS:-6}
numaestro=$PWD/target/release/numaestro
dir=$(mktemp -d)
end() {
    "$numaestro" --dir "$dir/manager" stop >/dev/null 2>&1 || true
    rm -rf "$dir"
}
trap end EXIT
mkdir "$dir/manager"
"$numaestro" --dir "$dir/manager" daemon --cpus 0,1 --idle-exit 0 >"$dir/log" 2>&1 &
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# ranks IMPLEMENTATION HOW WORDS...: the program's line of JSON.
ranks() {
    local launcher=mpirun.$1 program=$PWD/build/tests/$1/ranks how=$2
    shift 2
    local run=("$numaestro" --dir "$dir/manager" run -- "$launcher" -bind-to none -n 2 "$program" "$@")
    case $how in
        lending) OMP_NUM_THREADS=2 "${run[@]}" ;;
        spinning) OMP_NUM_THREADS=2 NUMAESTRO_LIBRARIES=libopen-pal=leave,libmpich=leave "${run[@]}" ;;
        whole) OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive taskset -c 0,1 "$launcher" -n 2 "$program" "$@" ;;
        one) OMP_NUM_THREADS=1 taskset -c 0 "$launcher" -n 1 "$program" "$@" ;;
        two) OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive taskset -c 0,1 "$launcher" -n 1 "$program" "$@" ;;
        pinned)
            OMP_NUM_THREADS=1 "$launcher" -n 2 sh -c \
                'exec taskset -c "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" "$@"' rank "$program" "$@" ;;
    esac
}
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([0-9a-f.]*\).*/\1/p"; }
median() { sort -n "$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

for implementation in openmpi mpich; do
    [ -x "build/tests/$implementation/ranks" ] || { echo "skipped $implementation: its compiler is not here"; continue; }
    expected=$(ranks $implementation whole work "$iterations" "$sweeps" | field checksum)
    for _ in $(seq "$rounds"); do
        for how in one two; do
            ranks $implementation $how work "$iterations" "$sweeps" | field seconds >>"$dir/$implementation.$how"
        done
        for how in pinned lending spinning; do
            line=$(ranks $implementation $how work "$iterations" "$sweeps")
            [ $how = pinned ] || [ "$(field checksum <<<"$line")" = "$expected" ] || { echo "another result: $line" >&2; exit 1; }
            field seconds <<<"$line" >>"$dir/$implementation.$how"
            ranks $implementation $how overlap 8 5 | field pieces >>"$dir/$implementation.$how.pieces"
            for pause in 0 2000; do
                messages=$((pause == 0 ? 200000 : 500))
                line=$(ranks $implementation $how bounce $messages $pause)
                # Microseconds of a message there and back.
                field seconds <<<"$line" | awk -v n=$messages -v pause=$pause '{ print $1 * 1e6 / n - pause }' \
                    >>"$dir/$implementation.$how.$pause"
            done
        done
    done
    printf 'alone %s %s %s\n' $implementation "$(median "$dir/$implementation.one")" "$(median "$dir/$implementation.two")"
    for how in lending spinning pinned; do
        printf '%s %s %s %s %s %s\n' $implementation $how "$(median "$dir/$implementation.$how")" \
            "$(median "$dir/$implementation.$how.0")" "$(median "$dir/$implementation.$how.2000")" "$(median "$dir/$implementation.$how.pieces")"
    done
done | awk '
    BEGIN { printf "%-10s %-9s %10s %14s %16s %10s\n", "", "", "work, s", "message, us", "after 2 ms, us", "pieces" }
    $1 == "alone" { worth[$2] = $3 / $4; next }
    NF != 6 { print; next }
    { printf "%-10s %-9s %10.3f %14.2f %16.1f %10d\n", $1, $2, $3, $4, $5, $6; took[$1, $2] = $3; pieces[$1, $2] = $6; seen[$1] = 1 }
    END {
        for (name in seen)
            printf "%s: lending takes %.2f of the time of spinning, %.2f of one thread a rank\n", name,
                took[name, "lending"] / took[name, "spinning"], took[name, "lending"] / took[name, "pinned"]
        for (name in seen) {
            ideal = (1 + 1 / worth[name]) / 2
            printf "%s: two processors are worth %.2f, so without any cost it would be %.2f; promised is %.2f\n", name,
                worth[name], ideal, 1 - 0.8 * (1 - ideal)
        }
        for (name in seen)
            printf "%s: a rank that computes between tests does %.2f of the pieces where it spins\n", name,
                pieces[name, "lending"] / pieces[name, "spinning"]
    }'
