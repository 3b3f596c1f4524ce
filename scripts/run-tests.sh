#!/usr/bin/env bash
# Runs every test suite, keeps going when one fails, and closes with the sum over all of them:
#
#   N passed, N failed, N skipped
#
# Before it stands each skip with its reason. A skip that .ci/allowed-skips does not have is an
# error where CI=true is set: a test must not go missing because something is not there that should
# be. Elsewhere it is only named.
#
# usage: scripts/run-tests.sh [quick]     quick: what a change is tried with in some minutes
# ONLY is a pattern for the names of the suites to be run, such as rust-pure or 'numa-*'. Clusters,
# guests, the runtimes' own suites and loom are run where ONLY names them, with WHOLE=yes, and where
# CI=true is set. COMMAND is another build of the command to be packaged than the one that the tests
# have made.
#
# The load programs and the test programs must be built before (`make test` does that). The output
# of each suite is kept below build/test-logs.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 1
only=${ONLY:-*}
[ "$only" = '*' ] && [ "${WHOLE:-}" != yes ] && [ "${CI:-}" != true ] || WHOLE=yes
# Tests that run make are told nothing of the make around them.
unset ONLY MAKEFLAGS MFLAGS MAKELEVEL
export COMMAND=${COMMAND:-target/debug/numaestro}
logs=build/test-logs
rm -rf "$logs"
mkdir -p "$logs"
: >"$logs/skips"
passed=0 failed=0 skipped=0 names=()
# The same cases every time, so that a change is judged by what it changes. New ones have a suite of
# their own, fresh-cases.
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-20261122}"

# wanted NAME...: whether one of these suites is asked for.
wanted() {
    local name
    for name; do
        # shellcheck disable=SC2053 # It is a pattern.
        [[ $name != $only ]] || return 0
    done
    return 1
}

# suite NAME COMMAND...: a suite that hangs is a failed suite.
suite() {
    local name=$1
    names+=("$name")
    wanted "$name" || return 0
    begin "$@" | tee "$logs/$name.log"
    count "$name"
}

# side_by_side: the suites whose names and commands are read, one a line, at the same time. They wait
# more than they compute, and measure nothing.
side_by_side() {
    local name command running=()
    while read -r name command; do
        names+=("$name")
        wanted "$name" || continue
        # shellcheck disable=SC2086 # Words of a command.
        begin "$name" $command >"$logs/$name.log" &
        running+=("$name")
    done
    wait
    for name in "${running[@]}"; do
        cat "$logs/$name.log"
        count "$name"
    done
}

# begin NAME COMMAND...: runs it; how it ended and how long it took is in $logs/NAME.end.
begin() {
    local name=$1 status since=$SECONDS
    shift
    echo "== $name: $*"
    timeout --kill-after=10 "${SUITE_SECONDS_MAX:-1200}" "$@" </dev/null 2>&1
    status=$?
    echo "$status $((SECONDS - since))" >"$logs/$name.end"
}

# count NAME: adds up what a suite has said.
count() {
    local name=$1 status seconds counts skips
    read -r status seconds <"$logs/$name.end"
    { read -r -a counts; mapfile -t skips; } < <(awk -f scripts/count-tests.awk "$logs/$name.log")
    [ ${#skips[@]} -eq 0 ] || printf "$name %s\\n" "${skips[@]}" >>"$logs/skips"
    # Not built, crashed or hung: the suite's own lines cannot tell.
    [ "$status" -ne 0 ] && [ "${counts[1]}" -eq 0 ] && counts[1]=1
    [ "${counts[*]}" != "0 0 0" ] || { echo "FAILED $name: nothing was run"; counts[1]=1; }
    [ "$status" -eq 124 ] && echo "== $name took too long and was ended"
    passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
    echo "== $name: ${counts[0]} passed, ${counts[1]} failed, ${counts[2]} skipped, in $seconds s"
}

# rust_suite KIND: the test programs of one kind (scripts/test-runner.sh). Cargo is always asked for
# the whole workspace: other selections of packages are other features of dependencies, for which it
# would compile nearly everything again.
rust_suite() {
    NUMAESTRO_TESTS_OF=$1 suite "rust-$1" \
        cargo test --config 'target."cfg(unix)".runner = "scripts/test-runner.sh"' --no-fail-fast --workspace --lib --bins --tests
}

# The test programs of the crates without processes, as options of cargo. Of two crates that have one
# of the same name cargo would make both, so those are left to the whole run.
pure_tests() {
    local path name
    for path in crates/*/tests/*.rs lab/sim/tests/*.rs; do
        name=$(basename "$path" .rs)
        case $path in crates/host/* | crates/daemon/* | crates/numaestro/*) continue ;; esac
        [ -e "crates/numaestro/tests/$name.rs" ] || echo "--test=$name"
    done
}

# loom COMMAND...: cargo for the two crates that loom checks. Its configuration is another one, so it
# has another directory.
loom() {
    CARGO_TARGET_DIR=build/loom RUSTFLAGS="--cfg loom" "$@" --profile loom -p numaestro-abi -p numaestro-nanothreads --lib --test loom
}

# guest NAME OPTIONS...: 77 says that there can be no guests here; they are counted as skipped then.
guest() {
    local name=$1
    shift
    SUITE_SECONDS_MAX=900 suite "$name" bash -c 'target/debug/numaestro-guest test "$@" || [ $? -eq 77 ]' guest "$@"
}

# A part of the guests with several NUMA nodes: the oddest machine, and homes and pages on four nodes.
# `make test-numa` boots them all. Their programs are those that the tests of the package have made.
# What is fetched before does not count as time of the suite.
guests() {
    ! wanted numa-odd numa-pages || lab/guest/fetch.sh || true
    guest numa-odd --numaestro "$COMMAND" --boot odd
    guest numa-pages --numaestro "$COMMAND" --boot four --only pages-
}

# What a newcomer need not wait for.
longer() {
    # The protocol of the page, and the scheduler of whole teams, under every interleaving.
    ! wanted loom || loom cargo test --no-run || echo "== loom does not build"
    loom suite loom cargo test --no-fail-fast
    guests
    # Some programs of the runtimes' own suites, others every time. A run that fails has printed the seed that repeats it.
    ! wanted suites || scripts/fetch-suites.sh || true
    suite suites cargo xtask suites --draw 60 --seconds 80 --alone-max 2 --command "$COMMAND"
}

# What a change is tried with: every unit test, and the tests of the crates without processes.
quick() {
    suite counting scripts/test-counting.sh
    local targets=(--workspace --lib --bins)
    mapfile -t -O "${#targets[@]}" targets < <(pure_tests | sort -u)
    cargo test --no-run "${targets[@]}" || echo "== the tests do not build"
    suite rust-quick cargo test --no-fail-fast "${targets[@]}"
}

whole() {
    suite counting scripts/test-counting.sh
    suite supply scripts/check-supply.sh
    # Once, for all suites that need them; what is compiled does not count as time of a suite.
    ! wanted rust-pure rust-doc fresh-cases rust-processes rust-clusters packaging wheel web numa-odd numa-pages ||
        cargo test --no-run --workspace || echo "== the tests do not build"
    rust_suite pure
    suite rust-doc cargo test --no-fail-fast --workspace --doc
    SUITE_SECONDS_MAX=3000 rust_suite processes
    [ "${WHOLE:-}" != yes ] || rust_suite clusters
    # What is installed, the package for Python, the page; and other cases every time, for a while, of which a round that fails prints the seed that
    # repeats it.
    side_by_side <<'SUITES'
fresh-cases scripts/fresh-cases.sh 40
packaging scripts/test-packaging.sh
wheel scripts/test-wheel.sh
web scripts/test-web.sh
SUITES
    [ "${WHOLE:-}" != yes ] || longer
    suite kernels make -s -C kernels check
    suite client make -s -j2 -O -C client check
}

# What went wrong, once more and in short: the reader of a long log looks at its end.
complaints() {
    grep -HE '^test .* (FAILED|has been running)|^FAILED |^fault |panicked at|process didn.t exit successfully|^== .*(too long|does not build)|^error(:|\[)' \
        "$logs"/*.log | head -n 60 | cut -c "$((${#logs} + 2))-400"
}

case ${1-whole} in
whole | quick) "${1-whole}" ;;
*) sed -n 's/^# usage: //p' "$0" >&2; exit 64 ;;
esac
echo
[ "${WHOLE:-}" = yes ] || [ "${1-}" = quick ] ||
    echo "not run, with targets of their own: make test-slurm test-containers test-mpi test-numa test-suites, and make test ONLY=loom"
sed 's/^/skipped: /' "$logs/skips"
unknown=$(scripts/check-skips.sh <"$logs/skips")
allowed=$?
[ $allowed -eq 0 ] || { echo "These skips are not in .ci/allowed-skips:"; echo "${unknown:-The list cannot be used.}"; }
[ "${CI:-}" = true ] || allowed=0
wanted "${names[@]}" || echo "No suite is called $only: ${names[*]}"
[ "$failed" -eq 0 ] || { complaints; echo "The logs of the suites are in $logs."; }
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ] && [ $allowed -eq 0 ]
