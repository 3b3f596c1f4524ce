/* gauss.h - one block of work of ep and epd: pseudo-random pairs and how many
 * of them fall into the unit circle and into each annulus (NAS EP, Bailey et
 * al. 1991, with a counter-based generator, so that blocks are independent).
 */
#ifndef GAUSS_H
#define GAUSS_H

#include "kernel.h"

#include <math.h>

enum { GAUSS_RINGS = 10, GAUSS_PAIRS = 512 };

/* One block's counts, a cache line multiple apart from the next block's. */
struct gauss_block {
    uint64_t ring[GAUSS_RINGS]; /* deviates whose larger coordinate is in [k, k+1) */
    uint64_t rejected;          /* pairs outside the unit circle */
    uint64_t visits;            /* how often the block was computed */
    uint64_t pad[4];
};

/* Computes block `id`'s pairs of generation `generation` and adds their counts. */
static inline void gauss_add(struct gauss_block *block, long id, long generation)
{
    uint64_t base = (kernel_hash((uint64_t)id) ^ (uint64_t)generation) * (2 * GAUSS_PAIRS);
    for (uint64_t k = 0; k < GAUSS_PAIRS; k++) {
        double x = 2 * kernel_uniform(base + 2 * k) - 1;
        double y = 2 * kernel_uniform(base + 2 * k + 1) - 1;
        double t = x * x + y * y;
        if (t > 1 || t == 0) {
            block->rejected++;
            continue;
        }
        double f = sqrt(-2 * log(t) / t);
        double larger = fmax(fabs(x * f), fabs(y * f));
        block->ring[larger < GAUSS_RINGS ? (int)larger : GAUSS_RINGS - 1]++;
    }
    block->visits++;
}

/* True if each block was computed `visits` times, no pair is lost, and the
 * share of accepted pairs is pi/4 within five standard deviations. */
static inline bool gauss_verify(const struct gauss_block *blocks, long count, const long *visits)
{
    uint64_t rejected = 0, pairs = 0;
    bool ok = true;
    for (long b = 0; ok && b < count; b++) {
        uint64_t here = blocks[b].rejected;
        for (int k = 0; k < GAUSS_RINGS; k++)
            here += blocks[b].ring[k];
        ok &= kernel_expect(blocks[b].visits == (uint64_t)visits[b], "every block ran in every region");
        ok &= kernel_expect(here == blocks[b].visits * GAUSS_PAIRS, "every pair was counted once");
        rejected += blocks[b].rejected;
        pairs += here;
    }
    double quarter_pi = 0.78539816339744831, n = (double)pairs;
    double spread = 5 * sqrt(quarter_pi * (1 - quarter_pi) / n);
    return ok & kernel_expect(fabs((n - (double)rejected) / n - quarter_pi) < spread,
                              "pi/4 of the pairs are in the circle");
}

#endif
