/* Plain threads with a barrier and no OpenMP: they cannot be resized, only folded. The program
 * makes one thread per processor that it may use when it starts, as thread pools do. */
#include "check.h"
#include <pthread.h>
#include <sched.h>

enum { N = 4000, STEPS = 50, MOST = 16 };
static pthread_barrier_t barrier;
static long long part[MOST];
static int threads;

static void *work(void *argument)
{
    int t = (int)(size_t)argument;
    for (int step = 0; step < STEPS; step++) {
        part[t] = 0;
        for (int i = N * t / threads; i < N * (t + 1) / threads; i++)
            part[t] += i;
        pthread_barrier_wait(&barrier);
        long long sum = 0;
        for (int i = 0; i < threads; i++)
            sum += part[i];
        check_equal("sum", sum, (long long)N * (N - 1) / 2);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set))
        return 2;
    threads = CPU_COUNT(&set) + 1 < MOST ? CPU_COUNT(&set) + 1 : MOST;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    while (check_going(argc, argv)) {
        pthread_t thread[MOST];
        for (int i = 1; i < threads; i++)
            if (pthread_create(&thread[i], NULL, work, (void *)(size_t)i))
                return 2;
        work(NULL);
        for (int i = 1; i < threads; i++)
            pthread_join(thread[i], NULL);
    }
    return check_end("threads", (long long)N * (N - 1) / 2);
}
