/* Several threads of the program open regions: all of them are root threads. They start and end.
 * With "cancel" as second argument pthread_cancel ends them, which may take effect between two
 * regions only: the runtimes have no cancellation point where a region begins. */
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <string.h>

enum { ROOTS = 3, REGIONS = 20, N = 2000 };

static int started, between;

static void *root(void *for_ever)
{
    for (int r = 0; for_ever || r < REGIONS; r++) {
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
        if (for_ever) {
            __atomic_store_n(&between, 1, __ATOMIC_SEQ_CST);
            __atomic_store_n(&started, 1, __ATOMIC_SEQ_CST);
            pthread_testcancel();
            __atomic_store_n(&between, 0, __ATOMIC_SEQ_CST);
        }
    }
    return NULL;
}

/* A thread that was cancelled must have been between two regions. */
static void cancel_one(void)
{
    pthread_t thread;
    void *result = NULL;
    between = started = 0;
    if (pthread_create(&thread, NULL, root, &between))
        exit(2);
    /* Making the threads of its team is a cancellation point. */
    while (!__atomic_load_n(&started, __ATOMIC_SEQ_CST))
        usleep(100);
    usleep((useconds_t)(check_rounds * 37 % 3000));
    pthread_cancel(thread);
    pthread_join(thread, &result);
    check_equal("cancelled", result == PTHREAD_CANCELED, 1);
    check_equal("between two regions when cancelled", between, 1);
}

int main(int argc, char **argv)
{
    while (check_going(argc, argv)) {
        pthread_t thread[ROOTS];
        if (argc > 2 && !strcmp(argv[2], "cancel")) {
            cancel_one();
            root(NULL);
            continue;
        }
        for (int i = 0; i < ROOTS; i++)
            if (pthread_create(&thread[i], NULL, root, NULL))
                return 2;
        root(NULL);
        for (int i = 0; i < ROOTS; i++)
            pthread_join(thread[i], NULL);
    }
    return check_end("roots", (long long)N * (N - 1) / 2);
}
