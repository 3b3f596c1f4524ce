/* A library with OpenMP inside, to be loaded and unloaded by loader.c. */
#include <omp.h>

long long plugin_sum(int n, int *team);

long long plugin_sum(int n, int *team)
{
    long long sum = 0;
    int members = 0;
#pragma omp parallel reduction(+ : sum, members)
    {
        int t = omp_get_thread_num(), size = omp_get_num_threads();
        members++;
        for (int i = (int)((long)n * t / size); i < (int)((long)n * (t + 1) / size); i++)
            sum += i;
    }
    *team = members;
    return sum;
}
