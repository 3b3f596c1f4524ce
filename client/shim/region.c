/* region.c - decides the size of a parallel region, and keeps its records.
 *
 * Nearly every region takes the short way of shim.h (nm_quick_enter): a handful of loads and four
 * stores to lines that only this thread writes; no system call, no lock, no allocation, no
 * read-modify-write. This file is the long way.
 */
#include "../src/message.h"
#include "whole.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct nm_thread nm_self;

_Atomic uint32_t nm_generation = 2;
_Atomic bool nm_teams_follow;

static _Atomic uint32_t roots;       /* threads that open outermost regions */
static _Atomic bool primary_taken;
static pthread_key_t root_key;
static pthread_once_t root_once = PTHREAD_ONCE_INIT;

/* The threads that the manager takes for the largest team of this program; it gives out no more
 * processors than that. */
static _Atomic uint32_t told_threads;

void nm_team_told(uint32_t threads)
{
    told_threads = threads ? threads : UINT32_MAX;
}

/* A program that began with a team of one, or of few, now opens a larger one. */
static __attribute__((noinline)) void tell_team(uint32_t threads)
{
    told_threads = threads;
    if (!nm_helper_runs())
        nm_helper_start();
    /* A program that asks for processors itself knows better. */
    if (nm_client.page->request.requested == 0)
        nm_notice(NM_TEAM, threads, 0);
}

/* A root thread ends. */
static void root_gone(void *kind)
{
    roots--;
    nm_plans_change();
    if ((uintptr_t)kind == NM_PRIMARY)
        primary_taken = false;
}

static void make_root_key(void)
{
    pthread_key_create(&root_key, root_gone);
}

/* False for a pool thread of the runtime, whose regions are nested. */
static bool become_root(struct nm_thread *self, struct nm_runtime *runtime)
{
    if (runtime->get_level() != 0)
        return false;
    pthread_once(&root_once, make_root_key);
    self->root = atomic_exchange(&primary_taken, true) ? NM_SECONDARY : NM_PRIMARY;
    self->is_main = !nm_is_sealed() && syscall(SYS_gettid) == getpid();
    roots++;
    nm_plans_change();
    pthread_setspecific(root_key, (void *)(uintptr_t)self->root);
    return true;
}

/* The sizes that the two numbers of a generation stand for; the primary root's. */
static struct {
    struct nm_runtime *runtime;
    uint32_t generation; /* without its lowest bit */
    uint32_t size[2];    /* by the lowest bit */
} sizes;

void nm_region_resize(struct nm_runtime *runtime, uint32_t before, uint32_t now)
{
    uint32_t generation = nm_generation, side = generation % 2;
    bool known = sizes.generation == generation - side && sizes.runtime == runtime && sizes.size[side] == before &&
                 sizes.size[1 - side] == now;
    uint32_t next = known ? generation ^ 1 : (generation + 2) ^ 1;
    runtime->threads_max = now;
    if (!atomic_compare_exchange_strong(&nm_generation, &generation, next)) {
        /* Another thread has changed something else meanwhile. */
        nm_plans_change();
    } else if (!known) {
        sizes.runtime = runtime;
        sizes.generation = next - next % 2;
        sizes.size[side] = before;
        sizes.size[1 - side] = now;
    }
}

/* The settings that all plans of the primary root depend on. */
static void remember_own(struct nm_runtime *runtime, uint32_t max)
{
    int dynamic = runtime->get_dynamic ? runtime->get_dynamic() : 0;
    if (runtime->threads_max != max || runtime->dynamic != dynamic)
        nm_plans_change();
    runtime->threads_max = max;
    runtime->dynamic = dynamic;
}

/* The team that the calling thread would open without us. Each thread has its own number, and a
 * library may set it without our notice. */
static uint32_t own_team(struct nm_runtime *runtime, uint32_t asked, bool primary)
{
    if (asked && runtime->threads_max)
        return asked;
    uint32_t max = (uint32_t)runtime->get_max_threads();
    if (primary || !runtime->threads_max)
        remember_own(runtime, max);
    return asked ? asked : max;
}

/* A program of one thread has nothing to fold, and a second thread would show: Python warns at a
 * fork, the kernel makes no user namespace, and malloc begins to lock. */
static bool may_attach(uint32_t team)
{
    return NM_UNLIKELY(!nm_client.attached && !nm_client.tried) && team > 1;
}

/* Handles the first region of the process that has a team, or a new decision. */
static __attribute__((noinline)) void catch_up(uint32_t team)
{
    if (may_attach(team) && !nm_helper_attach())
        nm_attach(false);
    nm_adopt(true);
}

static __attribute__((noinline)) void pool_grows(struct nm_runtime *runtime, uint32_t team)
{
    runtime->pool = team;
    if (team <= runtime->pool_ever)
        return;
    runtime->pool_ever = team;
    nm_plans_change(); /* NM_SETTLED_LIMITED depends on it */
}

/* Whether regions of the calling thread may have another size than the program gives them. Only the
 * program and its user can know. `*why` is the reason against it, if one of them allows it. */
static bool may_follow(struct nm_runtime *runtime, uint32_t flags, enum nm_held_by *why)
{
    if (flags & NM_FLAG_RESIZE_NEVER) {
        *why = NM_HELD_USER;
        return false;
    }
    if (runtime->get_dynamic && runtime->get_dynamic())
        return true;
    if (!(flags & NM_FLAG_RESIZE_ALWAYS))
        return false;
    if (runtime->fixed)
        *why = NM_HELD_FIXED;
    return !runtime->fixed;
}

/* The helper measures the speedup of programs whose teams follow the allocation; it may have waited
 * for such a team. */
static void teams_follow(struct numaestro_page *page)
{
    atomic_store_explicit(&page->root.follows, 1, memory_order_relaxed);
    if (!atomic_exchange(&nm_teams_follow, true))
        nm_futex_wake(&page->manager.epoch);
}

/* If the user has changed the class: what the page says of teams is about the former one. */
static void forget_former_class(struct numaestro_page *page, uint32_t flags)
{
    static uint32_t before; /* the first root's */
    uint32_t class = flags & (NM_FLAG_RESIZE_ALWAYS | NM_FLAG_RESIZE_NEVER);
    if (class == before)
        return;
    before = class;
    atomic_store_explicit(&page->root.follows, 0, memory_order_relaxed);
    atomic_store_explicit(&page->root.held_by, NM_HELD_NOT, memory_order_relaxed);
}

/* The most threads that the owner of a region expects in one without a size. */
static uint32_t told_size(const struct nm_region *region)
{
    uint32_t answered = region->verb == NM_VERB_ANSWER ? nm_library_answered(region->library) : 0;
    return answered ? answered : UINT32_MAX;
}

/* Says how the library that owns a region is steered. */
static void say_library(const struct nm_region *region, const struct nm_plan *plan, uint32_t count, bool follows)
{
    enum nm_library_how how = follows ? NM_LIBRARY_FOLLOWS : NM_LIBRARY_WHOLE;
    unsigned why = NM_BECAUSE_NOTHING;
    if (region->verb == NM_VERB_LEAVE) {
        how = NM_LIBRARY_LEFT;
        why = NM_BECAUSE_USER;
    } else if (region->verb == NM_VERB_ANSWER) {
        how = NM_LIBRARY_ANSWERED;
        why = NM_BECAUSE_USER;
    } else if (plan->members > count) {
        why = plan->fold ? nm_whole_by(region, plan->members) : NM_WHY_ROOTS;
        how = why == NM_WHY_NONE ? NM_LIBRARY_USER : NM_LIBRARY_KERNEL;
    }
    nm_library_say(region->library, how, why, plan->members);
}

/* Writes the part of the page that the quick way leaves alone. */
static void say(struct numaestro_page *page, uint32_t flags, uint32_t max, enum nm_held_by why)
{
    forget_former_class(page, flags);
    atomic_store_explicit(&page->root.team_max, max, memory_order_relaxed);
    if (why != NM_HELD_NOT)
        atomic_store_explicit(&page->root.held_by, why, memory_order_relaxed);
}

static void count_region(struct numaestro_page *page, const struct nm_plan *plan)
{
    uint64_t number = atomic_load_explicit(&page->root.regions, memory_order_relaxed) + 1;
    atomic_store_explicit(&page->root.regions, number, memory_order_relaxed);
    atomic_store_explicit(&page->root.in_region, 1, memory_order_relaxed);
    atomic_store_explicit(&page->root.team, plan->members, memory_order_relaxed);
    if (plan->fold)
        atomic_store_explicit(&page->root.held, page->root.held + 1, memory_order_relaxed);
}

/* Remembers the plan for nm_quick_enter. */
static void settle(struct nm_region *region, uint32_t generation, uint32_t pass_on, uint32_t bits)
{
    region->settled[generation % 2] = (uint64_t)generation << 32 | (uint64_t)pass_on << NM_SETTLED_TEAM | bits;
}

uint32_t nm_roots(void)
{
    return atomic_load_explicit(&roots, memory_order_relaxed);
}

uint32_t nm_share_of_root(uint32_t count)
{
    uint32_t sharers = atomic_load_explicit(&roots, memory_order_relaxed);
    if (NM_LIKELY(sharers <= 1) || count == UINT32_MAX)
        return count;
    return count > sharers ? count / sharers : 1;
}

uint32_t nm_count_for_root(void)
{
    return nm_share_of_root(atomic_load_explicit(&nm_client.count, memory_order_relaxed));
}

/* libomp's waiting threads yield by themselves in a team that is larger than its machine, and an
 * awakening would cost more. */
static bool yields(const struct nm_runtime *runtime, uint32_t team)
{
    return runtime->kmp && runtime->get_num_procs && team > (uint32_t)runtime->get_num_procs();
}

/* Plans a region of one thread: regions in it are nested, and its settings end with it. */
static struct nm_plan alone(struct nm_thread *self, struct nm_plan plan)
{
    self->depth = 1;
    plan.managed = true;
    return plan;
}

struct nm_plan nm_region_enter(struct nm_runtime *runtime, struct nm_region *region, uint32_t asked)
{
    struct nm_thread *self = &nm_self;
    struct nm_plan plan = {.team = asked, .members = asked, .region = region};
    if (NM_UNLIKELY(self->depth > 0)) {
        /* A nested region, opened by the same thread. If we had not made the outer team one thread,
         * the runtime would serialize this one. */
        if (asked == 0 && self->serialized)
            plan.team = plan.members = 1;
        return plan;
    }
    if (NM_UNLIKELY(asked == 1))
        return alone(self, plan);
    if (NM_UNLIKELY(!self->root) && !become_root(self, runtime))
        return plan;
    bool primary = self->root == NM_PRIMARY;
    uint32_t own = own_team(runtime, asked, primary);
    struct numaestro_page *page = atomic_load_explicit(&nm_client.page, memory_order_acquire);
    if (NM_UNLIKELY(may_attach(own) || atomic_load_explicit(&page->manager.epoch, memory_order_relaxed) !=
                                           atomic_load_explicit(&nm_client.epoch, memory_order_relaxed))) {
        catch_up(own);
        page = nm_client.page;
    }
    /* For a root that was in a long region when another thread carried the decision out, and for a
     * second root. */
    nm_memory_follow();
    uint32_t flags = atomic_load_explicit(&nm_client.flags, memory_order_relaxed);
    if (NM_UNLIKELY(flags & NM_FLAG_LENT))
        nm_back_from_sequential();
    uint32_t generation = nm_generation;
    uint32_t count = nm_count_for_root(), sharers = atomic_load_explicit(&roots, memory_order_relaxed);
    if (primary)
        nm_watch_allow(count, flags & NM_FLAG_SHARED);
    if (NM_UNLIKELY(own > told_threads) && nm_client.attached && primary)
        tell_team(own);
    enum nm_held_by why = NM_HELD_NOT;
    bool follows = may_follow(runtime, flags, &why);
    plan.observe = follows && !asked && region->sizing == NM_UNSEEN;
    if (follows && (asked || region->sizing == NM_KEEPS))
        why = NM_HELD_EXPLICIT;
    follows = follows && !asked && region->sizing == NM_FOLLOWS;
    uint32_t team = follows ? nm_least(count, own) : asked ? own : nm_least(own, told_size(region));
    bool timed = nm_window_is_open() && primary, held = !follows || sharers > 1;
    if (NM_UNLIKELY(timed))
        team = nm_window_size(team, held);

    uint32_t bits = asked ? NM_SETTLED_ASKED : 0;
    if (team > 1 && count != UINT32_MAX && nm_steers_waiting(runtime)) {
        bool hurts = (team > count && !yields(runtime, team)) || (flags & NM_FLAG_SHARED);
        nm_spin_for(runtime, hurts);
        bits |= hurts ? NM_SETTLED_YIELDS : NM_SETTLED_SPINS;
    }
    if (team > atomic_load_explicit(&runtime->pool, memory_order_relaxed))
        pool_grows(runtime, team);
    plan.team = asked ? asked : team == own ? 0 : team;
    plan.members = team;
    plan.fold = primary && team > count; /* without a limit the count is UINT32_MAX */
    plan.managed = true;
    self->depth = 1;
    self->serialized = team == 1 && own > 1;
    if (NM_UNLIKELY(plan.observe))
        self->sections = 0;
    say_library(region, &plan, count, follows);
    if (!primary)
        return plan;
    bits |= (self->serialized ? NM_SETTLED_SERIALIZED : 0) | (plan.fold ? NM_SETTLED_FOLDS : 0);
    /* A team that was larger may grow again. */
    if (!asked && (plan.fold || plan.team || team < runtime->pool_ever))
        bits |= NM_SETTLED_LIMITED;
    if (!timed && !plan.observe)
        settle(region, generation, plan.team, bits);
    say(page, flags, runtime->threads_max, why);
    count_region(page, &plan);
    if (follows)
        teams_follow(page);
    if (NM_UNLIKELY(timed)) {
        plan.timed = true;
        nm_window_begin(region->function, team, held);
    }
    return plan;
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
        plan.region->sizing = self->sections ? NM_KEEPS : NM_FOLLOWS;
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
    pthread_atfork(NULL, NULL, in_child);
}
