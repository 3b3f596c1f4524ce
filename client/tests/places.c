/* Says what its OpenMP runtime says about places and binding, and where each thread is said to be.
 * With "one" in the second argument, its process has one processor, and the kernel must keep all of
 * its threads there, wherever their places are. */
#include "check.h"
#include <omp.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#define MOST 64

static int place[MOST], first[MOST], count[MOST], bind[MOST], team;
static unsigned long kernels[MOST][16];

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
            memset(kernels[i], 0, sizeof kernels[i]);
            syscall(SYS_sched_getaffinity, 0, sizeof kernels[i], kernels[i]);
        }
#pragma omp single
        team = omp_get_num_threads();
    }
}

static int is_apart(void)
{
    int bits = 0, apart = 0;
    for (int i = 0; i < 16; i++)
        bits += __builtin_popcountl(kernels[0][i]);
    for (int i = 1; i < team && i < MOST; i++)
        apart |= memcmp(kernels[i], kernels[0], sizeof kernels[0]);
    return bits != 1 || apart;
}

int main(int argc, char **argv)
{
    int places = omp_get_num_places(), strays = 0;
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
        /* They may have been moved meanwhile. */
        strays = is_apart() ? strays + 1 : 0;
        if (argc > 2 && !strcmp(argv[2], "one") && strays > 100)
            check_fail("its threads are not on one processor");
        usleep(1000);
    }
    return check_end("places", places);
}
