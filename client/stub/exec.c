/* exec.c - looks at the next image before it is started, and gives it the environment and the
 * affinity that fit it.
 *
 * These functions run in children of vfork and after a fork of a program with threads: they
 * allocate nothing, take no lock, and write nothing that outlives them. What does not fit their
 * room is started as it is.
 */
#include "change.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>

extern char **environ __attribute__((weak));

typedef int execve_fn(const char *, char *const[], char *const[]);
typedef int fexecve_fn(int, char *const[], char *const[]);
typedef int execveat_fn(int, const char *, char *const[], char *const[], int);
typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
                     char *const[]);
NM_NEXT(execve, execve_fn)
NM_NEXT(execvpe, execve_fn)
NM_NEXT(fexecve, fexecve_fn)
NM_NEXT(execveat, execveat_fn)
NM_NEXT(posix_spawn, spawn_fn)
NM_NEXT(posix_spawnp, spawn_fn)

/* What the shim has to do in the thread that starts something. */
static void (*_Atomic around_birth)(bool);

STUB_EXPORT void numaestro_at_birth(void (*around)(bool))
{
    around_birth = around;
}

void nm_stub_at_birth(bool begins)
{
    void (*around)(bool) = around_birth;
    if (around && !nm_stub_is_vfork_child())
        around(begins);
}

void nm_stub_prepare_exec(void)
{
    execve_next();
}

/* What is called with the environment that fits. */
struct start {
    enum { EXECVE, EXECVPE, FEXECVE, EXECVEAT, SPAWN, SPAWNP } how;
    int fd, flags;
    pid_t *pid;
    const char *path;
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes;
    char *const *argv;
};

static int start_with(const struct start *start, char *const envp[])
{
    switch (start->how) {
    case EXECVE:
        return execve_next() ? execve_next()(start->path, start->argv, envp) : nm_fail(ENOSYS);
    case EXECVPE:
        return execvpe_next() ? execvpe_next()(start->path, start->argv, envp) : nm_fail(ENOSYS);
    case FEXECVE:
        return fexecve_next() ? fexecve_next()(start->fd, start->argv, envp) : nm_fail(ENOSYS);
    case EXECVEAT:
        return execveat_next() ? execveat_next()(start->fd, start->path, start->argv, envp, start->flags) : nm_fail(ENOSYS);
    case SPAWN:
        return posix_spawn_next() ? posix_spawn_next()(start->pid, start->path, start->actions, start->attributes, start->argv, envp)
                                  : ENOSYS;
    case SPAWNP:
        return posix_spawnp_next() ? posix_spawnp_next()(start->pid, start->path, start->actions, start->attributes, start->argv, envp)
                                   : ENOSYS;
    }
    return nm_fail(ENOSYS);
}

/* The file that a search through PATH finds; NULL if it finds none. */
static const char *found_in_path(const char *name, char *out)
{
    if (nm_contains(name, "/"))
        return name;
    const char *list = nm_variable(&environ ? environ : NULL, "PATH");
    size_t name_length = nm_length(name);
    for (list = list ? list : "/bin:/usr/bin";; list++) {
        size_t length = 0;
        while (list[length] && list[length] != ':')
            length++;
        if (length + name_length + 3 < NM_PATH_BYTES && name_length > 0) {
            size_t n = length;
            nm_copy(out, list, length);
            if (n == 0)
                out[n++] = '.';
            out[n++] = '/';
            nm_copy(out + n, name, name_length + 1);
            if (nm_system3(SYS_faccessat, AT_FDCWD, out, 1 /* X_OK */) == 0)
                return out;
        }
        list += length;
        if (!*list)
            return NULL;
    }
}

/* The name of a file that is open. */
static const char *name_of(int fd, char *out)
{
    static const char directory[] = "/proc/self/fd/";
    char digits[12];
    unsigned n = sizeof digits - 1, value = (unsigned)fd;
    digits[n] = 0;
    do
        digits[--n] = (char)('0' + value % 10);
    while (value /= 10);
    nm_copy(out, directory, sizeof directory - 1);
    nm_copy(out + sizeof directory - 1, digits + n, sizeof digits - n);
    return fd < 0 ? NULL : out;
}

/* The image that will be started; NULL if nobody knows it. */
static const char *image_of(const struct start *start, char *out)
{
    switch (start->how) {
    case EXECVPE:
    case SPAWNP:
        return start->path ? found_in_path(start->path, out) : NULL;
    case FEXECVE:
        return name_of(start->fd, out);
    case EXECVEAT:
        if (start->path && (start->path[0] == '/' || start->fd == AT_FDCWD))
            return start->path;
        return start->path && !*start->path ? name_of(start->fd, out) : NULL;
    default:
        return start->path;
    }
}

static void fit(void *of)
{
    struct nm_plan *plan = of;
    const char *file = image_of(plan->start, plan->path);
    nm_change_begin(&plan->change);
    plan->moved.done = false;
    if (!file)
        return;
    nm_change_choose(&plan->change, file, plan->start->argv, plan->envp);
    if (plan->change.looked)
        nm_place(&plan->change, plan->envp, &plan->moved);
    if (plan->change.needed)
        nm_change_compose(&plan->change, plan->envp, plan->entries);
}

static int fit_and_start(const struct start *start, char *const envp[])
{
    struct nm_room room;
    struct nm_plan *plan = nm_room_take(&room, nm_plan_bytes(envp));
    if (!plan)
        return start_with(start, envp);
    plan->start = start;
    plan->envp = envp;
    nm_room_run(&room, fit, plan);
    bool replaces = start->how != SPAWN && start->how != SPAWNP;
    if (replaces)
        nm_room_hand_over(&room);
    int result = start_with(start, plan->change.needed ? (char *const *)plan->entries : envp);
    if (replaces)
        nm_room_hand_back(&room);
    nm_place_undo(&plan->moved);
    nm_room_leave(&room);
    return result;
}

static int start_fitted(const struct start *start, char *const envp[])
{
    nm_stub_at_birth(true);
    int result = fit_and_start(start, envp);
    nm_stub_at_birth(false);
    return result;
}

STUB_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    struct start start = {.how = EXECVE, .path = path, .argv = argv};
    return start_fitted(&start, envp);
}

STUB_EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, nm_own_environment());
}

STUB_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    struct start start = {.how = EXECVPE, .path = file, .argv = argv};
    return start_fitted(&start, envp);
}

STUB_EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, nm_own_environment());
}

STUB_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    struct start start = {.how = FEXECVE, .fd = fd, .argv = argv};
    return start_fitted(&start, envp);
}

STUB_EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    struct start start = {.how = EXECVEAT, .fd = fd, .path = path, .argv = argv, .flags = flags};
    return start_fitted(&start, envp);
}

/* The words of a list of arguments, on the caller's stack. */
#define WORDS(first)                                                                                                     \
    va_list list;                                                                                                        \
    size_t count = 1;                                                                                                    \
    va_start(list, first);                                                                                               \
    while (first && va_arg(list, char *))                                                                                \
        count++;                                                                                                         \
    va_end(list);                                                                                                        \
    char *words[count + 1];                                                                                              \
    words[0] = (char *)first;                                                                                            \
    va_start(list, first);                                                                                               \
    for (size_t i = 1; i <= count; i++)                                                                                  \
        words[i] = first ? va_arg(list, char *) : NULL;

STUB_EXPORT int execl(const char *path, const char *first, ...)
{
    WORDS(first)
    va_end(list);
    return execve(path, words, nm_own_environment());
}

STUB_EXPORT int execlp(const char *file, const char *first, ...)
{
    WORDS(first)
    va_end(list);
    return execvpe(file, words, nm_own_environment());
}

STUB_EXPORT int execle(const char *path, const char *first, ...)
{
    WORDS(first)
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return execve(path, words, envp);
}

STUB_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                            const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    struct start start = {SPAWN, -1, 0, pid, path, actions, attributes, argv};
    return start_fitted(&start, envp ? envp : nm_own_environment());
}

STUB_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    struct start start = {SPAWNP, -1, 0, pid, file, actions, attributes, argv};
    return start_fitted(&start, envp ? envp : nm_own_environment());
}
