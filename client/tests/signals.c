/* Signals: none is lost, only threads of the program handle them, blocked ones stay blocked, and
 * the program's handlers, masks and alternate stack stay as it set them. */
#include "check.h"
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { QUEUED = 20, THREADS = 4096, N = 2000 };
static volatile sig_atomic_t plain[65];
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

int main(int argc, char **argv)
{
    const int each[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGTERM, SIGCHLD, SIGURG, SIGIO, SIGPIPE, SIGWINCH, SIGVTALRM, SIGPROF,
                        SIGALRM, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGXCPU, SIGXFSZ, SIGTSTP, SIGTTIN};
    const int kinds = (int)(sizeof each / sizeof each[0]);
    struct sigaction action = {.sa_flags = SA_RESTART};
    known[0] = (int)syscall(SYS_gettid);
    known_count = 1;
    action.sa_handler = on_plain;
    for (int i = 0; i < kinds; i++)
        sigaction(each[i], &action, NULL);
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
        check_equal("signals handled by a stranger's thread", strangers, 0);
        struct sigaction mine;
        for (int i = 0; i < kinds; i++)
            if (sigaction(each[i], NULL, &mine) || mine.sa_handler != on_plain || !(mine.sa_flags & SA_RESTART))
                check_fail("the handler of signal %d was changed", each[i]);
    }
    return check_end("signals", kinds);
}
