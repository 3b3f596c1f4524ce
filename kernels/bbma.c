/* bbma.c - BBMA of Antonopoulos et al. 2004: back-to-back memory accesses. It
 * touches one word per cache line of an array larger than the last cache,
 * so every access is a bus transaction; one instance is near saturation.
 * Checksum: the array. */
#include "sweep.h"

static const struct kernel_about about = {
    .name = "bbma", .what = "Back-to-back memory accesses: saturates the memory bus.",
    .size_unit = "kilobytes of the array (well above the last cache's size)",
    .size = 131072, .size_min = 1, .size_max = 1 << 26,
    .reps_unit = "regions of one pass", .reps = 10,
};

int main(int argc, char **argv)
{
    return sweep_main(&about, argc, argv, SWEEP_LINE_WORDS, 1);
}
