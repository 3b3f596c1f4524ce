/* past.c - sees that the program may call a runtime past the shim.
 *
 * A region that the shim does not see must not meet a held team: that team has the threads which
 * the runtime would use. Such calls come from a library that was opened with RTLD_DEEPBIND, and by
 * a function that the program got by dlsym from the runtime itself. Both are seen before the first
 * call; no team is folded in user space from then on. Settings are compared where they matter
 * (nm_settings_read), and only those that cannot be read back count here.
 *
 * dlsym reads its return address as dlopen does (hooks.c): the shim jumps to the real one. This
 * file must be compiled with optimisation, too.
 */
#include "whole.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

_Atomic bool nm_past_sets;
static _Atomic bool deep;

static bool begins_with_any(const char *name, const char *const *beginnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

#define BEGINS(name, ...)                                                                                               \
    begins_with_any(name, (const char *const[]){__VA_ARGS__},                                                          \
                    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Settings that the shim compares. */
static bool is_setting(const char *name)
{
    return BEGINS(name, "omp_set_num_threads", "omp_set_dynamic", "omp_set_nested", "omp_set_max_active_levels",
                  "omp_set_schedule");
}

/* The function uses the team of the thread that calls it, or sets what cannot be compared. `kmp`:
 * it may be libomp's, which takes sequential code for a member of the held team. */
static bool needs_own_team(const char *name, bool kmp)
{
    if (is_setting(name) || BEGINS(name, "omp_set_lock", "omp_set_nest_lock"))
        return false;
    return BEGINS(name, "GOMP_", "__kmpc_", "omp_set_", "omp_pause_", "omp_fulfill_", "kmp_set_") ||
           (kmp && BEGINS(name, "omp_in_", "omp_get_num_threads", "omp_get_thread_num", "omp_get_level", "omp_get_active_level",
                          "omp_get_ancestor_", "omp_get_team_"));
}

typedef void *(*dlsym_fn)(void *, const char *);
static _Atomic(dlsym_fn) real_dlsym;

/* Of the stub, as in hooks.c. */
extern void *numaestro_next(const char *name) __attribute__((weak));

/* `dlsym` here is the shim's own; the C library's can be asked for by its version. A shim that came
 * late has nothing behind it. */
__attribute__((constructor)) static void find_dlsym(void)
{
#if defined(__x86_64__)
    static const char version[] = "GLIBC_2.2.5";
#else
    static const char version[] = "GLIBC_2.17";
#endif
    if (real_dlsym)
        return;
    void *found = dlvsym(RTLD_NEXT, "dlsym", version);
    real_dlsym = (dlsym_fn)(found || !numaestro_next ? found : numaestro_next("dlsym"));
}

static __attribute__((noinline)) void asked_for(dlsym_fn real, void *handle, const char *name)
{
    if (!is_setting(name) && !needs_own_team(name, true))
        return;
    /* What is next depends on who asks: it may be the runtime's. */
    void *found = handle == RTLD_NEXT ? NULL : real(handle, name);
    if (handle != RTLD_NEXT && (!found || nm_is_own((uintptr_t)found)))
        return;
    if (is_setting(name)) {
        nm_past_sets = true;
        return;
    }
    /* libgomp does not notice the held team. */
    if (needs_own_team(name, false) || !found || real(handle, "__kmpc_fork_call")) {
        nm_whole_refuse(NM_WHY_RUNTIME);
        nm_whole_dissolve();
    }
}

SHIM_EXPORT void *dlsym(void *restrict handle, const char *restrict name)
{
    if (NM_UNLIKELY(!real_dlsym))
        find_dlsym();
    dlsym_fn real = real_dlsym;
    char first = *name;
    if (NM_UNLIKELY(first == 'G' || first == '_' || first == 'o' || first == 'k') && !nm_is_own((uintptr_t)__builtin_return_address(0)))
        asked_for(real, handle, name);
#if defined(__clang__)
    __attribute__((musttail))
#endif
    return real(handle, name);
}

void nm_past_opens(int mode)
{
    if (!(mode & RTLD_DEEPBIND))
        return;
    deep = true;
    nm_whole_dissolve();
}

static bool imports_runtime(const char *name, uintptr_t address, void *program)
{
    return address != (uintptr_t)program && (needs_own_team(name, true) || is_setting(name));
}

bool nm_past_is_deep(void)
{
    /* The program itself was bound at its start. */
    return deep && nm_imports_any(imports_runtime, _r_debug.r_map->l_ld);
}
