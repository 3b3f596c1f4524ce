/* told.c - answers the program's own questions about team sizes, and forwards its settings.
 *
 * Every answer is the one that the program would get without us, but for objects that their user
 * has named (the verb `answer`). Settings that a team only takes over are in kmp_names.h.
 */
#include "whole.h"

/* The answer to code of a library whose user wants it to be told the allocation. Inside of a region
 * and in a thread that opens none the program's own number is right. */
static __attribute__((noinline)) int answered_at(void *place, const struct nm_runtime *runtime, int own, bool size)
{
    const char *path = NULL;
    uint32_t flags = nm_client.flags, count = nm_count_for_root();
    if (nm_self.root == NM_NOT_ROOT || nm_self.depth > 0 || (flags & NM_FLAG_RESIZE_NEVER) || count >= (uint32_t)own)
        count = (uint32_t)own;
    nm_object_of((uintptr_t)place, &path);
    if (nm_library_verb(path) != NM_VERB_ANSWER)
        return own;
    unsigned library = nm_library_of(path, runtime->kmp ? NM_RUNTIME_KMP : NM_RUNTIME_GOMP);
    if (!library)
        return own;
    if (size && nm_library_answered(library) != count) {
        nm_library_answer(library, count);
        nm_plans_change(); /* its next region has that size */
    }
    return (int)count;
}

static inline int answer(void *place, const struct nm_runtime *runtime, int own, bool size)
{
    return NM_UNLIKELY(nm_library_answers) ? answered_at(place, runtime, own, size) : own;
}

/* Also makes libomp read the user's own affinity mask, if this is the first call. */
static int max_threads_at(void *place)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    return runtime ? answer(place, runtime, runtime->get_max_threads(), true) : 1;
}

SHIM_EXPORT int omp_get_max_threads(void)
{
    return max_threads_at(__builtin_return_address(0));
}

SHIM_EXPORT int32_t omp_get_max_threads_(void)
{
    return max_threads_at(__builtin_return_address(0));
}

/* libomp would take sequential code for a member of the team that is held. */
static void before_setting(const struct nm_runtime *runtime)
{
    if (nm_kmp_is_outside_of(runtime))
        nm_whole_dissolve();
}

static void after_setting(const struct nm_runtime *runtime)
{
    if (runtime && runtime->kmp)
        nm_kmp_settings();
    else
        nm_whole_settings();
}

static void set_num_threads_at(void *place, int n)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    if (!runtime)
        return;
    int before = runtime->get_max_threads();
    if (n == before && nm_kmp_is_outside_of(runtime))
        return;
    before_setting(runtime);
    runtime->set_num_threads(n);
    after_setting(runtime);
    if (nm_self.root != NM_PRIMARY || nm_self.depth > 0)
        return;
    int now = runtime->get_max_threads();
    if (now != before)
        nm_region_resize(runtime, (uint32_t)before, (uint32_t)now);
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

/* As max_threads_at. */
static int num_procs_at(void *place)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    return runtime && runtime->get_num_procs ? answer(place, runtime, runtime->get_num_procs(), false) : 1;
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
    before_setting(runtime);
    runtime->set_dynamic(on);
    after_setting(runtime);
    /* The call allows any size for this thread's regions only; a call that forbids it may be meant
     * for all threads. */
    if (!on)
        runtime->fixed = true;
    nm_plans_change();
}

SHIM_EXPORT void omp_set_dynamic(int on)
{
    set_dynamic_at(__builtin_return_address(0), on);
}

SHIM_EXPORT void omp_set_dynamic_(const int32_t *on)
{
    set_dynamic_at(__builtin_return_address(0), *on);
}

SHIM_EXPORT void omp_set_dynamic_8_(const int64_t *on)
{
    set_dynamic_at(__builtin_return_address(0), *on != 0);
}
