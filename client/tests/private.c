/* threadprivate data: it keeps its value from region to region, and copyin spreads the master's. */
#include "check.h"
#include <omp.h>

static long long counter;
static int seed[16];
#pragma omp threadprivate(counter, seed)

int main(int argc, char **argv)
{
    int team = 0;
    long long total = 0;
    omp_set_dynamic(0);
#pragma omp parallel
    {
        counter = 0;
#pragma omp single
        team = omp_get_num_threads();
    }
    while (check_going(argc, argv)) {
        int wrong = 0, members = 0;
        for (int i = 0; i < 16; i++)
            seed[i] = (int)check_rounds * 16 + i;
#pragma omp parallel copyin(seed) reduction(+ : wrong, members)
        {
            members++;
            if (omp_get_thread_num() == 0)
                check_saw(omp_get_num_threads());
            for (int i = 0; i < 16; i++)
                wrong += seed[i] != (int)check_rounds * 16 + i;
            wrong += counter != check_rounds;
            counter++;
        }
        check_equal("team", members, team);
        check_equal("threads that lost their data", wrong, 0);
    }
#pragma omp parallel reduction(+ : total)
    total += counter;
    check_equal("total", total, (long long)team * check_rounds);
    return check_end("private", 1);
}
