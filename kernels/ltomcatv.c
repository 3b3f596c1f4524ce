/* ltomcatv.c - alternates between a sequential phase that waits (60 ms, as for a
 * device) and a parallel phase of 600 short sweeps (after ltomcatv of
 * Martorell et al. 2000, section 6: tomcatv with its main loop repeated,
 * asking for one processor while it does its I/O).
 * The sweeps are Jacobi's, so each value comes from the sweep before.
 * Checksum: the grid. */
#define _POSIX_C_SOURCE 200809L
#include "grid.h"

#include <omp.h>
#include <time.h>

static const struct kernel_about about = {
    .name = "ltomcatv", .what = "Alternates a 60 ms wait on one thread with 600 parallel sweeps.",
    .size_unit = "grid points per side", .size = 256, .size_min = 8, .size_max = 16384,
    .reps_unit = "waits and parallel phases", .reps = 4,
};

enum { SWEEPS = 600, WAIT_MS = 60 };

static void wait_sequentially(void)
{
    struct timespec left = {0, WAIT_MS * 1000000L};
    while (nanosleep(&left, &left) != 0)
        continue;
}

static void sweep(const struct grid *g, const double *from, double *to)
{
    long n = g->n;
#pragma omp parallel for schedule(static)
    for (long i = 1; i < n - 1; i++) {
        if (i == 1)
            kernel_note_team(omp_get_num_threads());
        const double *row = from + i * n;
        for (long j = 1; j < n - 1; j++)
            to[i * n + j] = 0.25 * (row[j - n] + row[j + n] + row[j - 1] + row[j + 1]);
        g->swept[i]++;
    }
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct grid g = grid_new(args.size), other = grid_new(args.size);
    double before = grid_energy(&g);
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++) {
        wait_sequentially();
        for (int k = 0; k < SWEEPS; k += 2) {
            sweep(&g, g.u, other.u);
            sweep(&g, other.u, g.u);
        }
    }
    kernel_end();

    bool ok = true;
    for (long i = 1; ok && i < g.n - 1; i++)
        ok = kernel_expect(g.swept[i] == SWEEPS * done, "every row was in every sweep");
    ok &= kernel_expect(grid_energy(&g) < before, "the error's energy fell");
    return kernel_report(done, grid_checksum(&g), ok);
}
