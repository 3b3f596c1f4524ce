/* hog.c - one thread that computes and never waits: load that belongs to no
 * parallel program. It has no parallel region.
 * Checksum: the end of its chain of numbers. */
#include "kernel.h"

static const struct kernel_about about = {
    .name = "hog", .what = "A sequential spinner without parallel regions.",
    .size_unit = "steps per repetition", .size = 1 << 20, .size_min = 1, .size_max = 1L << 40,
    .reps_unit = "repetitions", .reps = 100,
};

static const uint64_t factor = UINT64_C(6364136223846793005), term = UINT64_C(1442695040888963407);

/* The value of the chain after `steps` steps, by repeated squaring of x ->
 * factor x + term. */
static uint64_t jump(uint64_t x, uint64_t steps)
{
    uint64_t a = factor, c = term;
    for (; steps > 0; steps /= 2) {
        if (steps & 1)
            x = a * x + c;
        c *= a + 1;
        a *= a;
    }
    return x;
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    uint64_t x = 1;
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++)
        for (long k = 0; k < args.size; k++) {
            x = x * factor + term;
            __asm__ volatile("" : "+r"(x)); /* otherwise the compiler merges several steps into one */
        }
    kernel_end();
    bool ok = kernel_expect(x == jump(1, (uint64_t)done * (uint64_t)args.size),
                            "the chain ends where the closed form says");
    return kernel_report(done, kernel_checksum(0, &x, sizeof x), ok);
}
