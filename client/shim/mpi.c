/* mpi.c - a rank that waits in MPI sleeps between two looks at its messages.
 *
 * MPI waits by looking for messages again and again. The manager takes such a rank for one that
 * computes, so nobody gets its processors. The shim therefore stands before the one function that
 * looks: opal_progress of Open MPI, and ucp_worker_progress of UCX where MPICH calls it. It always
 * calls the real one, and passes its answer on. When a thread has found nothing for a while, and
 * has done next to nothing between two looks, the shim sleeps for some microseconds before it
 * returns. So the rank uses hardly any time, the manager's looks find it blocked, and it lends its
 * processors.
 *
 * That delays looks, and changes nothing else: the order of messages, and so of reductions, is
 * MPI's own. A sleep ends by itself, so no rank waits for us.
 */
#include "whole.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
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
/* A rank that waits looks more often than this, on the average of LOOKS. A slower one does
 * something in between, such as a loop around MPI_Test. */
#define LOOK_NS_MOST 2000u
#define LOOKS 32u
/* The first look after a sleep may take longer: its data has left the caches. */
#define AWAKE_NS_MOST 30000u
/* So many gaps in a row are something in between; fewer may be others' doing: a rank that has lent
 * its processor wakes up beside a thread that computes. */
#define GAPS_MOST 8u
/* A wait that ends without a message of UCX was for another kind of messages, or others have kept
 * the rank from running. After so many in a row UCX is not where this rank's messages come from. */
#define UNHEARD_MOST 16u

/* The wait of one thread. */
static __thread struct {
    uint64_t began_ns;  /* since when it has done nothing but look in vain */
    uint64_t looked_ns; /* the latest time that was read: at a look, or after a sleep */
    uint32_t looks;     /* so many until the clock is read again */
    uint32_t gaps;      /* in a row: times between two readings of the clock that were too long */
    bool slept;         /* there has been no look since its latest sleep */
    bool said;          /* the manager can read of this wait */
    uint32_t unheard;   /* waits without a message, since the latest one; UNHEARD_MOST before any */
    bool inside;        /* in a look of Open MPI */
    bool in_vain;       /* that look has ended with a yield, so it has found nothing */
} wait __attribute__((tls_model("initial-exec"))) = {.unheard = UNHEARD_MOST};

/* Somebody can get the processors of this program. */
static bool may_lend(void)
{
    return nm_client.attached && !nm_client.alone && !(nm_client.flags & NM_FLAG_RELEASED);
}

/* By a raw system call: a thread cannot be cancelled where MPI looks. */
static void sleep_ns(uint64_t ns)
{
    int saved = errno;
    struct timespec time = {0, (long)ns};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
    errno = saved;
}

/* The manager does not have to find a wait out that it is told of. */
static void say(bool waits)
{
    wait.said = waits;
    if (nm_client.page)
        atomic_store_explicit(&nm_client.page->root.waits, waits, memory_order_relaxed);
}

static void begin(uint64_t now)
{
    if (wait.said)
        say(false);
    if (wait.looked_ns != 0 && wait.unheard < UNHEARD_MOST)
        wait.unheard++;
    wait.began_ns = now;
}

/* `sure`: every message shows in what looks find. */
static void found_nothing(bool sure)
{
    if (NM_LIKELY(wait.looks > 1)) {
        wait.looks--;
        return;
    }
    uint64_t now = nm_now_ns();
    bool gap = now - wait.looked_ns > (wait.slept ? AWAKE_NS_MOST : LOOKS * LOOK_NS_MOST);
    wait.gaps = gap ? wait.gaps + 1 : 0;
    /* Where messages may come another way, a gap may be one. */
    if (wait.looked_ns == 0 || wait.gaps >= (sure ? GAPS_MOST : 1))
        begin(now);
    uint64_t waited = now - wait.began_ns;
    wait.slept = !gap && waited >= PATIENCE_NS && (sure || wait.unheard < UNHEARD_MOST) && may_lend();
    wait.looks = wait.slept ? 1 : LOOKS;
    if (wait.slept) {
        if (!wait.said)
            say(true);
        sleep_ns(waited / SLEEP_PART < SLEEP_NS_MOST ? waited / SLEEP_PART : SLEEP_NS_MOST);
        now = nm_now_ns();
    }
    wait.looked_ns = now;
}

/* The next wait begins when the clock is read for the first time after this. */
static void found_something(void)
{
    if (NM_UNLIKELY(wait.said))
        say(false);
    wait.unheard = 0;
    wait.looked_ns = 0;
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
    open_mpi_sleeps = look && nm_object_of((uintptr_t)look, &path) && path && !is_left(path);
    open_mpi = look;
    errno = saved;
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
    wait.inside = true;
    wait.in_vain = false;
    long answer = look();
    wait.inside = outer;
    bool in_vain = wait.in_vain;
    wait.in_vain = false;
    if (outer || !open_mpi_sleeps)
        return answer;
    if (in_vain)
        found_nothing(true);
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
 * whose object calls. Entries are never used twice: a thread that reads one while it is forgotten
 * reads a whole one. */

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
    caller.sleeps = is_mpich(object.path) && !is_left(object.path);
    nm_flag_lock(&resolving);
    unsigned count = callers_count;
    if (object.to && caller.look && count < CALLERS) {
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
    unsigned found = caller.look ? caller.look(worker) : 0;
    if (!caller.sleeps || wait.inside)
        return found;
    if (found)
        found_something();
    else
        found_nothing(false);
    return found;
}

/* Code has been unloaded. */
void nm_mpi_flush(void)
{
    open_mpi = NULL;
    for (unsigned i = 0; i < callers_count; i++)
        callers[i].to = 0;
}
