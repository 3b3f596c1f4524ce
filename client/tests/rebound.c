/* The thread that opens the regions binds itself, and stays where it is through regions of one
 * thread: libomp takes all processors for a moment there, and puts back the mask that it has read.
 */
#include "check.h"
#include <omp.h>
#include <sched.h>

static cpu_set_t given;

static void bind_to(const cpu_set_t *set)
{
    if (sched_setaffinity(0, sizeof *set, set) != 0)
        check_fail("sched_setaffinity");
}

static void is_on(const cpu_set_t *set, const char *when)
{
    cpu_set_t now;
    sched_getaffinity(0, sizeof now, &now);
    if (!CPU_EQUAL(&now, set))
        check_fail("%s: %d processors and not %d, in round %ld", when, CPU_COUNT(&now), CPU_COUNT(set), check_rounds);
}

static void alone(const cpu_set_t *set)
{
#pragma omp parallel num_threads(1)
    is_on(set, "in a region of one thread");
    is_on(set, "after a region of one thread");
    int all = omp_get_max_threads();
    omp_set_num_threads(1);
#pragma omp parallel
    is_on(set, "in a region that is set to one thread");
    omp_set_num_threads(all);
    is_on(set, "after a region that is set to one thread");
}

/* A region of all threads; the one that has opened it looks where it is, and binds itself. */
static void together(const cpu_set_t *is, const cpu_set_t *becomes)
{
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
            is_on(is, "in a region of all threads");
            bind_to(becomes);
            is_on(becomes, "bound");
        }
#pragma omp single
        check_saw(omp_get_num_threads());
    }
}

int main(int argc, char **argv)
{
    cpu_set_t one;
    sched_getaffinity(0, sizeof given, &given);
    while (check_going(argc, argv)) {
        int number = 0;
        while (!CPU_ISSET(number, &given))
            number++;
        CPU_ZERO(&one);
        CPU_SET(number, &one);
        together(&given, &one);
        alone(&one);
        together(&one, &one);
        alone(&one);
        together(&one, &given);
        alone(&given);
    }
    return check_end("rebound", 0);
}
