#!/bin/sh
# contexts.sh - scripts/contexts.gdb shows a folded team, and the program goes on afterwards.
#
# Argument: the program of waits.c, with debug information.
set -u
script=$(dirname "$0")/../../scripts/contexts.gdb
fail() {
    echo "FAILED contexts: $1"
    echo "$shown"
    exit 1
}
skip() {
    echo "skipped contexts: $1"
    exit 0
}
[ "$(uname -m)" = x86_64 ] || skip "the script is for x86-64"
command -v gdb >/dev/null || skip "gdb is not here"
shown=$("$1") || fail "the program by itself"
case $shown in skipped*) skip "${shown#*: }" ;; esac
shown=$(DEBUGINFOD_URLS='' gdb -q -nx -batch -ex 'set pagination off' -ex "source $script" -ex 'break stop_here' -ex run \
    -ex contexts -ex up -ex 'context 3' -ex 'context 0' -ex 'context 2' -ex continue "$1" 2>&1)
case $shown in *ptrace*"not permitted"* | *"Could not trace"*) skip "processes may not be traced here" ;; esac
[ "$(echo "$shown" | grep -c ' waits, stack pointer 0x')" = 3 ] || fail "three threads wait"
[ "$(echo "$shown" | grep -c ' 2  runs on LWP ')" = 1 ] || fail "thread 2 runs"
[ "$(echo "$shown" | grep -c 'solve (me=')" = 3 ] || fail "two backtraces and the frame of \`up\` show solve"
echo "$shown" | grep -q ' main ()' || fail "thread 0 was called by main"
echo "$shown" | grep -q 'thread 2 runs on LWP' || fail "thread 2 has no context that waits"
echo "$shown" | grep -q 'all threads have gone home' || fail "the program goes on"
echo "$shown" | grep -q 'exited normally' || fail "the program ends"
echo "ok contexts: threads that wait in user space can be seen"
