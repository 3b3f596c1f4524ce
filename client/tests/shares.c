/* A library that shares work out: each construct belongs to the runtime that opens its region. See
 * mixed.c.
 */
#include <omp.h>

long shares(void);
int members(void);

long shares(void)
{
    long sum = 0;
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 100; i++) {
#pragma omp critical
            sum += i;
        }
#pragma omp single
        sum += 100000;
    }
    return sum;
}

int members(void)
{
    int sum = 0, mask = 0;
#pragma omp parallel reduction(+ : sum) reduction(| : mask)
    {
        sum += omp_get_num_threads();
        mask |= 1 << omp_get_thread_num();
#pragma omp barrier
    }
    return 1000 * sum + mask;
}
