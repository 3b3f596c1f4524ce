/* `parallel sections` whose sections hand values to each other: each needs a thread of its own.
 * With "inner" as second argument the sections stand inside a region that has more to do. */
#include "check.h"
#include <omp.h>
#include <sched.h>
#include <string.h>

enum { ITEMS = 20 };
static int ping, pong;

static void await(int *flag, int value)
{
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value)
        sched_yield();
}

static long long here, there;

static void ask(void)
{
    check_saw(omp_get_num_threads());
    for (int i = 1; i <= ITEMS; i++) {
        __atomic_store_n(&ping, i, __ATOMIC_RELEASE);
        await(&pong, i);
        here += i;
    }
}

static void answer(void)
{
    for (int i = 1; i <= ITEMS; i++) {
        await(&ping, i);
        there += 2 * i;
        __atomic_store_n(&pong, i, __ATOMIC_RELEASE);
    }
}

static void combined(void)
{
#pragma omp parallel sections
    {
#pragma omp section
        ask();
#pragma omp section
        answer();
    }
}

static int inside_a_region(void)
{
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp for
        for (int i = 0; i < 100; i++)
            sum += i;
#pragma omp sections
        {
#pragma omp section
            ask();
#pragma omp section
            answer();
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    int inner = argc > 2 && !strcmp(argv[2], "inner");
    while (check_going(argc, argv)) {
        here = there = ping = pong = 0;
        if (inner)
            check_equal("sum of the loop", inside_a_region(), 4950);
        else
            combined();
        check_equal("sum", here + there, 3LL * ITEMS * (ITEMS + 1) / 2);
    }
    return check_end("sections", here + there);
}
