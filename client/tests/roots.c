/* Several threads of the program's own, each opening regions: all of them are root threads. They come and go. */
#include "check.h"
#include <omp.h>
#include <pthread.h>

enum { ROOTS = 3, REGIONS = 20, N = 2000 };

static void *root(void *unused)
{
    for (int r = 0; r < REGIONS; r++) {
        long long sum = 0;
        int members = 0;
#pragma omp parallel reduction(+ : sum, members)
        {
            int t = omp_get_thread_num(), n = omp_get_num_threads();
            members++;
            for (int i = N * t / n; i < N * (t + 1) / n; i++)
                sum += i;
        }
        check_saw(members);
        check_equal("sum", sum, (long long)N * (N - 1) / 2);
    }
    return unused;
}

int main(int argc, char **argv)
{
    while (check_going(argc, argv)) {
        pthread_t thread[ROOTS];
        for (int i = 0; i < ROOTS; i++)
            if (pthread_create(&thread[i], NULL, root, NULL))
                return 2;
        root(NULL);
        for (int i = 0; i < ROOTS; i++)
            pthread_join(thread[i], NULL);
    }
    return check_end("roots", (long long)N * (N - 1) / 2);
}
