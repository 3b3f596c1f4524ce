#!/usr/bin/env bash
# Installs into empty directories, and packages, and looks whether everything is there afterwards and nothing after the removal. Needs what
# `make laboratory client` builds. Nothing of this machine is touched.
set -u
cd "$(dirname "$0")/.." || exit 1
if [ "${1-}" = --case ]; then
    # In a process of its own: where its result is asked for, bash would go on after a failure.
    set -e -o pipefail
else
    scratch=$(mktemp -d) || exit 1
    export scratch
    trap 'rm -rf "$scratch"' EXIT
fi
command=${COMMAND:-target/release/numaestro}
export COMMAND=$command
failures=0

check() {
    if bash "$0" --case "$1" >"$scratch/log" 2>&1; then
        echo "ok $1"
    else
        echo "FAILED $1"
        sed 's/^/    /' "$scratch/log"
        failures=$((failures + 1))
    fi
}
fail() { echo "$*"; exit 1; }
# Everything below a directory: kinds, modes, sizes, names.
tree() { (cd "$1" && find . -printf '%y %m %s %p %l\n' | sed -E 's/^d ([0-7]+) [0-9]+/d \1/' | LC_ALL=C sort); }

install_and_uninstall() {
    local to=$scratch/one file
    mkdir -p "$to/usr/local/bin" "$to/etc"
    echo other >"$to/usr/local/bin/other"
    tree "$to" >"$scratch/before"
    scripts/install.sh install /usr/local "$to"
    [ "$("$to/usr/local/bin/numaestro" --version)" = "$("$command" --version)" ]
    for file in lib/numaestro/libnumaestro_preload.so lib/libnumaestro.so include/numaestro.h share/man/man1/numaestro-run.1 \
        share/man/man1/numaestro-sim-run.1 bin/numaestro-lab share/bash-completion/completions/numaestro-lab share/bash-completion/completions/numaestro lib/systemd/system/numaestro.socket lib/systemd/user/numaestro.service; do
        [ -e "$to/usr/local/$file" ] || fail "$file is missing"
    done
    grep -qx 'ExecStart=/usr/local/lib/numaestro/numaestro-manager --system' "$to/usr/local/lib/systemd/system/numaestro.service"
    # The process that is root for everybody is a small one.
    [ "$("$to/usr/local/lib/numaestro/numaestro-manager" --version | cut -d ' ' -f 2)" = "$("$command" --version | cut -d ' ' -f 2)" ]
    # Less than two thirds of the command.
    [ $(($(stat -c %s "$to/usr/local/lib/numaestro/numaestro-manager") * 3)) -lt $(($(stat -c %s "$to/usr/local/bin/numaestro") * 2)) ] ||
        fail "numaestro-manager is no small program"
    ! grep -rn '@BINDIR@\|@LIBDIR@' "$to/usr/local/lib/systemd" || fail "a place was not filled in"
    [ -x "$(sed -n 's|^ExecStopPost=-+||p' "$to/usr/local/lib/systemd/system/numaestro.service" | sed "s|^|$to|")" ]
    lines_are_apart "$to/usr/local/bin/numaestro" "$to/usr/local/lib/debug"
    # Again, over itself.
    scripts/install.sh install /usr/local "$to"
    scripts/install.sh uninstall /usr/local "$to"
    tree "$to" >"$scratch/after"
    diff "$scratch/before" "$scratch/after"
}

# it_has_what_it_promises PREFIX: the demo and every scenario of an installed copy, away from the sources.
it_has_what_it_promises() {
    local numaestro=$1/bin/numaestro name scenario rows count=0
    (cd / && NUMAESTRO_DIR=$scratch/demo "$numaestro" demo --runs 1) >"$scratch/shown"
    NUMAESTRO_DIR=$scratch/demo "$numaestro" stop
    cat "$scratch/shown"
    rows=$(grep -cE ' x$' "$scratch/shown" || true)
    # Three by gcc, and one by clang where it can make OpenMP programs.
    [ "$rows" -ge 3 ] || fail "the demo shows $rows pairs only"
    for scenario in "$1"/share/numaestro/scenarios/*.toml; do
        (cd / && "$numaestro" sim run --seeds 1 "$scenario") || fail "$scenario does not run"
        count=$((count + 1))
    done
    [ $count -eq "$(git ls-files 'lab/scenarios/*.toml' | grep -vc /programs/)" ] || fail "only $count scenarios are installed"
    for name in build/client/libnumaestro_*.so; do [ -e "$1/lib/numaestro/${name##*/}" ] || fail "$name is not installed"; done
}

installed_copies_have_what_they_promise() {
    local to=$scratch/whole
    scripts/install.sh install /usr/local "$to"
    it_has_what_it_promises "$to/usr/local"
}

# A copy has the list of the installation that it is a copy of.
a_copy_is_uninstalled_alone() {
    local original=$scratch/original copy=$scratch/copy old
    scripts/install.sh install /opt/one "$original"
    tree "$original" >"$scratch/before"
    mkdir -p "$original/opt/two"
    cp -a "$original/opt/one" "$copy"
    cp -a "$original/opt/one/." "$original/opt/two"
    scripts/install.sh uninstall /opt/two "$original"
    [ ! -e "$original/opt/two" ] || { tree "$original/opt/two"; fail "the copy is still there"; }
    tree "$original" >"$scratch/after"
    diff "$scratch/before" "$scratch/after"
    # Lists of older versions have whole paths.
    old=$copy/lib/numaestro/installed-files
    sed -E "s|^(file\|directory) |&$original/opt/one/|; /^prefix /d" "$original/opt/one/lib/numaestro/installed-files" >"$old"
    ! scripts/install.sh uninstall "$copy" || fail "it said nothing about the files of another"
    tree "$original" >"$scratch/after"
    diff "$scratch/before" "$scratch/after"
}

# Anybody may have written into the list of a prefix, or have put links into it.
uninstalling_stays_within_the_prefix() {
    local home=$scratch/forged other=$scratch/other list line
    mkdir -p "$home" "$other/empty"
    echo precious >"$other/file"
    # Settings of others stand beside ours.
    export SYSCONFDIR=$other
    scripts/install.sh install "$home/x"
    list=$home/x/lib/numaestro/installed-files
    ln -s "$other" "$home/x/link"
    for line in "file $other/file" "file ../../other/file" "file lib/../../../other/file" "file link/file" "directory $other/empty" "directory link/empty" \
        "config $(sha256sum "$other/file" | cut -d ' ' -f 1) $other/file"; do
        echo "$line" >>"$list"
    done
    tree "$other" >"$scratch/before"
    ! scripts/install.sh uninstall "$home/x" >"$scratch/said" 2>&1 || fail "it is content"
    cat "$scratch/said"
    tree "$other" >"$scratch/after"
    diff "$scratch/before" "$scratch/after"
    for line in "$other/file" "$home/x/../../other/file" "$home/x/lib/../../../other/file" "$home/x/link/file" "$other/empty" "$home/x/link/empty"; do
        grep -qF "left alone, it is not in $home/x: $line" "$scratch/said" || fail "nothing was said about $line"
    done
    # What is ours is gone all the same.
    [ "$(cd "$home/x" && find . ! -type d)" = ./link ] || { tree "$home"; fail "something is left"; }
}

# Whatever glibc is here: what was built runs with 2.17.
it_runs_with_an_old_c_library() {
    MANIFEST=no scripts/install.sh install /usr "$scratch/old"
    LC_ALL=C grep -rlazP --exclude='*.debug' '^\x7fELF' "$scratch/old" >"$scratch/programs"
    grep -q '/bin/numaestro$' "$scratch/programs" && grep -q '\.so' "$scratch/programs"
    scripts/check-glibc.sh "$command" build/client/*.so $(<"$scratch/programs")
    # The check sees what was linked in the usual way on a newer system.
    if command -v gcc >/dev/null && ldd --version | head -n 1 | grep -qE '2\.(3[4-9]|[4-9][0-9])$'; then
        echo "int main(void) { return 0; }" | gcc -x c - -o "$scratch/usual"
        ! scripts/check-glibc.sh "$scratch/usual" || fail "a program of this system is not told from one for 2.17"
    fi
}

# lines_are_apart COMMAND DIRECTORY: the command has no lines for debuggers, and the file that it names has them.
lines_are_apart() {
    local build file
    command -v objcopy >/dev/null && command -v readelf >/dev/null || return 0
    ! readelf -S "$1" | grep -E '\.(debug_|symtab)' || fail "the command is not stripped"
    build=$(LC_ALL=C readelf -n "$1" | sed -n 's/^ *Build ID: //p')
    file=$2/.build-id/${build:0:2}/${build:2}.debug
    [ -n "$build" ] && readelf -S "$file" | grep -q '\.debug_line' || fail "no lines in $file"
    [ "$(LC_ALL=C readelf -n "$file" | sed -n 's/^ *Build ID: //p')" = "$build" ] || fail "$file is of another build"
    readelf --string-dump=.gnu_debuglink "$1" | grep -q "${build:2}.debug" || fail "the command does not name its lines"
}

changed_settings_stay() {
    local to=$scratch/two settings=$scratch/two/etc/numaestro/config.toml
    scripts/install.sh install /usr "$to"
    "$command" daemon --system --check-config --config "$settings" | grep -qx ok
    echo 'policy = "dss"' >>"$settings"
    scripts/install.sh install /usr "$to" | grep 'stays as it is'
    grep -q '^policy = "dss"' "$settings"
    scripts/install.sh uninstall /usr "$to" | grep 'kept because it was changed'
    [ "$(cd "$to" && find . -type f)" = ./etc/numaestro/config.toml ]
}

every_setting_of_the_file_is_one() {
    # What the comments show must be right too.
    sed -E 's/^#([a-z_]+ = |\[)/\1/' packaging/config.toml | sed 's/^admin_group = .*/admin_group = "root"/; s/^\[users.alice\]/[users.root]/; s/^\[groups.students\]/[groups.root]/' \
        >"$scratch/all.toml"
    grep -q '^\[\[rules\]\]' "$scratch/all.toml" && grep -q '^listen = ' "$scratch/all.toml"
    "$command" daemon --system --check-config --config "$scratch/all.toml" | grep -qx ok
}

below_a_home_directory() {
    local home=$scratch/home
    mkdir -p "$home"
    HOME=$home scripts/install.sh install "$home/.local"
    [ -e "$home/.local/share/systemd/user/numaestro.socket" ]
    [ ! -e "$home/.local/lib/systemd" ] || fail "the service for all users is not for one"
    HOME=$home scripts/install.sh uninstall "$home/.local"
    [ -z "$(ls -A "$home")" ] || { tree "$home"; fail "something is left"; }
}

packages_are_the_same_every_time() {
    # Somebody may commit in between.
    export SOURCE_DATE_EPOCH=1700000000
    scripts/package-deb.sh "$scratch/a"
    sleep 1
    scripts/package-deb.sh "$scratch/b"
    diff -r "$scratch/a" "$scratch/b"
}

# in_order PACKAGE NAME: what holds for every package of ours; its files are in $scratch/NAME then.
in_order() {
    local raw=$scratch/$2 part file
    dpkg-deb --info "$1"
    dpkg-deb --raw-extract "$1" "$raw"
    for part in Package Version Architecture Maintainer Installed-Size Depends Section Priority Description; do
        [ -n "$(dpkg-deb --field "$1" "$part")" ] || fail "no $part"
    done
    (cd "$raw" && md5sum --quiet -c DEBIAN/md5sums)
    ! dpkg-deb --contents "$1" | grep -v ' root/root ' || fail "not everything is root's"
    ! find "$raw/usr" -perm /022 ! -type l | grep . || fail "others can write it"
    ! find "$raw" -perm /6000 | grep . || fail "setuid"
    ! find "$raw" -path '*/local/*' -o -name '*.toml' -path '*/etc/*' ! -name config.toml | grep . || fail "it is in the wrong place"
    ! find "$raw/usr/share/man" -type f ! -name '*.gz' | grep . || fail "a page is not compressed"
    for file in copyright changelog.gz; do [ -s "$raw/usr/share/doc/$2/$file" ] || fail "no $file"; done
    "$raw/usr/bin/$2" --version
    [[ "$(dpkg-deb --field "$1" Depends)," == "libc6 (>= 2.17),"* ]] || fail "it wants more than glibc 2.17: $(dpkg-deb --field "$1" Depends)"
    [ ! -e "$raw/usr/lib/debug" ] || fail "lines for debuggers are in it"
    dpkg-deb --raw-extract "$scratch/a/$2"-dbgsym_*.ddeb "$scratch/$2.lines"
    lines_are_apart "$raw/usr/bin/$2" "$scratch/$2.lines/usr/lib/debug"
}

the_packages_are_in_order() {
    local product=$scratch/numaestro lab=$scratch/numaestro-lab script
    in_order "$scratch"/a/numaestro_*.deb numaestro
    for script in postinst prerm postrm; do
        [ -x "$product/DEBIAN/$script" ] && sh -n "$product/DEBIAN/$script" && head -n 1 "$product/DEBIAN/$script" | grep -qx '#!/bin/sh'
    done
    [ "$(cat "$product/DEBIAN/conffiles")" = /etc/numaestro/config.toml ]
    # Without the laboratory there is no simulator, and it says how to get one.
    ! (cd / && PATH=/usr/bin:/bin "$product/usr/bin/numaestro" sim machines) 2>"$scratch/said" || fail "the product simulates"
    grep -q 'install the package numaestro-lab' "$scratch/said" || fail "$(<"$scratch/said")"
    in_order "$scratch"/a/numaestro-lab_*.deb numaestro-lab
    [[ "$(dpkg-deb --field "$scratch"/a/numaestro-lab_*.deb Depends)" == *"numaestro (= "* ]] || fail "the laboratory needs the product"
    [ -z "$(comm -12 <(cd "$product" && find usr -type f | sort) <(cd "$lab" && find usr -type f | sort))" ] || fail "both have one file"
    cp -R "$lab/usr/." "$product/usr"
    it_has_what_it_promises "$product/usr"
}

dpkg_installs_and_purges_it() {
    local root=$scratch/root dpkg
    mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/etc/systemd/system/sockets.target.wants" "$root/run" "$root/var/lib"
    : >"$root/var/lib/dpkg/status"
    dpkg="dpkg --root=$root --log=$scratch/dpkg.log --force-script-chrootless --force-depends --force-not-root --force-bad-path"
    tree "$root" | grep -v ' ./var/lib/dpkg' >"$scratch/before"
    $dpkg --install "$scratch"/a/*.deb
    [ "$("$root/usr/bin/numaestro" sim machines | wc -l)" -gt 3 ]
    [ "$("$root/usr/bin/numaestro" --version)" = "$("$command" --version)" ]
    # As if it had been used.
    ln -s /lib/systemd/system/numaestro.socket "$root/etc/systemd/system/sockets.target.wants/numaestro.socket"
    mkdir -p "$root/var/lib/numaestro" "$root/run/numaestro"
    touch "$root/var/lib/numaestro/manager.journal" "$root/run/numaestro/lock" "$root/etc/numaestro/config.d/50-users.toml"
    $dpkg --install "$scratch"/a/*.deb
    $dpkg --remove numaestro-lab numaestro
    [ -e "$root/etc/numaestro/config.toml" ] || fail "settings are removed only by purging"
    [ ! -e "$root/usr/bin/numaestro" ] && [ ! -h "$root/etc/systemd/system/sockets.target.wants/numaestro.socket" ]
    $dpkg --purge numaestro-lab numaestro
    tree "$root" | grep -v ' ./var/lib/dpkg' >"$scratch/after"
    diff "$scratch/before" "$scratch/after"
}

if [ "${1-}" = --case ]; then
    "$2"
    exit 0
fi
if [ ! -x "$command" ] || [ ! -e build/client/libnumaestro.so ]; then
    echo "FAILED packaging"
    echo "    make laboratory client, then try again"
    exit 1
fi
check install_and_uninstall
check changed_settings_stay
check every_setting_of_the_file_is_one
check below_a_home_directory
check installed_copies_have_what_they_promise
check a_copy_is_uninstalled_alone
check uninstalling_stays_within_the_prefix
if command -v objdump >/dev/null 2>&1; then check it_runs_with_an_old_c_library; else echo "skipped it_runs_with_an_old_c_library: no objdump here"; fi
if command -v dpkg-deb >/dev/null 2>&1 && command -v objdump >/dev/null 2>&1; then
    check packages_are_the_same_every_time
    check the_packages_are_in_order
    check dpkg_installs_and_purges_it
else
    for name in packages_are_the_same_every_time the_packages_are_in_order dpkg_installs_and_purges_it; do
        echo "skipped $name: no dpkg-deb or no objdump here"
    done
fi
[ $failures -eq 0 ]
