/* Ranks of MPI with threads. `ranks work ITERATIONS SWEEPS`: between two reductions over all
 * ranks, rank r makes r + 1 times SWEEPS sweeps, so ranks with less work wait. `ranks bounce
 * MESSAGES [PAUSE_US]`: two ranks send a number to and fro; rank 0 computes for so many
 * microseconds before each message. `ranks overlap TESTS WORK_US`: rank 1 computes for a second
 * and sends a number; rank 0 computes meanwhile, and tests so many times for the number after each
 * so many microseconds. Rank 0 prints a line of JSON: the seconds that this took, a checksum of
 * every number, the pieces of work between two rows of tests, the seconds in which it waited for
 * reductions, and the processor time that it used meanwhile.
 *
 * A sum over a team is made from the sums of its threads, by their numbers. So the checksum
 * depends on the size of the team, and on nothing else. */
#include <mpi.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POINTS 4096
#define STEPS 64
#define THREADS_MAX 64

static double points[POINTS];
static uint64_t checksum = 14695981039346656037u;
static double waited, used;

static void note(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    checksum = (checksum ^ bits) * 1099511628211u;
}

static double sweep(double by)
{
    double sums[THREADS_MAX] = {0}, sum = 0;
#pragma omp parallel
    {
        double own = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < POINTS; i++) {
            double point = points[i];
            for (int step = 0; step < STEPS; step++)
                point = point * 0.999 + by / (1.0 + step);
            points[i] = point;
            own += point;
        }
        sums[omp_get_thread_num() % THREADS_MAX] = own;
    }
    for (int thread = 0; thread < THREADS_MAX; thread++)
        sum += sums[thread];
    return sum / POINTS;
}

static double processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void work(int rank, int iterations, int sweeps)
{
    double mine[2] = {1.0 + rank, 0.5}, all[2];
    for (int i = 0; i < POINTS; i++)
        points[i] = 1.0 / (1.0 + i + rank);
    for (int iteration = 0; iteration < iterations; iteration++) {
        for (int i = 0; i < sweeps * (rank + 1); i++)
            mine[0] = sweep(mine[0] * 1e-3);
        double began = MPI_Wtime(), before = processor_time();
        MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        waited += MPI_Wtime() - began;
        used += processor_time() - before;
        note(all[0]);
        mine[0] = all[0] * 0.5;
    }
}

static void pause_us(double microseconds)
{
    double until = MPI_Wtime() + microseconds * 1e-6;
    while (microseconds > 0 && MPI_Wtime() < until)
        continue;
}

static void bounce(int rank, int messages, double pause)
{
    double number = 1;
    for (int i = 0; i < messages && rank < 2; i++) {
        if (rank == 0) {
            pause_us(pause);
            number = number * 0.75 + i;
            MPI_Send(&number, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&number, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            note(number);
        } else {
            MPI_Recv(&number, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            number += 0.125;
            MPI_Send(&number, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/* The number of pieces of work. */
static long overlap(int rank, int tests, double work)
{
    double number = 1, began = MPI_Wtime();
    long pieces = 0;
    if (rank == 1) {
        while (MPI_Wtime() - began < 1)
            sweep(0.5);
        MPI_Send(&number, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Request request;
        MPI_Irecv(&number, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
        for (int there = 0; !there; pieces++) {
            pause_us(work);
            for (int i = 0; i < tests && !there; i++)
                MPI_Test(&request, &there, MPI_STATUS_IGNORE);
        }
    }
    note(number);
    return pieces;
}

int main(int argc, char **argv)
{
    int rank, ranks, given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int first = argc > 2 ? atoi(argv[2]) : 1, second = argc > 3 ? atoi(argv[3]) : 0;
    /* A rank without a region is no application of its own. */
    note(sweep(1.0));
    MPI_Barrier(MPI_COMM_WORLD);
    long pieces = 0;
    double began = MPI_Wtime();
    if (argc > 1 && strcmp(argv[1], "overlap") == 0)
        pieces = overlap(rank, first, second);
    else if (argc > 1 && strcmp(argv[1], "bounce") == 0)
        bounce(rank, first, second);
    else
        work(rank, first, second);
    double seconds = MPI_Wtime() - began;
    if (rank == 0)
        printf("{\"ranks\":%d,\"seconds\":%.6f,\"checksum\":\"%016llx\",\"pieces\":%ld,\"waited\":%.6f,\"used\":%.6f}\n", ranks,
               seconds, (unsigned long long)checksum, pieces, waited, used);
    MPI_Finalize();
    return 0;
}
