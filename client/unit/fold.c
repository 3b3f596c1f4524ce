/* fold.c - the scheduler of whole teams, driven by plain threads instead of an OpenMP runtime: at
 * every meeting all contexts must meet, however the limit changes meanwhile.
 *
 * Arguments: seconds (default 2), seed (default 1; printed, so that a failure can be repeated), or
 * "cost", or "race", which leaves out the meeting between all reads and each next write, for
 * ThreadSanitizer to find.
 */
#define SUITE "fold"
#include "team.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static _Atomic uint64_t counts[MOST];
static uint64_t plain[MOST]; /* written by each context, read by all: only the meetings keep the two apart */
static bool races;
static __thread uint64_t mine; /* must be the same variable after every switch */
static pid_t root_tid;

static void work(void *argument, struct nm_context *me)
{
    uint32_t rounds = *(uint32_t *)argument, number = me->number;
    int rounding = number % 2 ? FE_DOWNWARD : FE_UPWARD;
    fesetround(rounding);
    errno = (int)number + 100;
    for (uint32_t i = 0; i < rounds; i++) {
        mine++;
        uint64_t was = atomic_load_explicit(&counts[number], memory_order_relaxed);
        atomic_store_explicit(&counts[number], was + 1, memory_order_relaxed);
        plain[number] = was + 1;
        if ((number + i) % 5 == 0)
            nm_fold_yield(me);
        nm_fold_barrier(me);
        if (nm_context_self != me)
            fail("the context", (long)(uintptr_t)nm_context_self, (long)(uintptr_t)me);
        for (uint32_t j = 0; j < members; j++)
            if ((atomic_load_explicit(&counts[j], memory_order_relaxed) != was + 1 || plain[j] != was + 1) && !races)
                fail("a neighbour's count after a meeting", (long)counts[j], (long)was + 1);
        if (!races)
            nm_fold_barrier(me);
        if (fegetround() != rounding)
            fail("the rounding mode", fegetround(), rounding);
        if (errno != (int)number + 100 && !races) /* ThreadSanitizer's report changes it */
            fail("errno", errno, (int)number + 100);
        if (number == 0 && syscall(SYS_gettid) != root_tid)
            fail("the root's kernel thread", syscall(SYS_gettid), root_tid);
    }
    if (mine != counts[number])
        fail("a thread-local count", (long)mine, (long)counts[number]);
    fesetround(FE_TONEAREST);
}

static void stress(double seconds, uint64_t seed)
{
    state = seed;
    long regions = 0, teams = 0;
    uint64_t before = nm_fold_switches();
    for (double until = now() + seconds; now() < until; teams++) {
        members = draw(8) == 0 ? MOST : 2 + draw(7);
        memset(counts, 0, sizeof counts);
        mine = 0;
        open_shaken(seed + (uint64_t)teams);
        for (uint32_t i = 0; i < 20 && now() < until; i++, regions++) {
            uint32_t rounds = 1 + draw(20);
            run_region(work, &rounds);
            if (syscall(SYS_gettid) != root_tid)
                fail("the root's kernel thread outside", syscall(SYS_gettid), root_tid);
        }
        dissolve_shaken();
    }
    printf("ok fold: seed %llu, %ld teams, %ld regions, %llu switches\n", (unsigned long long)seed, teams, regions,
           (unsigned long long)(nm_fold_switches() - before));
}

/* A region that is running already: threads join at one meeting, and leave at another. */
static pthread_barrier_t kernel;

static void *joins(void *number)
{
    uint32_t rounds = 50;
    mine = 0;
    for (int turn = 0; turn < 20; turn++) {
        pthread_barrier_wait(&kernel);
        if ((uintptr_t)number == 0 && !nm_fold_prepare(members, 1 + (uint32_t)turn % members))
            fail("a team to join", 0, 1);
        pthread_barrier_wait(&kernel);
        struct nm_context *me = nm_fold_join((uint32_t)(uintptr_t)number);
        work(&rounds, me);
        nm_fold_barrier(me);
        pid_t tid = me->carrier ? (pid_t)nm_fold_carrier(me->number)->tid : 0;
        nm_fold_leave(me);
        if (syscall(SYS_gettid) != tid)
            fail("the kernel thread after leaving", syscall(SYS_gettid), tid);
        if (nm_context_self)
            fail("a context after leaving", 1, 0);
    }
    return NULL;
}

/* A member is sent home to its own kernel thread, and is the last that comes to the barrier: it
 * takes its signals from there on. */
static _Atomic bool runs, sent;
static _Atomic int blocked;

static void last_at_home(void *argument, struct nm_context *me)
{
    (void)argument;
    if (me->number == 0) {
        while (!runs) /* by its own carrier, then */
            usleep(100);
        nm_fold_send_home(1);
        sent = true;
    } else {
        runs = true;
        while (!sent)
            usleep(100);
        usleep(20000);
    }
    nm_fold_barrier(me);
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    if (me->number == 1)
        blocked = sigismember(&set, SIGUSR1);
}

static void comes_last(void)
{
    members = 2;
    if (!nm_fold_open(2, 2, region, NULL))
        fail("a team", 0, 1);
    run_region(last_at_home, NULL);
    nm_fold_dissolve();
    if (blocked)
        fail("signals of a member at home", blocked, 0);
    printf("ok fold: a member that is sent home takes its signals also if it came last\n");
}

/* A member lets the root go first on the only carrier that looks for work, and the root waits for
 * it in the kernel: another carrier must run the member, though it slept when the member was left.
 */
static int told[2];

static void left_while_ready(void *argument, struct nm_context *me)
{
    (void)argument;
    char byte = 0;
    nm_fold_barrier(me); /* the member comes last, so the root waits for the carrier */
    if (me->number == 0) {
        if (read(told[0], &byte, 1) != 1)
            fail("bytes that the root has read", 0, 1);
    } else {
        nm_fold_limit(2);
        usleep(20000); /* carrier 1 has looked, and sleeps by the bell */
        nm_fold_yield(me);
        if (write(told[1], &byte, 1) != 1)
            fail("bytes that the member has written", 0, 1);
    }
}

static void hangs(int number)
{
    (void)number;
    static const char what[] = "FAILED fold: a member that was left while it was ready is not run again\n";
    if (write(2, what, sizeof what - 1) > 0)
        _exit(1);
    _exit(2);
}

static void lets_the_root_go_first(void)
{
    struct sigaction action = {.sa_handler = hangs}, before;
    sigaction(SIGALRM, &action, &before);
    if (pipe(told) != 0)
        abort();
    members = 2;
    for (int i = 0; i < 5; i++) {
        if (!nm_fold_open(2, 1, region, NULL))
            fail("a team", 0, 1);
        alarm(10);
        run_region(left_while_ready, NULL);
        alarm(0);
        nm_fold_dissolve();
    }
    sigaction(SIGALRM, &before, NULL);
    printf("ok fold: a member that lets the root go first is run by another carrier\n");
}

/* What a processor's registers keep from one call to the next goes with a context: exception flags,
 * of double and of long double apart, an exception that is not masked and waits for the next x87
 * instruction, and the GS base. */
static volatile long double zero = 0, one = 1;

static void keep_registers(uint32_t number, uint32_t round)
{
    static const int kinds[] = {0, FE_DIVBYZERO, FE_INVALID, FE_DIVBYZERO | FE_INVALID};
    int flags = kinds[(number + round) % 4];
    volatile long double wide;
    volatile double narrow;
    feclearexcept(FE_ALL_EXCEPT);
    if (flags & FE_DIVBYZERO)
        wide = one / zero;
    if (flags & FE_INVALID)
        narrow = (double)zero / (double)zero;
    (void)wide, (void)narrow;
    nm_fold_barrier(nm_context_self);
    int are = fetestexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    if (are != flags)
        fail("the exception flags", are, flags);
}

#if defined(__x86_64__)
static _Atomic uint32_t trapped_in; /* member, plus 1 */

static void traps(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    trapped_in = nm_context_self ? nm_context_self->number + 1 : MOST;
    ((ucontext_t *)context)->uc_mcontext.fpregs->swd &= 0x7f00;
}

static void keep_pending(uint32_t number, uint32_t turn)
{
    uint16_t usual = 0x37f, unmasked = usual & ~4;
    trapped_in = 0;
    nm_fold_barrier(nm_context_self);
    if (number == turn)
        __asm__ volatile("fld1\n\tfldz\n\tfdivrp\n\tfstp %%st(0)\n\tfldcw %0" : : "m"(unmasked) : "st");
    nm_fold_barrier(nm_context_self);
    if (number != turn)
        __asm__ volatile("fwait");
    nm_fold_barrier(nm_context_self);
    if (number == turn) {
        if (trapped_in)
            fail("the member that got another's exception", trapped_in - 1, -1);
        __asm__ volatile("fwait\n\tfnclex\n\tfldcw %0" : : "m"(usual));
        if (trapped_in != number + 1)
            fail("the member that got its exception", (long)trapped_in - 1, number);
    }
    nm_fold_barrier(nm_context_self);
}

static uintptr_t get_gs(void)
{
    uintptr_t base;
    __asm__ volatile("rdgsbase %0" : "=r"(base));
    return base;
}

static void set_gs(uintptr_t base)
{
    __asm__ volatile("wrgsbase %0" : : "r"(base));
}
#else
static void keep_pending(uint32_t number, uint32_t turn)
{
    (void)number, (void)turn;
}

static uintptr_t get_gs(void)
{
    return nm_context_self->number % 2 * (uintptr_t)&zero;
}

static void set_gs(uintptr_t base)
{
    (void)base;
}
#endif

static void registers(void *unused, struct nm_context *me)
{
    (void)unused;
    uintptr_t gs = me->number % 2 * (uintptr_t)&zero;
    set_gs(gs);
    for (uint32_t round = 0; round < 40; round++)
        keep_registers(me->number, round / 3);
    for (uint32_t turn = 0; turn < members; turn++)
        keep_pending(me->number, turn);
    if (get_gs() != gs)
        fail("the GS base", (long)get_gs(), (long)gs);
    set_gs(0);
    feclearexcept(FE_ALL_EXCEPT);
}

static void keeps_registers(uint64_t seed)
{
#if defined(__x86_64__)
    struct sigaction action = {.sa_sigaction = traps, .sa_flags = SA_SIGINFO};
    sigaction(SIGFPE, &action, NULL);
#endif
    for (int i = 0; i < 20; i++) {
        members = 2 + (uint32_t)i % 5;
        open_shaken(seed + (uint64_t)i);
        for (int j = 0; j < 5; j++)
            run_region(registers, NULL);
        dissolve_shaken();
    }
    printf("ok fold: exception flags, pending exceptions and the GS base go with a context\n");
}

static void join_and_leave(void)
{
    for (members = 2; members <= 9; members += 7) {
        memset(counts, 0, sizeof counts);
        mine = 0;
        pthread_barrier_init(&kernel, NULL, members);
        for (uint32_t i = 1; i < members; i++)
            pthread_create(&threads[i], NULL, joins, (void *)(uintptr_t)i);
        joins((void *)0);
        for (uint32_t i = 1; i < members; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&kernel);
    }
    printf("ok fold: joined and left in the middle of a region\n");
}

#include "recall.h"

static void meetings(void *rounds, struct nm_context *me)
{
    for (uint32_t i = 0; i < *(uint32_t *)rounds; i++)
        nm_fold_barrier(me);
}

static void nothing(void *unused, struct nm_context *me)
{
    (void)unused;
    (void)me;
}

static void cost(void)
{
    static const uint32_t sizes[] = {2, 4, 8, 16, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        members = sizes[i];
        uint32_t rounds = 400000 / members;
        nm_fold_open(members, 1, region, NULL);
        run_region(meetings, &rounds);
        double start = now();
        run_region(meetings, &rounds);
        double barrier = now() - start;
        start = now();
        for (uint32_t j = 0; j < rounds; j++)
            run_region(nothing, NULL);
        double empty = now() - start;
        nm_fold_dissolve();
        printf("cost fold: %2u on 1: meeting %.1f ns a thread, empty region %.1f ns\n", members,
               1e9 * barrier / rounds / members, 1e9 * empty / rounds);
    }
}

int main(int argc, char **argv)
{
    root_tid = (pid_t)syscall(SYS_gettid);
    if (nm_switch_refused() != NM_WHY_NONE) {
        printf("skipped fold: no user-space switching here (reason %d)\n", (int)nm_switch_refused());
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "cost") == 0) {
        cost();
        return 0;
    }
    races = argc > 1 && strcmp(argv[1], "race") == 0;
    if (races) {
        stress(0.2, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
        return 0;
    }
    join_and_leave();
    comes_last();
    lets_the_root_go_first();
    recalled(0.5, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    keeps_registers(argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    stress(argc > 1 ? strtod(argv[1], NULL) : 2.0, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    return 0;
}
