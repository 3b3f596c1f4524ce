#!/usr/bin/env bash
# Installs what `make build` made, or removes exactly what was installed.
#
# usage: scripts/install.sh install|uninstall PREFIX [DESTDIR]
#
# Everything that is put somewhere is written into a list below PREFIX/lib/numaestro; uninstalling reads it. Below a home directory there is
# only the command and what belongs to it; elsewhere also the service for all users and its configuration in SYSCONFDIR (default: /etc).
# COMMAND is another build of the command than target/release/numaestro. Packages set LIBDIR (default: lib) and ZSHDIR, and with MANIFEST=no leave the list to the package manager.
set -eu
cd "$(dirname "$0")/.."
what=${1-} prefix=${2-} destination=${3-}
case $prefix in
/*) ;;
*) sed -n 's/^# usage: //p' "$0" >&2; exit 64 ;;
esac
libdir=${LIBDIR:-lib} zshdir=${ZSHDIR:-share/zsh/site-functions} sysconfdir=${SYSCONFDIR:-/etc} manifest=${MANIFEST:-yes}
list=$destination$prefix/lib/numaestro/installed-files

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Whether this is for all users of the machine.
for_all() { case $prefix/ in /usr/* | /opt/*) return 0 ;; *) return 1 ;; esac; }
# Whether it is this machine, and systemd looks after it.
live() { [ -z "$destination" ] && [ -d /run/systemd/system ] && [ "$(id -u)" -eq 0 ]; }
content_of() { sha256sum "$1" | cut -d ' ' -f 1; }

# Lines of the list: `file PATH`, `config CONTENT PATH`, `directory PATH`; directories were made by us and go when they are empty.
uninstall() {
    local kind path content rest kept=
    [ -e "$list" ] || { echo "install: nothing of numaestro is below $destination$prefix" >&2; exit 1; }
    ! live || { systemctl disable --now numaestro.socket numaestro.service 2>/dev/null || true; }
    while read -r kind rest; do
        case $kind in
        file) rm -f "$destination$rest" ;;
        config)
            content=${rest%% *} path=$destination${rest#* }
            if [ ! -e "$path" ] || [ "$(content_of "$path")" = "$content" ]; then rm -f "$path"; else kept+=" $path"; fi
            ;;
        esac
    done <"$list"
    # Those below others come first.
    sed -n 's/^directory //p' "$list" | LC_ALL=C sort -r >"$scratch/directories"
    rm -f "$list"
    while read -r path; do
        [ ! -d "$destination$path" ] || rmdir --ignore-fail-on-non-empty "$destination$path"
    done <"$scratch/directories"
    if live; then
        systemctl daemon-reload || true
        rm -rf /run/numaestro
    fi
    [ -z "$kept" ] || echo "install: kept because it was changed:$kept"
    echo "install: numaestro is removed from $destination$prefix"
}

# Makes a directory and those above it; takes down which ones it made.
make_directory() {
    [ -d "$destination$1" ] && return
    case $1 in */*) make_directory "${1%/*}" ;; esac
    [ -z "$1" ] && return
    mkdir "$destination$1" || return 0
    echo "directory $1" >>"$scratch/list"
}

# put_at MODE FILE PATH; put MODE FILE TARGET: TARGET is seen from PREFIX.
put_at() {
    make_directory "${3%/*}"
    install -m "$1" "$2" "$destination$3"
    echo "file $3" >>"$scratch/list"
}
put() { put_at "$1" "$2" "$prefix/$3"; }

# The command, without its symbols and lines for debuggers; these are in a file of their own, which debuggers and backtraces find by the number of the
# build (below /usr by themselves). Without the tools for it the command stays as it is.
put_command() {
    local build=
    if command -v objcopy >/dev/null 2>&1 && command -v readelf >/dev/null 2>&1; then
        build=$(LC_ALL=C readelf -n "$1" 2>/dev/null | sed -n 's/^ *Build ID: //p')
    fi
    if [ -z "$build" ]; then
        put 755 "$1" bin/numaestro
        return
    fi
    objcopy --only-keep-debug --compress-debug-sections "$1" "$scratch/${build:2}.debug"
    objcopy --strip-unneeded --add-gnu-debuglink="$scratch/${build:2}.debug" "$1" "$scratch/numaestro"
    put 755 "$scratch/numaestro" bin/numaestro
    put 644 "$scratch/${build:2}.debug" "lib/debug/.build-id/${build:0:2}/${build:2}.debug"
}

# A configuration file is never replaced.
put_config() {
    make_directory "${2%/*}"
    echo "config $(content_of "$1") $2" >>"$scratch/list"
    if [ -e "$destination$2" ] && [ "$(content_of "$destination$2")" != "$(content_of "$1")" ]; then
        echo "install: $destination$2 is there already and stays as it is"
    else
        install -m 644 "$1" "$destination$2"
    fi
}

# Units and their helper, with the places of this installation in them.
put_units() {
    local kind=$1 into=$2 unit
    for unit in packaging/systemd/"$kind"/*; do
        sed -e "s|@BINDIR@|$prefix/bin|g" -e "s|@LIBDIR@|$prefix/lib/numaestro|g" "$unit" >"$scratch/unit"
        put 644 "$scratch/unit" "$into/${unit##*/}"
    done
}

install_all() {
    local command=${COMMAND:-target/release/numaestro} version scenario page
    [ -z "$destination" ] || mkdir -p "$destination"
    make_directory "$prefix" 2>/dev/null
    [ -w "$destination$prefix" ] || {
        echo "install: $destination$prefix cannot be written: sudo make install, or make install PREFIX=\$HOME/.local" >&2
        exit 1
    }
    # An older version's files go first: it may have had others. Its configuration and its running manager stay.
    [ ! -e "$list" ] || { sed -n 's/^file //p' "$list" | while read -r file; do rm -f "$destination$file"; done; }
    # What was made then is still ours.
    [ ! -e "$list" ] || sed -n '/^directory /p' "$list" >>"$scratch/list"
    make_directory "$prefix/lib/numaestro"
    put_command "$command"
    put 755 build/client/libnumaestro_preload.so lib/numaestro/libnumaestro_preload.so
    put 755 packaging/systemd/after-stop lib/numaestro/after-stop
    put 644 build/client/libnumaestro.so "$libdir/libnumaestro.so.1"
    ln -sf libnumaestro.so.1 "$destination$prefix/$libdir/libnumaestro.so"
    echo "file $prefix/$libdir/libnumaestro.so" >>"$scratch/list"
    put 644 client/include/numaestro.h include/numaestro.h
    # It fits the Slurm of this machine only, so packages leave it out.
    [ "$manifest" = no ] || [ ! -e build/client/spank/numaestro.so ] || put 644 build/client/spank/numaestro.so lib/numaestro/slurm/numaestro.so

    for scenario in scenarios/*.toml; do put 644 "$scenario" "share/numaestro/$scenario"; done

    version=$("$command" --version | cut -d ' ' -f 2)
    printf '%s\n' "prefix=$prefix" "libdir=\${prefix}/$libdir" 'Name: numaestro' 'Description: The processors a program can have right now' \
        "Version: $version" 'Libs: -L${libdir} -lnumaestro' 'Cflags: -I${prefix}/include' >"$scratch/numaestro.pc"
    put 644 "$scratch/numaestro.pc" "$libdir/pkgconfig/numaestro.pc"
    "$command" completions bash >"$scratch/bash" && put 644 "$scratch/bash" share/bash-completion/completions/numaestro
    "$command" completions zsh >"$scratch/zsh" && put 644 "$scratch/zsh" "$zshdir/_numaestro"
    "$command" completions fish >"$scratch/fish" && put 644 "$scratch/fish" share/fish/vendor_completions.d/numaestro.fish
    "$command" man "$scratch/man" >/dev/null
    for page in "$scratch"/man/*.1; do put 644 "$page" "share/man/man1/${page##*/}"; done
    if for_all; then
        put_units system lib/systemd/system
        put_units user lib/systemd/user
        put_config packaging/config.toml "$sysconfdir/numaestro/config.toml"
        make_directory "$sysconfdir/numaestro/config.d"
    else
        put_units user share/systemd/user
    fi
    if [ "$manifest" = yes ]; then
        LC_ALL=C sort -u "$scratch/list" >"$list"
    fi
    # So that the loader finds the library at once; without root, or with DESTDIR, that is for others to do.
    [ -n "$destination" ] || ldconfig 2>/dev/null || true
    # A running manager becomes the new one; its sockets stay open meanwhile, and programs do not notice.
    ! live || { systemctl daemon-reload && systemctl try-restart numaestro.service; } || true
    echo "install: numaestro is installed below $destination$prefix; try: $prefix/bin/numaestro doctor"
    ! live || echo "install: for one manager of all users: systemctl enable --now numaestro.socket numaestro.service"
}

case $what in
install) install_all ;;
uninstall) uninstall ;;
*) sed -n 's/^# usage: //p' "$0" >&2; exit 64 ;;
esac
