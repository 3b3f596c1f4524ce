#!/usr/bin/env bash
# Compiles every C file of the client with every compiler that is here, warnings being errors, and its public header as
# C11 and as C++17. The load programs and the test programs have such flags in their own Makefiles.
set -u
cd "$(dirname "$0")/.." || exit 1
failures=0
flags=(-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -fPIC -Iclient/include -Iclient/src -fno-stack-protector)

has_spank() { echo "#include <slurm/spank.h>" | gcc -E - >/dev/null 2>&1; }
compile() { "$@" || { echo "failed: $*" >&2; failures=$((failures + 1)); }; }

for compiler in gcc clang; do
    command -v "$compiler" >/dev/null 2>&1 || { echo "check-c: no $compiler here, its half is left out"; continue; }
    for file in client/src/*.c client/fold/*.c client/glibc/*.c client/shim/*.c client/spank/*.c; do
        [ "$file" != client/spank/plugin.c ] || has_spank || { echo "check-c: no slurm/spank.h here, $file is left out"; continue; }
        [ -e "$file" ] && compile "$compiler" "${flags[@]}" -c "$file" -o /dev/null
    done
done
for header in client/include/*.h crates/nanothreads/include/*.h; do
    [ -e "$header" ] || continue
    compile gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c "$header"
    ! command -v g++ >/dev/null 2>&1 || compile g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ "$header"
done
[ $failures -eq 0 ] || { echo "check-c: $failures file(s) failed" >&2; exit 1; }
