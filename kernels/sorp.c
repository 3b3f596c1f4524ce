/* sorp.c - the iteration of sor inside ONE parallel region, with the barriers
 * of `omp for` between half sweeps: a team that cannot be resized at a region
 * entry, because there is only one. It can only be folded.
 * Checksum: the grid (the same as sor's for the same size and iterations). */
#include "grid.h"

#include <omp.h>

static const struct kernel_about about = {
    .name = "sorp", .what = "Red/black SOR in one parallel region with barriers inside.",
    .size_unit = "grid points per side", .size = 336, .size_min = 8, .size_max = 16384,
    .reps_unit = "iterations", .reps = 1000,
};

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct grid g = grid_new(args.size);
    double energy = grid_energy(&g);
    long done = 0;
    bool more = true;

    kernel_begin();
#pragma omp parallel
    while (more) {
        for (int colour = 0; colour < 2; colour++) {
#pragma omp for schedule(static)
            for (long i = 1; i < g.n - 1; i++) {
                if (i == 1)
                    kernel_note_team(omp_get_num_threads());
                grid_relax_row(&g, i, colour);
            }
        }
        /* Every thread has read `more` before the first loop's barrier, and
         * reads it again only after the barrier that ends this construct. */
#pragma omp single
        more = kernel_more(++done);
    }
    kernel_end();
    return kernel_report(done, grid_checksum(&g), grid_verify(&g, energy, done));
}
