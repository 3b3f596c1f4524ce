/* spin.c - sets how long the threads of a runtime spin before they sleep.
 *
 * On processors of one's own spinning is right: a futex wake costs more than a short region. On
 * fewer processors than threads, a spinning thread keeps the thread that it waits for from running.
 * Neither runtime can know which case it is in, because both look at their own threads only.
 *
 * libgomp has no call to set its spin count. `numaestro run` starts the program with
 * GOMP_SPINCOUNT=300089, which means to libgomp the same as its default of 300000; the one aligned
 * word of libgomp's data with that value is its spin count. If there is not exactly one such word,
 * the shim never writes anything.
 */
#include "pace.h"
#include "whole.h"

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPIN_MARK 300089ull
#define SPIN_DEFAULT 300000ull
#define SPIN_TARGET_NS 3000000ull /* libgomp's own aim; its count of 300000 assumes 10 ns a pause */
#define SPIN_LEAST 20000ull
#define PAUSES 200
#define BLOCKTIME_DEFAULT_MS 200
#define BLOCKTIME_MS 3 /* as libgomp */

struct mark_query {
    uintptr_t base;
    volatile uint64_t *found;
    unsigned count;
};

static int find_mark(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct mark_query *query = data;
    /* dladdr's base is the address of the first segment, which is the load bias for a shared
     * object. */
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

static void pause_often(void)
{
    for (int i = 0; i < PAUSES; i++)
        pause_once();
}

/* The count that spins for about SPIN_TARGET_NS on this processor. */
static uint64_t calibrated(void)
{
    static _Atomic uint64_t known;
    if (!known) {
        uint64_t count = SPIN_TARGET_NS * PAUSES / nm_shortest_ns(pause_often);
        known = count > SPIN_MARK ? SPIN_MARK : count < SPIN_LEAST ? SPIN_LEAST : count;
    }
    return known;
}

void nm_spin_find(struct nm_runtime *runtime)
{
    const char *asked = getenv("GOMP_SPINCOUNT");
    struct mark_query query = {.base = runtime->base};
    if (!runtime->kmp && asked && strtoull(asked, NULL, 10) == SPIN_MARK)
        dl_iterate_phdr(find_mark, &query);
    runtime->spin_count = query.count == 1 ? query.found : NULL;
    runtime->spins = true;
    runtime->spin_now = SPIN_MARK;
}

/* libomp's threads spin 200 ms. A program that waits that long for something else looks busy, and
 * nobody gets its processors. Unless the user chose a time, the threads spin as long as libgomp's:
 * a wake-up is a small part of a longer gap. */
static int shortened(int blocktime)
{
    return blocktime == BLOCKTIME_DEFAULT_MS && !getenv("KMP_BLOCKTIME") ? BLOCKTIME_MS : blocktime;
}

static void change_libomp(struct nm_runtime *runtime, bool waiting_hurts)
{
    bool first = runtime->spin_now == SPIN_MARK;
    /* The program may have set another time meanwhile. */
    if (runtime->spins && runtime->get_blocktime)
        runtime->blocktime = runtime->get_blocktime();
    if (first)
        runtime->blocktime = shortened(runtime->blocktime);
    runtime->spin_now = 0;
    runtime->spins = !waiting_hurts;
    if (runtime->set_blocktime)
        runtime->set_blocktime(waiting_hurts ? 0 : runtime->blocktime);
}

static __attribute__((noinline)) void change(struct nm_runtime *runtime, bool waiting_hurts)
{
    if (runtime->kmp) {
        change_libomp(runtime, waiting_hurts);
        return;
    }
    runtime->spin_now = waiting_hurts ? 0 : calibrated();
    runtime->spins = !waiting_hurts;
    if (runtime->spin_count)
        *runtime->spin_count = runtime->spin_now;
}

void nm_spin_for(struct nm_runtime *runtime, bool waiting_hurts)
{
    if (NM_UNLIKELY(runtime->spins == waiting_hurts || runtime->spin_now == SPIN_MARK))
        change(runtime, waiting_hurts);
}

/* The program is about to print libgomp's settings: they are what they were without us, until the
 * next region. */
void nm_spin_show(struct nm_runtime *runtime)
{
    if (!runtime->spin_count)
        return;
    *runtime->spin_count = SPIN_DEFAULT;
    runtime->spin_now = SPIN_MARK;
    nm_plans_change();
}

typedef void (*parallel_fn)(nm_outlined, void *, unsigned, unsigned);

static void enroll(struct nm_runtime *runtime, unsigned number)
{
    if (number < NM_ROLL)
        runtime->roll[number] = (pid_t)syscall(SYS_gettid);
}

static void roll_call(void *runtime)
{
    enroll(runtime, (unsigned)((struct nm_runtime *)runtime)->get_thread_num());
}

/* The OS index of the PU at position `number` of `set`, modulo the set's size. */
static unsigned pu_at(const struct nm_cpuset *set, unsigned number)
{
    unsigned total = 0;
    for (unsigned i = 0; i < NM_CPUSET_WORDS; i++)
        total += (unsigned)__builtin_popcountll(set->words[i]);
    number %= total ? total : 1;
    for (unsigned i = 0; i < NM_CPUSET_WORDS; i++) {
        uint64_t word = set->words[i];
        for (; word; word &= word - 1)
            if (number-- == 0)
                return i * 64 + (unsigned)__builtin_ctzll(word);
    }
    return 0;
}

struct spread {
    struct nm_runtime *runtime;
    const struct nm_cpuset *set;
    uint32_t team;
    _Atomic uint32_t apart;
};

#define PART_PATIENCE_NS 1000000ull

/* Each member goes to a PU of its own, and is then free again within the allocation. The root
 * thread yields instead of spinning until all have gone; from then on spinning is right again, also
 * for the barrier that ends this region. */
static void go_apart(void *data)
{
    struct spread *spread = data;
    unsigned number = (unsigned)spread->runtime->get_thread_num();
    unsigned pu = pu_at(spread->set, number);
    uint64_t only[NM_CPUSET_WORDS] = {0};
    only[pu / 64] = 1ull << (pu % 64);
    int saved = errno;
    syscall(SYS_sched_setaffinity, 0, sizeof only, only);
    syscall(SYS_sched_setaffinity, 0, sizeof spread->set->words, spread->set->words);
    spread->apart++;
    if (number == 0) {
        uint64_t start = nm_now_ns();
        while (spread->apart < spread->team && nm_now_ns() - start < PART_PATIENCE_NS)
            sched_yield();
        nm_spin_for(spread->runtime, spread->apart < spread->team);
    }
    errno = saved;
}

/* A team that grows wakes threads that last ran on the processor it comes from. If the kernel put
 * them there again, the root thread would spin at the barrier on the very processor that the thread
 * it waits for needs. So they part first. The root thread calls this between regions, after all
 * threads were allowed the new set. */
void nm_spread_pool(struct nm_runtime *runtime, uint32_t team, const struct nm_cpuset *set)
{
    if (runtime->kmp || !runtime->spin_count || runtime->watched)
        return;
    nm_whole_dissolve();
    struct spread spread = {runtime, set, team, 0};
    nm_spin_for(runtime, true);
    ((parallel_fn)runtime->parallel)(go_apart, &spread, team, 0);
}

static struct nm_runtime *called; /* set by the one root thread, under the adoption lock */

static void roll_call_kmp(int32_t *gtid, int32_t *tid, ...)
{
    (void)gtid;
    enroll(called, (unsigned)*tid);
}

/* Every member of the team runs `gomp` or `kmp` once; false if the shim cannot do that without
 * harm: a tool would count such a region. */
static bool each(struct nm_runtime *runtime, uint32_t team, nm_outlined gomp, nm_microtask kmp)
{
    static struct {
        int32_t reserved, flags, reserved2, reserved3;
        const char *source;
    } place = {0, 2 /* KMP_IDENT_KMPC */, 0, 0, ";numaestro;each;0;0;;"};
    nm_whole_dissolve();
    if (runtime->watched)
        return false;
    if (runtime->kmp) {
        if (!runtime->set_blocktime || !runtime->global_thread_num)
            return false;
        runtime->push_num_threads(&place, runtime->global_thread_num(&place), (int32_t)team);
        called = runtime;
        runtime->fork_call(&place, 0, kmp);
    } else if (runtime->spin_count) {
        ((parallel_fn)runtime->parallel)(gomp, runtime, team, 0);
    } else {
        return false;
    }
    return true;
}

/* Threads that wait for the next region took their spin count when they began to wait. One region
 * of the size they know lets them begin again, with the short count; it also records their thread
 * ids. The root thread calls this between regions, on the old processors. */
void nm_sleep_pool(struct nm_runtime *runtime, uint32_t team)
{
    memset(runtime->roll, 0, sizeof runtime->roll);
    if (each(runtime, team, roll_call, roll_call_kmp))
        runtime->rolled = team;
}

static void follow(void *runtime)
{
    (void)runtime;
    nm_memory_follow();
}

static void follow_kmp(int32_t *gtid, int32_t *tid, ...)
{
    (void)gtid;
    (void)tid;
    nm_memory_follow();
}

/* The threads of the team set their own memory policy. To be called as nm_sleep_pool. */
void nm_tell_pool(struct nm_runtime *runtime, uint32_t team)
{
    each(runtime, team, follow, follow_kmp);
}
