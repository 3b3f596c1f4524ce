/* Division of static loops: every thread asks the runtime for its part as compiled code does, of
 * loops drawn from all sizes, steps and ends of each type, also where the arithmetic wraps. For
 * clang only: gcc's code computes the parts itself.
 */
#include "torture.h"

#define LOOPS 400 /* in one region */

enum { STATIC = 34 };

static uint64_t drawn(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1dull;
}

/* A bound near an end of the type, near zero, or anywhere. */
static uint64_t bound(uint64_t *state, uint64_t smallest, uint64_t largest)
{
    uint64_t near = drawn(state) % 300;
    switch (drawn(state) % 4) {
    case 0: return smallest + near;
    case 1: return largest - near;
    case 2: return near - 150;
    default: return drawn(state);
    }
}

#define DIVIDED(name, type, step_type, smallest, largest)                                                               \
    extern void __kmpc_for_static_init_##name(void *, int32_t, int32_t, int32_t *, type *, type *, step_type *, step_type, \
                                              step_type) __attribute__((weak));                                         \
                                                                                                                        \
    static void divided_##name(void)                                                                                    \
    {                                                                                                                   \
        clear_slots();                                                                                                  \
        _Pragma("omp parallel")                                                                                         \
        {                                                                                                               \
            int32_t gtid = __kmpc_global_thread_num(NULL);                                                              \
            uint64_t digest = 0, state = 0x1234567 + (uint64_t)largest;                                                 \
            for (int i = 0; i < LOOPS; i++) {                                                                           \
                type lower = (type)bound(&state, (uint64_t)smallest, (uint64_t)largest);                                \
                type upper = drawn(&state) % 4 ? (type)((uint64_t)lower + drawn(&state) % 500 - 100)                    \
                                               : (type)bound(&state, (uint64_t)smallest, (uint64_t)largest);            \
                step_type steps[] = {1, 1, 1, -1, 2, -3, 7, 1000003}, stride = 0;                                       \
                step_type step = steps[drawn(&state) % 8];                                                              \
                int32_t last = 0;                                                                                       \
                __kmpc_for_static_init_##name(NULL, gtid, STATIC, &last, &lower, &upper, &stride, step, 1);             \
                digest = mixed(digest, (uint64_t)lower);                                                                \
                digest = mixed(digest, (uint64_t)upper);                                                                \
                digest = mixed(digest, (uint64_t)stride);                                                               \
                digest = mixed(digest, last != 0);                                                                      \
                if (i % 50 == 0) {                                                                                      \
                    _Pragma("omp barrier")                                                                              \
                }                                                                                                       \
            }                                                                                                           \
            *slot(omp_get_thread_num()) = digest;                                                                       \
        }                                                                                                               \
        note_slots(team_size());                                                                                        \
    }

extern int32_t __kmpc_global_thread_num(void *) __attribute__((weak));
DIVIDED(4, int32_t, int32_t, INT32_MIN, INT32_MAX)
DIVIDED(4u, uint32_t, int32_t, 0, UINT32_MAX)
DIVIDED(8, int64_t, int64_t, INT64_MIN, INT64_MAX)
DIVIDED(8u, uint64_t, int64_t, 0, UINT64_MAX)

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"int", divided_4}, {"unsigned", divided_4u}, {"long", divided_8}, {"unsigned long", divided_8u}};
    return TORTURE(parts);
}
