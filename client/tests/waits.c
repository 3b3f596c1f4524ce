/* One region of two threads, and then the first thread waits 400 ms for something else. Prints the
 * milliseconds of processor time that the process used meanwhile: its other thread spins until it
 * sleeps. */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static double used_ms(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return 1e3 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-3 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(void)
{
    int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads++;
    double before = used_ms();
    struct timespec left = {0, 400000000L};
    while (nanosleep(&left, &left) != 0)
        continue;
    printf("%d threads %.0f ms\n", threads, used_ms() - before);
    return 0;
}
