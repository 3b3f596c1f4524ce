/* Kernels in the manner of real programs: one that asks for the team size in several places and
 * keeps the answers, one that gives its size at every region, histograms with a buffer for each
 * thread, a transposition, and a sort.
 */
#include "torture.h"
#include <math.h>

#define NODES 1500
#define BINS 64

static double position[NODES], velocity[NODES], force[NODES];

/* Asks for the size where it is needed, as grown programs do; the sums depend on the order of the
 * threads. */
__attribute__((noinline)) static double smallest_step(void)
{
    int threads = omp_get_max_threads();
    double step = 1.0, *each = malloc(sizeof(double) * (size_t)threads);
    for (int i = 0; i < threads; i++)
        each[i] = 1.0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
#pragma omp for nowait
        for (int i = 0; i < NODES; i++)
            each[me] = fmin(each[me], 0.1 / (1.0 + fabs(velocity[i])));
    }
    for (int i = 0; i < threads; i++)
        step = fmin(step, each[i]);
    free(each);
    return step;
}

__attribute__((noinline)) static void forces(void)
{
    int threads = omp_get_max_threads();
    double *partial = calloc((size_t)threads * NODES, sizeof(double));
#pragma omp parallel
    {
        double *mine = partial + (size_t)omp_get_thread_num() * NODES;
#pragma omp for
        for (int i = 1; i < NODES; i++) {
            double pull = position[i] - position[i - 1] - 1.0;
            mine[i] -= pull;
            mine[i - 1] += pull;
        }
#pragma omp for
        for (int i = 0; i < NODES; i++) {
            force[i] = 0.0;
            for (int t = 0; t < threads; t++)
                force[i] += partial[(size_t)t * NODES + (size_t)i];
        }
    }
    free(partial);
}

__attribute__((noinline)) static double energy(void)
{
    static double part[TORTURE_THREADS];
    double sum = 0.0;
    int threads = omp_get_max_threads();
#pragma omp parallel firstprivate(threads)
    {
        int me = omp_get_thread_num();
        part[me] = 0.0;
        for (int i = NODES * me / threads; i < NODES * (me + 1) / threads; i++)
            part[me] += 0.5 * velocity[i] * velocity[i] + 1e-3 * position[i];
    }
    for (int i = 0; i < threads; i++)
        sum += part[i];
    return sum;
}

static void springs(void)
{
    for (int i = 0; i < NODES; i++) {
        position[i] = i + 0.1 * sin(i);
        velocity[i] = 0.0;
    }
    for (int s = 0; s < 12; s++) {
        double step = smallest_step();
        forces();
#pragma omp parallel for
        for (int i = 0; i < NODES; i++) {
            velocity[i] += step * force[i];
            position[i] += step * velocity[i];
        }
        note_real(step);
        note_real(energy());
    }
    for (int i = 0; i < NODES; i += 11)
        note_real(position[i]);
}

/* Every region gives its size, and has buffers of that size, as libraries for learning trees do. */
static void explicit_sizes(void)
{
    int threads = team_size();
    uint64_t *bins = calloc((size_t)threads * BINS, sizeof *bins);
    for (int r = 0; r < 15; r++) {
#pragma omp parallel for schedule(static, 16) num_threads(threads)
        for (int i = 0; i < 3000; i++)
            bins[(size_t)omp_get_thread_num() * BINS + work((uint64_t)(i * r), 1) % BINS] += (uint64_t)i;
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int b = 0; b < BINS; b++)
            for (int t = 1; t < threads; t++) {
                bins[b] = mixed(bins[b], bins[(size_t)t * BINS + (size_t)b]);
                bins[(size_t)t * BINS + (size_t)b] = 0;
            }
    }
    for (int b = 0; b < BINS; b++)
        note(bins[b]);
    free(bins);
}

/* Bounds are computed in one region, or before all of them, and used in others. */
static void bounds_from_before(void)
{
    static int from[TORTURE_THREADS], to[TORTURE_THREADS], shares;
    static double out[NODES];
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        from[me] = NODES * me / all;
        to[me] = NODES * (me + 1) / all;
#pragma omp single
        shares = all;
    }
    memset(out, 0, sizeof out);
    for (int r = 0; r < 10; r++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            for (int i = from[me]; i < to[me]; i++)
                out[i] += 1.0 / (1.0 + r + me);
        }
    }
    note((uint64_t)shares);
    for (int i = 0; i < NODES; i += 3)
        note_real(out[i]);
}

/* The environment gives the partition, not OpenMP. */
static void bounds_from_environment(void)
{
    static uint64_t done[TORTURE_THREADS];
    const char *text = getenv("OMP_NUM_THREADS");
    int shares = text ? atoi(text) : team_size();
    memset(done, 0, sizeof done);
    for (int r = 0; r < 10; r++) {
#pragma omp parallel
        for (int i = NODES * omp_get_thread_num() / shares; i < NODES * (omp_get_thread_num() + 1) / shares; i++)
            done[omp_get_thread_num()] += (uint64_t)i;
    }
    for (int i = 0; i < team_size(); i++)
        note(done[i]);
}

static void sort(int *from, int count)
{
    int pivot = from[count / 2], i = 0, k = count - 1;
    while (i <= k) {
        while (from[i] < pivot)
            i++;
        while (from[k] > pivot)
            k--;
        if (i <= k) {
            int was = from[i];
            from[i++] = from[k];
            from[k--] = was;
        }
    }
    if (k > 0) {
#pragma omp task if (k > 100)
        sort(from, k + 1);
    }
    if (i < count - 1) {
#pragma omp task if (count - i > 100)
        sort(from + i, count - i);
    }
}

static void sorting(void)
{
    static int number[4000];
    for (int i = 0; i < 4000; i++)
        number[i] = (int)(work((uint64_t)i, 1) % 100000);
#pragma omp parallel
#pragma omp single
    sort(number, 4000);
    for (int i = 0; i < 4000; i += 5)
        note((uint64_t)number[i]);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"springs", springs},         {"explicit", explicit_sizes}, {"bounds", bounds_from_before},
        {"environment", bounds_from_environment}, {"sort", sorting},
    };
    return TORTURE(parts);
}
