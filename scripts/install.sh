#!/usr/bin/env bash
# Installs what `make build` made, or removes exactly what was installed.
#
# usage: scripts/install.sh install|uninstall PREFIX [DESTDIR]
#
# Everything that is put somewhere is written into a list below PREFIX/lib/numaestro; uninstalling reads it. Below a home directory there is
# only the command and what belongs to it; elsewhere also the service for all users and its configuration in SYSCONFDIR (default: /etc).
# COMMAND is another build of the command than target/release/numaestro; the laboratory's command is beside it. Packages set LIBDIR (default: lib) and
# ZSHDIR, PART to product or laboratory (default: both), and with MANIFEST=no leave the list to the package manager.
set -eu
cd "$(dirname "$0")/.."
what=${1-} prefix=${2-} destination=${3-}
case $prefix in
/*) ;;
*) sed -n 's/^# usage: //p' "$0" >&2; exit 64 ;;
esac
# Without `..`, `.` and slashes that say nothing; links stay.
plain() { realpath -ms -- "$1" | sed 's|^/$||'; }
prefix=$(plain "$prefix") sysconfdir=$(plain "${SYSCONFDIR:-/etc}")
libdir=${LIBDIR:-lib} zshdir=${ZSHDIR:-share/zsh/site-functions} manifest=${MANIFEST:-yes} part=${PART:-}
command=${COMMAND:-target/release/numaestro}
list=$destination$prefix/lib/numaestro/installed-files

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Whether this is for all users of the machine.
for_all() { case $prefix/ in /usr/* | /opt/*) return 0 ;; *) return 1 ;; esac; }
# Whether the service for all users of this machine is concerned, and systemd looks after it.
live() { for_all && [ -z "$destination" ] && [ -d /run/systemd/system ] && [ "$(id -u)" -eq 0 ]; }
content_of() { sha256sum "$1" | cut -d ' ' -f 1; }

# Lines of the list: `prefix PREFIX`, where this was installed; `file PATH`, `config CONTENT PATH`, `directory PATH`. Directories were made by us and
# go when they are empty. A PATH is seen from PREFIX, or it begins with a slash: settings, and directories above PREFIX. Whoever copies an installation
# copies its list, and anybody may have written into it, so only these places are believed.

# Whether what is below PREFIX was installed there, and not copied from elsewhere. Lists of older versions have whole paths, and no line for the prefix.
at_home() { grep -qxF -e "prefix $prefix" -e "file $prefix/bin/numaestro" "$list"; }
below() { case $1/ in "$2"/*) return 0 ;; *) return 1 ;; esac; }

# The path of a line, whole.
whole() {
    case $1 in
    .) echo "$prefix" ;;
    /*) echo "$1" ;;
    *) echo "$prefix/$1" ;;
    esac
}

# place_of KIND PATH: where that whole path is in this file system; fails if it is none of those above. Links on the way are followed.
place_of() {
    local parent
    case $2/ in */../*) return 1 ;; esac
    parent=$(realpath -m -- "$destination${2%/*}/")
    case $1 in
    file) below "$parent" "$(realpath -m -- "$destination$prefix/")" ;;
    config) for_all && at_home && below "$parent" "$(realpath -m -- "$destination$sysconfdir/numaestro")" ;;
    # Below PREFIX, or made for the installation to stand in.
    directory)
        [ "$2" = "$prefix" ] || below "$parent" "$(realpath -m -- "$destination$prefix/")" ||
            { at_home && { below "$prefix" "$2" || below "$sysconfdir/numaestro/config.d" "$2"; }; }
        ;;
    esac && echo "$destination$2"
}

# Says which lines of the list lead elsewhere, and keeps them apart.
refused() {
    echo "$1" >>"$scratch/refused"
    echo "install: left alone, it is not in $destination$prefix: $1" >&2
}

# Removes the files of the list.
remove_files() {
    local kind rest place
    while read -r kind rest; do
        [ "$kind" = file ] || continue
        rest=$(whole "$rest")
        { place=$(place_of file "$rest") && rm -f -- "$place"; } || refused "$rest"
    done <"$list"
}

uninstall() {
    local kind content rest place kept='' service=no
    [ -e "$list" ] || { echo "install: nothing of numaestro is below $destination$prefix" >&2; exit 1; }
    ! live || ! at_home || service=yes
    [ $service = no ] || systemctl disable --now numaestro.socket numaestro.service 2>/dev/null || true
    remove_files
    while read -r kind content rest; do
        [ "$kind" = config ] || continue
        # It belongs to the installation that this one is a copy of.
        at_home || continue
        place=$(place_of config "$rest") || { refused "$rest"; continue; }
        if [ ! -e "$place" ] || [ "$(content_of "$place")" = "$content" ]; then rm -f -- "$place"; else kept+=" $place"; fi
    done <"$list"
    # Those below others come first.
    sed -n 's/^directory //p' "$list" | while read -r rest; do whole "$rest"; done | LC_ALL=C sort -r >"$scratch/directories"
    while read -r rest; do
        at_home || below "$rest" "$prefix" || continue
        place_of directory "$rest" >>"$scratch/places" || refused "$rest"
    done <"$scratch/directories"
    rm -f "$list"
    [ ! -e "$scratch/places" ] || while read -r place; do
        [ ! -d "$place" ] || rmdir --ignore-fail-on-non-empty "$place" 2>/dev/null || true
    done <"$scratch/places"
    if [ $service = yes ]; then
        systemctl daemon-reload || true
        rm -rf /run/numaestro
    fi
    refresh_loader
    [ -z "$kept" ] || echo "install: kept because it was changed:$kept"
    echo "install: numaestro is removed from $destination$prefix"
    [ ! -e "$scratch/refused" ]
}

# So that the loader finds the library at once, or forgets it; without root, or with DESTDIR, that is for others to do.
refresh_loader() { [ -n "$destination" ] || ldconfig 2>/dev/null || true; }

# note KIND PATH: a line of the list.
note() {
    case $2 in
    "$prefix") echo "$1 ." ;;
    "$prefix"/*) echo "$1 ${2#"$prefix"/}" ;;
    *) echo "$1 $2" ;;
    esac >>"$scratch/list"
}

# Makes a directory and those above it; takes down which ones it made.
make_directory() {
    [ -d "$destination$1" ] && return
    case $1 in */*) make_directory "${1%/*}" ;; esac
    [ -z "$1" ] && return
    mkdir "$destination$1" || return 0
    note directory "$1"
}

# put_at MODE FILE PATH; put MODE FILE TARGET: TARGET is seen from PREFIX.
put_at() {
    make_directory "${3%/*}"
    install -m "$1" "$2" "$destination$3"
    note file "$3"
}
put() { put_at "$1" "$2" "$prefix/$3"; }

# put_command FILE PLACE: without its symbols and lines for debuggers; these are in a file of their own, which debuggers and backtraces find by the number of the
# build (below /usr by themselves). Without the tools for it the command stays as it is.
put_command() {
    local build=
    if command -v objcopy >/dev/null 2>&1 && command -v readelf >/dev/null 2>&1; then
        build=$(LC_ALL=C readelf -n "$1" 2>/dev/null | sed -n 's/^ *Build ID: //p')
    fi
    if [ -z "$build" ]; then
        put 755 "$1" "$2"
        return
    fi
    objcopy --only-keep-debug --compress-debug-sections "$1" "$scratch/${build:2}.debug"
    # A debug build of Rust names its script for gdb in a section of its own. gdb reads it in the command only, and shows plain structures without it.
    objcopy --strip-unneeded --remove-section=.debug_gdb_scripts --add-gnu-debuglink="$scratch/${build:2}.debug" "$1" "$scratch/stripped"
    put 755 "$scratch/stripped" "$2"
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
    local file path
    for file in "$command" "${command%/*}/numaestro-manager" "${command%/*}/numaestro-lab" build/client/libnumaestro.so; do
        [ -e "$file" ] || { echo "install: $file is missing: make build, then try again" >&2; exit 1; }
    done
    [ -z "$destination" ] || mkdir -p "$destination"
    make_directory "$prefix" 2>/dev/null
    [ -w "$destination$prefix/" ] || {
        echo "install: $destination$prefix cannot be written: sudo make install, or make install PREFIX=\$HOME/.local" >&2
        exit 1
    }
    echo "prefix $prefix" >>"$scratch/list"
    if [ -e "$list" ]; then
        # An older version's files go first: it may have had others. Its configuration and its running manager stay.
        remove_files
        # What was made then is still ours.
        ! at_home || sed -n 's/^directory //p' "$list" | while read -r path; do note directory "$path"; done
    fi
    [ "$part" = laboratory ] || put_product
    [ "$part" = product ] || put_laboratory
    if [ "$manifest" = yes ]; then
        LC_ALL=C sort -u "$scratch/list" >"$list"
    fi
    refresh_loader
    # A running manager becomes the new one; its sockets stay open meanwhile, and programs do not notice.
    ! live || { systemctl daemon-reload && systemctl try-restart numaestro.service; } || true
    echo "install: numaestro is installed below $destination$prefix; try: $prefix/bin/numaestro doctor"
    ! live || echo "install: for one manager of all users: systemctl enable --now numaestro.socket numaestro.service"
}

# Completions and manual pages of a command, as it makes them itself.
put_pages() {
    local name=${1##*/} page
    "$1" completions bash >"$scratch/bash" && put 644 "$scratch/bash" "share/bash-completion/completions/$name"
    "$1" completions zsh >"$scratch/zsh" && put 644 "$scratch/zsh" "$zshdir/_$name"
    "$1" completions fish >"$scratch/fish" && put 644 "$scratch/fish" "share/fish/vendor_completions.d/$name.fish"
    rm -rf "$scratch/man"
    "$1" man "$scratch/man" >/dev/null
    for page in "$scratch"/man/*.1; do put 644 "$page" "share/man/man1/${page##*/}"; done
}

# Simulator, claims of the papers, measurements; scenarios, and the descriptions of programs that they name.
put_laboratory() {
    local scenario
    put_command "${command%/*}/numaestro-lab" bin/numaestro-lab
    put_pages "${command%/*}/numaestro-lab"
    (cd lab && find scenarios -type f -name '*.toml' | LC_ALL=C sort) >"$scratch/scenarios"
    while read -r scenario; do put 644 "lab/$scenario" "share/numaestro/$scenario"; done <"$scratch/scenarios"
}

put_product() {
    local version library
    make_directory "$prefix/lib/numaestro"
    put_command "$command" bin/numaestro
    put_command "${command%/*}/numaestro-manager" lib/numaestro/numaestro-manager
    # Whatever was built to be preloaded.
    for library in build/client/libnumaestro_*.so; do put 755 "$library" "lib/numaestro/${library##*/}"; done
    put 755 packaging/systemd/after-stop lib/numaestro/after-stop
    put 644 build/client/libnumaestro.so "$libdir/libnumaestro.so.1"
    ln -sf libnumaestro.so.1 "$destination$prefix/$libdir/libnumaestro.so"
    note file "$prefix/$libdir/libnumaestro.so"
    put 644 client/include/numaestro.h include/numaestro.h
    # It fits the Slurm of this machine only, so packages leave it out.
    [ "$manifest" = no ] || [ ! -e build/client/spank/numaestro.so ] || put 644 build/client/spank/numaestro.so lib/numaestro/slurm/numaestro.so

    version=$("$command" --version | cut -d ' ' -f 2)
    printf '%s\n' "prefix=$prefix" "libdir=\${prefix}/$libdir" 'Name: numaestro' 'Description: The processors a program can have right now' \
        "Version: $version" 'Libs: -L${libdir} -lnumaestro' 'Cflags: -I${prefix}/include' >"$scratch/numaestro.pc"
    put 644 "$scratch/numaestro.pc" "$libdir/pkgconfig/numaestro.pc"
    put_pages "$command"
    if for_all; then
        put_units system lib/systemd/system
        put_units user lib/systemd/user
        put_config packaging/config.toml "$sysconfdir/numaestro/config.toml"
        make_directory "$sysconfdir/numaestro/config.d"
    else
        put_units user share/systemd/user
    fi
}

case $what in
install) install_all ;;
uninstall) uninstall ;;
*) sed -n 's/^# usage: //p' "$0" >&2; exit 64 ;;
esac
