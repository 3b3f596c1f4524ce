#!/usr/bin/env bash
# Makes build/numaestro-VERSION-py3-none-PLATFORM.whl of the command that `make binaries` made and of python/. The same input gives the
# same bytes. Hatchling builds it, in build/venv-wheel.
#
# usage: scripts/package-wheel.sh [DIRECTORY]     DIRECTORY: where to put it (default: build)
# COMMAND is another build of the command than target/release/numaestro.
set -eu
umask 022
cd "$(dirname "$0")/.."
mkdir -p "${1:-build}"
out=$(realpath "${1:-build}")
command=${COMMAND:-target/release/numaestro}
[ -x "$command" ] || { echo "wheel: $command is missing: make binaries, then try again" >&2; exit 1; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Says what is missing and what to do.
without() { echo "wheel: $1" >&2; exit 1; }
venv=build/venv-wheel
has_hatchling() { "$venv/bin/python" -c 'import hatchling' 2>/dev/null; }
if ! has_hatchling; then
    mkdir -p build
    python3 -m venv --clear "$venv" >build/venv-wheel.log 2>&1 || without "no virtual environment could be made (apt install python3-venv; see build/venv-wheel.log)"
    timeout 300 "$venv/bin/pip" install -q --disable-pip-version-check --only-binary :all: 'hatchling>=1.24' >>build/venv-wheel.log 2>&1 </dev/null || true
    has_hatchling || without "pip could not fetch hatchling (see build/venv-wheel.log)"
fi

# A command for machines with C libraries from the one on that its symbols ask for, if it needs only libraries that every such machine has
# (the rule of manylinux_2_N); else for machines like this one. What the command carries was compiled beside it, by the same compiler.
platform() {
    local machine needed libc
    machine=$(uname -m)
    needed=$(LC_ALL=C objdump -p "$@" 2>/dev/null | sed -n 's/^ *NEEDED *//p' | sort -u)
    libc=$(LC_ALL=C objdump -p "$@" 2>/dev/null | sed -n 's/.*GLIBC_2\.\([0-9]*\).*/\1/p' | sort -n | tail -n 1)
    if [ -z "$libc" ] || grep -qvxE 'lib(c|m|dl|rt|pthread)\.so\.[0-9]|libgcc_s\.so\.1|ld-linux.*' <<<"$needed"; then
        echo "linux_$machine"
    elif [ "$libc" -le 17 ]; then
        # The name that every pip knows.
        echo "manylinux_2_17_$machine.manylinux2014_$machine"
    else
        echo "manylinux_2_${libc}_$machine"
    fi
}

cp "$command" "$scratch/numaestro"
chmod 755 "$scratch/numaestro"
shopt -s nullglob
NUMAESTRO_PLATFORM=$(platform "$scratch/numaestro" build/client/*.so)
NUMAESTRO_COMMAND=$scratch/numaestro
if command -v strip >/dev/null 2>&1; then strip --strip-unneeded "$scratch/numaestro"; fi
# The time of everything in the wheel; zip knows none before 1980.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export NUMAESTRO_PLATFORM NUMAESTRO_COMMAND SOURCE_DATE_EPOCH

# Built from a copy: nothing is written beside the sources, and the licences are where the backend looks for them.
mkdir "$scratch/python"
cp -R python/numaestro python/pyproject.toml python/command_hook.py python/README.md LICENSE-MIT LICENSE-APACHE "$scratch/python"
find "$scratch/python" -name __pycache__ -prune -exec rm -rf {} +
find "$scratch/python" -type f -exec chmod 644 {} +
cp Cargo.toml "$scratch"
venv=$(realpath "$venv")
(cd "$scratch/python" && "$venv/bin/python" -m hatchling build -t wheel -d "$scratch/out" >"$scratch/log" 2>&1) || { cat "$scratch/log" >&2; exit 1; }
wheel=$(cd "$scratch/out" && echo ./*.whl)
mv "$scratch/out/$wheel" "$out"
echo "wheel: $(realpath --relative-to=. "$out/$wheel"); install it with: pip install $out/${wheel#./}"
