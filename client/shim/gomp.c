/* gomp.c - the entry points of libgomp that open a parallel region, as gcc calls them.
 *
 * Each finds the caller's runtime by the outlined function, settles the size, and passes everything else on untouched.
 * `parallel sections` keeps its size: its sections may talk to each other.
 */
#include "shim.h"

typedef void (*parallel_fn)(nm_outlined, void *, unsigned, unsigned);
typedef unsigned (*reductions_fn)(nm_outlined, void *, unsigned, unsigned);
typedef void (*sections_fn)(nm_outlined, void *, unsigned, unsigned, unsigned);
typedef void (*chunked_fn)(nm_outlined, void *, unsigned, long, long, long, long, unsigned);
typedef void (*runtime_fn)(nm_outlined, void *, unsigned, long, long, long, unsigned);

enum { STATIC, DYNAMIC, GUIDED, NM_DYNAMIC, NM_GUIDED, RUNTIME, NM_RUNTIME, MAYBE_NM_RUNTIME };

/* Cannot happen in a program that was linked: then the region is run by the one thread there is. */
static __attribute__((noinline)) void alone(nm_outlined function, void *data)
{
    function(data);
}

SHIM_EXPORT void GOMP_parallel(nm_outlined function, void *data, unsigned threads, unsigned flags)
{
    struct nm_region *region = nm_region_of((void *)function);
    struct nm_runtime *runtime = region->runtime;
    if (NM_UNLIKELY(!runtime || !runtime->parallel)) {
        alone(function, data);
        return;
    }
    struct nm_plan plan = nm_enter(runtime, region, threads);
    ((parallel_fn)runtime->parallel)(function, data, plan.team, flags);
    nm_leave(plan);
}

SHIM_EXPORT unsigned GOMP_parallel_reductions(nm_outlined function, void *data, unsigned threads, unsigned flags)
{
    struct nm_region *region = nm_region_of((void *)function);
    struct nm_runtime *runtime = region->runtime;
    if (NM_UNLIKELY(!runtime || !runtime->reductions)) {
        alone(function, data);
        return 1;
    }
    struct nm_plan plan = nm_enter(runtime, region, threads);
    unsigned team = ((reductions_fn)runtime->reductions)(function, data, plan.team, flags);
    nm_leave(plan);
    return team;
}

SHIM_EXPORT void GOMP_parallel_sections(nm_outlined function, void *data, unsigned threads, unsigned count, unsigned flags)
{
    struct nm_region *region = nm_region_of((void *)function);
    struct nm_runtime *runtime = region->runtime;
    if (NM_UNLIKELY(!runtime || !runtime->sections)) {
        alone(function, data);
        return;
    }
    unsigned usual = threads ? threads : (unsigned)runtime->get_max_threads();
    struct nm_plan plan = nm_enter(runtime, region, usual);
    ((sections_fn)runtime->sections)(function, data, threads, count, flags);
    nm_leave(plan);
}

#define CHUNKED(suffix, index) \
    SHIM_EXPORT void GOMP_parallel_loop_##suffix(nm_outlined function, void *data, unsigned threads, long from, long to,\
                                                 long step, long chunk, unsigned flags)                                 \
    {                                                                                                                   \
        struct nm_region *region = nm_region_of((void *)function);                                                      \
        struct nm_runtime *runtime = region->runtime;                                                                   \
        if (NM_UNLIKELY(!runtime || !runtime->loop[index])) {                                                           \
            alone(function, data);                                                                                      \
            return;                                                                                                     \
        }                                                                                                               \
        struct nm_plan plan = nm_enter(runtime, region, threads);                                                       \
        ((chunked_fn)runtime->loop[index])(function, data, plan.team, from, to, step, chunk, flags);                    \
        nm_leave(plan);                                                                                                 \
    }

#define SCHEDULED(suffix, index) \
    SHIM_EXPORT void GOMP_parallel_loop_##suffix(nm_outlined function, void *data, unsigned threads, long from, long to,\
                                                 long step, unsigned flags)                                             \
    {                                                                                                                   \
        struct nm_region *region = nm_region_of((void *)function);                                                      \
        struct nm_runtime *runtime = region->runtime;                                                                   \
        if (NM_UNLIKELY(!runtime || !runtime->loop[index])) {                                                           \
            alone(function, data);                                                                                      \
            return;                                                                                                     \
        }                                                                                                               \
        struct nm_plan plan = nm_enter(runtime, region, threads);                                                       \
        ((runtime_fn)runtime->loop[index])(function, data, plan.team, from, to, step, flags);                           \
        nm_leave(plan);                                                                                                 \
    }

CHUNKED(static, STATIC)
CHUNKED(dynamic, DYNAMIC)
CHUNKED(guided, GUIDED)
CHUNKED(nonmonotonic_dynamic, NM_DYNAMIC)
CHUNKED(nonmonotonic_guided, NM_GUIDED)
SCHEDULED(runtime, RUNTIME)
SCHEDULED(nonmonotonic_runtime, NM_RUNTIME)
SCHEDULED(maybe_nonmonotonic_runtime, MAYBE_NM_RUNTIME)

/* Sections inside a region: they may talk to each other as those of `parallel sections` may. */
SHIM_EXPORT unsigned GOMP_sections_start(unsigned count)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    nm_self.sections++;
    return runtime && runtime->sections_start ? runtime->sections_start(count) : 0;
}
