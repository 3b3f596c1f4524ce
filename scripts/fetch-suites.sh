#!/usr/bin/env bash
# Fetches the OpenMP runtimes' own test suites: libgomp's from the source package of gcc, libomp's from that of LLVM, of the versions of
# the compilers that are here. None of it is ours, so none of it is in the repository.
#
# usage: scripts/fetch-suites.sh [DIRECTORY]        (default: build/suites)
#
# Nothing is installed and nothing of this machine's package manager is changed: the packages (220 MB) are downloaded with a private
# configuration, made from the mirror and the keys that this machine uses already, and verified by apt. Only the tests are kept:
#
#   DIRECTORY/source/libgomp    libgomp/testsuite of gcc
#   DIRECTORY/source/libomp     openmp/runtime/test of LLVM
#   DIRECTORY/source/src        headers of openmp/runtime/src
#   DIRECTORY/source/versions   what was fetched; written last, so whoever finds it finds everything
#
# Root is not needed. Where this cannot work the reason is said in a line that begins with "skipped ", and the exit
# code is 77. Exit code 1 is a failure that should not be.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 1
target=${1:-build/suites}

skip() { echo "skipped suites: $1"; exit 77; }
fail() { echo "fetch: $1" >&2; exit 1; }

mkdir -p "$target" || fail "$target cannot be written"
. scripts/private-apt.sh
locked
[ ! -e "$target/source/versions" ] || exit 0

needs apt-get apt-config dpkg gcc clang tar xz
private_apt "$(dpkg --print-architecture)"
mkdir "$work/packages" "$work/source"
echo "deb-src [signed-by=$keys] $mirror $codename main" >"$work/etc/sources.list"
updated || { tail -n 3 "$work/log" >&2; skip "the mirror $mirror does not answer"; }

# archive PACKAGE: the file with its sources.
archive() {
    (cd "$work/packages" && apt-get source -q --download-only --tar-only "$1") >"$work/log" 2>&1 ||
        { tail -n 3 "$work/log" >&2; skip "the mirror $mirror does not have the sources of $1"; }
    archive=$(compgen -G "$work/packages/${1}_*.orig.tar.*" | head -n 1)
    [ -n "$archive" ] || fail "$1 has no archive of its sources"
}
# only FILE.. <ARCHIVE: unpacks this directory of it, wherever it is, into the directory for sources.
only() { tar -x -C "$work/source" --strip-components=1 --wildcards --no-wildcards-match-slash "$@"; }

gcc=gcc-$(gcc -dumpversion | cut -d . -f 1)
llvm=llvm-toolchain-$(clang -dumpversion | cut -d . -f 1)
echo "fetch: the sources of $gcc and $llvm from $mirror"
archive "$gcc"
# An archive of archives: gcc itself is one of them.
tar -xOf "$archive" --wildcards '*/gcc-[0-9]*.tar.xz' | only -J '*/libgomp/testsuite' || fail "$archive has no libgomp/testsuite"
archive "$llvm"
# The tests of tools include headers of the runtime itself.
only -f "$archive" '*/openmp/runtime/test' '*/openmp/runtime/src/kmp_*.h' || fail "$archive has no openmp/runtime/test"

mkdir "$work/suites"
mv "$work/source/libgomp/testsuite" "$work/suites/libgomp" && mv "$work/source/openmp/runtime/test" "$work/suites/libomp" &&
    mv "$work/source/openmp/runtime/src" "$work/suites/src" || exit 1
(cd "$work/packages" && ls ./*.orig.tar.*) | sed 's|^\./||' >"$work/suites/versions"
rm -rf "$target/source"
mv "$work/suites" "$target/source" || fail "$target cannot be written"
echo "fetch: $(tr '\n' ' ' <"$target/source/versions")"
