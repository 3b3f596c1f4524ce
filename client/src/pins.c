/* pins.c - says which masks of this process's threads are ours, for everybody here who moves
 * threads. Any other mask is a pin: the program, a library, a launcher or its user has put the
 * thread there, and nobody of ours moves it. The manager goes by the same rule
 * (crates/daemon/src/hands/masks.rs).
 *
 * A mask is ours if it is one of these:
 * 1. a set that we have put threads on, and that may still be in force for some, or what the kernel
 *    made of it; the mask that the process began with is one;
 * 2. what the shim made of a mask that a pool asked for, which could not know better (sizing.c);
 * 3. a set with every processor that the program may have: who takes everything is bound to
 *    nothing.
 *
 * But it is a pin also then, if the thread has set it by a call that we have seen, or it was
 * found to be a pin before, and is the same now.
 *
 * No locks: a thread may be in here while a signal handler or a fork comes. A race may let a
 * thread be taken for ours that has been pinned at this moment.
 */
#include "client.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A manager may decide often before this process carries one of its decisions out. */
#define SETS 32
#define KEPT 16
#define NOTES 1024
#define TRIES 8

static struct nm_cpuset put[SETS];   /* 1., the latest at put_at - 1 */
static _Atomic unsigned put_at;
static struct nm_cpuset kept[KEPT];  /* 2. */
static _Atomic unsigned kept_at;

/* A pinned thread, and its mask as a number. */
static struct {
    _Atomic pid_t tid;
    _Atomic uint64_t mask;
} notes[NOTES];

static bool mask_of(pid_t tid, struct nm_cpuset *set)
{
    *set = (struct nm_cpuset){{0}};
    return syscall(SYS_sched_getaffinity, tid, sizeof set->words, set->words) > 0;
}

static bool same(const struct nm_cpuset *one, const struct nm_cpuset *other)
{
    return memcmp(one->words, other->words, sizeof one->words) == 0;
}

static bool has_all(const struct nm_cpuset *set, const struct nm_cpuset *of)
{
    uint64_t any = 0, missing = 0;
    for (unsigned i = 0; i < NM_CPUSET_WORDS; i++) {
        any |= of->words[i];
        missing |= of->words[i] & ~set->words[i];
    }
    return any && !missing;
}

static bool is_among(const struct nm_cpuset *sets, unsigned room, unsigned written, const struct nm_cpuset *set)
{
    for (unsigned i = 0; i < written && i < room; i++)
        if (same(&sets[i], set))
            return true;
    return false;
}

static uint64_t number_of(const struct nm_cpuset *set)
{
    uint64_t number = 14695981039346656037ull;
    for (unsigned i = 0; i < NM_CPUSET_WORDS; i++)
        number = (number ^ set->words[i]) * 1099511628211ull;
    return number;
}

/* The note about a thread, or with `make` a place for one. -1: none. */
static int note_of(pid_t tid, bool make)
{
    int empty = -1;
    for (unsigned i = 0; i < TRIES; i++) {
        int at = (int)(((unsigned)tid * 2654435761u + i) % NOTES);
        pid_t there = notes[at].tid;
        if (there == tid)
            return at;
        if (empty < 0 && (there == 0 || (make && syscall(SYS_tgkill, getpid(), there, 0) != 0)))
            empty = at;
    }
    return make ? empty : -1;
}

void nm_pin(pid_t tid, const struct nm_cpuset *set)
{
    int at = note_of(tid, true);
    if (at < 0)
        return;
    notes[at].mask = number_of(set);
    notes[at].tid = tid;
}

void nm_unpin(pid_t tid)
{
    int at = note_of(tid, false);
    if (at >= 0)
        notes[at].tid = 0;
}

void nm_masks_put(const struct nm_cpuset *set)
{
    if (is_among(put, SETS, put_at, set))
        return;
    put[put_at % SETS] = *set;
    put_at++;
}

void nm_masks_settled(const struct nm_cpuset *set, const struct nm_cpuset *made)
{
    put[0] = *set;
    put[1] = *made;
    put_at = 2;
}

void nm_masks_kept(const struct nm_cpuset *set)
{
    if (is_among(kept, KEPT, kept_at, set))
        return;
    kept[kept_at % KEPT] = *set;
    kept_at++;
}

__attribute__((constructor)) static void begin(void)
{
    struct nm_cpuset born;
    if (mask_of(0, &born))
        nm_masks_put(&born);
}

/* The manager moves a process that does not react, as a whole, and to a set that this process may
 * never have seen in its page. Calls of the program itself are seen, so the first thread is where
 * the manager has put it, and so are those that are there too. */
static bool is_with_the_first(pid_t tid, const struct nm_cpuset *now)
{
    struct nm_cpuset first;
    pid_t pid = getpid();
    int at = note_of(pid, false);
    if (tid == pid)
        return at < 0 || notes[at].mask != number_of(now);
    return at < 0 && mask_of(pid, &first) && same(now, &first);
}

bool nm_is_ours(pid_t tid)
{
    struct nm_cpuset now, all;
    if (tid == 0)
        tid = (pid_t)syscall(SYS_gettid);
    if (!mask_of(tid, &now))
        return false;
    if (nm_alone(&all) && has_all(&now, &all)) {
        nm_unpin(tid);
        return true;
    }
    int at = note_of(tid, false);
    if (at >= 0 && notes[at].mask == number_of(&now))
        return false;
    if (is_among(put, SETS, put_at, &now) || is_among(kept, KEPT, kept_at, &now) || is_with_the_first(tid, &now)) {
        nm_unpin(tid);
        return true;
    }
    nm_pin(tid, &now);
    return false;
}
