/* watch.c - gives a folded team back to the kernel when it is stuck, and folds it again. A context
 * that waits for another one by a flag, a mutex or a pipe keeps its carrier, and the other one may
 * be waiting for that carrier. So the helper thread looks every few milliseconds while a folded
 * region runs.
 *
 * Switches and meetings are progress. If there was none although a context could run, the helper
 * measures the processor time that the carriers have used since: a carrier that the kernel did not
 * let run has not been stuck. A carrier that sleeps in the kernel uses no time; it counts as stuck
 * when two looks find it asleep. When the team is stuck, every thread of the team becomes a
 * carrier, and the kernel divides the processors among them, as it would without us. This is safe
 * at any moment and costs only speed.
 *
 * The team is folded again at a later meeting; each time it is given back within a region doubles
 * the number of meetings until then. The watcher remembers the function of an execution that was
 * given back: it leaves the function to the kernel for 2, 4, 8 ... executions, then tries again.
 */
#include "watch.h"

#include "client.h"

#include <time.h>

#define TICK_NS 2000000ull
#define STUCK_NS 2000000ull       /* of a carrier's processor time */
#define RESTS_NS 50000000ull      /* time without a region, before the helper sleeps */
#define SETTLED_MEETINGS 4096u    /* in a row while folded: earlier times given back are forgotten */
#define LEVEL_MOST 10
#define PATIENCE_NS 1000000ull
#define SECOND_NS 1000000000ull
#define COMES_LOOKS 50u           /* a member does not wait longer for its own kernel thread */

static _Atomic uint32_t allowed = UINT32_MAX;
static _Atomic bool shared, all, given_back, running, asleep = true;
static _Atomic uint32_t meetings_to_refold, refolded_at;
static _Atomic uint8_t within; /* times that the team was given back in the present region */
static _Atomic uint8_t because;
static _Atomic bool for_good; /* the present region is never to be folded again */
static struct nm_fold_memory *memory; /* root thread */

static _Atomic uint32_t said_mode, said_why, said_threads, unfolds, opened, dissolved;

/* Sets the number of carriers for the present state. Several threads may come here at once: the
 * last one to write has looked again. */
static void apply(void)
{
    for (;;) {
        uint32_t members = nm_fold_members();
        uint32_t processors = atomic_load(&allowed);
        uint32_t limit = given_back || all || processors > members ? members : processors;
        bool alone = !shared && limit <= processors;
        atomic_store(&nm_fold_patience_ns, alone ? PATIENCE_NS : 0);
        nm_fold_roam(given_back || all);
        nm_fold_limit(limit);
        if (members == nm_fold_members() && processors == atomic_load(&allowed) &&
            limit == (given_back || all || processors > members ? members : processors))
            return;
    }
}

static void fold_again(void)
{
    if (given_back && atomic_fetch_sub(&meetings_to_refold, 1) <= 1) {
        refolded_at = nm_fold_generation();
        given_back = false;
        apply();
    }
}

/* The last context that comes to a meeting calls this. */
static void at_meeting(void)
{
    if (NM_UNLIKELY(atomic_load_explicit(&given_back, memory_order_relaxed)))
        fold_again();
}

void nm_watch_give_back(enum nm_fold_why why)
{
    if (given_back)
        return;
    if (nm_fold_generation() - refolded_at > SETTLED_MEETINGS)
        within = 0;
    uint8_t times = within < 12 ? ++within : within;
    /* A member that was taken off its carrier in between would leave the team folded for ever. */
    bool held = nm_fold_hold();
    because = (uint8_t)why;
    meetings_to_refold = 1u << times;
    given_back = true;
    unfolds++;
    apply();
    if (held)
        nm_fold_let_go();
}

void nm_watch_remember(void)
{
    for_good = true;
}

void nm_watch_allow(uint32_t processors, bool is_shared)
{
    allowed = processors ? processors : 1;
    shared = is_shared;
    if (nm_fold_is_open())
        apply();
}

void nm_watch_all(bool on)
{
    all = on;
    apply();
}

bool nm_watch_begin(struct nm_fold_memory *of)
{
    memory = of;
    nm_fold_at_meeting = at_meeting;
    atomic_store_explicit(&within, 0, memory_order_relaxed);
    atomic_store_explicit(&refolded_at, nm_fold_generation(), memory_order_relaxed);
    bool leave = of->rest > 0;
    if (leave && of->rest != UINT16_MAX)
        of->rest--;
    if (NM_UNLIKELY(given_back || all != leave)) {
        given_back = false;
        all = leave;
        apply();
    }
    /* Ordered with the load of `asleep`: either a helper that goes to sleep sees `running`, or this
     * thread sees `asleep`. */
    running = true;
    if (NM_UNLIKELY(atomic_load_explicit(&asleep, memory_order_relaxed))) {
        asleep = false;
        nm_futex_wake(&nm_client.page->manager.epoch);
    }
    return !leave;
}

void nm_watch_end(void)
{
    atomic_store_explicit(&running, false, memory_order_relaxed);
    if (NM_UNLIKELY(for_good)) {
        for_good = false;
        memory->because = because;
        memory->rest = UINT16_MAX;
    } else if (NM_UNLIKELY(within > 0)) {
        memory->because = because;
        memory->clean = 0;
        if (memory->level < LEVEL_MOST)
            memory->level++;
        /* Once can be chance: a long calculation looks the same as a stuck team. */
        memory->rest = memory->level > 1 ? (uint16_t)(1u << memory->level) : 0;
    } else if (NM_UNLIKELY(memory->level > 0) && !all && ++memory->clean >= 8) {
        memory->level--;
        memory->clean = 0;
    }
}

bool nm_watch_in_region(void)
{
    return running && nm_fold_is_open();
}

void nm_watch_say(enum nm_fold_mode mode, enum nm_fold_why why, uint32_t threads)
{
    atomic_store_explicit(&said_mode, mode, memory_order_relaxed);
    atomic_store_explicit(&said_why, why, memory_order_relaxed);
    atomic_store_explicit(&said_threads, threads, memory_order_relaxed);
}

void nm_watch_count(bool is_opened)
{
    if (is_opened)
        opened++;
    else
        dissolved++;
}

/* The helper thread runs the code from here on. */

static uint64_t used_ns(pid_t tid)
{
    /* The kernel's number for the processor clock of one thread. */
    clockid_t clock = (clockid_t)((~(unsigned)tid << 3) | 6u);
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec : 0;
}

static bool sleeps(pid_t tid)
{
    char state = nm_state_of(tid);
    return state == 'S' || state == 'D';
}

/* The results of a look; the times are those of the first look without progress. */
static struct look {
    uint64_t progress;
    bool stuck;
    uint32_t asleep; /* consecutive looks that found all carriers asleep */
    uint64_t used[NM_FOLD_MEMBERS];
} look;

static void look_at_carriers(void)
{
    uint64_t progress = nm_fold_switches() + nm_fold_generation();
    uint32_t limit = nm_fold_limited();
    if (progress != look.progress || given_back || all || limit >= nm_fold_members() || !nm_fold_someone_waits()) {
        look.progress = progress;
        look.stuck = false;
        return;
    }
    uint64_t most = 0;
    bool all_asleep = true;
    for (uint32_t i = 0; i < limit; i++) {
        pid_t tid = nm_fold_carrier(i)->tid;
        uint64_t used = used_ns(tid);
        if (!look.stuck)
            look.used[i] = used;
        most = used - look.used[i] > most ? used - look.used[i] : most;
        all_asleep = all_asleep && sleeps(tid);
    }
    look.asleep = look.stuck && all_asleep ? look.asleep + 1 : 0;
    look.stuck = true;
    if (most >= STUCK_NS || look.asleep >= 1) {
        look.stuck = false;
        nm_watch_give_back(NM_WHY_SYNC);
    }
}

/* A member wants to go to its own kernel thread, which is stuck with another one: perhaps that one
 * waits for a lock that the member holds. */
static void look_for_stranded(void)
{
    static uint8_t looks[NM_FOLD_MEMBERS];
    for (uint32_t i = 0; i < nm_fold_members(); i++) {
        looks[i] = nm_fold_comes_home(i) ? looks[i] + 1 : 0;
        if (looks[i] < COMES_LOOKS)
            continue;
        looks[i] = 0;
        nm_watch_give_back(NM_WHY_OTHER); /* so that a carrier is free for it */
        nm_fold_give_up_home(i);
    }
}

static uint64_t rate_of(uint64_t switches)
{
    static uint64_t before, since, rate;
    uint64_t now = nm_now_ns();
    if (now - since >= SECOND_NS / 2) {
        rate = since ? (switches - before) * SECOND_NS / (now - since) : 0;
        before = switches;
        since = now;
    }
    return rate;
}

static void publish(void)
{
    struct nm_fold_line *line = &nm_client.page->fold;
    uint64_t switches = nm_fold_switches();
    line->mode = said_mode;
    line->why = said_why;
    line->threads = said_threads;
    line->carriers = said_mode == NM_FOLD_USER ? nm_fold_limited() : 0;
    line->switches = switches;
    line->switches_per_second = (uint32_t)rate_of(switches);
    line->unfolds = unfolds;
    line->opened = opened;
    line->dissolved = dissolved;
}

uint64_t nm_watch_tick(void)
{
    static uint64_t busy_ns;
    uint64_t now = nm_now_ns();
    publish();
    if (running && nm_fold_is_open()) {
        asleep = false;
        busy_ns = now;
        look_at_carriers();
        look_for_stranded();
        return TICK_NS;
    }
    look.stuck = false;
    if (!nm_fold_is_open())
        busy_ns = 0;
    if (now - busy_ns < RESTS_NS)
        return TICK_NS;
    /* Looks once more after setting `asleep`: a region that began meanwhile may not have seen
     * it. */
    bool said = asleep;
    asleep = true;
    return said ? UINT64_MAX : TICK_NS;
}

void nm_watch_in_child(void)
{
    running = given_back = all = false;
    asleep = true;
    said_mode = said_why = said_threads = 0;
    unfolds = opened = dissolved = 0;
}
