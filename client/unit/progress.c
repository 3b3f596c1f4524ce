/* progress.c - stands for the libraries in which a rank of MPI waits: Open MPI's (OPEN_PAL), UCX
 * (UCP) and MPICH (MPICH), each with the one function that the shim stands before.
 */
#include "progress.h"

#if defined(OPEN_PAL)
int open_pal_finds;

int opal_progress(void)
{
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
void mpich_wait(double seconds, unsigned message_every)
{
    unsigned looks = 0;
    for (double until = now() + seconds; now() < until; looks++) {
        ucp_worker_progress(0);
        /* A message of its own, about which UCX knows nothing. */
        if (message_every && looks % message_every == 0)
            look_around(1500);
    }
}
#endif
