/* Loops with `ordered` in them, with every schedule. */
#include "torture.h"

#define ITERATIONS 240

static int trace[4 * ITERATIONS], traced;

static void step(int i)
{
    trace[traced++ % (4 * ITERATIONS)] = i;
}

static void note_trace(void)
{
    note((uint64_t)traced);
    for (int i = 0; i < traced && i < 4 * ITERATIONS; i++)
        note((uint64_t)trace[i]);
    traced = 0;
}

static void ordered_static(void)
{
#pragma omp parallel for ordered schedule(static)
    for (int i = 0; i < ITERATIONS; i++) {
        uint64_t x = work((uint64_t)i, 10);
#pragma omp ordered
        step(i + (int)(x % 2));
    }
#pragma omp parallel for ordered schedule(static, 3)
    for (int i = ITERATIONS - 1; i >= 0; i -= 2) {
#pragma omp ordered
        step(i);
    }
    note_trace();
}

static void ordered_dynamic(void)
{
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < ITERATIONS; i++) {
#pragma omp ordered
        step(i);
    }
#pragma omp parallel for ordered schedule(dynamic, 4)
    for (int i = 0; i < ITERATIONS; i++) {
        if (i % 3 == 0) {
#pragma omp ordered
            step(i);
        }
    }
    note_trace();
}

static void ordered_guided(void)
{
#pragma omp parallel
    for (int r = 0; r < 3; r++) {
#pragma omp for ordered schedule(guided, 2)
        for (int i = 0; i < ITERATIONS; i++) {
#pragma omp ordered
            step(i * r);
        }
    }
    note_trace();
}

static void ordered_runtime(void)
{
    omp_set_schedule(omp_sched_dynamic, 2);
#pragma omp parallel for ordered schedule(runtime)
    for (int i = 0; i < ITERATIONS; i++) {
#pragma omp ordered
        step(i);
    }
    omp_set_schedule(omp_sched_static, 0);
    note_trace();
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"static", ordered_static}, {"dynamic", ordered_dynamic}, {"guided", ordered_guided}, {"runtime", ordered_runtime},
    };
    return TORTURE(parts);
}
