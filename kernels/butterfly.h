/* butterfly.h - the one-dimensional transform under fft (single precision) and
 * ft (double): iterative radix 2 on one line, with tables of doubles.
 *
 * Include it after defining REAL. A line is transformed by one thread, so its
 * result does not depend on the team.
 */
#include "kernel.h"

#include <math.h>

struct complex_number {
    REAL re, im;
};

struct tables {
    long n;
    long *reversed;      /* bit-reversed index */
    double *cosine, *sine; /* of 2 pi k / n, k < n/2 */
};

static struct tables tables_new(long n)
{
    struct tables t = {.n = n};
    t.reversed = kernel_alloc((size_t)n, sizeof *t.reversed);
    t.cosine = kernel_alloc((size_t)n / 2, sizeof *t.cosine);
    t.sine = kernel_alloc((size_t)n / 2, sizeof *t.sine);
    for (long i = 1; i < n; i++)
        t.reversed[i] = t.reversed[i / 2] / 2 + (i & 1) * (n / 2);
    for (long k = 0; k < n / 2; k++) {
        double angle = 2 * 3.14159265358979323846 * (double)k / (double)n;
        t.cosine[k] = cos(angle);
        t.sine[k] = sin(angle);
    }
    return t;
}

/* Transforms `in` to `out` (another line); direction -1 forward, +1 back.
 * Not normalised. */
static void transform(const struct tables *t, const struct complex_number *in,
                      struct complex_number *out, int direction)
{
    for (long i = 0; i < t->n; i++)
        out[t->reversed[i]] = in[i];
    for (long half = 1; half < t->n; half *= 2) {
        long step = t->n / (2 * half);
        for (long start = 0; start < t->n; start += 2 * half)
            for (long k = 0; k < half; k++) {
                REAL wr = (REAL)t->cosine[k * step], wi = (REAL)(direction * t->sine[k * step]);
                struct complex_number *a = &out[start + k], *b = &out[start + k + half];
                REAL re = b->re * wr - b->im * wi, im = b->re * wi + b->im * wr;
                b->re = a->re - re;
                b->im = a->im - im;
                a->re += re;
                a->im += im;
            }
    }
}
