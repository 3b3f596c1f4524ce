/* wait.h - the wait of one thread for messages, which polls for them.
 */
#ifndef NUMAESTRO_WAIT_H
#define NUMAESTRO_WAIT_H

#include "shim.h"

/* Polls in vain until each one is measured, if others lack processors: a message that comes sooner
 * costs as much as without us. */
#define NM_WAIT_POLLS 32u

struct nm_wait {
    uint32_t polls;      /* in vain, up to NM_WAIT_POLLS: from then on they are measured */
    uint32_t awake;      /* measured polls since patience ended, or since a sleep: 0 right after it */
    uint32_t sleeps;     /* in this wait */
    uint32_t judged;     /* sleeps at the latest end, or interrupt, that followed one */
    uint64_t patient_ns; /* time of polling in vain, as far as patience asks for it */
    uint64_t waited_ns;  /* its time of polling in vain, and of sleeping in between */
    uint64_t began_ns;   /* the beginning of this poll */
    uint64_t ended_ns;   /* the end of the poll before it, or of the sleep after that */
    bool inside;         /* in a poll of Open MPI */
    bool in_vain;        /* that poll has ended with a yield, so it has found nothing */
    bool has_read;       /* but it has read from a socket */
    uint32_t unheard;    /* waits without a message, since the latest one; NM_WAIT_UNHEARD before any */
};
extern __thread struct nm_wait nm_wait __attribute__((tls_model("initial-exec"), visibility("hidden")));

void nm_wait_begin(void);
/* A measured poll has ended in vain. `may_sleep`: asked before a sleep. `hears`: every message
 * shows in polls; else one may show in the time between two. */
void nm_wait_measure(bool (*may_sleep)(void), bool hears);
void nm_wait_begin_measuring(void);

/* A poll begins. */
static inline void nm_wait_poll(void)
{
    if (NM_UNLIKELY(nm_wait.polls == NM_WAIT_POLLS))
        nm_wait.began_ns = nm_now_ns();
}

static inline void nm_wait_in_vain(bool (*may_sleep)(void), bool hears)
{
    if (NM_UNLIKELY(nm_wait.polls == NM_WAIT_POLLS))
        nm_wait_measure(may_sleep, hears);
    else if (NM_UNLIKELY(++nm_wait.polls == NM_WAIT_POLLS))
        nm_wait_begin_measuring();
}

static inline void nm_wait_heard(void)
{
    nm_wait.unheard = 0;
    if (nm_wait.polls)
        nm_wait_begin();
}

#endif
