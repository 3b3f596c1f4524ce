/* runtime.c - finds the OpenMP runtime that a caller means.
 *
 * Every object in the process reaches a preloaded symbol, also a Python wheel whose private libgomp
 * was loaded with RTLD_LOCAL; dlsym(RTLD_NEXT) would then find nothing, or another copy. So the
 * shim looks for the runtime that the calling object's other calls go to (bound.c), and remembers
 * it by call site.
 */
#include "whole.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define RUNTIMES_MAX 32
#define SITES 1024 /* power of two */
#define PROBES 8

static struct nm_runtime runtimes[RUNTIMES_MAX];
static _Atomic unsigned runtimes_count;
static atomic_flag resolving = ATOMIC_FLAG_INIT;

static struct site {
    _Atomic uintptr_t address;
    struct nm_runtime *_Atomic runtime;
} sites[SITES];

/* Load address of the object that holds `address`, 0 if none. */
uintptr_t nm_object_of(uintptr_t address, const char **name)
{
    Dl_info info;
    if (!dladdr((void *)address, &info))
        return 0;
    if (name)
        *name = info.dli_fname;
    return (uintptr_t)info.dli_fbase;
}

static uintptr_t base_of(void *symbol)
{
    return symbol ? nm_object_of((uintptr_t)symbol, NULL) : 0;
}

/* The symbol `name` that the object of `address` would see if this library were not there. */
void *nm_symbol_for(uintptr_t address, const char *name)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *found = NULL;
    if (dladdr1((void *)address, &info, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name && map->l_name[0]) {
        void *handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (handle) {
            found = dlsym(handle, name);
            nm_dlclose(handle);
        }
    }
    if (!found || nm_is_own((uintptr_t)found))
        found = dlsym(RTLD_NEXT, name);
    return found;
}

static void *pinned_handle(void *symbol)
{
    Dl_info info;
    if (!dladdr(symbol, &info) || !info.dli_fname)
        return NULL;
    /* The shim calls its functions for as long as the process lives. Distributions mark these
     * libraries so anyway. */
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* A tool that is preloaded stands before the runtime (Extrae, TAU): it has the entry that opens
 * regions, and is no runtime itself. Without us the program's calls would come to it first, and it
 * calls the runtime. */
static void find_tool(struct nm_runtime *r)
{
    static const char *const entries[] = {"__kmpc_fork_call", "GOMP_parallel"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries && !r->tool; i++) {
        void *next = dlsym(r->handle, entries[i]) ? dlsym(RTLD_NEXT, entries[i]) : NULL;
        uintptr_t base = base_of(next);
        void *handle = next && base != r->base && !nm_is_own((uintptr_t)next) ? pinned_handle(next) : NULL;
        if (!handle || base_of(dlsym(handle, "omp_get_level")) == base)
            continue;
        r->tool = handle;
        r->tool_base = base;
        r->watched = true;
    }
}

void *nm_runtime_symbol(const struct nm_runtime *runtime, const char *name)
{
    void *own = dlsym(runtime->handle, name), *before = own && runtime->tool ? dlsym(runtime->tool, name) : NULL;
    return before && base_of(before) == runtime->tool_base ? before : own;
}

static void fill(struct nm_runtime *r)
{
    static const char *const loops[9] = {
        "GOMP_parallel_loop_static",
        "GOMP_parallel_loop_dynamic",
        "GOMP_parallel_loop_guided",
        "GOMP_parallel_loop_nonmonotonic_dynamic",
        "GOMP_parallel_loop_nonmonotonic_guided",
        "GOMP_parallel_loop_runtime",
        "GOMP_parallel_loop_nonmonotonic_runtime",
        "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
        NULL,
    };
    r->fork_call = (void (*)(void *, int32_t, nm_microtask, ...))nm_runtime_symbol(r, "__kmpc_fork_call");
    r->fork_call_if = (void (*)(void *, int32_t, nm_microtask, int32_t, void *))nm_runtime_symbol(r, "__kmpc_fork_call_if");
    r->push_num_threads = (void (*)(void *, int32_t, int32_t))nm_runtime_symbol(r, "__kmpc_push_num_threads");
    r->global_thread_num = (int32_t (*)(void *))nm_runtime_symbol(r, "__kmpc_global_thread_num");
    r->sections_start = (unsigned (*)(unsigned))nm_runtime_symbol(r, "GOMP_sections_start");
    r->set_blocktime = (void (*)(int))nm_runtime_symbol(r, "kmp_set_blocktime");
    r->get_blocktime = (int (*)(void))nm_runtime_symbol(r, "kmp_get_blocktime");
    r->kmp = r->fork_call != NULL;
    r->get_level = (int (*)(void))nm_runtime_symbol(r, "omp_get_level");
    r->get_max_threads = (int (*)(void))nm_runtime_symbol(r, "omp_get_max_threads");
    /* libomp's `omp_get_num_threads` jumps to another function by name, and that name is ours, too:
     * we would see a call from ourselves, not from a runtime. That function needs no argument. */
    r->get_num_threads = (int (*)(void))nm_runtime_symbol(r, r->kmp ? "__kmpc_bound_num_threads" : "omp_get_num_threads");
    r->get_thread_num = (int (*)(void))nm_runtime_symbol(r, "omp_get_thread_num");
    r->get_num_procs = (int (*)(void))nm_runtime_symbol(r, "omp_get_num_procs");
    r->get_dynamic = (int (*)(void))nm_runtime_symbol(r, "omp_get_dynamic");
    r->set_dynamic = (void (*)(int))nm_runtime_symbol(r, "omp_set_dynamic");
    r->set_num_threads = (void (*)(int))nm_runtime_symbol(r, "omp_set_num_threads");
    r->get_max_active_levels = (int (*)(void))nm_runtime_symbol(r, "omp_get_max_active_levels");
    r->get_schedule = (void (*)(int *, int *))nm_runtime_symbol(r, "omp_get_schedule");
    r->set_schedule = (void (*)(int, int))nm_runtime_symbol(r, "omp_set_schedule");
    r->set_max_active_levels = (void (*)(int))nm_runtime_symbol(r, "omp_set_max_active_levels");
    r->parallel = nm_runtime_symbol(r, "GOMP_parallel");
    r->reductions = nm_runtime_symbol(r, "GOMP_parallel_reductions");
    r->sections = nm_runtime_symbol(r, "GOMP_parallel_sections");
    for (int i = 0; loops[i]; i++)
        r->loop[i] = nm_runtime_symbol(r, loops[i]);
}

static bool is_complete(const struct nm_runtime *r)
{
    return r->get_level && r->get_max_threads && r->get_num_threads && r->get_thread_num && r->set_num_threads &&
           (r->kmp ? r->push_num_threads != NULL : r->parallel != NULL);
}

static struct nm_runtime *known(uintptr_t base)
{
    for (unsigned i = 0; i < runtimes_count; i++)
        if (runtimes[i].base == base)
            return &runtimes[i];
    return NULL;
}

/* libomp looks around once, at the first call that needs it: make it do so now, under the user's
 * own mask. It reads that mask even if the manager moves this thread at this very moment
 * (syscall.c). */
static void start_libomp(struct nm_runtime *r)
{
    nm_widen_for_start();
    r->get_max_threads();
    nm_widen_undo();
}

static struct nm_runtime *make(uintptr_t base, void *symbol)
{
    void *handle = pinned_handle(symbol);
    if (!handle || runtimes_count == RUNTIMES_MAX)
        return NULL;
    struct nm_runtime *r = &runtimes[runtimes_count];
    memset(r, 0, sizeof *r);
    r->base = base;
    r->handle = handle;
    find_tool(r);
    fill(r);
    if (!is_complete(r))
        return NULL;
    nm_spin_find(r);
    if (r->kmp) {
        start_libomp(r);
        nm_kmp_find(r);
    } else {
        nm_gomp_find(r);
    }
    /* The user forbids it, or set a value that the runtime does not understand. */
    r->fixed = getenv("OMP_DYNAMIC") && !(r->get_dynamic && r->get_dynamic());
    runtimes_count++;
    if (runtimes_count > 1)
        nm_kmp_forget_slots();
    return r;
}

uintptr_t nm_runtime_base(uintptr_t address)
{
    return base_of(nm_bound_symbol(address, "omp_get_level"));
}

struct nm_runtime *nm_runtime_of(uintptr_t address)
{
    int saved = errno;
    void *symbol = nm_bound_symbol(address, "omp_get_level");
    uintptr_t base = base_of(symbol);
    struct nm_runtime *found = NULL;
    if (base) {
        nm_flag_lock(&resolving);
        found = known(base);
        if (!found)
            found = make(base, symbol);
        nm_flag_unlock(&resolving);
    }
    errno = saved;
    return found;
}

static inline unsigned site_slot(uintptr_t address, unsigned probe)
{
    return (unsigned)((address >> 2) ^ (address >> 12)) + probe;
}

static struct nm_runtime *site_resolve(uintptr_t address)
{
    struct nm_runtime *runtime = nm_runtime_of(address);
    for (unsigned probe = 0; runtime && probe < PROBES; probe++) {
        struct site *site = &sites[site_slot(address, probe) % SITES];
        uintptr_t empty = 0;
        /* 1 marks a slot that is being filled: no caller has that address. */
        if (atomic_compare_exchange_strong(&site->address, &empty, 1)) {
            site->runtime = runtime;
            atomic_store_explicit(&site->address, address, memory_order_release);
            break;
        }
    }
    return runtime;
}

struct nm_runtime *nm_runtime_at(const void *return_address)
{
    uintptr_t address = (uintptr_t)return_address;
    /* The body of a region jumps to what it calls last. */
    if (NM_UNLIKELY(nm_is_own(address)) && nm_member.pass)
        return nm_member.pass->runtime;
    for (unsigned probe = 0; probe < PROBES; probe++) {
        struct site *site = &sites[site_slot(address, probe) % SITES];
        uintptr_t key = atomic_load_explicit(&site->address, memory_order_acquire);
        if (NM_LIKELY(key == address))
            return site->runtime;
        if (key == 0)
            break;
    }
    return site_resolve(address);
}

struct nm_runtime *nm_runtime_next(struct nm_runtime *after)
{
    unsigned next = after ? (unsigned)(after - runtimes) + 1 : 0;
    return next < runtimes_count ? &runtimes[next] : NULL;
}

/* Code may have been unloaded and other code may appear at its addresses. */
void nm_runtimes_flush(void)
{
    for (unsigned i = 0; i < SITES; i++)
        sites[i].address = 0;
}
