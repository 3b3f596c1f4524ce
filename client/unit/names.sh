#!/bin/sh
# names.sh - the shim against the OpenMP libraries that are here: `names.sh SHIM [LIBRARY...]`, in the directory of the
# Makefile. A function that sets or opens something must not pass by the shim while a team is held, in no form that Fortran
# has for it (`_`, and `_8_` for integers of 8 bytes).
set -u
shim=$1
shift
command -v nm >/dev/null || {
    echo "skipped names: no nm here"
    exit 0
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

# exports FILE: the names of its functions and variables
exports() {
    nm -D --defined-only "$1" 2>/dev/null | awk 'NF == 3 && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u
}

# quoted FROM TO: the strings in kmp_outside.c between two lines
quoted() {
    sed -n "/$1/,/$2/p" shim/kmp_outside.c | grep -o '"[A-Za-z_0-9]*"' | tr -d '"'
}

# What looks at no team, or only at the state that the shim's copies hold (libgomp). What begins in libgomp's own list with
# GOMP_ neither opens a region nor waits at a barrier; watch.c sees those that wait otherwise. The last lines: whole.c refuses.
harmless_gomp='omp_(get|in|is)_.*|omp_(init|destroy|set|unset|test)_(nest_)?lock_?|omp_(init|destroy)_allocator_?(8_)?
omp_target_.*|omp_(aligned_)?(alloc|calloc|realloc|free)
GOMP_loop_.*_(start|next)|GOMP_loop_(start|end_nowait)|GOMP_(sections2|single|scope)_start|GOMP_sections_end_nowait
GOMP_(critical|atomic)_.*|GOMP_ordered_end|GOMP_doacross_.*|GOMP_cancel|GOMP_cancellation_point|GOMP_task(wait|yield|group)_?.*
GOMP_task_reduction_remap|GOMP_workshare_task_reduction_unregister|GOMP_PLUGIN_.*|GOMP_offload_.*
GOMP_(alloc|free|add_alloc|is_alloc|error|warning|parallel_end)|GOMP_target_(update|enter|data|end|map).*
GOMP_parallel_(.*_)?start|GOMP_target(_ext|_41)?|GOMP_teams(4|_reg)?'
# What libomp and the shim's list of harmless names call harmless, although it sets or opens something.
sets='_(set|pause|push|fork_call|barrier|reduce|defaults|library|stacksize|blocktime|taskloop|task)(_|$)|_(parallel|fulfill)_'
no_settings='_get_|_(set|unset|test|init|destroy)_(nest_)?lock|kmp_set_warnings_o(n|ff)|kmp_set_thread_affinity_mask_initial'
one_line() {
    printf '%s' "$1" | tr '\n' '|'
}

exports "$shim" >"$scratch/shim"
quoted 'Wrapped' '^static bool is_runtimes' | grep -v '^_*kmp$\|^omp$\|^GOMP_$' >"$scratch/wrapped"
quoted 'static bool is_harmless' 'names\[\] = ' >"$scratch/beginnings"
quoted 'names\[\] = {$' 'Wrapped' >"$scratch/listed"
[ -s "$scratch/wrapped" ] && [ -s "$scratch/beginnings" ] && [ -s "$scratch/listed" ] || {
    echo "FAILED names: the lists of kmp_outside.c are not found"
    exit 1
}

# missing FILE KIND: complains of each name on stdin
missing() {
    while read -r name; do
        echo "FAILED names: $2 ${name} of $1"
    done >"$scratch/said"
    [ -s "$scratch/said" ] && cat "$scratch/said" && bad=1
}

gomp() {
    grep -E '^(omp|ompx|GOMP)_' "$scratch/library" | grep -Ev "^($(one_line "$harmless_gomp"))\$" |
        comm -23 - "$scratch/shim" >"$scratch/unknown"
    missing "$1" "the shim does not know" <"$scratch/unknown"
}

kmp() {
    # Wrapped means wrapped in each form.
    while read -r name; do
        printf '%s\n%s_\n%s_8_\n' "$name" "$name" "$name"
    done <"$scratch/wrapped" | sort -u | comm -12 - "$scratch/library" | comm -23 - "$scratch/shim" >"$scratch/unknown"
    missing "$1" "no wrapper for" <"$scratch/unknown"
    grep -E '^__kmpc_(fork_|push_num_threads|serialized_)' "$scratch/library" | comm -23 - "$scratch/shim" >"$scratch/unknown"
    missing "$1" "no wrapper for" <"$scratch/unknown"
    # A name that the list lets pass must set nothing. What is on no list keeps a program from being folded.
    comm -23 "$scratch/library" "$scratch/shim" | grep -E '^(omp|ompx|kmp|__kmpc)_' >"$scratch/not_ours"
    while read -r name; do
        plain=${name%_}
        plain=${plain%_8}
        if grep -qx "$plain" "$scratch/listed" || awk -v name="$name" 'index(name, $0) == 1 { found = 1 }
            END { exit !found }' "$scratch/beginnings"; then
            echo "$name" | grep -E "$sets" | grep -Ev "$no_settings" >>"$scratch/sets"
        else
            echo "$name" >>"$scratch/left"
        fi
    done <"$scratch/not_ours"
    missing "$1" "harmless it is not:" <"$scratch/sets"
}

if [ $# = 0 ]; then
    # shellcheck disable=SC2046
    set -- $(gcc -print-file-name=libgomp.so.1 2>/dev/null) $(clang -print-file-name=libomp.so.5 2>/dev/null) \
        $(ldconfig -p 2>/dev/null | sed -n 's,.*=> \(.*/lib\(gomp\|i\?omp5\?\)\.so.*\),\1,p') \
        $(find ../build/venv -name 'lib*omp*.so*' 2>/dev/null)
fi
: >"$scratch/seen"
: >"$scratch/left"
for library in "$@"; do
    [ -e "$library" ] || continue
    real=$(readlink -f "$library")
    grep -qxF "$real" "$scratch/seen" && continue
    echo "$real" >>"$scratch/seen"
    exports "$real" >"$scratch/library"
    : >"$scratch/sets"
    if grep -qx __kmpc_fork_call "$scratch/library"; then
        kmp "$real"
    elif grep -qx GOMP_parallel "$scratch/library"; then
        gomp "$real"
    fi
done
[ $bad = 0 ] || exit 1
if [ -s "$scratch/seen" ]; then
    echo "ok names: $(wc -l <"$scratch/seen") OpenMP libraries; programs that import one of $(wc -l <"$scratch/left")" \
        "names of libomp are left to the kernel"
else
    echo "skipped names: no OpenMP library here"
fi
