#!/usr/bin/env bash
# Types what a newcomer types, on machines that have nothing but Rust, git and make: minimal roots of Debian or Ubuntu. In each root, first
# root and then a user who may use sudo clones HEAD (what is not committed is not in it), sees the demo, installs, uses what is installed, and
# removes it; nothing may be left then. See docs/guides/tests.md.
#
# usage: scripts/test-fresh.sh [SUITE...]     releases with packages; default: the one of this machine
#
# FRESH_TARGET=DIR   build in this directory, which is this clone's: what was built in the root is there afterwards. Only where the clone is as HEAD.
# FRESH_KEEP=yes     leave the roots for a look, below build/
#
# One line for each thing tried, as scripts/count-tests.awk reads it. This machine's Rust, its downloaded crates, its package sources and its
# name server serve the roots; they see nothing else of it.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 1
newcomer=newcomer newcomer_id=1000 proxies="http_proxy https_proxy no_proxy"

# ---- In a root: --session SUITE USER CLONE

home_of_newcomer() { getent passwd $newcomer | cut -d : -f 6; }

# typed COMMAND: as the newcomer, in the clone, with nothing of ours in the environment.
typed() {
    local home=/root uid=0
    [ "$who" = root ] || { home=$(home_of_newcomer) uid=$(id -u $newcomer); }
    local clean=(env -i "HOME=$home" "USER=$who" "LOGNAME=$who" "SHELL=/bin/bash" "TERM=dumb" "LANG=C.UTF-8" "CARGO_HOME=$CARGO_HOME"
        "PATH=$RUST_BIN:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    for name in $proxies; do [ -z "${!name-}" ] || clean+=("$name=${!name}"); done
    (cd "$clone" && setpriv --reuid "$uid" --regid "$uid" --init-groups "${clean[@]}" bash -c "set -e -o pipefail; umask 022; $1") </dev/null
}
as_root() { if [ "$who" = root ]; then echo "$*"; else echo "sudo $*"; fi; }

# check NAME FUNCTION ARGUMENTS...: in a process of its own, since bash would go on after a failure where a result is asked for.
check() {
    local name=${suite}_${who}_$1 begin=$SECONDS
    shift
    if bash "$0" --case "$suite" "$who" "$clone" "$@" >/run/log 2>&1; then
        echo "ok $name ($((SECONDS - begin)) s)"
    else
        echo "FAILED $name ($((SECONDS - begin)) s)"
        tail -n 60 /run/log | sed 's/^/    /'
        return 1
    fi
}

clone_it() {
    mkdir -p "$clone"
    chown -R "$who" "$clone" /srv/numaestro.git
    typed "git clone -q /srv/numaestro.git $clone"
    # The second clone has the same files as the first: what was built of those is still good. Cargo looks at the times of folders, too.
    [ ! -e /run/build/began ] || find "$clone" -exec touch -h -r /run/build/began {} +
    [ -e /run/build/began ] || touch /run/build/began
    mkdir -p "$clone/target"
    chown -R "$who" /run/build
}

# A program of the newcomer's own, which says on standard error whether the shim is in it.
own_program() {
    cat >/tmp/own.c <<'C'
#include <stdio.h>
#include <string.h>
int main(void) {
    double sum = 0;
    int most = 0;
    for (int round = 0; round < 1000; round++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 10000; i++) sum += i & 7;
    }
#pragma omp parallel reduction(+ : most)
    most++;
    printf("%.0f by %d threads\n", sum, most);
    char line[4096];
    int shims = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) shims += strstr(line, "libnumaestro_shim") != NULL;
    fprintf(stderr, "%s\n", shims ? "with the shim" : "without the shim");
    return 0;
}
C
    command -v gcc >/dev/null || apt-get install -y -q --no-install-recommends gcc libc6-dev
    gcc -O2 -fopenmp /tmp/own.c -o /tmp/own
    chmod 755 /tmp/own
}

# manages COMMAND: the program computes the same with it and without it, and is managed.
manages() {
    own_program
    rm -f /tmp/managed
    typed "/tmp/own" >/tmp/plain
    typed "$1 run -- /tmp/own" >/tmp/managed 2>/run/said || { cat /run/said; return 1; }
    cat /run/said
    grep -qx "with the shim" /run/said
    cmp /tmp/plain /tmp/managed
    typed "$1 stop"
    rm -f /tmp/own /tmp/own.c /tmp/plain /tmp/managed
}

# shows COMMAND: the demo has a row for each of its programs, three by gcc and one by clang.
shows() {
    typed "$1" | tee /run/shown
    [ "$(grep -cE '^[a-z]+ \+ [a-z]+ .* x$' /run/shown)" -eq 4 ]
    grep -q '^Next:' /run/shown
}
doctor_is_content() {
    typed "$1 doctor" | tee /run/shown
    tail -n 1 /run/shown | grep -q '^Programs can be managed here'
}
scenarios_run() {
    local scenario count=0
    for scenario in "$2"/share/numaestro/scenarios/*.toml; do
        echo "$scenario"
        typed "cd /; $1 sim run $scenario"
        count=$((count + 1))
    done
    [ "$count" -eq "$(find "$clone/lab/scenarios" -maxdepth 1 -name '*.toml' | wc -l)" ]
}
# Everything in this root but the clone and the system's own caches. Logs below /tmp may grow.
everything() {
    find / -xdev \( -path "$clone" -o -path /run -o -path /var/cache -o -path /var/log \) -prune -o -printf '%y %m %s %p %l\n' |
        sed -E 's/^d ([0-7]+) [0-9]+/d \1/; s|^f ([0-7]+) [0-9]+ /tmp/|f \1 /tmp/|' | LC_ALL=C sort -T /run
}
nothing_is_left() { everything >/run/after && diff /run/before /run/after; }

# uses PREFIX COMMAND NAME: what is done with an installed copy.
uses() {
    local prefix=$1 command=$2
    check "$3_demo" shows "cd /; $command demo --runs 1"
    check "$3_doctor" doctor_is_content "cd /; $command"
    check "$3_run" manages "$command"
    check "$3_scenarios" scenarios_run "$command" "$prefix"
}

session() {
    check clone clone_it || return
    mount --bind /run/build "$clone/target" || return
    check make_demo shows "make demo"
    local built=$?
    # What is given to others runs on their machines, however old these are.
    [ ! -e /run/elsewhere ] || check built_elsewhere manages /run/elsewhere/numaestro
    [ $built -eq 0 ] || return
    # What a running manager has open is not what an installation leaves.
    typed "target/release/numaestro stop || true" >/run/log 2>&1
    everything >/run/before
    if check make_install typed "$(as_root make install)"; then
        uses /usr/local numaestro installed
        check make_uninstall typed "$(as_root make uninstall)"
        check nothing_is_left nothing_is_left
    fi
    [ "$who" = root ] && return
    if check make_install_home typed 'make install PREFIX=$HOME/.local'; then
        uses "$(home_of_newcomer)/.local" '$HOME/.local/bin/numaestro' home
        check make_uninstall_home typed 'make uninstall PREFIX=$HOME/.local'
        check nothing_is_left_home nothing_is_left
    fi
}

case ${1-} in
--session | --case)
    mode=$1 suite=$2 who=$3 clone=$4
    shift 4
    if [ "$mode" = --session ]; then session; else set -e -o pipefail; "$@"; fi
    exit 0
    ;;
esac

# ---- Outside of the roots

# What the roots get of this machine, found by who has it.
prepare() {
    . /etc/os-release
    own=${VERSION_CODENAME:-}
    keys=/usr/share/keyrings/${ID:-}-archive-keyring.gpg
    # The first mirror of this release, and all its parts.
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
        awk -v release="$own" '$2 == release { if (!mirror) mirror = $1; if ($1 == mirror) parts = parts " " $3 } END { print mirror parts }')
    parts=${mirror#* } mirror=${mirror%% *}
    CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}
    sysroot=$(rustc --print sysroot) || exit 1
    reason=$(impossible)
    if [ -n "$reason" ]; then
        echo "skipped roots: $reason"
        exit 0
    fi
    # The roots read what cargo has downloaded, and cannot add to it.
    cargo fetch --quiet --locked || { echo "FAILED roots: the crates cannot be fetched"; exit 1; }
    git clone --quiet --bare --depth 1 "file://$PWD" "$scratch/numaestro.git" || { echo "FAILED roots: HEAD cannot be cloned"; exit 1; }
}

# Why no root can be made or entered here, if that is so.
impossible() {
    local tool
    for tool in mmdebstrap apt-get unshare chroot setpriv; do
        command -v $tool >/dev/null 2>&1 || { echo "$tool is not here"; return; }
    done
    [ -n "$mirror" ] && [ -r "$keys" ] || { echo "no package source with a key is configured for ${own:-this machine}"; return; }
    case $sysroot in /usr) echo "this machine's Rust is a part of its system, and cannot be lent to another"; return ;; esac
    if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
        echo "neither root nor sudo without a password"
    elif ! with_rights unshare --mount --pid --fork --kill-child --mount-proc true 2>/dev/null; then
        echo "no namespaces here"
    fi
}

with_rights() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }

# enter ROOT ARGUMENTS...: a session in the root, with processes, /proc, /run and /dev/shm of its own.
enter() {
    local root=$1 place
    shift
    for place in "$sysroot" "$CARGO_HOME/registry" "$PWD"; do mkdir -p "$root$place"; done
    # The newcomer goes through these.
    for place in "$sysroot" "$CARGO_HOME/registry" "$PWD"; do
        while [ "$place" != / ]; do chmod a+rx "$root$place"; place=$(dirname "$place"); done
    done
    chown $newcomer_id "$root$CARGO_HOME"
    export RUST_BIN=$sysroot/bin CARGO_HOME
    unshare --mount --pid --fork --kill-child bash -c '
        set -e
        root=$1 sysroot=$2 target=$3 debs=$4 elsewhere=$5
        mount --bind "$root" "$root"
        cd "$root"
        mount -t proc proc proc
        mount --rbind /sys sys
        mount --bind /dev dev
        mount -t tmpfs -o mode=1777 tmpfs dev/shm
        mount -t tmpfs -o mode=755 tmpfs run
        for place in "$sysroot" "$CARGO_HOME/registry"; do
            mount --bind "$place" ".$place"
            mount -o remount,bind,ro ".$place"
        done
        mkdir run/build
        mount --bind "$target" run/build
        mount --bind "$debs" var/cache/apt/archives
        [ -z "$elsewhere" ] || { mkdir run/elsewhere; install -m 755 "$elsewhere" run/elsewhere/numaestro; }
        shift 5
        exec chroot . bash /srv/test-fresh.sh "$@"
    ' enter "$root" "$sysroot" "$target" "$debs" "$elsewhere" "$@"
}

# make_root SUITE: the archive that both roots of a release are unpacked from.
make_root() {
    local suite=$1 options=() line begin=$SECONDS
    # How this machine reaches its mirror.
    apt-config dump | grep -E '^Acquire::(https?|Retries|Check)' >"$scratch/apt.conf"
    while read -r line; do options+=("--aptopt=$line"); done <"$scratch/apt.conf"
    if mmdebstrap --quiet --variant=minbase --include=git,make,ca-certificates,sudo --keyring="$keys" --dpkgopt=force-unsafe-io \
        "${options[@]}" "$suite" "$scratch/$suite.tar" "deb $mirror $suite $parts" >"$scratch/log" 2>&1; then
        echo "ok ${suite}_root ($((SECONDS - begin)) s)"
        return
    fi
    if /usr/lib/apt/apt-helper download-file "$mirror/dists/$suite/InRelease" "$scratch/InRelease" >/dev/null 2>&1; then
        echo "FAILED ${suite}_root"
        tail -n 20 "$scratch/log" | sed 's/^/    /'
    else
        echo "skipped ${suite}_root: $mirror does not have it, or does not answer"
    fi
    return 1
}

# one_suite SUITE: a root for each of the two.
one_suite() {
    local suite=$1 who root
    make_root "$suite" || return
    target=$FRESH_TARGET debs=$scratch/$suite.debs
    [ -n "$target" ] || target=$scratch/$suite.target
    mkdir -p "$target" "$debs"
    rm -f "$target/began"
    [ -n "$elsewhere" ] || [ "$suite" = "$own" ] || echo "skipped ${suite}_built_elsewhere: no command is built here: make binaries"
    for who in root $newcomer; do
        root=$scratch/$suite.$who
        mkdir "$root"
        tar -x -C "$root" -f "$scratch/$suite.tar"
        cp -L /etc/resolv.conf /etc/hosts "$root/etc"
        cp scripts/test-fresh.sh "$root/srv"
        cp -r "$scratch/numaestro.git" "$root/srv"
        chroot "$root" useradd -m -u $newcomer_id -s /bin/bash $newcomer
        echo "$newcomer ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$newcomer"
        # A session says by itself what fails, and comes to its end.
        enter "$root" --session "$suite" "$who" "$PWD" </dev/null || echo "FAILED ${suite}_${who}_session"
    done
    rm -f "$target/began"
    # The newest build is what the other releases try.
    [ "$suite" != "$own" ] || [ ! -x "$target/release/numaestro" ] || cp "$target/release/numaestro" "$scratch/built"
    [ ! -x "$scratch/built" ] || elsewhere=$scratch/built
    [ "$FRESH_KEEP" = yes ] || rm -rf "$scratch/$suite".*
}

# The release of this machine first: what is built in its root is tried in those of the others.
all_suites() {
    local suite
    elsewhere=${COMMAND:-}
    [ -n "$elsewhere" ] || [ ! -x target/release/numaestro ] || elsewhere=target/release/numaestro
    [ -z "$elsewhere" ] || elsewhere=$(realpath "$elsewhere")
    case " $* " in *" $own "*) one_suite "$own" ;; esac
    for suite in "$@"; do [ "$suite" = "$own" ] || one_suite "$suite"; done
}

clean_up() {
    [ -z "$FRESH_TARGET" ] || [ ! -e "$FRESH_TARGET" ] || with_rights chown -R --reference=. "$FRESH_TARGET"
    if [ "$FRESH_KEEP" = yes ]; then echo "The roots are below $scratch."; else with_rights rm -rf "$scratch"; fi
}

if [ "${1-}" = --with-rights ]; then
    shift
    all_suites "$@"
    exit 0
fi
FRESH_TARGET=${FRESH_TARGET:+$(realpath -m "$FRESH_TARGET")} FRESH_KEEP=${FRESH_KEEP:-}
mkdir -p build
scratch=$(mktemp -d "$PWD/build/fresh.XXXXXX") || exit 1
chmod 755 "$scratch"
trap clean_up EXIT
prepare
[ $# -gt 0 ] || set -- "$own"
told=()
for name in $proxies; do told+=("$name=${!name-}"); done
with_rights env "${told[@]}" "PATH=$PATH" "scratch=$scratch" "own=$own" "keys=$keys" "mirror=$mirror" "parts=${parts}" "CARGO_HOME=$CARGO_HOME" "sysroot=$sysroot" \
    "FRESH_TARGET=$FRESH_TARGET" "FRESH_KEEP=$FRESH_KEEP" "COMMAND=${COMMAND:-}" bash "$0" --with-rights "$@" | tee "$scratch/told"
! grep -q '^FAILED ' "$scratch/told" && grep -q '^\(ok\|skipped\) ' "$scratch/told"
