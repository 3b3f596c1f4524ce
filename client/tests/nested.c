/* Nested regions: explicit inner sizes, inner regions without a size, level and ancestor
 * numbers. */
#include "check.h"
#include <omp.h>

enum { N = 500 };

int main(int argc, char **argv)
{
    long long sum = 0;
    omp_set_max_active_levels(2);
    while (check_going(argc, argv)) {
        long long outer = 0;
        int inner_wrong = 0, level_wrong = 0;
#pragma omp parallel reduction(+ : outer, inner_wrong, level_wrong)
        {
            int me = omp_get_thread_num(), team = omp_get_num_threads();
            long long mine = 0;
            if (me == 0)
                check_saw(team);
#pragma omp parallel num_threads(2) reduction(+ : mine, inner_wrong, level_wrong)
            {
                int t = omp_get_thread_num(), n = omp_get_num_threads();
                inner_wrong += n != 2;
                level_wrong += omp_get_level() != 2 || omp_get_ancestor_thread_num(1) != me || omp_get_team_size(1) != team;
                for (int i = N * t / n; i < N * (t + 1) / n; i++)
                    mine += i;
            }
            if (mine != (long long)N * (N - 1) / 2)
                inner_wrong++;
            mine = 0;
            int members = 0;
#pragma omp parallel reduction(+ : mine, members)
            {
                members++;
#pragma omp for
                for (int i = 0; i < N; i++)
                    mine += i;
            }
            if (me == 0)
                check_saw(members);
            if (mine != (long long)N * (N - 1) / 2)
                inner_wrong++;
#pragma omp for
            for (int i = 0; i < N; i++)
                outer += i;
        }
        check_equal("wrong inner regions", inner_wrong, 0);
        check_equal("wrong levels", level_wrong, 0);
        check_equal("outer sum", outer, (long long)N * (N - 1) / 2);
        sum = outer;
    }
    return check_end("nested", sum);
}
