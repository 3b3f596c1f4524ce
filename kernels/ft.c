/* ft.c - three-dimensional FFT, forward and back (after NAS FT, Bailey et al.
 * 1991): regions of 13 to 160 us of three kinds: transform, transpose, scale.
 * Checksum: the field after the last repetition. */
#define REAL double
#include "butterfly.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "ft", .what = "3D FFT forward and back in double precision, 13 regions per repetition.",
    .size_unit = "points per side (a power of 2)", .size = 32, .size_min = 4, .size_max = 512,
    .size_power_of_2 = true, .reps_unit = "transforms forward and back", .reps = 80,
};

typedef struct complex_number number;

static void transform_lines(const struct tables *t, const number *in, number *out, int direction)
{
    long n = t->n;
#pragma omp parallel for schedule(static)
    for (long line = 0; line < n * n; line++) {
        if (line == 0)
            kernel_note_team(omp_get_num_threads());
        transform(t, in + line * n, out + line * n, direction);
    }
}

/* Makes the slowest index the fastest: three of these restore the order. */
static void transpose(long n, const number *in, number *out)
{
#pragma omp parallel for schedule(static)
    for (long plane = 0; plane < n; plane++) {
        if (plane == 0)
            kernel_note_team(omp_get_num_threads());
        for (long row = 0; row < n; row++)
            for (long k = 0; k < n; k++)
                out[(plane * n + row) * n + k] = in[(k * n + plane) * n + row];
    }
}

static void scale(long n, number *u, double factor)
{
#pragma omp parallel for schedule(static)
    for (long line = 0; line < n * n; line++) {
        if (line == 0)
            kernel_note_team(omp_get_num_threads());
        for (long k = line * n; k < (line + 1) * n; k++) {
            u[k].re *= factor;
            u[k].im *= factor;
        }
    }
}

static void transform_cube(const struct tables *t, number *u, number *work, int direction)
{
    for (int axis = 0; axis < 3; axis++) {
        transform_lines(t, u, work, direction);
        transpose(t->n, work, u);
    }
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct tables t = tables_new(args.size);
    size_t points = (size_t)(t.n * t.n * t.n);
    number *u = kernel_alloc(points, sizeof *u), *work = kernel_alloc(points, sizeof *work);
    long done = 0;
    for (size_t i = 0; i < points; i++)
        u[i] = (number){2 * kernel_uniform(2 * i) - 1, 2 * kernel_uniform(2 * i + 1) - 1};

    kernel_begin();
    for (; kernel_more(done); done++) {
        transform_cube(&t, u, work, -1);
        transform_cube(&t, u, work, +1);
        scale(t.n, u, 1.0 / (double)points);
    }
    kernel_end();

    double worst = 0;
    for (size_t i = 0; i < points; i++) {
        worst = fmax(worst, fabs(u[i].re - (2 * kernel_uniform(2 * i) - 1)));
        worst = fmax(worst, fabs(u[i].im - (2 * kernel_uniform(2 * i + 1) - 1)));
    }
    bool ok = kernel_expect(worst < 1e-13 * (double)(done + 10), "back and forth restores the field");
    return kernel_report(done, kernel_checksum(0, u, points * sizeof *u), ok);
}
