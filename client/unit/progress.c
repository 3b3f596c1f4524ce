/* progress.c - stands for the libraries in which a rank of MPI waits: Open MPI's (OPEN_PAL), UCX
 * (UCP) and MPICH (MPICH), each with the one function that the shim stands before.
 */
#include "progress.h"

#include <sched.h>

#if defined(OPEN_PAL)
int open_pal_finds;

static bool open_pal_yields = true;

bool opal_progress_set_yield_when_idle(bool yields)
{
    bool former = open_pal_yields;
    open_pal_yields = yields;
    return former;
}

int opal_progress(void)
{
    if (open_pal_finds == 0 && open_pal_yields)
        sched_yield();
    return open_pal_finds;
}
#elif defined(UCP)
unsigned ucp_finds;

unsigned ucp_worker_progress(void *worker)
{
    (void)worker;
    look_around(100);
    return ucp_finds;
}
#else
int mpich_level = 1;

/* The names of MPI. */
int MPI_Initialized(int *flag)
{
    *flag = 1;
    return 0;
}

int MPI_Finalized(int *flag)
{
    *flag = 0;
    return 0;
}

int MPI_Query_thread(int *level)
{
    *level = mpich_level;
    return 0;
}

unsigned long mpich_wait(double seconds)
{
    unsigned long found = 0;
    for (double until = now() + seconds; now() < until;)
        found += ucp_worker_progress(0);
    return found;
}
#endif
