#!/bin/sh
# Cargo's runner for tests: runs a test program if it is of the kind that NUMAESTRO_TESTS_OF asks
# for. `clusters`: those that need Slurm, containers or MPI. `processes`: the others that start
# programs and managers. `pure`: all others. Each program is of exactly one kind.
#
# usage: scripts/test-runner.sh PROGRAM ARGUMENTS...        CARGO_PKG_NAME is its package
processors=$(nproc)
case ${CARGO_PKG_NAME:?cargo says the package} in
# Its tests change affinity, signals and limits of the process that they all run in.
numaestro-host) kind=processes threads=1 ;;
# They wait more than they compute. Those that measure have the machine for themselves
# (numaestro_skip::machine).
numaestro-daemon | numaestro-manager | numaestro | numaestro-lab) kind=processes threads=$processors ;;
*) kind=pure threads=$processors ;;
esac
case $1 in */slurm-* | */containers-* | */mpi-*) kind=clusters ;; esac
[ "${NUMAESTRO_TESTS_OF:?pure, processes or clusters}" = "$kind" ] || exit 0
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$threads}"
# Whoever starts the tests in the background may have these ignored, which programs inherit.
exec env --default-signal=INT,QUIT "$@"
