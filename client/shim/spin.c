/* spin.c - how long the threads of a runtime spin before they sleep.
 *
 * On processors of one's own spinning is right: a futex wake costs more than a short region. On fewer processors than
 * threads it keeps the thread that is waited for from running. Neither runtime can know, because both look at their own
 * threads only.
 *
 * libgomp has no call for this. `numaestro run` starts the program with GOMP_SPINCOUNT=300089, which means to libgomp what
 * its default of 300000 means; the one aligned word of libgomp's data with that value is its spin count. If there is
 * not exactly one such word, nothing is ever written.
 */
#include "shim.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#define SPIN_MARK 300089ull
#define SPIN_TARGET_NS 3000000ull /* libgomp's own aim; its count of 300000 assumes 10 ns a pause */
#define SPIN_LEAST 20000ull

struct mark_query {
    uintptr_t base;
    volatile uint64_t *found;
    unsigned count;
};

static int find_mark(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct mark_query *query = data;
    /* dladdr's base is the address of the first segment, which is the load bias for a shared object. */
    if (info->dlpi_addr != query->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
            continue;
        uintptr_t from = (info->dlpi_addr + p->p_vaddr + 7) & ~(uintptr_t)7;
        uintptr_t to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
        for (; from + 8 <= to; from += 8) {
            volatile uint64_t *word = (volatile uint64_t *)from;
            if (*word == SPIN_MARK) {
                query->found = word;
                query->count++;
            }
        }
    }
    return 1;
}

static inline void pause_once(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/* The count that spins for about SPIN_TARGET_NS on this processor. */
static uint64_t calibrated(void)
{
    static _Atomic uint64_t known;
    if (known)
        return known;
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < 3; round++) {
        uint64_t start = nm_now_ns();
        for (int i = 0; i < 200; i++)
            pause_once();
        uint64_t took = nm_now_ns() - start;
        best = took < best ? took : best;
    }
    uint64_t count = SPIN_TARGET_NS * 200 / (best ? best : 1);
    count = count > SPIN_MARK ? SPIN_MARK : count < SPIN_LEAST ? SPIN_LEAST : count;
    known = count;
    return count;
}

void nm_spin_find(struct nm_runtime *runtime)
{
    const char *asked = getenv("GOMP_SPINCOUNT");
    struct mark_query query = {.base = runtime->base};
    if (asked && strtoull(asked, NULL, 10) == SPIN_MARK)
        dl_iterate_phdr(find_mark, &query);
    runtime->spin_count = query.count == 1 ? query.found : NULL;
    runtime->spin_now = SPIN_MARK;
}

static __attribute__((noinline)) void change(struct nm_runtime *runtime, bool waiting_hurts)
{
    if (runtime->kmp) {
        if (runtime->set_blocktime)
            runtime->set_blocktime(waiting_hurts ? 0 : runtime->blocktime);
        runtime->blocktime_short = waiting_hurts;
        return;
    }
    runtime->spin_now = waiting_hurts ? 0 : calibrated();
    if (runtime->spin_count)
        *runtime->spin_count = runtime->spin_now;
}

void nm_spin_for(struct nm_runtime *runtime, bool waiting_hurts)
{
    bool is_short = runtime->kmp ? runtime->blocktime_short : runtime->spin_now == 0;
    bool is_marked = !runtime->kmp && runtime->spin_now == SPIN_MARK;
    if (NM_UNLIKELY(is_short != waiting_hurts || is_marked))
        change(runtime, waiting_hurts);
}

static void nothing(void *unused)
{
    (void)unused;
}

static void nothing_kmp(int32_t *gtid, int32_t *tid, ...)
{
    (void)gtid;
    (void)tid;
}

/* Threads that wait for the next region took their spin count when they began to wait. One empty region of the size they
 * know lets them begin again, with the short one. Called by the root thread, between regions, on the old processors. */
void nm_sleep_pool(struct nm_runtime *runtime, uint32_t team)
{
    static struct {
        int32_t reserved, flags, reserved2, reserved3;
        const char *source;
    } place = {0, 2 /* KMP_IDENT_KMPC */, 0, 0, ";numaestro;sleep_pool;0;0;;"};
    if (runtime->kmp) {
        if (!runtime->set_blocktime || !runtime->global_thread_num)
            return;
        runtime->push_num_threads(&place, runtime->global_thread_num(&place), (int32_t)team);
        runtime->fork_call(&place, 0, nothing_kmp);
    } else if (runtime->spin_count) {
        ((void (*)(nm_outlined, void *, unsigned, unsigned))runtime->parallel)(nothing, NULL, team, 0);
    }
}
