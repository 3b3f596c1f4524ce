/* fft.c - two-dimensional FFT, forward and back, in single precision with
 * tables of doubles (FFT of Brecht 1993 and 1997): four transforms of all rows
 * and four transposes per repetition.
 * Each repetition starts again from the image, so rounding does not pile up.
 * Checksum: the image that the last repetition restored. */
#define REAL float
#include "butterfly.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "fft", .what = "2D FFT forward and back in single precision, 9 regions per repetition.",
    .size_unit = "points per side (a power of 2)", .size = 256, .size_min = 4, .size_max = 8192,
    .size_power_of_2 = true, .reps_unit = "transforms forward and back", .reps = 40,
};

typedef struct complex_number number;

struct image {
    long n;
    number *input, *u, *work;
    long *passes; /* per row: regions that worked on it, so that a lost row shows */
};

static void transform_rows(const struct image *m, const struct tables *t, const number *in,
                           int direction)
{
#pragma omp parallel for schedule(static)
    for (long row = 0; row < m->n; row++) {
        if (row == 0)
            kernel_note_team(omp_get_num_threads());
        transform(t, in + row * m->n, m->work + row * m->n, direction);
        m->passes[row]++;
    }
}

static void transpose(const struct image *m)
{
#pragma omp parallel for schedule(static)
    for (long row = 0; row < m->n; row++) {
        if (row == 0)
            kernel_note_team(omp_get_num_threads());
        for (long k = 0; k < m->n; k++)
            m->u[row * m->n + k] = m->work[k * m->n + row];
        m->passes[row]++;
    }
}

static void scale(const struct image *m)
{
    float factor = 1.0F / (float)(m->n * m->n);
#pragma omp parallel for schedule(static)
    for (long row = 0; row < m->n; row++) {
        if (row == 0)
            kernel_note_team(omp_get_num_threads());
        for (long k = row * m->n; k < (row + 1) * m->n; k++) {
            m->u[k].re *= factor;
            m->u[k].im *= factor;
        }
        m->passes[row]++;
    }
}

static void there_and_back(const struct image *m, const struct tables *t)
{
    transform_rows(m, t, m->input, -1);
    transpose(m);
    transform_rows(m, t, m->u, -1);
    transpose(m);
    transform_rows(m, t, m->u, +1);
    transpose(m);
    transform_rows(m, t, m->u, +1);
    transpose(m);
    scale(m);
}

static bool verify(const struct image *m, long done)
{
    bool ok = true;
    for (long row = 0; ok && row < m->n; row++)
        ok = kernel_expect(m->passes[row] == 9 * done, "every row was in every region");
    double worst = 0;
    for (long i = 0; i < m->n * m->n; i++) {
        worst = fmax(worst, fabs((double)m->u[i].re - (double)m->input[i].re));
        worst = fmax(worst, fabs((double)m->u[i].im - (double)m->input[i].im));
    }
    return ok & kernel_expect(worst < 1e-5, "back and forth restores the image");
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct tables t = tables_new(args.size);
    size_t points = (size_t)(t.n * t.n);
    struct image m = {.n = t.n};
    m.input = kernel_alloc(points, sizeof *m.input);
    m.u = kernel_alloc(points, sizeof *m.u);
    m.work = kernel_alloc(points, sizeof *m.work);
    m.passes = kernel_alloc((size_t)m.n, sizeof *m.passes);
    for (size_t i = 0; i < points; i++)
        m.input[i] = (number){(float)kernel_uniform(2 * i), (float)kernel_uniform(2 * i + 1)};
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++)
        there_and_back(&m, &t);
    kernel_end();
    return kernel_report(done, kernel_checksum(0, m.u, points * sizeof *m.u), verify(&m, done));
}
