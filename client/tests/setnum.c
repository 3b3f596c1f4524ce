/* omp_set_num_threads(3): three threads in every later region, and the number can be read back. */
#include "check.h"
#include <omp.h>

int main(int argc, char **argv)
{
    long long sum = 0;
    omp_set_dynamic(0);
    omp_set_num_threads(3);
    while (check_going(argc, argv)) {
        int part[3] = {0, 0, 0};
        check_equal("omp_get_max_threads", omp_get_max_threads(), 3);
        check_equal("omp_get_dynamic", omp_get_dynamic(), 0);
#pragma omp parallel
        {
            check_equal("team", omp_get_num_threads(), 3);
            part[omp_get_thread_num()] = omp_get_thread_num() + 1;
            if (omp_get_thread_num() == 0)
                check_saw(omp_get_num_threads());
        }
        sum = part[0] + 10 * part[1] + 100 * part[2];
        check_equal("parts", sum, 321);
        omp_set_num_threads(2);
#pragma omp parallel
        check_equal("team after the second call", omp_get_num_threads(), 2);
        omp_set_num_threads(3);
    }
    return check_end("setnum", sum);
}
