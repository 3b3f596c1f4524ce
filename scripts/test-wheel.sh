#!/usr/bin/env bash
# Builds the wheel, installs it into empty virtual environments, and tries the package and the command there: under real managers, without
# one, without a compiler, and with the libraries that build/venv has. Needs what `make binaries client venv` builds.
#
# usage: scripts/test-wheel.sh [CASE...]
# Managers, homes and environments are below a directory that goes at the end.
set -u
cd "$(dirname "$0")/.." || exit 1
if [ "${1-}" = --case ]; then
    # In a process of its own: where its result is asked for, bash would go on after a failure.
    set -e -o pipefail
else
    scratch=$(mktemp -d) || exit 1
    export scratch
    trap 'rm -rf "$scratch"' EXIT
    # Whoever runs the tests may be managed, or have a say in numbers of threads.
    unset LD_PRELOAD PYTHONPATH PYTHONHOME LOKY_MAX_CPU_COUNT PYTEST_XDIST_AUTO_NUM_WORKERS NUMBA_NUM_THREADS
    for name in $(compgen -e | grep -E '^(NUMAESTRO|OMP|GOMP|KMP|XDG)_'); do unset "$name"; done
    # The cases ask the C library how many processors they have at the moment.
    export NUMAESTRO_POOL=now
fi
export COMMAND=${COMMAND:-target/release/numaestro}
export SOURCE_DATE_EPOCH=1700000000
failures=0 only=" $* "

fail() { echo "$*"; exit 1; }
skip() { echo "$*"; exit 77; }

# check NAME [FUNCTION ARGUMENTS...]: one case with a manager's directory and a home of its own.
check() {
    local name=$1
    [ "$only" = "  " ] || [[ $only == *" $name "* ]] || return 0
    [ $# -gt 1 ] || set -- "$1" "$1"
    shift
    mkdir -p "$scratch/$name/config/numaestro"
    printf 'unmanaged = false\nidle_exit_s = 120\n' >"$scratch/$name/config/numaestro/config.toml"
    HOME=$scratch/$name XDG_CONFIG_HOME=$scratch/$name/config NUMAESTRO_DIR=$scratch/$name/run \
        timeout --kill-after=10 240 bash "$0" --case "$@" >"$scratch/log" 2>&1 </dev/null
    case $? in
    0) echo "ok $name$(grep -E '^(follows|two limits) ' "$scratch/log" | sed 's/^/: /')" ;;
    77) echo "skipped $name: $(tail -n 1 "$scratch/log")" ;;
    *)
        echo "FAILED $name"
        sed 's/^/    /' "$scratch/log"
        failures=$((failures + 1))
        ;;
    esac
}

python() { "$scratch/venv/bin/python" "$@"; }
# The processes of this case: each has its directory in its environment, and so have we.
rest() {
    local file pid words
    for file in $(grep -lsz "^NUMAESTRO_DIR=$NUMAESTRO_DIR$" /proc/[0-9]*/environ); do
        pid=${file//[^0-9]/}
        words=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") || true
        case $words in '' | *" --case "* | "grep "*) ;; *) echo "$pid $words" ;; esac
    done
}
# Ends this case's manager; nothing of the case may be left.
stop() {
    local attempt
    python -m numaestro stop || true
    for attempt in $(seq 50); do
        [ -n "$(rest)" ] || return 0
        sleep 0.1
    done
    fail "left: $(rest)"
}

it_is_the_same_every_time() {
    scripts/package-wheel.sh "$scratch/a"
    sleep 2
    scripts/package-wheel.sh "$scratch/b"
    cmp "$scratch"/a/*.whl "$scratch"/b/*.whl
}

it_is_in_order() {
    local wheel part
    wheel=$(echo "$scratch"/a/*.whl)
    mkdir "$scratch/raw"
    python3 -m zipfile -e "$wheel" "$scratch/raw"
    for part in numaestro/__init__.py numaestro/py.typed numaestro-*.data/scripts/numaestro numaestro-*.dist-info/licenses/LICENSE-MIT; do
        compgen -G "$scratch/raw/$part" >/dev/null || fail "no $part"
    done
    ! find "$scratch/raw" -name '*.pyc' -o -name tests | grep . || fail "this is for nobody"
    ! readelf -S "$scratch"/raw/numaestro-*.data/scripts/numaestro | grep -E '\.(debug_|symtab)' || fail "the command is not stripped"
    ! grep -rq "$PWD" "$scratch/raw/numaestro" || fail "a path of this machine is in it"
    grep -q '^Version: '"$("$COMMAND" --version | cut -d ' ' -f 2)"'$' "$scratch"/raw/numaestro-*.dist-info/METADATA
    ! grep '^Requires-Dist' "$scratch"/raw/numaestro-*.dist-info/METADATA || fail "it depends on other packages"
}

its_platform_is_true() {
    local wheel
    wheel=$(echo "$scratch"/a/*.whl)
    # It runs wherever glibc 2.17 or newer is; older versions of pip know the second name only.
    [[ $wheel == *-none-"manylinux_2_17_$(uname -m).manylinux2014_$(uname -m).whl" ]] || fail "$wheel"
    build/venv-wheel/bin/python -c 'import auditwheel' 2>/dev/null ||
        timeout 200 build/venv-wheel/bin/pip install -q --disable-pip-version-check --only-binary :all: auditwheel || skip "pip could not fetch auditwheel"
    build/venv-wheel/bin/auditwheel show "$wheel" | tr '\n' ' ' >"$scratch/audit"
    grep -qF "platform tag: \"manylinux_2_17_$(uname -m)\"" "$scratch/audit" || fail "$(cat "$scratch/audit")"
}

its_types_are_strict() {
    build/venv-wheel/bin/python -c 'import mypy' 2>/dev/null ||
        timeout 200 build/venv-wheel/bin/pip install -q --disable-pip-version-check --only-binary :all: mypy || skip "pip could not fetch mypy"
    cd python
    ../build/venv-wheel/bin/mypy --cache-dir "$scratch/mypy"
}

# A venv and a PATH that holds its programs and a shell only.
it_needs_no_compiler() {
    local bare=$scratch/bare wheel code=0
    wheel=$(echo "$scratch"/a/*.whl)
    python3 -m venv "$bare"
    export PATH=$bare/bin
    for tool in cc gcc clang make cargo ld objdump; do ! command -v $tool || fail "$tool is here"; done
    pip install -q --disable-pip-version-check --no-index "$wheel"
    numaestro --version
    python3 -m numaestro doctor >"$scratch/doctor" || code=$?
    [ $code -eq 0 ] || [ $code -eq 1 ] || fail "doctor ends with $code: $(<"$scratch/doctor")"
    [[ $(<"$scratch/doctor") == *rocessor* ]] || fail "doctor says nothing: $(<"$scratch/doctor")"
    code=0
    python3 -m numaestro run -- python3 -c 'import numaestro, sys; sys.exit(7 if numaestro.managed() else 1)' || code=$?
    [ $code -eq 7 ] || fail "the program's exit code is $code"
    python3 -m numaestro stop
    python3 -c "import os; os.remove('$bare/bin/numaestro')"
    code=0
    python3 -m numaestro --version >"$scratch/missing" 2>&1 || code=$?
    [ $code -eq 127 ] && [[ $(<"$scratch/missing") == *"pip install"* ]] || fail "a missing command: $code, $(<"$scratch/missing")"
}

# it_runs_in_an_empty_container full|bare: a root that holds Python and what it and the command load, and nothing else: no shell, no
# compiler. Bound, not copied, because a Python may have gigabytes beside it; what was installed beside it is hidden.
it_runs_in_an_empty_container() {
    local root=$scratch/root-$1 interpreter stdlib file
    unshare --map-root-user --mount --pid --fork --kill-child true || skip "no namespaces here"
    interpreter=$(realpath "$(python3 -c 'import sys; print(sys.executable)')")
    stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
    mkdir -p "$root"/{proc,sys,dev,tmp,root,test} "$root$stdlib"
    touch "$root/dev/null"
    cp python/tests/empty.py "$scratch"/a/*.whl "$root/test"
    for file in "$interpreter" $(ldd "$interpreter" "$stdlib"/lib-dynload/*.so "$COMMAND" 2>/dev/null | grep -o ' */[^ ]* (0x' | cut -d '(' -f 1 | sort -u); do
        mkdir -p "$root${file%/*}"
        cp -L "$file" "$root$file"
    done
    # Debian keeps the wheel of pip apart.
    for file in /usr/share/python-wheels; do [ ! -d $file ] || { mkdir -p "$root$file" && cp -r $file "$root${file%/*}"; }; done
    unshare --map-root-user --mount --pid --fork --kill-child bash -e -c '
        root=$1 stdlib=$2
        mount -t proc proc "$root/proc" || exit 77
        mount --bind /dev/null "$root/dev/null"
        mount --bind "$stdlib" "$root$stdlib"
        for hidden in site-packages dist-packages; do [ ! -d "$root$stdlib/$hidden" ] || mount -t tmpfs none "$root$stdlib/$hidden"; done
        mount -o remount,bind,ro "$root$stdlib"
        [ "$4" = bare ] || { mount --rbind /sys "$root/sys" && mount -o remount,bind,ro "$root/sys"; }
        cd "$root"
        exec env -i HOME=/root PATH="$PATH" chroot "$root" "$3" /test/empty.py "/$(echo test/*.whl)" "$4"
    ' empty "$root" "$stdlib" "$interpreter" "$1" || { [ $? -eq 77 ] && skip "no /proc of its own may be mounted here" || exit 1; }
}

its_removal_leaves_nothing() {
    local venv=$scratch/removal before after
    python3 -m venv "$venv"
    before=$(cd "$venv" && find . ! -name '*.pyc' | sort)
    "$venv/bin/pip" install -q --disable-pip-version-check --no-index "$scratch"/a/*.whl
    "$venv/bin/pip" uninstall -q -y numaestro
    after=$(cd "$venv" && find . ! -name '*.pyc' | sort)
    diff <(echo "$before") <(echo "$after")
}

# managed CASE [OPTIONS OF RUN...]
managed() {
    local case=$1 manager
    shift
    python -m numaestro run -- true
    manager=$(python -m numaestro status --json | python -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
    MANAGER=$manager python -m numaestro run "$@" -- "$scratch/venv/bin/python" python/tests/managed.py "$case"
    stop
}
alone() {
    python python/tests/alone.py "$1"
    stop
}
exits() {
    local code=0
    python -m numaestro run -- "$scratch/venv/bin/python" python/tests/managed.py the_exit_is_the_programs_own || code=$?
    [ $code -eq 7 ]
    stop
}
# libraries CASE: with what build/venv has.
libraries() {
    python -m numaestro run -- "$scratch/libraries/bin/python" python/tests/libraries.py "$1" 2>&1 | tee "$scratch/said"
    # Nothing of the program may be kept by the package's thread when the interpreter ends.
    ! grep -qi leaked "$scratch/said" || fail "something is kept"
    stop
}
# As many workers as processors; the user's own number wins; without numaestro pytest-xdist decides.
pytest_xdist() {
    local python=$scratch/libraries/bin/python
    "$python" -c 'import xdist' 2>/dev/null || skip "pytest-xdist is not here"
    mkdir "$scratch/xdist"
    for i in 1 2 3 4; do echo "def test_$i(): pass"; done >"$scratch/xdist/test_it.py"
    # workers COMMAND...: the number that pytest names.
    workers() {
        (cd "$scratch/xdist" && "$@" "$python" -m pytest -p no:cacheprovider -n auto -v) >"$scratch/pytest" 2>&1 || { cat "$scratch/pytest"; return 1; }
        sed -n 's/.*created: \([0-9]*\)\/.*/\1/p; s/^\([0-9]*\) workers* .*/\1/p' "$scratch/pytest" | tail -n 1
    }
    [ "$(workers "$scratch/venv/bin/numaestro" run --max 1 --)" = 1 ] || fail "$(cat "$scratch/pytest")"
    [ "$(workers env PYTEST_XDIST_AUTO_NUM_WORKERS=3 "$scratch/venv/bin/numaestro" run --max 1 --)" = 3 ] || fail "$(cat "$scratch/pytest")"
    [ "$(workers env PYTEST_XDIST_AUTO_NUM_WORKERS=2)" = 2 ] || fail "$(cat "$scratch/pytest")"
    # Without pytest-xdist the plugin is no trouble.
    (cd "$scratch/xdist" && "$python" -m pytest -p no:cacheprovider -p no:xdist -q)
    stop
}
# Every block of the page, one after the other, in one program.
the_page_is_right() {
    sed -n '/^```python$/,/^```$/p' docs/python.md | sed '/^```/d' >"$scratch/page.py"
    [ "$(wc -l <"$scratch/page.py")" -gt 10 ]
    python -m numaestro run -- "$scratch/venv/bin/python" "$scratch/page.py"
    stop
}

if [ "${1-}" = --case ]; then
    shift
    "$@"
    exit 0
fi

if [ ! -x "$COMMAND" ]; then
    echo "FAILED wheel"
    echo "    make binaries client, then try again"
    exit 1
fi
if ! python3 -m venv "$scratch/venv" >"$scratch/log" 2>&1; then
    echo "skipped wheel: no virtual environment could be made"
    exit 0
fi
if ! scripts/package-wheel.sh "$scratch/a" >"$scratch/log" 2>&1 && grep -q 'could not fetch hatchling' "$scratch/log"; then
    echo "skipped wheel: pip could not fetch hatchling"
    exit 0
fi
if ! "$scratch/venv/bin/pip" install -q --disable-pip-version-check --no-index "$scratch"/a/*.whl >>"$scratch/log" 2>&1; then
    echo "FAILED wheel"
    sed 's/^/    /' "$scratch/log"
    exit 1
fi
check it_is_the_same_every_time
check it_is_in_order
check its_platform_is_true
check its_types_are_strict
check it_needs_no_compiler
check it_runs_in_an_empty_container it_runs_in_an_empty_container full
check it_says_what_an_empty_container_lacks it_runs_in_an_empty_container bare
check its_removal_leaves_nothing
for case in the_number_is_that_of_the_affinity changes_of_the_affinity_are_seen an_adopted_program_hears_of_changes following_nothing_is_said \
    importing_does_nothing; do
    check $case alone $case
done
for case in the_number_is_the_managers limits_are_told_to_the_manager limits_may_overlap limits_in_many_threads a_neighbour_comes_and_goes \
    a_callback_that_fails_does_no_harm the_child_of_a_fork workers_of_a_limited_program the_manager_dies wrong_arguments; do
    check $case managed $case
done
check a_limit_below_the_minimum managed a_limit_below_the_minimum --min 2
check the_exit_is_the_programs_own exits
check the_page_is_right

# The same package beside the libraries of build/venv.
python3 -m venv "$scratch/libraries" >/dev/null
"$scratch/libraries/bin/pip" install -q --disable-pip-version-check --no-index "$scratch"/a/*.whl
site() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
libraries=${LIBRARIES:-build/venv}/bin/python
[ ! -x "$libraries" ] || site "$libraries" >"$(site "$scratch/libraries/bin/python")/libraries.pth"
for case in torch torch_in_another_thread duckdb duckdb_by_default numba joblib dask a_library_that_is_not_installed exceptions_of_signal_handlers_arrive; do
    check $case libraries $case
done
check pytest_xdist
[ $failures -eq 0 ]
