/* Arrays with one slot per thread, sized by omp_get_max_threads(), with canaries behind the last slot.
 * The program asks once for the array, and again (elsewhere) for the number of slots to add up. */
#include "check.h"
#include <omp.h>

enum { N = 10000, CANARY = 0x5ca1ab1e, CANARIES = 64 };

int main(int argc, char **argv)
{
    int slots = omp_get_max_threads();
    long long *slot = malloc(sizeof *slot * (size_t)(slots + CANARIES));
    long long sum = 0;
    if (!slot)
        return 2;
    for (int i = 0; i < CANARIES; i++)
        slot[slots + i] = CANARY;
    while (check_going(argc, argv)) {
        for (int i = 0; i < slots; i++)
            slot[i] = 0;
#pragma omp parallel
        {
            int t = omp_get_thread_num();
            if (t == 0)
                check_saw(omp_get_num_threads());
#pragma omp for schedule(dynamic, 64)
            for (int i = 0; i < N; i++)
                slot[t] += i;
        }
        sum = 0;
        int now = omp_get_max_threads();
        if (now > slots)
            check_fail("told %d threads first, %d later", slots, now);
        for (int i = 0; i < now; i++)
            sum += slot[i];
        check_equal("sum over the slots", sum, (long long)N * (N - 1) / 2);
        for (int i = 0; i < CANARIES; i++)
            check_equal("canary", slot[slots + i], CANARY);
    }
    return check_end("sized", sum);
}
