/* Says what its OpenMP runtime says about places and binding, and where each thread is said to be.
 * Its threads must run on processors of its process only: with "within" in the second argument, on
 * one that the list in the third (one number) names. */
#include "check.h"
#include <omp.h>
#include <sched.h>
#include <string.h>

#define MOST 64

static int place[MOST], first[MOST], count[MOST], bind[MOST], cpu[MOST], team;

static void look(void)
{
#pragma omp parallel
    {
        int i = omp_get_thread_num();
        if (i < MOST) {
            place[i] = omp_get_place_num();
            count[i] = omp_get_partition_num_places();
            int *numbers = calloc((size_t)count[i] + 1, sizeof *numbers);
            omp_get_partition_place_nums(numbers);
            first[i] = count[i] > 0 ? numbers[0] : -1;
            free(numbers);
            bind[i] = (int)omp_get_proc_bind();
            cpu[i] = sched_getcpu();
        }
#pragma omp single
        team = omp_get_num_threads();
    }
}

int main(int argc, char **argv)
{
    int places = omp_get_num_places();
    printf("%d places, binding %d, partition of %d:", places, (int)omp_get_proc_bind(), omp_get_partition_num_places());
    for (int i = 0; i < places; i++) {
        int n = omp_get_place_num_procs(i), *ids = calloc((size_t)n + 1, sizeof *ids);
        omp_get_place_proc_ids(i, ids);
        for (int j = 0; j < n; j++)
            printf("%c%d", j ? ',' : ' ', ids[j]);
        free(ids);
    }
    look();
    for (int i = 0; i < team && i < MOST; i++)
        printf("; %d of %d from %d, %d", place[i], count[i], first[i], bind[i]);
    printf("\n");
    while (check_going(argc, argv)) {
        look();
        check_saw(team);
        for (int i = 0; argc > 3 && !strcmp(argv[2], "within") && i < team && i < MOST; i++)
            check_equal("the processor of a thread", cpu[i], atoi(argv[3]));
    }
    return check_end("places", places);
}
