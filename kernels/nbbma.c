/* nbbma.c - nBBMA of Antonopoulos et al. 2004: the same accesses as bbma's on an
 * array that stays in the nearest cache, so there is next to no bus traffic.
 * Checksum: the array. */
#include "sweep.h"

static const struct kernel_about about = {
    .name = "nbbma", .what = "Accesses that stay in the first cache: no memory traffic.",
    .size_unit = "kilobytes of the array (at most the first cache's size)",
    .size = 16, .size_min = 1, .size_max = 1 << 20,
    .reps_unit = "regions of 5000 passes", .reps = 20,
};

int main(int argc, char **argv)
{
    return sweep_main(&about, argc, argv, 1, 5000);
}
