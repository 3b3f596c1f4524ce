/* whole.c - what keeps whole teams from being folded in user space.
 */
#include "whole.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint32_t refused; /* enum nm_fold_why; holds for the rest of the process */
static _Atomic bool looked; /* everything that is loaded has been looked at */

void nm_whole_refuse(enum nm_fold_why why)
{
    uint32_t none = NM_WHY_NONE;
    if (atomic_compare_exchange_strong(&refused, &none, why))
        nm_plans_change();
}

void nm_whole_more_loaded(void)
{
    looked = false;
}

bool nm_whole_is_refused(void)
{
    return refused != NM_WHY_NONE;
}

/* Threads that differ from those that were started before or with them. Few programs have any.
 * Which of them are threads of a team is seen when the team is opened. One whose memory another
 * thread has now counts, too. */
#define DIFFERING 64u
static _Atomic uintptr_t differing[DIFFERING];
static _Atomic uint32_t differing_count;

void nm_whole_differs(uintptr_t thread)
{
    uint32_t number;
    if (nm_roots() == 0)
        return; /* threads that are started later will be like it */
    if (nm_fold_number_of(thread, &number)) {
        nm_whole_refuse(NM_WHY_OTHER);
        return;
    }
    uint32_t count = differing_count;
    for (uint32_t i = 0; i < count && i < DIFFERING; i++)
        if (differing[i] == thread)
            return;
    uint32_t at = atomic_fetch_add(&differing_count, 1);
    if (at < DIFFERING)
        differing[at] = thread;
    else
        nm_whole_refuse(NM_WHY_OTHER);
}

bool nm_whole_has_differing(void)
{
    return NM_UNLIKELY(differing_count > 0);
}

static void look_at_self(void)
{
    if (NM_LIKELY(!nm_whole_has_differing()))
        return;
    uintptr_t self = (uintptr_t)pthread_self();
    for (uint32_t i = 0; i < differing_count && i < DIFFERING; i++)
        if (differing[i] == self)
            nm_whole_refuse(NM_WHY_OTHER);
}

void nm_whole_member(uint32_t number)
{
    look_at_self();
    nm_fold_member(number);
}

void nm_whole_forget_differing(void)
{
    differing_count = 0;
}

bool nm_whole_may_be_refused(void)
{
    return !looked || refused;
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
    const char *wish = secure_getenv("NUMAESTRO_FOLD");
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
    look_at_self();
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

void nm_whole_say_library(struct nm_pass *pass, bool by_kernel, enum nm_fold_why why)
{
    pass->region->by_kernel = by_kernel;
    if (pass->region->verb == NM_VERB_NONE)
        nm_library_say(pass->region->library, by_kernel ? NM_LIBRARY_KERNEL : NM_LIBRARY_USER, why, pass->members);
}

void nm_whole_by_kernel(struct nm_pass *pass, enum nm_fold_why why)
{
    nm_watch_say(NM_FOLD_KERNEL, why, pass->members);
    nm_whole_say_library(pass, true, why);
}
