/* mem.c - copy, scale, add and triad over three arrays far larger than any cache
 * (McCalpin 1995, STREAM): limited by memory bandwidth, so more threads help
 * little. The factor keeps the values bounded over any number of repetitions.
 * Checksum: the three arrays. */
#include "kernel.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "mem", .what = "STREAM's four loops over three large arrays, a region each.",
    .size_unit = "megabytes in all three arrays", .size = 96, .size_min = 1, .size_max = 1 << 20,
    .reps_unit = "rounds of four loops", .reps = 10,
};

/* sqrt(2) - 1: a round maps a to a (2 f + f f) = a. */
static const double factor = 0.41421356237309503;

struct arrays {
    long n;
    double *a, *b, *c;
};

/* One loop over all elements in a region of its own. */
#define REGION(m, assignment)                              \
    do {                                                   \
        _Pragma("omp parallel for schedule(static)")       \
        for (long i = 0; i < (m)->n; i++) {                \
            if (i == 0)                                    \
                kernel_note_team(omp_get_num_threads());   \
            assignment;                                    \
        }                                                  \
    } while (0)

static void fill(const struct arrays *m)
{
    REGION(m, (m->a[i] = 1.0 + (double)(i % 8), m->b[i] = 2.0, m->c[i] = 0.0));
}

static void a_round(const struct arrays *m)
{
    REGION(m, m->c[i] = m->a[i]);
    REGION(m, m->b[i] = factor * m->c[i]);
    REGION(m, m->c[i] = m->a[i] + m->b[i]);
    REGION(m, m->a[i] = m->b[i] + factor * m->c[i]);
}

/* The same arithmetic on one element of each of the eight kinds. */
static bool verify(const struct arrays *m, long done)
{
    double a[8], b[8] = {0}, c[8] = {0};
    for (int k = 0; k < 8; k++) {
        a[k] = 1.0 + k;
        for (long r = 0; r < done; r++) {
            c[k] = a[k];
            b[k] = factor * c[k];
            c[k] = a[k] + b[k];
            a[k] = b[k] + factor * c[k];
        }
    }
    bool ok = true;
    for (long i = 0; ok && i < m->n; i++)
        ok = kernel_expect(m->a[i] == a[i % 8] && m->b[i] == b[i % 8] && m->c[i] == c[i % 8],
                           "every element is what its recurrence gives");
    return ok;
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct arrays m = {.n = args.size * 1000000 / 24};
    size_t bytes = (size_t)m.n * sizeof *m.a;
    m.a = kernel_alloc_untouched(bytes);
    m.b = kernel_alloc_untouched(bytes);
    m.c = kernel_alloc_untouched(bytes);
    fill(&m);
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++)
        a_round(&m);
    kernel_end();
    uint64_t sum = kernel_checksum(0, m.a, bytes);
    sum = kernel_checksum(kernel_checksum(sum, m.b, bytes), m.c, bytes);
    return kernel_report(done, sum, verify(&m, done));
}
