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
    tbbsum) echo "--reps 2 --threads $2" ;;
    *) echo "--reps 2" ;;
    esac
}

# Folded teams would otherwise spin through each other's time slices.
export OMP_WAIT_POLICY=passive

for directory; do
    for program in "$directory"/*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        name=${program##*/}
        case $name in *.so) continue ;; esac
        for form in "" $(case $name in epd) echo --explicit ;; esac); do
            expected=
            for threads in 1 2 4; do
                # shellcheck disable=SC2046 # options are words
                line=$(OMP_NUM_THREADS=$threads timeout 60 "$program" --json $form $(short "$name" $threads))
                status=$?
                what="$program $form on $threads threads"
                [ $status -eq 0 ] || fail "$what: exit code $status"
                [ "$(field verification "$line")" = ok ] || fail "$what: not verified: $line"
                sum=$(field checksum "$line")
                [ -n "$sum" ] && [ "$sum" = "${expected:=$sum}" ] ||
                    fail "$what: checksum $sum, on 1 thread $expected"
                case $name$form in
                hog) [ "$(field regions "$line")" = 0 ] || fail "$what: it has regions: $line" ;;
                epd--explicit) [ "$(field threads_max "$line")" = 8 ] || fail "$what: team: $line" ;;
                tbbsum) [ "$(field threads_max "$line")" -le $threads ] || fail "$what: team: $line" ;;
                blas_mm) ;; # its threads are the library's affair
                *) [ "$(field threads_max "$line")" = $threads ] || fail "$what: team: $line" ;;
                esac
            done
            # A team of another size at every region. epd --explicit and --threads have asked.
            meddle=$directory/meddle.so
            if [ -f "$meddle" ]; then
                # shellcheck disable=SC2046
                line=$(LD_PRELOAD=$(realpath "$meddle") TEAM_CYCLE=3 OMP_NUM_THREADS=3 \
                    timeout 60 "$program" --json $form $(short "$name" 2))
                [ "$(field checksum "$line")" = "$expected" ] && [ "$(field verification "$line")" = ok ] ||
                    fail "$program $form with changing teams: $line"
                case $name$form in
                hog | tbbsum | blas_mm | sorp | epd--explicit) ;;
                *) [ "$(field team_changes "$line")" -gt 0 ] || fail "the team did not change: $line" ;;
                esac
            fi
            echo "ok $program $form checksum $expected"
        done
    done
done

# Nothing in a program may tie it to a team size: no question for the maximum,
# no thread number without the team's size, no thread-local storage.
for directory; do
    for program in "$directory"/*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        case ${program##*/} in *.so) continue ;; esac
        nm -u "$program" | grep -q 'omp_get_max_threads' && fail "$program asks for the maximum"
        readelf -lW "$program" | grep -q '^ *TLS' && fail "$program has thread-local storage"
    done
done

# A result that lacks one thread's share of one region must be noticed.
for directory; do
    meddle=$directory/meddle.so
    [ -f "$meddle" ] || continue
    for program in "$directory"/*; do
        name=${program##*/}
        case $name in
        *.so | *.o) continue ;;
        hog | tbbsum | blas_mm) continue ;; # no regions of their own
        sorp) continue ;;                   # its threads would wait for the lost one
        esac
        case $name in
        cg | epd | fft | ft | ltomcatv | mem | neural | sor) regions="2 3 4 5 6 7 8 9" ;;
        simplex) regions="3 6 9" ;; # in the others the team waits for the lost thread
        *) regions="1 2" ;; # they have no more in this short a run
        esac
        for region in $regions; do
            # shellcheck disable=SC2046
            line=$(LD_PRELOAD=$(realpath "$meddle") LOST_REGION=$region OMP_NUM_THREADS=2 \
                timeout 60 "$program" --json $(short "$name") 2>/dev/null) &&
                fail "$program did not notice a share lost in region $region: $line"
            [ "$(field verification "$line")" = FAILED ] ||
                fail "$program with a share lost in region $region reported: $line"
        done
    done
    echo "ok $directory: lost shares are noticed"
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
