/* flush.c - FLUSH of Antonopoulos et al. 2004: fills a cache once and then
 * lives in it until it is suspended. Bus traffic: one cache fill, then none.
 * Each suspension loses the cache's contents.
 * Checksum: the array. */
#include "sweep.h"

static const struct kernel_about about = {
    .name = "flush", .what = "Fills a cache and reuses it: traffic only after a suspension.",
    .size_unit = "kilobytes of the array (the cache's size)",
    .size = 1024, .size_min = 1, .size_max = 1 << 24,
    .reps_unit = "regions of 200 passes", .reps = 20,
};

int main(int argc, char **argv)
{
    return sweep_main(&about, argc, argv, SWEEP_LINE_WORDS, 200);
}
