/* division.c - kmp_loops.c divides static loops as the libomp of this machine does: every member of
 * teams of many sizes asks both, of loops drawn from all steps and ends of each type, also where
 * the arithmetic wraps. Links with libomp; the shim's functions stand before libomp's here as they
 * do in a program. Then a played runtime counts its calls: the shim answers a member after enough
 * equal answers, and the runtime answers for ever after one that differs.
 */
#include "../shim/kmp_loops.c"

#include <dlfcn.h>
#include <stdio.h>

/* The parts of other files that kmp_loops.c needs. There is one runtime, and no team is folded. */
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

/* A runtime that can be wrong, asked by member 1 of a folded team of 4. */
static int calls, off;

static void played(void *place, int32_t gtid, int32_t schedule, int32_t *last, int32_t *lower, int32_t *upper, int32_t *stride,
                   int32_t step, int32_t chunk)
{
    (void)place, (void)gtid, (void)schedule, (void)chunk;
    calls++;
    divide_4(1, 4, last, lower, upper, stride, step);
    *upper += off;
}

/* Runs so many loops of 100 iterations; counts how often the runtime was asked, and returns the
 * first iteration after the member's part. */
static int ask(int loops)
{
    int32_t last, lower, upper = 0, stride;
    for (calls = 0; loops > 0; loops--) {
        lower = 0, upper = 99;
        __kmpc_for_static_init_4(NULL, 1, STATIC, &last, &lower, &upper, &stride, 1, 1);
    }
    return upper + 1;
}

static int expect(const char *what, int is, int should)
{
    if (is != should)
        printf("FAILED division: %s is %d, not %d\n", what, is, should);
    return is != should;
}

static int answered_by(void)
{
    struct nm_pass pass = {.runtime = &runtime, .members = 4};
    struct nm_context context = {.number = 1};
    kmp.static_init[0] = (void *)played;
    int failures = expect("an answer in sequential code", ask(1), 50) + expect("calls", calls, 1);
    nm_member.pass = &pass;
    nm_context_self = &context;
    failures += expect("an answer", ask(1000), 50) + expect("calls until the shim answers", calls, COMPARED);
    nm_member.real = true;
    failures += expect("an answer of an unfolded team", ask(7), 50) + expect("calls", calls, 7);
    nm_member.real = false;
    kmp.loops = 0;
    off = 3;
    failures += expect("the runtime's own answer", ask(1000), 53) + expect("calls after one that differs", calls, 1000);
    compared(&kmp, true);
    off = 0;
    failures += expect("calls for ever after", ask(1000) + calls, 1050);
    kmp.loops = COMPARED;
    nm_kmp_leave_loops(&runtime);
    failures += expect("calls after kmp_set_defaults", ask(10) + calls, 60);
    setenv("KMP_SCHEDULE", "static,greedy", 1);
    nm_kmp_find_loops(&runtime, &kmp);
    return failures + expect("loops with KMP_SCHEDULE", kmp.loops, -1);
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
    return !asked || wrong || answered_by();
}
