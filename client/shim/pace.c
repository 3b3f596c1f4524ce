/* pace.c - measures the cost of the shim's own steps. Interrupts, other programs and cold caches
 * only make a step longer, so the shortest of some runs is its cost.
 */
#include "pace.h"

#include "client.h"

#include <stdatomic.h>

enum { RUNS = 8, READINGS = 16, MULTIPLICATIONS = 256 };

/* One reading of the clock. The step of a coarse clock shows as the least difference. */
static uint64_t clock_cost(void)
{
    uint64_t shortest = UINT64_MAX, step = UINT64_MAX;
    for (int run = 0; run < RUNS; run++) {
        uint64_t began = nm_now_ns(), latest = began;
        for (int i = 0; i < READINGS; i++) {
            uint64_t now = nm_now_ns();
            step = now > latest && now - latest < step ? now - latest : step;
            latest = now;
        }
        shortest = latest - began < shortest ? latest - began : shortest;
    }
    shortest /= READINGS;
    return step != UINT64_MAX && step > shortest ? step : shortest;
}

static uint64_t known_clock_ns(void)
{
    static _Atomic uint64_t known;
    uint64_t cost = atomic_load_explicit(&known, memory_order_relaxed);
    if (cost == 0) {
        cost = clock_cost() + 1;
        atomic_store_explicit(&known, cost, memory_order_relaxed);
    }
    return cost - 1;
}

uint64_t nm_shortest_ns(void (*piece)(void))
{
    uint64_t shortest = UINT64_MAX, reading = known_clock_ns();
    for (int run = 0; run < RUNS; run++) {
        uint64_t began = nm_now_ns();
        piece();
        uint64_t took = nm_now_ns() - began;
        shortest = took < shortest ? took : shortest;
    }
    return shortest > reading ? shortest - reading : 1;
}

/* Each multiplication needs the result of the one before it. */
static void work_a_little(void)
{
    uint64_t number = 1;
    for (int i = 0; i < MULTIPLICATIONS; i++) {
        number = number * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(number));
    }
}

struct nm_pace nm_pace(void)
{
    static _Atomic uint64_t little_ns;
    if (!atomic_load_explicit(&little_ns, memory_order_relaxed))
        atomic_store_explicit(&little_ns, nm_shortest_ns(work_a_little), memory_order_relaxed);
    return (struct nm_pace){known_clock_ns(), atomic_load_explicit(&little_ns, memory_order_relaxed)};
}
