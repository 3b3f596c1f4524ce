/* cg.c - conjugate gradients on a sparse symmetric matrix (after NAS CG, Bailey
 * et al. 1991): five regions of 3 to 37 us per iteration, two of them with
 * reductions. The finest grain of all programs here, and the most sensitive to
 * sharing (as Martorell et al. 2000, section 6, found of NAS CG).
 *
 * A sum of doubles depends on the order of its terms, thus on the team size.
 * Here each block of a vector is summed in order, rounded to a multiple of
 * 2^-40, and the blocks are added as integers: exact, in any order.
 * Checksum: the solution vector of the last solve. */
#include "kernel.h"

#include <math.h>
#include <omp.h>

static const struct kernel_about about = {
    .name = "cg", .what = "Conjugate gradients, five short regions per iteration.",
    .size_unit = "rows of the matrix", .size = 6144, .size_min = 1024, .size_max = 1 << 18,
    .reps_unit = "solves of 25 iterations", .reps = 90,
};

enum { ITERATIONS = 25, ROW = 9, BLOCK = 64 };

struct system {
    long n, blocks;
    int *column;             /* n x ROW */
    double *value;           /* n x ROW */
    double *b, *x, *r, *p, *q;
};

static long block_end(const struct system *s, long block)
{
    long end = (block + 1) * BLOCK;
    return end < s->n ? end : s->n;
}

/* A symmetric, diagonally dominant matrix: row i couples with i plus and minus
 * four distances, around the ends. */
static struct system system_new(long n)
{
    static const long distance[] = {1, 7, 61, 509};
    size_t rows = (size_t)n;
    struct system s = {.n = n, .blocks = (n + BLOCK - 1) / BLOCK};
    s.column = kernel_alloc(rows * ROW, sizeof *s.column);
    s.value = kernel_alloc(rows * ROW, sizeof *s.value);
    double **vector[] = {&s.b, &s.x, &s.r, &s.p, &s.q};
    for (int v = 0; v < 5; v++)
        *vector[v] = kernel_alloc(rows, sizeof **vector[v]);
    for (long i = 0; i < n; i++) {
        int at = (int)i * ROW;
        s.column[at] = (int)i;
        s.value[at++] = 8.25;
        for (int d = 0; d < 4; d++) {
            s.column[at] = (int)((i + distance[d]) % n);
            s.value[at++] = -1;
            s.column[at] = (int)((i + n - distance[d]) % n);
            s.value[at++] = -1;
        }
        s.b[i] = 2 * kernel_uniform((uint64_t)i) - 1;
    }
    return s;
}

static void product(const struct system *s)
{
#pragma omp parallel for schedule(static)
    for (long block = 0; block < s->blocks; block++) {
        if (block == 0)
            kernel_note_team(omp_get_num_threads());
        for (long i = block * BLOCK; i < block_end(s, block); i++) {
            double sum = 0;
            for (long k = i * ROW; k < (i + 1) * ROW; k++)
                sum += s->value[k] * s->p[s->column[k]];
            s->q[i] = sum;
        }
    }
}

static double dot(const struct system *s, const double *a, const double *b)
{
    long long sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (long block = 0; block < s->blocks; block++) {
        if (block == 0)
            kernel_note_team(omp_get_num_threads());
        double part = 0;
        for (long i = block * BLOCK; i < block_end(s, block); i++)
            part += a[i] * b[i];
        sum += (long long)(part * 0x1p40);
    }
    return (double)sum * 0x1p-40;
}

static void advance(const struct system *s, double alpha)
{
#pragma omp parallel for schedule(static)
    for (long block = 0; block < s->blocks; block++) {
        if (block == 0)
            kernel_note_team(omp_get_num_threads());
        for (long i = block * BLOCK; i < block_end(s, block); i++) {
            s->x[i] += alpha * s->p[i];
            s->r[i] -= alpha * s->q[i];
        }
    }
}

static void turn(const struct system *s, double beta)
{
#pragma omp parallel for schedule(static)
    for (long block = 0; block < s->blocks; block++) {
        if (block == 0)
            kernel_note_team(omp_get_num_threads());
        for (long i = block * BLOCK; i < block_end(s, block); i++)
            s->p[i] = s->r[i] + beta * s->p[i];
    }
}

/* Solves from x = 0; returns the squared residual it ends with. */
static double solve(const struct system *s)
{
    for (long i = 0; i < s->n; i++) {
        s->x[i] = 0;
        s->r[i] = s->p[i] = s->b[i];
    }
    double rho = dot(s, s->r, s->r);
    for (int k = 0; k < ITERATIONS; k++) {
        product(s);
        double alpha = rho / dot(s, s->p, s->q);
        advance(s, alpha);
        double next = dot(s, s->r, s->r);
        turn(s, next / rho);
        rho = next;
    }
    return rho;
}

/* |b - A x|^2; one thread computes it from the matrix. */
static double true_residual(const struct system *s)
{
    double total = 0;
    for (long i = 0; i < s->n; i++) {
        double left = s->b[i];
        for (long k = i * ROW; k < (i + 1) * ROW; k++)
            left -= s->value[k] * s->x[s->column[k]];
        total += left * left;
    }
    return total;
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct system s = system_new(args.size);
    double first = 0;
    long done = 0, different = 0;

    kernel_begin();
    for (; kernel_more(done); done++) {
        double rho = solve(&s);
        if (done == 0)
            first = rho;
        different += rho != first;
    }
    kernel_end();

    double before = 0, after = true_residual(&s);
    for (long i = 0; i < s.n; i++)
        before += s.b[i] * s.b[i];
    bool ok = kernel_expect(different == 0, "every solve ended with the same residual");
    ok &= kernel_expect(after < 1e-6 * before, "the residual fell by 1000");
    ok &= kernel_expect(fabs(after - first) < 1e-8 * before, "the residual is the one of the iteration");
    return kernel_report(done, kernel_checksum(0, s.x, (size_t)s.n * sizeof *s.x), ok);
}
