/* window.c - the root thread's side of the analyzer: it runs regions at the size that a window asks
 * for, and records how long they took, as long as nothing else changes. A region costs two readings
 * of the clock and one record.
 */
#include "analyzer.h"
#include "shim.h"

#include <sys/resource.h>

#define LOOK_NS 100000ull        /* a longer region is looked at more closely */
#define SWITCH_EACH_NS 2000000ull /* a longer one may be put aside now and then: the helper looks how long */
#define PHASE_NS 20000000ull      /* a longer pause is a phase of its own: the manager lends the processors then */
#define ENOUGH 32u               /* records, if they took at least: */
#define ENOUGH_NS 3000000ull
#define FEW 4u                   /* records that will do if they took so long: */
#define LONG_NS 10000000ull
#define TOO_LONG_NS 3000000000ull

struct nm_window nm_window;

uint32_t nm_window_size(uint32_t team, bool held)
{
    uint32_t size = nm_window.size;
    return held || size == 0 || size > team ? team : size;
}

static bool undisturbed(void)
{
    struct numaestro_page *page = nm_client.page;
    uint32_t flags = atomic_load_explicit(&nm_client.flags, memory_order_relaxed);
    return atomic_load_explicit(&page->manager.epoch, memory_order_relaxed) == nm_window.epoch &&
           atomic_load_explicit(&nm_client.epoch, memory_order_relaxed) == nm_window.epoch &&
           (flags & NM_FLAG_MEASURE) && !(flags & NM_FLAG_SHARED);
}

uint64_t nm_window_switches(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_nivcsw;
}

/* How often the kernel put a thread aside in a time that is long enough for it. Shorter times have
 * many like them, and their quartile will do. */
static uint64_t interruptions(uint64_t ns)
{
    if (ns < LOOK_NS)
        return 0;
    uint64_t before = nm_window.switches;
    nm_window.switches = nm_window_switches();
    return nm_window.switches - before;
}

static bool disturbs(uint64_t interruptions, uint64_t ns)
{
    return interruptions > ns / SWITCH_EACH_NS;
}

static bool is_full(uint64_t now)
{
    uint32_t good = nm_window.good, target = nm_window.target;
    uint64_t took = now - nm_window.records[0].enter;
    if (nm_window.count == NM_RECORDS || took > TOO_LONG_NS)
        return true;
    if (target)
        return good >= target;
    return (good >= ENOUGH && nm_window.good_ns >= ENOUGH_NS) || (good >= FEW && nm_window.good_ns >= LONG_NS);
}

void nm_window_end(void)
{
    struct nm_record record = nm_window.now;
    record.leave = nm_now_ns();
    if (!nm_window_is_open() || nm_window.now_number != nm_window.number)
        return;
    nm_window.spoiled = !undisturbed();
    if (!nm_window.spoiled) {
        uint32_t count = nm_window.count;
        if (!record.held && nm_window.now_team > nm_window.team)
            nm_window.team = nm_window.now_team;
        uint64_t ns = record.leave - record.enter, found = interruptions(ns);
        record.disturbed = disturbs(found, ns);
        record.interrupted = found > 0;
        nm_window.records[nm_window.count++] = record;
        nm_window.good += !record.disturbed && count > 0;
        nm_window.good_ns += record.disturbed ? 0 : record.leave - record.enter;
        if (!is_full(record.leave))
            return;
    }
    atomic_store_explicit(&nm_window.state, NM_WINDOW_FULL, memory_order_release);
    nm_plans_change();
    nm_futex_wake(&nm_client.page->manager.epoch);
}

void nm_window_begin(uintptr_t function, uint32_t team, bool held)
{
    struct nm_record record = {.function = function, .held = held, .enter = nm_now_ns()};
    uint32_t count = nm_window.count;
    uint64_t gap = count > 0 ? record.enter - nm_window.records[count - 1].leave : 0;
    if (disturbs(interruptions(gap), gap) || gap > PHASE_NS) {
        record.gap_disturbed = true;
        record.enter = nm_now_ns();
    }
    nm_window.now = record;
    nm_window.now_team = team;
    nm_window.now_number = nm_window.number;
}
