/* shim.h - inside the preloaded library: finds the OpenMP runtime that a caller means, and decides
 * a region's size.
 */
#ifndef NUMAESTRO_SHIM_H
#define NUMAESTRO_SHIM_H

#include "../fold/watch.h"
#include "analyzer.h"
#include "library.h"

#include <sched.h>

#define SHIM_EXPORT __attribute__((visibility("default")))

typedef void (*nm_outlined)(void *);
typedef void (*nm_microtask)(int32_t *gtid, int32_t *tid, ...);

/* Threads of a team whose ids are remembered; the helper moves those beyond a moment later. */
#define NM_ROLL 256

/* One loaded OpenMP runtime. There may be several (each Python wheel brings its own libgomp);
 * entries are never freed. */
struct nm_runtime {
    uintptr_t base;
    void *handle;
    void *tool; /* stands before it; NULL: none */
    uintptr_t tool_base;
    bool kmp; /* LLVM's or Intel's; else libgomp */
    int (*get_level)(void);
    int (*get_max_threads)(void);
    int (*get_num_threads)(void);
    int (*get_thread_num)(void);
    int (*get_num_procs)(void);
    int (*get_dynamic)(void);
    void (*set_dynamic)(int);
    void (*set_num_threads)(int);
    /* libgomp (and libomp's compatible entries) */
    void *parallel, *reductions, *sections;
    void *loop[9];
    /* libomp */
    void (*fork_call)(void *, int32_t, nm_microtask, ...);
    void (*fork_call_if)(void *, int32_t, nm_microtask, int32_t, void *);
    void (*push_num_threads)(void *, int32_t, int32_t);
    int32_t (*global_thread_num)(void *);
    unsigned (*sections_start)(unsigned);
    void (*set_blocktime)(int);
    int (*get_blocktime)(void);
    int blocktime; /* time that threads spin on processors of their own, milliseconds */
    /* spin.c: libgomp's spin count, NULL where it was not found */
    volatile uint64_t *spin_count;
    uint64_t spin_now;
    bool spins; /* waiting threads spin as on processors of their own */
    /* The team size that the primary root would use by itself, as of its latest region that took
     * the long way. */
    _Atomic uint32_t threads_max;
    _Atomic int dynamic;        /* its omp_get_dynamic() then */
    _Atomic uint32_t pool;      /* largest team since its threads were last sent to sleep */
    _Atomic uint32_t pool_ever; /* largest team so far */
    uint32_t rolled;            /* entries of `roll` */
    pid_t roll[NM_ROLL];        /* thread ids by thread number, taken when the team was last sent to sleep */
    int (*get_max_active_levels)(void);
    void (*get_schedule)(int *kind, int *chunk);
    void (*set_schedule)(int kind, int chunk);
    void (*set_max_active_levels)(int);
    const struct nm_gomp *gomp; /* libgomp's constructs */
    struct nm_kmp *inside;       /* libomp's */
    bool whole;                 /* it has everything that folding its teams in user space needs */
    bool watched;               /* a tool or a debugger hears of its constructs */
    _Atomic bool fixed;         /* OMP_DYNAMIC=false, or some thread called omp_set_dynamic(0) */
};

/* Whether a region keeps its size even where teams follow the allocation. */
enum nm_sizing {
    NM_UNSEEN, /* it may have sections: its first execution, at full size, will show */
    NM_FOLLOWS,
    NM_KEEPS,  /* it has sections, belongs to a BLAS library, or its user has said something else */
};

/* The record of one parallel region, by its outlined function. */
struct nm_region {
    _Atomic uintptr_t function;
    struct nm_runtime *runtime;
    /* The settled plans of the primary root, by the lowest bit of the generation, see
     * nm_quick_enter; 0 = none: generation << 32 | team to pass on << NM_SETTLED_TEAM | bits. */
    _Atomic uint64_t settled[2];
    _Atomic uint8_t sizing; /* enum nm_sizing */
    /* Its latest execution came to no barrier inside: its team could not change in the middle, so
     * its members count no barriers. */
    _Atomic bool bare;
    _Atomic bool internal; /* the runtime's own: libomp has a team of hidden helpers, whose first thread waits in it for ever */
    struct nm_fold_memory fold;
    uint8_t verb;     /* enum nm_verb of its library */
    uint8_t library;  /* its number, 0 = none */
    bool by_kernel;   /* its latest execution with fewer processors than threads was folded by the kernel; root */
};

#define NM_SETTLED_SERIALIZED 1u /* we make it a team of one */
#define NM_SETTLED_SPINS 2u      /* a real team on processors of its own: its threads must spin */
#define NM_SETTLED_FOLDS 4u      /* more threads than processors */
#define NM_SETTLED_YIELDS 8u     /* a real team that shares processors: its threads must not spin */
#define NM_SETTLED_ASKED 16u     /* settled for a region that asks for exactly this team */
#define NM_SETTLED_LIMITED 32u   /* it holds for the present number of threads of the program only */
#define NM_SETTLED_TEAM 6

enum nm_root_kind { NM_NOT_ROOT, NM_PRIMARY, NM_SECONDARY };

/* State of one thread. */
struct nm_thread {
    uint32_t depth; /* regions of this thread as the opener, nested */
    uint8_t root;
    bool is_main;       /* it is a root, and the process began with it */
    bool serialized;    /* we made this thread's present region a team of one */
    uint32_t pushed;    /* libomp: the size the program pushed for its next region, 0 = none */
    bool libomp_has_it; /* that size was passed on */
    uint32_t sections;  /* `sections` constructs met in the region that this thread opened */
    bool met;           /* it came to a barrier that no member counts */
};
/* Another number after each change of anything that a settled plan depends on: decision, roots, the
 * program's settings. A program that goes back and forth between two sizes goes back and forth
 * between two numbers, which differ in the lowest bit. */
extern _Atomic uint32_t nm_generation __attribute__((visibility("hidden")));

/* No settled plan holds any more. */
static inline void nm_plans_change(void)
{
    nm_generation += 2;
}

extern __thread struct nm_thread nm_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The decision of region_enter. */
struct nm_plan {
    uint32_t team;    /* 0 = leave the program's own choice */
    uint32_t members; /* threads of the team; a limit of the runtime may lower it; 0 = not known */
    bool quick;   /* nm_quick_enter decided: nm_quick_leave ends it */
    bool managed; /* nm_region_leave has something to do */
    bool fold;    /* the primary root opens a team with more members than it has processors */
    bool observe; /* the shim is to remember whether there are sections in it */
    bool timed; /* the analyzer's window records it */
    struct nm_region *region;
};

/* First byte of this library, and the one after its last, from the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char end[] __attribute__((visibility("hidden")));

static inline bool nm_is_own(uintptr_t address)
{
    return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)end;
}

/* An address in the dynamic section of the object at `base`; NULL: it has none. The loader has made
 * these addresses absolute, except where the section is read-only. */
static inline const void *nm_absolute(uintptr_t base, uintptr_t address)
{
    return address == 0 ? NULL : (const void *)(address < base ? address + base : address);
}

/* runtime.c */
struct nm_runtime *nm_runtime_of(uintptr_t address);            /* by any address in the caller's object; NULL if none */
struct nm_runtime *nm_runtime_at(const void *return_address);  /* the same, cached by call site */
void *nm_runtime_symbol(const struct nm_runtime *runtime, const char *name);
uintptr_t nm_object_of(uintptr_t address, const char **name);
void *nm_symbol_for(uintptr_t address, const char *name); /* that code there would call without this library; NULL if none */
void *nm_bound_symbol(uintptr_t address, const char *name); /* bound.c: the same for a name of an OpenMP runtime */
uintptr_t nm_runtime_base(uintptr_t address); /* load address of the runtime that code there means; 0 = none */
struct nm_runtime *nm_runtime_next(struct nm_runtime *after);
void nm_runtimes_flush(void);

/* imports.c */
bool nm_may_have_sections(void); /* some loaded object imports the entry that gives out sections */
/* Whether `says(name, address, data)` is true of any name that a loaded object other than the
 * runtimes imports, or may be. */
bool nm_imports_any(bool (*says)(const char *name, uintptr_t address, void *data), void *data);

/* region.c */
struct nm_region *nm_region_find(uintptr_t function);
void nm_regions_flush(void);
struct nm_plan nm_region_enter(struct nm_runtime *runtime, struct nm_region *region, uint32_t asked);
void nm_region_leave(struct nm_plan plan);
uint32_t nm_count_for_root(void); /* processors for the regions of one thread; UINT32_MAX = no limit */
uint32_t nm_share_of_root(uint32_t count); /* the same if the program had `count` */
uint32_t nm_roots(void);                   /* threads that open outermost regions */
void nm_region_resize(struct nm_runtime *runtime, uint32_t before, uint32_t now); /* the primary root has another size of its own */
void nm_team_told(uint32_t threads);       /* tells the manager of a team of so many; 0 = of any size */

#define NM_REGIONS 4096u /* power of two */
extern struct nm_region nm_regions[NM_REGIONS] __attribute__((visibility("hidden")));

/* A thread can be cancelled where libomp waits without spinning. So a thread that the program made,
 * and may cancel, spins there as it would without us; libomp yields while it does. */
static inline bool nm_steers_waiting(const struct nm_runtime *runtime)
{
    return !runtime->kmp || nm_self.is_main;
}

static inline uint32_t nm_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A thread that waits yields its processor. */
static inline void nm_flag_lock(atomic_flag *flag)
{
    while (atomic_flag_test_and_set_explicit(flag, memory_order_acquire))
        sched_yield();
}

static inline void nm_flag_unlock(atomic_flag *flag)
{
    atomic_flag_clear_explicit(flag, memory_order_release);
}

static inline uint32_t nm_region_slot(uintptr_t function)
{
    return (uint32_t)((function >> 4) ^ (function >> 16)) % NM_REGIONS;
}

static inline struct nm_region *nm_region_of(void *function)
{
    struct nm_region *region = &nm_regions[nm_region_slot((uintptr_t)function)];
    if (NM_LIKELY(atomic_load_explicit(&region->function, memory_order_acquire) == (uintptr_t)function))
        return region;
    return nm_region_find((uintptr_t)function);
}

/* The program may set its number of threads past the shim, by a function that it got from the
 * runtime itself. */
static inline __attribute__((always_inline)) bool nm_is_limited_anew(const struct nm_runtime *runtime, bool passes_size)
{
    if (NM_UNLIKELY((uint32_t)runtime->get_max_threads() != atomic_load_explicit(&runtime->threads_max, memory_order_relaxed)))
        return true;
    return passes_size && runtime->get_dynamic &&
           runtime->get_dynamic() != atomic_load_explicit(&runtime->dynamic, memory_order_relaxed);
}

/* Nearly every region takes this way: the primary root opens it, and nothing has changed since its
 * latest plan. */
static inline __attribute__((always_inline)) bool nm_quick_enter(struct nm_region *region, uint32_t asked, struct nm_plan *plan)
{
    struct nm_thread *self = &nm_self;
    struct numaestro_page *page = atomic_load_explicit(&nm_client.page, memory_order_acquire);
    uint32_t generation = atomic_load_explicit(&nm_generation, memory_order_relaxed);
    uint64_t settled = atomic_load_explicit(&region->settled[generation % 2], memory_order_relaxed);
    uint32_t epoch = atomic_load_explicit(&nm_client.epoch, memory_order_relaxed);
    uint32_t team = (uint32_t)settled >> NM_SETTLED_TEAM;
    if (NM_UNLIKELY((uint32_t)(settled >> 32) != generation ||
                    atomic_load_explicit(&page->manager.epoch, memory_order_relaxed) != epoch ||
                    asked != (settled & NM_SETTLED_ASKED ? team : 0) || self->depth != 0 || self->root != NM_PRIMARY))
        return false;
    /* Another region may have set the other kind of waiting. */
    if (NM_UNLIKELY(settled & (region->runtime->spins ? NM_SETTLED_YIELDS : NM_SETTLED_SPINS)))
        return false;
    if (settled & NM_SETTLED_LIMITED && NM_UNLIKELY(nm_is_limited_anew(region->runtime, team != 0)))
        return false;
    plan->team = team;
    plan->members = team ? team : atomic_load_explicit(&region->runtime->threads_max, memory_order_relaxed);
    plan->fold = settled & NM_SETTLED_FOLDS;
    self->depth = 1;
    self->serialized = settled & NM_SETTLED_SERIALIZED;
    uint64_t number = atomic_load_explicit(&page->root.regions, memory_order_relaxed) + 1;
    atomic_store_explicit(&page->root.regions, number, memory_order_relaxed);
    atomic_store_explicit(&page->root.in_region, 1, memory_order_relaxed);
    atomic_store_explicit(&page->root.team, plan->members, memory_order_relaxed);
    if (plan->fold) {
        uint32_t held = atomic_load_explicit(&page->root.held, memory_order_relaxed) + 1;
        atomic_store_explicit(&page->root.held, held, memory_order_relaxed);
    }
    return true;
}

static inline void nm_quick_leave(void)
{
    struct numaestro_page *page = atomic_load_explicit(&nm_client.page, memory_order_relaxed);
    nm_self.depth = 0;
    nm_self.serialized = false;
    atomic_store_explicit(&page->root.in_region, 0, memory_order_relaxed);
}

/* Every entry point calls these two: they take the short way if they can, else the long one. */
static inline __attribute__((always_inline)) struct nm_plan nm_enter(struct nm_runtime *runtime, struct nm_region *region, uint32_t asked)
{
    struct nm_plan plan = {.quick = true, .region = region};
    if (NM_LIKELY(nm_quick_enter(region, asked, &plan)))
        return plan;
    return nm_region_enter(runtime, region, asked);
}

static inline void nm_leave(struct nm_plan plan)
{
    if (NM_LIKELY(plan.quick))
        nm_quick_leave();
    else
        nm_region_leave(plan);
}

/* hooks.c */
void *nm_next_symbol(const char *name);
int nm_dlclose(void *handle);

/* affinity.c */
void nm_widen_for_start(void);
void nm_widen_undo(void);
void nm_starting_at(size_t bytes, const void *mask);
bool nm_starting(void);
unsigned nm_whole_count(void);
bool nm_whole(struct nm_cpuset *set);
void nm_whole_narrow(const struct nm_cpuset *set, bool own_memory, bool process);
bool nm_given(struct nm_cpuset *set);
bool nm_is_libomp(const void *caller); /* the code there is libomp's, and the user's own mask is known */
bool nm_is_openmp(const void *caller); /* the same for libgomp too */
bool nm_is_whole(size_t bytes, const void *mask);
long nm_affinity_whole(size_t bytes, void *mask);
void nm_affinity_flush(void); /* code has been unloaded */

bool nm_is_pool(const void *caller);
bool nm_sizes_by_machine(const void *caller);

/* places.c */
int nm_place_self(size_t bytes, const void *mask);
void nm_places_change(void); /* the program binds a thread: it may leave its place */
bool nm_place_is_kept(const void *caller);
long nm_place_read(size_t bytes, void *mask);

/* seal.c */
void nm_seal(void); /* it is about to forbid itself system calls */
bool nm_is_sealed(void);

/* sizing.c */
void nm_sizing_answer(const void *caller, pid_t tid, size_t bytes, void *mask);
void nm_sizing_bound(pid_t tid, size_t bytes, const void *mask);
int nm_sizing_bind(const void *caller, pid_t tid, size_t bytes, const void *mask); /* sched_setaffinity */
int nm_sizing_bind_thread(const void *caller, pthread_t thread, size_t bytes, const void *mask);

/* spin.c */
void nm_spin_find(struct nm_runtime *runtime);
void nm_spin_for(struct nm_runtime *runtime, bool waiting_hurts);
void nm_spin_show(struct nm_runtime *runtime);
void nm_sleep_pool(struct nm_runtime *runtime, uint32_t team);
void nm_tell_pool(struct nm_runtime *runtime, uint32_t team);
void nm_spread_pool(struct nm_runtime *runtime, uint32_t team, const struct nm_cpuset *set);

/* setter.c */
/* Whether the number of threads of some library may have to change. `thread`: the program has made
 * one; else only libraries count that have come since, and that make theirs when they come. */
bool nm_setters_matter(bool thread);
void nm_setters_apply(uint32_t count);  /* now, in the calling thread */
void nm_setters_follow(uint32_t count); /* from any thread: now, or soon in a thread that may start others */
uint32_t nm_setters_found(void); /* NM_RUNTIME_* */
uint32_t nm_setters_max(void);

/* caller.c */
void nm_caller_start(void);          /* from a thread of the program */
bool nm_caller_runs(void);
void nm_caller_post(uint32_t count); /* it calls the setters with this number, once it runs */
void nm_caller_step_aside(void);     /* it ends for good, so that the program has room for a thread */
bool nm_has_threads(void);           /* the program has made a thread, which may have ended */
int nm_caller_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);

/* tcm.c */
void nm_tcm_allow(uint32_t count);          /* as nm_setters_apply */
bool nm_tcm_serves(uintptr_t base);         /* whether the object at this address follows its permits */
const char *nm_tcm_file(const char *file);  /* the file to open where the program asks for this one */

/* mpi.c */
bool nm_mpi_yields_in_vain(void); /* this yield ends a look of a rank that waits */
void nm_mpi_flush(void);          /* code has been unloaded */

/* hooks.c */
void nm_look_after(void); /* a library that is told has work for threads: attaches, and starts who tells it */
int nm_create_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);

#endif
