#!/bin/sh
# tsan.sh - the scheduler of whole teams under ThreadSanitizer: it must find nothing in the stress programs, and
# the race that fold.c makes when it is asked to.
#
# Arguments: a compiler, where to put what it makes, the seed. TEAM: the scheduler's files. In the directory of the Makefile.
set -u
compiler=$1 made=$2 seed=$3
fail() {
    echo "FAILED tsan with $compiler: $1"
    exit 1
}
skip() {
    echo "skipped tsan with $compiler: $1"
    exit 0
}
mkdir -p "$made"
echo 'int main(void) { return 0; }' >"$made/probe.c"
"$compiler" -fsanitize=thread "$made/probe.c" -o "$made/probe" 2>"$made/probe.log" || skip "it has no runtime library for it here"
# Where the kernel spreads memory wider than the runtime library knows, no program starts.
"$made/probe" >"$made/probe.log" 2>&1 || skip "its programs do not start here: $(head -n 1 "$made/probe.log")"
# gcc warns of fences, whose order ThreadSanitizer does not know; nothing here needs that to be in order. It also warns of
# functions that must be inlined and do not say `inline`.
quiet=
case $("$compiler" --version) in *clang*) ;; *) quiet='-Wno-tsan -Wno-attributes' ;; esac
for program in signals fold; do
    # shellcheck disable=SC2086
    "$compiler" -O1 -g -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror $quiet -Isrc -fsanitize=thread unit/$program.c \
        $TEAM -pthread -lm -o "$made/$program-tsan" || fail "$program does not build"
    timeout 120 "$made/$program-tsan" 0.5 "$seed" >"$made/tsan.log" 2>&1
    status=$?
    if [ $status -ne 0 ]; then
        head -n 60 "$made/tsan.log"
        fail "the stress program $program ended with $status"
    fi
done
grep -q '^skipped' "$made/tsan.log" && skip "no user-space switching here"
timeout 120 "$made/fold-tsan" race "$seed" >"$made/race.log" 2>&1
status=$?
if [ $status -ne 66 ] || ! grep -q 'SUMMARY: ThreadSanitizer: data race .*fold.c:.* in work' "$made/race.log"; then
    head -n 60 "$made/race.log"
    fail "a race was not found (status $status)"
fi
echo "ok tsan: $(tail -n 1 "$made/tsan.log" | cut -d ' ' -f 3-); a race is found"
