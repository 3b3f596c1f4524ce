/* mm.c - dense matrix multiply (MM of Brecht 1993 and 1997): regions of
 * milliseconds over data that can be entirely local.
 * The matrices hold small integers, so that every sum is exact.
 * Checksum: the accumulated product. */
#include "kernel.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "mm", .what = "C += A*B for square matrices of doubles, one region per product.",
    .size_unit = "rows and columns", .size = 192, .size_min = 4, .size_max = 4096,
    .reps_unit = "products", .reps = 25,
};

static void multiply_add(long n, const double *a, const double *b, double *c)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        if (i == 0)
            kernel_note_team(omp_get_num_threads());
        for (long k = 0; k < n; k++)
            for (long j = 0; j < n; j++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

/* C r = reps * A (B r) for a vector of small integers (Freivalds 1977),
 * exactly, since all are integers. No entry of r is 0, so a single wrong
 * entry of C always shows; four vectors are tried. */
static bool verify(long n, const double *a, const double *b, const double *c, long reps)
{
    double *r = kernel_alloc((size_t)n, sizeof *r), *br = kernel_alloc((size_t)n, sizeof *br);
    bool ok = true;
    for (int round = 0; round < 4; round++) {
        for (long j = 0; j < n; j++)
            r[j] = (double)(kernel_hash((uint64_t)(round * n + j)) % 7 + 1);
        for (long k = 0; k < n; k++) {
            br[k] = 0;
            for (long j = 0; j < n; j++)
                br[k] += b[k * n + j] * r[j];
        }
        for (long i = 0; ok && i < n; i++) {
            double left = 0, right = 0;
            for (long j = 0; j < n; j++) {
                left += c[i * n + j] * r[j];
                right += a[i * n + j] * br[j];
            }
            ok = kernel_expect(left == (double)reps * right, "C r = reps A (B r)");
        }
    }
    return ok;
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    long n = args.size, done = 0;
    size_t elements = (size_t)n * (size_t)n;
    double *a = kernel_alloc(elements, sizeof *a), *b = kernel_alloc(elements, sizeof *b);
    double *c = kernel_alloc(elements, sizeof *c);
    for (size_t i = 0; i < elements; i++) {
        a[i] = (double)(kernel_hash(2 * i) % 17) - 8;
        b[i] = (double)(kernel_hash(2 * i + 1) % 13) - 6;
    }

    kernel_begin();
    for (; kernel_more(done); done++)
        multiply_add(n, a, b, c);
    kernel_end();
    return kernel_report(done, kernel_checksum(0, c, elements * sizeof *c), verify(n, a, b, c, done));
}
