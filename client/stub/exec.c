/* exec.c - looks at the next image before it is started, and gives it the environment and the
 * affinity that fit it.
 *
 * These functions run in children of vfork and after a fork of a program with threads: they
 * allocate nothing, take no lock, and write nothing that outlives them. What does not fit their
 * room is started as it is.
 */
#include "stub.h"

#include "../src/message.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PATH_BYTES 2048u
#define TEXT_BYTES 4096u
#define ADDED_MAX 40u
#define LIST_BYTES 1024u
#define WORD_BYTES 48u
#define REPLACED_MAX 5u

extern char **environ __attribute__((weak));

#define NEXT(name, type)                                                                                                 \
    static type *_Atomic next_##name;                                                                                    \
    static type *name##_next(void)                                                                                       \
    {                                                                                                                    \
        if (!next_##name)                                                                                                \
            next_##name = (type *)nm_stub_next(#name);                                                                   \
        return next_##name;                                                                                              \
    }

typedef int execve_fn(const char *, char *const[], char *const[]);
typedef int fexecve_fn(int, char *const[], char *const[]);
typedef int execveat_fn(int, const char *, char *const[], char *const[], int);
typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
                     char *const[]);
typedef int system_fn(const char *);
typedef FILE *popen_fn(const char *, const char *);
NEXT(execve, execve_fn)
NEXT(execvpe, execve_fn)
NEXT(fexecve, fexecve_fn)
NEXT(execveat, execveat_fn)
NEXT(posix_spawn, spawn_fn)
NEXT(posix_spawnp, spawn_fn)
NEXT(system, system_fn)
NEXT(popen, popen_fn)

/* What becomes of one image. */
struct change {
    bool needed;      /* the environment differs from the given one */
    bool looked;      /* it is known what it is, and it may be managed */
    bool bare;        /* it starts without the stub: nobody of ours answers its questions */
    const char *preload, *all, *now, *pool, *sanitizer; /* entries to put in, NULL = as it is */
    bool drop_preload, drop_now;
    bool restore;     /* what this process was told is missing */
    char preload_text[TEXT_BYTES], sanitizer_text[LIST_BYTES];
    char all_text[LIST_BYTES], now_text[LIST_BYTES], pool_text[WORD_BYTES];
};

/* Its texts are long: they are left as they are. */
static void begin(struct change *change)
{
    change->needed = change->looked = change->bare = change->drop_preload = change->drop_now = change->restore = false;
    change->preload = change->all = change->now = change->pool = change->sanitizer = NULL;
}

/* The new image of a process that is not root's has no capabilities, though the process may have
 * kept some. */
static bool set_aside(struct __user_cap_data_struct kept[2])
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2];
    if (nm_system3(SYS_geteuid, 0, 0, 0) == 0 || nm_system3(SYS_capget, &head, kept, 0) != 0 ||
        (kept[0].effective | kept[1].effective) == 0)
        return false;
    nm_copy(none, kept, sizeof none);
    none[0].effective = none[1].effective = 0;
    head.version = _LINUX_CAPABILITY_VERSION_3;
    return nm_system3(SYS_capset, &head, none, 0) == 0;
}

static void take_back(const struct __user_cap_data_struct kept[2])
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    nm_system3(SYS_capset, &head, kept, 0);
}

static bool can_be_opened(const char *path)
{
    struct __user_cap_data_struct kept[2];
    bool aside = !nm_stub_is_sealed() && set_aside(kept);
    long fd = nm_system4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (aside)
        take_back(kept);
    if (fd < 0)
        return false;
    nm_system3(SYS_close, fd, 0, 0);
    return true;
}

/* One file of LD_PRELOAD: its length; 0 at the end. */
static size_t file_at(const char **list)
{
    while (**list == ':' || **list == ' ')
        (*list)++;
    size_t length = 0;
    while ((*list)[length] && (*list)[length] != ':' && (*list)[length] != ' ')
        length++;
    return length;
}

static bool is_ours(const char *file, size_t length, const char *name)
{
    size_t base = length;
    while (base > 0 && file[base - 1] != '/')
        base--;
    const char *rest = nm_after(file + base, name);
    return rest && rest <= file + length && (*rest == '.' || *rest == '-');
}

static const char *const stub_name = "libnumaestro_preload", *const shim_name = "libnumaestro_shim";

struct text {
    char *out;
    size_t used, room;
    bool full;
};

static void append(struct text *text, const char *from, size_t length)
{
    if (text->full || length >= text->room - text->used) {
        text->full = true;
        return;
    }
    nm_copy(text->out + text->used, from, length);
    text->used += length;
    text->out[text->used] = 0;
}

static void append_file(struct text *text, const char *file, size_t length)
{
    if (text->used > sizeof "LD_PRELOAD=" - 1)
        append(text, ":", 1);
    append(text, file, length);
}

/* The stub that an environment names, else ours. `out` has room for a path. */
static const char *stub_of(const char *preload, char *out)
{
    for (size_t length; preload && (length = file_at(&preload)) > 0; preload += length) {
        if (!is_ours(preload, length, stub_name) || length >= PATH_BYTES)
            continue;
        nm_copy(out, preload, length);
        out[length] = 0;
        return out;
    }
    return nm_stub_start()->stub;
}

/* The value of LD_PRELOAD that an image gets: ours first, or none of ours. */
static void choose_preload(struct change *change, const char *present, const char *stub, const char *shim)
{
    struct text text = {.out = change->preload_text, .room = sizeof change->preload_text};
    append(&text, "LD_PRELOAD=", 11);
    if (stub)
        append_file(&text, stub, nm_length(stub));
    if (stub && shim)
        append_file(&text, shim, nm_length(shim));
    const char *rest = present;
    for (size_t length; rest && (length = file_at(&rest)) > 0; rest += length)
        if (!is_ours(rest, length, stub_name) && !is_ours(rest, length, shim_name))
            append_file(&text, rest, length);
    if (text.full)
        return;
    const char *value = change->preload_text + 11;
    if (present ? nm_equal(value, present) : *value == 0)
        return;
    change->drop_preload = *value == 0;
    change->preload = *value ? change->preload_text : NULL;
    change->needed = true;
}

/* A program that only lists libraries must not list ours. */
static bool only_lists(const struct nm_image *image, char *const argv[], char *const envp[])
{
    const char *trace = nm_variable(envp, "LD_TRACE_LOADED_OBJECTS");
    if (trace && *trace)
        return true;
    for (unsigned i = 1; image->kind == NM_IMAGE_LOADER && argv && argv[0] && argv[i] && argv[i][0] == '-'; i++)
        if (nm_equal(argv[i], "--list") || nm_equal(argv[i], "--verify"))
            return true;
    return false;
}

static void entry_of(char *out, size_t room, const char *name, const struct nm_cpus *set, const char **entry)
{
    size_t length = nm_length(name);
    nm_copy(out, name, length);
    if (nm_cpus_write(set, out + length, room - length))
        *entry = out;
}

/* A process that has narrowed itself hands its own set on, unless somebody has put in another. */
static void choose_allowed(struct change *change, char *const envp[])
{
    struct nm_cpus own;
    const char *told = nm_variable(nm_stub_start()->saved, "NUMAESTRO_CPUS_ALL"), *given = nm_variable(envp, "NUMAESTRO_CPUS_ALL");
    if (!nm_stub_own_allowed(&own) || !told || (given && !nm_equal(told, given)))
        return;
    entry_of(change->all_text, sizeof change->all_text, "NUMAESTRO_CPUS_ALL=", &own, &change->all);
    const char *pool = nm_variable(envp, "NUMAESTRO_POOL");
    pool = pool ? nm_after(pool, "whole:") : NULL;
    unsigned most = 0, count = nm_cpus_count(&own);
    for (; pool && *pool >= '0' && *pool <= '9' && most < 100000; pool++)
        most = most * 10 + (unsigned)(*pool - '0');
    if (pool && most > count) {
        static const char name[] = "NUMAESTRO_POOL=whole:";
        char digits[8];
        size_t n = 0, used = sizeof name - 1;
        nm_copy(change->pool_text, name, used);
        do
            digits[n++] = (char)('0' + count % 10);
        while (count /= 10);
        while (n)
            change->pool_text[used++] = digits[--n];
        change->pool_text[used] = 0;
        change->pool = change->pool_text;
    }
    change->needed = true;
}

/* AddressSanitizer ends a program in which another library comes before it. Its later options go
 * before its earlier ones. */
static void choose_sanitizer(struct change *change, const struct nm_image *image, const char *preload, char *const envp[])
{
    static const char option[] = "verify_asan_link_order=0";
    const char *present = nm_variable(envp, "ASAN_OPTIONS");
    struct text text = {.out = change->sanitizer_text, .room = sizeof change->sanitizer_text};
    bool there = image->sanitizer || (preload && (nm_contains(preload, "libasan.so") || nm_contains(preload, "libclang_rt.asan")));
    if (!there || (present && nm_contains(present, option)))
        return;
    append(&text, "ASAN_OPTIONS=", 13);
    if (present && *present) {
        append(&text, present, nm_length(present));
        append(&text, ":", 1);
    }
    append(&text, option, sizeof option - 1);
    if (text.full)
        return;
    change->sanitizer = change->sanitizer_text;
    change->needed = true;
}

static void choose(struct change *change, const char *path, char *const argv[], char *const envp[])
{
    const char *preload = nm_variable(envp, "LD_PRELOAD"), *off = nm_variable(envp, "NUMAESTRO_OFF");
    char stub_text[PATH_BYTES], shim_text[PATH_BYTES];
    /* Whoever has put the stub in by hand wants it. */
    bool is_off = off ? *off && !nm_equal(off, "0") : nm_stub_start()->off && stub_of(preload, stub_text) != stub_text;
    const char *rules = nm_variable(envp, "NUMAESTRO_LIBRARIES");
    struct nm_search search = {
        .library_path = nm_variable(envp, "LD_LIBRARY_PATH"),
        .rules = rules ? rules : nm_variable(nm_stub_start()->saved, "NUMAESTRO_LIBRARIES"),
    };
    if (is_off) {
        choose_preload(change, preload, NULL, NULL);
        return;
    }
    /* Then only what every loader does is done: to open a file. */
    if (nm_stub_is_sealed()) {
        if (preload && !can_be_opened(stub_of(preload, stub_text)))
            choose_preload(change, preload, NULL, NULL);
        return;
    }
    struct nm_image image = nm_look_at_image(path, &search);
    if (image.kind == NM_IMAGE_UNKNOWN)
        return;
    bool takes = image.kind == NM_IMAGE_GLIBC || image.kind == NM_IMAGE_STATIC || image.kind == NM_IMAGE_LOADER;
    const char *stub = takes && !only_lists(&image, argv, envp) ? stub_of(preload, stub_text) : NULL, *shim = NULL;
    if (stub && !can_be_opened(stub))
        stub = NULL;
    /* Nobody of ours looks at what a static program starts. */
    if (stub && (image.runtime || image.kind != NM_IMAGE_GLIBC) && nm_stub_shim_path(stub, shim_text, sizeof shim_text) &&
        can_be_opened(shim_text))
        shim = shim_text;
    choose_preload(change, preload, stub, shim);
    if (stub) {
        change->restore = !nm_variable(envp, "NUMAESTRO_ATTACH") && nm_variable(nm_stub_start()->saved, "NUMAESTRO_ATTACH");
        change->needed |= change->restore;
        choose_sanitizer(change, &image, preload, envp);
    }
    choose_allowed(change, envp);
    change->bare = !stub || image.kind == NM_IMAGE_STATIC;
    change->looked = true;
}

/* Affinity: an image that starts without the stub begins on its allowed set, and takes along what
 * its share was (NUMAESTRO_CPUS_NOW), for images that it starts. One with the stub begins on its
 * share, because its questions are answered. */

struct moved {
    bool done;
    struct nm_cpus before, after;
};

static bool is_within(const struct nm_cpus *set, const struct nm_cpus *all)
{
    for (unsigned i = 0; i < NM_CPU_WORDS; i++)
        if (set->words[i] & ~all->words[i])
            return false;
    return true;
}

static bool equal_sets(const struct nm_cpus *a, const struct nm_cpus *b)
{
    return is_within(a, b) && is_within(b, a);
}

static bool present_set(struct nm_cpus *out)
{
    *out = (struct nm_cpus){{0}};
    return nm_system3(SYS_sched_getaffinity, 0, sizeof out->words, out->words) > 0;
}

/* The manager lets it begin before it moves it onto its share. One that is busy or gone is not
 * waited for. */
static void announce(char *const envp[])
{
    const char *path = nm_variable(envp, "NUMAESTRO_ATTACH");
    struct nm_notice notice = {.magic = NM_MESSAGE_MAGIC, .kind = NM_BEGINS, .version = NM_MESSAGE_VERSION};
    struct sockaddr_un address;
    size_t length = (path = path ? path : nm_variable(nm_stub_start()->saved, "NUMAESTRO_ATTACH")) ? nm_length(path) : 0;
    if (length == 0 || length >= sizeof address.sun_path)
        return;
    address.sun_family = AF_UNIX;
    nm_copy(address.sun_path, path, length + 1);
    long fd = nm_system3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (nm_system3(SYS_connect, fd, &address, offsetof(struct sockaddr_un, sun_path) + length + 1) == 0)
        nm_system(SYS_sendto, fd, (long)&notice, sizeof notice, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    nm_system3(SYS_close, fd, 0, 0);
}

static void move(struct moved *moved, const struct nm_cpus *from, const struct nm_cpus *to)
{
    if (nm_system3(SYS_sched_setaffinity, 0, sizeof to->words, to->words) != 0)
        return;
    moved->done = true;
    moved->before = *from;
    moved->after = *to;
}

static void place(struct change *change, char *const envp[], struct moved *moved)
{
    const char *list = change->all ? change->all + sizeof "NUMAESTRO_CPUS_ALL=" - 1 : nm_variable(envp, "NUMAESTRO_CPUS_ALL");
    const char *pool = nm_variable(envp, "NUMAESTRO_POOL"), *now = nm_variable(envp, "NUMAESTRO_CPUS_NOW");
    struct nm_cpus allowed, present, share;
    if (!list)
        list = nm_variable(nm_stub_start()->saved, "NUMAESTRO_CPUS_ALL");
    bool known = list && nm_cpus_parse(list, &allowed) && present_set(&present) && is_within(&present, &allowed);
    bool narrow = known && !equal_sets(&present, &allowed);
    if (change->bare && known && !(pool && nm_equal(pool, "now"))) {
        if (!narrow)
            return;
        move(moved, &present, &allowed);
        if (moved->done) {
            announce(envp);
            entry_of(change->now_text, sizeof change->now_text, "NUMAESTRO_CPUS_NOW=", &present, &change->now);
        }
    } else if (now && known && !narrow && nm_cpus_parse(now, &share) && is_within(&share, &allowed)) {
        move(moved, &present, &share);
    }
    change->drop_now = now && !change->now;
    change->needed |= change->drop_now || change->now;
}

/* A manager may have moved this thread meanwhile. */
static void undo(const struct moved *moved)
{
    struct nm_cpus present;
    if (moved->done && present_set(&present) && equal_sets(&present, &moved->after))
        nm_system3(SYS_sched_setaffinity, 0, sizeof moved->before.words, moved->before.words);
}

static size_t count_of(char *const envp[])
{
    size_t count = 0;
    while (envp && envp[count])
        count++;
    return count;
}

static bool is_replaced(const struct change *change, const char *entry)
{
    return ((change->preload || change->drop_preload) && nm_value(entry, "LD_PRELOAD")) ||
           (change->all && nm_value(entry, "NUMAESTRO_CPUS_ALL")) ||
           ((change->now || change->drop_now) && nm_value(entry, "NUMAESTRO_CPUS_NOW")) ||
           (change->pool && nm_value(entry, "NUMAESTRO_POOL")) || (change->sanitizer && nm_value(entry, "ASAN_OPTIONS"));
}

static bool has_name_of(char *const envp[], size_t count, const char *entry)
{
    size_t length = 0;
    while (entry[length] && entry[length] != '=')
        length++;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < length && envp[i][at] == entry[at])
            at++;
        if (at == length && envp[i][at] == '=')
            return true;
    }
    return false;
}

/* Fills `out`, which has room for all of `envp` and ADDED_MAX more. */
static void compose(const struct change *change, char *const envp[], const char **out)
{
    size_t n = 0;
    for (size_t i = 0; envp && envp[i]; i++)
        if (!is_replaced(change, envp[i]))
            out[n++] = envp[i];
    const char *const added[] = {change->preload, change->all, change->now, change->pool, change->sanitizer};
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (added[i])
            out[n++] = added[i];
    if (change->restore)
        for (char *const *entry = nm_stub_start()->saved; *entry; entry++)
            if (!has_name_of((char *const *)out, n, *entry))
                out[n++] = *entry;
    out[n] = NULL;
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

static int fail(int error)
{
    extern int *__errno_location(void) __attribute__((weak, const));
    if (__errno_location)
        *__errno_location() = error;
    return -1;
}

static int start_with(const struct start *start, char *const envp[])
{
    switch (start->how) {
    case EXECVE:
        return execve_next() ? execve_next()(start->path, start->argv, envp) : fail(ENOSYS);
    case EXECVPE:
        return execvpe_next() ? execvpe_next()(start->path, start->argv, envp) : fail(ENOSYS);
    case FEXECVE:
        return fexecve_next() ? fexecve_next()(start->fd, start->argv, envp) : fail(ENOSYS);
    case EXECVEAT:
        return execveat_next() ? execveat_next()(start->fd, start->path, start->argv, envp, start->flags) : fail(ENOSYS);
    case SPAWN:
        return posix_spawn_next() ? posix_spawn_next()(start->pid, start->path, start->actions, start->attributes, start->argv, envp)
                                  : ENOSYS;
    case SPAWNP:
        return posix_spawnp_next() ? posix_spawnp_next()(start->pid, start->path, start->actions, start->attributes, start->argv, envp)
                                   : ENOSYS;
    }
    return fail(ENOSYS);
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
        if (length + name_length + 3 < PATH_BYTES && name_length > 0) {
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
    struct text text = {.out = out, .room = WORD_BYTES};
    char digits[12];
    unsigned n = sizeof digits, value = (unsigned)fd;
    do
        digits[--n] = (char)('0' + value % 10);
    while (value /= 10);
    append(&text, "/proc/self/fd/", 14);
    append(&text, digits + n, sizeof digits - n);
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

/* Everything about one start that needs more room than a stack may have. */
struct plan {
    const struct start *start;
    char *const *envp;
    struct change change;
    struct moved moved;
    char path[PATH_BYTES];
    const char *replaced[REPLACED_MAX]; /* entries of `envp` that others stand for, in a stand-in */
    const char *entries[];
};

static size_t bytes_of(char *const envp[])
{
    return sizeof(struct plan) + (count_of(envp) + ADDED_MAX + 1) * sizeof(char *);
}

static void fit(void *of)
{
    struct plan *plan = of;
    const char *file = image_of(plan->start, plan->path);
    begin(&plan->change);
    plan->moved.done = false;
    if (!file)
        return;
    choose(&plan->change, file, plan->start->argv, plan->envp);
    if (plan->change.looked)
        place(&plan->change, plan->envp, &plan->moved);
    if (plan->change.needed)
        compose(&plan->change, plan->envp, plan->entries);
}

/* Of a shell that the C library starts: no affinity is set. */
static void fit_shell(void *of)
{
    struct plan *plan = of;
    begin(&plan->change);
    choose(&plan->change, plan->start->path, plan->start->argv, plan->envp);
    if (!plan->change.needed)
        return;
    compose(&plan->change, plan->envp, plan->entries);
    unsigned n = 0;
    for (size_t i = 0; plan->envp[i] && n < REPLACED_MAX; i++)
        if (is_replaced(&plan->change, plan->envp[i]))
            plan->replaced[n++] = plan->envp[i];
}

static int start_fitted(const struct start *start, char *const envp[])
{
    struct nm_room room;
    struct plan *plan = nm_room_take(&room, bytes_of(envp));
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
    undo(&plan->moved);
    nm_room_leave(&room);
    return result;
}

static char *const *own_environment(void)
{
    static char *const none[] = {NULL};
    return &environ && environ ? environ : none;
}

STUB_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    struct start start = {.how = EXECVE, .path = path, .argv = argv};
    return start_fitted(&start, envp);
}

STUB_EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, own_environment());
}

STUB_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    struct start start = {.how = EXECVPE, .path = file, .argv = argv};
    return start_fitted(&start, envp);
}

STUB_EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, own_environment());
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
    return execve(path, words, own_environment());
}

STUB_EXPORT int execlp(const char *file, const char *first, ...)
{
    WORDS(first)
    va_end(list);
    return execvpe(file, words, own_environment());
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
    return start_fitted(&start, envp ? envp : own_environment());
}

STUB_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    struct start start = {SPAWNP, -1, 0, pid, file, actions, attributes, argv};
    return start_fitted(&start, envp ? envp : own_environment());
}

/* The C library starts the shell with the variable `environ`. Where that lacks what this process
 * was told, another list of the same entries stands in for the time of the call. Whoever changes
 * the environment meanwhile changes that list or a copy of it. So a list that has been used is
 * never given back, but used again where the same one is needed. */

struct stand_in {
    struct plan *plan; /* NULL: none is needed */
    char **before;
};
static struct plan *_Atomic last_stand_in;

static bool is_ours_text(const struct plan *plan, const char *entry)
{
    const char *begin = (const char *)&plan->change, *end = begin + sizeof plan->change;
    for (char *const *saved = nm_stub_start()->saved; plan->change.restore && *saved; saved++)
        if (entry == *saved)
            return true;
    return entry >= begin && entry < end;
}

/* Two lists of the same entries; texts of ours are equal. */
static bool same_entries(const struct plan *a, const struct plan *b)
{
    size_t i = 0;
    for (; a->entries[i] && b->entries[i]; i++)
        if (a->entries[i] != b->entries[i] &&
            !(is_ours_text(a, a->entries[i]) && is_ours_text(b, b->entries[i]) && nm_equal(a->entries[i], b->entries[i])))
            return false;
    return a->entries[i] == b->entries[i];
}

static void stand_in(struct stand_in *in)
{
    static char *const words[] = {"sh", NULL};
    static const struct start shell = {.how = EXECVE, .path = "/bin/sh", .argv = words};
    char *const *present = own_environment();
    size_t bytes = bytes_of(present);
    struct nm_room room;
    in->plan = NULL;
    long at = nm_system(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at < 0 && at > -4096)
        return;
    struct plan *plan = (struct plan *)at, *last = last_stand_in;
    plan->start = &shell;
    plan->envp = present;
    if (nm_room_take(&room, 0)) {
        nm_room_run(&room, fit_shell, plan);
        nm_room_leave(&room);
    } else {
        plan->change.needed = false;
    }
    if (!plan->change.needed || (last && same_entries(plan, last))) {
        in->plan = plan->change.needed ? last : NULL;
        nm_system3(SYS_munmap, at, bytes, 0);
    } else {
        last_stand_in = plan;
        in->plan = plan;
    }
    if (!in->plan)
        return;
    in->before = environ;
    environ = (char **)in->plan->entries;
}

static char *stood_for(const struct plan *plan, const char *entry)
{
    for (unsigned i = 0; i < REPLACED_MAX && plan->replaced[i]; i++)
        if (has_name_of((char *const *)&plan->replaced[i], 1, entry))
            return (char *)plan->replaced[i];
    return NULL;
}

/* Another thread has changed the environment meanwhile, and the C library may have freed the list
 * from before, or made the new one in its place: that stays, without our entries. */
static void take_out(const struct plan *plan, char **list)
{
    char **to = list;
    for (char **from = list; list && *from; from++) {
        char *entry = is_ours_text(plan, *from) ? stood_for(plan, *from) : *from;
        if (entry)
            *to++ = entry;
    }
    if (list)
        *to = NULL;
}

static bool is_unchanged(const struct stand_in *in)
{
    size_t n = 0, i = 0;
    for (; in->before && in->before[i]; i++)
        if (!is_replaced(&in->plan->change, in->before[i]) && in->plan->entries[n++] != in->before[i])
            return false;
    while (in->plan->entries[n] && is_ours_text(in->plan, in->plan->entries[n]))
        n++;
    return !in->plan->entries[n];
}

static void step_back(const struct stand_in *in)
{
    if (!in->plan)
        return;
    if (environ == (char **)in->plan->entries && is_unchanged(in)) {
        environ = in->before;
    } else {
        last_stand_in = NULL;
        take_out(in->plan, environ);
    }
}

STUB_EXPORT int system(const char *command)
{
    struct stand_in in = {NULL, NULL};
    if (!system_next())
        return fail(ENOSYS);
    if (command)
        stand_in(&in);
    int result = system_next()(command);
    step_back(&in);
    return result;
}

STUB_EXPORT FILE *popen(const char *command, const char *type)
{
    struct stand_in in;
    if (!popen_next())
        return NULL;
    stand_in(&in);
    FILE *result = popen_next()(command, type);
    step_back(&in);
    return result;
}
