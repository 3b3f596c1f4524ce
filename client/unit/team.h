/* team.h - a team of plain threads for the tests of the scheduler of whole teams, instead of an
 * OpenMP runtime's.
 *
 * SUITE, the name of the test, is defined by whoever includes it. */
#ifndef NUMAESTRO_UNIT_TEAM_H
#define NUMAESTRO_UNIT_TEAM_H

#include "../fold/fold.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST 64

static uint32_t members;
static pthread_t threads[MOST];
static _Atomic bool over;

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void fail(const char *what, long is, long should)
{
    fprintf(stderr, "FAILED " SUITE ": %s is %ld, not %ld\n", what, is, should);
    _exit(1);
}

static uint64_t state = 1;

/* The next number of a thread's own stream. */
static inline uint64_t next(uint64_t *own)
{
    return *own = *own * 6364136223846793005u + 1442695040888963407u;
}

static inline uint32_t draw(uint32_t below)
{
    return (uint32_t)(next(&state) >> 33) % below;
}

static inline void *member(void *number)
{
    nm_fold_member((uint32_t)(uintptr_t)number);
    return NULL;
}

/* Does a runtime's part: all threads of the team run the region's function, and end together. */
static inline void region(void *unused)
{
    (void)unused;
    for (uint32_t i = 1; i < members; i++)
        if (pthread_create(&threads[i], NULL, member, (void *)(uintptr_t)i))
            abort();
    nm_fold_member(0);
    for (uint32_t i = 1; i < members; i++)
        pthread_join(threads[i], NULL);
}

/* A region that makes no tasks, so no meeting is recalled. */
static void (*work_of_region)(void *, struct nm_context *);

static inline bool work_once(void *argument, struct nm_context *me)
{
    work_of_region(argument, me);
    return false;
}

static inline void run_region(void (*work)(void *, struct nm_context *), void *argument)
{
    work_of_region = work;
    nm_fold_run(work_once, NULL, argument);
}

/* Changes the number of carriers again and again, until it is over. */
static inline void *shake(void *seed)
{
    uint64_t own = (uintptr_t)seed;
    while (!over) {
        next(&own);
        nm_fold_limit((uint32_t)(own >> 33) % members + 1);
        struct timespec t = {0, (long)((own >> 20) % 200000)};
        nanosleep(&t, NULL);
    }
    return NULL;
}

static pthread_t shaker;

/* Opens a team whose number of carriers changes until it is dissolved. */
static inline void open_shaken(uint64_t seed)
{
    over = false;
    if (!nm_fold_open(members, 1 + draw(members), region, NULL))
        fail("a team", 0, 1);
    pthread_create(&shaker, NULL, shake, (void *)(uintptr_t)seed);
}

static inline void dissolve_shaken(void)
{
    over = true;
    pthread_join(shaker, NULL);
    nm_fold_dissolve();
}

#endif
