/* scales.c - an ordinary OpenMP program whose speedup on two processors is known: two for `scales`,
 * one for `locked`; `held` fixes its teams.
 *
 *     scales MODE SECONDS
 *
 * The last line is the checksum of a region's result, which must be the same in every region; with
 * `rate`, which runs the regions of `scales`, it is their number.
 */
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 64, STEPS = 2000 };

static uint64_t part(int number)
{
    uint64_t x = (uint64_t)number + 1;
    for (int i = 0; i < STEPS; i++)
        x = x * 6364136223846793005u + (x >> 33);
    return x;
}

static uint64_t scales(void)
{
    uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < PARTS; i++)
        sum += part(i);
    return sum;
}

static uint64_t locked(void)
{
    uint64_t sum = 0;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < PARTS; i++)
#pragma omp critical
        sum += part(i);
    return sum;
}

static uint64_t held(void)
{
    uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(2)
    for (int i = 0; i < PARTS; i++)
        sum += part(i);
    return sum;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    bool rate = !strcmp(mode, "rate");
    uint64_t (*run)(void) = rate || !strcmp(mode, "scales") ? scales : !strcmp(mode, "locked") ? locked : !strcmp(mode, "held") ? held : NULL;
    if (!run || argc < 3)
        return 2;
    double until = omp_get_wtime() + strtod(argv[2], NULL);
    uint64_t first = run(), regions = 1;
    while (omp_get_wtime() < until) {
        if (run() != first) {
            printf("wrong\n");
            return 1;
        }
        regions++;
    }
    if (rate)
        printf("%llu\n", (unsigned long long)regions);
    else
        printf("%016llx\n", (unsigned long long)first);
    return 0;
}
