/* Stacks of members: deep, large, left by longjmp, changed by contexts of the program's own. */
#include "torture.h"
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

static __thread jmp_buf back;

/* Frames of growing sizes, with a barrier at the bottom; all values are unchanged on the way up. */
__attribute__((noinline)) static uint64_t deep(int depth, uint64_t seed)
{
    size_t size = 64 + (size_t)(depth % 7) * 512;
    volatile unsigned char *frame = alloca(size);
    for (size_t i = 0; i < size; i += 64)
        frame[i] = (unsigned char)(seed + i);
    uint64_t below = 0;
    if (depth > 0)
        below = deep(depth - 1, work(seed, 1));
    else {
#pragma omp barrier
    }
    for (size_t i = 0; i < size; i += 64)
        below = mixed(below, frame[i]);
    return below;
}

static void deep_stacks(void)
{
#pragma omp parallel
    for (int r = 0; r < 8; r++) {
        int me = omp_get_thread_num();
        *slot(me) = mixed(*slot(me), deep((me * 7 + r * 13) % 100, (uint64_t)(me + r)));
    }
    note_slots(team_size());
}

/* As much of the stack as OMP_STACKSIZE promises, or half a megabyte. The root's stack has another
 * limit. */
__attribute__((noinline)) static uint64_t fill(size_t size, uint64_t seed)
{
    volatile unsigned char *all = alloca(size);
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i += 1024)
        all[i] = (unsigned char)(seed + i / 1024);
#pragma omp barrier
    for (size_t i = 0; i < size; i += 1024)
        sum += all[i];
    return sum;
}

static void large_stacks(void)
{
    const char *told = getenv("OMP_STACKSIZE");
    size_t size = told ? (size_t)(atof(told) * 1048576.0 * 3 / 4) : 524288;
#pragma omp parallel
    for (int r = 0; r < 2; r++)
        *slot(omp_get_thread_num()) += fill(omp_get_thread_num() ? size : 524288, (uint64_t)(omp_get_thread_num() + r));
    note_slots(team_size());
}

__attribute__((noinline)) static void leap(int depth, int value)
{
    volatile char here[300];
    here[depth] = (char)value;
    if (depth > 0)
        leap(depth - 1, value);
    if (here[depth] == (char)value)
        longjmp(back, value);
}

/* Jumps out of many frames at once, with barriers before and after. */
__attribute__((noinline)) static int leapt(int depth, int value)
{
    volatile int came = setjmp(back);
    if (came == 0) {
#pragma omp barrier
        leap(depth, value);
    }
#pragma omp barrier
    return came;
}

static void jumps(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int r = 1; r < 20; r++)
            *slot(me) = mixed(*slot(me), (uint64_t)leapt((me + r) % 40, r));
    }
    note_slots(team_size());
}

static __thread ucontext_t caller, coroutine;
static __thread uint64_t carried;

static void routine(void)
{
    for (int i = 0;; i++) {
        carried = mixed(carried, (uint64_t)i);
        swapcontext(&coroutine, &caller);
    }
}

/* Each member has a coroutine with a stack from the heap, and switches to it and back. */
static void contexts(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        char *stack = malloc(65536);
        getcontext(&coroutine);
        coroutine.uc_stack.ss_sp = stack;
        coroutine.uc_stack.ss_size = 65536;
        coroutine.uc_link = NULL;
        makecontext(&coroutine, routine, 0);
        carried = (uint64_t)me;
        for (int r = 0; r < 15; r++) {
            swapcontext(&caller, &coroutine);
#pragma omp barrier
            *slot(me) = mixed(*slot(me), carried);
        }
        free(stack);
    }
    note_slots(team_size());
}

static void routine_with_barrier(void)
{
    for (int i = 0;; i++) {
        carried += (uint64_t)i;
#pragma omp barrier
        carried = mixed(carried, 3);
        swapcontext(&coroutine, &caller);
    }
}

/* The member waits at the barrier on the coroutine's stack, not on its own. */
static void barriers_elsewhere(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        char *stack = malloc(131072);
        getcontext(&coroutine);
        coroutine.uc_stack.ss_sp = stack;
        coroutine.uc_stack.ss_size = 131072;
        coroutine.uc_link = NULL;
        makecontext(&coroutine, routine_with_barrier, 0);
        carried = (uint64_t)me;
        for (int r = 0; r < 10; r++)
            swapcontext(&caller, &coroutine);
        *slot(me) = carried;
        free(stack);
    }
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"deep", deep_stacks}, {"large", large_stacks}, {"jumps", jumps}, {"contexts", contexts}, {"elsewhere", barriers_elsewhere},
    };
    return TORTURE(parts);
}
