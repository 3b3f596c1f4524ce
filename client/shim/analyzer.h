/* analyzer.h - the SelfAnalyzer: speedup of a program's regions and of its outer iteration,
 * measured while it runs.
 *
 * The helper thread opens a window; the root thread records the regions that it runs, until the
 * window is full; the helper then computes the speedup. While no window is open the root thread
 * does nothing for the analyzer, and a region's plan is settled as ever.
 */
#ifndef NUMAESTRO_ANALYZER_H
#define NUMAESTRO_ANALYZER_H

#include "../src/client.h"

#define NM_RECORDS 256u

enum nm_window_state { NM_WINDOW_CLOSED, NM_WINDOW_OPEN, NM_WINDOW_FULL };

struct nm_record {
    uintptr_t function;     /* the region's outlined function */
    uint64_t enter, leave;  /* CLOCK_MONOTONIC */
    bool held;              /* it keeps its size: measured only to know how much of the time it takes */
    bool disturbed;         /* something else ran on the program's processors meanwhile */
    bool interrupted;       /* the kernel put a thread of the program aside in it, however briefly */
    bool gap_disturbed;     /* the same for the time since the record before; or that was a phase of its own */
};

/* Written by the helper while CLOSED or FULL, by the root thread while OPEN. */
struct nm_window {
    _Atomic uint32_t state;
    uint32_t epoch;         /* of the decision in force during the whole window */
    uint32_t size;          /* team of the regions that follow the allocation; 0 = as many as the allocation says */
    uint32_t target;        /* records after which it is full, 0 = when there are enough */
    uint32_t team;          /* the largest team of a region in it */
    uint32_t count, good;   /* records, and undisturbed ones among them */
    uint64_t good_ns;       /* time of the undisturbed ones */
    uint64_t switches;      /* at the latest look */
    bool spoiled;           /* the allocation changed, or was shared */
    struct nm_record now;   /* record of the region that runs: here, so that a plan stays small */
    uint32_t now_team, now_number; /* its team, and the window it began in */
    uint32_t number;        /* of this window */
    struct nm_record records[NM_RECORDS];
};
extern struct nm_window nm_window __attribute__((visibility("hidden")));

/* region.c: regions of the primary root follow the allocation, and so can be compared. */
extern _Atomic bool nm_teams_follow __attribute__((visibility("hidden")));

static inline bool nm_window_is_open(void)
{
    return atomic_load_explicit(&nm_window.state, memory_order_acquire) == NM_WINDOW_OPEN;
}

/* window.c, root thread */
uint32_t nm_window_size(uint32_t team, bool held);     /* for a region that would have this team */
void nm_window_begin(uintptr_t function, uint32_t team, bool held);
void nm_window_end(void);
uint64_t nm_window_switches(void);                      /* times that a thread of this process was put aside for another */


/* analyzer.c, helper thread */
uint64_t nm_analyzer_tick(void);                        /* nanoseconds until it wants to be called again */
void nm_analyzer_in_child(void);

/* estimate.c: computes with the recorded times only */
#define NM_KEPT 32u

/* The latest times of a region at one size. */
struct nm_times {
    uint32_t ns[NM_KEPT];
    uint32_t count; /* all so far; the latest NM_KEPT are stored */
};

void nm_times_add(struct nm_times *times, uint64_t ns);
/* The lower quartile of the times in ns; 0 if there are fewer than `least`. `disperse`: the median
 * is far above it. */
uint32_t nm_times_low(const struct nm_times *times, uint32_t least, bool *disperse);
/* The same of the latest `latest` times only; 0 if there are not so many. */
uint32_t nm_times_recent(const struct nm_times *times, uint32_t latest);
/* Whether two values of the speedup in thousandths say much the same. */
bool nm_differs(uint32_t a, uint32_t b, uint32_t percent);

/* The values of the speedup that the latest windows gave, in thousandths. */
struct nm_values {
    uint32_t last;  /* 0 = none yet */
    uint32_t alike; /* values in a row that say much the same as the one before */
};

/* Adds a value. True if enough in a row are alike for a report: one more if it is doubtful. */
bool nm_values_settle(struct nm_values *values, uint32_t milli, bool doubtful);
/* The greatest speedup in thousandths that a window allows in which threads waited for their
 * processors: `on_one` is the time of its work on one processor, `took` the window's length; all
 * in ns. UINT32_MAX = any. */
uint32_t nm_most_speedup(uint64_t on_one, uint64_t took, uint64_t waited);
/* Whether a speedup in thousandths says clearly that so many processors are used well, or that they
 * bring nothing. */
bool nm_is_clear(uint32_t milli, uint32_t size);
/* Number of regions in the sequence that repeats in the window, 0 = none. */
uint32_t nm_period(const struct nm_record *records, uint32_t count);
/* Lower quartile of the time in ns from a region to the same one in the next iteration, 0 if there
 * are too few. */
uint64_t nm_iteration(const struct nm_record *records, uint32_t count, uint32_t period);

/* regions.c, helper thread: the times of the program's regions */
#define NM_LEAST 3u /* fewest times of a region at one size */

/* Times in ns of the regions of a window, as often as they ran in it; zeros if too few are known.
 */
struct nm_totals {
    uint64_t on_base, on_now;
};

void nm_regions_forget(void);
void nm_regions_forget_now(void);
void nm_regions_forget_base(void);
void nm_regions_forget_calls(void);     /* a new window on the allocation begins */
/* Adds a time on the base, on the allocation, or on both. False if the table is full. */
bool nm_regions_add(uintptr_t function, uint64_t took, bool to_base, bool to_now);
struct nm_totals nm_regions_totals(bool *disperse);
uint32_t nm_regions_base(uintptr_t function);   /* its time on the base in ns, 0 = not known */
bool nm_regions_have_base(void);        /* of most of the latest window's time */
/* The present times divided by the shortest ever at this size, in thousandths; 0 = not known.
 * `of_iteration` is the same of the iteration: it counts where the regions' work varies. */
uint32_t nm_regions_stretch(uint32_t size, uint32_t of_iteration);

#endif
