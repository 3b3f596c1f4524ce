/* num_threads(2) with a producer and a consumer that wait for each other with flags: with one
 * thread it never ends. */
#include "check.h"
#include <omp.h>
#include <sched.h>

enum { ITEMS = 50 };
static int full, item;

static void put(int value)
{
    while (__atomic_load_n(&full, __ATOMIC_ACQUIRE))
        sched_yield();
    item = value;
    __atomic_store_n(&full, 1, __ATOMIC_RELEASE);
}

static int get(void)
{
    while (!__atomic_load_n(&full, __ATOMIC_ACQUIRE))
        sched_yield();
    int value = item;
    __atomic_store_n(&full, 0, __ATOMIC_RELEASE);
    return value;
}

int main(int argc, char **argv)
{
    long long sum = 0;
    while (check_going(argc, argv)) {
        sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
        {
            check_equal("team", omp_get_num_threads(), 2);
            if (omp_get_thread_num() == 0) {
                check_saw(omp_get_num_threads());
                for (int i = 0; i < ITEMS; i++)
                    put(i * i);
            } else {
                for (int i = 0; i < ITEMS; i++)
                    sum += get();
            }
        }
        check_equal("sum", sum, (ITEMS - 1LL) * ITEMS * (2 * ITEMS - 1) / 6);
        /* A region without the clause in between, which gives the size a reason to change. */
        int members = 0;
#pragma omp parallel reduction(+ : members)
        members += 1;
        if (members < 1)
            check_fail("empty team");
    }
    return check_end("explicit", sum);
}
