/* mpi.c - a rank that waits in MPI sleeps between two looks at its messages.
 *
 * MPI waits by looking for messages again and again. The manager takes such a rank for one that
 * computes, so nobody gets its processors. The shim therefore stands before the one function that
 * looks: opal_progress of Open MPI, and ucp_worker_progress of UCX where MPICH calls it. It always
 * calls the real one, and passes its answer on. When a thread has found nothing for a while, and
 * has done next to nothing in between, the shim sleeps for a moment before it returns. So the
 * rank uses hardly any time, the manager's looks find it blocked, and it lends its processors.
 *
 * That delays looks, and changes nothing else: the order of messages, and so of reductions, is
 * MPI's own. A sleep ends by itself, so no rank waits for us.
 */
#include "whole.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Time without a message until the first sleep. A message that comes sooner finds the rank awake,
 * as without us. */
#define PATIENCE_NS 200000u
/* A sleep is so small a part of the wait so far, and at most this; the kernel adds some 50 us. Who
 * has waited for long needs no quick answer, and each awakening takes time from the thread that
 * computes there. */
#define SLEEP_PART 16u
#define SLEEP_NS_MOST 1000000u
/* The clock is read after so many looks; after a sleep sooner. */
#define LOOKS 32u
#define LOOKS_AWAKE 8u
/* So much processor time may the looks between two readings take, each on the average; the first
 * after a sleep may take longer, because its data has left the caches. A thread that takes more has
 * done something in between, such as a piece of work in a loop around MPI_Test. The time of others
 * does not count: a rank that has lent its processor wakes up beside a thread that computes. */
#define LOOK_NS_MOST 2000u
#define AWAKE_NS_MOST 30000u
/* From the end of a look to the beginning of the next one MPI takes less than this. Pieces of work
 * may be short, and many. */
#define OUTSIDE_NS_MOST 500u
/* A wait that ends without a message of UCX was for another kind of messages. After so many in turn
 * UCX is not where this rank's messages come from. */
#define UNHEARD_MOST 16u

/* The wait of one thread. */
static __thread struct {
    uint64_t waited_ns;  /* its time of looking in vain, and of sleeping in between */
    uint64_t worked_ns;  /* processor time of the thread at the latest reading, or after a sleep */
    bool is_old;         /* there has been a reading in this wait */
    uint64_t ended_ns;   /* the end of the look before the one at which the clock is read */
    uint64_t outside_ns; /* from there to the beginning of that one */
    uint32_t looks;      /* so many until the clock is read again */
    bool slept;          /* the latest reading ended with a sleep */
    bool inside;         /* in a look of Open MPI */
    bool in_vain;        /* that look has ended with a yield, so it has found nothing */
    uint32_t unheard;    /* waits without a message, since the latest one; UNHEARD_MOST before any */
} wait __attribute__((tls_model("initial-exec"))) = {.unheard = UNHEARD_MOST};

/* The user asks for it: NUMAESTRO_RANKS=lend. Otherwise looks are only passed on. */
static bool lends;

/* Somebody can get the processors of this program. */
static bool may_lend(void)
{
    return nm_client.attached && !nm_client.alone && !(nm_client.flags & NM_FLAG_RELEASED);
}

static uint64_t worked_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* By a raw system call: a thread cannot be cancelled where MPI looks. The manager reads the number
 * of sleeps, and does not have to find the wait out. */
static void sleep_ns(uint64_t ns)
{
    int saved = errno;
    struct timespec time = {0, (long)ns};
    if (nm_client.page)
        atomic_fetch_add_explicit(&nm_client.page->root.sleeps, 1, memory_order_relaxed);
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
    errno = saved;
}

/* A look begins. */
static inline void begin_look(void)
{
    if (NM_UNLIKELY(wait.looks == 1))
        wait.outside_ns = nm_now_ns() - wait.ended_ns;
}

/* A look has ended in vain. `may_sleep`: asked before a sleep. `hears`: every message shows in what
 * looks find. */
static void found_nothing(bool (*may_sleep)(void), bool hears)
{
    if (NM_LIKELY(wait.looks > 1)) {
        if (NM_UNLIKELY(--wait.looks == 1))
            wait.ended_ns = nm_now_ns();
        return;
    }
    uint64_t worked = worked_ns(), looking = worked - wait.worked_ns;
    uint64_t most = wait.slept ? LOOKS_AWAKE * LOOK_NS_MOST + AWAKE_NS_MOST : LOOKS * LOOK_NS_MOST;
    wait.waited_ns += looking;
    if (!wait.is_old || looking > most || wait.outside_ns > OUTSIDE_NS_MOST) {
        if (wait.is_old && wait.unheard < UNHEARD_MOST)
            wait.unheard++;
        wait.waited_ns = 0;
    }
    wait.slept = wait.waited_ns >= PATIENCE_NS && (hears || wait.unheard < UNHEARD_MOST) && may_lend() && may_sleep();
    wait.looks = wait.slept ? LOOKS_AWAKE : LOOKS;
    if (wait.slept) {
        uint64_t part = wait.waited_ns / SLEEP_PART;
        part = part < SLEEP_NS_MOST ? part : SLEEP_NS_MOST;
        sleep_ns(part);
        wait.waited_ns += part;
        worked = worked_ns();
    }
    wait.is_old = true;
    wait.worked_ns = worked;
}

/* The next wait begins when the clock is read for the first time after this. */
static void found_something(void)
{
    wait.unheard = 0;
    wait.is_old = false;
    wait.looks = LOOKS;
    wait.slept = false;
}

/* The user's word, and its row in the status. */
static bool is_left(const char *path)
{
    if (nm_library_verb(path) != NM_VERB_LEAVE)
        return false;
    nm_library_say(nm_library_of(path, 0), NM_LIBRARY_LEFT, NM_BECAUSE_USER, 0);
    return true;
}

/* Open MPI. Its function gives no answer before version 5. But a look in vain ends with
 * sched_yield, if `mpi_yield_when_idle` is set; `run` sets it, and the user's own word wins. */

static long (*_Atomic open_mpi)(void);
static _Atomic bool open_mpi_sleeps;

static __attribute__((noinline)) void find_open_mpi(uintptr_t caller)
{
    int saved = errno;
    const char *path = NULL;
    long (*look)(void) = (long (*)(void))nm_symbol_for(caller, "opal_progress");
    open_mpi_sleeps = lends && look && nm_object_of((uintptr_t)look, &path) && path && !is_left(path);
    open_mpi = look;
    errno = saved;
}

/* Open MPI holds no lock of its own while it looks. */
static bool always(void)
{
    return true;
}

SHIM_EXPORT long opal_progress(void)
{
    long (*look)(void) = open_mpi;
    if (NM_UNLIKELY(!look)) {
        find_open_mpi((uintptr_t)__builtin_return_address(0));
        look = open_mpi;
        if (!look)
            return 0;
    }
    bool outer = wait.inside;
    if (!outer)
        begin_look();
    wait.inside = true;
    wait.in_vain = false;
    long answer = look();
    wait.inside = outer;
    bool in_vain = wait.in_vain;
    wait.in_vain = false;
    if (outer || !open_mpi_sleeps)
        return answer;
    if (in_vain)
        found_nothing(always, true);
    else
        found_something();
    return answer;
}

/* On processors of its own a rank looks again at once, as it does where Open MPI is not told to
 * yield: a system call at each look would delay its messages. */
bool nm_mpi_yields_in_vain(void)
{
    if (NM_LIKELY(!wait.inside))
        return false;
    wait.in_vain = true;
    return wait.looks > 1 && open_mpi_sleeps && may_lend() && !(nm_client.flags & NM_FLAG_SHARED);
}

/* MPICH with UCX. Its function says how much it has found. But a build of MPICH may pass messages
 * within a node by itself (its module `posix`), and UCX does not see those. So a rank sleeps only
 * while UCX finds something now and then. Other users of UCX are none of our business: it matters
 * whose object calls. An entry is only used again for the same object: who reads one while
 * it is forgotten reads a whole one. */

#define CALLERS 32u
struct caller {
    uintptr_t from;
    _Atomic uintptr_t to; /* 0 = it has been unloaded */
    unsigned (*look)(void *worker);
    bool sleeps;
};
static struct caller callers[CALLERS];
static _Atomic unsigned callers_count;
static atomic_flag resolving = ATOMIC_FLAG_INIT;

/* MPICH looks under a lock, for which another thread that is in MPI, too, would wait as long as
 * this one sleeps. So ranks with MPI_THREAD_MULTIPLE never sleep, and none before MPI has begun. */
#define MPI_THREAD_MULTIPLE 3
static int (*_Atomic mpich_has_begun)(int *), (*_Atomic mpich_has_ended)(int *), (*_Atomic mpich_threads)(int *);
static _Atomic int mpich_may; /* 0 = not known, 1 = it may sleep, -1 = never */

static bool mpich_may_sleep(void)
{
    int may = mpich_may, begun = 0, ended = 0, level = MPI_THREAD_MULTIPLE;
    int (*has_begun)(int *) = mpich_has_begun, (*has_ended)(int *) = mpich_has_ended, (*threads)(int *) = mpich_threads;
    if (may == 0 && has_begun && has_ended && threads && has_begun(&begun) == 0 && begun && has_ended(&ended) == 0 &&
        !ended) {
        threads(&level);
        mpich_may = may = level < MPI_THREAD_MULTIPLE ? 1 : -1;
    }
    return may > 0;
}

struct object {
    uintptr_t address, from, to;
    const char *path;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct object *object = data;
    uintptr_t from = UINTPTR_MAX, to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD)
            continue;
        from = begin < from ? begin : from;
        to = begin + p->p_memsz > to ? begin + p->p_memsz : to;
    }
    if (object->address < from || object->address >= to)
        return 0;
    *object = (struct object){object->address, from, to, info->dlpi_name};
    return 1;
}

static bool is_mpich(const char *path)
{
    const char *file = strrchr(path, '/');
    return strncmp(file ? file + 1 : path, "libmpi", 6) == 0;
}

static struct caller resolve(uintptr_t address)
{
    int saved = errno;
    struct object object = {.address = address, .path = ""};
    dl_iterate_phdr(find_object, &object);
    struct caller caller = {.from = object.from, .to = object.to};
    caller.look = (unsigned (*)(void *))nm_symbol_for(address, "ucp_worker_progress");
    caller.sleeps = lends && is_mpich(object.path) && !is_left(object.path);
    if (caller.sleeps) {
        mpich_has_begun = (int (*)(int *))nm_symbol_for(address, "MPI_Initialized");
        mpich_has_ended = (int (*)(int *))nm_symbol_for(address, "MPI_Finalized");
        mpich_threads = (int (*)(int *))nm_symbol_for(address, "MPI_Query_thread");
    }
    nm_flag_lock(&resolving);
    unsigned count = callers_count, same = 0;
    while (same < count && (callers[same].from != caller.from || callers[same].look != caller.look ||
                            callers[same].sleeps != caller.sleeps))
        same++;
    if (same < count) {
        callers[same].to = caller.to;
    } else if (object.to && caller.look && count < CALLERS) {
        callers[count] = caller;
        callers_count = count + 1;
    }
    nm_flag_unlock(&resolving);
    errno = saved;
    return caller;
}

static inline struct caller caller_at(uintptr_t address)
{
    unsigned count = atomic_load_explicit(&callers_count, memory_order_acquire);
    for (unsigned i = 0; i < count; i++)
        if (address >= callers[i].from && address < atomic_load_explicit(&callers[i].to, memory_order_relaxed))
            return callers[i];
    return resolve(address);
}

SHIM_EXPORT unsigned ucp_worker_progress(void *worker)
{
    struct caller caller = caller_at((uintptr_t)__builtin_return_address(0));
    if (caller.sleeps && !wait.inside)
        begin_look();
    unsigned found = caller.look ? caller.look(worker) : 0;
    if (!caller.sleeps || wait.inside)
        return found;
    if (found)
        found_something();
    else
        found_nothing(mpich_may_sleep, false);
    return found;
}

/* Code has been unloaded. */
void nm_mpi_flush(void)
{
    open_mpi = NULL;
    for (unsigned i = 0; i < callers_count; i++)
        callers[i].to = 0;
}

/* Another thread may have been resolving. */
static void in_child(void)
{
    atomic_flag_clear(&resolving);
}

__attribute__((constructor)) static void prepare(void)
{
    const char *asked = getenv("NUMAESTRO_RANKS");
    lends = asked && strcmp(asked, "lend") == 0;
    pthread_atfork(NULL, NULL, in_child);
}
