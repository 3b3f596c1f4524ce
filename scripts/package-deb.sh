#!/usr/bin/env bash
# Makes the packages of what `make build` made, with nothing but dpkg-deb: build/numaestro_VERSION_ARCHITECTURE.deb is the product, build/numaestro-lab_… the
# laboratory. Beside each is a .ddeb with what debuggers need. The same input gives the same bytes.
#
# usage: scripts/package-deb.sh [DIRECTORY]     DIRECTORY: where to put them (default: build)
set -eu
umask 022
cd "$(dirname "$0")/.."
out=${1:-build}
command=${COMMAND:-target/release/numaestro}
export COMMAND=$command
command -v dpkg-deb >/dev/null 2>&1 || { echo "deb: no dpkg-deb here: this needs Debian or Ubuntu" >&2; exit 1; }
for file in "$command" "${command%/*}/numaestro-lab" build/client/libnumaestro.so build/client/libnumaestro_preload.so; do
    [ -e "$file" ] || { echo "deb: $file is missing: make build, then try again" >&2; exit 1; }
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
version=$("$command" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
triplet=$(gcc -print-multiarch 2>/dev/null || true)
# The time of everything in the packages.
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH=$time
mkdir -p "$out"

# put_documents NAME: what every package says of itself.
put_documents() {
    local documents=$root/usr/share/doc/$1
    mkdir -p "$documents"
    {
        echo "numaestro is by its authors. You may use it under either of these licences, as you like."
        echo
        echo "Apache License 2.0: the full text is in /usr/share/common-licenses/Apache-2.0."
        echo
        cat LICENSE-MIT
    } >"$documents/copyright"
    {
        echo "$1 ($version) unstable; urgency=medium"
        echo
        echo "  * See CHANGELOG.md.gz beside this file."
        echo
        echo " -- The authors of numaestro <numaestro@localhost>  $(LC_ALL=C date -u -R -d "@$time")"
    } | gzip -9n >"$documents/changelog.gz"
    gzip -9n <CHANGELOG.md >"$documents/CHANGELOG.md.gz"
    cp README.md "$documents/README.md"
}

# control DIRECTORY PACKAGE SECTION DEPENDS: its first lines.
control() {
    printf '%s\n' "Package: $2" "Version: $version" "Architecture: $architecture" 'Maintainer: The authors of numaestro <numaestro@localhost>' \
        "Installed-Size: $(du -k -s --apparent-size --exclude=DEBIAN "$1" | cut -f 1)" "Depends: $4" "Section: $3" 'Priority: optional'
}

# What programs run with: the newest version of the C library that any of these files asks for (2.17, if they are linked as intended). Only the programs of the
# demo need a runtime of OpenMP.
libraries() {
    local programs libc gcc
    programs=$(find "$root/usr/bin" "$root/usr/lib" -type f \( -path '*/bin/*' -o -name numaestro-manager -o -name '*.so' -o -name '*.so.*' \) 2>/dev/null || true)
    libc=$(for file in $programs; do LC_ALL=C objdump -p "$file"; done | sed -n 's/.*GLIBC_\([0-9][0-9.]*\).*/\1/p' | sort -V | tail -n 1)
    gcc=$(for file in $programs; do LC_ALL=C objdump -p "$file"; done | grep -c 'NEEDED *libgcc_s' || true)
    echo "libc6 (>= ${libc:-2.17})$([ "$gcc" -eq 0 ] || printf ', libgcc-s1')"
}

# begin PART NAME: the files of a package below $root, what debuggers need below $debug.
begin() {
    root=$scratch/$1 debug=$scratch/$1.debug
    mkdir "$root" "$debug"
    LIBDIR=lib${triplet:+/$triplet} ZSHDIR=share/zsh/vendor-completions MANIFEST=no PART=$1 scripts/install.sh install /usr "$root" >/dev/null
    put_documents "$2"
    find "$root/usr/share/man" -type f -exec gzip -9n {} +
    if [ -d "$root/usr/lib/debug" ]; then
        mkdir -p "$debug/usr/lib"
        mv "$root/usr/lib/debug" "$debug/usr/lib"
        rmdir --ignore-fail-on-non-empty "$root/usr/lib"
    fi
    if command -v strip >/dev/null 2>&1; then
        find "$root/usr" -type f \( -name '*.so' -o -name '*.so.*' \) -exec strip --strip-unneeded {} +
    fi
    mkdir "$root/DEBIAN"
}

# finish NAME: makes the package of $root, and the one of $debug.
finish() {
    (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    # Files get the one time; what git or a umask made of their modes does not matter.
    find "$root" -exec touch -h -d "@$time" {} +
    dpkg-deb --root-owner-group -Zxz --build "$root" "$out/$1_${version}_$architecture.deb" >/dev/null
    [ -d "$debug/usr" ] || return 0
    mkdir "$debug/DEBIAN"
    {
        control "$debug" "$1-dbgsym" debug "$1 (= $version)"
        echo "Description: lines of the source for debuggers and backtraces of $1"
    } >"$debug/DEBIAN/control"
    find "$debug" -exec touch -h -d "@$time" {} +
    # It is compressed within already.
    dpkg-deb --root-owner-group -Zgzip -z1 --build "$debug" "$out/$1-dbgsym_${version}_$architecture.ddeb" >/dev/null
}

begin product numaestro
{
    control "$root" numaestro utils "$(libraries)"
    cat <<'CONTROL'
Recommends: libgomp1
Suggests: systemd, numaestro-lab
Description: gives every parallel program its own processors
 Parallel programs that run together on one machine disturb each other: each
 starts a thread for every processor. numaestro gives each program processors
 of its own, more or fewer as programs come and go, folds its teams of threads
 onto them without changing their size, and keeps its memory beside them.
 Programs need not be changed, and users need no rights for a manager of their
 own.
 .
 The service for all users of a machine is installed, but not enabled:
 systemctl enable --now numaestro.socket numaestro.service
CONTROL
} >"$root/DEBIAN/control"
(cd "$root" && find etc -type f | LC_ALL=C sort | sed 's|^|/|') >"$root/DEBIAN/conffiles"
echo "activate-noawait ldconfig" >"$root/DEBIAN/triggers"
for script in postinst prerm postrm; do install -m 755 "packaging/debian/$script" "$root/DEBIAN/$script"; done
finish numaestro

begin laboratory numaestro-lab
{
    control "$root" numaestro-lab science "$(libraries), numaestro (= $version)"
    cat <<'CONTROL'
Description: simulates and measures how processors are divided
 The laboratory of numaestro: a simulator that runs the manager's own
 scheduling code on modelled machines, what-if answers for recorded days,
 traces for viewers, measurements of this machine, and the claims of the papers
 that the policies are from. Its commands are typed behind the product's name:
 numaestro sim, what-if, trace, repro, bench.
CONTROL
} >"$root/DEBIAN/control"
finish numaestro-lab

package=$(realpath "$out/numaestro_${version}_$architecture.deb")
echo "deb: $package and numaestro-lab; install them with: sudo apt install $package ${package%/*}/numaestro-lab_${version}_$architecture.deb"
