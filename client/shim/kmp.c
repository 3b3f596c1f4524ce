/* kmp.c - the entry points of LLVM's and Intel's OpenMP that open a parallel region, as clang, icx and flang call them.
 *
 * __kmpc_fork_call is variadic, and every argument is a pointer. They are passed on through the smallest bucket that
 * holds them: surplus arguments of a variadic call are never looked at.
 */
#include "shim.h"

#include <stdarg.h>
#include <string.h>

typedef void (*fork_fn)(void *, int32_t, nm_microtask, ...);

#define A1(i) a[i]
#define A4(i) A1(i), A1(i + 1), A1(i + 2), A1(i + 3)
#define A16(i) A4(i), A4(i + 4), A4(i + 8), A4(i + 12)
#define A64(i) A16(i), A16(i + 16), A16(i + 32), A16(i + 48)
#define A256(i) A64(i), A64(i + 64), A64(i + 128), A64(i + 192)
#define ARGUMENTS_MAX 1024

static void pass_on_many(fork_fn fork, void *place, int32_t count, nm_microtask task, va_list list)
{
    void *a[ARGUMENTS_MAX] = {0};
    for (int32_t i = 0; i < count && i < ARGUMENTS_MAX; i++)
        a[i] = va_arg(list, void *);
    if (count <= 64)
        fork(place, count, task, A64(0));
    else if (count <= 256)
        fork(place, count, task, A256(0));
    else
        fork(place, count, task, A256(0), A256(256), A256(512), A256(768));
}

static inline void pass_on(fork_fn fork, void *place, int32_t count, nm_microtask task, va_list list)
{
    if (NM_UNLIKELY(count > 16)) {
        pass_on_many(fork, place, count, task, list);
        return;
    }
    void *a[16];
    for (int32_t i = 0; i < count; i++)
        a[i] = va_arg(list, void *);
    if (count <= 4) {
        for (int32_t i = count; i < 4; i++)
            a[i] = NULL;
        fork(place, count, task, A4(0));
    } else {
        for (int32_t i = count; i < 16; i++)
            a[i] = NULL;
        fork(place, count, task, A16(0));
    }
}

static inline struct nm_plan enter(struct nm_runtime *runtime, struct nm_region *region, void *place)
{
    uint32_t pushed = nm_self.pushed;
    nm_self.pushed = 0;
    struct nm_plan plan = nm_enter(runtime, region, pushed);
    if (plan.team) /* also what the program pushed: adopting may have opened a region that took it */
        runtime->push_num_threads(place, runtime->global_thread_num(place), (int32_t)plan.team);
    return plan;
}

SHIM_EXPORT void __kmpc_fork_call(void *place, int32_t count, nm_microtask task, ...)
{
    struct nm_region *region = nm_region_of((void *)task);
    struct nm_runtime *runtime = region->runtime;
    if (NM_UNLIKELY(!runtime || !runtime->fork_call))
        return;
    struct nm_plan plan = enter(runtime, region, place);
    va_list list;
    va_start(list, task);
    pass_on(runtime->fork_call, place, count, task, list);
    va_end(list);
    nm_leave(plan);
}

SHIM_EXPORT void __kmpc_fork_call_if(void *place, int32_t count, nm_microtask task, int32_t condition, void *arguments)
{
    struct nm_region *region = nm_region_of((void *)task);
    struct nm_runtime *runtime = region->runtime;
    if (NM_UNLIKELY(!runtime || !runtime->fork_call_if))
        return;
    struct nm_plan plan = {0};
    if (condition)
        plan = enter(runtime, region, place);
    runtime->fork_call_if(place, count, task, condition, arguments);
    nm_leave(plan);
}

/* The program wants exactly so many threads for its next region. */
SHIM_EXPORT void __kmpc_push_num_threads(void *place, int32_t gtid, int32_t threads)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    if (NM_UNLIKELY(!runtime || !runtime->push_num_threads))
        return;
    nm_self.pushed = threads > 0 ? (uint32_t)threads : 0;
    runtime->push_num_threads(place, gtid, threads);
}

#define WORK_SECTIONS 0x400 /* ident_t.flags: this "loop" gives out sections */

/* clang gives out sections as a loop over their numbers: whoever holds one may wait for another. */
SHIM_EXPORT void __kmpc_for_static_init_4(void *place, int32_t gtid, int32_t schedule, int32_t *last, int32_t *lower,
                                          int32_t *upper, int32_t *stride, int32_t step, int32_t chunk)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    if (NM_UNLIKELY(place && (((int32_t *)place)[1] & WORK_SECTIONS)))
        nm_self.sections++;
    if (NM_LIKELY(runtime && runtime->static_init))
        runtime->static_init(place, gtid, schedule, last, lower, upper, stride, step, chunk);
}
