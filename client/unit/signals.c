/* signals.c - signals for one context of a folded team: that one handles each, whatever its kernel
 * thread runs when the signal comes, and however contexts come home and leave.
 *
 * Arguments: seconds (default 2), seed (default 1).
 */
#define SUITE "signals"
#include "team.h"

#include "../fold/sanitize.h"

#include <signal.h>
#include <sys/time.h>

/* ThreadSanitizer holds a signal back until the context calls the C library. */
#ifdef NM_SANITIZED
#define HOLDS_SIGNALS true
#else
#define HOLDS_SIGNALS false
#endif

/* Each context signals the next one: each handles its own signal, whatever its kernel thread was
 * running when the signal came. */
static __thread volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    handled++;
}

static void signal_the_next(void *argument, struct nm_context *me)
{
    (void)argument;
    uint32_t neighbour = (me->number + 1) % members;
    handled = 0;
    nm_fold_barrier(me);
    if (me->number == 0)
        nm_fold_roam(true);
    nm_fold_go_home(me);
    if (nm_fold_signal(neighbour, SIGUSR1) != 0)
        fail("members that could be signalled", 0, 1);
    nm_fold_barrier(me);
    for (int i = 0; i < 5000 && handled == 0; i++)
        usleep(1000);
    if (handled != 1)
        fail("signals that a member has handled", handled, 1);
    nm_fold_barrier(me);
    if (me->number == 0)
        nm_fold_roam(false);
    nm_fold_leave_home(me);
}

static void to_another(double seconds)
{
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    long regions = 0;
    for (double until = now() + seconds; now() < until;) {
        members = draw(4) == 0 ? MOST : 2 + draw(15);
        open_shaken((uint64_t)regions + 1);
        for (uint32_t i = 0; i < 10; i++, regions++)
            run_region(signal_the_next, NULL);
        dissolve_shaken();
    }
    printf("ok signals: signals for one member are handled by that one, %ld regions\n", regions);
}

/* A thread outside of the team signals one context after the other and waits for each answer, as a
 * collector does that stops all threads. Meanwhile the contexts go home and leave it. */
static _Atomic bool asked[MOST];

static void answer(int number)
{
    (void)number;
    static const char what[] = "FAILED signals: a context handled a signal that was for another one\n";
    struct nm_context *me = nm_context_self;
    if ((!me || !atomic_exchange(&asked[me->number], false)) && write(2, what, sizeof what - 1) > 0)
        _exit(1);
}

static void comes_and_goes(void *argument, struct nm_context *me)
{
    uint32_t own = *(uint32_t *)argument + me->number;
    if (me->number == 0)
        nm_fold_roam(own % 2);
    for (int i = 0; i < 20; i++) {
        own = own * 1664525u + 1013904223u;
        if (own >> 30 == 0)
            nm_fold_go_home(me);
        else if (me->home)
            nm_fold_leave_home(me);
        if (own >> 24 == 0)
            usleep(100);
        nm_fold_barrier(me);
    }
    if (me->number == 0)
        nm_fold_roam(false);
}

static void *ask(void *seed)
{
    uint64_t own = (uintptr_t)seed, answers = 0;
    for (; !over; answers++) {
        next(&own);
        uint32_t member = (own >> 33) % 3 == 0 ? 0 : (uint32_t)((own >> 40) % members);
        atomic_store(&asked[member], true);
        if (nm_fold_signal(member, SIGUSR1) != 0)
            fail("members that could be signalled", 0, 1);
        for (double until = now() + 10; atomic_load(&asked[member]);)
            if (now() > until)
                fail("the context that has not answered its signal", member, -1);
    }
    return (void *)(uintptr_t)answers;
}

static void from_outside(double seconds)
{
    struct sigaction action = {.sa_handler = answer}, before;
    sigaction(SIGUSR1, &action, &before);
    uintptr_t answers = 0;
    for (double until = now() + seconds; now() < until;) {
        members = 2 + draw(7);
        open_shaken(draw(1u << 30));
        pthread_t asker;
        pthread_create(&asker, NULL, ask, (void *)(uintptr_t)draw(1u << 30));
        for (double until_next = now() + 0.05; now() < until_next;) {
            uint32_t seed = draw(1u << 30);
            run_region(comes_and_goes, &seed);
        }
        over = true;
        void *of_this_team;
        pthread_join(asker, &of_this_team);
        answers += (uintptr_t)of_this_team;
        dissolve_shaken();
    }
    sigaction(SIGUSR1, &before, NULL);
    if (answers == 0)
        fail("signals that were answered", 0, 1);
    printf("ok signals: %lu signals from outside, each answered by its context\n", (unsigned long)answers);
}

/* A timer of the process, whose signals come to the root's kernel thread whatever it runs: the root
 * handles them. A context that they interrupt goes on with the mask and the alternate stack of the
 * kernel thread that runs it on. */
static _Atomic long by_root, sums[MOST];

static void hand_on(int number, siginfo_t *info, void *interrupted)
{
    static const char what[] = "FAILED signals: a signal of the process was not handled by the root\n";
    if (nm_fold_takes(number, info, interrupted))
        return;
    struct nm_context *me = nm_context_self;
    /* A thread at home takes signals as any other does. */
    if (me && me->number != 0 && !me->home && write(2, what, sizeof what - 1) > 0)
        _exit(1);
    by_root += me && me->number == 0;
}

static void is_interrupted(void *argument, struct nm_context *me)
{
    (void)argument;
    sigset_t mask;
    stack_t stack;
    for (int i = 0; i < 300; i++) {
        for (volatile int work = 0; work < 300; work++)
            ;
        sums[me->number] += i;
        if (i % 7 == 0)
            nm_fold_yield(me);
        nm_fold_barrier(me);
    }
    if (me->number != 0) {
        nm_fold_go_home(me);
        if (sigaltstack(NULL, &stack) != 0 || !(stack.ss_flags & SS_DISABLE))
            fail("threads that have the root's alternate stack", 1, 0);
        if (pthread_sigmask(SIG_SETMASK, NULL, &mask) != 0 || sigismember(&mask, SIGALRM))
            fail("threads that block the root's signals at home", 1, 0);
        nm_fold_leave_home(me);
    }
}

static void of_the_process(double seconds)
{
    static char room[65536];
    struct sigaction action = {.sa_sigaction = hand_on, .sa_flags = SA_SIGINFO | SA_RESTART}, before;
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room}, none = {.ss_flags = SS_DISABLE};
    sigfillset(&action.sa_mask);
    sigaction(SIGALRM, &action, &before);
    sigaltstack(&stack, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (double until = now() + seconds; now() < until;) {
        members = 2 + draw(15);
        open_shaken(draw(1u << 30));
        for (uint32_t i = 0; i < MOST; i++)
            sums[i] = 0;
        for (uint32_t i = 0; i < 10; i++)
            run_region(is_interrupted, NULL);
        dissolve_shaken();
        for (uint32_t i = 0; i < members; i++)
            if (sums[i] != 10 * 300 * 299 / 2)
                fail("the sum of a context that is interrupted", sums[i], 10 * 300 * 299 / 2);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaltstack(&none, NULL);
    sigaction(SIGALRM, &before, NULL);
    if (by_root == 0)
        fail("signals of the process that the root has handled", 0, 1);
    printf("ok signals: %ld signals of the process, all handled by the root\n", by_root);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 2.0;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (nm_switch_refused() != NM_WHY_NONE) {
        printf("skipped signals: no user-space switching here (reason %d)\n", (int)nm_switch_refused());
        return 0;
    }
    to_another(seconds / 3);
    if (HOLDS_SIGNALS)
        return 0;
    from_outside(seconds / 3);
    of_the_process(seconds / 3);
    return 0;
}
