#!/bin/sh
# Cargo's runner for tests: runs a test program if its package is one of those that
# NUMAESTRO_TESTS_OF asks for. `processes`: those that start programs and managers. `pure`: all
# others. Each program is in exactly one of the two.
#
# usage: scripts/test-runner.sh PROGRAM ARGUMENTS...        CARGO_PKG_NAME is its package
processors=$(nproc)
case ${CARGO_PKG_NAME:?cargo says the package} in
# Its tests change affinity, signals and limits of the process that they all run in.
numaestro-host) kind=processes threads=1 ;;
# They wait more than they compute. Those that measure have the machine for themselves
# (numaestro_skip::machine).
numaestro-daemon | numaestro) kind=processes threads=$processors ;;
*) kind=pure threads=$processors ;;
esac
[ "${NUMAESTRO_TESTS_OF:?pure or processes}" = "$kind" ] || exit 0
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$threads}"
exec "$@"
