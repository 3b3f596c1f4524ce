/* progress.h - what ranks.c sees of the libraries that progress.c stands for.
 */
#ifndef UNIT_PROGRESS_H
#define UNIT_PROGRESS_H

#include <stdbool.h>
#include <time.h>

extern int open_pal_finds;
extern int open_pal_reads; /* nanoseconds at every eighth poll: it reads something, and does not say so */
extern void (*open_pal_calls)(void); /* the function of a message */
extern unsigned ucp_finds;
extern int mpich_level; /* MPI_THREAD_FUNNELED; 3 is MPI_THREAD_MULTIPLE */

int opal_progress(void);
bool opal_progress_set_yield_when_idle(bool yields);
unsigned ucp_worker_progress(void *worker);
unsigned long mpich_wait(double seconds); /* the number of messages found */

static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Takes so many nanoseconds. */
static inline void look_around(double nanoseconds)
{
    for (double until = now() + nanoseconds * 1e-9; now() < until;)
        continue;
}

#endif
