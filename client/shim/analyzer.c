/* analyzer.c - the helper thread's side of the analyzer: decides when to measure, and computes and
 * reports the speedup.
 *
 * It compares a program at two team sizes. So it measures only programs whose teams follow the
 * allocation anyway. A whole team keeps its size, and the analyzer reports nothing of it.
 *
 * Speedup on n processors = time of the same regions, equally often, on b processors over that on
 * n; b is one wherever that does not take too long (the SelfAnalyzer of Martorell et al. 2000,
 * section 4.4, takes a few processors and assumes that they are used well). Time between regions
 * counts as sequential. Where the regions repeat, the wall time of an iteration must say the same,
 * and the analyzer takes the smaller of the two speedups; where a region's work varies in the
 * course of an iteration, only the iteration's time can be used. Once times on b are known, another
 * allocation needs new times of its own only.
 */
#include "analyzer.h"
#include "../src/message.h"
#include "shim.h"

#include <string.h>

#define SETTLE_NS 5000000ull        /* after a change of the allocation */
#define POLL_NS 20000000ull         /* while a window is open; the root thread says when it is full */
#define POLL_MAX_NS 1000000000ull
#define REFRESH_NS 1000000000ull    /* a value is reported again, and measured again on the allocation, so often */
#define AGAIN_NS 40000000ull        /* the same while there is no value; less at first */
#define COST_DIVISOR 200ull         /* 0.5 %: at most this part of the time goes into measuring the base again */
#define RECORD_COST_NS 200u         /* one record, measured on the machines at hand and rounded up */
#define PAIRS_FREE 2u               /* so many on the base whatever they cost: else short programs are never measured */
#define BASE_LONGEST_NS 200000000ull
#define WINDOW_MORE 48u             /* records, if those of the usual window show no period; doubled until they show one */
#define WINDOW_MOST 192u
#define WINDOW_LONGEST_NS 100000000ull
#define BASE_SOME 4u                /* base if one processor would take longer */
#define WAITED_DIVISOR 20u          /* 5 %: a window in which threads waited longer for their processors is not used */
#define EARLY_NS 300000000ull       /* the first values after a change may be too low: so long only clear ones count */
#define NEWS_PERCENT 10u
#define RETRY_MAX_NS 250000000ull   /* after windows that were disturbed */
#define MOST_PERCENT 125u           /* a speedup above so much of the number of processors is an error */
#define SLOW_MILLI 1250u
#define ONE_MILLI 1000u
#define SIZES 4u

/* Only the helper thread uses these. */
static struct {
    uint32_t epoch, size;           /* the allocation that `now` belongs to */
    uint32_t base;                  /* the team that `base` belongs to */
    uint64_t began, next, base_at, said_at, cost, poll;
    uint64_t resized;               /* ns: time when it was seen to have this size */
    uint32_t said;                  /* reported last, thousandths */
    struct nm_values values;        /* found since the allocation changed */
    uint64_t opened, waited;        /* ns: time of opening; time threads had waited until then */
    uint64_t pause, retry;          /* ns: until the next window, while there is no value; after a disturbed one */
    uint32_t pairs;                 /* windows on the base so far */
    uint32_t samples;
    bool wants_base;
    /* Of the latest windows: */
    uint64_t elapsed, in_regions, in_held, iteration, base_iteration;
    uint32_t enough;                /* records of a window, 0 = the usual */
    uint32_t team, period, base_period, best_period[SIZES];
    uint64_t best_iteration[SIZES];
} state;

static bool is_wanted(uint32_t flags, uint32_t count)
{
    return nm_client.attached && nm_teams_follow && (flags & NM_FLAG_MEASURE) && !(flags & (NM_FLAG_SHARED | NM_FLAG_RELEASED | NM_FLAG_LENT)) &&
           count != UINT32_MAX;
}

static void forget_now(void)
{
    nm_regions_forget_now();
    state.iteration = 0;
}

static void forget_base(void)
{
    nm_regions_forget_base();
    state.base_iteration = 0;
    state.pairs = 0;
}

/* -- Results ----------------------------------------------------------------------------------- */

static void say(uint32_t processors, uint32_t milli, uint64_t now)
{
    struct nm_analyzer_line *line = &nm_client.page->analyzer;
    line->processors = processors;
    line->speedup_milli = milli;
    line->results++;
    state.said = milli;
    state.said_at = now;
    nm_notice(NM_SPEEDUP, processors, milli);
}

/* The speedup in thousandths; 0 = not known. `*disperse` if it should not be believed at once. */
static uint32_t speedup(bool *disperse)
{
    uint64_t sequential = state.elapsed - state.in_regions;
    struct nm_totals totals = nm_regions_totals(disperse);
    if (totals.on_now == 0)
        return 0;
    uint64_t result = (sequential + totals.on_base * state.base) * 1000 / (sequential + totals.on_now);
    if (state.iteration && state.base_iteration && state.period == state.base_period) {
        uint64_t between = state.iteration * sequential / (state.elapsed ? state.elapsed : 1);
        uint64_t on_one = state.base_iteration > between ? between + (state.base_iteration - between) * state.base : between;
        uint64_t wall = on_one * 1000 / state.iteration;
        result = *disperse || wall < result ? wall : result;
        *disperse = false;
    }
    bool possible = result * 100 <= (uint64_t)state.size * 1000 * MOST_PERCENT;
    return possible ? (uint32_t)(result ? result : 1) : 0;
}

/* Takes a value in, and reports it once enough of them are alike. True if it is settled. */
static bool take(uint32_t milli, bool doubtful, uint64_t now, uint32_t processors)
{
    bool early = now - state.resized < EARLY_NS && !nm_is_clear(milli, state.size);
    bool settled = (nm_values_settle(&state.values, milli, doubtful) && !early) || state.size == 1;
    if (settled && (!state.said || nm_differs(state.said, milli, NEWS_PERCENT) || now - state.said_at >= REFRESH_NS))
        say(processors, milli, now);
    return settled;
}

static void conclude(uint64_t now, uint32_t processors)
{
    bool disperse = false;
    if (state.in_regions == 0 || state.in_held * 4 > state.in_regions)
        return;
    uint32_t milli = state.size == 1 || state.team == 1 ? ONE_MILLI : speedup(&disperse);
    if (!milli)
        return;
    /* The program is slower than it could be: something hinders it that the counters do not show.
     * That may pass, or hold for the base, too. */
    bool hindered = nm_client.page->analyzer.stretch_milli > SLOW_MILLI;
    state.wants_base |= !take(milli, hindered || (disperse && milli > ONE_MILLI), now, processors);
    disperse |= hindered;
    /* Work that varies, in iterations that are longer than the window? */
    if (disperse && !state.period && state.elapsed < WINDOW_LONGEST_NS && state.enough < WINDOW_MOST)
        state.enough = state.enough ? state.enough * 2 : WINDOW_MORE;
}

/* Uses a window in which threads waited long for their processors; true if it was of use. On one
 * processor every region that nobody interrupted is as good as any, and the speedup is 1 by
 * definition. On several the window gives the greatest speedup that is possible; that is enough if
 * it is no more than 1. And it gives the least: without the waits it would have been shorter. That
 * is enough if it is clear. */
static bool conclude_disturbed(uint64_t waited, uint64_t now, uint32_t processors)
{
    const struct nm_record *records = nm_window.records;
    uint32_t count = nm_window.count;
    bool on_base = nm_window.size != 0, on_one = nm_window.team <= 1;
    uint64_t followed = 0, held = 0, work = 0, least_work = 0;
    if (count <= NM_LEAST)
        return false;
    for (uint32_t i = 1; i < count; i++) {
        uint64_t took = records[i].leave - records[i].enter;
        uint64_t base = records[i].held ? 0 : nm_regions_base(records[i].function);
        *(records[i].held ? &held : &followed) += took;
        uint64_t gap = records[i].enter - records[i - 1].leave;
        work += gap + (base ? base * state.base : took * state.size);
        least_work += gap + (base ? base * state.base : took);
        if (on_one && state.base == 1 && !records[i].held && !records[i].interrupted)
            nm_regions_add(records[i].function, took, true, false);
    }
    state.cost += (uint64_t)count * RECORD_COST_NS;
    if (on_base && on_one && nm_regions_have_base()) {
        state.pairs++;
        state.base_at = now;
        return true;
    }
    if (on_base || held * 3 > followed)
        return false;
    if (state.size == 1) {
        take(ONE_MILLI, false, now, processors);
        return true;
    }
    uint64_t took = records[count - 1].leave - records[0].leave;
    uint32_t most = nm_most_speedup(work, took, waited), least = nm_most_speedup(least_work, took, 0);
    if (on_one)
        return false;
    bool bad = most <= ONE_MILLI, good = least > ONE_MILLI && nm_is_clear(least, state.size);
    bool possible = (uint64_t)least * 100 <= (uint64_t)state.size * ONE_MILLI * MOST_PERCENT;
    if (!bad && !(good && possible))
        return false;
    take(bad ? (most ? most : 1) : least, false, now, processors);
    return true;
}

/* -- Windows ----------------------------------------------------------------------------------- */

/* The time of an iteration divided by the shortest ever, in thousandths, for programs whose regions
 * say nothing because their work varies. */
static uint32_t stretch_of_iteration(uint32_t size)
{
    uint64_t *best = &state.best_iteration[size % SIZES];
    uint32_t *period = &state.best_period[size % SIZES], now = state.period << 16 | size;
    if (!state.iteration)
        return 0;
    if (*period != now || state.iteration < *best)
        *best = state.iteration;
    *period = now;
    return (uint32_t)(state.iteration * 1000 / *best);
}

/* The first record of a window is warm-up: it may have woken the team, or sent it to sleep. */
static void digest(uint64_t now)
{
    const struct nm_record *records = nm_window.records;
    uint32_t count = nm_window.count;
    bool on_base = nm_window.size != 0;
    if (nm_window.good < NM_LEAST)
        return;
    uint64_t in_regions = 0, in_held = 0, sequential = 0;
    if (!on_base)
        nm_regions_forget_calls();
    for (uint32_t i = 1; i < count; i++) {
        uint64_t took = records[i].leave - records[i].enter;
        sequential += records[i].gap_disturbed ? 0 : records[i].enter - records[i - 1].leave;
        if (records[i].disturbed)
            continue;
        bool to_base = on_base || state.size == state.base;
        bool followed = !records[i].held && nm_regions_add(records[i].function, took, to_base, !on_base);
        in_regions += took;
        in_held += followed ? 0 : took;
        state.samples += followed;
    }
    uint32_t period = nm_period(records, count);
    uint64_t iteration = nm_iteration(records, count, period);
    uint64_t elapsed = sequential + in_regions;
    struct nm_analyzer_line *line = &nm_client.page->analyzer;
    state.cost += (uint64_t)count * RECORD_COST_NS;
    if (on_base) {
        state.pairs++;
        state.base_at = now;
        state.base_iteration = iteration;
        state.base_period = period;
        state.cost += in_regions > state.in_regions ? in_regions - state.in_regions : 0;
    } else {
        state.period = period;
        state.team = nm_window.team;
        state.elapsed = elapsed;
        state.in_regions = in_regions;
        state.in_held = in_held;
        state.iteration = iteration;
        if (state.size == state.base) {
            state.base_iteration = iteration;
            state.base_period = period;
            state.base_at = now;
        }
        line->iteration_ns = iteration;
        line->share_milli = elapsed ? (uint32_t)(in_regions * 1000 / elapsed) : 0;
        line->stretch_milli = nm_regions_stretch(state.size, stretch_of_iteration(state.size));
    }
    line->samples = state.samples;
    line->cost_ns = state.cost;
}

/* The base is one processor, unless that would take too long. */
static uint32_t choose_base(void)
{
    bool quick = state.size <= BASE_SOME || state.in_regions * state.size <= BASE_LONGEST_NS;
    return quick ? 1 : BASE_SOME;
}

static void open_window(uint32_t size, uint32_t target)
{
    nm_window.epoch = nm_client.epoch;
    nm_window.size = size;
    nm_window.target = target;
    nm_window.team = nm_window.count = nm_window.good = 0;
    nm_window.good_ns = 0;
    nm_window.switches = nm_window_switches();
    state.waited = nm_waited_ns();
    state.opened = nm_now_ns();
    nm_window.spoiled = false;
    nm_window.number++;
    atomic_store_explicit(&nm_window.state, NM_WINDOW_OPEN, memory_order_release);
    nm_plans_change();
}

/* Decides whether a window on the base follows a window on the allocation. */
static bool base_is_due(uint64_t now)
{
    if (state.size <= 1 || nm_window.team <= 1 || state.in_held * 4 > state.in_regions)
        return false;
    uint32_t base = choose_base();
    if (base != state.base) {
        state.base = base;
        forget_base();
    }
    bool affordable = state.pairs < PAIRS_FREE || state.cost * COST_DIVISOR <= now - state.began;
    return !nm_regions_have_base() || ((state.wants_base || now - state.base_at >= REFRESH_NS) && affordable);
}

/* The pause after this one, while nothing comes out. */
static uint64_t later(uint64_t pause, uint64_t longest)
{
    return pause < longest / 2 ? pause * 2 + SETTLE_NS : longest;
}

/* Uses a full window, and decides what comes next; returns the nanoseconds until the next tick. */
static uint64_t go_on(uint64_t now, uint32_t processors)
{
    bool was_base = nm_window.size != 0;
    uint64_t waited = nm_waited_ns() - state.waited;
    bool alone = (int64_t)waited < 0 || waited * WAITED_DIVISOR <= (now - state.opened) * nm_window.team;
    bool spoiled = nm_window.spoiled || nm_window.epoch != state.epoch, used = !spoiled && alone;
    state.poll = POLL_NS;
    nm_window.state = NM_WINDOW_CLOSED;
    if (used)
        digest(now);
    else if (!spoiled)
        used = conclude_disturbed(waited, now, processors);
    if (!spoiled && alone && !was_base && base_is_due(now)) {
        state.wants_base = false;
        open_window(state.base, nm_window.good);
        return POLL_NS;
    }
    if (!spoiled && (alone || (was_base && used)))
        conclude(now, processors);
    state.retry = used ? 0 : later(state.retry, RETRY_MAX_NS);
    state.pause = later(state.pause, AGAIN_NS);
    state.next = now + (!used ? state.retry : state.said && !state.wants_base ? REFRESH_NS : state.pause);
    return state.next - now;
}

uint64_t nm_analyzer_tick(void)
{
    uint32_t flags = nm_client.flags, count = nm_client.count, window = nm_window.state;
    uint64_t now = nm_now_ns();
    if (!is_wanted(flags, count)) {
        if (window == NM_WINDOW_OPEN) {
            nm_window.state = NM_WINDOW_CLOSED;
            nm_plans_change();
        }
        state.epoch = NM_UNATTACHED;
        return UINT64_MAX;
    }
    if (!state.began)
        state.began = now;
    if (state.epoch != nm_client.epoch) {
        state.epoch = nm_client.epoch;
        if (state.size != count) {
            forget_now();
            state.size = count;
            state.resized = now;
            state.said = 0;
            state.values = (struct nm_values){0};
            state.pause = 0;
        }
        /* What one processor takes is known for later. */
        if (count == 1 && state.base != 1) {
            forget_base();
            state.base = 1;
        }
        state.next = now + SETTLE_NS;
    }
    if (window == NM_WINDOW_FULL)
        return go_on(now, count);
    if (window == NM_WINDOW_OPEN) {
        /* No thread runs regions: look less and less often. */
        state.poll = state.poll < POLL_MAX_NS ? state.poll * 2 : POLL_MAX_NS;
        return state.poll;
    }
    if (now < state.next)
        return state.next - now;
    state.poll = POLL_NS;
    open_window(0, state.enough);
    return POLL_NS;
}

void nm_analyzer_in_child(void)
{
    memset(&state, 0, sizeof state);
    nm_regions_forget();
    nm_window.state = NM_WINDOW_CLOSED;
}
