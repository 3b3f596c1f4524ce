/* adopt.c - carries a decision out: reads the page, vacates processors, moves the threads, and
 * tells the manager.
 *
 * The program's root thread puts a decision in force at a region entry: it moves itself and the
 * threads it knows. The helper then moves all others and tells the manager. If the root enters no
 * region, the helper does everything; if there is no helper, the root does. The adoption lock lets
 * one of them in; it is held for tens of microseconds.
 */
#include "client.h"
#include "message.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

struct nm_hooks nm_hooks;

static atomic_flag adopting = ATOMIC_FLAG_INIT;
static bool put_in_force_by_root; /* under the lock */
static atomic_bool busy_to_say;

static bool try_lock(void)
{
    return !atomic_flag_test_and_set_explicit(&adopting, memory_order_acquire);
}

void nm_adopt_unlock(void)
{
    atomic_flag_clear_explicit(&adopting, memory_order_release);
}

static bool is_empty(const struct nm_cpuset *set)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < NM_CPUSET_WORDS; i++)
        any |= set->words[i];
    return any == 0;
}

/* Makes a consistent copy of the manager's decision. False if the manager stays in the middle of a
 * write (it died there), and for an empty target, which no manager decides. */
bool nm_read_target(struct numaestro_page *page, struct nm_target *out)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        uint32_t before = atomic_load_explicit(&page->manager.sequence, memory_order_acquire);
        if (before % 2 == 0) {
            out->epoch = atomic_load_explicit(&page->manager.epoch, memory_order_relaxed);
            out->count = atomic_load_explicit(&page->manager.count, memory_order_relaxed);
            out->flags = atomic_load_explicit(&page->manager.flags, memory_order_relaxed);
            out->memory = atomic_load_explicit(&page->manager.memory, memory_order_relaxed);
            for (unsigned i = 0; i < NM_NODE_WORDS; i++)
                out->nodes[i] = atomic_load_explicit(&page->nodes[i], memory_order_relaxed);
            for (unsigned i = 0; i < NM_CPUSET_WORDS; i++)
                out->cpuset.words[i] = atomic_load_explicit(&page->cpuset[i], memory_order_relaxed);
            atomic_thread_fence(memory_order_acquire);
            if (atomic_load_explicit(&page->manager.sequence, memory_order_relaxed) == before)
                return out->count > 0 && !is_empty(&out->cpuset);
        }
        sched_yield();
    }
    return false;
}

static bool leaves_some(const struct nm_cpuset *old, const struct nm_cpuset *new)
{
    uint64_t left = 0;
    for (unsigned i = 0; i < NM_CPUSET_WORDS; i++)
        left |= old->words[i] & ~new->words[i];
    return left != 0;
}

static void carry_out(struct numaestro_page *page, const struct nm_target *target, bool root)
{
    bool moved = memcmp(&nm_client.cpuset, &target->cpuset, sizeof target->cpuset) != 0;
    /* While the threads are all awake: threads that a smaller team sends to sleep would come back
     * with their old policy. */
    bool news = nm_memory_told(target->memory, target->nodes);
    nm_memory_follow();
    if (news && root && nm_hooks.tell_pool)
        nm_hooks.tell_pool();
    bool vacates = leaves_some(&nm_client.cpuset, &target->cpuset) || target->count < nm_client.count;
    if (vacates && nm_hooks.before_vacate)
        nm_hooks.before_vacate(target->count, root);
    nm_client.count = target->count;
    if (!(target->flags & NM_FLAG_LENT))
        nm_client.owned = target->count;
    nm_client.flags = target->flags;
    nm_client.cpuset = target->cpuset;
    nm_vp_adopt(&target->cpuset, target->flags);
    bool rest = root && nm_helper_runs();
    if (moved && rest) {
        nm_move_thread(0, &target->cpuset);
        if (nm_hooks.move_pool)
            nm_hooks.move_pool(&target->cpuset);
    } else if (moved) {
        nm_move_threads(&target->cpuset);
    }
    if (nm_hooks.after)
        nm_hooks.after(target->count, target->flags, root);
    nm_change_happens();
    put_in_force_by_root = root;
    atomic_store_explicit(&page->root.adopted_ns, nm_now_ns(), memory_order_relaxed);
}

/* Reports that every thread that is ours to move is inside the set in force. */
static void confirm(struct numaestro_page *page, uint32_t epoch)
{
    /* Virtual processors that have left by themselves are not folded, whichever thread notices
     * it. */
    uint32_t running;
    bool folded = nm_vp_registered(&running) ? nm_vp_any_stolen() : !put_in_force_by_root;
    atomic_store_explicit(&page->helper.folded, folded, memory_order_relaxed);
    atomic_store_explicit(&page->helper.adopted_epoch, epoch, memory_order_release);
    nm_notice(NM_ADOPTED, epoch, folded);
}

/* A region is being entered although processors are lent: the sequential phase is over. The helper
 * tells the manager so; if its wake-up is lost, the manager sees the regions by itself a little
 * later. */
void nm_back_from_sequential(void)
{
    nm_client.flags &= ~(uint32_t)NM_FLAG_LENT;
    if (!nm_helper_runs()) {
        nm_notice(NM_BUSY, 0, 0);
        return;
    }
    busy_to_say = true;
    nm_futex_wake(&nm_client.page->manager.epoch);
}

void nm_say_busy(void)
{
    if (busy_to_say && atomic_exchange(&busy_to_say, false))
        nm_notice(NM_BUSY, 0, 0);
}

void nm_adopt_rest(void)
{
    int saved = errno;
    while (!try_lock())
        sched_yield();
    struct numaestro_page *page = nm_client.page;
    uint32_t epoch = nm_client.epoch;
    if (page->helper.adopted_epoch != epoch && epoch != NM_UNATTACHED) {
        nm_move_threads(&nm_client.cpuset);
        nm_memory_follow();
        confirm(page, epoch);
    }
    nm_adopt_unlock();
    errno = saved;
}

/* The page keeps the dead manager's decision. The one put in force here is the one that a manager
 * writes at its orderly end. */
void nm_adopt_nobody(void)
{
    while (!try_lock())
        sched_yield();
    struct nm_target target;
    if (!nm_client.alone && nm_read_target(nm_client.page, &target)) {
        struct nm_cpuset alone;
        unsigned count = 0;
        bool known = nm_alone(&alone);
        if (known)
            target.cpuset = alone;
        for (unsigned i = 0; i < NM_CPUSET_WORDS; i++)
            count += (unsigned)__builtin_popcountll(target.cpuset.words[i]);
        target.count = known ? count : UINT32_MAX;
        target.flags = NM_FLAG_RELEASED;
        nm_client.alone = true;
        carry_out(nm_client.page, &target, false);
        nm_client.epoch = nm_client.page->manager.epoch;
    }
    nm_adopt_unlock();
}

enum nm_place nm_belongs(struct nm_cpuset *set, uint32_t *epoch)
{
    struct nm_target target;
    if (nm_client.alone)
        return NM_ANYWHERE;
    if (!nm_client.attached || !nm_read_target(nm_client.page, &target))
        return NM_AS_BORN;
    if (target.flags & NM_FLAG_RELEASED)
        return NM_ANYWHERE;
    *set = target.cpuset;
    *epoch = target.epoch;
    return NM_WITHIN;
}

/* True if there was something to carry out. */
static bool adopt_once(struct numaestro_page *page, bool root)
{
    struct nm_target target;
    if (!nm_client.attached) {
        nm_client.epoch = page->manager.epoch;
        return false;
    }
    if (page->manager.epoch == nm_client.epoch)
        return false;
    if (!nm_read_target(page, &target)) {
        /* No manager decides a torn or empty target: keep the present one until the next. */
        nm_client.epoch = page->manager.epoch;
        return false;
    }
    carry_out(page, &target, root);
    atomic_store_explicit(&nm_client.epoch, target.epoch, memory_order_release);
    if (!root || !nm_helper_runs())
        confirm(page, target.epoch);
    return true;
}

bool nm_adopt(bool root)
{
    /* A thread that is cancelled in here would keep the locks for ever. */
    int saved = errno, cancellable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    while (!try_lock())
        sched_yield();
    bool changed = false;
    /* If this thread did not run for a while between its look at the page and its move, the
     * manager may have moved it meanwhile, by a later decision. */
    while (adopt_once(nm_client.page, root))
        changed = true;
    nm_adopt_unlock();
    /* The helper does the rest: it may be waiting for exactly this. */
    if (changed && root)
        nm_futex_wake(&nm_client.epoch);
    pthread_setcancelstate(cancellable, NULL);
    errno = saved;
    return changed;
}
