/* regions.c - the times of the program's regions, by outlined function: on the base, on the present
 * allocation, and the fastest ones at each size. The helper thread only uses them.
 */
#include "analyzer.h"

#include <string.h>

#define FOLLOWED 64u
#define LEAST NM_LEAST
#define SIZES 4u
#define RECENT 4u /* times of a region that tell its present speed */

static struct followed {
    uintptr_t function;
    struct nm_times base, now;
    uint32_t calls; /* in the latest window on the allocation */
    uint32_t best_size[SIZES], best_ns[SIZES]; /* its fastest RECENT at a size */
} table[FOLLOWED];

static struct followed *follow(uintptr_t function)
{
    for (uint32_t i = 0; i < FOLLOWED; i++) {
        struct followed *it = &table[i];
        if (it->function == 0)
            it->function = function;
        if (it->function == function)
            return it;
    }
    return NULL;
}

void nm_regions_forget(void)
{
    memset(table, 0, sizeof table);
}

void nm_regions_forget_now(void)
{
    for (uint32_t i = 0; i < FOLLOWED; i++)
        table[i].now.count = table[i].calls = 0;
}

void nm_regions_forget_base(void)
{
    for (uint32_t i = 0; i < FOLLOWED; i++)
        table[i].base.count = 0;
}

void nm_regions_forget_calls(void)
{
    for (uint32_t i = 0; i < FOLLOWED; i++)
        table[i].calls = 0;
}

bool nm_regions_add(uintptr_t function, uint64_t took, bool to_base, bool to_now)
{
    struct followed *it = follow(function);
    if (!it)
        return false;
    if (to_base)
        nm_times_add(&it->base, took);
    if (to_now) {
        nm_times_add(&it->now, took);
        it->calls++;
    }
    return true;
}

struct nm_totals nm_regions_totals(bool *disperse)
{
    struct nm_totals totals = {0};
    uint64_t known = 0, all = 0;
    for (uint32_t i = 0; i < FOLLOWED; i++) {
        const struct followed *it = &table[i];
        if (!it->calls)
            continue;
        uint64_t now = nm_times_low(&it->now, 1, NULL), base = nm_times_low(&it->base, LEAST, NULL);
        all += it->calls * now;
        if (base && it->now.count >= LEAST) {
            known += it->calls * now;
            totals.on_now += it->calls * (uint64_t)nm_times_low(&it->now, LEAST, disperse);
            totals.on_base += it->calls * (uint64_t)nm_times_low(&it->base, LEAST, disperse);
        }
    }
    /* Regions that may not be resized, or have not been measured, must not matter much. */
    return known * 4 < all * 3 ? (struct nm_totals){0} : totals;
}

uint32_t nm_regions_base(uintptr_t function)
{
    const struct followed *it = follow(function);
    return it ? nm_times_low(&it->base, LEAST, NULL) : 0;
}

bool nm_regions_have_base(void)
{
    uint64_t known = 0, all = 0;
    for (uint32_t i = 0; i < FOLLOWED; i++) {
        const struct followed *it = &table[i];
        uint64_t weight = it->calls * (uint64_t)nm_times_low(&it->now, 1, NULL);
        all += weight;
        known += it->base.count >= LEAST ? weight : 0;
    }
    return known * 4 >= all * 3;
}

uint32_t nm_regions_stretch(uint32_t size, uint32_t of_iteration)
{
    uint64_t now = 0, best = 0, varying = 0;
    for (uint32_t i = 0; i < FOLLOWED && table[i].function; i++) {
        struct followed *it = &table[i];
        uint32_t low = nm_times_recent(&it->now, RECENT);
        bool disperse = false;
        uint32_t usual = nm_times_low(&it->now, RECENT, &disperse);
        if (!low || !it->calls)
            continue;
        varying += disperse ? (uint64_t)usual * it->calls : 0;
        uint32_t *size_there = &it->best_size[size % SIZES], *ns = &it->best_ns[size % SIZES];
        if (*size_there != size || low < *ns)
            *ns = low;
        *size_there = size;
        now += (uint64_t)low * it->calls;
        best += (uint64_t)*ns * it->calls;
    }
    if (varying * 4 > now)
        return of_iteration;
    return best ? (uint32_t)(now * 1000 / best) : 0;
}
