/* gomp_inside.c - carries out libgomp's constructs inside a region whose team is folded.
 *
 * A folded team waits at nm_fold_barrier where libgomp has a barrier. libgomp still hands out work,
 * frees work shares and chooses the thread of a single, by its own entries that do not wait. A task
 * makes the next barrier libgomp's (whole.h). Other constructs that wait inside libgomp (ordered,
 * doacross) wait in the kernel, and fold/watch.c gives the team back.
 */
#include "whole.h"

#include <dlfcn.h>

struct nm_gomp {
    void (*barrier)(void);
    bool (*barrier_cancel)(void);
    void (*loop_end)(void), (*loop_end_nowait)(void);
    bool (*loop_end_cancel)(void);
    void (*sections_end)(void), (*sections_end_nowait)(void);
    bool (*sections_end_cancel)(void);
    bool (*single_start)(void);
    void *(*single_copy_start)(void);
    void (*single_copy_end)(void *);
    unsigned (*sections_start)(unsigned), (*sections_next)(void);
    void (*ordered_start)(void);
    void (*task)(void (*)(void *), void *, void (*)(void *, void *), long, long, bool, unsigned, void **, int, void *);
    void (*taskloop)(void (*)(void *), void *, void (*)(void *, void *), long, long, unsigned, unsigned long, int, long, long,
                     long);
    void (*taskloop_ull)(void (*)(void *), void *, void (*)(void *, void *), long, long, unsigned, unsigned long, int,
                         unsigned long long, unsigned long long, unsigned long long);
    bool (*loop_start)(long, long, long, long, long, long *, long *, uintptr_t *, void **); /* since gcc 9; else NULL */
};

#define RUNTIMES 32
static struct nm_gomp known[RUNTIMES];

void nm_gomp_find(struct nm_runtime *runtime)
{
    static unsigned count;
    if (count == RUNTIMES)
        return;
    struct nm_gomp *g = &known[count++];
    /* Also for functions that are not there: NULL. POSIX wants a function's address to pass through
     * an object pointer. */
#define FIND(field, name) *(void **)&g->field = nm_runtime_symbol(runtime, "GOMP_" name)
    FIND(barrier, "barrier");
    FIND(barrier_cancel, "barrier_cancel");
    FIND(loop_end, "loop_end");
    FIND(loop_end_nowait, "loop_end_nowait");
    FIND(loop_end_cancel, "loop_end_cancel");
    FIND(sections_end, "sections_end");
    FIND(sections_end_nowait, "sections_end_nowait");
    FIND(sections_end_cancel, "sections_end_cancel");
    FIND(single_start, "single_start");
    FIND(single_copy_start, "single_copy_start");
    FIND(single_copy_end, "single_copy_end");
    FIND(sections_start, "sections_start");
    FIND(sections_next, "sections_next");
    FIND(ordered_start, "ordered_start");
    FIND(task, "task");
    FIND(taskloop, "taskloop");
    FIND(taskloop_ull, "taskloop_ull");
    FIND(loop_start, "loop_start");
#undef FIND
    runtime->gomp = g;
    runtime->whole = !runtime->watched && g->barrier && g->loop_end && g->loop_end_nowait && g->sections_end && g->sections_end_nowait &&
                     g->single_start && nm_gomp_state_is_known(runtime);
}

void nm_gomp_real_barrier(struct nm_runtime *runtime)
{
    runtime->gomp->barrier();
}

/* The state of a combined loop that its first `next` expects. */

enum { STATIC, DYNAMIC, GUIDED, NM_DYNAMIC, NM_GUIDED, RUNTIME, NM_RUNTIME, MAYBE_NM_RUNTIME };

bool nm_gomp_starts_loops(const struct nm_runtime *runtime)
{
    return runtime->gomp && runtime->gomp->loop_start;
}

void nm_gomp_start_loop(const struct nm_runtime *runtime, int kind, long from, long to, long step, long chunk)
{
    /* libgomp's numbers of the schedules; libgomp takes no first chunk if it is given no place for
     * it. */
    static const long schedules[] = {
        [STATIC] = 1, [DYNAMIC] = 2, [GUIDED] = 3, [NM_DYNAMIC] = 2, [NM_GUIDED] = 3, [RUNTIME] = 0, [NM_RUNTIME] = 0,
        [MAYBE_NM_RUNTIME] = 0};
    runtime->gomp->loop_start(from, to, step, schedules[kind], chunk, NULL, NULL, NULL, NULL);
}

void nm_gomp_start_sections(const struct nm_runtime *runtime, unsigned count)
{
    nm_member.section = runtime->gomp->sections_start(count);
    nm_member.first = 1;
}

/* Barriers, those at the end of other constructs included */

static inline const struct nm_gomp *gomp_at(void *place, struct nm_runtime **runtime)
{
    *runtime = nm_runtime_at(place);
    return *runtime ? (*runtime)->gomp : NULL;
}

SHIM_EXPORT void GOMP_barrier(void)
{
    struct nm_runtime *runtime;
    const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);
    if (nm_meets(&nm_member, runtime))
        nm_meet_others(&nm_member);
    else if (g)
        g->barrier();
    else if (runtime)
        ((void (*)(void))nm_runtime_symbol(runtime, "GOMP_barrier"))();
}

/* A runtime that is not libgomp may offer these entries too. */
#define REAL(name) ((__typeof__(&name))nm_runtime_symbol(runtime, #name))

SHIM_EXPORT bool GOMP_barrier_cancel(void)
{
    struct nm_runtime *runtime;
    const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);
    if (nm_meets(&nm_member, runtime)) {
        nm_meet_others(&nm_member);
        return false;
    }
    return g ? g->barrier_cancel() : runtime && REAL(GOMP_barrier_cancel)();
}

#define END(construct)                                                                                                  \
    SHIM_EXPORT void GOMP_##construct##_end(void)                                                                      \
    {                                                                                                                   \
        struct nm_runtime *runtime;                                                                                    \
        const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);                                      \
        if (nm_meets(&nm_member, runtime)) {                                                                           \
            g->construct##_end_nowait();                                                                               \
            nm_meet_others(&nm_member);                                                                                \
        } else if (g) {                                                                                                \
            g->construct##_end();                                                                                      \
        } else if (runtime) {                                                                                          \
            REAL(GOMP_##construct##_end)();                                                                            \
        }                                                                                                               \
    }                                                                                                                   \
    SHIM_EXPORT bool GOMP_##construct##_end_cancel(void)                                                               \
    {                                                                                                                   \
        struct nm_runtime *runtime;                                                                                    \
        const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);                                      \
        if (nm_meets(&nm_member, runtime)) {                                                                           \
            g->construct##_end_nowait();                                                                               \
            nm_meet_others(&nm_member);                                                                                \
            return false;                                                                                              \
        }                                                                                                               \
        return g ? g->construct##_end_cancel() : runtime && REAL(GOMP_##construct##_end_cancel)();                     \
    }

END(loop)
END(sections)

/* The member that executes the construct comes to the barrier at its end, the others at its
 * beginning. */
SHIM_EXPORT void *GOMP_single_copy_start(void)
{
    struct nm_runtime *runtime;
    const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);
    struct nm_member *member = &nm_member;
    member->copies = nm_will_meet(member, runtime);
    if (member->copies) {
        if (g->single_start())
            return NULL;
        struct nm_pass *pass = member->pass;
        nm_meet(member);
        return pass->copied;
    }
    if (!g)
        return runtime ? REAL(GOMP_single_copy_start)() : NULL;
    /* A change to the runtime's barriers is due before the runtime waits; the member that executes
     * the construct has then changed early. */
    if (member->pass && member->pass->runtime == runtime && member->pass->change_at == member->barriers + 1)
        nm_pass_change(member, member->pass);
    void *data = g->single_copy_start();
    /* This member has been to the barrier. A change that it announced only now could come too late
     * for others. */
    if (data && member->pass && member->pass->runtime == runtime)
        member->barriers++;
    return data;
}

SHIM_EXPORT void GOMP_single_copy_end(void *data)
{
    struct nm_runtime *runtime;
    const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);
    struct nm_member *member = &nm_member;
    if (member->copies) {
        member->pass->copied = data;
        nm_meet(member);
    } else if (g) {
        nm_meets(member, runtime);
        g->single_copy_end(data);
    } else if (runtime) {
        REAL(GOMP_single_copy_end)(data);
    }
}

/* Sections. Those inside a region may communicate, as those of `parallel sections` may. */

SHIM_EXPORT unsigned GOMP_sections_start(unsigned count)
{
    struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));
    nm_self.sections++;
    return runtime && runtime->sections_start ? runtime->sections_start(count) : 0;
}

SHIM_EXPORT unsigned GOMP_sections_next(void)
{
    struct nm_runtime *runtime;
    const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);
    struct nm_member *member = &nm_member;
    if (NM_UNLIKELY(member->first) && member->pass && member->pass->runtime == runtime) {
        member->first = 0;
        return member->section;
    }
    return g ? g->sections_next() : runtime ? REAL(GOMP_sections_next)() : 0;
}

SHIM_EXPORT void GOMP_ordered_start(void)
{
    struct nm_runtime *runtime;
    const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);
    /* libgomp knows which member's turn it is, and waits for that in the kernel. */
    if (nm_will_meet(&nm_member, runtime))
        nm_watch_give_back(NM_WHY_TASKS);
    if (g)
        g->ordered_start();
    else if (runtime)
        REAL(GOMP_ordered_start)();
}

/* Tasks */

#define TASKLOOP_IF (1u << 10) /* libgomp's flag: the `if` clause, if any, is true */

SHIM_EXPORT void GOMP_task(void (*function)(void *), void *data, void (*copy)(void *, void *), long size, long align,
                           bool if_clause, unsigned flags, void **depend, int priority, void *detach)
{
    struct nm_runtime *runtime;
    const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);
    if (!g && !runtime)
        return;
    bool begun = nm_task_begin();
    if (if_clause)
        nm_task_is_made(runtime);
    (g ? g->task : REAL(GOMP_task))(function, data, copy, size, align, if_clause, flags, depend, priority, detach);
    nm_task_end(begun);
}

SHIM_EXPORT void GOMP_taskloop(void (*function)(void *), void *data, void (*copy)(void *, void *), long size, long align,
                               unsigned flags, unsigned long tasks, int priority, long from, long to, long step)
{
    struct nm_runtime *runtime;
    const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);
    if (!g && !runtime)
        return;
    bool begun = nm_task_begin();
    if (flags & TASKLOOP_IF)
        nm_task_is_made(runtime);
    (g ? g->taskloop : REAL(GOMP_taskloop))(function, data, copy, size, align, flags, tasks, priority, from, to, step);
    nm_task_end(begun);
}

SHIM_EXPORT void GOMP_taskloop_ull(void (*function)(void *), void *data, void (*copy)(void *, void *), long size, long align,
                                   unsigned flags, unsigned long tasks, int priority, unsigned long long from,
                                   unsigned long long to, unsigned long long step)
{
    struct nm_runtime *runtime;
    const struct nm_gomp *g = gomp_at(__builtin_return_address(0), &runtime);
    if (!g && !runtime)
        return;
    bool begun = nm_task_begin();
    if (flags & TASKLOOP_IF)
        nm_task_is_made(runtime);
    (g ? g->taskloop_ull : REAL(GOMP_taskloop_ull))(function, data, copy, size, align, flags, tasks, priority, from, to, step);
    nm_task_end(begun);
}
