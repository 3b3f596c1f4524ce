/* waits.c - a folded team on one carrier, for contexts.sh: a debugger stops it while thread 2 runs
 * and the others wait.
 *
 * Plain threads stand for an OpenMP runtime.
 */
#include "../fold/fold.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMBERS 4u

static pthread_t threads[MEMBERS];

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

static void *member(void *number)
{
    nm_fold_member((uint32_t)(uintptr_t)number);
    return NULL;
}

static void region(void *unused)
{
    (void)unused;
    for (uint32_t i = 1; i < MEMBERS; i++)
        if (pthread_create(&threads[i], NULL, member, (void *)(uintptr_t)i))
            abort();
    nm_fold_member(0);
    for (uint32_t i = 1; i < MEMBERS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    if (nm_switch_refused() != NM_WHY_NONE) {
        puts("skipped waits: no user-space switching here");
        return 0;
    }
    if (!nm_fold_open(MEMBERS, 1, region, NULL))
        return 1;
    nm_fold_run(work, NULL);
    nm_fold_dissolve();
    puts("all threads have gone home");
    return 0;
}
