/* Every schedule gives every iteration once, and a static one gives the same thread the same
 * iterations after `nowait`. */
#include "check.h"
#include <omp.h>
#include <string.h>

enum { N = 3000 };
static int count[N], owner[N];

static void expect_all(const char *what, int times)
{
    for (int i = 0; i < N; i++)
        check_equal(what, count[i], times);
    memset(count, 0, sizeof count);
}

#define PRAGMA(text) _Pragma(#text)
#define LOOP(...)                                                                                                              \
    PRAGMA(omp parallel for __VA_ARGS__)                                                                                       \
    for (int i = 0; i < N; i++)                                                                                                \
        count[i]++;                                                                                                            \
    expect_all(#__VA_ARGS__, 1)

int main(int argc, char **argv)
{
    const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    while (check_going(argc, argv)) {
        int wrong = 0, members = 0;
        LOOP(schedule(static));
        LOOP(schedule(static, 7));
        LOOP(schedule(dynamic));
        LOOP(schedule(dynamic, 5));
        LOOP(schedule(guided));
        LOOP(schedule(guided, 3));
        LOOP(schedule(auto));
        LOOP(schedule(nonmonotonic : dynamic, 4));
        omp_set_schedule(kinds[check_rounds % 4], 11);
        LOOP(schedule(runtime));
        LOOP(schedule(static) collapse(1));
#pragma omp parallel reduction(+ : wrong, members)
        {
            members++;
#pragma omp for schedule(static) nowait
            for (int i = 0; i < N; i++)
                owner[i] = omp_get_thread_num();
#pragma omp for schedule(static) nowait
            for (int i = 0; i < N; i++)
                wrong += owner[i] != omp_get_thread_num();
        }
        check_saw(members);
        check_equal("iterations on another thread", wrong, 0);
    }
    return check_end("schedules", N);
}
