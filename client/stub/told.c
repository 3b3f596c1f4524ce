/* told.c - the allowed set where a program reads it: in its own status below /proc.
 *
 * Programs that are no runtimes count processors there (GNU parallel, scripts). The kernel says the
 * share of the moment in two lines. A program that opens its own status gets a copy in which these
 * two lines say the allowed set. All other lines are the kernel's.
 */
#include "stub.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#define STATUS_BYTES 8192u

typedef int open_fn(const char *, int, ...);
typedef int openat_fn(int, const char *, int, ...);
typedef FILE *fopen_fn(const char *, const char *);
typedef FILE *fdopen_fn(int, const char *);

static const char *number_after(const char *text, long *out)
{
    long value = 0;
    const char *at = text;
    while (*at >= '0' && *at <= '9' && value < 100000000)
        value = value * 10 + (*at++ - '0');
    *out = value;
    return at > text ? at : NULL;
}

/* Whether it is the status of this process, or of a thread of it. */
static bool is_own_status(const char *path)
{
    long number;
    const char *rest = path ? nm_after(path, "/proc/") : NULL, *own;
    if (!rest)
        return false;
    if ((own = nm_after(rest, "self/")) || (own = nm_after(rest, "thread-self/")))
        rest = own;
    else if ((rest = number_after(rest, &number)) && *rest == '/' && number == nm_system3(SYS_getpid, 0, 0, 0))
        rest++;
    else
        return false;
    if ((own = nm_after(rest, "task/")) && (own = number_after(own, &number)) && *own == '/')
        rest = own + 1;
    return nm_equal(rest, "status");
}

/* The allowed set, if the kernel's answer would be another one. */
static bool is_told_less(struct nm_cpus *allowed)
{
    struct nm_cpus present = {{0}};
    const struct nm_start *start = nm_stub_start();
    const char *list = nm_variable(start->saved, "NUMAESTRO_CPUS_ALL"), *pool = nm_variable(start->saved, "NUMAESTRO_POOL");
    /* A process that has narrowed itself has the processors that the kernel says. */
    if (start->off || nm_stub_is_sealed() || !list || (pool && nm_equal(pool, "now")) || nm_stub_own_allowed(allowed) ||
        !nm_cpus_parse(list, allowed) || nm_system3(SYS_sched_getaffinity, 0, sizeof present.words, present.words) <= 0)
        return false;
    /* It may never have so many. */
    if (pool && (pool = nm_after(pool, "whole:"))) {
        long most;
        if (number_after(pool, &most) && most < (long)nm_cpus_count(allowed))
            return false;
    }
    bool differs = false;
    for (unsigned i = 0; i < NM_CPU_WORDS; i++) {
        if (present.words[i] & ~allowed->words[i])
            return false;
        differs |= present.words[i] != allowed->words[i];
    }
    return differs;
}

struct copy {
    char text[2 * STATUS_BYTES];
    size_t used;
};

static void put(struct copy *copy, const char *from, size_t length)
{
    if (length > sizeof copy->text - copy->used)
        length = sizeof copy->text - copy->used;
    nm_copy(copy->text + copy->used, from, length);
    copy->used += length;
}

/* As many digits as the kernel's line has, in groups of eight. */
static void put_mask(struct copy *copy, const char *line, size_t length, const struct nm_cpus *set)
{
    unsigned digits = 0;
    for (size_t i = 0; i < length; i++)
        digits += line[i] != ',';
    for (unsigned at = digits; at-- > 0;) {
        unsigned word = at / 16, value = word < NM_CPU_WORDS ? (unsigned)(set->words[word] >> at % 16 * 4) & 15 : 0;
        put(copy, &"0123456789abcdef"[value], 1);
        if (at > 0 && at % 8 == 0)
            put(copy, ",", 1);
    }
}

static void put_line(struct copy *copy, const char *line, size_t length, const struct nm_cpus *allowed)
{
    static const char mask[] = "Cpus_allowed:\t", list[] = "Cpus_allowed_list:\t";
    char written[1024];
    if (length > sizeof mask - 1 && nm_after(line, mask)) {
        put(copy, mask, sizeof mask - 1);
        put_mask(copy, line + sizeof mask - 1, length - (sizeof mask - 1), allowed);
    } else if (length > sizeof list - 1 && nm_after(line, list) && nm_cpus_write(allowed, written, sizeof written)) {
        put(copy, list, sizeof list - 1);
        put(copy, written, nm_length(written));
    } else {
        put(copy, line, length);
    }
}

static size_t read_all(const char *path, char *out, size_t room)
{
    long fd = nm_system4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), got = 0;
    size_t used = 0;
    while (fd >= 0 && used < room && (got = nm_system3(SYS_read, fd, out + used, room - used)) > 0)
        used += (size_t)got;
    if (fd >= 0)
        nm_system3(SYS_close, fd, 0, 0);
    return used < room ? used : 0;
}

/* A descriptor of the copy; -1: the kernel's file will do. */
static int told_status(const char *path, int flags)
{
    struct nm_cpus allowed;
    char status[STATUS_BYTES];
    struct copy copy;
    copy.used = 0;
    if ((flags & O_ACCMODE) != O_RDONLY || !is_told_less(&allowed))
        return -1;
    size_t bytes = read_all(path, status, sizeof status - 1);
    for (size_t at = 0; at < bytes;) {
        size_t length = 0;
        while (at + length < bytes && status[at + length] != '\n')
            length++;
        put_line(&copy, status + at, length, &allowed);
        put(&copy, "\n", 1);
        at += length + 1;
    }
    long fd = bytes ? nm_system3(SYS_memfd_create, "status", flags & O_CLOEXEC ? MFD_CLOEXEC : 0, 0) : -1;
    if (fd < 0)
        return -1;
    if (nm_system3(SYS_write, fd, copy.text, copy.used) != (long)copy.used || nm_system3(SYS_lseek, fd, 0, 0) != 0) {
        nm_system3(SYS_close, fd, 0, 0);
        return -1;
    }
    return (int)fd;
}

#define NEXT(name, type)                                                                                                 \
    ({                                                                                                                   \
        static void *_Atomic known;                                                                                      \
        void *next = known;                                                                                              \
        if (!next)                                                                                                       \
            known = next = nm_stub_next(#name);                                                                          \
        (type *)next;                                                                                                    \
    })

static bool is_of_thread(const char *path)
{
    return path && nm_after(path, "/proc/thread-self");
}

/* /proc/thread-self is the kernel thread's: the caller goes home before it opens a file there. */
#define OPENED(path, file)                                                                                               \
    ({                                                                                                                   \
        bool of_thread = is_of_thread(path);                                                                             \
        if (of_thread)                                                                                                   \
            nm_stub_at_birth(true);                                                                                      \
        __typeof__(file) opened = file;                                                                                  \
        if (of_thread)                                                                                                   \
            nm_stub_at_birth(false);                                                                                     \
        opened;                                                                                                          \
    })

/* The third argument is there, and means something, only where a file may be made. Passing on what
 * the register holds does no harm. */
#define OPEN(name)                                                                                                       \
    STUB_EXPORT int name(const char *path, int flags, ...)                                                               \
    {                                                                                                                    \
        va_list list;                                                                                                    \
        va_start(list, flags);                                                                                           \
        unsigned mode = va_arg(list, unsigned);                                                                          \
        va_end(list);                                                                                                    \
        int told = is_own_status(path) ? OPENED(path, told_status(path, flags)) : -1;                                    \
        return told >= 0 ? told : OPENED(path, NEXT(name, open_fn)(path, flags, mode));                                  \
    }

#define OPENAT(name)                                                                                                     \
    STUB_EXPORT int name(int directory, const char *path, int flags, ...)                                                \
    {                                                                                                                    \
        va_list list;                                                                                                    \
        va_start(list, flags);                                                                                           \
        unsigned mode = va_arg(list, unsigned);                                                                          \
        va_end(list);                                                                                                    \
        int told = is_own_status(path) ? OPENED(path, told_status(path, flags)) : -1;                                    \
        return told >= 0 ? told : OPENED(path, NEXT(name, openat_fn)(directory, path, flags, mode));                     \
    }

#define FOPEN(name)                                                                                                      \
    STUB_EXPORT FILE *name(const char *path, const char *mode)                                                           \
    {                                                                                                                    \
        int flags = mode[0] == 'r' && !nm_contains(mode, "+") ? O_RDONLY : O_RDWR;                                       \
        int told = is_own_status(path) ? OPENED(path, told_status(path, flags | (nm_contains(mode, "e") ? O_CLOEXEC : 0))) : -1;       \
        FILE *file = told >= 0 ? NEXT(fdopen, fdopen_fn)(told, mode) : NULL;                                             \
        return file ? file : OPENED(path, NEXT(name, fopen_fn)(path, mode));                                             \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
FOPEN(fopen)
FOPEN(fopen64)

/* As hardened programs call them. */
STUB_EXPORT int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

STUB_EXPORT int __open64_2(const char *path, int flags)
{
    return open64(path, flags);
}

STUB_EXPORT int __openat_2(int directory, const char *path, int flags)
{
    return openat(directory, path, flags);
}

STUB_EXPORT int __openat64_2(int directory, const char *path, int flags)
{
    return openat64(directory, path, flags);
}
