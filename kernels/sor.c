/* sor.c - red/black successive over-relaxation (PDE of Brecht 1993 and 1997),
 * two short parallel regions per iteration: the finest grain that still scales,
 * and the worst case for threads that share a processor.
 * Checksum: the grid. */
#include "grid.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "sor", .what = "Red/black SOR on a square grid, two regions per iteration.",
    .size_unit = "grid points per side", .size = 336, .size_min = 8, .size_max = 16384,
    .reps_unit = "iterations", .reps = 1000,
};

static void half_sweep(const struct grid *g, int colour)
{
#pragma omp parallel for schedule(static)
    for (long i = 1; i < g->n - 1; i++) {
        if (i == 1)
            kernel_note_team(omp_get_num_threads());
        grid_relax_row(g, i, colour);
    }
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct grid g = grid_new(args.size);
    double energy = grid_energy(&g);
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++) {
        half_sweep(&g, 0);
        half_sweep(&g, 1);
    }
    kernel_end();
    return kernel_report(done, grid_checksum(&g), grid_verify(&g, energy, done));
}
