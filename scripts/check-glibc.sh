#!/usr/bin/env bash
# Says of each FILE which symbols it asks for that a system with glibc 2.17 has not, and ends with 1 if there are any.
#
# usage: scripts/check-glibc.sh FILE...
set -u -o pipefail
failures=0
for file in "$@"; do
    # Also libgcc and the formats that a loader must know (GLIBC_ABI_DT_RELR).
    needed=$(LC_ALL=C objdump -p "$file" | sed -n '/^Version References/,$ s/.* \(G[A-Z]*_[A-Za-z0-9_.]*\)$/\1/p' | sort -u) || { failures=1; continue; }
    newer=
    for version in $needed; do
        case $version in
        GLIBC_2.*) newest=GLIBC_2.17 ;;
        GCC_*) newest=GCC_4.8.0 ;;
        *) newest= ;;
        esac
        [ "$(printf '%s\n' "$version" "$newest" | sort -V | tail -n 1)" = "$newest" ] || newer+=" $version"
    done
    [ -n "$newer" ] || continue
    failures=1
    echo "glibc: $file asks for$newer:"
    for version in $newer; do LC_ALL=C objdump -T "$file" | grep -wF "$version" | awk '{ print "    " $NF }' | sort -u; done
done
exit $failures
