/* Asks omp_get_max_threads() before each region, sizes an array by the answer, and counts on a team
 * of that size: in a region without a size and in one that names it. */
#include "check.h"
#include <omp.h>

enum { N = 20000 };
static long long part[1024];

static long long sum_of(int team)
{
    long long sum = 0;
    for (int t = 0; t < team; t++)
        sum += part[t];
    return sum;
}

static void add(int team)
{
    int t = omp_get_thread_num();
    if (omp_get_num_threads() != team)
        check_fail("a team of %d threads, not %d", omp_get_num_threads(), team);
    part[t] = 0;
    for (int i = (int)((long)N * t / team); i < (int)((long)N * (t + 1) / team); i++)
        part[t] += i;
}

int main(int argc, char **argv)
{
    while (check_going(argc, argv)) {
        int team = omp_get_max_threads();
        check_saw(team);
#pragma omp parallel
        add(team);
        check_equal("sum", sum_of(team), (long long)N * (N - 1) / 2);
        team = omp_get_max_threads();
#pragma omp parallel num_threads(team)
        add(team);
        check_equal("sum", sum_of(team), (long long)N * (N - 1) / 2);
    }
    return check_end("asks", (long long)N * (N - 1) / 2);
}
