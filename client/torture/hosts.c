/* Constructs that use a team in the end: teams and target on the host, distribute, loop, and
 * combined forms. */
#include "torture.h"

#define ITERATIONS 500

static uint64_t cell[ITERATIONS];

static void note_cells(void)
{
    for (int i = 0; i < ITERATIONS; i++)
        note(cell[i]);
    memset(cell, 0, sizeof cell);
}

#if defined(__clang__)
#define EVERYWHERE "omp target parallel for map(tofrom : cell)"
#else
#define EVERYWHERE "omp target teams distribute parallel for map(tofrom : cell)"
#endif

static void targets(void)
{
    uint64_t sum = 0;
    for (int r = 0; r < 4; r++) {
#pragma omp target map(tofrom : sum)
        {
#pragma omp parallel for reduction(+ : sum)
            for (int i = 0; i < 100; i++)
                sum += (uint64_t)(i * r);
        }
        _Pragma(EVERYWHERE)
        for (int i = 0; i < ITERATIONS; i++)
            cell[i] = mixed(cell[i], (uint64_t)i);
    }
    note(sum);
    note_cells();
}

/* LLVM 14's runtime sometimes hangs in a region after `teams`, also without numaestro: programs
 * built with it have none. */
#if !defined(__clang__)
static void host_teams(void)
{
    for (int r = 0; r < 3; r++) {
        static uint64_t seen[3];
        memset(seen, 0, sizeof seen);
#pragma omp teams num_teams(3) thread_limit(4)
        {
            int team = omp_get_team_num();
            seen[team] = (uint64_t)omp_get_num_teams();
#pragma omp parallel num_threads(3)
            {
#pragma omp atomic
                seen[team] += 10 + 100 * (uint64_t)omp_get_thread_num();
#pragma omp barrier
            }
        }
        for (int i = 0; i < 3; i++)
            note(seen[i]);
#pragma omp parallel
        *slot(omp_get_thread_num()) += (uint64_t)omp_get_num_threads();
    }
    note_slots(team_size());
}

static void distributed(void)
{
    uint64_t sum = 0;
#pragma omp teams distribute parallel for num_teams(3) reduction(+ : sum)
    for (int i = 0; i < ITERATIONS; i++) {
        cell[i] = work((uint64_t)i, 2);
        sum += cell[i];
    }
    note(sum);
    note_cells();
}

#endif

/* LLVM 14 lets every member run the whole `loop` by itself. */
#if defined(__clang__)
#define LOOP "omp for"
#else
#define LOOP "omp loop"
#endif

static void any_order(void)
{
#pragma omp parallel
    {
        _Pragma(LOOP)
        for (int i = 0; i < ITERATIONS; i++)
            cell[i] = work((uint64_t)i, 3);
#pragma omp for order(concurrent)
        for (int i = 0; i < ITERATIONS; i++)
            cell[i] = mixed(cell[i], 1);
    }
#pragma omp parallel for simd schedule(static, 8)
    for (int i = 0; i < ITERATIONS; i++)
        cell[i] += 3;
    note_cells();
}

static void combined_tasks(void)
{
    uint64_t sum = 0;
#pragma omp parallel master taskloop reduction(+ : sum)
    for (int i = 0; i < 200; i++)
        sum += (uint64_t)i;
    note(sum);
#pragma omp parallel
#pragma omp master taskloop num_tasks(7)
    for (int i = 0; i < ITERATIONS; i++)
        cell[i] = (uint64_t)i * 3;
    note_cells();
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
#if !defined(__clang__)
        {"teams", host_teams}, {"distribute", distributed},
#endif
        {"target", targets},   {"loop", any_order},         {"tasks", combined_tasks},
    };
    return TORTURE(parts);
}
