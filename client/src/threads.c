/* threads.c - moves the threads of this process, reads clocks, and waits on futexes: system calls
 * only.
 *
 * Raw system calls and a stack buffer, because this runs inside other people's programs at a region
 * entry: no malloc, no stdio. Only the helper opens files, and threads that cannot be cancelled
 * meanwhile (nm_adopt).
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct nm_dirent {
    uint64_t ino;
    int64_t off;
    unsigned short reclen;
    unsigned char type;
    char name[];
};

uint64_t nm_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

long nm_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec t = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    return syscall(SYS_futex, word, FUTEX_WAIT, value, &t, NULL, 0);
}

void nm_futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static unsigned used_bytes(const struct nm_cpuset *set)
{
    unsigned words = NM_CPUSET_WORDS;
    while (words > 1 && set->words[words - 1] == 0)
        words--;
    return words * 8;
}

/* Another process may have the number of a thread that has ended: hence the check. */
void nm_put_thread(pid_t tid, const struct nm_cpuset *set)
{
    if (tid == 0 || syscall(SYS_tgkill, getpid(), tid, 0) == 0)
        syscall(SYS_sched_setaffinity, tid, used_bytes(set), set->words);
}

void nm_move_thread(pid_t tid, const struct nm_cpuset *set)
{
    nm_masks_put(set);
    if (!nm_vp_bound(tid) && (tid == 0 || syscall(SYS_tgkill, getpid(), tid, 0) == 0) && nm_is_ours(tid))
        nm_put_thread(tid, set);
}

/* Goes once through /proc/self/task and moves each thread if `set` is given; returns the number of
 * threads, 0 without /proc. */
static unsigned walk_threads(const struct nm_cpuset *set, unsigned bytes)
{
    int dir = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return 0;
    unsigned seen = 0;
    alignas(8) char buffer[4096];
    for (;;) {
        long got = syscall(SYS_getdents64, dir, buffer, sizeof buffer);
        if (got <= 0)
            break;
        for (long at = 0; at < got;) {
            const struct nm_dirent *entry = (const void *)(buffer + at);
            at += entry->reclen;
            if (entry->name[0] < '1' || entry->name[0] > '9')
                continue;
            pid_t tid = (pid_t)strtol(entry->name, NULL, 10);
            /* ESRCH (it ended) and EPERM (setuid helper thread) leave that thread as it is. */
            if (set && !nm_vp_bound(tid) && nm_is_ours(tid))
                syscall(SYS_sched_setaffinity, tid, bytes, set->words);
            seen++;
        }
    }
    close(dir);
    return seen;
}

unsigned nm_threads(void)
{
    return walk_threads(NULL, 0);
}

/* Time in ns that the other threads of this process have been ready to run and did not. Helper
 * thread only: it opens files. */
uint64_t nm_waited_ns(void)
{
    int dir = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t own = (pid_t)syscall(SYS_gettid);
    uint64_t sum = 0;
    alignas(8) char buffer[4096];
    long got;
    while (dir >= 0 && (got = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < got;) {
            const struct nm_dirent *entry = (const void *)(buffer + at);
            at += entry->reclen;
            char path[64], text[96], *end;
            if (entry->name[0] < '1' || entry->name[0] > '9' || strtol(entry->name, NULL, 10) == own)
                continue;
            snprintf(path, sizeof path, "%.20s/schedstat", entry->name);
            int file = openat(dir, path, O_RDONLY | O_CLOEXEC);
            ssize_t size = file < 0 ? -1 : read(file, text, sizeof text - 1);
            if (file >= 0)
                close(file);
            text[size > 0 ? size : 0] = 0;
            strtoull(text, &end, 10);
            sum += strtoull(end, NULL, 10);
        }
    }
    if (dir >= 0)
        close(dir);
    return sum;
}

/* Any thread that is on the set tells what the kernel has made of it. */
static void settled(const struct nm_cpuset *set)
{
    struct nm_cpuset made = {{0}};
    bool known = nm_is_ours(0) && syscall(SYS_sched_getaffinity, 0, sizeof made.words, made.words) > 0;
    nm_masks_settled(set, known ? &made : set);
}

/* Puts every thread of this process onto `set`, except pins, and virtual processors that have a
 * PU of their own. A thread created meanwhile inherits its creator's set, old or new, so the
 * function walks the list again until it stops growing. Without /proc only the caller moves. */
void nm_move_threads(const struct nm_cpuset *set)
{
    unsigned bytes = used_bytes(set);
    nm_vp_lock();
    nm_masks_put(set);
    unsigned before = walk_threads(set, bytes);
    if (before == 0 && !nm_vp_bound(0) && nm_is_ours(0))
        syscall(SYS_sched_setaffinity, 0, bytes, set->words);
    for (int pass = 0; before > 1 && pass < 4; pass++) {
        unsigned now = walk_threads(NULL, 0);
        if (now <= before)
            break;
        before = walk_threads(set, bytes);
    }
    settled(set);
    nm_vp_unlock();
}

/* Reads the Linux list format, "0-3,8". False on anything else; `set` is then unspecified. */
bool nm_cpuset_parse(const char *list, struct nm_cpuset *set)
{
    memset(set, 0, sizeof *set);
    bool some = false;
    for (const char *at = list; *at;) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at)
            return false;
        if (*end == '-') {
            at = end + 1;
            last = strtoul(at, &end, 10);
            if (end == at)
                return false;
        }
        if (last < first || last >= NM_CPUSET_WORDS * 64)
            return false;
        for (unsigned long i = first; i <= last; i++)
            set->words[i / 64] |= 1ull << (i % 64);
        some = true;
        at = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return false;
    }
    return some;
}
