/* page.h - the shared page between the manager and one program, byte by byte.
 *
 * The C mirror of crates/abi/src/page.rs; docs/ABI.md draws it. Every cache line has one writer,
 * but for page.root.sleeps. attach.c maps the page.
 */
#ifndef NUMAESTRO_PAGE_H
#define NUMAESTRO_PAGE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define NM_PAGE_MAGIC 0x31545345414d554eull /* "NUMAEST1", little-endian */
#define NM_PAGE_VERSION 6u
#define NM_PAGE_BYTES 4096u
#define NM_CPUSET_WORDS 128u
#define NM_VPS 256u
#define NM_NODE_WORDS 16u
#define NM_LIBRARIES 13u

enum {
    NM_FLAG_SHARED = 1 << 0,
    NM_FLAG_LENT = 1 << 1,
    NM_FLAG_RELEASED = 1 << 2,
    NM_FLAG_RESIZE_ALWAYS = 1 << 3,
    NM_FLAG_RESIZE_NEVER = 1 << 4,
    NM_FLAG_MEASURE = 1 << 5,
};

enum {
    NM_RUNTIME_GOMP = 1 << 0,
    NM_RUNTIME_KMP = 1 << 1,
    NM_RUNTIME_OPENBLAS = 1 << 2,
    NM_RUNTIME_BLIS = 1 << 3,
    NM_RUNTIME_MKL = 1 << 4,
    NM_RUNTIME_TBB = 1 << 5,
    NM_RUNTIME_API = 1 << 6,
};

/* The place of new pages (page.manager.memory). */
enum nm_memory { NM_MEMORY_UNSAID = 0, NM_MEMORY_FIRST_TOUCH = 1, NM_MEMORY_PREFERRED = 2, NM_MEMORY_INTERLEAVE = 3 };

/* page.root.held_by: why a team keeps its size although the user or the program allows it to follow
 * the allocation. 1 to 3 are retired. */
enum nm_held_by {
    NM_HELD_NOT = 0,
    NM_HELD_EXPLICIT = 4, /* the region names its size, has sections, or belongs to a BLAS library */
    NM_HELD_USER = 5,     /* class fold */
    NM_HELD_FIXED = 6,    /* OMP_DYNAMIC=false or omp_set_dynamic(0) */
};

/* The party that switches between the threads of a team with more threads than processors
 * (page.fold.mode). */
enum nm_fold_mode { NM_FOLD_NONE = 0, NM_FOLD_USER = 1, NM_FOLD_KERNEL = 2 };

/* Reasons against folding in user space (page.fold.why). */
enum nm_fold_why {
    NM_WHY_NONE = 0, /* nothing is in the way */
    NM_WHY_USER = 1, /* the user asked for the kernel (--fold kernel) */
    NM_WHY_MACHINE = 2, /* no FSGSBASE, or an architecture that user-space folding does not know */
    NM_WHY_RUNTIME = 3, /* a runtime or an entry point that is not known */
    NM_WHY_ROOTS = 4, /* several threads open outermost regions */
    NM_WHY_SIZE = 5, /* more than 1024 threads */
    NM_WHY_HELPER = 6, /* there is no helper thread */
    NM_WHY_RSEQ = 7, /* code other than the C library's uses restartable sequences */
    NM_WHY_PI = 8, /* mutexes with priority inheritance */
    NM_WHY_SHADOW = 9, /* shadow stacks or protection keys */
    NM_WHY_SYNC = 10, /* the region synchronizes without barriers */
    NM_WHY_TASKS = 11, /* tasks, ordered or doacross loops on several processors */
    NM_WHY_NESTED = 12, /* nested regions that are active */
    NM_WHY_CANCEL = 13, /* OMP_CANCELLATION is on */
    NM_WHY_FAULT = 14, /* an assertion inside failed */
    NM_WHY_OTHER = 15, /* it is not an OpenMP team */
};

/* A word of page.library.state: how, why << 8, number of the runtime's bit << 16, threads << 32;
 * 0 = unused. */
enum nm_library_how {
    NM_LIBRARY_UNUSED = 0,
    NM_LIBRARY_WHOLE = 1,    /* its teams keep their size, and have a processor for each thread */
    NM_LIBRARY_USER = 2,     /* the same with fewer processors: folded in user space */
    NM_LIBRARY_KERNEL = 3,   /* the same, folded by the kernel; why: enum nm_fold_why */
    NM_LIBRARY_FOLLOWS = 4,  /* the size of its teams follows the allocation */
    NM_LIBRARY_SET = 5,      /* through its own setter */
    NM_LIBRARY_ANSWERED = 6, /* its questions about numbers of threads are answered with the allocation */
    NM_LIBRARY_LEFT = 7,     /* left alone */
    NM_LIBRARY_ABSENT = 8,   /* the user named it, and no object of that name has been seen */
};
/* Why it is steered so, where the way is not NM_LIBRARY_KERNEL. */
enum nm_library_why {
    NM_BECAUSE_NOTHING = 0,
    NM_BECAUSE_USER = 1,    /* the user said so, by a profile or an option */
    NM_BECAUSE_PROGRAM = 2, /* the program has set another number by itself */
    NM_BECAUSE_CLASS = 3,   /* class fold */
    NM_BECAUSE_UNKNOWN = 4, /* the user asks for its setter, and none is known */
};

struct nm_header_line { /* 0x000, manager, once */
    alignas(64) _Atomic uint64_t magic;
    _Atomic uint32_t version;
    _Atomic uint32_t version_lowest;
    _Atomic uint32_t page_bytes;
    _Atomic uint32_t manager_pid;
    _Atomic uint64_t app;
    _Atomic uint64_t features;
    _Atomic uint32_t app_pid;
    _Atomic uint32_t reserved[5];
};

struct nm_manager_line { /* 0x040, manager, at each decision; wanted_until_ns at looks */
    alignas(64) _Atomic uint32_t epoch;
    _Atomic uint32_t count;
    _Atomic uint32_t flags;
    _Atomic uint32_t sequence;
    _Atomic uint32_t cpuset_words;
    _Atomic uint32_t grace_us;
    _Atomic uint64_t decided_ns;
    _Atomic uint32_t memory; /* enum nm_memory */
    _Atomic uint32_t reserved;
    _Atomic uint64_t wanted_until_ns; /* until then others lack processors; no part of a decision */
    _Atomic uint32_t reserved_after[4];
};

struct nm_root_line { /* 0x080, the program's root thread */
    alignas(64) _Atomic uint64_t regions;
    _Atomic uint32_t in_region;
    _Atomic uint32_t team;
    _Atomic uint32_t team_max;
    _Atomic uint32_t held;
    _Atomic uint64_t adopted_ns;
    _Atomic uint32_t held_by;
    _Atomic uint32_t follows; /* 1 = the size of its regions follows the allocation */
    _Atomic uint32_t sleeps;  /* of threads between two polls for messages of MPI, modulo 2^32 */
    _Atomic uint32_t reserved[3];
};

struct nm_helper_line { /* 0x0c0, the thread that holds the adoption lock */
    alignas(64) _Atomic uint32_t adopted_epoch;
    _Atomic uint32_t folded;
    _Atomic uint32_t runtimes;
    _Atomic uint32_t helper_tid;
    _Atomic uint32_t reserved[12];
};

struct nm_request_line { /* 0x100, the program, through numaestro.h */
    alignas(64) _Atomic uint32_t requested;
    _Atomic uint32_t speedup_processors;
    _Atomic uint32_t speedup_milli;
    _Atomic uint32_t reserved[13];
};

struct nm_analyzer_line { /* 0x140, the helper thread, while NM_FLAG_MEASURE is set */
    alignas(64) _Atomic uint32_t processors;
    _Atomic uint32_t speedup_milli;
    _Atomic uint64_t iteration_ns;
    _Atomic uint32_t samples;
    _Atomic uint32_t share_milli;
    _Atomic uint32_t stretch_milli;
    _Atomic uint32_t results;
    _Atomic uint64_t cost_ns;
    _Atomic uint32_t reserved[6];
};

struct nm_fold_line { /* 0x200, the helper thread */
    alignas(64) _Atomic uint32_t mode; /* enum nm_fold_mode */
    _Atomic uint32_t why; /* enum nm_fold_why */
    _Atomic uint32_t threads;
    _Atomic uint32_t carriers;
    _Atomic uint64_t switches; /* since the program's start */
    _Atomic uint32_t switches_per_second;
    _Atomic uint32_t unfolds; /* folded regions that were given back to the kernel */
    _Atomic uint32_t opened; /* number of times that a team was folded */
    _Atomic uint32_t dissolved; /* number of times that a folded team was dissolved */
    _Atomic uint32_t reserved[6];
};

/* 0x240, the program, in library.c: an object in it that owns parallel regions or a pool. */
struct nm_library_row {
    _Atomic uint64_t name[3]; /* of the object, without `.so` and what follows it; padded with zeros */
    _Atomic uint64_t state;
};

struct nm_libraries {
    alignas(64) _Atomic uint32_t full; /* 1 = an object found no room in the table */
    _Atomic uint32_t reserved[7];
    struct nm_library_row rows[NM_LIBRARIES];
};

/* A word of page.vp: thread id, OS index of the processor << 32, state << 48; 0 = unused. */
#define NM_VP_NO_PU 0xffffu
enum nm_vp_state { NM_VP_UNUSED = 0, NM_VP_UNALLOCATED = 1, NM_VP_RUNNING = 2, NM_VP_STOLEN = 3, NM_VP_CLAIMED = 4 };

struct numaestro_page {
    alignas(4096) struct nm_header_line header;
    struct nm_manager_line manager;
    struct nm_root_line root;
    struct nm_helper_line helper;
    struct nm_request_line request;
    struct nm_analyzer_line analyzer;
    _Atomic uint64_t nodes[NM_NODE_WORDS]; /* 0x180, manager: nodes of page.manager.memory */
    struct nm_fold_line fold;
    struct nm_libraries libraries;
    _Atomic uint64_t cpuset[NM_CPUSET_WORDS]; /* 0x400, manager */
    _Atomic uint64_t vp[NM_VPS]; /* 0x800, the program, under the lock of vp.c */
};

_Static_assert(sizeof(struct numaestro_page) == NM_PAGE_BYTES, "page size");
_Static_assert(offsetof(struct numaestro_page, header) == 0x000, "header line");
_Static_assert(offsetof(struct numaestro_page, manager) == 0x040, "manager line");
_Static_assert(offsetof(struct numaestro_page, root) == 0x080, "root line");
_Static_assert(offsetof(struct numaestro_page, helper) == 0x0c0, "helper line");
_Static_assert(offsetof(struct numaestro_page, request) == 0x100, "request line");
_Static_assert(offsetof(struct numaestro_page, analyzer) == 0x140, "analyzer line");
_Static_assert(offsetof(struct numaestro_page, nodes) == 0x180, "nodes");
_Static_assert(offsetof(struct numaestro_page, fold) == 0x200, "fold line");
_Static_assert(sizeof(struct nm_fold_line) == 64, "one cache line");
_Static_assert(offsetof(struct numaestro_page, libraries) == 0x240, "libraries");
_Static_assert(offsetof(struct numaestro_page, cpuset) == 0x400, "cpuset");
_Static_assert(offsetof(struct numaestro_page, vp) == 0x800, "virtual processors");
_Static_assert(offsetof(struct nm_manager_line, decided_ns) == 24, "decided_ns");
_Static_assert(offsetof(struct nm_manager_line, wanted_until_ns) == 40, "wanted_until_ns");
_Static_assert(offsetof(struct nm_root_line, held_by) == 32, "held_by");

#endif
