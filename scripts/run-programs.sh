#!/usr/bin/env bash
# Runs the Rust test programs of one kind (scripts/test-runner.sh), as many at a time as there are processors, each with one test at a time. Cargo
# runs one program after the other: while the last test of one waits, nobody computes. What a program prints is shown when it has ended.
#
# usage: scripts/run-programs.sh KIND [WORD]     only programs with this word in their names
set -u
cd "$(dirname "$0")/.." || exit 1

if [ "$1" = --one ]; then
    output=$(mktemp) began=$SECONDS
    bash "$2" >"$output" 2>&1
    status=$?
    {
        flock 9
        echo "     Running (${2##*/})"
        cat "$output"
        echo "== ${2##*/}: exit code $status, $((SECONDS - began)) s"
    } 9>>"${2%/*}/.printing"
    rm -f "$output"
    exit $status
fi

queue=$(mktemp -d) || exit 1
trap 'rm -rf "$queue"' EXIT
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-1}
NUMAESTRO_QUEUE=$queue NUMAESTRO_TESTS_OF=$1 cargo test --quiet --config 'target."cfg(unix)".runner = "scripts/test-runner.sh"' --no-fail-fast --workspace \
    --lib --bins --tests || exit 1
find "$queue" -type f -name "*${2-}*" | sort | xargs -r -P "$(nproc)" -n 1 "$0" --one
