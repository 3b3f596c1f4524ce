/* epd.c - the evolving diamond (EPD of Martorell et al. 2000, section 6):
 * region i has work for 2, 4, ..., MAX-2, MAX, MAX, MAX-2, ..., 2 threads.
 * By default the team is the runtime's choice and only the work varies, so the
 * program is malleable; with --explicit each region asks for its number with a
 * num_threads clause, as the original asks its library.
 * Checksum: the integer counts of every block. */
#include "gauss.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "epd", .what = "Evolving diamond: regions of 2, 4, .. N, N, .. 4, 2 units of work.",
    .size_unit = "widest region, in units (an odd number counts as the even one below)",
    .size = 8, .size_min = 2, .size_max = 4096,
    .reps_unit = "diamonds", .reps = 5, .may_be_explicit = true,
};

enum { UNIT_BLOCKS = 64 };

static inline void compute(struct gauss_block *blocks, long b, long generation)
{
    if (b == 0)
        kernel_note_team(omp_get_num_threads());
    gauss_add(&blocks[b], b, generation);
}

static void region(struct gauss_block *blocks, long width, long generation)
{
#pragma omp parallel for schedule(static)
    for (long b = 0; b < width * UNIT_BLOCKS; b++)
        compute(blocks, b, generation);
}

static void explicit_region(struct gauss_block *blocks, long width, long generation)
{
#pragma omp parallel for schedule(static) num_threads((int)width)
    for (long b = 0; b < width * UNIT_BLOCKS; b++)
        compute(blocks, b, generation);
}

/* The width of the diamond's step: 2, 4, .. max, max, .. 4, 2. */
static long width_of(long step, long max)
{
    return step < max / 2 ? 2 * (step + 1) : 2 * (max - step);
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    long max = args.size / 2 * 2, count = max * UNIT_BLOCKS, done = 0;
    struct gauss_block *blocks = kernel_alloc((size_t)count, sizeof *blocks);
    long *visits = kernel_alloc((size_t)count, sizeof *visits);

    kernel_begin();
    for (; kernel_more(done); done++)
        for (long step = 0; step < max; step++) {
            long width = width_of(step, max), generation = done * max + step;
            if (args.explicit_teams)
                explicit_region(blocks, width, generation);
            else
                region(blocks, width, generation);
        }
    kernel_end();

    for (long b = 0; b < count; b++)
        for (long step = 0; step < max; step++)
            visits[b] += width_of(step, max) * UNIT_BLOCKS > b ? done : 0;
    uint64_t sum = kernel_checksum(0, blocks, (size_t)count * sizeof *blocks);
    return kernel_report(done, sum, gauss_verify(blocks, count, visits));
}
