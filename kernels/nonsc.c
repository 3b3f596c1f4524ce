/* nonsc.c - nearly all of the work is in one critical section: a program that
 * more threads do not make faster, for policies that measure speedup.
 * Checksum: the table (its entries are sums of integers). */
#include "kernel.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "nonsc", .what = "Updates of one table in a critical section; does not scale.",
    .size_unit = "updates per region", .size = 500, .size_min = 1, .size_max = 1 << 24,
    .reps_unit = "regions", .reps = 200,
};

enum { ENTRIES = 64, STEPS = 1024 };

static void update(uint64_t *table, unsigned char *done, long items)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < items; i++) {
        if (i == 0)
            kernel_note_team(omp_get_num_threads());
#pragma omp critical
        {
            /* A chain: each place depends on the one before. */
            uint64_t place = (uint64_t)i;
            for (int k = 0; k < STEPS; k++) {
                place = place * 2862933555777941757U + 3037000493U;
                table[place >> 58]++;
            }
        }
        done[i]++;
    }
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    uint64_t *table = kernel_alloc(ENTRIES, sizeof *table), total = 0;
    unsigned char *counts = kernel_alloc((size_t)args.size, 1);
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++)
        update(table, counts, args.size);
    kernel_end();

    bool ok = true;
    for (int k = 0; k < ENTRIES; k++)
        total += table[k];
    ok &= kernel_expect(total == (uint64_t)done * (uint64_t)args.size * STEPS, "no update was lost");
    for (long i = 0; ok && i < args.size; i++)
        ok = kernel_expect(counts[i] == (unsigned char)done, "every item ran in every region");
    return kernel_report(done, kernel_checksum(0, table, ENTRIES * sizeof *table), ok);
}
