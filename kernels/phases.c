/* phases.c - computes in parallel for a while, then one thread waits as for a
 * device, again and again: while one of two such programs waits, the other can
 * use its processors. The parallel phase has regions of some milliseconds.
 * Checksum: the array. */
#define _POSIX_C_SOURCE 200809L
#include "kernel.h"

#include <omp.h>
#include <time.h>

static const struct kernel_about about = {
    .name = "phases", .what = "Alternates a parallel phase with a 60 ms wait on one thread.",
    .size_unit = "numbers", .size = 1 << 16, .size_min = 64, .size_max = 1 << 24,
    .reps_unit = "parallel phases and waits", .reps = 4, .may_be_late = true,
};

enum { REGIONS = 20, STEPS = 20, WAIT_MS = 60 };

static void wait_sequentially(void)
{
    struct timespec left = {0, WAIT_MS * 1000000L};
    while (nanosleep(&left, &left) != 0)
        continue;
}

static uint64_t steps(uint64_t x)
{
    for (int k = 0; k < STEPS; k++)
        x = kernel_hash(x);
    return x;
}

static void compute(uint64_t *numbers, long size)
{
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < size; i++) {
            if (i == 0)
                kernel_note_team(omp_get_num_threads());
            numbers[i] = steps(numbers[i]);
        }
    }
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    uint64_t *numbers = kernel_alloc((size_t)args.size, sizeof *numbers);
    long done = 0;

    for (long i = 0; i < args.size; i++)
        numbers[i] = (uint64_t)i;
    kernel_begin();
    for (; kernel_more(done); done++) {
        if (args.late)
            wait_sequentially();
        compute(numbers, args.size);
        if (!args.late)
            wait_sequentially();
    }
    kernel_end();

    bool ok = true;
    for (long i = 0; ok && i < args.size; i += args.size / 8) {
        uint64_t x = (uint64_t)i;
        for (long k = 0; k < done * REGIONS; k++)
            x = steps(x);
        ok = kernel_expect(numbers[i] == x, "every number took every step");
    }
    return kernel_report(done, kernel_checksum(0, numbers, (size_t)args.size * sizeof *numbers), ok);
}
