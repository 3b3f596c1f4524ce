/* gomp.c - the entry points of libgomp that open a parallel region, as gcc calls them.
 *
 * Each finds the caller's runtime by the outlined function and settles the plan. A team with more
 * threads than processors is folded in user space if it can be (gomp_team.c). Otherwise the
 * runtime runs the region and each member keeps a record of the pass, so that the team can be
 * folded at a later barrier.
 */
#include "whole.h"

typedef void (*parallel_fn)(nm_outlined, void *, unsigned, unsigned);
typedef unsigned (*reductions_fn)(nm_outlined, void *, unsigned, unsigned);
typedef void (*sections_fn)(nm_outlined, void *, unsigned, unsigned, unsigned);
typedef void (*chunked_fn)(nm_outlined, void *, unsigned, long, long, long, long, unsigned);
typedef void (*runtime_fn)(nm_outlined, void *, unsigned, long, long, long, unsigned);

enum { STATIC, DYNAMIC, GUIDED, NM_DYNAMIC, NM_GUIDED, RUNTIME, NM_RUNTIME, MAYBE_NM_RUNTIME };

/* A region with the arguments of its call. */
struct call {
    struct nm_pass pass;
    nm_outlined function;
    void *data;
    /* A combined loop, or sections: */
    int loop;
    unsigned sections;
    long from, to, step, chunk;
};

/* This cannot happen in a program that was linked: then the one thread there is runs the region. */
static __attribute__((noinline)) void alone(nm_outlined function, void *data)
{
    function(data);
}

static void plain(struct nm_pass *pass, uint32_t number)
{
    struct call *call = (struct call *)pass;
    (void)number;
    call->function(call->data);
}

static void combined_loop(struct nm_pass *pass, uint32_t number)
{
    struct call *call = (struct call *)pass;
    (void)number;
    nm_gomp_start_loop(pass->runtime, call->loop, call->from, call->to, call->step, call->chunk);
    call->function(call->data);
}

static void combined_sections(struct nm_pass *pass, uint32_t number)
{
    struct call *call = (struct call *)pass;
    (void)number;
    nm_gomp_start_sections(pass->runtime, call->sections);
    call->function(call->data);
}

/* The runtime calls this in each member instead of the program's function. */
static void member(void *pass)
{
    nm_pass_member(pass, 0);
}

/* Fewer kernel threads than members run the region's team. False: the runtime is to run it. */
static __attribute__((noinline)) bool fold(struct call *call, const struct nm_plan *plan, unsigned flags)
{
    enum nm_fold_why why = nm_whole_refused(call->pass.region, plan->members);
    if (why == NM_WHY_NONE && nm_gomp_run(&call->pass, flags))
        return true;
    nm_whole_by_kernel(&call->pass, why != NM_WHY_NONE ? why : NM_WHY_OTHER);
    return false;
}

/* The program wants one thread for this region. Where it is the shim that makes it one thread,
 * teams follow the allocation, and the held one is of no more use. */
static inline bool passes_over(const struct nm_plan *plan)
{
    return plan->members == 1 && !nm_self.serialized && (plan->team == 1 || plan->region->runtime->get_max_threads() == 1);
}

/* Folds a region after it was planned (true: nothing is left to do), or prepares it for the
 * runtime, with `*function` and `*data`. */
static inline bool taken(struct call *call, const struct nm_plan *plan, unsigned flags, nm_outlined *function, void **data)
{
    if (NM_UNLIKELY(!call->pass.runtime->gomp)) {
        nm_whole_dissolve(); /* libomp's entries of these names */
        call->pass.region->bare = true;
        return false;
    }
    if (NM_UNLIKELY(call->pass.runtime->watched)) { /* the tool is to see the program's function */
        call->pass.region->bare = true;
        if (plan->fold)
            nm_whole_by_kernel(&call->pass, NM_WHY_RUNTIME);
        return false;
    }
    if (NM_UNLIKELY(!plan->quick && !plan->managed)) {
        /* Nested in a region or task in which no thread counts barriers. In a region of one thread
         * a team may be held, and libgomp would count its threads for OMP_THREAD_LIMIT. */
        if (plan->members != 1)
            nm_whole_dissolve();
        return false;
    }
    if (NM_UNLIKELY(plan->fold)) {
        if (NM_LIKELY(fold(call, plan, flags)))
            return true;
        nm_whole_dissolve();
    } else if (NM_UNLIKELY(nm_whole_is_held()) && !(passes_over(plan) && nm_whole_lets_pass())) {
        nm_whole_dissolve();
    }
    if (plan->members > 1 && nm_self.root == NM_PRIMARY) {
        call->pass.body = plain;
        *function = member;
        *data = call;
    }
    return false;
}

static inline struct call call_of(struct nm_runtime *runtime, struct nm_region *region, const struct nm_plan *plan,
                                  nm_outlined function, void *data)
{
    return (struct call){
        .pass = {.runtime = runtime, .region = region, .members = plan->members, .body = plain, .real_barrier = nm_gomp_real_barrier},
        .function = function,
        .data = data,
    };
}

static inline bool is_inside(void)
{
    return nm_member.pass != NULL;
}

SHIM_EXPORT void GOMP_parallel(nm_outlined function, void *data, unsigned threads, unsigned flags)
{
    struct nm_region *region = nm_region_of((void *)function);
    struct nm_runtime *runtime = region->runtime;
    if (NM_UNLIKELY(!runtime || !runtime->parallel)) {
        alone(function, data);
        return;
    }
    parallel_fn real = (parallel_fn)runtime->parallel;
    struct nm_plan plan = nm_enter(runtime, region, threads);
    if (NM_LIKELY(nm_is_bare(&plan))) {
        real(function, data, plan.team, flags);
        nm_leave_bare(region);
        return;
    }
    if (NM_UNLIKELY(is_inside())) {
        struct nm_member outer = nm_nested_begin(plan.team);
        real(function, data, plan.team, flags);
        nm_nested_end(&outer);
    } else {
        struct call call = call_of(runtime, region, &plan, function, data);
        if (!taken(&call, &plan, flags, &function, &data))
            real(function, data, plan.team, flags);
    }
    nm_leave(plan);
}

/* The runtime sets task reductions up together with the team. */
SHIM_EXPORT unsigned GOMP_parallel_reductions(nm_outlined function, void *data, unsigned threads, unsigned flags)
{
    struct nm_region *region = nm_region_of((void *)function);
    struct nm_runtime *runtime = region->runtime;
    if (NM_UNLIKELY(!runtime || !runtime->reductions)) {
        alone(function, data);
        return 1;
    }
    struct nm_plan plan = nm_enter(runtime, region, threads);
    nm_whole_dissolve();
    struct nm_member outer = nm_nested_begin(plan.team);
    unsigned team = ((reductions_fn)runtime->reductions)(function, data, plan.team, flags);
    nm_nested_end(&outer);
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
    sections_fn real = (sections_fn)runtime->sections;
    unsigned usual = threads ? threads : (unsigned)runtime->get_max_threads();
    struct nm_plan plan = nm_enter(runtime, region, usual);
    if (NM_LIKELY(nm_is_bare(&plan))) {
        real(function, data, threads, count, flags);
        nm_leave_bare(region);
        return;
    }
    if (NM_UNLIKELY(is_inside())) {
        struct nm_member outer = nm_nested_begin(threads);
        real(function, data, threads, count, flags);
        nm_nested_end(&outer);
    } else {
        struct call call = call_of(runtime, region, &plan, function, data);
        call.pass.body = combined_sections;
        call.sections = count;
        if (!taken(&call, &plan, flags, &function, &data))
            real(function, data, threads, count, flags);
    }
    nm_leave(plan);
}

/* A combined loop. `pass_on` calls the runtime's own entry. */
#define LOOP(index, chunk_size, pass_on)                                                                                \
    struct nm_region *region = nm_region_of((void *)function);                                                          \
    struct nm_runtime *runtime = region->runtime;                                                                       \
    if (NM_UNLIKELY(!runtime || !runtime->loop[index])) {                                                               \
        alone(function, data);                                                                                          \
        return;                                                                                                         \
    }                                                                                                                   \
    struct nm_plan plan = nm_enter(runtime, region, threads);                                                           \
    if (NM_LIKELY(nm_is_bare(&plan))) {                                                                                 \
        pass_on;                                                                                                        \
        nm_leave_bare(region);                                                                                          \
        return;                                                                                                         \
    }                                                                                                                   \
    if (NM_UNLIKELY(is_inside())) {                                                                                     \
        struct nm_member outer = nm_nested_begin(plan.team);                                                            \
        pass_on;                                                                                                        \
        nm_nested_end(&outer);                                                                                          \
    } else {                                                                                                            \
        struct call call = call_of(runtime, region, &plan, function, data);                                            \
        call.pass.body = combined_loop;                                                                                 \
        call.loop = index;                                                                                              \
        call.from = from, call.to = to, call.step = step, call.chunk = chunk_size;                                      \
        plan.fold = plan.fold && nm_gomp_starts_loops(runtime);                                                         \
        if (!taken(&call, &plan, flags, &function, &data))                                                              \
            pass_on;                                                                                                    \
    }                                                                                                                   \
    nm_leave(plan)

#define CHUNKED(suffix, index)                                                                                          \
    SHIM_EXPORT void GOMP_parallel_loop_##suffix(nm_outlined function, void *data, unsigned threads, long from, long to, \
                                                 long step, long chunk, unsigned flags)                                 \
    {                                                                                                                   \
        LOOP(index, chunk,                                                                                              \
             ((chunked_fn)runtime->loop[index])(function, data, plan.team, from, to, step, chunk, flags));              \
    }

#define SCHEDULED(suffix, index)                                                                                        \
    SHIM_EXPORT void GOMP_parallel_loop_##suffix(nm_outlined function, void *data, unsigned threads, long from, long to, \
                                                 long step, unsigned flags)                                             \
    {                                                                                                                   \
        LOOP(index, 0, ((runtime_fn)runtime->loop[index])(function, data, plan.team, from, to, step, flags));           \
    }

CHUNKED(static, STATIC)
CHUNKED(dynamic, DYNAMIC)
CHUNKED(guided, GUIDED)
CHUNKED(nonmonotonic_dynamic, NM_DYNAMIC)
CHUNKED(nonmonotonic_guided, NM_GUIDED)
SCHEDULED(runtime, RUNTIME)
SCHEDULED(nonmonotonic_runtime, NM_RUNTIME)
SCHEDULED(maybe_nonmonotonic_runtime, MAYBE_NM_RUNTIME)
