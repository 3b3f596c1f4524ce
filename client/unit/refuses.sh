#!/bin/sh
# refuses.sh - what must keep a team from being folded in user space: `refuses.sh COMPILER DIRECTORY PRELOAD`, in the
# directory of the Makefile.
set -u
cc=$1 made=$2
export NUMAESTRO_ATTACH="$2/refuses.attach" REFUSES_PRELOAD="$3"

# make NAME FLAGS...
make() {
    name=$1
    shift
    "$cc" -O2 -g -fopenmp -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror "$@" unit/refuses.c src/*.c -pthread -ldl -o "$made/$name"
}

mkdir -p "$made"
make plain || exit 1
said=$("$made/plain" 0) || {
    case $said in *"reason 2,"*) echo "skipped refuses: no user-space switching here"; exit 0 ;; esac
    echo "$said"
    exit 1
}
bad=0
# check WHY NAME [VARIABLE...]
check() {
    why=$1 name=$2
    shift 2
    said=$(env "$@" "$made/$name" "$why") || { echo "$said $*"; bad=1; }
}
make names-rseq -DNAMES_RSEQ && check 7 names-rseq
make names-rseq-pic -DNAMES_RSEQ -fPIC && check 7 names-rseq-pic
make finds-rseq -DFINDS_RSEQ && check 7 finds-rseq
check 7 plain GLIBC_TUNABLES=glibc.pthread.rseq=0
case $("$cc" --version) in
*clang*)
    if ! echo '#include <omp-tools.h>' | "$cc" -E - >/dev/null 2>&1; then
        echo "skipped refuses with a tool: no omp-tools.h here"
    else
        make tool -DHAS_TOOL && check 3 tool
        check 0 tool OMP_TOOL=disabled
        make libtool.so -DHAS_TOOL -shared -fPIC && check 3 plain "OMP_TOOL_LIBRARIES=$made/libtool.so"
    fi
    check 3 plain OMP_DEBUG=enabled
    ;;
*)
    make sets-long -DSETS_LONG && check 0 sets-long
    # The variable is `run`'s, not the user's. There is nothing to show with before gcc 12.
    make shows -DSHOWS 2>/dev/null && check 0 shows GOMP_SPINCOUNT=300089 2>"$made/shown" &&
        { grep -q "GOMP_SPINCOUNT = '300000'" "$made/shown" || { echo "FAILED refuses: not the user's spin count is shown"; bad=1; }; }
    ;;
esac
[ $bad = 0 ] && echo "ok refuses: programs with restartable sequences, a tool or long settings with $cc"
exit $bad
