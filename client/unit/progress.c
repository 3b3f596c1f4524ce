/* progress.c - stands for the libraries in which a rank of MPI waits: Open MPI's (OPEN_PAL), UCX
 * (UCP) and MPICH (MPICH), each with the functions that the shim stands before.
 */
#include "progress.h"

#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/uio.h>

#if defined(OPEN_PAL)
enum { COLD = 40 };
int open_pal_finds, open_pal_socket = -1, open_pal_takes, open_pal_cold;
void (*open_pal_calls)(void);

static bool open_pal_yields = true;
bool opal_progress_set_yield_when_idle(bool yields)
{
    bool former = open_pal_yields;
    open_pal_yields = yields;
    return former;
}

int opal_progress(void)
{
    static unsigned polls;
    bool eighth = ++polls % 8 == 0;
    if (open_pal_socket >= 0) {
        struct pollfd socket = {.fd = open_pal_socket, .events = POLLIN};
        char byte;
        if (poll(&socket, 1, 0) == 1 && readv(open_pal_socket, &(struct iovec){&byte, 1}, 1) != 1)
            abort();
    }
    work(eighth ? 4 * open_pal_takes : open_pal_takes);
    /* Each kind of poll is slow once. */
    if (open_pal_cold > 0 && (open_pal_cold > 1 || eighth)) {
        open_pal_cold--;
        work(COLD);
    }
    void (*call)(void) = open_pal_calls;
    if (call) {
        open_pal_calls = NULL;
        call();
        open_pal_calls = call;
    }
    if (open_pal_finds == 0 && open_pal_yields)
        sched_yield();
    return open_pal_finds;
}
#elif defined(UCP)
unsigned ucp_finds;

unsigned ucp_worker_progress(void *worker)
{
    (void)worker;
    return ucp_finds;
}
#else
int mpich_level = 1;

/* By this the shim knows MPICH. */
int MPIR_Err_create_code(void)
{
    return 0;
}

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
    double until = now() + seconds;
    do /* The time may be over before the first poll: another program ran. */
        found += ucp_worker_progress(0);
    while (now() < until);
    return found;
}
#endif
