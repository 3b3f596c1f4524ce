/* mpi.c - a rank that waits in MPI sleeps between two polls for messages.
 *
 * MPI waits by polling for messages again and again. The manager takes such a rank for one that
 * computes, so nobody gets its processors. The shim therefore stands before the one function that
 * polls: opal_progress of Open MPI, and ucp_worker_progress of UCX where MPICH calls it. It always
 * calls the real one, and passes its answer on. When a thread has found nothing for a while, has
 * done nothing in between, and others lack processors, the shim sleeps for a moment before it
 * returns. So the rank uses hardly any time, the manager's looks find it blocked, and it lends its
 * processors.
 *
 * That delays polls, and changes nothing else: the order of messages, and so of reductions, is
 * MPI's own. A sleep ends by itself, so no rank waits for us.
 */
#include "wait.h"
#include "whole.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The user's word, and its row in the status. */
static bool is_left(const char *path)
{
    if (nm_library_verb(path) != NM_VERB_LEAVE)
        return false;
    nm_library_say(nm_library_of(path, 0), NM_LIBRARY_LEFT, NM_BECAUSE_USER, 0);
    return true;
}

/* Open MPI. Its function gives no answer before version 5. But a poll in vain ends with sched_yield
 * where ranks are to yield. So the shim stands before the function that sets this, too, and always
 * sets it. A yield that nobody but the shim has asked for is left out: a system call at each poll
 * would delay messages. One that the user or mpirun has asked for follows the poll. */

static long (*_Atomic open_mpi)(void);
static _Atomic bool open_mpi_sleeps;
/* Ranks are to yield without us, too. */
static _Atomic bool open_mpi_yields = true;

static bool is_left_at(uintptr_t function)
{
    const char *path = NULL;
    return !function || !nm_object_of(function, &path) || !path || is_left(path);
}

static __attribute__((noinline)) void find_open_mpi(uintptr_t caller)
{
    int saved = errno;
    long (*poll)(void) = (long (*)(void))nm_symbol_for(caller, "opal_progress");
    open_mpi_sleeps = !is_left_at((uintptr_t)poll);
    open_mpi = poll;
    errno = saved;
}

/* Gives the former value. */
SHIM_EXPORT bool opal_progress_set_yield_when_idle(bool yields)
{
    int saved = errno;
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    bool (*set)(bool) = (bool (*)(bool))nm_symbol_for(caller, "opal_progress_set_yield_when_idle");
    bool left = is_left_at((uintptr_t)set);
    bool former = set ? set(yields || !left) : false;
    if (!left)
        former = atomic_exchange(&open_mpi_yields, yields) && former;
    errno = saved;
    return former;
}

/* Open MPI holds no lock while it polls, but one of a window that is being locked (osc/rdma): who
 * waits for that waits for the message, too. */
static bool always(void)
{
    return true;
}

/* A poll inside of another one, by a function that Open MPI calls there: it is a wait of its own,
 * and what it finds says nothing of the outer one. */
static __attribute__((noinline)) long poll_inside(long (*poll)(void))
{
    bool outer = nm_wait.in_vain;
    nm_wait.in_vain = false;
    long answer = poll();
    if (nm_wait.in_vain && open_mpi_yields)
        syscall(SYS_sched_yield);
    nm_wait.in_vain = outer;
    return answer;
}

SHIM_EXPORT long opal_progress(void)
{
    long (*poll)(void) = open_mpi;
    if (NM_UNLIKELY(!poll)) {
        find_open_mpi((uintptr_t)__builtin_return_address(0));
        poll = open_mpi;
        if (!poll)
            return 0;
    }
    if (!open_mpi_sleeps)
        return poll();
    if (nm_wait.inside)
        return poll_inside(poll);
    nm_wait_poll();
    nm_wait.inside = true;
    nm_wait.in_vain = nm_wait.has_read = false;
    long answer = poll();
    nm_wait.inside = false;
    if (nm_wait.in_vain && !nm_wait.has_read)
        nm_wait_in_vain(always, true);
    else
        nm_wait_heard();
    if (NM_UNLIKELY(open_mpi_yields && nm_wait.in_vain)) {
        syscall(SYS_sched_yield);
        if (nm_wait.polls == NM_WAIT_POLLS)
            nm_wait.ended_ns = nm_now_ns();
    }
    return answer;
}

/* A poll in vain has come to its end: it does without this yield. */
bool nm_mpi_yields_in_vain(void)
{
    if (NM_LIKELY(!nm_wait.inside))
        return false;
    nm_wait.in_vain = true;
    return true;
}

/* Open MPI does not count what it reads from sockets. Only by readv does it read messages there. */
SHIM_EXPORT ssize_t readv(int file, const struct iovec *parts, int count)
{
    static ssize_t (*_Atomic real)(int, const struct iovec *, int);
    if (NM_UNLIKELY(!real)) {
        int saved = errno;
        real = (ssize_t(*)(int, const struct iovec *, int))nm_next_symbol("readv");
        errno = saved;
    }
    ssize_t size = real(file, parts, count);
    if (NM_UNLIKELY(nm_wait.inside) && size > 0)
        nm_wait.has_read = true;
    return size;
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
    unsigned (*poll)(void *worker);
    bool sleeps;
};
static struct caller callers[CALLERS];
static _Atomic unsigned callers_count;
static atomic_flag resolving = ATOMIC_FLAG_INIT;

/* MPICH polls under a lock, for which another thread that is in MPI, too, would wait as long as
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
    caller.poll = (unsigned (*)(void *))nm_symbol_for(address, "ucp_worker_progress");
    /* Open MPI calls UCX, too, and from version 5 on out of a library of the same name. */
    bool has_mpich = nm_symbol_for(address, "MPIR_Err_create_code") != NULL;
    caller.sleeps = has_mpich && is_mpich(object.path) && !is_left(object.path);
    if (caller.sleeps) {
        mpich_has_begun = (int (*)(int *))nm_symbol_for(address, "MPI_Initialized");
        mpich_has_ended = (int (*)(int *))nm_symbol_for(address, "MPI_Finalized");
        mpich_threads = (int (*)(int *))nm_symbol_for(address, "MPI_Query_thread");
    }
    nm_flag_lock(&resolving);
    unsigned count = callers_count, same = 0;
    while (same < count && (callers[same].from != caller.from || callers[same].poll != caller.poll ||
                            callers[same].sleeps != caller.sleeps))
        same++;
    if (same < count) {
        callers[same].to = caller.to;
    } else if (object.to && caller.poll && count < CALLERS) {
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
    if (caller.sleeps && !nm_wait.inside)
        nm_wait_poll();
    unsigned found = caller.poll ? caller.poll(worker) : 0;
    if (!caller.sleeps || nm_wait.inside)
        return found;
    if (found)
        nm_wait_heard();
    else
        nm_wait_in_vain(mpich_may_sleep, false);
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
    pthread_atfork(NULL, NULL, in_child);
}
