#!/bin/sh
# Runs every program in the given directories on 1, 2 and 4 threads, briefly:
# each result must be verified, each run must have had the team asked for, and
# the checksum must not depend on the team.
# usage: check.sh DIRECTORY...
set -u
failures=0
fail() { echo "FAILED $*" >&2; failures=$((failures + 1)); }
field() { printf '%s\n' "$2" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

# Short enough to be quick, long enough for the numerical checks to bite.
short() {
    case $1 in
    sor | sorp) echo "--size 64 --reps 400" ;;
    mem) echo "--size 24 --reps 2" ;;
    ltomcatv) echo "--reps 1" ;;
    bbma) echo "--size 8192 --reps 2" ;;
    *) echo "--reps 2" ;;
    esac
}

# Folded teams would otherwise spin through each other's time slices.
export OMP_WAIT_POLICY=passive

for directory; do
    for program in "$directory"/*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        name=${program##*/}
        for form in "" $(case $name in epd) echo --explicit ;; esac); do
            expected=
            for threads in 1 2 4; do
                # shellcheck disable=SC2046 # options are words
                line=$(OMP_NUM_THREADS=$threads "$program" --json $form $(short "$name"))
                status=$?
                what="$program $form on $threads threads"
                [ $status -eq 0 ] || fail "$what: exit code $status"
                [ "$(field verification "$line")" = ok ] || fail "$what: not verified: $line"
                sum=$(field checksum "$line")
                [ -n "$sum" ] && [ "$sum" = "${expected:=$sum}" ] ||
                    fail "$what: checksum $sum, on 1 thread $expected"
                case $name$form in
                hog | tbbsum | blas_mm | epd--explicit) ;;
                *) [ "$(field threads_max "$line")" = $threads ] || fail "$what: team: $line" ;;
                esac
            done
            echo "ok $program $form checksum $expected"
        done
    done
done

# The options themselves.
for directory; do
    line=$("$directory/sor" --json --size 64 --reps 10 --threads 3) || fail "sor --threads"
    [ "$(field threads_first "$line")" = 3 ] || fail "--threads 3 had no effect: $line"
    line=$("$directory/nbbma" --json --seconds 0.05) || fail "nbbma --seconds"
    awk "BEGIN { exit !($(field wall_s "$line") >= 0.05) }" || fail "--seconds ended early: $line"
    "$directory/sor" --help >/dev/null || fail "--help"
    for bad in "--size 1" "--size x" "--reps 0" "--threads 0" "--explicit" "--nonsense" "word"; do
        # shellcheck disable=SC2086
        "$directory/sor" $bad >/dev/null 2>&1 && fail "sor $bad was accepted"
    done
done

[ $failures -eq 0 ] || { echo "$failures checks failed" >&2; exit 1; }
