/* Doacross loops: depend(sink) and depend(source) in one and two dimensions. A member that waits
 * there spins, and no barrier ends the waiting.
 *
 * Plain runs with more threads than processors wait for time slices: large teams get short loops.
 */
#include "torture.h"

#define ITERATIONS 240
#define SIDE 24

/* Iterations in each dimension that do not take forever. */
static int length(int most)
{
    int n = 2 * most / team_size();
    return n < 6 ? 6 : n > most ? most : n;
}

/* Each iteration needs the one three before it. */
static void doacross_line(void)
{
    static uint64_t value[ITERATIONS];
    int end = length(ITERATIONS);
    memset(value, 0, sizeof value);
#pragma omp parallel
    for (int r = 0; r < 2; r++) {
#pragma omp for ordered(1) schedule(static, 1)
        for (int i = 3; i < end; i++) {
#pragma omp ordered depend(sink : i - 3)
            value[i] = mixed(value[i - 3], (uint64_t)(i + r));
#pragma omp ordered depend(source)
        }
    }
#pragma omp parallel for ordered(1) schedule(dynamic, 2)
    for (int i = 3; i < end; i++) {
#pragma omp ordered depend(sink : i - 1) depend(sink : i - 2)
        value[i] = mixed(value[i - 1], value[i - 2]);
#pragma omp ordered depend(source)
    }
    for (int i = 0; i < ITERATIONS; i++)
        note(value[i]);
}

/* A wave over a plane. */
static void doacross_plane(void)
{
    static uint64_t value[SIDE][SIDE];
    int end = length(SIDE);
    memset(value, 0, sizeof value);
    for (int i = 0; i < SIDE; i++)
        value[i][0] = value[0][i] = (uint64_t)i;
#pragma omp parallel for ordered(2) schedule(static)
    for (int i = 1; i < end; i++)
        for (int k = 1; k < end; k++) {
#pragma omp ordered depend(sink : i - 1, k) depend(sink : i, k - 1)
            value[i][k] = mixed(value[i - 1][k], value[i][k - 1]);
#pragma omp ordered depend(source)
        }
    for (int i = 0; i < SIDE * SIDE; i++)
        note(value[i / SIDE][i % SIDE]);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"line", doacross_line}, {"plane", doacross_plane}};
    return TORTURE(parts);
}
