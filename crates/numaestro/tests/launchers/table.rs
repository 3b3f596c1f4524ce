//! The kinds of launchers. `{omp}` and its kin are payloads with their arguments, `{omp-path}` is
//! one without.

/// One kind.
pub struct Kind {
    pub name: &'static str,
    /// Commands that it needs; `root` for the rights.
    pub needs: &'static str,
    /// One word each, or a script for `sh` if there is a sign in it that only a shell knows.
    pub words: &'static str,
    /// Variables that are set before `numaestro run`.
    pub outside: &'static str,
}

const fn kind(name: &'static str, needs: &'static str, words: &'static str) -> Kind {
    Kind { name, needs, words, outside: "" }
}

const fn outside(name: &'static str, outside: &'static str) -> Kind {
    Kind { name, needs: "", words: "{omp}", outside }
}

/// The words of a command.
pub fn split(words: &str) -> Vec<String> {
    if words.contains(['\'', '"', ';', '|', '&', '$', '>', '<', '*']) {
        return ["sh", "-c", words].map(str::to_owned).to_vec();
    }
    words.split_whitespace().map(str::to_owned).collect()
}

/// The table, by tests.
pub const PARTS: [&[Kind]; 5] = [LAUNCHERS, SANDBOXES, PARENTS, TRACERS, PROGRAMS];

const LAUNCHERS: &[Kind] = &[
    kind("plain", "", "{omp}"),
    kind("sequential", "", "{seq}"),
    kind("shell", "", "{omp}; {seq}; {omp} | cat; exit 4"),
    kind("empty environment", "", "env -i {omp}"),
    kind("empty environment, shell", "", "env -i sh -c '{omp}; {seq}'"),
    kind("another preload", "", "env LD_PRELOAD=libm.so.6 {omp}"),
    kind("taskset", "taskset", "taskset -c {first} {omp}"),
    kind("taskset, the last", "taskset", "taskset -c {last} sh -c '{omp}; exec {omp}'"),
    kind("taskset twice", "taskset", "taskset -c {first},{last} sh -c 'taskset -c {last} {omp}; {omp}'"),
    kind("numactl", "numactl", "numactl -C {first} {omp}"),
    kind("hwloc-bind", "hwloc-bind", "hwloc-bind pu:0 -- {omp}"),
    kind("nice", "", "nice -n 5 {omp}"),
    kind("ionice", "ionice", "ionice -c 3 {omp}"),
    kind("timeout", "", "timeout 100 {omp}"),
    kind("nohup", "", "nohup {omp}"),
    kind("setsid", "setsid", "setsid -w {omp}"),
    kind("script", "script", "script -qec '{omp}' /dev/null"),
    kind("chrt batch", "chrt", "chrt -b 0 {omp}"),
    kind("prlimit", "prlimit", "prlimit --nofile=64 --nproc=4000 {omp}"),
    kind("stdbuf", "stdbuf", "stdbuf -oL {omp}"),
    kind("setarch", "setarch", "setarch -R {omp}"),
    kind("flock", "flock", "flock -s {dir}/lock {omp}"),
];

const SANDBOXES: &[Kind] = &[
    kind("unshare -r", "unshare", "unshare -r {omp}"),
    kind("unshare -rm", "unshare", "unshare -rm sh -c 'mount -t tmpfs none /tmp && {built}'"),
    kind("unshare -rpf", "unshare", "unshare -rpf --mount-proc {omp}"),
    kind("chroot", "root chroot", "chroot {dir}/root /bin/omp {rounds}"),
    kind("bwrap", "bwrap", "bwrap --bind / / --dev /dev --proc /proc {omp}"),
    kind("bwrap without /tmp", "bwrap", "bwrap --ro-bind / / --proc /proc --tmpfs /tmp {built}"),
    kind("bwrap, another C library", "bwrap", "bwrap --ro-bind {dir}/root / --dev /dev /bin/musl {rounds}"),
    kind("bwrap, empty environment", "bwrap", "bwrap --bind / / --clearenv {omp}"),
    kind("firejail", "firejail", "firejail --noprofile --quiet {omp}"),
    kind("sudo", "sudo", "sudo -n {omp}"),
    kind("sudo -E", "sudo", "sudo -nE {omp}"),
    kind("su", "root su", "su nobody -s /bin/sh -c '{omp}; {seq}'"),
    kind("runuser", "root runuser", "runuser -u nobody -- {omp}"),
    kind("setpriv", "root setpriv", "setpriv --reuid=65534 --clear-groups -- {omp}"),
    kind("setpriv, no new rights", "setpriv", "setpriv --no-new-privs {omp}"),
    kind(
        "ch-run",
        "root setpriv ch-run",
        "setpriv --reuid=65534 --clear-groups ch-run {dir}/root -- /bin/omp {rounds}",
    ),
    kind(
        "ch-run, another C library",
        "root setpriv ch-run",
        "setpriv --reuid=65534 --clear-groups ch-run {dir}/root -- /bin/musl {rounds}",
    ),
    kind("fakeroot", "fakeroot", "fakeroot {omp}"),
    kind("filter of system calls", "", "{omp} seal"),
    kind("filter of system calls, sequential", "", "{seq} seal"),
];

const PARENTS: &[Kind] = &[
    kind("xargs", "", "echo {rounds} | xargs {omp-path}"),
    kind("xargs -P", "", "printf '{rounds}\\n{rounds}\\n' | xargs -n 1 -P 2 {omp-path}"),
    kind("find -exec", "", "find {dir} -maxdepth 1 -name omp -exec {omp} \\;"),
    kind("parallel", "parallel", "parallel -k {omp-path} ::: 100 200 2>&1"),
    kind("make", "make", "make -s -C {dir}"),
    kind("perl system", "perl", "perl -e 'exit(system(@ARGV) >> 8)' {omp}"),
    kind("perl exec", "perl", "perl -e 'exec @ARGV' {omp}"),
    kind("perl, empty environment", "perl", "perl -e '%ENV = (); exec @ARGV' {omp}"),
    kind(
        "python subprocess",
        "python3",
        "python3 -c 'import subprocess,sys; sys.exit(subprocess.call(sys.argv[1:]))' {omp}",
    ),
    kind(
        "python subprocess, no environment",
        "python3",
        "python3 -c 'import subprocess,sys; sys.exit(subprocess.call(sys.argv[1:], env={}))' {omp}",
    ),
    kind(
        "python subprocess, preexec_fn",
        "python3",
        "python3 -c 'import os,subprocess,sys; \
         sys.exit(subprocess.call(sys.argv[1:], close_fds=True, preexec_fn=lambda: os.sched_setaffinity(0, {{first}})))' {omp}",
    ),
    kind(
        "python, narrowed",
        "python3",
        "python3 -c 'import os,subprocess,sys; os.sched_setaffinity(0, {{last}}); sys.exit(subprocess.call(sys.argv[1:]))' {omp}",
    ),
    kind(
        "python posix_spawn",
        "python3",
        "python3 -c 'import os,sys; a=sys.argv[1:]; \
         sys.exit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(a[0], a, {}), 0)[1]))' {omp}",
    ),
    kind("python system", "python3", "python3 -c 'import os; os.environ.clear(); print(os.system(\"{omp}\"))'"),
    kind("busybox", "busybox", "busybox sh -c '{omp}; {seq}'"),
    kind("busybox env", "busybox", "busybox env -i {omp}"),
    kind("script without a first line", "sh", "sh -c {dir}/script"),
];

const TRACERS: &[Kind] = &[
    kind("strace", "strace", "strace -f -o /dev/null {omp}"),
    kind("gdb", "gdb", "gdb -nx -batch -ex run -ex quit --args {omp} 2>/dev/null | grep by"),
    kind("valgrind", "valgrind", "valgrind -q {seq}"),
    kind("valgrind, teams", "valgrind", "valgrind -q {omp-path} 5"),
    kind("the loader", "", "{loader} {omp}"),
    kind("the loader lists", "", "{loader} --list {omp-path} | sed 's/ (0x.*//'"),
    kind("ldd", "ldd", "ldd {omp-path} | sed 's/ (0x.*//'"),
    kind("listing by a variable", "", "env LD_TRACE_LOADED_OBJECTS=1 {omp-path} | sed 's/ (0x.*//'"),
    kind("every symbol at once", "", "env LD_BIND_NOW=1 {omp}"),
    kind("faketime", "faketime", "faketime '2001-01-01' {omp}"),
];

const PROGRAMS: &[Kind] = &[
    kind("jemalloc inside", "", "env LD_PRELOAD=libjemalloc.so.2 {omp}"),
    outside("jemalloc outside", "LD_PRELOAD=libjemalloc.so.2"),
    kind("tcmalloc inside", "", "env LD_PRELOAD=libtcmalloc_minimal.so.4 {omp}"),
    outside("tcmalloc outside", "LD_PRELOAD=libtcmalloc_minimal.so.4"),
    outside("threads by number", "OMP_NUM_THREADS=3"),
    kind("AddressSanitizer", "", "{address}"),
    kind("AddressSanitizer below a shell", "", "{address}; env -i {address}"),
    outside("options of AddressSanitizer", "ASAN_OPTIONS=detect_leaks=0"),
    kind("UndefinedBehaviorSanitizer", "", "{undefined}"),
    kind("LeakSanitizer", "", "{leak}"),
    kind("shared AddressSanitizer of clang", "", "{libasan}"),
    kind("static", "", "{static}"),
    kind("static below a shell", "", "env -i {static}; {static}"),
    kind("musl", "", "{musl}"),
    kind("musl below a shell", "", "{musl}; env -i {musl}"),
    kind("clang", "", "{clang}"),
];
