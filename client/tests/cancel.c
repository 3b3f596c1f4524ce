/* Cancellation of a loop, of a whole region and of a taskgroup (run with OMP_CANCELLATION=true).
 * The loop is static because libomp 14 breaks cancelled dynamic loops, also without numaestro. */
#include "check.h"
#include <omp.h>

enum { N = 100000 };

int main(int argc, char **argv)
{
    if (!omp_get_cancellation())
        check_fail("OMP_CANCELLATION is not set");
    while (check_going(argc, argv)) {
        int found = -1, passed = 0, members = 0, done = 0;
#pragma omp parallel
        {
#pragma omp atomic
            members++;
#pragma omp for schedule(static, 16)
            for (int i = 0; i < N; i++) {
                if (i == 777) {
#pragma omp atomic write
                    found = i;
#pragma omp cancel for
                }
#pragma omp cancellation point for
            }
        }
        check_saw(members);
        check_equal("found", found, 777);
#pragma omp parallel
        {
            if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
            }
#pragma omp barrier
#pragma omp atomic
            passed++;
        }
        check_equal("threads that passed a cancelled region", passed, 0);
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
        {
            for (int i = 0; i < 100; i++)
#pragma omp task
            {
#pragma omp atomic
                done++;
#pragma omp cancel taskgroup
            }
        }
        if (done < 1 || done > 100)
            check_fail("%d tasks of a cancelled group", done);
    }
    return check_end("cancel", 777);
}
