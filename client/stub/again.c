/* again.c - starts this process's program once more, with the shim in its place.
 *
 * Somebody who does not look at images (a container's runtime, a batch system, a static program)
 * has started a program with the stub alone, and the program has a runtime that the shim serves.
 * The shim would have to stand before it. No code of the program has run yet, so its image is
 * started again: the same process, arguments and descriptors.
 */
#include "stub.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>

#define PATH_BYTES 4096u
#define ENTRIES_MAX 8192u

extern struct r_debug _r_debug __attribute__((weak));

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return nm_system4(SYS_newfstatat, AT_FDCWD, one, &a, 0) == 0 && nm_system4(SYS_newfstatat, AT_FDCWD, other, &b, 0) == 0 &&
           a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* The auxiliary vector lies behind the environment that the kernel has made. */
static unsigned long auxiliary(char *const *envp, unsigned long type)
{
    while (*envp)
        envp++;
    for (const ElfW(auxv_t) *at = (const void *)(envp + 1); at->a_type != AT_NULL; at++)
        if (at->a_type == type)
            return at->a_un.a_val;
    return 0;
}

/* The name by which it was started, as it shows in lists of processes. A script was started by its
 * own name, and the arguments are its interpreter's. */
static const char *program_of(char *const *envp, char *out)
{
    const char *name = (const char *)auxiliary(envp, AT_EXECFN);
    if (name && is_same_file(name, "/proc/self/exe"))
        return name;
    long got = nm_system4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", out, PATH_BYTES - 1);
    if (got <= 0)
        return NULL;
    out[got] = 0;
    return is_same_file(out, "/proc/self/exe") ? out : NULL;
}

static bool lacks_shim(void)
{
    const char *rules = nm_variable(nm_stub_start()->saved, "NUMAESTRO_LIBRARIES");
    bool runtime = false;
    for (const struct link_map *map = &_r_debug ? _r_debug.r_map : NULL; map; map = map->l_next) {
        if (nm_after(nm_base(map->l_name), "libnumaestro_shim"))
            return false;
        runtime |= nm_is_runtime_name(map->l_name, rules);
    }
    return runtime;
}

static void start_again(char *const *argv, char *const *envp)
{
    char path[PATH_BYTES], shim[PATH_BYTES], value[2 * PATH_BYTES];
    const char *stub = nm_stub_start()->stub, *preload = nm_variable(envp, "LD_PRELOAD"), *program;
    size_t stub_length = nm_length(stub), count = 0, n = 0, used = 11;
    while (envp[count])
        count++;
    if (!preload || !nm_stub_shim_path(stub, shim, sizeof shim) || count > ENTRIES_MAX || !(program = program_of(envp, path)))
        return;
    size_t shim_length = nm_length(shim), preload_length = nm_length(preload);
    if (used + stub_length + shim_length + preload_length + 3 > sizeof value || nm_contains(preload, shim) ||
        nm_system4(SYS_faccessat, AT_FDCWD, shim, 4 /* R_OK */, 0) != 0 ||
        !nm_shim_finds_its_libraries(nm_variable(envp, "LD_LIBRARY_PATH")))
        return;
    const char *entries[count + 2];
    for (size_t i = 0; i < count; i++)
        if (!nm_value(envp[i], "LD_PRELOAD"))
            entries[n++] = envp[i];
    nm_copy(value, "LD_PRELOAD=", used);
    nm_copy(value + used, stub, stub_length);
    used += stub_length;
    value[used++] = ':';
    nm_copy(value + used, shim, shim_length);
    used += shim_length;
    value[used++] = ':';
    nm_copy(value + used, preload, preload_length + 1);
    entries[n++] = value;
    entries[n] = NULL;
    nm_system3(SYS_execve, program, argv, entries);
}

/* glibc gives its constructors the arguments of main. */
__attribute__((constructor)) static void at_start(int argc, char **argv, char **envp)
{
    /* A program that asks the loader for other rights than its user's is none for us. */
    if (argc <= 0 || !&_r_debug || !argv || !envp || nm_stub_start()->off || !lacks_shim() || auxiliary(envp, AT_SECURE))
        return;
    start_again(argv, envp);
}
