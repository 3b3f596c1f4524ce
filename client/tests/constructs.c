/* single, copyprivate, master, ordered, critical, atomic, barrier, lastprivate, locks: one after
 * the other in one region. */
#include "check.h"
#include <omp.h>

enum { N = 300 };

int main(int argc, char **argv)
{
    long long result = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    while (check_going(argc, argv)) {
        int singles = 0, masters = 0, criticals = 0, locked = 0, wrong = 0, members = 0, last = -1, next = 0;
        long long ordered = 0;
        int spread = -1;
#pragma omp parallel firstprivate(spread) reduction(+ : wrong, members)
        {
            int n = omp_get_num_threads();
            members++;
#pragma omp single copyprivate(spread)
            spread = ++singles * 5;
            wrong += spread != 5;
#pragma omp master
            masters++;
#pragma omp critical
            criticals++;
            omp_set_lock(&lock);
            locked++;
            omp_unset_lock(&lock);
#pragma omp barrier
            wrong += criticals != n || locked != n || masters != 1;
#pragma omp for ordered schedule(dynamic, 3) lastprivate(last)
            for (int i = 0; i < N; i++) {
                last = i;
#pragma omp ordered
                {
                    wrong += next++ != i;
                    ordered = (ordered * 3 + i) % 1000003;
                }
            }
        }
        check_saw(members);
        check_equal("wrong", wrong, 0);
        check_equal("singles", singles, 1);
        check_equal("last", last, N - 1);
        if (check_rounds > 0)
            check_equal("ordered", ordered, result);
        result = ordered;
    }
    omp_destroy_lock(&lock);
    return check_end("constructs", result);
}
