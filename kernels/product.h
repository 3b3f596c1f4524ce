/* product.h - the operands of mm and blas_mm, and the proof that a product is
 * right. All entries are small integers, so every sum is exact in any order.
 */
#ifndef PRODUCT_H
#define PRODUCT_H

#include "kernel.h"

struct product {
    long n;
    double *a, *b, *c; /* n x n each, by rows */
};

static inline struct product product_new(long n)
{
    size_t elements = (size_t)n * (size_t)n;
    struct product m = {.n = n};
    m.a = kernel_alloc(elements, sizeof *m.a);
    m.b = kernel_alloc(elements, sizeof *m.b);
    m.c = kernel_alloc(elements, sizeof *m.c);
    for (size_t i = 0; i < elements; i++) {
        m.a[i] = (double)(kernel_hash(2 * i) % 17) - 8;
        m.b[i] = (double)(kernel_hash(2 * i + 1) % 13) - 6;
    }
    return m;
}

static inline uint64_t product_checksum(const struct product *m)
{
    return kernel_checksum(0, m->c, (size_t)(m->n * m->n) * sizeof *m->c);
}

/* Checks C r = reps * A (B r) for a vector of small integers (Freivalds 1977),
 * exactly, since all are integers. No entry of r is 0, so a single wrong entry
 * of C always shows; four vectors are tried. */
static inline bool product_verify(const struct product *m, long reps)
{
    long n = m->n;
    double *r = kernel_alloc((size_t)n, sizeof *r), *br = kernel_alloc((size_t)n, sizeof *br);
    bool ok = true;
    for (int round = 0; round < 4; round++) {
        for (long j = 0; j < n; j++)
            r[j] = (double)(kernel_hash((uint64_t)(round * n + j)) % 7 + 1);
        for (long k = 0; k < n; k++) {
            br[k] = 0;
            for (long j = 0; j < n; j++)
                br[k] += m->b[k * n + j] * r[j];
        }
        for (long i = 0; ok && i < n; i++) {
            double left = 0, right = 0;
            for (long j = 0; j < n; j++) {
                left += m->c[i * n + j] * r[j];
                right += m->a[i * n + j] * br[j];
            }
            ok = kernel_expect(left == (double)reps * right, "C r = reps A (B r)");
        }
    }
    return ok;
}

#endif
