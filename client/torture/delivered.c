/* Signals that are sent to a thread, with values, and received by each call there is: by handlers,
 * sigwait and its like, signalfd, sigsuspend and ppoll; and signals for the process, which the
 * thread that opens the regions handles.
 */
#include "torture.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

static __thread _Atomic uint64_t values;
static __thread _Atomic int count;
static pthread_t root;
static _Atomic int for_root, elsewhere;

static void take(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    values += (uint64_t)info->si_value.sival_int;
    count++;
}

static void of_process(int number)
{
    (void)number;
    if (pthread_equal(pthread_self(), root))
        for_root++;
    else
        elsewhere++;
}

static void act(int number, void (*handler)(int), void (*with)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (with) {
        action.sa_sigaction = with;
        action.sa_flags |= SA_SIGINFO;
    } else {
        action.sa_handler = handler;
    }
    sigaction(number, &action, NULL);
}

static void only(int number, sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, number);
}

/* Each member sends its left neighbour some numbers; all come, in the neighbour's context. */
static void queued(void)
{
    static pthread_t self[TORTURE_THREADS];
    act(SIGRTMIN + 1, NULL, take);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        self[me] = pthread_self();
        values = 0;
        count = 0;
#pragma omp barrier
        for (int i = 1; i <= 4; i++)
            if (pthread_sigqueue(self[(me + 1) % all], SIGRTMIN + 1, (union sigval){.sival_int = i * (me + 1)}))
                wrong("pthread_sigqueue: %s", strerror(errno));
#pragma omp barrier
        while (count < 4)
            usleep(200);
        *slot(me) = values;
#pragma omp barrier
    }
    note_slots(team_size());
}

/* What a member blocks and waits for itself. */
static void waited_for(void)
{
#pragma omp parallel
    for (int kind = 0; kind < 4; kind++) {
        int me = omp_get_thread_num();
        sigset_t set, before;
        siginfo_t info = {0};
        struct timespec patience = {20, 0};
        uint64_t got = 0;
        only(SIGRTMIN + 2, &set);
        pthread_sigmask(SIG_BLOCK, &set, &before);
#pragma omp barrier
        if (pthread_sigqueue(pthread_self(), SIGRTMIN + 2, (union sigval){.sival_int = me + kind}))
            wrong("pthread_sigqueue");
        if (kind == 0) {
            int number = 0;
            sigwait(&set, &number);
            got = (uint64_t)(number == SIGRTMIN + 2);
        } else if (kind == 1) {
            got = sigwaitinfo(&set, &info) == SIGRTMIN + 2 ? (uint64_t)info.si_value.sival_int + 1 : 0;
        } else if (kind == 2) {
            got = sigtimedwait(&set, &info, &patience) == SIGRTMIN + 2 ? (uint64_t)info.si_value.sival_int + 1 : 0;
        } else {
            struct signalfd_siginfo said = {0};
            int file = signalfd(-1, &set, SFD_CLOEXEC);
            got = read(file, &said, sizeof said) == (ssize_t)sizeof said ? (uint64_t)said.ssi_int + 1 : 0;
            close(file);
        }
        *slot(me) = mixed(*slot(me), got);
#pragma omp barrier
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    note_slots(team_size());
}

/* A blocked signal waits until the member asks for it by a mask for one call. */
static void for_one_call(void)
{
    act(SIGRTMIN + 3, NULL, take);
#pragma omp parallel
    for (int kind = 0; kind < 2; kind++) {
        int me = omp_get_thread_num(), result;
        sigset_t set, before, open;
        only(SIGRTMIN + 3, &set);
        pthread_sigmask(SIG_BLOCK, &set, &before);
        open = before;
        sigdelset(&open, SIGRTMIN + 3);
        values = 0;
        count = 0;
#pragma omp barrier
        if (pthread_sigqueue(pthread_self(), SIGRTMIN + 3, (union sigval){.sival_int = me + 1}))
            wrong("pthread_sigqueue");
#pragma omp barrier
        uint64_t early = (uint64_t)count;
        errno = 0;
        result = kind ? ppoll(NULL, 0, NULL, &open) : sigsuspend(&open);
        *slot(me) = mixed(*slot(me), mixed(values + 1000 * early, (uint64_t)(result == -1 && errno == EINTR)));
#pragma omp barrier
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    note_slots(team_size());
}

/* Who sends the process a signal from inside of a region sees the root handle it. */
static void to_process(void)
{
    act(SIGUSR1, of_process, NULL);
    root = pthread_self();
    for (int r = 0; r < 3; r++) {
        for_root = elsewhere = 0;
#pragma omp parallel
        {
            if (omp_get_thread_num() == omp_get_num_threads() - 1) {
                kill(getpid(), SIGUSR1);
                while (for_root + elsewhere == 0)
                    sched_yield();
            }
#pragma omp barrier
        }
        note((uint64_t)for_root);
        note((uint64_t)elsewhere);
    }
}

/* A timer whose signal goes to one member's thread. */
static void timer_of_thread(void)
{
    act(SIGRTMIN + 4, NULL, take);
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        values = 0;
        count = 0;
        if (me % 4 == 1) {
            timer_t timer;
            struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 4, .sigev_value.sival_int = me};
            struct itimerspec once = {.it_value = {0, 300000}};
            event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
            if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &once, NULL))
                wrong("no timer");
            while (count == 0)
                usleep(100);
            timer_delete(timer);
        }
#pragma omp barrier
        *slot(me) = values;
    }
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"queued", queued},         {"waited-for", waited_for},           {"for-one-call", for_one_call},
        {"to-process", to_process}, {"timer-of-thread", timer_of_thread},
    };
    return TORTURE(parts);
}
