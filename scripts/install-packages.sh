#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that building, the demo or the tests need, and only those that are missing.
#
# usage: scripts/install-packages.sh [--dry-run] build|test|fresh|slurm|mpi|containers|all
#
# all: of build, test, slurm, mpi and containers.
#
# Whether something is there is found out by using it, not by asking the package manager: a compiler or library that
# came another way is as good. What is required and cannot be had ends this with an error; the rest is named and left out.
set -u

dry_run=no
[ "${1-}" = --dry-run ] && { dry_run=yes; shift; }
group=${1-}
case $group in
build | test | fresh | slurm | mpi | containers | all) ;;
*) sed -n 's/^# usage: //p' "$0" >&2; exit 64 ;;
esac

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# Whether a C, C++ or Fortran program can be compiled and linked: links COMPILER LANGUAGE HEADER FLAGS...
links() {
    local compiler=$1 language=$2 header=$3
    shift 3
    command -v "$compiler" >/dev/null 2>&1 || return 1
    { [ -z "$header" ] || printf '#include <%s>\n' "$header"; printf 'int main(void) { return 0; }\n'; } >"$scratch/probe"
    "$compiler" -x "$language" "$scratch/probe" -o "$scratch/probe.out" "$@" >/dev/null 2>&1
}
has_file() { compgen -G "$1" >/dev/null; }
has_aarch64() { command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64; }
has_libraries() { /usr/bin/python3 -s -c 'import numba, numpy, sklearn, xgboost'; }
has_node() { command -v node && command -v npm; }
has_slurm() { (PATH=$PATH:/usr/sbin:/usr/local/sbin && command -v slurmctld && command -v slurmd && command -v sbatch && command -v munged); }
has_podman() { command -v podman && command -v runc; }
# Debian's names: both can be installed side by side, and the alternatives `mpicc` and `mpirun` lead to one of them.
has_open_mpi() { links mpicc.openmpi c mpi.h && command -v mpirun.openmpi; }
has_mpich() { links mpicc.mpich c mpi.h && command -v mpirun.mpich; }
has_parallel() { parallel --version | grep GNU; }
has_launchers() { command -v bwrap && command -v numactl && command -v hwloc-bind && command -v sudo && command -v fakeroot; }
has_venv() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

required=() optional=() left_out=()
# require|want WHAT PACKAGES PROBE...: adds PACKAGES to the list if PROBE fails.
require() { local what=$1 packages=$2; shift 2; "$@" >/dev/null 2>&1 || { missing_required+=("$what"); required+=($packages); }; }
want() { local what=$1 packages=$2; shift 2; "$@" >/dev/null 2>&1 || { missing_optional+=("$what"); optional+=($packages); }; }

probe_all() {
    missing_required=() missing_optional=() required=() optional=()
    if [ "$group" = fresh ]; then
        want "mmdebstrap" "mmdebstrap" command -v mmdebstrap
        return 0
    fi
    require "gcc with libgomp" "gcc libc6-dev" links gcc c omp.h -fopenmp
    require "make" "make" command -v make
    want "clang with libomp" "clang libomp-dev" links clang c omp.h -fopenmp
    want "g++" "g++" links g++ c++ "cstdio"
    want "OpenBLAS" "libopenblas-dev" links gcc c cblas.h -lopenblas
    want "oneTBB" "libtbb-dev" links g++ c++ oneapi/tbb.h -std=c++17 -ltbb
    case $group in all | mpi)
        want "Open MPI" "openmpi-bin libopenmpi-dev" has_open_mpi
        want "MPICH" "mpich libmpich-dev" has_mpich
        ;;
    esac
    case $group in all | slurm)
        want "Slurm" "slurm-wlm" has_slurm
        want "the header of Slurm's plugins" "libslurm-dev" links gcc c slurm/spank.h
        ;;
    esac
    case $group in all | test | slurm) want "GNU parallel" "parallel" has_parallel ;; esac
    case $group in all | containers)
        # runc knows every layout of control groups, crun does not.
        want "Podman with runc" "podman runc" has_podman
        want "jq" "jq" command -v jq
        ;;
    esac
    case $group in all | test) ;; *) return 0 ;; esac
    want "Python with venv" "python3 python3-venv" has_venv
    want "Debian's libraries of Python" "python3-numpy python3-sklearn python3-numba python3-xgboost" has_libraries
    want "tmux" "tmux" command -v tmux
    want "Node.js" "nodejs npm" has_node
    want "Chromium" "chromium" command -v chromium
    want "gfortran" "gfortran" command -v gfortran
    want "OpenBLAS with OpenMP" "libopenblas0-openmp" has_file '/usr/lib*/*/openblas-openmp/libopenblas.so.0'
    want "OpenBLAS with threads" "libopenblas0-pthread" has_file '/usr/lib*/*/openblas-pthread/libopenblas.so.0'
    want "BLIS with OpenMP" "libblis4-openmp" has_file '/usr/lib*/*/blis-openmp/libblis.so.4'
    want "musl-gcc" "musl-tools" command -v musl-gcc
    want "sandboxes and launchers" "bubblewrap numactl hwloc-nox sudo fakeroot" has_launchers
    want "jemalloc" "libjemalloc2" has_file '/usr/lib*/*/libjemalloc.so.2'
    want "tcmalloc" "libtcmalloc-minimal4" has_file '/usr/lib*/*/libtcmalloc_minimal.so.4'
    want "BusyBox" "busybox-static" command -v busybox
    want "Charliecloud" "charliecloud-runtime" command -v ch-run
    want "aarch64 in an emulator" "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" has_aarch64
}

# Runs a command as root, or says why that is not possible.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        DEBIAN_FRONTEND=noninteractive "$@"
    elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    else
        echo "packages: this needs root: no sudo without a password, and no terminal to ask for one" >&2
        return 1
    fi
}

# Services that come with these packages stay off, now and at the next start of this machine: the tests start what they
# need by themselves. One that was installed before is left as it is.
units=(munge.service slurmd.service slurmctld.service podman.socket podman.service podman-restart.service podman-auto-update.service
    podman-auto-update.timer)
install() (
    policy=/usr/sbin/policy-rc.d new=()
    for unit in "${units[@]}"; do
        has_file "/lib/systemd/system/$unit" || new+=("$unit")
    done
    if [ -d /usr/sbin ] && [ ! -e $policy ]; then
        trap 'as_root rm -f $policy' EXIT
        as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy" || exit 1
    fi
    as_root apt-get install -y -q --no-install-recommends "$@" >"$scratch/apt.log" 2>&1 || exit
    for unit in "${new[@]}"; do
        ! has_file "/lib/systemd/system/$unit" || as_root systemctl disable "$unit" >>"$scratch/apt.log" 2>&1
    done
    exit 0
)

probe_all
if [ ${#missing_required[@]} -eq 0 ] && [ ${#missing_optional[@]} -eq 0 ]; then
    echo "packages: everything is here"
    exit 0
fi
echo "packages: missing: $(printf '%s, ' "${missing_required[@]}" "${missing_optional[@]}" | sed 's/, $//')"
if [ $dry_run = yes ]; then
    echo "packages: would install: ${required[*]} ${optional[*]}"
    exit 0
fi

if command -v apt-get >/dev/null 2>&1; then
    # A list that cannot be fetched may still be good enough: the install says.
    as_root apt-get update -q >"$scratch/apt.log" 2>&1 || tail -n 3 "$scratch/apt.log" >&2
    if ! install "${required[@]}" "${optional[@]}"; then
        # One package that does not exist here must not cost the others.
        [ ${#required[@]} -eq 0 ] || install "${required[@]}" || tail -n 5 "$scratch/apt.log" >&2
        for package in "${optional[@]}"; do install "$package" || left_out+=("$package"); done
    fi
else
    echo "packages: no apt-get here; the names of the packages below are Debian's" >&2
fi

probe_all
if [ ${#missing_required[@]} -gt 0 ]; then
    echo "packages: cannot go on without: $(printf '%s, ' "${missing_required[@]}" | sed 's/, $//')" >&2
    echo "packages: install them and try again, on Debian or Ubuntu: apt-get install ${required[*]}" >&2
    exit 1
fi
[ ${#missing_optional[@]} -eq 0 ] ||
    echo "packages: going on without $(printf '%s, ' "${missing_optional[@]}" | sed 's/, $//') (packages ${optional[*]}); what needs them is left out"
exit 0
