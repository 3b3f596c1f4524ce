/* region.c - what the size of a parallel region may be, and its bookkeeping.
 *
 * Nearly every region takes the short way of shim.h (nm_quick_enter): a handful of loads and four stores to lines that
 * only this thread writes; no system call, no lock, no allocation, no read-modify-write. Here is the long way.
 */
#include "shim.h"

#include <pthread.h>
#include <sched.h>

#define PROBES 16

__thread struct nm_thread nm_self;

struct nm_region nm_regions[NM_REGIONS];
_Atomic uint32_t nm_generation = 1;
static __thread struct nm_region uncached __attribute__((tls_model("initial-exec"))); /* when the table is full: right, but resolved each time */

static _Atomic bool numbers_only;     /* some region relies on a size that it learned elsewhere */
static _Atomic uint32_t roots;       /* threads that open outermost regions */
static _Atomic bool primary_taken;
static pthread_key_t root_key;
static pthread_once_t root_once = PTHREAD_ONCE_INIT;

static inline unsigned region_slot(uintptr_t function, unsigned probe)
{
    return (nm_region_slot(function) + probe) % NM_REGIONS;
}

static void region_learn(struct nm_region *region, uintptr_t function)
{
    bool thread_local_data = false;
    region->settled = 0;
    region->runtime = nm_runtime_of(function);
    nm_object_of(function, &thread_local_data, NULL);
    region->blas = nm_is_blas(function);
    region->keeps_because = thread_local_data ? NM_HELD_THREAD_LOCAL : NM_HELD_NOT;
    /* Where there is nothing to learn, not even the first execution is held: it may be one for the whole run. */
    enum nm_verdict fresh = nm_must_learn() ? NM_NEW : NM_RESIZABLE;
    region->verdict = thread_local_data ? NM_KEEPS_SIZE : fresh;
}

static struct nm_region *region_add(uintptr_t function)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct nm_region *region = &nm_regions[region_slot(function, probe)];
        uintptr_t key = 0;
        if (atomic_compare_exchange_strong(&region->function, &key, 1)) {
            region_learn(region, function);
            atomic_store_explicit(&region->function, function, memory_order_release);
            return region;
        }
        /* Another thread may be adding this very region. */
        while (key == 1) {
            sched_yield();
            key = region->function;
        }
        if (key == function)
            return region;
    }
    region_learn(&uncached, function);
    uncached.verdict = NM_KEEPS_SIZE;
    return &uncached;
}

struct nm_region *nm_region_find(uintptr_t address)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct nm_region *region = &nm_regions[region_slot(address, probe)];
        uintptr_t key = atomic_load_explicit(&region->function, memory_order_acquire);
        if (NM_LIKELY(key == address))
            return region;
        if (key == 0)
            break;
    }
    return region_add(address);
}

void nm_regions_flush(void)
{
    nm_generation++;
    for (unsigned i = 0; i < NM_REGIONS; i++)
        if (nm_regions[i].function != 1)
            nm_regions[i].function = 0;
}

/* A root thread ends. */
static void root_gone(void *kind)
{
    roots--;
    nm_generation++;
    if ((uintptr_t)kind == NM_PRIMARY)
        primary_taken = false;
}

static void make_root_key(void)
{
    pthread_key_create(&root_key, root_gone);
}

/* False for a pool thread of the runtime, which opens a nested region. */
static bool become_root(struct nm_thread *self, struct nm_runtime *runtime)
{
    if (runtime->get_level() != 0)
        return false;
    pthread_once(&root_once, make_root_key);
    self->root = atomic_exchange(&primary_taken, true) ? NM_SECONDARY : NM_PRIMARY;
    roots++;
    nm_generation++;
    pthread_setspecific(root_key, (void *)(uintptr_t)self->root);
    return true;
}

/* First region of the process, or a new decision. */
static __attribute__((noinline)) void catch_up(struct nm_runtime *runtime)
{
    if (!runtime->threads_max)
        nm_runtime_measure(runtime);
    /* A program of one thread has nothing to fold, and a second thread would cost it: malloc begins to lock. */
    if (!nm_client.attached && !nm_client.tried && (runtime->threads_max == 1 || !nm_helper_attach()))
        nm_attach(false);
    nm_adopt(true);
}

static __attribute__((noinline)) void pool_grows(struct nm_runtime *runtime, uint32_t team)
{
    runtime->pool = team;
    if (team > runtime->pool_ever)
        runtime->pool_ever = team;
}

static inline void hold(struct numaestro_page *page, enum nm_held_by reason)
{
    if (atomic_load_explicit(&page->root.held_by, memory_order_relaxed) != reason)
        atomic_store_explicit(&page->root.held_by, reason, memory_order_relaxed);
}

static inline uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The team this region shall have; `*why` if it may not follow the allocation. */
static inline uint32_t decide(struct nm_runtime *runtime, struct nm_region *region, uint32_t asked, uint32_t count,
                              enum nm_held_by *why, bool *observe)
{
    uint32_t max = runtime->threads_max, flags = atomic_load_explicit(&nm_client.flags, memory_order_relaxed), told;
    if (asked) {
        *why = NM_HELD_EXPLICIT;
        return asked;
    }
    if (NM_UNLIKELY(flags & NM_FLAG_RESIZE_NEVER)) {
        *why = NM_HELD_USER;
        return max;
    }
    if (NM_UNLIKELY(region->blas && nm_self.told_blas)) {
        *why = NM_HELD_EXPLICIT;
        return nm_self.told_blas;
    }
    if (NM_UNLIKELY((flags & NM_FLAG_RESIZE_ALWAYS) || runtime->dynamic)) {
        *observe = region->verdict == NM_NEW;
        bool keeps = *observe || (region->verdict == NM_KEEPS_SIZE && region->keeps_because == NM_HELD_EXPLICIT);
        return keeps ? max : least(count, max);
    }
    if (runtime->explicit_max) {
        *why = NM_HELD_EXPLICIT;
        return max;
    }
    if (nm_told(&told)) {
        *why = NM_HELD_TOLD;
        return told;
    }
    if (NM_LIKELY(region->verdict == NM_RESIZABLE)) {
        if (NM_LIKELY(!numbers_only))
            return least(count, max);
        *why = NM_HELD_THREAD_NUMBER;
        return max;
    }
    if (region->verdict == NM_NEW)
        *observe = true;
    else
        *why = region->keeps_because;
    return max;
}

/* Remember the plan of a region that follows the allocation, for nm_quick_enter. */
static void settle(struct nm_region *region, uint32_t generation, uint32_t pass_on, uint32_t team, uint32_t count)
{
    uint32_t bits = (team == 1 ? NM_SETTLED_SERIALIZED : 0) | (team > 1 && count != UINT32_MAX ? NM_SETTLED_SPINS : 0);
    region->settled = (uint64_t)generation << 32 | (uint64_t)pass_on << 2 | bits;
}

struct nm_plan nm_region_enter(struct nm_runtime *runtime, struct nm_region *region, uint32_t asked)
{
    struct nm_thread *self = &nm_self;
    struct nm_plan plan = {.team = asked, .region = region};
    if (NM_UNLIKELY(self->depth > 0)) {
        /* Nested, opened by the same thread. Had we not made the outer team one thread, this one would be serialized. */
        if (asked == 0 && self->serialized)
            plan.team = 1;
        return plan;
    }
    if (NM_UNLIKELY(asked == 1) || (NM_UNLIKELY(!self->root) && !become_root(self, runtime)))
        return plan;
    struct numaestro_page *page = atomic_load_explicit(&nm_client.page, memory_order_acquire);
    if (NM_UNLIKELY(atomic_load_explicit(&page->manager.epoch, memory_order_relaxed) !=
                    atomic_load_explicit(&nm_client.epoch, memory_order_relaxed))) {
        catch_up(runtime);
        page = nm_client.page;
    }
    /* For a root that was in a long region when the decision was carried out for it, and for a second one. */
    nm_memory_follow();
    if (NM_UNLIKELY(!runtime->threads_max))
        nm_runtime_measure(runtime);
    if (NM_UNLIKELY(atomic_load_explicit(&nm_client.flags, memory_order_relaxed) & NM_FLAG_LENT))
        nm_back_from_sequential();
    uint32_t generation = nm_generation;
    uint32_t count = atomic_load_explicit(&nm_client.count, memory_order_relaxed);
    uint32_t sharers = atomic_load_explicit(&roots, memory_order_relaxed);
    if (NM_UNLIKELY(sharers > 1) && count != UINT32_MAX)
        count = count > sharers ? count / sharers : 1;
    enum nm_held_by why = NM_HELD_NOT;
    uint32_t team = decide(runtime, region, asked, count, &why, &plan.observe);
    bool timed = nm_window_is_open() && self->root == NM_PRIMARY;
    bool held = false;
    if (NM_UNLIKELY(timed)) {
        held = asked || plan.observe || why != NM_HELD_NOT || sharers > 1;
        team = nm_window_size(team, held);
    }
    bool hurts = team > count || (atomic_load_explicit(&nm_client.flags, memory_order_relaxed) & NM_FLAG_SHARED);
    if (team > 1 && count != UINT32_MAX)
        nm_spin_for(runtime, hurts);
    if (team > atomic_load_explicit(&runtime->pool, memory_order_relaxed))
        pool_grows(runtime, team);
    if (NM_UNLIKELY(plan.observe))
        self->asked_number = self->asked_size = self->sections = 0;
    plan.team = asked == 0 && team == runtime->threads_max ? 0 : team;
    plan.managed = true;
    if (!timed && !asked && !plan.observe && why == NM_HELD_NOT && !(hurts && team > 1))
        settle(region, generation, plan.team, team, count);
    self->depth = 1;
    self->serialized = team == 1;
    if (NM_LIKELY(self->root == NM_PRIMARY)) {
        uint64_t number = atomic_load_explicit(&page->root.regions, memory_order_relaxed) + 1;
        atomic_store_explicit(&page->root.regions, number, memory_order_relaxed);
        atomic_store_explicit(&page->root.in_region, 1, memory_order_relaxed);
        atomic_store_explicit(&page->root.team, team, memory_order_relaxed);
        atomic_store_explicit(&page->root.team_max, runtime->threads_max, memory_order_relaxed);
        if (NM_UNLIKELY(why != NM_HELD_NOT)) {
            hold(page, why);
            if (team > count)
                atomic_store_explicit(&page->root.held, page->root.held + 1, memory_order_relaxed);
        }
    }
    if (NM_UNLIKELY(timed)) {
        plan.timed = true;
        nm_window_begin(region->function, team, held);
    }
    return plan;
}

static __attribute__((noinline)) void learn(struct nm_thread *self, struct nm_region *region)
{
    /* Every schedule that the compiler lays out, and every partition by hand inside the region, asks for both. A thread
     * number without the size belongs to a partition that was made elsewhere, for the size it had then. */
    if (self->sections) {
        region->keeps_because = NM_HELD_EXPLICIT;
        region->verdict = NM_KEEPS_SIZE;
    } else if (self->asked_number > self->asked_size) {
        numbers_only = true;
        nm_generation++;
        region->keeps_because = NM_HELD_THREAD_NUMBER;
        region->verdict = NM_KEEPS_SIZE;
    } else {
        region->verdict = NM_RESIZABLE;
    }
}

void nm_region_leave(struct nm_plan plan)
{
    if (!plan.managed)
        return;
    struct nm_thread *self = &nm_self;
    self->depth = 0;
    self->serialized = false;
    if (NM_UNLIKELY(plan.timed))
        nm_window_end();
    if (NM_LIKELY(self->root == NM_PRIMARY))
        atomic_store_explicit(&nm_client.page->root.in_region, 0, memory_order_relaxed);
    if (NM_UNLIKELY(plan.observe))
        learn(self, plan.region);
}

/* Before threads are moved to fewer processors. */
static void before_vacate(uint32_t count, bool root)
{
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r)) {
        uint32_t team = r->pool;
        if (team <= count)
            continue;
        if (root && nm_self.root == NM_PRIMARY && roots == 1) {
            nm_spin_for(r, true);
            nm_sleep_pool(r, team);
            r->pool = 0;
        } else if (!r->kmp) {
            nm_spin_for(r, true);
        }
    }
}

/* The threads of the pools, as far as they were seen; the helper moves everything else. */
static void move_pool(const struct nm_cpuset *set)
{
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r))
        for (uint32_t i = 1; i < r->rolled && i < NM_ROLL; i++)
            if (r->roll[i])
                nm_move_thread(r->roll[i], set);
}

/* Where new pages go has changed, and only a thread itself can change that. */
static void tell_pool(void)
{
    if (nm_self.root != NM_PRIMARY || roots != 1)
        return;
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r))
        if (r->pool > 1)
            nm_tell_pool(r, r->pool);
}

/* When the decision is in force. */
static void after(uint32_t count, uint32_t flags, bool root)
{
    nm_generation++;
    bool alone = root && nm_self.root == NM_PRIMARY && roots == 1 && !(flags & NM_FLAG_SHARED);
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r)) {
        uint32_t team = least(count, r->pool_ever);
        if (alone && team > 1 && team > r->pool)
            nm_spread_pool(r, team, &nm_client.cpuset);
        else if (!root && !r->kmp && r->pool > 1)
            /* One long region: nobody will come by an entry to let its threads spin again. */
            nm_spin_for(r, r->pool > count || (flags & NM_FLAG_SHARED));
    }
    nm_setters_apply(flags & NM_FLAG_RESIZE_NEVER ? UINT32_MAX : count);
}

static uint32_t runtimes_found(void)
{
    uint32_t bits = nm_setters_found();
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r))
        bits |= r->kmp ? NM_RUNTIME_KMP : NM_RUNTIME_GOMP;
    return bits;
}

static uint32_t threads_max(void)
{
    uint32_t max = nm_setters_max();
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r))
        max = r->threads_max > max ? r->threads_max : max;
    return max;
}

static void in_child(void)
{
    /* The runtime's pool did not survive the fork either. */
    nm_self.root = NM_NOT_ROOT;
    nm_self.depth = 0;
    roots = 0;
    primary_taken = false;
    nm_analyzer_in_child();
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r))
        r->pool = r->pool_ever = r->rolled = 0;
}

__attribute__((constructor)) static void start(void)
{
    nm_hooks = (struct nm_hooks){before_vacate, move_pool, tell_pool, after, runtimes_found, threads_max, nm_analyzer_tick};
    pthread_atfork(NULL, NULL, in_child);
}
