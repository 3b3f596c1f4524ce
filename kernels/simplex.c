/* simplex.c - linear programming with a dense tableau (SIMPLEX of Brecht 1993
 * and 1997): per pivot a price region, a ratio region and an update region, with
 * sequential work between them.
 * The original's message passing is not imitated.
 * Checksum: the final tableau. */
#include "kernel.h"

#include <math.h>
#include <omp.h>

static const struct kernel_about about = {
    .name = "simplex", .what = "Dense simplex with 2 variables per constraint, 3 regions per pivot.",
    .size_unit = "constraints", .size = 256, .size_min = 4, .size_max = 4096,
    .reps_unit = "programs solved", .reps = 4,
};

/* max c x subject to A x <= b, x >= 0. The tableau has a row per constraint and
 * the objective's row last; a column per variable, per slack, and b last. */
struct program {
    long constraints, variables, columns;
    double *t;
    long *basis; /* per constraint: the column that is basic in it */
};

/* The smallest value and, among equals, the smallest index: the same answer in
 * any order of comparisons. */
struct candidate {
    double value;
    long index;
};

static struct candidate better(struct candidate a, struct candidate b)
{
    return a.value < b.value || (a.value == b.value && a.index < b.index) ? a : b;
}

#pragma omp declare reduction(best : struct candidate : omp_out = better(omp_out, omp_in)) \
    initializer(omp_priv = omp_orig)

static double coefficient(const struct program *p, long i, long j)
{
    return kernel_uniform((uint64_t)(i * p->variables + j));
}

static double bound(const struct program *p, long i)
{
    return (double)p->variables * (1 + kernel_uniform(UINT64_C(1) << 40 | (uint64_t)i));
}

static double profit(long j)
{
    return 1 + kernel_uniform(UINT64_C(1) << 41 | (uint64_t)j);
}

static void set_up(const struct program *p)
{
    long m = p->constraints, n = p->variables, w = p->columns;
    for (long i = 0; i <= m; i++)
        for (long j = 0; j < w; j++)
            p->t[i * w + j] = 0;
    for (long i = 0; i < m; i++) {
        for (long j = 0; j < n; j++)
            p->t[i * w + j] = coefficient(p, i, j);
        p->t[i * w + n + i] = 1;
        p->t[i * w + w - 1] = bound(p, i);
        p->basis[i] = n + i;
    }
    for (long j = 0; j < n; j++)
        p->t[m * w + j] = -profit(j);
}

/* The column of the most negative reduced cost. */
static struct candidate price(const struct program *p)
{
    const double *cost = p->t + p->constraints * p->columns;
    struct candidate best = {HUGE_VAL, -1};
#pragma omp parallel for schedule(static) reduction(best : best)
    for (long j = 0; j < p->columns - 1; j++) {
        if (j == 0)
            kernel_note_team(omp_get_num_threads());
        best = better(best, (struct candidate){cost[j], j});
    }
    return best;
}

/* The row that bounds the column most tightly. */
static struct candidate ratio(const struct program *p, long column)
{
    long w = p->columns;
    struct candidate best = {HUGE_VAL, -1};
#pragma omp parallel for schedule(static) reduction(best : best)
    for (long i = 0; i < p->constraints; i++) {
        if (i == 0)
            kernel_note_team(omp_get_num_threads());
        if (p->t[i * w + column] > 1e-9)
            best = better(best, (struct candidate){p->t[i * w + w - 1] / p->t[i * w + column], i});
    }
    return best;
}

static void pivot(const struct program *p, long row, long column)
{
    long w = p->columns;
    double *lead = p->t + row * w, factor = 1 / lead[column];
    for (long j = 0; j < w; j++)
        lead[j] *= factor;
#pragma omp parallel for schedule(static)
    for (long i = 0; i <= p->constraints; i++) {
        if (i == 0)
            kernel_note_team(omp_get_num_threads());
        double share = p->t[i * w + column];
        if (i != row && share != 0)
            for (long j = 0; j < w; j++)
                p->t[i * w + j] -= share * lead[j];
    }
    p->basis[row] = column;
}

/* Returns the number of pivots to the optimum, or -1 if it was not reached
 * within more than any such program needs. */
static long solve(const struct program *p)
{
    for (long pivots = 0; pivots < 10 * p->columns; pivots++) {
        struct candidate enter = price(p);
        if (enter.value > -1e-9)
            return pivots;
        struct candidate leave = ratio(p, enter.index);
        if (leave.index < 0)
            return -1;
        pivot(p, leave.index, enter.index);
    }
    return -1;
}

/* True if x and y are feasible for the program and its dual, and have equal
 * value: by strong duality both are optimal. Uses the input, not the
 * tableau. */
static bool verify(const struct program *p)
{
    long m = p->constraints, n = p->variables, w = p->columns;
    double *x = kernel_alloc((size_t)w, sizeof *x), *y = kernel_alloc((size_t)m, sizeof *y);
    double worst = 0, primal = 0, dual = 0;
    for (long i = 0; i < m; i++) {
        x[p->basis[i]] = p->t[i * w + w - 1];
        y[i] = p->t[m * w + n + i];
        worst = fmax(worst, -y[i]);
        dual += bound(p, i) * y[i];
    }
    for (long i = 0; i < m; i++) {
        double left = -bound(p, i);
        for (long j = 0; j < n; j++)
            left += coefficient(p, i, j) * x[j];
        worst = fmax(worst, left / bound(p, i));
    }
    for (long j = 0; j < n; j++) {
        double left = profit(j);
        for (long i = 0; i < m; i++)
            left -= coefficient(p, i, j) * y[i];
        worst = fmax(worst, fmax(left, -x[j]));
        primal += profit(j) * x[j];
    }
    bool ok = kernel_expect(worst < 1e-6, "the solutions are feasible");
    return ok & kernel_expect(fabs(primal - dual) < 1e-8 * fabs(dual), "primal and dual agree");
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct program p = {.constraints = args.size, .variables = 2 * args.size};
    p.columns = p.variables + p.constraints + 1;
    size_t cells = (size_t)((p.constraints + 1) * p.columns);
    p.t = kernel_alloc(cells, sizeof *p.t);
    p.basis = kernel_alloc((size_t)p.constraints, sizeof *p.basis);
    double first_value = 0;
    long first_pivots = 0, done = 0;
    bool ok = true;

    kernel_begin();
    for (; kernel_more(done); done++) {
        set_up(&p);
        long pivots = solve(&p);
        ok &= kernel_expect(pivots >= 0, "the optimum was reached");
        if (done == 0) {
            first_value = p.t[cells - 1];
            first_pivots = pivots;
        }
        /* A pivot that lost rows is made again, so only the number of pivots
         * tells. */
        ok &= kernel_expect(p.t[cells - 1] == first_value && pivots == first_pivots,
                            "every repetition took the same way to the same value");
    }
    kernel_end();
    return kernel_report(done, kernel_checksum(0, p.t, cells * sizeof *p.t), verify(&p) & ok);
}
