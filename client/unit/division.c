/* division.c - kmp_loops.c divides static loops as the libomp of this machine does: every member of teams of many sizes asks both,
 * of loops drawn from all steps and ends of each type, also where the arithmetic wraps. Links with libomp; the shim's functions
 * stand before libomp's here as they do in a program.
 */
#include "../shim/kmp_loops.c"

#include <stdio.h>

/* What kmp_loops.c needs of the others. There is one runtime, and nobody folds a team. */
__thread struct nm_thread nm_self;
__thread struct nm_member nm_member;
__thread struct nm_context *nm_context_self;
_Atomic bool nm_kmp_outside;
static struct nm_kmp kmp;
static struct nm_runtime runtime = {.kmp = true, .inside = &kmp};

bool nm_kmp_holds(const struct nm_runtime *r) { return !r; }
void nm_whole_dissolve(void) {}
struct nm_runtime *nm_runtime_at(const void *place) { return place ? &runtime : NULL; }
void *nm_runtime_symbol(const struct nm_runtime *r, const char *name) { return r ? dlsym(RTLD_NEXT, name) : NULL; }
uintptr_t nm_runtime_base(uintptr_t address) { return address * 0; }

static uint64_t drawn(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1dull;
}

static _Atomic unsigned long asked, wrong;
extern int32_t __kmpc_global_thread_num(void *);
extern int omp_get_thread_num(void), omp_get_num_threads(void);

#define DRAWN_STEPS 8
#define COMPARE(index, divide, bound, step_type, smallest, largest)                                                     \
    for (int i = 0; i < 5000; i++) {                                                                                    \
        static const step_type steps[DRAWN_STEPS] = {1, 1, -1, 2, -3, 7, 1000003, -1000003};                            \
        uint64_t ends[4] = {(uint64_t)(smallest) + drawn(&state) % 300, (uint64_t)(largest) - drawn(&state) % 300,      \
                            drawn(&state) % 300 - 150, drawn(&state)};                                                  \
        bound low = (bound)ends[drawn(&state) % 4];                                                                     \
        uint64_t length = drawn(&state) % 500 - 100;                                                                    \
        bound high = drawn(&state) % 4 ? (bound)((uint64_t)low + length) : (bound)ends[drawn(&state) % 4];              \
        step_type step = steps[drawn(&state) % DRAWN_STEPS], strides[2] = {0};                                          \
        int32_t last[2] = {0};                                                                                          \
        bound lower[2] = {low, low}, upper[2] = {high, high};                                                           \
        divide(number, members, &last[0], &lower[0], &upper[0], &strides[0], step);                                     \
        ((divide##_fn)kmp.static_init[index])(NULL, gtid, STATIC, &last[1], &lower[1], &upper[1], &strides[1], step, 1); \
        asked++;                                                                                                        \
        wrong += lower[0] != lower[1] || upper[0] != upper[1] || !last[0] != !last[1] || strides[0] != strides[1];      \
    }

int main(void)
{
    nm_kmp_find_loops(&runtime, &kmp);
    for (int size = 2; size <= 17; size += size < 8 ? 1 : 9) {
#pragma omp parallel num_threads(size)
        {
            int32_t gtid = __kmpc_global_thread_num(NULL);
            uint32_t number = (uint32_t)omp_get_thread_num(), members = (uint32_t)omp_get_num_threads();
            uint64_t state = 88172645463325252ull;
            COMPARE(0, divide_4, int32_t, int32_t, INT32_MIN, INT32_MAX)
            COMPARE(1, divide_4u, uint32_t, int32_t, 0, UINT32_MAX)
            COMPARE(2, divide_8, int64_t, int64_t, INT64_MIN, INT64_MAX)
            COMPARE(3, divide_8u, uint64_t, int64_t, 0, UINT64_MAX)
        }
    }
    printf("division: %lu answers, %lu are not libomp's\n", (unsigned long)asked, (unsigned long)wrong);
    return !asked || wrong;
}
