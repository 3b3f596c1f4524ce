/* kernel.h - the common part of the load programs: options, timing, the team
 * sizes they saw, the checksum and the report.
 *
 * It includes nothing of numaestro: the programs run the same with and without
 * a manager. It never asks omp_get_max_threads(), has no thread-local storage
 * and never calls omp_get_thread_num(): a program that does any of these may
 * depend on its team size, and these programs must not.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The description of one program, with its defaults. */
struct kernel_about {
    const char *name;
    const char *what;      /* one line for --help */
    const char *size_unit; /* the unit of --size */
    long size, size_min, size_max;
    bool size_power_of_2;
    const char *reps_unit; /* the unit of --reps */
    long reps;
    bool may_be_explicit;  /* has a form with the num_threads clause */
    bool may_be_late;      /* can begin with its second phase */
};

/* The options that the user gave. */
struct kernel_args {
    long size;
    long reps;           /* repetitions; ignored when seconds > 0 */
    double seconds;      /* 0: run `reps` repetitions */
    int threads;         /* 0: not given */
    bool explicit_teams;
    bool late;             /* begin with the second phase */
};

/* The team sizes of regions; the one thread that runs a region's first
 * iteration writes them. On a cache line of its own, so that noting a team does
 * not disturb data that the other threads read. */
struct kernel_teams {
    long regions;  /* work-sharing loops noted */
    long changes;  /* how often a team differed from the one before */
    int first, last, min, max;
    char pad[32];
};
extern struct kernel_teams kernel_teams;

/* Reads the command line; prints help or an error and exits where needed. */
struct kernel_args kernel_open(const struct kernel_about *about, int argc, char **argv);

/* Starts the clocks: call it after the input data are built. */
void kernel_begin(void);

/* Whether the program is to do another repetition after `done` of them. */
bool kernel_more(long done);

/* Stops the clocks: call it before the result is verified. */
void kernel_end(void);

/* Prints the report; returns the exit code of the program. */
int kernel_report(long done, uint64_t checksum, bool verified);

/* Allocates zeroed memory on a cache line boundary; ends the program when there
 * is none. */
void *kernel_alloc(size_t count, size_t size);

/* The same, but untouched: the thread that first writes a page places it. */
void *kernel_alloc_untouched(size_t bytes);

/* Folds `bytes` bytes (a multiple of 4) of result data into a checksum; begin
 * with 0. The checksum depends on every bit and on the order of the data, and
 * on nothing else: one thread computes it after the clocks have stopped. */
uint64_t kernel_checksum(uint64_t sum, const void *data, size_t bytes);

/* Monotonic time in seconds. */
double kernel_now(void);

/* Reports a check that did not hold to stderr, and returns `holds`. */
bool kernel_expect(bool holds, const char *what);

/* A well mixed 64-bit value for a counter (Steele et al. 2014, SplitMix64):
 * input data that are the same for any order of generation. */
static inline uint64_t kernel_hash(uint64_t counter)
{
    uint64_t z = (counter + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The same as a number in [0, 1). */
static inline double kernel_uniform(uint64_t counter)
{
    return (double)(kernel_hash(counter) >> 11) * 0x1p-53;
}

/* Notes the team of a region. Call it from exactly one iteration per region. */
static inline void kernel_note_team(int threads)
{
    struct kernel_teams *t = &kernel_teams;
    if (t->regions++ == 0) {
        t->first = t->min = t->max = threads;
    } else if (threads != t->last) {
        t->changes++;
        if (threads < t->min)
            t->min = threads;
        if (threads > t->max)
            t->max = threads;
    }
    t->last = threads;
}

#ifdef __cplusplus
}
#endif
#endif
