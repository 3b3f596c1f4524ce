#!/usr/bin/env bash
# Which of these skips may not be? Reads lines "SUITE NAME: REASON", prints those that no entry of
# the list of allowed skips matches on this machine, and ends with 1 if there are any, with 2 if the
# list cannot be used.
#
# usage: scripts/check-skips.sh [LIST]        default: .ci/allowed-skips, whose first lines say what an entry is
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 2
list=${1:-.ci/allowed-skips}

# The patterns of all sections whose condition holds here.
patterns() {
    local line holds=yes
    while IFS= read -r line; do
        case $line in
        '' | '#'*) ;;
        'where '*) if bash -c "${line#where }" >/dev/null 2>&1; then holds=yes; else holds=no; fi ;;
        *) [ $holds = no ] || echo "$line" ;;
        esac
    done <"$list"
}

allowed=$(patterns) || exit 2
# No pattern at all must not be the empty one, which matches everything.
grep -v -x -E -f <(printf '%s' "${allowed:+$allowed$'\n'}")
status=$?
[ $status -le 1 ] || exit 2
exit $((1 - status))
