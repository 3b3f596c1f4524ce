/* Keeps the team sizes that OpenMP told it, in ways that are not visible from outside. Modes:
 * "each": one place asks omp_get_max_threads() again and again, and each answer is kept. "frame":
 * two places ask through one function with a frame of 4 KB; one of them for a partition. "earlier":
 * a region asks for its size and its number, but its partition comes from an earlier region. */
#include "check.h"
#include <omp.h>
#include <string.h>

enum { N = 20000, KEPT = 64 };
static int cell[N];

struct partition {
    int first[1025];
};

static void divide(struct partition *it, int threads)
{
    for (int t = 0; t <= threads; t++)
        it->first[t] = (int)((long)N * t / threads);
}

/* Asks as the constructor of an object would: one place for all objects. */
static void __attribute__((noinline)) construct(struct partition *it)
{
    divide(it, omp_get_max_threads());
}

static int __attribute__((noinline)) threads_of_this_program(void)
{
    char frame[4096];
    frame[0] = 0;
    __asm__ volatile("" : : "r"(frame) : "memory");
    int n = omp_get_max_threads();
    __asm__ volatile("" : : "r"(frame) : "memory");
    return n;
}

static void fill(const struct partition *it)
{
    int asked = 0;
#pragma omp parallel
    {
        int t = omp_get_thread_num(), n = omp_get_num_threads();
        if (t == 0) {
            asked = n;
            check_saw(n);
        }
        for (int i = it->first[t]; i < it->first[t + 1]; i++)
            cell[i] += i % 7 + 1;
    }
    if (asked < 1)
        check_fail("no team");
}

int main(int argc, char **argv)
{
    static struct partition kept[KEPT];
    const char *how = argc > 2 ? argv[2] : "each";
    int each = !strcmp(how, "each"), frame = !strcmp(how, "frame"), size = 0, other = 0;
    long long sum = 0;
    if (frame) {
        divide(&kept[0], threads_of_this_program());
    } else if (!each) {
#pragma omp parallel
#pragma omp single
        size = omp_get_num_threads();
        divide(&kept[0], size);
    }
    while (check_going(argc, argv)) {
        int one = 0;
        if (each) {
            construct(&kept[check_rounds % KEPT]);
            one = (int)(check_rounds < KEPT ? check_rounds * 7 % (check_rounds + 1) : check_rounds * 7 % KEPT);
        }
        if (frame)
            other += threads_of_this_program();
        fill(&kept[one]);
        sum = 0;
        for (int i = 0; i < N; i++) {
            check_equal("cell", cell[i], i % 7 + 1);
            sum += cell[i];
            cell[i] = 0;
        }
    }
    if (other < 0)
        check_fail("told %d threads in all", other);
    return check_end("kept", sum);
}
