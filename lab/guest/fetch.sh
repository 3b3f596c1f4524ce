#!/usr/bin/env bash
# Fetches what the guests of the tests are made of: QEMU with all its libraries, a kernel and busybox.
#
# usage: lab/guest/fetch.sh [DIRECTORY]        (default: build/guest)
#
# Nothing is installed and nothing of this machine's package manager is changed: packages are downloaded with a private
# configuration, made from the mirror and the keys that this machine uses already, and are unpacked below DIRECTORY:
#
#   DIRECTORY/root      the unpacked packages (QEMU runs with the libraries and the loader from there)
#   DIRECTORY/kernel    the kernel
#   DIRECTORY/versions  what was fetched; written last, so whoever finds it finds everything
#
# Root is not needed. Where this cannot work the reason is said in a line that begins with "skipped ", and the exit
# code is 77. Exit code 1 is a failure that should not be.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
target=${1:-build/guest}
# Older versions of QEMU make guests fail at random (measured with 7.2).
qemu_oldest=8.2
# Weighted interleaving needs 6.9; an older kernel does where there is no newer one.
kernel_wanted=6.9

skip() { echo "skipped guests: $1"; exit 77; }
fail() { echo "fetch: $1" >&2; exit 1; }

mkdir -p "$target" || fail "$target cannot be written"
. scripts/private-apt.sh
locked
[ ! -e "$target/versions" ] || { echo "fetch: $(tr '\n' ' ' <"$target/versions")"; exit 0; }

[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || skip "they are made for Linux on x86_64, this is $(uname -s) on $(uname -m)"
needs apt-get apt-cache apt-config dpkg dpkg-deb
private_apt amd64
mkdir "$work/root" "$work/debs"

source_of() { echo "deb [arch=amd64 signed-by=$keys] $mirror $1 main"; }
source_of "$codename" >"$work/etc/sources.list"
updated || { tail -n 3 "$work/log" >&2; skip "the mirror $mirror does not answer"; }

# version PACKAGE SUITE: what the suite has of it, without epoch.
version() { apt-cache madison "$1" 2>/dev/null | awk -F ' *[|] *' -v suite="$2/" 'index($3, suite) { print $2; exit }' | sed 's/^[0-9]*://'; }
kernel_names='linux-image-virtual linux-image-generic'
[ "$name" = ubuntu ] || kernel_names='linux-image-cloud-amd64 linux-image-amd64'
kernel_of() {
    local kernel
    for kernel in $kernel_names; do [ -z "$(version "$kernel" "$1")" ] || { echo "$kernel"; return; }; done
}
enough() { [ -n "$1" ] && dpkg --compare-versions "$1" ge "$2"; }

suite_qemu=$codename suite_kernel=$codename
if ! enough "$(version qemu-system-x86 "$codename")" $qemu_oldest ||
    ! enough "$(version "$(kernel_of "$codename")" "$codename")" $kernel_wanted; then
    # The release itself is too old; newer versions for it may be kept beside it.
    source_of "$codename-backports" >>"$work/etc/sources.list"
    updated || { source_of "$codename" >"$work/etc/sources.list"; updated || skip "the mirror $mirror does not answer"; }
    enough "$(version qemu-system-x86 "$codename")" $qemu_oldest || suite_qemu=$codename-backports
    enough "$(version qemu-system-x86 "$suite_qemu")" $qemu_oldest ||
        skip "$name $codename has no QEMU from $qemu_oldest on"
    kernel=$(kernel_of "$codename-backports")
    [ -z "$kernel" ] || ! enough "$(version "$kernel" "$codename-backports")" "$(version "$(kernel_of "$codename")" "$codename")" ||
        suite_kernel=$codename-backports
fi

# The package of the newest kernel is named by the one that always means the newest.
kernel=$(kernel_of "$suite_kernel")
image=$(apt-cache depends "$kernel/$suite_kernel" 2>/dev/null | awk '$1 == "Depends:" && $2 ~ /^linux-image-[0-9]/ { print $2; exit }')
[ -n "$image" ] || fail "$suite_kernel has no kernel image by the names $kernel_names"

echo "fetch: QEMU $(version qemu-system-x86 "$suite_qemu"), $image and busybox from $mirror"
# As on a machine with nothing installed, so that every library comes along and none of this machine's is needed.
apt-get install -y -q --download-only --no-install-recommends -t "$suite_qemu" qemu-system-x86 >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log" >&2; fail "QEMU could not be downloaded"; }
(cd "$work/debs" && apt-get download -q "$image/$suite_kernel" "busybox-static/$codename") >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log" >&2; fail "the kernel or busybox could not be downloaded"; }

for package in "$work"/cache/archives/*.deb "$work"/debs/busybox*.deb; do
    dpkg-deb -x "$package" "$work/root" || fail "${package##*/} cannot be unpacked"
done
# Of the kernel's package only the image: its modules are many, and what guests need is built in.
mkdir "$work/image"
dpkg-deb --fsys-tarfile "$work"/debs/linux-image-*.deb | tar -x -C "$work/image" --wildcards './boot/vmlinuz-*' ||
    fail "the kernel's package has no /boot/vmlinuz"
rm -rf "$target/root"
cp "$work"/image/boot/vmlinuz-* "$target/kernel" && chmod 644 "$target/kernel" && mv "$work/root" "$target/root" || fail "$target cannot be written"
printf '%s\n' "qemu $(version qemu-system-x86 "$suite_qemu")" "$image" "busybox $(version busybox-static "$codename")" >"$target/versions.new"
mv "$target/versions.new" "$target/versions"
echo "fetch: $(tr '\n' ' ' <"$target/versions")"
