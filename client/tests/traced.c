/* A program with a tool of the kind of Extrae and TAU, which stands between it and its OpenMP
 * runtime: the tool has the runtime's entries, counts, and calls the next ones. It has to see every
 * region and barrier, with the program's own functions. Compiled with TOOL this is the tool, with
 * which the program is linked before the runtime.
 */
#include "check.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>

/* What the tool has seen: regions, barriers, and the function of the latest region. */
struct traced {
    long regions, barriers;
    void *function;
};
extern struct traced traced;

#ifdef TOOL

struct traced traced;

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        check_fail("no %s behind the tool", name);
    return found;
}

static void see(void *function)
{
    traced.regions++;
    traced.function = function;
}

void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags)
{
    see((void *)function);
    ((void (*)(void (*)(void *), void *, unsigned, unsigned))next("GOMP_parallel"))(function, data, threads, flags);
}

void GOMP_barrier(void);
void GOMP_barrier(void)
{
    __atomic_add_fetch(&traced.barriers, 1, __ATOMIC_RELAXED);
    ((void (*)(void))next("GOMP_barrier"))();
}

typedef void (*task)(int32_t *, int32_t *, ...);

void __kmpc_fork_call(void *place, int32_t count, task function, ...);
void __kmpc_fork_call(void *place, int32_t count, task function, ...)
{
    void *a[4] = {NULL};
    va_list list;
    va_start(list, function);
    for (int32_t i = 0; i < count && i < 4; i++)
        a[i] = va_arg(list, void *);
    va_end(list);
    see((void *)function);
    ((void (*)(void *, int32_t, task, ...))next("__kmpc_fork_call"))(place, count, function, a[0], a[1], a[2], a[3]);
}

void __kmpc_barrier(void *place, int32_t thread);
void __kmpc_barrier(void *place, int32_t thread)
{
    __atomic_add_fetch(&traced.barriers, 1, __ATOMIC_RELAXED);
    ((void (*)(void *, int32_t))next("__kmpc_barrier"))(place, thread);
}

#else
#include <omp.h>

int main(int argc, char **argv)
{
    long barriers = 0, regions = 0;
    Dl_info own, seen;
    dladdr((void *)main, &own);
    while (check_going(argc, argv)) {
        int members = 0;
#pragma omp parallel reduction(+ : members)
        {
            members++;
#pragma omp barrier
        }
        check_saw(members);
        regions++;
        barriers += members;
        check_equal("regions that the tool has seen", traced.regions, regions);
        if (traced.barriers < barriers)
            check_equal("barriers that the tool has seen", traced.barriers, barriers);
        if (!dladdr(traced.function, &seen) || seen.dli_fbase != own.dli_fbase)
            check_fail("the tool has seen a function that is not the program's");
    }
    return check_end("traced", 1);
}
#endif
