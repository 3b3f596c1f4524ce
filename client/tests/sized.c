/* Arrays with one slot per thread, sized by omp_get_max_threads(), with canaries behind the last
 * slot. The program asks once for the array, and again (elsewhere) for the number of slots to add
 * up. "procs": the array is sized by omp_get_num_procs(), and teams are made of as many, asked anew
 * each time. "online": the same with sysconf(). Their answers must not grow while the program
 * runs. */
#include "check.h"
#include <omp.h>
#include <string.h>

enum { N = 10000, CANARY = 0x5ca1ab1e, CANARIES = 64 };

static int by_processors, by_online;

static int slots_now(void)
{
    return by_processors ? omp_get_num_procs() : by_online ? (int)sysconf(_SC_NPROCESSORS_ONLN) : omp_get_max_threads();
}

static void fill(long long *slot)
{
    int t = omp_get_thread_num();
    if (t == 0)
        check_saw(omp_get_num_threads());
#pragma omp for schedule(dynamic, 64)
    for (int i = 0; i < N; i++)
        slot[t] += i;
}

int main(int argc, char **argv)
{
    by_processors = argc > 2 && !strcmp(argv[2], "procs");
    by_online = argc > 2 && !strcmp(argv[2], "online");
    int slots = slots_now();
    long long *slot = malloc(sizeof *slot * (size_t)(slots + CANARIES));
    long long sum = 0;
    if (!slot)
        return 2;
    for (int i = 0; i < CANARIES; i++)
        slot[slots + i] = CANARY;
    while (check_going(argc, argv)) {
        for (int i = 0; i < slots; i++)
            slot[i] = 0;
        if (by_processors || by_online) {
#pragma omp parallel num_threads(slots_now())
            fill(slot);
        } else {
#pragma omp parallel
            fill(slot);
        }
        sum = 0;
        int now = slots_now();
        if (now > slots)
            check_fail("told %d threads first, %d later", slots, now);
        for (int i = 0; i < now; i++)
            sum += slot[i];
        check_equal("sum over the slots", sum, (long long)N * (N - 1) / 2);
        for (int i = 0; i < CANARIES; i++)
            check_equal("canary", slot[slots + i], CANARY);
    }
    return check_end("sized", sum);
}
