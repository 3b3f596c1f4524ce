/* grid.h - the grid of sor and sorp: Laplace's equation on a square, whose
 * solution is known, relaxed in red/black order (the Hector papers' PDE).
 *
 * Red/black points of one colour do not read each other, so every value is the
 * same bit for bit, whichever thread computes it.
 */
#ifndef GRID_H
#define GRID_H

#include "kernel.h"

#include <math.h>

struct grid {
    long n;        /* points per side, boundary included */
    double *u;     /* n x n */
    double omega;  /* over-relaxation for the fastest convergence */
    long *swept;   /* per row: half sweeps done, so that a lost row shows */
};

/* x^2 - y^2 satisfies the five-point formula exactly, not only in the limit. */
static inline double grid_solution(const struct grid *g, long i, long j)
{
    double h = 1.0 / (double)(g->n - 1);
    double x = (double)j * h, y = (double)i * h;
    return x * x - y * y;
}

/* Energy of the error. SOR with 0 < omega < 2 never increases it (each point
 * update is a relaxed minimisation of this quadratic form). */
static inline double grid_energy(const struct grid *g)
{
    double energy = 0;
    for (long i = 0; i + 1 < g->n; i++)
        for (long j = 0; j + 1 < g->n; j++) {
            double e = g->u[i * g->n + j] - grid_solution(g, i, j);
            double right = g->u[i * g->n + j + 1] - grid_solution(g, i, j + 1);
            double below = g->u[(i + 1) * g->n + j] - grid_solution(g, i + 1, j);
            energy += (right - e) * (right - e) + (below - e) * (below - e);
        }
    return energy;
}

static inline struct grid grid_new(long n)
{
    struct grid g = {.n = n, .omega = 2.0 / (1.0 + sin(3.14159265358979323846 / (double)(n - 1)))};
    g.u = (double *)kernel_alloc((size_t)n * (size_t)n, sizeof *g.u);
    g.swept = (long *)kernel_alloc((size_t)n, sizeof *g.swept);
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++)
            if (i == 0 || j == 0 || i == n - 1 || j == n - 1)
                g.u[i * n + j] = grid_solution(&g, i, j);
    return g;
}

/* Relaxes the points of one colour in one interior row. */
static inline void grid_relax_row(const struct grid *g, long i, int colour)
{
    long n = g->n;
    double *row = g->u + i * n;
    for (long j = 1 + ((i + colour) & 1); j < n - 1; j += 2) {
        double around = row[j - n] + row[j + n] + row[j - 1] + row[j + 1];
        row[j] += g->omega * (0.25 * around - row[j]);
    }
    g->swept[i]++;
}

/* True if every row was swept twice per iteration, the error's energy fell, and
 * after enough iterations the solution is reached. */
static inline bool grid_verify(const struct grid *g, double energy_before, long iterations)
{
    bool ok = true;
    for (long i = 1; ok && i < g->n - 1; i++)
        ok = kernel_expect(g->swept[i] == 2 * iterations, "every row was swept in every half sweep");
    double energy = grid_energy(g);
    ok &= kernel_expect(energy < energy_before, "the error's energy fell");
    if (iterations >= 3 * g->n)
        ok &= kernel_expect(energy < 1e-8 * energy_before, "the error is nearly gone");
    if (iterations >= 6 * g->n)
        ok &= kernel_expect(energy < 1e-20 * energy_before, "the solution was reached");
    return ok;
}

static inline uint64_t grid_checksum(const struct grid *g)
{
    return kernel_checksum(0, g->u, (size_t)(g->n * g->n) * sizeof *g->u);
}

#endif
