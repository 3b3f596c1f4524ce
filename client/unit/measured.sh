#!/bin/sh
# What the shim reports of programs whose speedup is known: `measured.sh DIRECTORY PRELOAD`, with measured and scales in the directory.
# A machine that others use as well gives no result, which is right; a wrong one is not.
set -u
export NUMAESTRO_ATTACH="$1/measured.attach" MEASURED_PRELOAD="$2"
bad=0

# fail TEXT
fail() {
    echo "FAILED measured: $1"
    bad=1
}

# run FLAGS MODE: results in $lines, the program's output in $said
run() {
    lines=$("$1/measured" "$2" 3 "$1/scales" "$3" 2 2>"$1/measured.said") || fail "$3 ended with $?"
    said=$(cat "$1/measured.said")
    results=$(echo "$lines" | grep -v page | awk '$2 == 2 {print $3}')
}

# real: 1000 times the speedup that the machine gives now, without the shim. Its two processors may be
# halves of one core, or others may use them.
real() {
    one=0
    two=0
    for _ in 1 2 3; do
        one=$((one + $(OMP_NUM_THREADS=1 "$dir/scales" rate 0.2)))
        two=$((two + $(OMP_NUM_THREADS=2 "$dir/scales" rate 0.2)))
    done
    echo $((1000 * two / one))
}

dir=$1
alone=$(OMP_NUM_THREADS=2 "$1/scales" scales 0)
if [ "$(nproc)" -lt 2 ]; then
    echo "skipped measured: one processor only"
    exit 0
fi
# Flags of the page: 8 = the user lets teams follow (class malleable), 32 = speedups are wanted, 1 = the processors are shared.
wanted=40
got=
for mode in scales locked; do
    run "$1" $wanted $mode
    [ "$said" = "$alone" ] || fail "$mode says '$said', not '$alone'"
    for milli in $results; do
        got="$got $mode=$milli"
        case $mode in
        scales)
            [ "$milli" -lt 1600 ] && now=$(real) && [ "$milli" -lt $((now * 85 / 100)) ] &&
                fail "scales: $milli, and $now by the number of regions"
            ;;
        locked) [ "$milli" -le 1300 ] || fail "locked: $milli" ;;
        esac
    done
done
run "$1" $wanted held
[ -z "$results" ] || fail "held teams are no measurement: $results"
[ "$said" = "$alone" ] || fail "held says '$said'"
run "$1" 32 scales
[ -z "$results" ] && echo "$lines" | grep -q "samples=0 " || fail "a whole team was measured: $lines"
[ "$said" = "$alone" ] || fail "a whole team says '$said'"
run "$1" 8 scales
[ -z "$results" ] && echo "$lines" | grep -q "samples=0 " || fail "measured although nobody asked: $lines"
run "$1" 41 scales
[ -z "$results" ] || fail "measured on shared processors: $results"
[ $bad = 1 ] && exit 1
echo "ok measured: nothing that must not be"
if [ -n "$got" ]; then echo "ok measured speedups:$got"; else echo "skipped measured speedups: no two quiet processors"; fi
