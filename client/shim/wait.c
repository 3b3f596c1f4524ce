/* wait.c - decides when a thread that waits for messages sleeps between two polls.
 */
#include "wait.h"

#include "pace.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Polling in vain until the first sleep: so long, and so often where polls are slow. A message that
 * comes sooner finds the rank awake, as without us. Who works may test for messages a hundred times
 * between two pieces of work. */
#define PATIENCE_NS 200000u
#define PATIENCE_POLLS 256u
/* A sleep is so small a part of the wait so far, and at most this; the kernel adds some 50 us. Who
 * has waited for long needs no quick answer, and each awakening takes time from the thread that
 * computes there. Between two sleeps it polls so often, and once more each second time: so no loop
 * of a program always works when it has just slept. */
#define SLEEP_PART 16u
#define SLEEP_NS_MOST 1000000u
#define POLLS_AWAKE 8u
/* From the end of a poll to the beginning of the next one MPI does next to nothing. A thread that
 * takes more than a little work (pace.h) may have done something, such as a piece of work in a
 * loop around MPI_Test. It may also have been interrupted: below some hypervisors that happens
 * each 60 us, for some microseconds. So it has to be patient for so many times as long again.
 * Who works for an eighth of its time or more never sleeps, and a longer piece of work ends the
 * wait. Right after a sleep caches are cold, and next to nothing takes so many times as long. */
#define AGAIN 8u
#define COARSE 64u
#define COLD 16u
/* A wait that ends without a message of UCX was for another kind of messages, or a mere interrupt
 * has ended it. After so many in turn UCX is not where this rank's messages come from. Each sleep
 * counts once, however many interrupts follow. A wait with more sleeps does not count: its message
 * came late by a small part of the wait. */
#define NM_WAIT_UNHEARD 16u
#define UNHEARD_SLEEPS 16u

__thread struct nm_wait nm_wait = {.unheard = NM_WAIT_UNHEARD};

/* Somebody lacks processors, and could get those of this program: not of one inside a region, where
 * its team computes. The manager's word expires, because there may be no manager any more. */
static bool is_wanted(uint64_t now)
{
    struct numaestro_page *page = nm_client.page;
    return nm_client.attached && !nm_client.alone && !(nm_client.flags & NM_FLAG_RELEASED) &&
           now < atomic_load_explicit(&page->manager.wanted_until_ns, memory_order_relaxed) &&
           !atomic_load_explicit(&page->root.in_region, memory_order_relaxed);
}

/* By a raw system call: a thread cannot be cancelled where MPI polls. The manager reads the number
 * of sleeps, and does not have to find the wait out. */
static void sleep_ns(uint64_t ns)
{
    int saved = errno;
    struct timespec time = {0, (long)ns};
    atomic_fetch_add_explicit(&nm_client.page->root.sleeps, 1, memory_order_relaxed);
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
    errno = saved;
}

void nm_wait_begin(void)
{
    nm_wait.polls = nm_wait.awake = nm_wait.sleeps = nm_wait.judged = 0;
    nm_wait.patient_ns = nm_wait.waited_ns = 0;
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* The thread was outside of polls for longer than MPI alone is, by so much. The clock is read once
 * in between, and may take twice its usual time. */
static uint64_t beyond(uint64_t outside, const struct nm_pace *pace)
{
    bool has_just_slept = nm_wait.sleeps && nm_wait.awake == 0;
    uint64_t nothing = (2 * pace->clock_ns + pace->little_ns) * (has_just_slept ? COLD : 1);
    return outside > nothing ? outside - nothing : 0;
}

/* The time of a poll without the two readings of the clock around it. Where the clock is coarser
 * than that, a part of it counts. */
static uint64_t waiting(uint64_t took, const struct nm_pace *pace)
{
    uint64_t readings = 2 * pace->clock_ns, part = took / COARSE;
    return took > readings + part ? took - readings : part;
}

void nm_wait_measure(bool (*may_sleep)(void), bool hears)
{
    struct nm_pace pace = nm_pace();
    uint64_t now = nm_now_ns(), outside = nm_wait.began_ns - nm_wait.ended_ns, took = now - nm_wait.ended_ns;
    uint64_t again = AGAIN * beyond(outside, &pace);
    if (again && nm_wait.sleeps != nm_wait.judged) {
        nm_wait.judged = nm_wait.sleeps;
        if (nm_wait.sleeps <= UNHEARD_SLEEPS && nm_wait.unheard < NM_WAIT_UNHEARD)
            nm_wait.unheard++;
    }
    if (again >= PATIENCE_NS) {
        nm_wait_begin();
        return;
    }
    nm_wait.ended_ns = now;
    nm_wait.waited_ns += took;
    if (again)
        nm_wait.patient_ns -= least(again, nm_wait.patient_ns);
    else
        nm_wait.patient_ns += least(waiting(took, &pace), PATIENCE_NS / PATIENCE_POLLS);
    nm_wait.patient_ns = least(nm_wait.patient_ns, PATIENCE_NS);
    if (nm_wait.patient_ns < PATIENCE_NS || ++nm_wait.awake < POLLS_AWAKE + (nm_wait.sleeps & 1))
        return;
    nm_wait.awake = 1;
    if (!is_wanted(now) || !(hears || nm_wait.unheard < NM_WAIT_UNHEARD) || !may_sleep())
        return;
    sleep_ns(least(nm_wait.waited_ns / SLEEP_PART, SLEEP_NS_MOST));
    nm_wait.sleeps++;
    nm_wait.awake = 0;
    nm_wait.ended_ns = nm_now_ns();
    nm_wait.waited_ns += nm_wait.ended_ns - now;
}

/* A rank whose regions have one thread has not attached so far: it had nothing to lend. It needs no
 * helper either. */
static void attach_waiting(void)
{
    if (!nm_client.attached && !nm_client.tried && nm_roots() > 0 && nm_attach(false))
        nm_adopt(true);
}

void nm_wait_begin_measuring(void)
{
    attach_waiting();
    nm_wait.ended_ns = nm_now_ns();
    if (!is_wanted(nm_wait.ended_ns)) {
        nm_wait.polls = 0;
        return;
    }
    nm_pace();
    nm_wait.ended_ns = nm_now_ns();
}
