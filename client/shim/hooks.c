/* hooks.c - acts when libraries come and go, and prints a hint at exit.
 *
 * dlopen reads its return address to find the caller's object (RUNPATH, namespaces). So the shim
 * jumps to the real dlopen, it does not call it. This file must be compiled with optimisation, and
 * a test checks that a plugin's RUNPATH still works.
 */
#include "own.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the stub; a shim that is preloaded alone has none. */
extern void *numaestro_next(const char *name) __attribute__((weak));

/* A shim that came late lies behind all other objects: nothing is next to it. The stub lies before
 * them. */
void *nm_next_symbol(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    return next || !numaestro_next ? next : numaestro_next(name);
}

/* Libraries may be initialised before this one, and call it: it knows neither its manager's socket
 * nor its user's rules then. */
static bool begun, asked_before;

void nm_look_after(void)
{
    if (!begun) {
        asked_before = true;
        return;
    }
    if (nm_client.tried && !nm_client.attached)
        return;
    if (!nm_is_helper())
        nm_caller_start();
    nm_helper_start();
}

/* Without a library that needs them, no thread of ours joins the program's. `thread`: it has just
 * made one. */
static void look_for_setters(bool thread)
{
    int saved = errno;
    if (begun && secure_getenv("NUMAESTRO_ATTACH") && nm_setters_matter(thread))
        nm_look_after();
    /* While it had one thread only, it attached without a helper. */
    if (thread && nm_client.attached)
        nm_helper_start();
    errno = saved;
}

typedef void *(*dlopen_fn)(const char *, int);

static dlopen_fn before_dlopen(void)
{
    static _Atomic(dlopen_fn) real;
    if (!real)
        real = (dlopen_fn)nm_next_symbol("dlopen");
    /* The library that the previous call loaded is complete now. */
    look_for_setters(false);
    return real;
}

SHIM_EXPORT void *dlopen(const char *file, int mode)
{
    dlopen_fn real = before_dlopen();
    if (!(mode & RTLD_NOLOAD)) {
        nm_past_opens(mode);
        nm_whole_more_loaded();
        nm_kmp_more_loaded();
    }
#if defined(__clang__)
    __attribute__((musttail))
#endif
    return real(nm_tcm_file(file), mode);
}

static int count_removed(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(unsigned long long *)data = info->dlpi_subs;
    return 1;
}

/* dlclose without the checks of ours; for handles of our own, which are never the last. */
int nm_dlclose(void *handle)
{
    static int (*_Atomic real)(void *);
    if (!real)
        real = (int (*)(void *))nm_next_symbol("dlclose");
    return real(handle);
}

SHIM_EXPORT int dlclose(void *handle)
{
    unsigned long long before = 0, after = 0;
    dl_iterate_phdr(count_removed, &before);
    int result = nm_dlclose(handle);
    dl_iterate_phdr(count_removed, &after);
    if (before != after) {
        nm_regions_flush();
        nm_runtimes_flush();
        nm_affinity_flush();
        nm_mpi_flush();
    }
    return result;
}

/* Our threads and the manager's processes count for the same limit as the program's, if the user is
 * the same. */
static void say_no_room(void)
{
    static atomic_bool said;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || atomic_exchange(&said, true))
        return;
    char line[256];
    int n = snprintf(line, sizeof line,
                     "numaestro: no room for another thread: the limit of processes is %llu (ulimit -u), and the "
                     "manager's own count too; raise it, or run without numaestro\n",
                     (unsigned long long)limit.rlim_cur);
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
        return;
}

int nm_create_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static _Atomic(create_fn) real;
    if (!real)
        real = (create_fn)nm_next_symbol("pthread_create");
    return real(thread, attributes, start, argument);
}

SHIM_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    nm_birth(true);
    int error = nm_caller_create(thread, attributes, start, argument);
    nm_birth(false);
    /* Perhaps a library that was loaded a moment ago makes its pool: this is the only sign of it
     * when nothing is loaded afterwards. */
    if (NM_LIKELY(error == 0))
        look_for_setters(true);
    if (NM_LIKELY(error != EAGAIN))
        return error;
    int saved = errno;
    nm_caller_step_aside();
    if (nm_helper_step_aside())
        error = nm_caller_create(thread, attributes, start, argument);
    if (error == EAGAIN && secure_getenv("NUMAESTRO_ATTACH"))
        say_no_room();
    errno = saved;
    return error;
}

__attribute__((constructor)) static void at_start(void)
{
    begun = true;
    if (asked_before)
        nm_look_after();
    look_for_setters(false);
}

/* A person looks on at the terminal of `run`. A script that compares stderr must not see us, and
 * what a program writes to a terminal of its own making is its output. */
static bool is_seen(void)
{
    const char *terminal = secure_getenv("NUMAESTRO_TERMINAL"), *wish = secure_getenv("NUMAESTRO_HINTS");
    struct stat status;
    if (wish)
        return wish[0] == '1';
    return terminal && fstat(STDERR_FILENO, &status) == 0 && S_ISCHR(status.st_mode) &&
           strtoull(terminal, NULL, 10) == (unsigned long long)status.st_rdev && isatty(STDERR_FILENO);
}

__attribute__((destructor)) static void at_exit(void)
{
    struct numaestro_page *page = nm_client.page;
    uint64_t regions = page->root.regions, folded = page->root.held;
    bool chosen = page->root.held_by != NM_HELD_NOT || (nm_client.flags & NM_FLAG_RESIZE_ALWAYS);
    /* Asked last: a program may have forbidden itself this system call. */
    if (!nm_client.attached || chosen || folded == 0 || folded * 10 < regions || !is_seen())
        return;
    char line[512];
    int n = snprintf(line, sizeof line,
                     "numaestro: %llu of %llu parallel regions ran with more threads than processors.\n"
                     "numaestro: regions of 50 us take 1.2 to 2 times as long then. If this program is right under "
                     "OMP_DYNAMIC=true, let its teams follow:\n"
                     "numaestro:   numaestro profile add --class malleable %s\n",
                     (unsigned long long)folded, (unsigned long long)regions, program_invocation_short_name);
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
        return;
}
