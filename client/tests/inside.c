/* Divides by hand inside the region, from omp_get_num_threads(): right with any team size. */
#include "check.h"
#include <omp.h>

enum { N = 20000 };
static int cell[N];

int main(int argc, char **argv)
{
    long long sum = 0;
    while (check_going(argc, argv)) {
#pragma omp parallel
        {
            int t = omp_get_thread_num(), n = omp_get_num_threads();
            if (t == 0)
                check_saw(n);
            for (int i = (int)((long)N * t / n); i < (int)((long)N * (t + 1) / n); i++)
                cell[i] += i % 7 + 1;
        }
        sum = 0;
        for (int i = 0; i < N; i++) {
            check_equal("cell", cell[i], i % 7 + 1);
            sum += cell[i];
            cell[i] = 0;
        }
    }
    return check_end("inside", sum);
}
