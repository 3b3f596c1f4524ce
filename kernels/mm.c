/* mm.c - dense matrix multiply (MM of Brecht 1993 and 1997): regions of
 * milliseconds over data that can be entirely local.
 * Checksum: the accumulated product. */
#include "product.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "mm", .what = "C += A*B for square matrices of doubles, one region per product.",
    .size_unit = "rows and columns", .size = 192, .size_min = 4, .size_max = 4096,
    .reps_unit = "products", .reps = 25,
};

static void multiply_add(const struct product *m)
{
    long n = m->n;
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        if (i == 0)
            kernel_note_team(omp_get_num_threads());
        for (long k = 0; k < n; k++)
            for (long j = 0; j < n; j++)
                m->c[i * n + j] += m->a[i * n + k] * m->b[k * n + j];
    }
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct product m = product_new(args.size);
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++)
        multiply_add(&m);
    kernel_end();
    return kernel_report(done, product_checksum(&m), product_verify(&m, done));
}
