/* kmp.c - the entry points of LLVM's and Intel's OpenMP that open a parallel region, as clang, icx
 * and flang call them.
 *
 * Each finds the caller's runtime by the outlined function and settles the plan. A team with more
 * threads than processors is folded in user space if it can be (kmp_inside.c). Otherwise the
 * runtime runs the region and each member keeps a record of the pass, so that the team can be
 * folded at a later barrier.
 *
 * __kmpc_fork_call is variadic, and every argument is a pointer. The shim passes them on through
 * the smallest bucket that holds them: the callee never reads surplus arguments of a variadic call.
 */
#include "whole.h"

#include <stdarg.h>
#include <string.h>

typedef void (*fork_fn)(void *, int32_t, nm_microtask, ...);

#define A1(i) a[i]
#define A4(i) A1(i), A1(i + 1), A1(i + 2), A1(i + 3)
#define A16(i) A4(i), A4(i + 4), A4(i + 8), A4(i + 12)
#define A64(i) A16(i), A16(i + 16), A16(i + 32), A16(i + 48)
#define A256(i) A64(i), A64(i + 64), A64(i + 128), A64(i + 192)
#define ARGUMENTS_FEW 4
#define ARGUMENTS_MAX 1024

/* A region with the arguments of its call. */
struct call {
    struct nm_pass pass;
    nm_microtask task;
    int32_t count;
    bool asks; /* its members first find out the order of reductions */
    void *const *arguments; /* filled up to a bucket's size */
#if defined(__x86_64__)
    uint32_t mxcsr;
    uint16_t x87;
#endif
};

static int32_t bucket(int32_t count)
{
    return count <= 4 ? 4 : count <= 16 ? 16 : count <= 64 ? 64 : count <= 256 ? 256 : ARGUMENTS_MAX;
}

static void invoke(nm_microtask task, int32_t *gtid, int32_t *tid, int32_t count, void *const *a)
{
    if (NM_LIKELY(count <= 4))
        task(gtid, tid, A4(0));
    else if (count <= 16)
        task(gtid, tid, A16(0));
    else if (count <= 64)
        task(gtid, tid, A64(0));
    else if (count <= 256)
        task(gtid, tid, A256(0));
    else
        task(gtid, tid, A256(0), A256(256), A256(512), A256(768));
}

static void pass_on(fork_fn fork, void *place, nm_microtask task, int32_t count, void *const *a)
{
    if (NM_LIKELY(count <= 4))
        fork(place, count, task, A4(0));
    else if (count <= 16)
        fork(place, count, task, A16(0));
    else if (count <= 64)
        fork(place, count, task, A64(0));
    else if (count <= 256)
        fork(place, count, task, A256(0));
    else
        fork(place, count, task, A256(0), A256(256), A256(512), A256(768));
}

/* The threads of a region begin with the rounding modes of the thread that opened it, and that
 * thread keeps them afterwards: libomp does the same on this processor. */

#if defined(__x86_64__)
#define MXCSR_FLAGS 0x3fu /* flags that record past exceptions; not settings */

static void keep_modes(struct call *call)
{
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(call->mxcsr), "=m"(call->x87));
}

static void take_modes(const struct call *call)
{
    uint32_t mxcsr, wanted = call->mxcsr & ~MXCSR_FLAGS;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
    if (NM_UNLIKELY((mxcsr & ~MXCSR_FLAGS) != wanted || x87 != call->x87))
        __asm__ volatile("fnclex\n\tfldcw %0\n\tldmxcsr %1" : : "m"(call->x87), "m"(wanted));
}
#else
static void keep_modes(struct call *call)
{
    (void)call;
}

static void take_modes(const struct call *call)
{
    (void)call;
}
#endif

static void plain(struct nm_pass *pass, uint32_t number)
{
    struct call *call = (struct call *)pass;
    int32_t gtid = nm_kmp_gtid, tid = (int32_t)number;
    if (pass->held && number != 0)
        take_modes(call);
    if (NM_UNLIKELY(call->asks))
        nm_kmp_ask_for_order(pass->runtime, gtid, number, pass->members);
    invoke(call->task, &gtid, &tid, call->count, call->arguments);
}

/* The runtime calls this in each member instead of the program's function. */
static void member(int32_t *gtid, int32_t *tid, struct call *call)
{
    nm_kmp_gtid = *gtid;
    nm_pass_member(&call->pass, (uint32_t)*tid);
}

/* Fewer kernel threads than members run the region's team. False: the runtime is to run it. */
static __attribute__((noinline)) bool fold(struct call *call, const struct nm_plan *plan)
{
    enum nm_fold_why why = nm_whole_refused(call->pass.region, plan->members);
    keep_modes(call);
    if (why == NM_WHY_NONE && nm_kmp_run(&call->pass)) {
        take_modes(call);
        return true;
    }
    nm_whole_by_kernel(&call->pass, why != NM_WHY_NONE ? why : NM_WHY_OTHER);
    return false;
}

/* Regions inside of a teams construct belong to that construct's small teams. */
static __thread uint32_t teams __attribute__((tls_model("initial-exec")));

static void push(struct nm_runtime *runtime, void *place, const struct nm_plan *plan)
{
    /* Pushes also a size that the program has pushed itself: adopting may have opened a region that
     * took it. */
    if (plan->team)
        runtime->push_num_threads(place, runtime->global_thread_num(place), (int32_t)plan->team);
}

static __attribute__((noinline)) void go_on(const struct nm_plan *plan, struct nm_runtime *runtime, struct nm_region *region,
                                            void *place, nm_microtask task, int32_t count, void *const *arguments)
{
    if (NM_UNLIKELY(nm_member.pass || teams)) {
        struct nm_member outer = nm_nested_begin(plan->team);
        push(runtime, place, plan);
        pass_on(runtime->fork_call, place, task, count, arguments);
        nm_nested_end(&outer);
        return;
    }
    struct call call;
    call.pass = (struct nm_pass){.runtime = runtime, .region = region, .members = plan->members, .body = plain};
    call.task = task;
    call.count = count;
    call.asks = false;
    call.arguments = arguments;
    call.pass.real_barrier = nm_kmp_real_barrier;
    if (NM_UNLIKELY(plan->fold) && NM_LIKELY(fold(&call, plan)))
        return;
    /* The runtime would take this region for one inside of the team that is held open. */
    if (NM_UNLIKELY(nm_whole_is_held()))
        nm_whole_dissolve();
    push(runtime, place, plan);
    bool outermost = plan->quick || plan->managed;
    if (plan->members > 1 && runtime->whole && outermost && nm_self.root == NM_PRIMARY) {
        call.pass.held = false;
        call.asks = nm_kmp_asks_for_order(runtime, plan->members);
        runtime->fork_call(place, 1, (nm_microtask)(void (*)(void))member, &call);
    } else {
        if (!runtime->whole)
            atomic_store_explicit(&region->bare, true, memory_order_relaxed);
        pass_on(runtime->fork_call, place, task, count, arguments);
    }
}

/* The array `arguments` has the size of the bucket. */
static inline void go(struct nm_runtime *runtime, struct nm_region *region, void *place, nm_microtask task, int32_t count,
                      void *const *arguments)
{
    if (NM_UNLIKELY(region->internal)) {
        pass_on(runtime->fork_call, place, task, count, arguments);
        return;
    }
    uint32_t pushed = nm_self.pushed;
    nm_self.pushed = 0;
    struct nm_plan plan = nm_enter(runtime, region, pushed);
    bool bare = nm_is_bare(&plan), alone = pushed == 1 && plan.managed && !nm_member.pass && !nm_whole_is_held();
    if (NM_LIKELY(bare || alone) && NM_LIKELY(!teams)) {
        /* Neither way has opened a region since the program pushed its size: libomp has it. */
        if (!nm_self.libomp_has_it || plan.team != pushed)
            push(runtime, place, &plan);
        pass_on(runtime->fork_call, place, task, count, arguments);
        if (bare)
            nm_leave_bare(region);
        else
            nm_leave(plan);
        return;
    }
    go_on(&plan, runtime, region, place, task, count, arguments);
    nm_leave(plan);
}

static __attribute__((noinline)) void go_with_many(struct nm_runtime *runtime, struct nm_region *region, void *place,
                                                   nm_microtask task, int32_t count, va_list list)
{
    void *a[ARGUMENTS_MAX];
    int32_t size = bucket(count);
    for (int32_t i = 0; i < size; i++)
        a[i] = i < count ? va_arg(list, void *) : NULL;
    go(runtime, region, place, task, count, a);
}

SHIM_EXPORT void __kmpc_fork_call(void *place, int32_t count, nm_microtask task, ...)
{
    struct nm_region *region = nm_region_of((void *)task);
    struct nm_runtime *runtime = region->runtime;
    if (NM_UNLIKELY(!runtime || !runtime->fork_call))
        return;
    va_list list;
    va_start(list, task);
    if (NM_LIKELY(count <= ARGUMENTS_FEW)) {
        void *a[ARGUMENTS_FEW];
        for (int32_t i = 0; i < ARGUMENTS_FEW; i++)
            a[i] = i < count ? va_arg(list, void *) : NULL;
        go(runtime, region, place, task, count, a);
    } else {
        go_with_many(runtime, region, place, task, count, list);
    }
    va_end(list);
}

SHIM_EXPORT void __kmpc_fork_call_if(void *place, int32_t count, nm_microtask task, int32_t condition, void *arguments)
{
    struct nm_region *region = nm_region_of((void *)task);
    struct nm_runtime *runtime = region->runtime;
    if (NM_UNLIKELY(!runtime || !runtime->fork_call || !runtime->inside))
        return;
    (void)count;
    void *a[4] = {arguments};
    if (condition)
        go(runtime, region, place, task, arguments ? 1 : 0, a);
    else
        nm_kmp_serialized(runtime, place, task, arguments);
}

SHIM_EXPORT void __kmpc_fork_teams(void *place, int32_t count, nm_microtask task, ...)
{
    struct nm_runtime *runtime = nm_runtime_of((uintptr_t)task);
    fork_fn real = runtime ? (fork_fn)nm_runtime_symbol(runtime, "__kmpc_fork_teams") : NULL;
    if (!real || count > ARGUMENTS_MAX)
        return;
    nm_whole_dissolve();
    void *a[ARGUMENTS_MAX] = {0};
    va_list list;
    va_start(list, task);
    for (int32_t i = 0; i < count; i++)
        a[i] = va_arg(list, void *);
    va_end(list);
    teams++;
    struct nm_member outer = nm_nested_begin(1);
    pass_on(real, place, task, count, a);
    nm_nested_end(&outer);
    teams--;
}

/* The program wants exactly so many threads for its next region. */
SHIM_EXPORT void __kmpc_push_num_threads(void *place, int32_t gtid, int32_t threads)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    if (NM_UNLIKELY(!runtime || !runtime->push_num_threads))
        return;
    nm_self.pushed = threads > 0 ? (uint32_t)threads : 0;
    /* While a team is held, the runtime would keep it for a region of that team. */
    nm_self.libomp_has_it = !nm_kmp_is_outside_of(runtime);
    if (nm_self.libomp_has_it)
        runtime->push_num_threads(place, gtid, threads);
}

/* The same for num_threads(strict: ...), and for a list of sizes, of which the first is this
 * region's. libomp keeps what comes with a size, so a program with these names is not folded in
 * user space (kmp_outside.c). */
#define PUSH(name, parameters, size, arguments)                                                                         \
    SHIM_EXPORT void name parameters                                                                                    \
    {                                                                                                                   \
        struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));                                        \
        void(*push) parameters = runtime ? (void(*) parameters)nm_runtime_symbol(runtime, #name) : NULL;                \
        if (!push)                                                                                                      \
            return;                                                                                                     \
        nm_self.pushed = (size) > 0 ? (uint32_t)(size) : 0;                                                             \
        push arguments;                                                                                                 \
    }

PUSH(__kmpc_push_num_threads_strict, (void *place, int32_t gtid, int32_t threads, int severity, const char *text), threads,
     (place, gtid, threads, severity, text))
PUSH(__kmpc_push_num_threads_list, (void *place, int32_t gtid, uint32_t count, int32_t *sizes), count ? sizes[0] : 0,
     (place, gtid, count, sizes))
PUSH(__kmpc_push_num_threads_list_strict,
     (void *place, int32_t gtid, uint32_t count, int32_t *sizes, int severity, const char *text), count ? sizes[0] : 0,
     (place, gtid, count, sizes, severity, text))
