/* kmp_loops.c - divides a static loop among the members of a folded team.
 *
 * libomp's answer depends only on the member's number and the team's size. Builds with assertions
 * (Debian's, Ubuntu's) still format a line of text for each answer, and a folded team asks N times
 * on one processor. So the shim answers its members. It compares its first answers with the
 * runtime's; if one differs, that runtime divides all loops from then on. The runtime also divides
 * all loops after KMP_SCHEDULE or kmp_set_defaults, which choose another rule.
 */
#include "kmp.h"

#include <stdlib.h>

enum {
    STATIC = 34,          /* kmp_sch_static: one piece for each thread */
    WORK_SECTIONS = 0x400 /* ident_t.flags: this "loop" gives out sections */
};

/* Number of answers that are compared. */
#define COMPARED 256

void nm_kmp_find_loops(struct nm_runtime *runtime, struct nm_kmp *k)
{
    static const char *const names[] = {"__kmpc_for_static_init_4", "__kmpc_for_static_init_4u", "__kmpc_for_static_init_8",
                                        "__kmpc_for_static_init_8u"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        k->static_init[i] = nm_runtime_symbol(runtime, names[i]);
    k->loops = getenv("KMP_SCHEDULE") ? -1 : 0;
}

void nm_kmp_leave_loops(struct nm_runtime *runtime)
{
    if (runtime->inside)
        atomic_store_explicit(&runtime->inside->loops, -1, memory_order_relaxed);
}

/* Whether the members of this folded team are answered here. */
static inline bool answers(const struct nm_runtime *runtime, const struct nm_kmp *k, int32_t schedule)
{
    const struct nm_member *member = &nm_member;
    return schedule == STATIC && k && member->pass && !member->real && member->pass->runtime == runtime && nm_context_self &&
           atomic_load_explicit(&k->loops, memory_order_relaxed) >= 0;
}

/* Counts a comparison. If another member has ended the comparing meanwhile, it stays ended. */
static void compared(struct nm_kmp *k, bool equal)
{
    int so_far = atomic_load_explicit(&k->loops, memory_order_relaxed);
    while (so_far >= 0 && !atomic_compare_exchange_weak_explicit(&k->loops, &so_far, equal ? so_far + 1 : -1,
                                                                 memory_order_relaxed, memory_order_relaxed)) {
    }
}

/* Arithmetic is unsigned, as wide as the loop's variable, so that it wraps as libomp's does. */
#define STATIC_INIT(index, function, divide, bound, step_type, wide)                                                    \
    typedef void (*divide##_fn)(void *, int32_t, int32_t, int32_t *, bound *, bound *, step_type *, step_type, step_type); \
                                                                                                                        \
    static void divide(uint32_t number, uint32_t members, int32_t *last, bound *lower, bound *upper, step_type *stride,  \
                       step_type step)                                                                                  \
    {                                                                                                                   \
        bool up = step > 0;                                                                                             \
        *last = 0;                                                                                                      \
        *stride = step;                                                                                                 \
        if (up ? *upper < *lower : *lower < *upper)                                                                     \
            return;                                                                                                     \
        wide first = (wide)*lower, by = (wide)step;                                                                     \
        wide trips = up ? ((wide)*upper - first) / by + 1 : (first - (wide)*upper) / (0 - by) + 1;                      \
        if (trips < members) {                                                                                          \
            if (number < trips)                                                                                         \
                *lower = *upper = (bound)(first + number * by);                                                         \
            else                                                                                                        \
                *lower = (bound)((wide)*upper + (up ? 1 : (wide)0 - 1));                                                \
            *last = number == (wide)(trips - 1);                                                                        \
        } else {                                                                                                        \
            wide each = trips / members, more = trips % members;                                                        \
            first += by * (number * each + (number < more ? number : more));                                            \
            *lower = (bound)first;                                                                                      \
            *upper = (bound)(first + each * by - (number < more ? 0 : by));                                             \
            *last = number == members - 1;                                                                              \
        }                                                                                                               \
        *stride = (step_type)trips;                                                                                     \
    }                                                                                                                   \
                                                                                                                        \
    SHIM_EXPORT void function(void *place, int32_t gtid, int32_t schedule, int32_t *last, bound *lower, bound *upper,    \
                              step_type *stride, step_type step, step_type chunk)                                       \
    {                                                                                                                   \
        struct nm_runtime *runtime = nm_runtime_at(__builtin_return_address(0));                                        \
        struct nm_kmp *k = runtime ? runtime->inside : NULL;                                                            \
        if (NM_UNLIKELY(nm_kmp_is_outside_of(runtime)))                                                                 \
            nm_whole_dissolve();                                                                                        \
        /* A member with a section may wait for another one. */                                                         \
        if (NM_UNLIKELY(place && (((int32_t *)place)[1] & WORK_SECTIONS)))                                              \
            nm_self.sections++;                                                                                         \
        if (!runtime)                                                                                                   \
            return;                                                                                                     \
        divide##_fn real = (divide##_fn)(k ? k->static_init[index] : nm_runtime_symbol(runtime, #function));            \
        if (!answers(runtime, k, schedule) || step == 0 || !last) {                                                     \
            if (NM_LIKELY(real != NULL))                                                                                \
                real(place, gtid, schedule, last, lower, upper, stride, step, chunk);                                   \
            return;                                                                                                     \
        }                                                                                                               \
        uint32_t number = nm_context_self->number, members = nm_member.pass->members;                                   \
        if (NM_LIKELY(atomic_load_explicit(&k->loops, memory_order_relaxed) >= COMPARED)) {                             \
            divide(number, members, last, lower, upper, stride, step);                                                  \
            return;                                                                                                     \
        }                                                                                                               \
        int32_t our_last;                                                                                               \
        bound our_lower = *lower, our_upper = *upper;                                                                   \
        step_type our_stride;                                                                                           \
        divide(number, members, &our_last, &our_lower, &our_upper, &our_stride, step);                                  \
        real(place, gtid, schedule, last, lower, upper, stride, step, chunk);                                           \
        compared(k, !our_last == !*last && our_lower == *lower && our_upper == *upper && our_stride == *stride);        \
    }

STATIC_INIT(0, __kmpc_for_static_init_4, divide_4, int32_t, int32_t, uint32_t)
STATIC_INIT(1, __kmpc_for_static_init_4u, divide_4u, uint32_t, int32_t, uint32_t)
STATIC_INIT(2, __kmpc_for_static_init_8, divide_8, int64_t, int64_t, uint64_t)
STATIC_INIT(3, __kmpc_for_static_init_8u, divide_8u, uint64_t, int64_t, uint64_t)
