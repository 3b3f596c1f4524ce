#!/usr/bin/env bash
# Whether what counts the tests counts right, and whether a skip that is not allowed is found. Needs
# nothing but awk and grep.
set -u
cd "$(dirname "$0")/.." || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failures=0

# expect WHAT WANTED GOT
expect() {
    if [ "$2" = "$3" ]; then
        echo "ok $1"
    else
        printf 'FAILED %s\n    wanted: %s\n    got: %s\n' "$1" "$2" "$3"
        failures=$((failures + 1))
    fi
}
# What is counted in the log on standard input, in one line.
counted() { awk -f scripts/count-tests.awk | tr '\n' '|'; }
# What may not be of the skips $2, with the list $1.
not_allowed() { printf '%s\n' "$1" >"$scratch/list"; printf '%s\n' "$2" | scripts/check-skips.sh "$scratch/list"; echo "$?"; }

# Who runs the test program $2 of package $1.
runs() {
    local which
    ln -sf "$(type -P echo)" "$scratch/$2-0123456789abcdef"
    for which in pure processes clusters; do
        NUMAESTRO_TESTS_OF=$which CARGO_PKG_NAME=$1 scripts/test-runner.sh "$scratch/$2-0123456789abcdef" $which
    done | tr '\n' ' '
}
expect "a test program of a pure crate runs once" 'pure ' "$(runs numaestro-sim chaos)"
expect "a test program that starts others runs once" 'processes ' "$(runs numaestro exec)"
expect "a test program that needs a cluster runs once" 'clusters ' "$(runs numaestro slurm)"
# How many tests of package $1 run at the same time; $2 was asked for.
at_once() {
    local which
    for which in pure processes; do
        env -u RUST_TEST_THREADS ${2:+RUST_TEST_THREADS=$2} NUMAESTRO_TESTS_OF=$which CARGO_PKG_NAME=$1 scripts/test-runner.sh \
            sh -c 'echo "$RUST_TEST_THREADS"'
    done
}
expect "tests that wait for others run side by side" "$(nproc)" "$(at_once numaestro)"
expect "tests that change their own process run one at a time" 1 "$(at_once numaestro-host)"
expect "who asks for a number has it" 3 "$(at_once numaestro 3)"

expect "a test that skips itself has not passed" '3 0 1|a::b: no root|' "$(counted <<'END'
     Running tests/one.rs (target/debug/deps/one-0123456789abcdef)
test a::a ... ok
test a::b ... 
skipped test a::b: no root
ok
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
END
)"
expect "two lines of a test are one skip, two tests of one name are two" '1 0 2|a: no root|a: one processor only|' "$(counted <<'END'
     Running tests/one.rs (target/debug/deps/one-0123456789abcdef)
skipped test a: no root
skipped test a: one processor only
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running tests/two.rs (target/debug/deps/two-0123456789abcdef)
skipped test a: no root
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
END
)"
expect "a test without one of its cases has passed" '1 0 0|a in part: no clang|' "$(counted <<'END'
skipped in part a: no clang
skipped in part a: no clang
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
END
)"
expect "an ignored test is skipped" '1 0 2|a::b: slow|c: no reason given|' "$(counted <<'END'
test a::b ... ignored, slow
test c ... ignored
test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s
END
)"
expect "checks of scripts and C programs" '6 1 3|fold with gcc: no user-space switching here|words without an end: no reason given|' "$(counted <<'END'
ok one
FAILED two
skipped fold with gcc: no user-space switching here
skipped words without an end
5 passed, 0 failed, 1 skipped
END
)"
expect "nothing said, nothing counted" '0 0 0|' "$(counted </dev/null)"

list='# Where there is no such thing.
where true
client tsan with [a-z]+: no runtime.*
where false
rust .*: one processor only'
expect "a skip on the list is allowed" 0 "$(not_allowed "$list" 'client tsan with gcc: no runtime library')"
expect "a skip off the list is not" $'client fold: no runtime library\n1' "$(not_allowed "$list" 'client fold: no runtime library')"
expect "a skip whose condition does not hold is not" $'rust a: one processor only\n1' "$(not_allowed "$list" 'rust a: one processor only')"
expect "a pattern matches whole lines" $'xclient tsan with gcc: no runtime\n1' "$(not_allowed "$list" 'xclient tsan with gcc: no runtime')"
expect "an empty list allows nothing" $'a b: c\n1' "$(not_allowed '' 'a b: c')"
expect "without skips every list will do" 0 "$(scripts/check-skips.sh "$scratch/list" </dev/null; echo $?)"
expect "a list that is not there is a failure" 2 "$(scripts/check-skips.sh "$scratch/none" </dev/null 2>/dev/null; echo $?)"
expect "a pattern that is none is a failure" 2 "$(not_allowed 'a (b' 'a b: c' 2>/dev/null)"

# The last line of .ci/run and its exit code, where `make test-fresh` says $1 and ends with $2, `make test` $3 and $4, and `make check` $5.
closing() {
    local clone=$scratch/clone
    mkdir -p "$clone/.ci" "$clone/scripts"
    cp .ci/run .ci/allowed-skips "$clone/.ci"
    cp scripts/count-tests.awk scripts/check-skips.sh "$clone/scripts"
    printf 'test-fresh:\n\t@printf %%b "$$FRESH"; exit %s\ncheck:\n\t@exit %s\ntest:\n\t@printf %%b "$$TEST"; exit %s\n' "$2" "${5:-0}" "$4" >"$clone/Makefile"
    FRESH=$1 TEST=$3 MAKEFLAGS='' "$clone/.ci/run" 2>/dev/null | tail -n 1
    echo "${PIPESTATUS[0]}"
}
expect "CI adds both sums" $'12 passed, 0 failed, 3 skipped\n0' "$(closing 'ok a\nok b\n' 0 '10 passed, 0 failed, 3 skipped\n' 0)"
expect "CI fails for a newcomer's failure" $'11 passed, 1 failed, 0 skipped\n1' "$(closing 'ok a\nFAILED b\n' 1 '10 passed, 0 failed, 0 skipped\n' 0)"
expect "CI fails where a newcomer's commands end early" $'10 passed, 1 failed, 0 skipped\n1' "$(closing '' 1 '10 passed, 0 failed, 0 skipped\n' 0)"
expect "CI fails for a skip that may not be" $'10 passed, 0 failed, 1 skipped\n1' "$(closing 'skipped roots: I know not why\n' 0 '10 passed, 0 failed, 0 skipped\n' 0)"
expect "CI fails where the tests come to no end" $'1 passed, 1 failed, 0 skipped\n1' "$(closing 'ok a\n' 0 'nothing\n' 2)"
expect "CI fails for a test" $'11 passed, 2 failed, 0 skipped\n1' "$(closing 'ok a\n' 0 '10 passed, 2 failed, 0 skipped\n' 1)"
expect "CI fails for a check" $'11 passed, 0 failed, 0 skipped\n1' "$(closing 'ok a\n' 0 '10 passed, 0 failed, 0 skipped\n' 0 1)"
[ $failures -eq 0 ]
