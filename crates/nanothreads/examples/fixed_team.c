/* fixed_team.c - a conventional team: two OpenMP threads, a static schedule and a barrier after
 * each phase, that lose one of their two processors in the middle. The counterpart of halving.rs,
 * which compiles and runs it.
 *
 * usage: fixed_team PHASES STEPS     prints "serial_s halved_at_s total_s" */
#define _GNU_SOURCE
#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PIECES 64

static volatile uint64_t sink[PIECES * 8];
static double serial, start, halved;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void piece(int index, long steps)
{
    uint64_t value = (uint64_t)index;
    for (long step = 0; step < steps; step++) {
        value = value * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(value)); /* each step needs the one before, and none is left out */
    }
    sink[index * 8] = value;
}

static void phases(long count, long steps, int threads)
{
#pragma omp parallel num_threads(threads)
    for (long phase = 0; phase < count; phase++) {
#pragma omp for schedule(static)
        for (int index = 0; index < PIECES; index++)
            piece(index, steps);
    }
}

/* Moves every thread of this process to the processor that the first one is on. */
static void *halve(void *unused)
{
    (void)unused;
    struct timespec pause = {0, 100000};
    while (now() - start < serial / 4)
        nanosleep(&pause, NULL);
    cpu_set_t mask, one;
    sched_getaffinity(0, sizeof mask, &mask);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask)) {
            CPU_SET(cpu, &one);
            break;
        }
    halved = now() - start;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));)
        if (atoi(task->d_name) > 0)
            sched_setaffinity(atoi(task->d_name), sizeof one, &one);
    if (tasks)
        closedir(tasks);
    return NULL;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000, steps = argc > 2 ? atol(argv[2]) : 3000;
    start = now();
    phases(count, steps, 1);
    serial = now() - start;
    phases(10, steps, 2);
    pthread_t helper;
    start = now();
    if (pthread_create(&helper, NULL, halve, NULL))
        return 1;
    phases(count, steps, 2);
    double total = now() - start;
    pthread_join(helper, NULL);
    printf("%f %f %f\n", serial, halved, total);
    return 0;
}
