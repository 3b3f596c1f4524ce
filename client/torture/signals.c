/* Signals while regions run: timers of the process, signals of a member to itself and to another
 * one, masks of each member, handlers on stacks of their own, and jumps out of handlers.
 */
#include "torture.h"
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile sig_atomic_t alarms, others;
static __thread volatile sig_atomic_t mine;
static __thread sigjmp_buf back;
static char *forbidden;

static void count_alarm(int number)
{
    int kept = errno;
    (void)number;
    alarms++;
    errno = kept;
}

static void count_other(int number)
{
    (void)number;
    others++;
}

static void count_mine(int number)
{
    (void)number;
    mine++;
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

static void some_work(void)
{
#pragma omp parallel
    {
        uint64_t *my = slot(omp_get_thread_num());
        for (int r = 0; r < fewer(200); r++) {
            *my = mixed(*my, work((uint64_t)r, 200));
#pragma omp barrier
        }
    }
}

/* The clocks of a process count ticks of the kernel: on a busy machine they stand still for a
 * program whose threads sleep at barriers before each tick. Some ticks of work between regions
 * are counted. */
static void be_counted(void)
{
    static volatile uint64_t kept;
    for (double until = torture_clock() + 0.01; torture_clock() < until;)
        kept = work(kept, 1000);
}

/* Handlers run wherever a signal comes, half a millisecond apart. Whoever gets none waits for ever,
 * and the harness sees it: a time here would make the output depend on the machine's load. */
static void timers(void)
{
    static const int kinds[] = {ITIMER_REAL, ITIMER_PROF, ITIMER_VIRTUAL};
    handle(SIGALRM, count_alarm, SA_RESTART);
    handle(SIGPROF, count_alarm, SA_RESTART);
    handle(SIGVTALRM, count_alarm, SA_RESTART);
    for (int k = 0; k < 3; k++) {
        struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
        alarms = 0;
        setitimer(kinds[k], &often, NULL);
        for (int r = 0; alarms < 3; r++) {
            clear_slots();
            some_work();
            if (r >= 5)
                be_counted();
        }
        setitimer(kinds[k], &never, NULL);
        note_slots(team_size());
    }
}

static void posix_timer(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    struct itimerspec often = {{0, 700000}, {0, 700000}};
    handle(SIGUSR2, count_other, SA_RESTART);
    others = 0;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        wrong("no timer");
    timer_settime(timer, 0, &often, NULL);
    while (others < 3) {
        clear_slots();
        some_work();
    }
    timer_delete(timer);
    note_slots(team_size());
}

/* The signal that a member sends to itself has been handled in its thread when the call returns. */
static void to_oneself(void)
{
    handle(SIGUSR1, count_mine, 0);
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        mine = 0;
        for (int r = 0; r < 10; r++) {
            if (r % 2)
                pthread_kill(pthread_self(), SIGUSR1);
            else
                raise(SIGUSR1);
            *slot(me) = mixed(*slot(me), (uint64_t)mine);
#pragma omp barrier
        }
    }
    note_slots(team_size());
}

/* A member handles a signal from another one soon, whether it waits or runs. */
static void to_another(void)
{
    static pthread_t self[TORTURE_THREADS];
    handle(SIGUSR1, count_mine, 0);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        self[me] = pthread_self();
        mine = 0;
#pragma omp barrier
        pthread_kill(self[(me + 1) % all], SIGUSR1);
#pragma omp barrier
        for (int i = 0; i < 5000 && mine == 0; i++)
            usleep(1000);
        *slot(me) = (uint64_t)mine;
    }
    note_slots(team_size());
}

/* A signal that one member blocks is blocked for that one only, over barriers; it stays pending. */
static void masks(void)
{
    handle(SIGUSR1, count_mine, 0);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), bad = 0;
        sigset_t set, before, now;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        mine = 0;
        if (me % 2)
            pthread_sigmask(SIG_BLOCK, &set, &before);
        for (int r = 0; r < 10; r++) {
#pragma omp barrier
            pthread_sigmask(SIG_SETMASK, NULL, &now);
            bad += sigismember(&now, SIGUSR1) != me % 2;
        }
        raise(SIGUSR1);
#pragma omp barrier
        bad += mine != (me % 2 ? 0 : 1);
        if (me % 2)
            pthread_sigmask(SIG_SETMASK, &before, NULL);
        bad += mine != 1;
        *slot(me) = (uint64_t)bad;
    }
    note_slots(team_size());
}

static void jump(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    siglongjmp(back, (char *)info->si_addr == forbidden + 64 ? 7 : 8);
}

/* Each member reads memory that may not be read, has a signal stack of its own, and jumps out of
 * the handler. */
static void faults(void)
{
    struct sigaction action = {.sa_sigaction = jump, .sa_flags = SA_SIGINFO | SA_ONSTACK}, before;
    forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &before);
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536}, now, none = {.ss_flags = SS_DISABLE};
        sigaltstack(&stack, NULL);
        for (int r = 0; r < 6; r++) {
            int came = sigsetjmp(back, 1);
            if (came == 0)
                came = *(volatile char *)(forbidden + 64);
            sigaltstack(NULL, &now);
            *slot(me) = mixed(*slot(me), (uint64_t)(came + 100 * (now.ss_sp == stack.ss_sp)));
#pragma omp barrier
        }
        sigaltstack(&none, NULL);
        free(stack.ss_sp);
    }
    sigaction(SIGSEGV, &before, NULL);
    munmap(forbidden, 4096);
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"timers", timers}, {"posix-timer", posix_timer}, {"oneself", to_oneself}, {"another", to_another},
        {"masks", masks},   {"faults", faults},
    };
    return TORTURE(parts);
}
