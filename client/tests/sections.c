/* `parallel sections` whose sections hand values to each other: they need a thread each. */
#include "check.h"
#include <omp.h>
#include <sched.h>

enum { ITEMS = 20 };
static int ping, pong;

static void await(int *flag, int value)
{
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value)
        sched_yield();
}

int main(int argc, char **argv)
{
    long long sum = 0;
    while (check_going(argc, argv)) {
        long long here = 0, there = 0;
        ping = pong = 0;
#pragma omp parallel sections
        {
#pragma omp section
            {
                check_saw(omp_get_num_threads());
                for (int i = 1; i <= ITEMS; i++) {
                    __atomic_store_n(&ping, i, __ATOMIC_RELEASE);
                    await(&pong, i);
                    here += i;
                }
            }
#pragma omp section
            for (int i = 1; i <= ITEMS; i++) {
                await(&ping, i);
                there += 2 * i;
                __atomic_store_n(&pong, i, __ATOMIC_RELEASE);
            }
        }
        sum = here + there;
        check_equal("sum", sum, 3LL * ITEMS * (ITEMS + 1) / 2);
    }
    return check_end("sections", sum);
}
