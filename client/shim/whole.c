/* whole.c - decides when a whole team is folded, held open, and given back to its runtime.
 *
 * The state of the held team belongs to the primary root thread. State that other threads may read
 * is atomic.
 */
#include "whole.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

__thread struct nm_member nm_member;

static _Atomic uint32_t refused; /* enum nm_fold_why; holds for the rest of the process */
static _Atomic bool settings_changed;
static _Atomic bool looked; /* everything that is loaded has been looked at */

_Atomic bool nm_whole_open_now;
static struct held {
    bool inside; /* a region of the program is running in it */
    bool masks_differ; /* its root leaves signals to the others */
    struct nm_runtime *runtime;
    uint32_t members, flags;
    void (*enter)(bool); /* the runtime's state for inside or outside of a region */
    struct nm_settings settings; /* with which it was opened */
} held;

void nm_whole_refuse(enum nm_fold_why why)
{
    uint32_t none = NM_WHY_NONE;
    if (atomic_compare_exchange_strong(&refused, &none, why))
        nm_generation++;
}

void nm_whole_more_loaded(void)
{
    looked = false;
}

bool nm_whole_is_refused(void)
{
    return refused != NM_WHY_NONE;
}

/* libgomp's entries that replace the thread's state by one of their own, and the entries of gcc
 * before 4.9. */
static bool is_unknown(const char *name, uintptr_t address, void *data)
{
    (void)address;
    (void)data;
    size_t length = strlen(name);
    if (strncmp(name, "GOMP_", 5) != 0)
        return false;
    bool old = strncmp(name, "GOMP_parallel_", 14) == 0 && length > 6 && strcmp(name + length - 6, "_start") == 0;
    return old || strcmp(name, "GOMP_target") == 0 || strcmp(name, "GOMP_target_41") == 0 ||
           strcmp(name, "GOMP_target_ext") == 0 || strncmp(name, "GOMP_teams", 10) == 0;
}

static enum nm_fold_why look_around(void)
{
    const char *wish = getenv("NUMAESTRO_FOLD");
    if (wish && strcmp(wish, "kernel") == 0)
        return NM_WHY_USER;
    const char *cancel = getenv("OMP_CANCELLATION");
    if (cancel && (*cancel == 't' || *cancel == 'T' || *cancel == '1' || *cancel == 'y' || *cancel == 'Y'))
        return NM_WHY_CANCEL;
    if (nm_past_is_deep() || nm_imports_any(is_unknown, NULL))
        return NM_WHY_RUNTIME;
    return nm_rseq_may_be_used() ? NM_WHY_RSEQ : nm_switch_refused();
}

enum nm_fold_why nm_whole_refused(const struct nm_region *region, uint32_t members)
{
    if (region->verb == NM_VERB_LEAVE)
        return NM_WHY_USER;
    if (NM_UNLIKELY(!looked)) {
        looked = true;
        enum nm_fold_why why = look_around();
        if (why != NM_WHY_NONE)
            nm_whole_refuse(why);
    }
    if (refused)
        return refused;
    if (!region->runtime->whole)
        return NM_WHY_RUNTIME;
    if (members > NM_FOLD_MEMBERS)
        return NM_WHY_SIZE;
    if (!nm_whole_is_held() && nm_signals_left_to_others())
        return NM_WHY_OTHER;
    return nm_helper_runs() ? NM_WHY_NONE : NM_WHY_HELPER;
}

enum nm_fold_why nm_whole_by(const struct nm_region *region, uint32_t members)
{
    enum nm_fold_why why = nm_whole_refused(region, members);
    if (why != NM_WHY_NONE || !region->by_kernel)
        return why;
    return region->fold.because ? region->fold.because : NM_WHY_OTHER;
}

static void say_library(struct nm_pass *pass, bool by_kernel, enum nm_fold_why why)
{
    pass->region->by_kernel = by_kernel;
    if (pass->region->verb == NM_VERB_NONE)
        nm_library_say(pass->region->library, by_kernel ? NM_LIBRARY_KERNEL : NM_LIBRARY_USER, why, pass->members);
}

void nm_whole_by_kernel(struct nm_pass *pass, enum nm_fold_why why)
{
    nm_watch_say(NM_FOLD_KERNEL, why, pass->members);
    say_library(pass, true, why);
}

/* Members */

void nm_pass_change(struct nm_member *member, struct nm_pass *pass)
{
    bool real = pass->to_real;
    if (real == member->real)
        return;
    if (real) {
        nm_fold_go_home(nm_context_self);
    } else if (member->joined) {
        nm_fold_leave_home(nm_context_self);
    } else {
        nm_fold_join((uint32_t)pass->runtime->get_thread_num());
        member->joined = true;
    }
    member->real = real;
    if (!real && nm_signals_are_left_to(nm_context_self->number))
        nm_whole_own_thread();
}

/* The number of processors for the team from here on. A decision for fewer is adopted one barrier
 * after it is seen: by then the team has left the other processors by itself, and no thread waits
 * on a processor for one that was moved there and cannot run. */
static uint32_t count_from_here(struct nm_member *member, const struct nm_pass *pass)
{
    const struct numaestro_page *page = nm_client.page;
    uint32_t epoch = page->manager.epoch, count = page->manager.count;
    if (NM_LIKELY(epoch == nm_client.epoch) || !nm_client.attached)
        return nm_count_for_root();
    if (count > 0 && count < nm_client.count && count < pass->members && member->announced != epoch) {
        member->announced = epoch;
        count = nm_share_of_root(count);
        if (!member->real)
            nm_watch_allow(count, nm_client.flags & NM_FLAG_SHARED);
        return count;
    }
    nm_adopt(true);
    return nm_count_for_root();
}

/* The root has come to a barrier: decides whether the next one is folded. */
void nm_pass_look(struct nm_member *member, struct nm_pass *pass)
{
    uint32_t number = member->barriers, count = count_from_here(member, pass);
    bool fold = pass->members > count;
    if (NM_LIKELY(fold != member->real) || number <= pass->change_at || pass->recalled_at)
        return;
    if (fold) {
        if (nm_whole_refused(pass->region, pass->members) || pass->region->fold.rest > 0)
            return;
        if (!member->joined && ((uint32_t)pass->runtime->get_num_threads() != pass->members ||
                                nm_whole_is_held() || !nm_fold_prepare(pass->members, count)))
            return;
        nm_signals_follow();
        nm_watch_allow(count, nm_client.flags & NM_FLAG_SHARED);
        if (!nm_watch_begin(&pass->region->fold))
            return;
        nm_watch_say(NM_FOLD_USER, NM_WHY_NONE, pass->members);
        nm_watch_count(true);
        say_library(pass, false, NM_WHY_NONE);
    } else {
        nm_watch_all(true);
        nm_watch_say(NM_FOLD_NONE, NM_WHY_NONE, 0);
        nm_watch_count(false);
        if (pass->region->verb == NM_VERB_NONE)
            nm_library_say(pass->region->library, NM_LIBRARY_WHOLE, NM_BECAUSE_NOTHING, pass->members);
    }
    pass->to_real = !fold;
    atomic_store_explicit(&pass->change_at, number + 1, memory_order_release);
}

void nm_pass_recall(const struct nm_member *member, struct nm_pass *pass)
{
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&pass->recalled_at, &none, member->barriers + 1))
        return;
    nm_watch_give_back(NM_WHY_TASKS);
    nm_fold_recall();
}

/* The body ends with a barrier, too: the member comes to one at which the pass is recalled, or
 * changes to the runtime's. A change to folding comes too late. */
static void come_to_end(struct nm_member *member, const struct nm_pass *pass)
{
    uint32_t number = member->barriers + 1;
    if (nm_is_recalled(pass, number) || (pass->change_at == number && pass->to_real))
        member->real = true;
}

/* Whether the runtime must have run all tasks before the members leave their carriers; all members
 * say the same. A recall at the end of the body counts only where the members would meet there by
 * themselves. */
static bool has_tasks(const struct nm_member *member, const struct nm_pass *pass)
{
    uint32_t recalled_at = pass->recalled_at;
    return recalled_at && recalled_at <= member->barriers;
}

void nm_pass_member(struct nm_pass *pass, uint32_t number)
{
    struct nm_member *member = &nm_member;
    *member = (struct nm_member){.pass = pass, .real = true};
    pass->body(pass, number);
    if (nm_self.root == NM_PRIMARY)
        atomic_store_explicit(&pass->region->bare, member->barriers == 0, memory_order_relaxed);
    if (NM_UNLIKELY(!member->real)) {
        come_to_end(member, pass);
        nm_meet_others(member);
    } else if (NM_UNLIKELY(has_tasks(member, pass))) {
        nm_meet_others(member);
    }
    if (NM_UNLIKELY(member->joined)) {
        /* The runtime ends its region on each member's own kernel thread. Before that all members
         * must have left the team's carriers. */
        if (nm_self.root == NM_PRIMARY)
            nm_watch_end();
        nm_fold_leave(nm_context_self);
    }
    member->pass = NULL;
}

struct nm_member nm_nested_begin(unsigned asked)
{
    struct nm_member outer = nm_member;
    struct nm_pass *pass = outer.pass;
    /* Threads of an inner team wait in the runtime for the thread that opened it, and keep that
     * one's carrier. */
    if (pass && !outer.real && asked != 1 && pass->runtime->get_max_active_levels && pass->runtime->get_max_active_levels() > 1)
        nm_watch_give_back(NM_WHY_NESTED);
    nm_member = (struct nm_member){.pass = NULL};
    return outer;
}

/* The team that is held open */

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

/* Whether the settings are others than those with which the held team was opened. A program that got
 * their functions from the runtime itself sets them without our notice. */
static bool settings_are_others(void)
{
    struct nm_settings now;
    nm_settings_read(held.runtime, &now);
    return nm_settings_differ(&now, &held.settings);
}

bool nm_whole_holds(struct nm_runtime *runtime, uint32_t members, uint32_t flags)
{
    if (!nm_whole_is_held())
        return false;
    if (held.runtime == runtime && held.members == members && held.flags == flags && !settings_changed && !refused &&
        NM_LIKELY(!settings_are_others()))
        return true;
    nm_whole_dissolve();
    return false;
}

void nm_whole_own_thread(void)
{
    struct nm_context *me = nm_context_self;
    struct nm_pass *pass = nm_member.pass;
    /* Outside of regions the root is there anyway. */
    if (!me || !nm_watch_in_region())
        return;
    bool first = !me->home && !(pass && nm_member.real);
    /* Also if the root has been sent home already: it may not be there yet. */
    nm_fold_try_home(me);
    if (!first)
        return;
    /* Only now, and each member to its own kernel thread: any other may get stuck there, waiting
     * for this one. */
    for (uint32_t i = 0; i < nm_fold_members(); i++)
        if (i != me->number)
            nm_fold_send_home(i);
    nm_watch_give_back(NM_WHY_OTHER);
    nm_watch_remember();
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
#define DOUBLINGS 8u

static struct {
    uint64_t opened_ns;
    uint32_t regions; /* since then */
    uint32_t doublings, rest;
} lives; /* of held teams; root */

bool nm_whole_may_open(void)
{
    if (NM_UNLIKELY(lives.rest > 0)) {
        lives.rest--;
        return false;
    }
    uint64_t now = nm_now_ns();
    if (lives.opened_ns != 0) {
        if (lives.regions < FEW_REGIONS && now - lives.opened_ns < SOON_NS) {
            lives.opened_ns = 0; /* the next try is judged by itself */
            lives.doublings += lives.doublings < DOUBLINGS;
            lives.rest = (1u << lives.doublings) - 1;
            return false;
        }
        lives.doublings = 0;
    }
    lives.opened_ns = now;
    lives.regions = 0;
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

static bool held_member(void *argument, struct nm_context *me)
{
    struct nm_pass *pass = argument;
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
    come_to_end(member, pass);
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
        say_library(pass, pass->begins_real, why);
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
    if (NM_UNLIKELY(held.masks_differ || !looked || refused))
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
    nm_member = (struct nm_member){.pass = NULL};
    nm_watch_in_child();
}

__attribute__((constructor)) static void start(void)
{
    pthread_atfork(before_fork, NULL, in_child);
}
