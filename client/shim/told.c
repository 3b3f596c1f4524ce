/* told.c - what the program was told about team sizes, and so may rely on.
 *
 * omp_get_max_threads() answers the program's own maximum at first; asked again from the same place it answers the present
 * allocation; asked from several places it never changes its answer. What it answered last is the size of every region
 * until it is asked again. A place is the call and the calls that led to it: many programs ask through a function of
 * their own, and what one caller of it does with the answer is not what another does.
 *
 * omp_get_thread_num() and omp_get_num_threads() are only counted: region.c learns from them.
 */
#include "shim.h"

#include <string.h>

static _Atomic uint32_t told;
static _Atomic uintptr_t first_place;
static _Atomic bool several_places;

bool nm_told(uint32_t *size)
{
    *size = atomic_load_explicit(&told, memory_order_relaxed);
    return *size != 0;
}

/* BLAS libraries ask before each operation and pass the answer on as an explicit size: it binds nobody else. */
bool nm_is_blas(uintptr_t address)
{
    const char *name = NULL;
    nm_object_of(address, NULL, &name);
    return name && (strstr(name, "openblas") || strstr(name, "libblis") || strstr(name, "libblas") || strstr(name, "mkl_"));
}

static uint32_t allowed(uint32_t own)
{
    struct numaestro_page *page = nm_client.page;
    if (nm_client.attached && page->manager.epoch != nm_client.epoch)
        nm_adopt(true);
    uint32_t count = nm_client.count;
    return count < own ? count : own;
}

#define STACK_WORDS 64
#define STACK_CALLS 4

/* The call at `place` and those before it on the stack at `frame`, in one number. Without unwinding: words that point into
 * the code of the asking object. A stale word among them can only make two askings look different, or all look the same
 * up to that word; the first keeps the answer as it is, which is always right. */
static uintptr_t calls_at(uintptr_t place, const uintptr_t *frame)
{
    uintptr_t from, to, calls = place;
    if (!nm_code_around(place, &from, &to))
        return calls;
    int seen = 0;
    for (int i = 0; i < STACK_WORDS && seen < STACK_CALLS; i++) {
        if (frame[i] < from || frame[i] >= to)
            continue;
        calls = calls * 31 + frame[i];
        seen++;
    }
    return calls ? calls : 1;
}

static int max_threads_at(void *place, const void *frame)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    if (!runtime)
        return 1;
    uint32_t own = (uint32_t)runtime->get_max_threads();
    if (nm_self.depth > 0 || (!nm_self.root && runtime->get_level() != 0))
        return (int)own;
    if (nm_client.flags & (NM_FLAG_RESIZE_ALWAYS | NM_FLAG_RESIZE_NEVER) || runtime->explicit_max)
        return (int)own;
    if (nm_is_blas((uintptr_t)place))
        return (int)(nm_self.told_blas = allowed(own));
    uintptr_t nobody = 0, calls = calls_at((uintptr_t)place, frame);
    uint32_t before = told;
    if (atomic_compare_exchange_strong(&first_place, &nobody, calls))
        told = own;
    else if (nobody != calls)
        several_places = true;
    else if (!several_places)
        told = allowed(own);
    if (told != before)
        nm_generation++;
    return (int)told;
}

SHIM_EXPORT int omp_get_max_threads(void)
{
    return max_threads_at(__builtin_return_address(0), __builtin_frame_address(0));
}

SHIM_EXPORT int32_t omp_get_max_threads_(void)
{
    return max_threads_at(__builtin_return_address(0), __builtin_frame_address(0));
}

static void set_num_threads_at(void *place, int n)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    if (!runtime)
        return;
    runtime->set_num_threads(n);
    if (nm_self.depth == 0 && !nm_is_blas((uintptr_t)place)) {
        runtime->explicit_max = true;
        runtime->threads_max = (uint32_t)runtime->get_max_threads();
        nm_generation++;
    }
}

SHIM_EXPORT void omp_set_num_threads(int n)
{
    set_num_threads_at(__builtin_return_address(0), n);
}

SHIM_EXPORT void omp_set_num_threads_(const int32_t *n)
{
    set_num_threads_at(__builtin_return_address(0), *n);
}

SHIM_EXPORT void omp_set_num_threads_8_(const int64_t *n)
{
    set_num_threads_at(__builtin_return_address(0), *n > INT32_MAX ? INT32_MAX : (int)*n);
}

static inline int thread_num_at(void *place)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    nm_self.asked_number++;
    return NM_LIKELY(runtime != NULL) ? runtime->get_thread_num() : 0;
}

static inline int num_threads_at(void *place)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    nm_self.asked_size++;
    return NM_LIKELY(runtime != NULL) ? runtime->get_num_threads() : 1;
}

SHIM_EXPORT int omp_get_thread_num(void)
{
    return thread_num_at(__builtin_return_address(0));
}

SHIM_EXPORT int32_t omp_get_thread_num_(void)
{
    return thread_num_at(__builtin_return_address(0));
}

SHIM_EXPORT int omp_get_num_threads(void)
{
    return num_threads_at(__builtin_return_address(0));
}

SHIM_EXPORT int32_t omp_get_num_threads_(void)
{
    return num_threads_at(__builtin_return_address(0));
}

/* Only so that libomp reads its affinity mask under the user's, whatever the program asks first. */
static int num_procs_at(void *place)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    return runtime && runtime->get_num_procs ? runtime->get_num_procs() : 1;
}

SHIM_EXPORT int omp_get_num_procs(void)
{
    return num_procs_at(__builtin_return_address(0));
}

SHIM_EXPORT int32_t omp_get_num_procs_(void)
{
    return num_procs_at(__builtin_return_address(0));
}

static void set_dynamic_at(void *place, int on)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    if (!runtime || !runtime->set_dynamic)
        return;
    runtime->set_dynamic(on);
    runtime->dynamic = on != 0;
    nm_generation++;
}

SHIM_EXPORT void omp_set_dynamic(int on)
{
    set_dynamic_at(__builtin_return_address(0), on);
}

SHIM_EXPORT void omp_set_dynamic_(const int32_t *on)
{
    set_dynamic_at(__builtin_return_address(0), *on);
}
