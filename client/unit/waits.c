/* waits.c - a folded team on one carrier, for contexts.sh: a debugger stops it while thread 2 runs
 * and the others wait.
 *
 * Plain threads stand for an OpenMP runtime.
 */
#define SUITE "waits"
#include "team.h"

/* The debugger's breakpoint. */
__attribute__((noinline)) void stop_here(uint32_t number)
{
    __asm__ volatile("" : : "r"(number) : "memory");
}

__attribute__((noinline)) void solve(struct nm_context *me)
{
    for (int round = 0; round < 10; round++) {
        if (me->number == 2 && round == 5)
            stop_here(me->number);
        nm_fold_barrier(me);
    }
    __asm__ volatile("" : : : "memory");
}

static void work(void *unused, struct nm_context *me)
{
    (void)unused;
    solve(me);
    __asm__ volatile("" : : : "memory");
}

int main(void)
{
    if (nm_switch_refused() != NM_WHY_NONE) {
        puts("skipped waits: no user-space switching here");
        return 0;
    }
    members = 4;
    if (!nm_fold_open(members, 1, region, NULL))
        return 1;
    run_region(work, NULL);
    nm_fold_dissolve();
    puts("all threads have gone home");
    return 0;
}
