#!/usr/bin/env bash
# Compiles every C file of the client with every compiler that is here, warnings being errors, and its public header as
# C11 and as C++17. The load programs and the test programs have such flags in their own Makefiles. Then looks at the
# stub: it is in every process, so it must load everywhere and know all functions that the shim stands before.
set -u
cd "$(dirname "$0")/.." || exit 1
failures=0
flags=(-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -fPIC -Iclient/include -Iclient/src -fno-stack-protector)

has_spank() { echo "#include <slurm/spank.h>" | gcc -E - >/dev/null 2>&1; }
compile() { "$@" || { echo "failed: $*" >&2; failures=$((failures + 1)); }; }

for compiler in gcc clang; do
    command -v "$compiler" >/dev/null 2>&1 || { echo "check-c: no $compiler here, its half is left out"; continue; }
    for file in client/src/*.c client/fold/*.c client/glibc/*.c client/shim/*.c client/stub/*.c client/spank/*.c; do
        [ "$file" != client/spank/plugin.c ] || has_spank || { echo "check-c: no slurm/spank.h here, $file is left out"; continue; }
        [ -e "$file" ] && compile "$compiler" "${flags[@]}" -c "$file" -o /dev/null
    done
done
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
complain() { echo "check-c: $*" >&2; failures=$((failures + 1)); }

# stub COMPILER: builds it, and looks at what it asks of others.
stub() {
    local file=$scratch/$1/libnumaestro_preload.so
    compile make -s -C client CC="$1" BUILD="$scratch/$1" "$file" || return
    [ -e "$file" ] || return
    local dynamic undefined
    dynamic=$(readelf -W -d "$file")
    for tag in NEEDED FINI FINI_ARRAY VERNEED TEXTREL; do
        ! grep -q "($tag)" <<<"$dynamic" || complain "the stub of $1 has $tag"
    done
    undefined=$(nm -D --undefined-only "$file" | awk '$(NF - 1) != "w" { print $NF }')
    [ -z "$undefined" ] || complain "the stub of $1 does not load without" $undefined
}
for compiler in gcc clang aarch64-linux-gnu-gcc; do
    command -v "$compiler" >/dev/null 2>&1 || { echo "check-c: no $compiler here, its stub is left out"; continue; }
    stub "$compiler"
done

# The names in stub.h are those that the shim defines and the C library too, and ours; and fork, where only the stub gets ready.
# Without dlsym, which older C libraries keep in libdl, and bsd_signal, which newer ones keep for old programs only: the stub might find no next one.
if command -v gcc >/dev/null 2>&1; then
    compile make -s -C client CC=gcc BUILD="$scratch/gcc" "$scratch/gcc/libnumaestro_shim.so"
    defined() { nm -D --defined-only "$1" | awk '{ sub("@.*", "", $NF); print $NF }' | sort -u; }
    for library in libc.so.6 libpthread.so.0 libdl.so.2; do
        library=$(gcc -print-file-name=$library)
        [ ! -e "$library" ] || defined "$library"
    done | sort -u >"$scratch/libc"
    defined "$scratch/gcc/libnumaestro_shim.so" >"$scratch/shim"
    { comm -12 "$scratch/libc" "$scratch/shim"; grep '^numaestro_' "$scratch/shim"; echo fork; } | sort -u |
        grep -vxE 'dlsym|bsd_signal' >"$scratch/should"
    printf '#include "client/stub/stub.h"\n#define NAME(name) name_ #name\nNM_NAMES(NAME, NAME, NAME)\n' |
        gcc -I. -E -x c - | grep -o 'name_ "[A-Za-z_0-9]*"' | cut -d '"' -f 2 | sort -u >"$scratch/is"
    diff "$scratch/is" "$scratch/should" >&2 || complain "NM_NAMES in client/stub/stub.h (<) is not what the shim stands before (>)"
fi

for header in client/include/*.h crates/nanothreads/include/*.h; do
    [ -e "$header" ] || continue
    compile gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c "$header"
    ! command -v g++ >/dev/null 2>&1 || compile g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ "$header"
done
[ $failures -eq 0 ] || { echo "check-c: $failures file(s) failed" >&2; exit 1; }
