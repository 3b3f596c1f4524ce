#!/usr/bin/env bash
# Which mutants of the engine and the contract survive their own tests, the chaos runs and the stories: cargo-mutants, where it is installed.
#
#   scripts/mutants.sh [CARGO-MUTANTS-OPTION...]      for example --file crates/engine/src/queue.rs
#
# Hours for all of them. The list of survivors is in build/mutants.out/missed.txt.
set -u
cd "$(dirname "$0")/.." || exit 1
if ! cargo mutants --version >/dev/null 2>&1; then
    echo "skipped mutants: cargo-mutants is not here (cargo install cargo-mutants --locked)"
    exit 0
fi
mkdir -p build
exec cargo mutants --package numaestro-engine --package numaestro-contract \
    --test-package numaestro-engine --test-package numaestro-contract --test-package numaestro-sim --output build "$@"
