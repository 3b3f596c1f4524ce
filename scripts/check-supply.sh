#!/usr/bin/env bash
# Whether the crates of others are those that deny.toml lets in. One line for each check, as scripts/count-tests.awk counts them.
#
# Where Cargo.lock has its crates from is looked at everywhere. The rest is cargo-deny's (`cargo install cargo-deny --locked`), and
# advisories need RustSec's database: it is fetched, or an earlier copy is asked.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 1
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# check NAME COMMAND...: shows what the command has said where it fails.
check() {
    local name=$1
    shift
    if "$@" </dev/null >"$log" 2>&1; then
        echo "ok $name"
    else
        cat "$log"
        echo "FAILED $name"
        failed=1
    fi
}

# locked: each crate that is not ours is crates.io's, and has its checksum.
locked() {
    awk -v RS= '/\nsource = / && (!/\nsource = "registry\+https:\/\/github\.com\/rust-lang\/crates\.io-index"\n/ || !/\nchecksum = "[0-9a-f]+"/) { print; wrong = 1 }
        END { exit wrong || NR < 100 }' "${1:-Cargo.lock}"
}

# refused: a lock file in which one crate is from elsewhere.
refused() {
    local other
    other=$(sed '0,/^source = .*/s//source = "git+https:\/\/example.org\/x"/' Cargo.lock)
    ! locked <(echo "$other")
}

check "every crate is locked to crates.io" locked
check "a crate from elsewhere is found" refused
if cargo deny --version >"$log" 2>&1; then
    for what in licenses bans sources; do
        check "$what" cargo deny --offline check "$what"
    done
    if timeout 120 cargo deny fetch db </dev/null >"$log" 2>&1; then
        check advisories cargo deny check advisories
    elif [ -n "$(find "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs" -maxdepth 2 -name .git 2>"$log")" ]; then
        check advisories cargo deny --offline check advisories
    else
        echo "skipped advisories: the database of advisories does not answer, and no copy is here"
    fi
else
    echo "skipped deny: cargo-deny is not here"
fi
exit $failed
