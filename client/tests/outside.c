/* Computes chunks outside the region from omp_get_max_threads(), and uses them by thread number
 * inside: the size that it was told must hold. With "again" as second argument it asks before every
 * region, at one place. With "places" it asks at two places: once for the partition, and elsewhere
 * for another purpose. With "wrapper" both questions come from one function of the program. */
#include "check.h"
#include <omp.h>
#include <string.h>

enum { N = 20000 };
static int cell[N];
static int first[1025];

static void __attribute__((noinline)) partition(int threads)
{
    for (int t = 0; t <= threads; t++)
        first[t] = (int)((long)N * t / threads);
}

static int __attribute__((noinline)) threads_of_this_program(void)
{
    int n = omp_get_max_threads();
    __asm__ volatile("" ::: "memory"); /* no tail call: the question must come from this function */
    return n;
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "once";
    int again = !strcmp(how, "again"), places = !strcmp(how, "places"), wrapper = !strcmp(how, "wrapper");
    long long sum = 0;
    int other = 0;
    if (!again)
        partition(wrapper ? threads_of_this_program() : omp_get_max_threads());
    while (check_going(argc, argv)) {
        if (again)
            partition(omp_get_max_threads());
        if (places)
            other += omp_get_max_threads();
        if (wrapper)
            other += threads_of_this_program();
#pragma omp parallel
        {
            int t = omp_get_thread_num();
            if (t == 0)
                check_saw(omp_get_num_threads());
            for (int i = first[t]; i < first[t + 1]; i++)
                cell[i] += i % 7 + 1;
        }
        sum = 0;
        for (int i = 0; i < N; i++) {
            check_equal("cell", cell[i], i % 7 + 1);
            sum += cell[i];
            cell[i] = 0;
        }
    }
    if (other < 0)
        check_fail("told %d threads in all", other);
    return check_end("outside", sum);
}
