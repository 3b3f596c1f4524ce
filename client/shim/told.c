/* told.c - the program's own questions and settings of team sizes.
 *
 * Every answer is the one it would have without us.
 */
#include "whole.h"

#include <string.h>

/* Whether this code belongs to a BLAS library. Built with OpenMP, it needs exactly the team that it
 * counted on. */
bool nm_is_blas(uintptr_t address)
{
    const char *name = NULL;
    nm_object_of(address, &name);
    return name && (strstr(name, "openblas") || strstr(name, "libblis") || strstr(name, "libblas") || strstr(name, "mkl_"));
}

/* Only so that libomp reads its affinity mask under the user's, also if this is the first call. */
static int max_threads_at(void *place)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    return runtime ? runtime->get_max_threads() : 1;
}

SHIM_EXPORT int omp_get_max_threads(void)
{
    return max_threads_at(__builtin_return_address(0));
}

SHIM_EXPORT int32_t omp_get_max_threads_(void)
{
    return max_threads_at(__builtin_return_address(0));
}

static void set_num_threads_at(void *place, int n)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    if (!runtime)
        return;
    int before = runtime->get_max_threads();
    runtime->set_num_threads(n);
    nm_whole_settings();
    if (nm_self.root == NM_PRIMARY && nm_self.depth == 0 && runtime->get_max_threads() != before)
        nm_generation++;
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

/* The same. */
static int num_procs_at(void *place)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    if (!runtime || !runtime->get_num_procs)
        return 1;
    return runtime->procs ? runtime->procs : runtime->get_num_procs();
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
    nm_whole_settings();
    /* A thread allows any size for its own regions; it may mean to forbid it for all of them. */
    if (!on)
        runtime->fixed = true;
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

/* Settings that a team takes over when it begins. */
#define SETTING(name)                                                                                                   \
    static void name##_at(void *place, int value)                                                                      \
    {                                                                                                                   \
        struct nm_runtime *runtime = nm_runtime_at(place);                                                             \
        void (*set)(int) = runtime ? (void (*)(int))nm_runtime_symbol(runtime, #name) : NULL;                          \
        if (set)                                                                                                        \
            set(value);                                                                                                 \
        nm_whole_settings();                                                                                            \
    }                                                                                                                   \
    SHIM_EXPORT void name(int value)                                                                                   \
    {                                                                                                                   \
        name##_at(__builtin_return_address(0), value);                                                                  \
    }                                                                                                                   \
    SHIM_EXPORT void name##_(const int32_t *value)                                                                     \
    {                                                                                                                   \
        name##_at(__builtin_return_address(0), *value);                                                                 \
    }                                                                                                                   \
    SHIM_EXPORT void name##_8_(const int64_t *value)                                                                   \
    {                                                                                                                   \
        name##_at(__builtin_return_address(0), *value > INT32_MAX ? INT32_MAX : (int)*value);                           \
    }

SETTING(omp_set_nested)
SETTING(omp_set_max_active_levels)

static void set_schedule_at(void *place, int kind, int chunk)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    void (*set)(int, int) = runtime ? (void (*)(int, int))nm_runtime_symbol(runtime, "omp_set_schedule") : NULL;
    if (set)
        set(kind, chunk);
    nm_whole_settings();
}

SHIM_EXPORT void omp_set_schedule(int kind, int chunk)
{
    set_schedule_at(__builtin_return_address(0), kind, chunk);
}

SHIM_EXPORT void omp_set_schedule_(const int32_t *kind, const int32_t *chunk)
{
    set_schedule_at(__builtin_return_address(0), *kind, *chunk);
}

SHIM_EXPORT void omp_set_schedule_8_(const int32_t *kind, const int64_t *chunk)
{
    set_schedule_at(__builtin_return_address(0), *kind, *chunk > INT32_MAX ? INT32_MAX : (int)*chunk);
}
