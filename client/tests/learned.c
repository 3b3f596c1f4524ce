/* Learns the team size with omp_get_num_threads() in an earlier region; later regions rely on it.
 * "once": learned at the start. "fixed": the program first revokes OMP_DYNAMIC with
 * omp_set_dynamic(0). "bounds": one region writes each thread's bounds anew in every round, another
 * one uses them by thread number. "late": the region that relies on it does not use its thread
 * number when it runs for the first time. */
#include "check.h"
#include <omp.h>
#include <string.h>

enum { N = 20000 };
static int cell[N];
static int size, low[1024], high[1024];

static void learn_size(void)
{
#pragma omp parallel
#pragma omp single
    size = omp_get_num_threads();
}

static void write_bounds(int items)
{
#pragma omp parallel
    {
        int t = omp_get_thread_num(), n = omp_get_num_threads();
        low[t] = (int)((long)items * t / n);
        high[t] = (int)((long)items * (t + 1) / n);
    }
}

static void fill_by_bounds(void)
{
#pragma omp parallel
    {
        int t = omp_get_thread_num();
        for (int i = low[t]; i < high[t]; i++)
            cell[i] += i % 7 + 1;
    }
}

static void __attribute__((noinline)) fill_by_size(int first_time)
{
#pragma omp parallel
    {
        if (!first_time) {
            int t = omp_get_thread_num();
            if (t >= size)
                check_fail("thread %d of a team that had %d threads", t, size);
            for (int i = (int)((long)N * t / size); i < (int)((long)N * (t + 1) / size); i++)
                cell[i] += i % 7 + 1;
        }
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "once";
    int bounds = !strcmp(how, "bounds"), late = !strcmp(how, "late");
    long long sum = 0;
    if (!strcmp(how, "fixed")) {
#pragma omp parallel
        check_saw(omp_get_num_threads());
        omp_set_dynamic(0);
    }
    learn_size();
    if (late)
        fill_by_size(1);
    while (check_going(argc, argv)) {
        if (bounds) {
            write_bounds(N);
            fill_by_bounds();
        } else {
            fill_by_size(0);
        }
        sum = 0;
        for (int i = 0; i < N; i++) {
            check_equal("cell", cell[i], i % 7 + 1);
            sum += cell[i];
            cell[i] = 0;
        }
    }
    return check_end("learned", sum);
}
