/* ep.c - embarrassingly parallel (NAS EP; N's coarse end of the scale): regions
 * of about 10 ms that share nothing and scale perfectly.
 * Checksum: the integer counts of every block. */
#include "gauss.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "ep", .what = "Gaussian deviates by acceptance, one long region per repetition.",
    .size_unit = "blocks of 512 pairs per region", .size = 1024, .size_min = 1, .size_max = 1 << 22,
    .reps_unit = "regions", .reps = 10,
};

static void generate(struct gauss_block *blocks, long count, long generation)
{
#pragma omp parallel for schedule(static)
    for (long b = 0; b < count; b++) {
        if (b == 0)
            kernel_note_team(omp_get_num_threads());
        gauss_add(&blocks[b], b, generation);
    }
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct gauss_block *blocks = kernel_alloc((size_t)args.size, sizeof *blocks);
    long *visits = kernel_alloc((size_t)args.size, sizeof *visits);
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++)
        generate(blocks, args.size, done);
    kernel_end();
    for (long b = 0; b < args.size; b++)
        visits[b] = done;
    uint64_t sum = kernel_checksum(0, blocks, (size_t)args.size * sizeof *blocks);
    return kernel_report(done, sum, gauss_verify(blocks, args.size, visits));
}
