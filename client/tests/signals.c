/* Signals: none is lost, only threads of the program handle them, blocked ones stay blocked, and
 * the program's handlers, masks and alternate stack stay as it set them. The thread that opens the
 * regions handles what the others block, and the others what it blocks. */
#include "check.h"
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { QUEUED = 20, THREADS = 4096, N = 2000 };
static volatile sig_atomic_t plain[65], by_first[65];
static __thread int is_first;
static int queued, queued_sum, strangers, known[THREADS], known_count;

static int is_known(void)
{
    int me = (int)syscall(SYS_gettid);
    for (int i = 0; i < __atomic_load_n(&known_count, __ATOMIC_ACQUIRE) && i < THREADS; i++)
        if (known[i] == me)
            return 1;
    return 0;
}

static void on_plain(int signal)
{
    if (!is_known())
        __atomic_fetch_add(&strangers, 1, __ATOMIC_RELAXED);
    by_first[signal] += is_first;
    plain[signal]++;
}

static void on_queued(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    if (!is_known())
        __atomic_fetch_add(&strangers, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&queued_sum, info->si_value.sival_int, __ATOMIC_RELAXED);
    __atomic_fetch_add(&queued, 1, __ATOMIC_RELEASE);
}

/* Every thread of a team is the program's own from now on; libgomp may replace one after a change
 * of size. */
static void region(void)
{
    long long sum = 0;
    int members = 0;
    sigset_t block, old;
    sigfillset(&block);
    pthread_sigmask(SIG_BLOCK, &block, &old); /* new threads start blocked, and unblock when they are known */
#pragma omp parallel reduction(+ : sum, members)
    {
        members++;
        if (!is_known()) {
            int slot = __atomic_fetch_add(&known_count, 1, __ATOMIC_ACQ_REL);
            known[slot % THREADS] = (int)syscall(SYS_gettid);
        }
        pthread_sigmask(SIG_SETMASK, &old, NULL);
#pragma omp for
        for (int i = 0; i < N; i++)
            sum += i;
        pthread_sigmask(SIG_BLOCK, &block, NULL);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    check_saw(members);
    check_equal("sum", sum, (long long)N * (N - 1) / 2);
}

static void await(const char *what, int *counter, int value)
{
    double until = check_now() + 30;
    while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < value && check_now() < until)
        usleep(100);
    check_equal(what, __atomic_load_n(counter, __ATOMIC_ACQUIRE), value);
}

static void check_blocked(void)
{
    sigset_t block, old, now, pending;
    siginfo_t info;
    struct timespec limit = {30, 0};
    sigemptyset(&block);
    sigaddset(&block, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &block, &old);
    kill(getpid(), SIGUSR2); /* no other thread may take it: the program's are inside or block everything */
    region();
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    check_equal("SIGUSR2 still blocked", sigismember(&now, SIGUSR2), 1);
    sigpending(&pending);
    check_equal("SIGUSR2 still pending", sigismember(&pending, SIGUSR2), 1);
    check_equal("sigtimedwait", sigtimedwait(&block, &info, &limit), SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Many meetings, so that the threads take turns where they are folded. */
static int meetings(void)
{
    int members = 0, sum = 0;
#pragma omp parallel reduction(+ : members, sum)
    {
        members++;
        for (int i = 0; i < 50; i++) {
            sum += i;
#pragma omp barrier
        }
    }
    check_equal("sum of meetings", sum, members * 50 * 49 / 2);
    return members;
}

/* All other threads block everything. */
static void check_first(void)
{
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    int before = plain[SIGALRM], first = by_first[SIGALRM];
    setitimer(ITIMER_REAL, &often, NULL);
    for (double until = check_now() + 30; plain[SIGALRM] < before + 50 && check_now() < until;)
        meetings();
    setitimer(ITIMER_REAL, &never, NULL);
    int after = plain[SIGALRM];
    check_equal("alarms handled by the first thread", by_first[SIGALRM] - first, after - before);
}

static void await_other(const char *where, int before, int in_region)
{
    for (double until = check_now() + 30; plain[SIGUSR2] == before && check_now() < until;)
        if (in_region)
            meetings();
        else
            usleep(100);
    check_equal(where, plain[SIGUSR2], before + 1);
}

/* The first thread blocks a signal that the others do not. */
static void check_others(void)
{
    sigset_t block, old;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR2);
#pragma omp parallel
    {
        sigset_t none;
        sigemptyset(&none);
        pthread_sigmask(SIG_SETMASK, &none, NULL);
    }
    int first = by_first[SIGUSR2];
    for (int in_region = 0; in_region < 2; in_region++) {
        int members = meetings(), before = plain[SIGUSR2];
        pthread_sigmask(SIG_BLOCK, &block, &old);
        if (in_region)
            members = meetings();
        if (members > 1) {
            kill(getpid(), SIGUSR2);
            await_other("handled by another thread", before, in_region);
        }
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    check_equal("blocked signals handled by the first thread", by_first[SIGUSR2], first);
}

int main(int argc, char **argv)
{
    is_first = 1;
    const int each[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGTERM, SIGCHLD, SIGURG, SIGIO, SIGPIPE, SIGWINCH, SIGVTALRM, SIGPROF,
                        SIGALRM, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGXCPU, SIGXFSZ, SIGTSTP, SIGTTIN};
    const int kinds = (int)(sizeof each / sizeof each[0]);
    struct sigaction action = {.sa_flags = SA_RESTART};
    known[0] = (int)syscall(SYS_gettid);
    known_count = 1;
    action.sa_handler = on_plain;
    for (int i = 0; i < kinds; i++)
        sigaction(each[i], &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = on_queued;
    sigaction(SIGRTMIN + 3, &action, NULL);
    /* The pool's threads leave a region with everything blocked. So this thread gets signals to the
     * process, unless a thread of the shim leaves them unblocked. */
    while (check_going(argc, argv)) {
        region();
        for (int i = 0; i < kinds; i++) {
            int before = plain[each[i]];
            kill(getpid(), each[i]);
            for (double until = check_now() + 30; plain[each[i]] == before && check_now() < until;)
                sched_yield();
            check_equal("handled once", plain[each[i]], before + 1);
        }
        int before = __atomic_load_n(&queued, __ATOMIC_ACQUIRE);
        for (int i = 0; i < QUEUED; i++) {
            if (sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = 1 << (i % 5)}))
                check_fail("sigqueue: %m");
            if (i % 5 == 0)
                region();
        }
        await("queued signals", &queued, before + QUEUED);
        check_equal("their values", queued_sum, 31 * (queued / 5));
        check_blocked();
        struct itimerval soon = {{0, 0}, {0, 2000}};
        int alarms = plain[SIGALRM];
        setitimer(ITIMER_REAL, &soon, NULL);
        for (double until = check_now() + 30; plain[SIGALRM] == alarms && check_now() < until;)
            region();
        check_equal("alarms", plain[SIGALRM], alarms + 1);
        check_first();
        check_others();
        region();
        check_equal("signals handled by a stranger's thread", strangers, 0);
        struct sigaction mine;
        for (int i = 0; i < kinds; i++)
            if (sigaction(each[i], NULL, &mine) || mine.sa_handler != on_plain || !(mine.sa_flags & SA_RESTART))
                check_fail("the handler of signal %d was changed", each[i]);
    }
    return check_end("signals", kinds);
}
