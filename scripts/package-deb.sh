#!/usr/bin/env bash
# Makes build/numaestro_VERSION_ARCHITECTURE.deb of what `make build` made, with nothing but dpkg-deb, and beside it a .ddeb with what debuggers need.
# The same input gives the same bytes.
#
# usage: scripts/package-deb.sh [DIRECTORY]     DIRECTORY: where to put it (default: build)
set -eu
umask 022
cd "$(dirname "$0")/.."
out=${1:-build}
command=${COMMAND:-target/release/numaestro}
export COMMAND=$command
command -v dpkg-deb >/dev/null 2>&1 || { echo "deb: no dpkg-deb here: this needs Debian or Ubuntu" >&2; exit 1; }
for file in "$command" build/client/libnumaestro.so build/client/libnumaestro_preload.so; do
    [ -e "$file" ] || { echo "deb: $file is missing: make build, then try again" >&2; exit 1; }
done

root=$(mktemp -d)
debug=$(mktemp -d)
trap 'rm -rf "$root" "$debug"' EXIT
chmod 755 "$root" "$debug"
version=$("$command" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
triplet=$(gcc -print-multiarch 2>/dev/null || true)
# The time of everything in the package.
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH=$time

LIBDIR=lib${triplet:+/$triplet} ZSHDIR=share/zsh/vendor-completions MANIFEST=no scripts/install.sh install /usr "$root" >/dev/null
documents=$root/usr/share/doc/numaestro
mkdir -p "$documents"
{
    echo "numaestro is by its authors. You may use it under either of these licences, as you like."
    echo
    echo "Apache License 2.0: the full text is in /usr/share/common-licenses/Apache-2.0."
    echo
    cat LICENSE-MIT
} >"$documents/copyright"
{
    echo "numaestro ($version) unstable; urgency=medium"
    echo
    echo "  * See CHANGELOG.md.gz beside this file."
    echo
    echo " -- The authors of numaestro <numaestro@localhost>  $(LC_ALL=C date -u -R -d "@$time")"
} | gzip -9n >"$documents/changelog.gz"
gzip -9n <CHANGELOG.md >"$documents/CHANGELOG.md.gz"
cp README.md "$documents/README.md"
find "$root/usr/share/man" -type f -exec gzip -9n {} +
if [ -d "$root/usr/lib/debug" ]; then
    mkdir -p "$debug/usr/lib"
    mv "$root/usr/lib/debug" "$debug/usr/lib"
fi
if command -v strip >/dev/null 2>&1; then
    find "$root/usr/lib" -type f \( -name '*.so' -o -name '*.so.*' \) -exec strip --strip-unneeded {} +
fi

# What it runs with: the newest version of the C library that any of its files asks for (2.17, if it is linked as intended). Only the programs of the demo need a
# runtime of OpenMP.
programs=$(find "$root/usr/bin" "$root/usr/lib" -type f \( -name numaestro -o -name numaestro-manager -o -name '*.so' -o -name '*.so.*' \))
libc=$(for file in $programs; do LC_ALL=C objdump -p "$file"; done | sed -n 's/.*GLIBC_\([0-9][0-9.]*\).*/\1/p' | sort -V | tail -n 1)
gcc=$(for file in $programs; do LC_ALL=C objdump -p "$file"; done | grep -c 'NEEDED *libgcc_s' || true)

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: numaestro
Version: $version
Architecture: $architecture
Maintainer: The authors of numaestro <numaestro@localhost>
Installed-Size: $(du -k -s --apparent-size --exclude=DEBIAN "$root" | cut -f 1)
Depends: libc6 (>= ${libc:-2.17})$([ "$gcc" -eq 0 ] || printf ', libgcc-s1')
Recommends: libgomp1
Suggests: systemd
Section: utils
Priority: optional
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
(cd "$root" && find etc -type f | LC_ALL=C sort | sed 's|^|/|') >"$root/DEBIAN/conffiles"
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
echo "activate-noawait ldconfig" >"$root/DEBIAN/triggers"
for script in postinst prerm postrm; do install -m 755 "packaging/debian/$script" "$root/DEBIAN/$script"; done
# Files get the one time; what git or a umask made of their modes does not matter.
find "$root" -exec touch -h -d "@$time" {} +

mkdir -p "$out"
package=$out/numaestro_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
if [ -d "$debug/usr" ]; then
    mkdir "$debug/DEBIAN"
    cat >"$debug/DEBIAN/control" <<CONTROL
Package: numaestro-dbgsym
Version: $version
Architecture: $architecture
Maintainer: The authors of numaestro <numaestro@localhost>
Installed-Size: $(du -k -s --apparent-size --exclude=DEBIAN "$debug" | cut -f 1)
Depends: numaestro (= $version)
Section: debug
Priority: optional
Description: lines of the source for debuggers and backtraces of numaestro
CONTROL
    find "$debug" -exec touch -h -d "@$time" {} +
    # It is compressed within already.
    dpkg-deb --root-owner-group -Zgzip -z1 --build "$debug" "$out/numaestro-dbgsym_${version}_$architecture.ddeb" >/dev/null
fi
echo "deb: $package; install it with: sudo apt install $(realpath "$package")"
