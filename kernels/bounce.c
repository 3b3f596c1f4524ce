/* bounce.c - every iteration adds to the same counters with an atomic operation,
 * so their cache line travels from thread to thread: a program that is slower
 * with two threads than with one, for policies that measure speedup.
 * Checksum: the counters (sums of integers). */
#include "kernel.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "bounce", .what = "Atomic additions to one cache line; more threads are slower.",
    .size_unit = "additions per region, thousands", .size = 100, .size_min = 1, .size_max = 1 << 20,
    .reps_unit = "regions", .reps = 200,
};

enum { COUNTERS = 8 }; /* one line of 64 bytes */

static void add(uint64_t *counters, long additions)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < additions; i++) {
        if (i == 0)
            kernel_note_team(omp_get_num_threads());
#pragma omp atomic
        counters[i % COUNTERS] += (uint64_t)i + 1;
    }
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    uint64_t *counters = kernel_alloc(COUNTERS, sizeof *counters);
    long additions = args.size * 1000, done = 0;

    kernel_begin();
    for (; kernel_more(done); done++)
        add(counters, additions);
    kernel_end();

    /* Counter k got k+1, k+1+8, ... in each region. */
    bool ok = true;
    for (long k = 0; ok && k < COUNTERS; k++) {
        uint64_t terms = (uint64_t)((additions - k + COUNTERS - 1) / COUNTERS);
        uint64_t sum = terms * (uint64_t)(k + 1) + COUNTERS * (terms * (terms - 1) / 2);
        ok = kernel_expect(counters[k] == sum * (uint64_t)done, "no addition was lost");
    }
    return kernel_report(done, kernel_checksum(0, counters, COUNTERS * sizeof *counters), ok);
}
