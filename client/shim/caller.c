/* caller.c - the thread that calls the setters of libraries (setter.c) in the helper's place.
 *
 * A setter may start threads, and a new thread takes over its maker's table of descriptors, signal
 * mask and name. The helper has a table of its own and takes no signals: a thread of a pool that it
 * made could not write to the program's files. This thread shares the program's table, and a thread
 * that a setter makes in it gets the signal mask and the name of the program's thread that started
 * it.
 */
#include "shim.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLER_STACK_BYTES ((size_t)256 * 1024) /* a setter is code of a library */

static atomic_bool started;
static atomic_bool aside;        /* it is to end, and must not be started again */
static _Atomic pid_t caller;     /* its thread id, 0 before it runs */
static _Atomic uint32_t wanted;  /* the number of threads for the next call */
static _Atomic uint32_t posted;  /* futex: calls asked for */
static sigset_t mask;            /* of the program's thread that started it */
static char name[16];
static atomic_bool has_threads;  /* the program has made one */
static __thread bool is_caller __attribute__((tls_model("initial-exec")));

static void *caller_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "numaestro");
    is_caller = true;
    caller = (pid_t)syscall(SYS_gettid);
    for (uint32_t done = 0, seen; !aside; done = seen) {
        seen = posted;
        if (seen == done)
            nm_futex_wait(&posted, seen, UINT64_MAX);
        else
            nm_setters_apply(wanted);
    }
    return NULL;
}

void nm_caller_start(void)
{
    if (aside || atomic_load_explicit(&started, memory_order_relaxed) || atomic_exchange(&started, true))
        return;
    int saved = errno;
    sigset_t all;
    pthread_t thread;
    pthread_attr_t attributes;
    sigfillset(&all);
    prctl(PR_GET_NAME, name);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, CALLER_STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    /* Without it the setters are called when the program's own threads adopt. */
    if (nm_create_thread(&thread, &attributes, caller_main, NULL) != 0)
        started = false;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    pthread_attr_destroy(&attributes);
    errno = saved;
}

bool nm_caller_runs(void)
{
    return atomic_load_explicit(&started, memory_order_relaxed) && !aside;
}

void nm_caller_post(uint32_t count)
{
    wanted = count;
    posted++;
    nm_futex_wake(&posted);
}

void nm_caller_step_aside(void)
{
    if (!started || atomic_exchange(&aside, true) || is_caller)
        return;
    nm_caller_post(wanted);
    for (unsigned i = 0; i < 1000 && caller && syscall(SYS_tgkill, getpid(), caller, 0) == 0; i++)
        usleep(100);
}

bool nm_has_threads(void)
{
    return has_threads;
}

/* A thread's first function, which its maker wants to call. */
struct birth {
    void *(*start)(void *);
    void *argument;
};

static void *born(void *data)
{
    struct birth birth = *(struct birth *)data;
    free(data);
    prctl(PR_SET_NAME, name);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return birth.start(birth.argument);
}

int nm_caller_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    if (NM_LIKELY(!is_caller)) {
        int error = nm_create_thread(thread, attributes, start, argument);
        if (error == 0)
            has_threads = true;
        return error;
    }
    struct birth *birth = malloc(sizeof *birth);
    if (!birth)
        return EAGAIN;
    *birth = (struct birth){start, argument};
    int error = nm_create_thread(thread, attributes, born, birth);
    if (error)
        free(birth);
    return error;
}

/* The thread did not survive the fork. The child's libraries start theirs anew, if they can. */
static void in_child(void)
{
    started = aside = has_threads = false;
    caller = 0;
    posted = 0; /* its first call is for a decision of its own */
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}
