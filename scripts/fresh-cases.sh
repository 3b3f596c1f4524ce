#!/usr/bin/env bash
# New cases for the engine, other ones every time: stories of its property test and seeds of the chaos runs, by turns, until the time is over.
#
#   scripts/fresh-cases.sh [SECONDS [CARGO-OPTION...]]      default: 60 seconds, the build that the tests have made
#
# Each round prints the seed that repeats it. The first round that fails is the last one.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-60}
[ $# -eq 0 ] || shift
stories=1000 runs=50
# The whole workspace, so that nothing is built anew after the tests.
packages=(--workspace)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# round COMMAND...: shows what a failed round has said.
round() {
    # A name that no test has any more would run nothing, and pass.
    env "$@" </dev/null >"$log" 2>&1 && grep -q '^test result: ok\. [1-9]' "$log" && return
    tail -n 60 "$log" | cut -c -400
    echo "FAILED fresh cases; to repeat: $*"
    echo "A story that failed is in tmp/failed.journal of the target directory: it belongs into crates/engine/tests/properties/kept."
    exit 1
}

cargo test --quiet --no-run "$@" "${packages[@]}" --test properties --test chaos || exit 1
told=0 seeds=0
SECONDS=0
while [ "$SECONDS" -lt "$seconds" ]; do
    seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
    echo "seed $seed"
    round PROPTEST_RNG_SEED="$seed" PROPTEST_CASES="$stories" cargo test --quiet "$@" "${packages[@]}" --test properties -- any_policy
    told=$((told + stories))
    round NUMAESTRO_FIRST_SEED="$seed" NUMAESTRO_CASES="$runs" cargo test --quiet "$@" "${packages[@]}" --test chaos -- comes_right
    seeds=$((seeds + runs))
done
echo "$told stories and $seeds chaos runs in $SECONDS s, all clean"
echo "1 passed, 0 failed"
