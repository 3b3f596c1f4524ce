/* records.c - the record of each region, by its outlined function.
 */
#include "shim.h"

#include <sched.h>

#define PROBES 16

struct nm_region nm_regions[NM_REGIONS];
static __thread struct nm_region uncached __attribute__((tls_model("initial-exec"))); /* when the table is full: right, but resolved each time */

static inline unsigned region_slot(uintptr_t function, unsigned probe)
{
    return (nm_region_slot(function) + probe) % NM_REGIONS;
}

static void region_learn(struct nm_region *region, uintptr_t function)
{
    region->settled[0] = region->settled[1] = 0;
    region->bare = false;
    region->runtime = nm_runtime_of(function);
    region->internal = region->runtime && nm_object_of(function, NULL) == region->runtime->base;
    region->by_kernel = false;
    const char *path = NULL;
    bool owned = region->runtime && !region->internal && nm_object_of(function, &path);
    region->library = owned ? (uint8_t)nm_library_of(path, region->runtime->kmp ? NM_RUNTIME_KMP : NM_RUNTIME_GOMP) : 0;
    region->verb = (uint8_t)nm_library_verb(path);
    region->sizing = region->verb != NM_VERB_NONE || nm_is_blas(function) ? NM_KEEPS : nm_may_have_sections() ? NM_UNSEEN : NM_FOLLOWS;
}

static struct nm_region *region_add(uintptr_t function)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct nm_region *region = &nm_regions[region_slot(function, probe)];
        uintptr_t key = 0;
        if (atomic_compare_exchange_strong(&region->function, &key, 1)) {
            region_learn(region, function);
            atomic_store_explicit(&region->function, function, memory_order_release);
            return region;
        }
        /* Another thread may be adding this very region. */
        while (key == 1) {
            sched_yield();
            key = region->function;
        }
        if (key == function)
            return region;
    }
    region_learn(&uncached, function);
    uncached.sizing = NM_KEEPS;
    return &uncached;
}

struct nm_region *nm_region_find(uintptr_t address)
{
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct nm_region *region = &nm_regions[region_slot(address, probe)];
        uintptr_t key = atomic_load_explicit(&region->function, memory_order_acquire);
        if (NM_LIKELY(key == address))
            return region;
        if (key == 0)
            break;
    }
    return region_add(address);
}

void nm_regions_flush(void)
{
    nm_plans_change();
    for (unsigned i = 0; i < NM_REGIONS; i++)
        if (nm_regions[i].function != 1)
            nm_regions[i].function = 0;
}
