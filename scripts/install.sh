#!/usr/bin/env bash
# Installs what `make build` made, or removes exactly what was installed.
#
# usage: scripts/install.sh install|uninstall PREFIX [DESTDIR]
#
# Everything that is put somewhere is written into a list below PREFIX/lib/numaestro; uninstalling reads it.
set -eu
cd "$(dirname "$0")/.."
what=${1-} prefix=${2-} destination=${3-}
[ -n "$prefix" ] || { sed -n 's/^# usage: //p' "$0" >&2; exit 64; }
list=$destination$prefix/lib/numaestro/installed-files

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

uninstall() {
    [ -e "$list" ] || { echo "install: nothing of numaestro is below $destination$prefix" >&2; exit 1; }
    while IFS= read -r file; do rm -f "$destination$file"; done <"$list"
    rm -f "$list"
    for directory in lib/numaestro share/numaestro/scenarios share/numaestro; do
        [ ! -d "$destination$prefix/$directory" ] || rmdir --ignore-fail-on-non-empty "$destination$prefix/$directory"
    done
    echo "install: numaestro is removed from $destination$prefix"
}

# put MODE FILE TARGET: TARGET is seen from PREFIX.
put() {
    install -D -m "$1" "$2" "$destination$prefix/$3"
    echo "$prefix/$3" >>"$list"
}

install_all() {
    local command=target/release/numaestro library=build/client/libnumaestro.so version scenario page
    mkdir -p "$destination$prefix/lib/numaestro" 2>/dev/null && [ -w "$destination$prefix/lib/numaestro" ] || {
        echo "install: $destination$prefix cannot be written: sudo make install, or make install PREFIX=\$HOME/.local" >&2
        exit 1
    }
    # An older version's files go first: it may have had others.
    [ ! -e "$list" ] || uninstall >/dev/null
    mkdir -p "$destination$prefix/lib/numaestro"
    : >"$list"
    put 755 "$command" bin/numaestro
    put 755 build/client/libnumaestro_preload.so lib/numaestro/libnumaestro_preload.so
    put 644 "$library" lib/libnumaestro.so.1
    ln -sf libnumaestro.so.1 "$destination$prefix/lib/libnumaestro.so"
    echo "$prefix/lib/libnumaestro.so" >>"$list"
    put 644 client/include/numaestro.h include/numaestro.h

    for scenario in scenarios/*.toml; do put 644 "$scenario" "share/numaestro/$scenario"; done

    version=$("$command" --version | cut -d ' ' -f 2)
    printf '%s\n' "prefix=$prefix" 'Name: numaestro' 'Description: The processors a program can have right now' \
        "Version: $version" 'Libs: -L${prefix}/lib -lnumaestro' 'Cflags: -I${prefix}/include' >"$scratch/numaestro.pc"
    put 644 "$scratch/numaestro.pc" lib/pkgconfig/numaestro.pc
    "$command" completions bash >"$scratch/bash" && put 644 "$scratch/bash" share/bash-completion/completions/numaestro
    "$command" completions zsh >"$scratch/zsh" && put 644 "$scratch/zsh" share/zsh/site-functions/_numaestro
    "$command" completions fish >"$scratch/fish" && put 644 "$scratch/fish" share/fish/vendor_completions.d/numaestro.fish
    "$command" man "$scratch/man" >/dev/null
    for page in "$scratch"/man/*.1; do put 644 "$page" "share/man/man1/${page##*/}"; done
    # So that the loader finds the library at once; without root, or with DESTDIR, that is for others to do.
    [ -n "$destination" ] || ldconfig 2>/dev/null || true
    echo "install: numaestro is installed below $destination$prefix; try: $prefix/bin/numaestro doctor"
}

case $what in
install) install_all ;;
uninstall) uninstall ;;
*) sed -n 's/^# usage: //p' "$0" >&2; exit 64 ;;
esac
