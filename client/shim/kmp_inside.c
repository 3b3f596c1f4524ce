/* kmp_inside.c - carries out libomp's constructs inside a region whose team is folded, and holds a
 * team of libomp open.
 *
 * A folded team waits at nm_fold_barrier where libomp has a barrier. libomp still hands out work
 * and chooses the thread of a single. libomp finds a thread by a thread-local number, which follows
 * the context. A task makes the next barrier libomp's (whole.h). Other constructs that wait inside
 * libomp (ordered, doacross) wait in the kernel, and fold/watch.c gives the team back.
 *
 * A team that is held open is one real region of libomp, whose members wait in nm_fold_member.
 * kmp_outside.c keeps sequential code from noticing it.
 */
#include "kmp.h"

#include <stdlib.h>
#include <string.h>

struct nm_kmp_ident nm_kmp_place = {0, 2 /* KMP_IDENT_KMPC */, 0, 0, ";numaestro;team;0;0;;"};

#define RUNTIMES 32
static struct nm_kmp known[RUNTIMES]; /* runtime->inside is one of them */

__thread int32_t nm_kmp_gtid;

/* State between the two halves of a construct. */
static __thread struct {
    enum { NO_REDUCTION, IN_TREE, BEFORE_BARRIER } reduction;
    uint32_t flushes;
    uint32_t alone;      /* tasks and regions of one thread, nested, of sequential code */
    uint32_t serialized; /* nested regions of one thread that the compiler opened by itself */
    struct nm_member outer;
} own __attribute__((tls_model("initial-exec")));

static _Atomic bool any_watched; /* the tool of some runtime hears of flushes */

void nm_kmp_find(struct nm_runtime *runtime)
{
    static unsigned count;
    if (count == RUNTIMES)
        return;
    struct nm_kmp *k = &known[count++];
    runtime->inside = k;
#define FIND(field, name) *(void **)&k->field = nm_runtime_symbol(runtime, "__kmpc_" name)
    FIND(barrier, "barrier");
    FIND(cancel_barrier, "cancel_barrier");
    FIND(reduce, "reduce");
    FIND(reduce_nowait, "reduce_nowait");
    FIND(end_reduce, "end_reduce");
    FIND(end_reduce_nowait, "end_reduce_nowait");
    FIND(copyprivate, "copyprivate");
    FIND(copyprivate_light, "copyprivate_light");
    FIND(ordered, "ordered");
    FIND(doacross_wait, "doacross_wait");
    FIND(task, "omp_task");
    FIND(task_with_deps, "omp_task_with_deps");
    FIND(task_begin, "omp_task_begin_if0");
    FIND(task_complete, "omp_task_complete_if0");
    FIND(taskloop, "taskloop");
    FIND(taskloop_5, "taskloop_5");
    FIND(serialized, "serialized_parallel");
    FIND(end_serialized, "end_serialized_parallel");
#undef FIND
    nm_kmp_find_loops(runtime, k);
    runtime->watched = runtime->watched || nm_kmp_is_watched(runtime);
    if (runtime->watched)
        any_watched = true;
    runtime->whole = !runtime->watched && k->barrier && k->reduce && k->reduce_nowait && k->end_reduce &&
                     k->end_reduce_nowait && k->copyprivate && k->task_begin && k->task_complete && k->serialized &&
                     k->end_serialized &&
                     runtime->global_thread_num;
}

/* The team that is held open */

static struct {
    struct nm_runtime *runtime;
    uint32_t members;
    struct nm_settings last; /* at the end of the team: sequential code may have set them, by a function of the runtime itself */
    bool complete;           /* `last` is known */
    bool asks, spun;
} held;

static _Atomic bool settings_inside; /* a member has changed a setting that belongs to its region only */

void nm_kmp_settings(void)
{
    if (nm_member.pass)
        settings_inside = true;
    nm_whole_settings();
}

static void held_member(int32_t *gtid, int32_t *tid, ...)
{
    struct nm_runtime *runtime = held.runtime;
    uint32_t number = (uint32_t)*tid;
    nm_kmp_gtid = *gtid;
    /* A limit of threads may have made the team smaller: then the shim cannot use it, and all
     * members see that. */
    if ((uint32_t)runtime->get_num_threads() != held.members)
        return;
    if (held.asks)
        nm_kmp_ask_for_order(runtime, *gtid, number, held.members);
    nm_whole_member(number);
    if (number != 0)
        return;
    nm_settings_read(runtime, &held.last);
    held.complete = true;
}

/* Settings made in sequential code while the team was open went to the team. */
static void take_over_settings(const struct nm_runtime *runtime)
{
    struct nm_settings now;
    nm_settings_read(runtime, &now);
    if (held.last.max_threads != now.max_threads)
        runtime->set_num_threads(held.last.max_threads);
    if (held.last.dynamic != now.dynamic)
        runtime->set_dynamic(held.last.dynamic);
    if (held.last.levels != now.levels && runtime->set_max_active_levels)
        runtime->set_max_active_levels(held.last.levels);
    if ((held.last.kind != now.kind || held.last.chunk != now.chunk) && runtime->set_schedule)
        runtime->set_schedule(held.last.kind, held.last.chunk);
}

static void enter(void *unused)
{
    (void)unused;
    struct nm_runtime *runtime = held.runtime;
    runtime->push_num_threads(&nm_kmp_place, runtime->global_thread_num(&nm_kmp_place), (int32_t)held.members);
    runtime->fork_call(&nm_kmp_place, 0, held_member);
    if (held.complete && !settings_inside)
        take_over_settings(runtime);
    if (runtime->spins != held.spun && runtime->set_blocktime)
        runtime->set_blocktime(runtime->spins ? runtime->blocktime : 0);
}

static void go_inside(bool inside)
{
    nm_kmp_hold(held.runtime, !inside);
}

static bool open_team(struct nm_runtime *runtime, uint32_t members)
{
    held.runtime = runtime;
    held.members = members;
    held.complete = false;
    held.asks = nm_kmp_asks_for_order(runtime, members);
    held.spun = runtime->spins;
    settings_inside = false;
    if (nm_whole_open(runtime, members, 0, enter, NULL, go_inside)) {
        if (NM_LIKELY(!nm_whole_is_refused()))
            return true;
        nm_whole_dissolve(); /* a member has seen a reason */
        return false;
    }
    runtime->whole = false;
    return false;
}

bool nm_kmp_run(struct nm_pass *pass)
{
    struct nm_runtime *runtime = pass->runtime;
    if (!nm_kmp_ready(runtime))
        return false;
    if (!nm_whole_holds(runtime, pass->members, 0) && (!nm_whole_may_open(pass) || !open_team(runtime, pass->members)))
        return false;
    nm_whole_run(pass);
    if (NM_UNLIKELY(settings_inside))
        nm_whole_dissolve();
    return true;
}

void nm_kmp_real_barrier(struct nm_runtime *runtime)
{
    runtime->inside->barrier(&nm_kmp_place, runtime->global_thread_num(&nm_kmp_place));
}

/* Barriers */

static inline const struct nm_kmp *kmp_of(const struct nm_runtime *runtime)
{
    return NM_LIKELY(runtime != NULL) ? runtime->inside : NULL;
}

SHIM_EXPORT void __kmpc_barrier(void *place, int32_t gtid)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    if (nm_meets(&nm_member, runtime))
        nm_meet_others(&nm_member);
    else if (k && !nm_kmp_is_outside_of(runtime)) /* sequential code has nobody to wait for */
        k->barrier(place, gtid);
}

SHIM_EXPORT int32_t __kmpc_cancel_barrier(void *place, int32_t gtid)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    if (nm_meets(&nm_member, runtime))
        nm_meet_others(&nm_member);
    else if (k && k->cancel_barrier && !nm_kmp_is_outside_of(runtime))
        return k->cancel_barrier(place, gtid);
    return 0;
}

/* A member that flushes again and again is likely to wait for a value that another one writes, as
 * the members of pipelines do. Other members that could run go before it then. Where this guess is
 * wrong, one flush in FLUSHES_A_TURN costs a switch. */
#define FLUSHES_A_TURN 8u

static __attribute__((noinline)) void tell_of_flush(struct nm_runtime *runtime, void *place)
{
    void (*flush)(void *) = runtime ? (void (*)(void *))nm_runtime_symbol(runtime, "__kmpc_flush") : NULL;
    if (flush && runtime->watched)
        flush(place);
}

SHIM_EXPORT void __kmpc_flush(void *place)
{
    atomic_thread_fence(memory_order_seq_cst);
    struct nm_member *member = &nm_member;
    if (NM_UNLIKELY(any_watched))
        tell_of_flush(nm_runtime_at(__builtin_return_address(0)), place);
    if (member->pass && !member->real && ++own.flushes % FLUSHES_A_TURN == 0)
        nm_fold_yield(nm_context_self);
}

/* Reductions */

static inline bool is_member_of(const struct nm_runtime *runtime)
{
    return nm_member.pass && nm_member.pass->runtime == runtime;
}

static void before_sequential(const struct nm_runtime *runtime)
{
    if (NM_UNLIKELY(nm_kmp_is_outside_of(runtime)))
        nm_whole_dissolve();
}

static void *reduced[NM_FOLD_MEMBERS]; /* each member's data */

/* Combines the data of all members into the root's. The root returns while the others wait for
 * another meeting. */
static int32_t reduce_in_tree(const struct nm_pass *pass, void *data, nm_combine combine)
{
    uint32_t number = (uint32_t)pass->runtime->get_thread_num();
    reduced[number] = data;
    nm_meet_others(&nm_member);
    if (number == 0) {
        nm_kmp_combine_all(pass, reduced, combine);
        return 1;
    }
    nm_meet(&nm_member);
    return 0;
}

SHIM_EXPORT int32_t __kmpc_reduce_nowait(void *place, int32_t gtid, int32_t count, size_t size, void *data, nm_combine combine,
                                         void *lock)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    if (!k)
        return 1;
    before_sequential(runtime);
    own.reduction = NO_REDUCTION;
    if (is_member_of(runtime) && nm_kmp_reduces_in_tree(nm_member.pass, data, combine) && nm_meets(&nm_member, runtime)) {
        int32_t result = reduce_in_tree(nm_member.pass, data, combine);
        if (result)
            nm_meet(&nm_member);
        own.reduction = IN_TREE;
        return result;
    }
    return k->reduce_nowait(place, gtid, count, size, data, combine, lock);
}

SHIM_EXPORT void __kmpc_end_reduce_nowait(void *place, int32_t gtid, void *lock)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    if (k && own.reduction != IN_TREE)
        k->end_reduce_nowait(place, gtid, lock);
    own.reduction = NO_REDUCTION;
}

SHIM_EXPORT int32_t __kmpc_reduce(void *place, int32_t gtid, int32_t count, size_t size, void *data, nm_combine combine,
                                  void *lock)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    if (!k)
        return 1;
    before_sequential(runtime);
    own.reduction = NO_REDUCTION;
    if (is_member_of(runtime)) {
        if (!nm_kmp_reduces_in_tree(nm_member.pass, data, combine)) {
            own.reduction = BEFORE_BARRIER;
        } else if (nm_meets(&nm_member, runtime)) {
            own.reduction = IN_TREE;
            return reduce_in_tree(nm_member.pass, data, combine);
        }
    }
    return k->reduce(place, gtid, count, size, data, combine, lock);
}

SHIM_EXPORT void __kmpc_end_reduce(void *place, int32_t gtid, void *lock)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    int reduction = own.reduction;
    own.reduction = NO_REDUCTION;
    if (reduction == IN_TREE) {
        nm_meet(&nm_member);
    } else if (reduction == BEFORE_BARRIER) {
        /* Gives the lock of the reduction back first: the member may have to wait for its own
         * carrier at the barrier, and that carrier may be running a member that waits for the
         * lock. */
        k->end_reduce_nowait(place, gtid, lock);
        if (nm_meets(&nm_member, runtime))
            nm_meet_others(&nm_member);
        else
            k->barrier(place, gtid);
    } else if (k) {
        k->end_reduce(place, gtid, lock);
    }
}

/* Single with copyprivate */

SHIM_EXPORT void __kmpc_copyprivate(void *place, int32_t gtid, size_t size, void *data, nm_combine copy, int32_t did_it)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    if (!k)
        return;
    before_sequential(runtime);
    if (!nm_meets(&nm_member, runtime)) {
        k->copyprivate(place, gtid, size, data, copy, did_it);
        return;
    }
    struct nm_pass *pass = nm_member.pass;
    if (did_it)
        pass->copied = data;
    nm_meet_others(&nm_member);
    if (!did_it)
        copy(data, pass->copied);
    nm_meet(&nm_member);
}

/* The compiler puts another barrier behind it. */
SHIM_EXPORT void *__kmpc_copyprivate_light(void *place, int32_t gtid, void *data)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    if (!k || !k->copyprivate_light)
        return data;
    before_sequential(runtime);
    if (!nm_meets(&nm_member, runtime))
        return k->copyprivate_light(place, gtid, data);
    struct nm_pass *pass = nm_member.pass;
    if (data)
        pass->copied = data;
    nm_meet_others(&nm_member);
    return pass->copied;
}

/* libomp knows which member's turn it is, and waits for that in the kernel. */

SHIM_EXPORT void __kmpc_ordered(void *place, int32_t gtid)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    before_sequential(runtime);
    if (nm_will_meet(&nm_member, runtime))
        nm_watch_give_back(NM_WHY_TASKS);
    if (k && k->ordered)
        k->ordered(place, gtid);
}

SHIM_EXPORT void __kmpc_doacross_wait(void *place, int32_t gtid, const int64_t *vector)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    before_sequential(runtime);
    if (nm_will_meet(&nm_member, runtime))
        nm_watch_give_back(NM_WHY_TASKS);
    if (k && k->doacross_wait)
        k->doacross_wait(place, gtid, vector);
}

/* Tasks */

SHIM_EXPORT int32_t __kmpc_omp_task(void *place, int32_t gtid, void *task)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    if (!k || !k->task)
        return 0;
    before_sequential(runtime);
    bool begun = nm_task_begin();
    nm_task_is_made(runtime);
    int32_t result = k->task(place, gtid, task);
    nm_task_end(begun);
    return result;
}

SHIM_EXPORT int32_t __kmpc_omp_task_with_deps(void *place, int32_t gtid, void *task, int32_t count, void *dependences,
                                              int32_t count_noalias, void *dependences_noalias)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    if (!k || !k->task_with_deps)
        return 0;
    before_sequential(runtime);
    bool begun = nm_task_begin();
    nm_task_is_made(runtime);
    int32_t result = k->task_with_deps(place, gtid, task, count, dependences, count_noalias, dependences_noalias);
    nm_task_end(begun);
    return result;
}

SHIM_EXPORT void __kmpc_taskloop(void *place, int32_t gtid, void *task, int32_t condition, uint64_t *lower, uint64_t *upper,
                                 int64_t step, int32_t no_group, int32_t schedule, uint64_t grain, void *duplicate)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    before_sequential(runtime);
    bool begun = nm_task_begin();
    if (condition)
        nm_task_is_made(runtime);
    if (k && k->taskloop)
        k->taskloop(place, gtid, task, condition, lower, upper, step, no_group, schedule, grain, duplicate);
    nm_task_end(begun);
}

SHIM_EXPORT void __kmpc_taskloop_5(void *place, int32_t gtid, void *task, int32_t condition, uint64_t *lower, uint64_t *upper,
                                   int64_t step, int32_t no_group, int32_t schedule, uint64_t grain, int32_t modifier,
                                   void *duplicate)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    before_sequential(runtime);
    bool begun = nm_task_begin();
    if (condition)
        nm_task_is_made(runtime);
    if (k && k->taskloop_5)
        k->taskloop_5(place, gtid, task, condition, lower, upper, step, no_group, schedule, grain, modifier,
                      duplicate);
    nm_task_end(begun);
}

/* Tasks and regions that sequential code runs between two calls of the runtime. */

static void begin_alone(void)
{
    if (own.alone || nm_task_begin())
        own.alone++;
}

static void end_alone(void)
{
    if (own.alone && --own.alone == 0)
        nm_task_end(true);
}

SHIM_EXPORT void __kmpc_omp_task_begin_if0(void *place, int32_t gtid, void *task)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    before_sequential(runtime);
    begin_alone();
    if (k && k->task_begin)
        k->task_begin(place, gtid, task);
}

SHIM_EXPORT void __kmpc_omp_task_complete_if0(void *place, int32_t gtid, void *task)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    const struct nm_kmp *k = kmp_of(runtime);
    if (k && k->task_complete)
        k->task_complete(place, gtid, task);
    end_alone();
}

/* Regions whose `if` clause is false: the compiled code runs them itself with one thread. */

static void see_size(int32_t *gtid, int32_t *tid, int *size, struct nm_runtime *runtime)
{
    (void)gtid;
    if (*tid == 0)
        *size = runtime->get_num_threads();
}

/* `if(0) num_threads(3)`: some versions give the 3 to the next real region, others drop it. The
 * shim asks each version once. */
static bool keeps_size(struct nm_runtime *runtime, int32_t gtid)
{
    struct nm_kmp *k = &known[runtime->inside - known];
    if (k->keeps_size == 0 && !runtime->watched && runtime->get_level() == 0) {
        int asked = runtime->get_max_threads() == 1 ? 2 : 1, size = 0;
        uint32_t pushed = nm_self.pushed;
        nm_self.pushed = 0; /* libomp calls this function again for a team of one */
        runtime->push_num_threads(&nm_kmp_place, gtid, asked);
        k->serialized(&nm_kmp_place, gtid);
        k->end_serialized(&nm_kmp_place, gtid);
        runtime->fork_call(&nm_kmp_place, 2, (nm_microtask)(void (*)(void))see_size, &size, runtime);
        k->keeps_size = size == asked ? 1 : -1;
        nm_self.pushed = pushed;
        nm_self.libomp_has_it = false;
    }
    return k->keeps_size >= 0;
}

static void begin_serialized(struct nm_runtime *runtime, void *place, int32_t gtid)
{
    before_sequential(runtime);
    if (NM_UNLIKELY(nm_self.pushed) && !keeps_size(runtime, gtid))
        nm_self.pushed = 0;
    if (own.serialized) {
        own.serialized++;
    } else if (is_member_of(runtime)) {
        own.outer = nm_nested_begin(1);
        own.serialized = 1;
    } else {
        begin_alone();
    }
    runtime->inside->serialized(place, gtid);
}

static void end_serialized(struct nm_runtime *runtime, void *place, int32_t gtid)
{
    runtime->inside->end_serialized(place, gtid);
    if (!own.serialized)
        end_alone();
    else if (--own.serialized == 0)
        nm_nested_end(&own.outer);
}

SHIM_EXPORT void __kmpc_serialized_parallel(void *place, int32_t gtid)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    if (NM_LIKELY(runtime && runtime->inside))
        begin_serialized(runtime, place, gtid);
}

SHIM_EXPORT void __kmpc_end_serialized_parallel(void *place, int32_t gtid)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    if (NM_LIKELY(runtime && runtime->inside))
        end_serialized(runtime, place, gtid);
}

void nm_kmp_serialized(struct nm_runtime *runtime, void *place, nm_microtask task, void *argument)
{
    int32_t gtid = runtime->global_thread_num(place), zero = 0;
    begin_serialized(runtime, place, gtid);
    if (argument)
        task(&gtid, &zero, argument);
    else
        task(&gtid, &zero);
    end_serialized(runtime, place, gtid);
}
