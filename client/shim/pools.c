/* pools.c - makes the threads of the runtimes' pools sleep, spin, or move when the allocation
 * changes.
 *
 * src/adopt.c and src/helper.c call these hooks. region.c decides the size of a region.
 */
#include "whole.h"

/* Runs before threads are moved to fewer processors. */
static void before_vacate(uint32_t count, bool root)
{
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r)) {
        uint32_t team = r->pool;
        if (team <= count || nm_whole_is_held())
            continue;
        if (!nm_steers_waiting(r))
            continue;
        if (root && nm_self.root == NM_PRIMARY && nm_self.depth == 0 && nm_roots() == 1) {
            nm_spin_for(r, true);
            nm_sleep_pool(r, team);
            r->pool = 0;
        } else if (!r->kmp) {
            nm_spin_for(r, true);
        }
    }
}

/* Moves the threads of the pools that were seen, and those that are about to run a folded team; the
 * helper moves all others. */
static void move_pool(const struct nm_cpuset *set)
{
    for (uint32_t i = 1; nm_fold_is_open() && i < nm_least(nm_client.count, nm_fold_members()); i++)
        nm_move_thread(nm_fold_carrier(i)->tid, set);
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r))
        for (uint32_t i = 1; i < r->rolled && i < NM_ROLL; i++)
            if (r->roll[i])
                nm_move_thread(r->roll[i], set);
}

/* The place of new pages has changed, and each thread has to change its own policy. */
static void tell_pool(void)
{
    if (nm_self.root != NM_PRIMARY || nm_self.depth != 0 || nm_roots() != 1)
        return;
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r))
        if (r->pool > 1)
            nm_tell_pool(r, r->pool);
}

/* The team whose threads shall part because there are more processors now, 0 = none. A whole team
 * is never called up in part: libgomp would end the other threads, and lose their data. */
static uint32_t parts_now(const struct nm_runtime *runtime, uint32_t before, uint32_t count)
{
    uint32_t most = runtime->pool_ever;
    if (nm_teams_follow) {
        uint32_t team = nm_least(count, most);
        return team > runtime->pool ? team : 0;
    }
    return most <= count && most > before ? most : 0;
}

/* Runs when the decision is in force. */
static void after(uint32_t count, uint32_t flags, bool root)
{
    static uint32_t before = UINT32_MAX; /* under the adoption lock */
    nm_plans_change();
    bool between = root && nm_self.root == NM_PRIMARY && nm_self.depth == 0;
    bool alone = between && nm_roots() == 1 && !(flags & NM_FLAG_SHARED);
    nm_watch_allow(nm_count_for_root(), flags & NM_FLAG_SHARED);
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r)) {
        uint32_t team = parts_now(r, before, count);
        if (alone && team > 1)
            nm_spread_pool(r, team, &nm_client.cpuset);
        else if (!between && !r->kmp && r->pool > 1)
            /* The region is long: its threads come to no entry point at which they could begin to
             * spin again. */
            nm_spin_for(r, r->pool > count || (flags & NM_FLAG_SHARED));
    }
    before = count;
    nm_setters_follow(flags & NM_FLAG_RESIZE_NEVER ? UINT32_MAX : count);
    nm_libraries_publish();
}

static uint32_t runtimes_found(void)
{
    uint32_t bits = nm_setters_found();
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r))
        bits |= r->kmp ? NM_RUNTIME_KMP : NM_RUNTIME_GOMP;
    return bits;
}

/* For the hello only: the manager knows this from then on. */
static uint32_t threads_max(void)
{
    uint32_t max = nm_setters_max();
    for (struct nm_runtime *r = nm_runtime_next(NULL); r; r = nm_runtime_next(r))
        max = r->threads_max > max ? r->threads_max : max;
    nm_team_told(max);
    return max;
}

static void announce(uint32_t count)
{
    if (nm_watch_in_region())
        nm_watch_allow(nm_share_of_root(count), nm_client.flags & NM_FLAG_SHARED);
}

static uint64_t tick(void)
{
    uint64_t watch = nm_watch_tick(), analyzer = nm_analyzer_tick();
    return watch < analyzer ? watch : analyzer;
}

__attribute__((constructor)) static void start(void)
{
    nm_hooks = (struct nm_hooks){before_vacate, move_pool, tell_pool, after, runtimes_found, threads_max, tick, announce};
}
