/* progress.h - what ranks.c sees of the libraries that progress.c stands for, and what both share.
 */
#ifndef UNIT_PROGRESS_H
#define UNIT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

extern int open_pal_finds;
extern int open_pal_socket; /* each poll looks at it, and reads what is there without saying so; or -1 */
extern int open_pal_takes; /* pieces of work at each poll, and four times as many at every eighth */
extern int open_pal_cold;  /* polls that take long, because caches are cold */
extern void (*open_pal_calls)(void); /* the function of a message */
extern unsigned ucp_finds;
extern int mpich_level; /* MPI_THREAD_FUNNELED; 3 is MPI_THREAD_MULTIPLE */

int opal_progress(void);
bool opal_progress_set_yield_when_idle(bool yields);
unsigned ucp_worker_progress(void *worker);
unsigned long mpich_wait(double seconds); /* the number of messages found */

/* Seconds of this machine. Only the other clock is played with. */
static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* So many pieces of 256 multiplications, one after the other: as long as this processor takes. */
static inline void work(int pieces)
{
    uint64_t number = 1;
    for (long i = 0; i < 256L * pieces; i++) {
        number = number * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(number));
    }
}

#endif
