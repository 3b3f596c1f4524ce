#!/usr/bin/env bash
# Tests the page of the dashboard: its types, its pure parts, that web/dist is what its source gives, and the page in a browser, with
# messages that are made up, and with a real manager. Needs a built numaestro, in $COMMAND or target/debug.
#
# usage: scripts/test-web.sh
set -u -o pipefail
cd "$(dirname "$0")/../web" || exit 1
COMMAND=$(realpath "../${COMMAND:-target/debug/numaestro}")
export COMMAND
for name in $(compgen -e | grep -E '^(NUMAESTRO|XDG)_'); do unset "$name"; done
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failures=0

# skip REASON CASE...
skip() {
    local reason=$1 name
    shift
    for name; do echo "skipped $name: $reason"; done
}

# check NAME COMMAND...: one case; what it says is shown if it fails.
check() {
    local name=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        echo "ok $name"
    else
        echo "FAILED $name"
        sed 's/^/    /' "$scratch/log"
        failures=$((failures + 1))
    fi
}

# in_browser NAME SCRIPT: a script that has cases of its own, each on a line.
in_browser() {
    local name=$1
    shift
    timeout --kill-after=10 300 "$@" >"$scratch/log" 2>"$scratch/errors"
    local status=$?
    if [ $status -eq 77 ]; then
        skip "$(sed -n 's/^skipped: //p' "$scratch/log")" "$name"
        return
    fi
    # Their own sums would count twice.
    grep -E '^(ok|FAILED) ' "$scratch/log"
    [ $status -eq 0 ] && return
    grep -q '^FAILED ' "$scratch/log" || echo "FAILED $name: it ended with $status"
    sed 's/^/    /' "$scratch/errors"
    failures=$((failures + 1))
}

cases=(types parts the_built_page_is_that_of_its_source page choice manager)
version=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/')
if [ "${version:-0}" -lt 20 ] || ! command -v npm >/dev/null; then
    skip "no Node.js of version 20 or later, with npm" "${cases[@]}"
    exit 0
fi
if ! [ node_modules/.package-lock.json -nt package-lock.json ] && ! npm ci --no-progress >"$scratch/npm" 2>&1; then
    if ! npm ping >/dev/null 2>&1; then
        skip "the packages of package-lock.json cannot be fetched" "${cases[@]}"
        exit 0
    fi
    check packages sh -c 'cat "$1"; false' sh "$scratch/npm"
    exit 1
fi
check types npm run --silent check
check parts npm test --silent
build() { DIST="$scratch/dist" npm run --silent build && diff -rq dist "$scratch/dist"; }
check the_built_page_is_that_of_its_source build
in_browser page node test/page.mjs
in_browser choice node test/choice.mjs
in_browser manager node test/manager.mjs
[ $failures -eq 0 ]
