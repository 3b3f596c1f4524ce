/* affinity.c - answers the questions for the mask of the process.
 *
 * `numaestro run` starts a program on its present allocation. A runtime that sizes itself once, at
 * start, would never grow beyond it. So libgomp and its kind get the allowed set as the answer:
 * NUMAESTRO_CPUS_ALL, or what the process has narrowed itself to since. Other pools get what
 * sizing.c says. Libraries whose waiting
 * threads spin get the kernel's answer: OpenBLAS, whose threads spin for 30 ms when they are made,
 * and which can grow later (setter.c), and ONNX Runtime.
 */
#include "shim.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <pthread.h>
#include <unistd.h>

static struct nm_cpuset given, whole, before;
static struct nm_cpuset placed; /* by libomp, at its start */
static bool has_whole, widened;
static __thread bool starting __attribute__((tls_model("initial-exec")));

static bool load_whole(void)
{
    static bool loaded;
    if (!loaded) {
        const char *list = secure_getenv("NUMAESTRO_CPUS_ALL");
        has_whole = list && nm_cpuset_parse(list, &given);
        whole = given;
        loaded = true;
    }
    return has_whole;
}

static bool present(struct nm_cpuset *set)
{
    *set = (struct nm_cpuset){{0}};
    return syscall(SYS_sched_getaffinity, 0, sizeof set->words, set->words) > 0;
}

/* A shim that comes late finds the process on its allowed set, if nobody has moved it since it
 * began. Its share then is still known, and libraries that count processors by the kernel's mask
 * are about to come. */
static void back_to_share(void)
{
    struct nm_cpuset share, now;
    const char *list = secure_getenv("NUMAESTRO_CPUS_NOW");
    if (!has_whole || !list || !nm_cpuset_parse(list, &share) || !present(&now))
        return;
    if (memcmp(now.words, whole.words, sizeof now.words) == 0)
        nm_move_threads(&share);
}

__attribute__((constructor)) static void load_early(void)
{
    load_whole();
    back_to_share();
}

/* The allowed set; false if nobody has told it. */
bool nm_whole(struct nm_cpuset *set)
{
    bool known = load_whole();
    *set = whole;
    return known;
}

/* The set that the user gave; false if nobody has told it. */
bool nm_given(struct nm_cpuset *set)
{
    bool known = load_whole();
    *set = given;
    return known;
}

/* Of the stub; a shim that is preloaded alone has none. */
extern void numaestro_narrowed(const void *mask, size_t bytes, bool process) __attribute__((weak));

/* This thread has narrowed itself, or has back all that the user gave: so it is told, and whatever
 * it starts. `process`: there is no other thread of the program. A child of vfork has its parent's
 * memory, so only the stub is told there. */
void nm_whole_narrow(const struct nm_cpuset *set, bool own_memory, bool process)
{
    if (numaestro_narrowed)
        numaestro_narrowed(set->words, sizeof set->words, process);
    if (own_memory && load_whole())
        whole = *set;
}

/* What an object's name says of the code in it. */
enum {
    IS_LIBOMP = 1,
    IS_LIBGOMP = 2,
    SIZES_ITSELF = 4,
    SPINS = 8,
    SIZES_BY_MACHINE = 16,
};

static unsigned kinds_of_file(const char *path)
{
    static const struct {
        const char *name;
        unsigned kinds;
    } known[] = {
        {"libomp", IS_LIBOMP | SIZES_ITSELF},
        {"libiomp5", IS_LIBOMP | SIZES_ITSELF},
        {"libgomp", IS_LIBGOMP | SIZES_ITSELF},
        {"libblis", SIZES_ITSELF},
        {"libmkl", SIZES_ITSELF},
        {"mkl_", SIZES_ITSELF},
        {"libtbb", SIZES_ITSELF},
        {"openblas", SPINS},
        {"libblas", SPINS},
        {"onnxruntime", SPINS},
        {"libstdc++", SIZES_BY_MACHINE},
        {"libc++.so", SIZES_BY_MACHINE},
        {"python", SIZES_BY_MACHINE},
    };
    const char *file = strrchr(path, '/');
    file = file ? file + 1 : path;
    unsigned kinds = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(file, known[i].name))
            kinds |= known[i].kinds;
    return kinds;
}

/* The loader looks at all names of an object before it says whose code is at an address, and libomp
 * asks about masks whenever a team grows. So answers are kept: address << KIND_BITS | kinds. */
#define KIND_BITS 8
#define CALLER_BITS 8
static _Atomic uint64_t callers[1u << CALLER_BITS];

void nm_affinity_flush(void)
{
    for (unsigned i = 0; i < 1u << CALLER_BITS; i++)
        callers[i] = 0;
}

static unsigned kinds_of(const void *caller)
{
    uint64_t address = (uintptr_t)caller;
    _Atomic uint64_t *kept = &callers[address * 0x9e3779b97f4a7c15ull >> (64 - CALLER_BITS)];
    uint64_t found = atomic_load_explicit(kept, memory_order_relaxed);
    if (NM_LIKELY(found >> KIND_BITS == address))
        return found & ((1u << KIND_BITS) - 1);
    const char *path = NULL;
    unsigned kinds = nm_object_of(address, &path) && path ? kinds_of_file(path) : 0;
    if (address << KIND_BITS >> KIND_BITS == address)
        atomic_store_explicit(kept, address << KIND_BITS | kinds, memory_order_relaxed);
    return kinds;
}

static bool sizes_itself(const void *caller)
{
    return kinds_of(caller) & SIZES_ITSELF;
}

/* The code there may be a pool of threads that do not spin while they wait. */
bool nm_is_pool(const void *caller)
{
    return !nm_is_own((uintptr_t)caller) && !(kinds_of(caller) & (SIZES_ITSELF | SPINS));
}

/* It sizes pools by the processors that are online: std::thread::hardware_concurrency() and
 * os.cpu_count(). */
bool nm_sizes_by_machine(const void *caller)
{
    return kinds_of(caller) & SIZES_BY_MACHINE;
}

bool nm_is_libomp(const void *caller)
{
    return load_whole() && kinds_of(caller) & IS_LIBOMP;
}

/* The same for every OpenMP runtime. */
bool nm_is_openmp(const void *caller)
{
    return load_whole() && kinds_of(caller) & (IS_LIBOMP | IS_LIBGOMP);
}

static void fill_whole(size_t bytes, void *mask)
{
    memset(mask, 0, bytes);
    memcpy(mask, whole.words, bytes < sizeof whole.words ? bytes : sizeof whole.words);
}

/* The kernel's answer (bytes written), or a wider one for whoever sizes a pool. -1 and errno on
 * failure. */
static long affinity_for(const void *caller, pid_t tid, size_t bytes, void *mask)
{
    long got = syscall(SYS_sched_getaffinity, tid, bytes, mask);
    if (got < 0)
        return -1;
    memset((char *)mask + got, 0, bytes - (size_t)got);
    if (load_whole() && sizes_itself(caller))
        fill_whole(bytes, mask);
    else
        nm_sizing_answer(caller, tid, bytes, mask);
    return got;
}

/* The same for libomp, which asks by itself: as the system call answers, and the user's mask. */
long nm_affinity_whole(size_t bytes, void *mask)
{
    long got = syscall(SYS_sched_getaffinity, 0, bytes, mask);
    if (got > 0)
        fill_whole((size_t)got, mask);
    return got;
}

bool nm_is_whole(size_t bytes, const void *mask)
{
    static const char zeros[64];
    size_t used = bytes < sizeof whole.words ? bytes : sizeof whole.words;
    if (memcmp(mask, whole.words, used) != 0)
        return false;
    for (size_t at = used; at < bytes; at += sizeof zeros)
        if (memcmp((const char *)mask + at, zeros, bytes - at < sizeof zeros ? bytes - at : sizeof zeros) != 0)
            return false;
    return true;
}

/* This thread is starting libomp, under the user's own mask: libomp may bind the thread here and
 * there to look around. */
bool nm_starting(void)
{
    return starting;
}

/* libomp binds the thread that starts it: what it bound it to last. */
void nm_starting_at(size_t bytes, const void *mask)
{
    placed = (struct nm_cpuset){{0}};
    memcpy(placed.words, mask, bytes < sizeof placed.words ? bytes : sizeof placed.words);
}

SHIM_EXPORT int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *mask)
{
    return affinity_for(__builtin_return_address(0), pid, bytes, mask) < 0 ? -1 : 0;
}

/* A thread's question about itself is the only one that can be answered without the C library's
 * thread structure. */
SHIM_EXPORT int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *mask)
{
    static int (*real)(pthread_t, size_t, cpu_set_t *);
    int saved = errno;
    const void *caller = __builtin_return_address(0);
    int error;
    if (pthread_equal(thread, pthread_self())) {
        error = affinity_for(caller, 0, bytes, mask) < 0 ? errno : 0;
    } else {
        if (!real)
            real = (int (*)(pthread_t, size_t, cpu_set_t *))nm_next_symbol("pthread_getaffinity_np");
        error = real ? real(thread, bytes, mask) : ENOSYS;
    }
    errno = saved;
    return error;
}

void nm_widen_for_start(void)
{
    int saved = errno;
    widened = load_whole() && syscall(SYS_sched_getaffinity, 0, sizeof before.words, before.words) > 0 &&
              syscall(SYS_sched_setaffinity, 0, sizeof whole.words, whole.words) == 0;
    starting = true;
    errno = saved;
}

/* PUs of the user's own mask, 0 if it is not known. */
unsigned nm_whole_count(void)
{
    unsigned count = 0;
    for (unsigned i = 0; load_whole() && i < NM_CPUSET_WORDS; i++)
        count += (unsigned)__builtin_popcountll(whole.words[i]);
    return count;
}

/* Puts this thread back on the allocation, also from a place to which libomp has bound it. If the
 * manager has moved it meanwhile, it stays where it was moved. */
void nm_widen_undo(void)
{
    int saved = errno;
    struct nm_cpuset now = {{0}};
    bool undisturbed = widened && syscall(SYS_sched_getaffinity, 0, sizeof now.words, now.words) > 0 &&
                       (memcmp(now.words, whole.words, sizeof now.words) == 0 ||
                        memcmp(now.words, placed.words, sizeof now.words) == 0);
    if (undisturbed)
        syscall(SYS_sched_setaffinity, 0, sizeof before.words, before.words);
    widened = starting = false;
    errno = saved;
}
