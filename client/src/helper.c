/* helper.c - the only thread of ours in a program: it speaks with the manager, and carries out
 * decisions that the program's own threads do not get to.
 *
 * It sleeps on futexes. It runs on a small stack, with every signal blocked, so that the kernel
 * never delivers a signal of the program to it. Its descriptor table is its own and empty: a
 * program that closes descriptor 0 and opens a file must get 0 for it, whatever we have open. The
 * helper also notices that the manager has died, and attaches to the next one; if a second look
 * finds none, it takes all limits away, as the manager does at its orderly end.
 */
#include "client.h"
#include "message.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Linux 5.9; headers may be older than the kernel that the program will run on.
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif

#define LOOK_AFTER_MANAGER_NS 2000000000ull
#define LOOK_AGAIN_NS 1000000000ull
#define ROOT_GRACE_NS 2000000ull
#define ATTACH_PATIENCE_NS 400000000ull
#define HELPER_STACK_BYTES (128 * 1024)

static atomic_bool started;
static _Atomic uint32_t ready; /* futex: 1 when the first attempt to attach is over */
static _Atomic pid_t helper;   /* its thread id, 0 before it runs */
static atomic_bool aside;      /* it is to end, and must not be started again */

static __thread bool is_helper __attribute__((tls_model("initial-exec")));

bool nm_is_helper(void)
{
    return is_helper;
}

bool nm_helper_runs(void)
{
    return atomic_load_explicit(&started, memory_order_relaxed) && ready;
}

/* Gives the root thread time to adopt: it does that better than a fold. */
static void wait_for_root(struct numaestro_page *page)
{
    uint32_t in_force = nm_client.epoch, count = page->manager.count;
    if (nm_hooks.announce && count > 0 && count < nm_client.count)
        nm_hooks.announce(count);
    if (page->root.regions > 0 && !(page->manager.flags & NM_FLAG_LENT) && page->manager.epoch != in_force)
        nm_futex_wait(&nm_client.epoch, in_force, ROOT_GRACE_NS);
}

/* Gives virtual processors time to leave: one that leaves by itself, at a safe point, is not
 * stolen. Half of the time that the manager grants is left for moving the others. */
static void wait_for_vps(struct numaestro_page *page)
{
    uint64_t until = page->manager.decided_ns + (uint64_t)page->manager.grace_us * 500;
    nm_vp_wait_released(until);
}

static uint64_t looked_ns; /* when it last looked whether the manager lives; helper thread only */

/* Sleeps until the manager changes the page; true if it is time to look whether the manager
 * lives. */
static bool sleep_on(struct numaestro_page *page, uint32_t epoch)
{
    uint64_t next = nm_hooks.tick ? nm_hooks.tick() : UINT64_MAX, began = nm_now_ns();
    if (!looked_ns)
        looked_ns = began;
    uint64_t left = began - looked_ns < LOOK_AFTER_MANAGER_NS ? LOOK_AFTER_MANAGER_NS - (began - looked_ns) : 0;
    if (left > 0)
        nm_futex_wait(&page->manager.epoch, epoch, next < left ? next : left);
    if (page->manager.epoch != epoch || nm_now_ns() - looked_ns < LOOK_AFTER_MANAGER_NS)
        return false;
    looked_ns = 0;
    return true;
}

/* The manager is gone. Another one may be about to start: the service manager restarts it, or the
 * user's next command starts one. */
static void seek_manager(bool released)
{
    static bool looked_before;
    uint32_t requested = nm_client.page->request.requested;
    if (nm_attach(true)) {
        looked_before = false;
        /* A request holds until the program withdraws it, and the new page knows of none. */
        nm_client.page->request.requested = requested;
        if (requested > 0)
            nm_notice(NM_REQUEST, requested, 0);
        return;
    }
    nm_vp_abandon();
    if (looked_before && !released)
        nm_adopt_nobody();
    looked_before = true;
    if (!released && !nm_client.alone)
        looked_ns = nm_now_ns() - (LOOK_AFTER_MANAGER_NS - LOOK_AGAIN_NS);
}

static void serve(void)
{
    struct numaestro_page *page = nm_client.page;
    uint32_t epoch = page->manager.epoch;
    if (epoch != nm_client.epoch) {
        wait_for_root(page);
        wait_for_vps(page);
        if (page->manager.epoch != nm_client.epoch)
            nm_adopt(false);
    }
    if (page->helper.adopted_epoch != nm_client.epoch)
        nm_adopt_rest();
    nm_say_busy();
    nm_vp_say();
    if (epoch != page->manager.epoch)
        return;
    bool quiet = sleep_on(page, epoch);
    bool released = page->manager.flags & NM_FLAG_RELEASED;
    if (quiet && !aside && (released || !nm_manager_alive()))
        seek_manager(released);
}

static void *helper_main(void *arg)
{
    (void)arg;
    prctl(PR_SET_NAME, "numaestro");
    /* If the kernel does not offer this (before 5.9), our descriptors live in the program's table
     * for microseconds. */
    syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE);
    is_helper = true;
    helper = (pid_t)syscall(SYS_gettid);
    bool attached = nm_client.attached || nm_attach(false);
    ready = 1;
    nm_futex_wake(&ready);
    if (!attached)
        return NULL;
    nm_client.page->helper.helper_tid = (uint32_t)helper;
    while (!aside)
        serve();
    return NULL;
}

/* Ends the helper, because its thread counts for the limit of processes (`ulimit -u`): if that
 * limit is reached, the program's thread comes first. Without a helper the program adopts at its
 * region entries, and the manager moves it from outside if it enters none. */
bool nm_helper_step_aside(void)
{
    if (!started || atomic_exchange(&aside, true))
        return false;
    uint64_t until = nm_now_ns() + ATTACH_PATIENCE_NS;
    pid_t tid = helper;
    while (tid && syscall(SYS_tgkill, getpid(), tid, 0) == 0 && nm_now_ns() < until) {
        /* It may be about to sleep on another page by now. */
        nm_futex_wake(&nm_client.page->manager.epoch);
        usleep(100);
    }
    ready = 0;
    return true;
}

bool nm_helper_start(void)
{
    int saved = errno;
    if (aside)
        return false;
    if (atomic_load_explicit(&started, memory_order_relaxed) || atomic_exchange(&started, true))
        return true;
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, HELPER_STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, helper_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    /* Without a helper the program still adopts at its region entries. */
    if (error)
        started = false;
    errno = saved;
    return error == 0;
}

bool nm_helper_attach(void)
{
    if (!nm_helper_start())
        return false;
    uint64_t until = nm_now_ns() + ATTACH_PATIENCE_NS;
    for (uint64_t now = nm_now_ns(); ready == 0 && now < until; now = nm_now_ns())
        nm_futex_wait(&ready, 0, until - now);
    return true;
}

void nm_helper_forget(void)
{
    started = false;
    ready = 0;
    helper = 0;
    aside = false;
}
