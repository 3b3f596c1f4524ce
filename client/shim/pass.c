/* pass.c - members of a pass: at which barriers they change between the runtime's constructs and
 * the shim's, and when they go to their own kernel threads.
 */
#include "whole.h"

__thread struct nm_member nm_member;

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

/* To fold a team in the middle of a region costs as much as to open one that is held. */
#define MANY_BARRIERS 64u

/* The root has come to a barrier: decides whether the next one is folded. */
void nm_pass_look(struct nm_member *member, struct nm_pass *pass)
{
    uint32_t number = member->barriers, count = count_from_here(member, pass);
    bool fold = pass->members > count;
    if (NM_LIKELY(fold != member->real) || number <= pass->change_at || pass->recalled_at)
        return;
    if (fold) {
        if (pass->rests && number < MANY_BARRIERS)
            return;
        /* Which thread differs is not known before a team is opened. */
        if (nm_whole_refused(pass->region, pass->members) || pass->region->fold.rest > 0 ||
            (!member->joined && nm_whole_has_differing()))
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
        nm_whole_say_library(pass, false, NM_WHY_NONE);
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

void nm_pass_comes_to_end(struct nm_member *member, const struct nm_pass *pass)
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
        nm_pass_comes_to_end(member, pass);
        nm_meet_others(member);
    } else if (NM_UNLIKELY(has_tasks(member, pass))) {
        nm_meet_others(member);
    }
    /* The root watches also where it has not joined, because the meeting was recalled. */
    if (NM_UNLIKELY(member->joined || pass->recalled_at) && nm_self.root == NM_PRIMARY)
        nm_watch_end();
    if (NM_UNLIKELY(member->joined)) {
        /* The runtime ends its region on each member's own kernel thread. Before that all members
         * must have left the team's carriers. */
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
    /* Only now: another member could get stuck on this one's kernel thread. */
    nm_watch_give_back(NM_WHY_OTHER);
    nm_watch_remember();
}
