#!/bin/sh
# Cargo's runner for tests: runs a test program if its package is one of those that
# NUMAESTRO_TESTS_OF asks for. `processes`: those that start programs and managers. `pure`: all
# others. Each program is in exactly one of the two.
#
# usage: scripts/test-runner.sh PROGRAM ARGUMENTS...        CARGO_PKG_NAME is its package
case ${CARGO_PKG_NAME:?cargo says the package} in
numaestro-host | numaestro-daemon | numaestro) kind=processes ;;
*) kind=pure ;;
esac
[ "${NUMAESTRO_TESTS_OF:?pure or processes}" = "$kind" ] || exit 0
exec "$@"
