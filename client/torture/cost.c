/* What synchronization costs: one measurement each run, one line of output, made to be compared in
 * interleaved runs.
 *
 *     cost barrier N     N barriers in one region: nanoseconds of a barrier, and of a barrier for each member
 *     cost region N      N empty regions: nanoseconds of a region
 *     cost for N         N empty static loops in one region
 *     cost single N      N single constructs in one region
 *     cost dynamic N     a dynamic loop of N iterations, chunks of one: nanoseconds of an iteration
 *     cost critical N    N critical sections by each member: nanoseconds of one
 *     cost task N        N empty tasks of one member
 *     cost relax N       N sweeps of red-black relaxation in one region: milliseconds, and a digest of the result
 *     cost springs N     N steps of a code that asks for the team size in several places: milliseconds, and a digest
 *     cost pipeline N    N steps of a pipeline whose members spin on flags: milliseconds
 *     cost clauses N     N small regions of all threads and of half of them in turn, by num_threads: nanoseconds of one
 *     cost setters N     the same by omp_set_num_threads
 *     cost schedules N   N small loops whose schedule changes each time
 */
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WIDTH 512
#define NODES 40000
#define MEMBERS 1100

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t digest(const double *from, size_t count)
{
    uint64_t sum = 0xcbf29ce484222325ull, bits;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, &from[i], sizeof bits);
        sum = (sum ^ bits) * 0x100000001b3ull;
    }
    return sum;
}

/* One line: nanoseconds of each of `count`, and of each for each member of the team. */
static void tell(const char *what, long count, double seconds, int members)
{
    double each = seconds * 1e9 / (double)count;
    printf("%s members %d count %ld ns %.1f per-member %.2f\n", what, members, count, each, each / members);
}

static void barriers(long count)
{
    double begin = 0.0, end = 0.0;
    int members = 1;
#pragma omp parallel
    {
#pragma omp barrier
#pragma omp master
        begin = now();
        for (long i = 0; i < count; i++) {
#pragma omp barrier
        }
#pragma omp master
        {
            end = now();
            members = omp_get_num_threads();
        }
    }
    tell("barrier", count, end - begin, members);
}

static void regions(long count)
{
    int members = 1;
#pragma omp parallel
    {
#pragma omp master
        members = omp_get_num_threads();
    }
    double begin = now();
    for (long i = 0; i < count; i++) {
#pragma omp parallel
        __asm__ volatile("" ::: "memory");
    }
    tell("region", count, now() - begin, members);
}

static void loops(long count)
{
    double begin = now();
    int members = 1;
#pragma omp parallel
    {
#pragma omp master
        members = omp_get_num_threads();
        for (long i = 0; i < count; i++) {
#pragma omp for schedule(static)
            for (int k = 0; k < 64; k++)
                __asm__ volatile("" ::: "memory");
        }
    }
    tell("for", count, now() - begin, members);
}

static void singles(long count)
{
    double begin = now();
    int members = 1;
#pragma omp parallel
    for (long i = 0; i < count; i++) {
#pragma omp single
        members = omp_get_num_threads();
    }
    tell("single", count, now() - begin, members);
}

static void dynamic(long count)
{
    double begin = now();
    int members = 1;
#pragma omp parallel
    {
#pragma omp master
        members = omp_get_num_threads();
#pragma omp for schedule(dynamic)
        for (long i = 0; i < count; i++)
            __asm__ volatile("" ::: "memory");
    }
    tell("dynamic", count, now() - begin, members);
}

static void criticals(long count)
{
    double begin = now();
    int members = 1;
#pragma omp parallel
    for (long i = 0; i < count; i++) {
#pragma omp critical
        members = omp_get_num_threads();
    }
    tell("critical", count, now() - begin, members);
}

static void tasks(long count)
{
    double begin = now();
    int members = 1;
#pragma omp parallel
#pragma omp single
    {
        members = omp_get_num_threads();
        for (long i = 0; i < count; i++) {
#pragma omp task
            __asm__ volatile("" ::: "memory");
        }
    }
    tell("task", count, now() - begin, members);
}

static void relax(long sweeps)
{
    static double grid[WIDTH][WIDTH];
    for (int i = 0; i < WIDTH; i++)
        for (int k = 0; k < WIDTH; k++)
            grid[i][k] = i == 0 ? 1.0 : k == 0 ? 0.5 : 0.0;
    double begin = now();
#pragma omp parallel
    for (long s = 0; s < sweeps; s++)
        for (int colour = 0; colour < 2; colour++) {
#pragma omp for schedule(static)
            for (int i = 1; i < WIDTH - 1; i++)
                for (int k = 1 + (i + colour) % 2; k < WIDTH - 1; k += 2)
                    grid[i][k] += 1.7 * (0.25 * (grid[i - 1][k] + grid[i + 1][k] + grid[i][k - 1] + grid[i][k + 1]) - grid[i][k]);
        }
    double seconds = now() - begin;
    printf("relax count %ld ms %.2f digest %016llx\n", sweeps, seconds * 1e3, (unsigned long long)digest(&grid[0][0], WIDTH * WIDTH));
}

static double position[NODES], velocity[NODES], force[NODES];

/* As the hydrodynamics code LULESH: many short regions, sizes asked in several places, and an array
 * for each thread. */
static double step_of_time(void)
{
    static double each[MEMBERS];
    int threads = omp_get_max_threads();
    double least = 1.0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        each[me] = 1.0;
#pragma omp for
        for (int i = 0; i < NODES; i++)
            each[me] = fmin(each[me], 0.1 / (1.0 + fabs(velocity[i])));
    }
    for (int i = 0; i < threads; i++)
        least = fmin(least, each[i]);
    return least;
}

static void springs(long steps)
{
    for (int i = 0; i < NODES; i++)
        position[i] = i + 0.1 * sin(i);
    double begin = now();
    for (long s = 0; s < steps; s++) {
        double step = step_of_time();
#pragma omp parallel for firstprivate(step)
        for (int i = 1; i < NODES - 1; i++)
            force[i] = position[i + 1] - 2.0 * position[i] + position[i - 1];
#pragma omp parallel for firstprivate(step)
        for (int i = 0; i < NODES; i++)
            velocity[i] += step * force[i];
#pragma omp parallel for firstprivate(step)
        for (int i = 0; i < NODES; i++)
            position[i] += step * velocity[i];
    }
    double seconds = now() - begin;
    printf("springs count %ld ms %.2f digest %016llx\n", steps, seconds * 1e3, (unsigned long long)digest(position, NODES));
}

static void pipeline(long steps)
{
    static long flag[MEMBERS][8];
    static double value[MEMBERS][8];
    double begin = now();
    int members = 1;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
#pragma omp master
        members = omp_get_num_threads();
        for (long s = 1; s <= steps; s++) {
            while (me > 0 && __atomic_load_n(&flag[me - 1][0], __ATOMIC_ACQUIRE) < s) {
            }
            for (int i = 0; i < 2000; i++)
                value[me][0] = value[me][0] * 0.999 + i;
            __atomic_store_n(&flag[me][0], s, __ATOMIC_RELEASE);
        }
    }
    printf("pipeline members %d count %ld ms %.2f\n", members, steps, (now() - begin) * 1e3);
}

static int in_turn(long i, int all)
{
    return i % 2 || all == 1 ? all : all / 2;
}

static void clauses(long count)
{
    int all = omp_get_max_threads();
    double begin = now();
    for (long i = 0; i < count; i++) {
#pragma omp parallel num_threads(in_turn(i, all))
        __asm__ volatile("" ::: "memory");
    }
    tell("clauses", count, now() - begin, all);
}

static void setters(long count)
{
    int all = omp_get_max_threads();
    double begin = now();
    for (long i = 0; i < count; i++) {
        omp_set_num_threads(in_turn(i, all));
#pragma omp parallel
        __asm__ volatile("" ::: "memory");
    }
    tell("setters", count, now() - begin, all);
}

static void schedules(long count)
{
    double begin = now();
    for (long i = 0; i < count; i++) {
        omp_set_schedule(i % 2 ? omp_sched_static : omp_sched_dynamic, 1 + (int)(i % 4));
#pragma omp parallel for schedule(runtime)
        for (int k = 0; k < 8; k++)
            __asm__ volatile("" ::: "memory");
    }
    tell("schedules", count, now() - begin, omp_get_max_threads());
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(long);
        long usual;
    } all[] = {
        {"barrier", barriers, 20000}, {"region", regions, 20000}, {"for", loops, 20000},       {"single", singles, 20000},
        {"dynamic", dynamic, 200000}, {"critical", criticals, 20000}, {"task", tasks, 100000},  {"relax", relax, 100},
        {"springs", springs, 200},     {"pipeline", pipeline, 200},  {"clauses", clauses, 20000},
        {"setters", setters, 20000},   {"schedules", schedules, 20000},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) {
            long count = argc > 2 ? atol(argv[2]) : all[i].usual;
            all[i].run(count > 0 ? count : 1);
            return fflush(stdout) ? 1 : 0;
        }
    fputs("cost: barrier, region, for, single, dynamic, critical, task, relax, springs, pipeline, clauses, setters or schedules, and a count\n", stderr);
    return 2;
}
