/* held.c - the team that is held open: when it is opened, what runs in it, and when it is given
 * back to its runtime.
 *
 * The state of the held team belongs to the primary root thread. State that other threads may read
 * is atomic.
 */
#include "../fold/kernel.h"
#include "whole.h"

#include <pthread.h>
#include <time.h>

static _Atomic bool settings_changed;

_Atomic bool nm_whole_open_now;
static struct held {
    bool inside; /* a region of the program is running in it */
    bool masks_differ; /* its root leaves signals to the others */
    struct nm_runtime *runtime;
    uint32_t members, flags;
    void (*enter)(bool); /* the runtime's state for inside or outside of a region */
    struct nm_settings settings; /* of sequential code, when its latest region began */
} held;
static uint32_t schedules; /* schedules that a held team was to take over */

void nm_whole_settings(void)
{
    settings_changed = true;
}

void nm_settings_read(const struct nm_runtime *runtime, struct nm_settings *settings)
{
    *settings = (struct nm_settings){.max_threads = runtime->get_max_threads()};
    if (runtime->get_dynamic)
        settings->dynamic = runtime->get_dynamic();
    if (runtime->get_max_active_levels)
        settings->levels = runtime->get_max_active_levels();
    if (runtime->get_schedule)
        runtime->get_schedule(&settings->kind, &settings->chunk);
}

bool nm_settings_differ(const struct nm_settings *a, const struct nm_settings *b)
{
    return a->max_threads != b->max_threads || a->dynamic != b->dynamic || a->levels != b->levels || a->kind != b->kind ||
           a->chunk != b->chunk;
}

/* A schedule is the one setting that programs change between small regions, and in libgomp one that
 * each member has for itself; libomp's is its team's. False: other settings differ, too, or the
 * runtime does not answer with the schedule that it was given. */
static bool takes_schedule(const struct nm_settings *now)
{
    struct nm_settings wanted = held.settings, inside;
    wanted.kind = now->kind;
    wanted.chunk = now->chunk;
    if (nm_settings_differ(&wanted, now) || held.runtime->kmp || !held.runtime->set_schedule)
        return false;
    held.enter(true);
    held.runtime->set_schedule(wanted.kind, wanted.chunk);
    nm_settings_read(held.runtime, &inside);
    held.enter(false);
    if (inside.kind != wanted.kind || inside.chunk != wanted.chunk)
        return false;
    held.settings = wanted;
    schedules++;
    return true;
}

/* Whether the members have the settings of sequential code, or can take them over. A program that
 * got their functions from the runtime itself sets them without our notice. */
static bool settings_agree(void)
{
    struct nm_settings now;
    nm_settings_read(held.runtime, &now);
    return NM_LIKELY(!nm_settings_differ(&now, &held.settings)) || takes_schedule(&now);
}

bool nm_whole_compares(const struct nm_runtime *runtime)
{
    return nm_whole_is_held() && held.runtime == runtime && !runtime->kmp && !held.inside && nm_self.root == NM_PRIMARY;
}

bool nm_whole_holds(struct nm_runtime *runtime, uint32_t members, uint32_t flags)
{
    if (!nm_whole_is_held())
        return false;
    if (held.runtime == runtime && held.members == members && held.flags == flags && !settings_changed && !nm_whole_is_refused() &&
        NM_LIKELY(settings_agree()))
        return true;
    nm_whole_dissolve();
    return false;
}

void nm_whole_masks(void)
{
    if (nm_self.root != NM_PRIMARY || !nm_fold_is_open() || !nm_signals_differ())
        return;
    held.masks_differ = true;
    nm_whole_dissolve();
    /* Inside of a region: there they take their signals. */
    for (uint32_t i = 1; nm_fold_is_open() && i < nm_fold_members(); i++)
        nm_fold_send_home(i);
}

static void thread_ends(void *unused)
{
    (void)unused;
    nm_whole_dissolve();
}

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* The runtime waits for its threads when the root thread ends, so they must be free by then.
 * Destructors of this kind run before those of keys, which the runtime uses. */
static void dissolve_at_thread_end(void)
{
    static __thread bool told __attribute__((tls_model("initial-exec")));
    if (told || !__cxa_thread_atexit_impl)
        return;
    told = true;
    __cxa_thread_atexit_impl(thread_ends, NULL, &__dso_handle);
}

/* A program whose regions want another team each time would open and dissolve one for each region.
 * A team that was dissolved after a few short regions cost more than it saved: the kernel folds the
 * next ones, for twice as many regions each time. */
#define FEW_REGIONS 8u
#define SOON_NS 5000000u
#define DOUBLINGS 11u
/* A rest is for small regions, and ends after this time where regions are larger. */
#define REST_NS 100000000u
#define LOOK_EVERY 64u

static struct {
    uint64_t opened_ns, rests_from_ns; /* by the root's processor time: others may use its processor */
    uint32_t regions; /* since it was opened */
    uint32_t doublings, rest;
} lives; /* of held teams; root */

static uint64_t used_ns(void)
{
    struct timespec t = {0, 0};
    nm_raw(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&t, 0, 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool nm_whole_may_open(struct nm_pass *pass)
{
    pass->rests = true;
    if (NM_UNLIKELY(lives.rest > 0)) {
        if (--lives.rest % LOOK_EVERY != 0 || used_ns() - lives.rests_from_ns < REST_NS)
            return false;
        lives.rest = 0;
    }
    uint64_t now = used_ns();
    if (lives.opened_ns != 0) {
        if (lives.regions < FEW_REGIONS && now - lives.opened_ns < SOON_NS) {
            lives.opened_ns = 0; /* the next try is judged by itself */
            lives.doublings += lives.doublings < DOUBLINGS;
            lives.rest = (1u << lives.doublings) - 1;
            lives.rests_from_ns = now;
            return false;
        }
        lives.doublings = 0;
    }
    lives.opened_ns = now;
    lives.regions = 0;
    pass->rests = false;
    return true;
}

bool nm_whole_open(struct nm_runtime *runtime, uint32_t members, uint32_t flags, void (*enter)(void *), void *argument,
                   void (*inside)(bool))
{
    uint32_t count = nm_count_for_root();
    /* Inside a region of one thread: that region would end while the team is still held. */
    if (runtime->get_level() != 0)
        return false;
    settings_changed = false;
    struct nm_settings settings;
    nm_settings_read(runtime, &settings);
    dissolve_at_thread_end();
    nm_signals_follow();
    if (!nm_fold_open(members, count, enter, argument))
        return false;
    held = (struct held){false, nm_signals_differ(), runtime, members, flags, inside, settings};
    nm_whole_open_now = true;
    nm_watch_allow(count, nm_client.flags & NM_FLAG_SHARED);
    nm_watch_say(NM_FOLD_USER, NM_WHY_NONE, members);
    nm_watch_count(true);
    return true;
}

static __thread uint32_t taken __attribute__((tls_model("initial-exec"))); /* of `schedules`, by this member */

static void run_tasks(void *argument)
{
    struct nm_pass *pass = argument;
    struct nm_member *member = &nm_member;
    member->pass = pass;
    member->real = true;
    nm_meet_others(member);
    member->pass = NULL;
}

/* A setting that a member makes ends with the region. */
static __attribute__((noinline)) void run_watched(struct nm_pass *pass, uint32_t number)
{
    struct nm_settings before, after;
    nm_settings_read(pass->runtime, &before);
    pass->body(pass, number);
    nm_settings_read(pass->runtime, &after);
    if (!nm_settings_differ(&before, &after))
        return;
    if (pass->runtime->kmp)
        nm_kmp_settings();
    else
        nm_whole_settings();
}

static __attribute__((noinline)) void take_schedule(void)
{
    taken = schedules;
    held.runtime->set_schedule(held.settings.kind, held.settings.chunk);
}

static bool held_member(void *argument, struct nm_context *me)
{
    struct nm_pass *pass = argument;
    if (NM_UNLIKELY(taken != schedules))
        take_schedule();
    struct nm_member *member = &nm_member;
    bool real = pass->begins_real;
    *member = (struct nm_member){.pass = pass, .real = real, .joined = true};
    if (NM_UNLIKELY(real))
        nm_fold_go_home(me);
    else if (NM_UNLIKELY(me->home))
        nm_fold_leave_home(me);
    if (NM_UNLIKELY(nm_past_sets))
        run_watched(pass, me->number);
    else
        pass->body(pass, me->number);
    nm_pass_comes_to_end(member, pass);
    bool folds = !member->real;
    if (NM_UNLIKELY(!folds))
        run_tasks(pass);
    member->pass = NULL;
    return folds;
}

void nm_whole_run(struct nm_pass *pass)
{
    pass->held = true;
    lives.regions++;
    if (NM_UNLIKELY(held.masks_differ) && pass->region->fold.rest == 0) {
        pass->region->fold.rest = 1;
        pass->region->fold.because = NM_WHY_OTHER;
    }
    pass->begins_real = !nm_watch_begin(&pass->region->fold);
    if (NM_UNLIKELY(pass->begins_real != pass->region->by_kernel)) {
        enum nm_fold_why why = pass->begins_real ? pass->region->fold.because : NM_WHY_NONE;
        nm_watch_say(pass->begins_real ? NM_FOLD_KERNEL : NM_FOLD_USER, why, pass->members);
        nm_whole_say_library(pass, pass->begins_real, why);
    }
    held.inside = true;
    held.enter(true);
    nm_fold_run(held_member, run_tasks, pass);
    held.enter(false);
    held.inside = false;
    if (NM_UNLIKELY(nm_rseq_was_used()))
        nm_whole_refuse(NM_WHY_RSEQ);
    nm_watch_end();
    /* A member may have brought in somebody who calls the runtime past the shim. */
    if (NM_UNLIKELY(held.masks_differ || nm_whole_may_be_refused()))
        nm_whole_dissolve();
}

void nm_whole_dissolve(void)
{
    if (!nm_whole_is_held() || held.inside || nm_self.root != NM_PRIMARY)
        return;
    nm_whole_open_now = false;
    held.enter(true);
    nm_fold_dissolve();
    nm_watch_say(NM_FOLD_NONE, NM_WHY_NONE, 0);
    nm_watch_count(false);
}

/* libgomp keeps all state of such a region apart from the held team's; libomp does not. */
bool nm_whole_lets_pass(void)
{
    return held.runtime && !held.runtime->kmp;
}

static void before_fork(void)
{
    nm_whole_dissolve();
}

static void in_child(void)
{
    if (nm_whole_is_held() || nm_fold_is_open())
        nm_fold_forget();
    held = (struct held){.inside = false};
    nm_whole_open_now = false;
    nm_whole_forget_differing();
    nm_member = (struct nm_member){.pass = NULL};
    nm_watch_in_child();
}

__attribute__((constructor)) static void start(void)
{
    pthread_atfork(before_fork, NULL, in_child);
}
