/* helper.c - the one thread of ours in a program: it carries out decisions that the program's own threads do not get to.
 *
 * It sleeps on the page's futex. It runs with every signal blocked, so that no signal of the program is ever delivered to
 * it, and on a small stack. It also notices that the manager has died and attaches to the next one.
 */
#include "client.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_AFTER_MANAGER_NS 2000000000ull
#define ROOT_GRACE_NS 2000000ull
#define ROOT_LOOK_NS 250000ull
#define HELPER_STACK_BYTES (128 * 1024)

static atomic_bool started;

static void nap(uint64_t ns)
{
    struct timespec t = {0, (long)ns};
    nanosleep(&t, NULL);
}

/* Gives the root thread its chance: it does better than a fold. */
static void wait_for_root(struct numaestro_page *page)
{
    if (page->root.regions == 0 || (page->manager.flags & NM_FLAG_LENT))
        return;
    for (uint64_t waited = 0; waited < ROOT_GRACE_NS; waited += ROOT_LOOK_NS) {
        if (page->manager.epoch == nm_client.epoch)
            return;
        nap(ROOT_LOOK_NS);
    }
}

static void serve(void)
{
    struct numaestro_page *page = nm_client.page;
    if (page->manager.epoch != nm_client.epoch) {
        wait_for_root(page);
        nm_adopt(false);
        return;
    }
    long woken = nm_futex_wait(&page->manager.epoch, nm_client.epoch, LOOK_AFTER_MANAGER_NS);
    bool quiet = woken < 0 && errno == ETIMEDOUT;
    bool released = page->manager.flags & NM_FLAG_RELEASED;
    if (quiet && (released || !nm_manager_alive()))
        nm_attach(true);
}

static void *helper_main(void *arg)
{
    (void)arg;
    prctl(PR_SET_NAME, "numaestro");
    if (!nm_client.attached && !nm_attach(false))
        return NULL;
    nm_client.page->helper.helper_tid = (uint32_t)syscall(SYS_gettid);
    for (;;)
        serve();
    return NULL;
}

bool nm_helper_start(void)
{
    int saved = errno;
    if (atomic_exchange(&started, true))
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

void nm_helper_forget(void)
{
    started = false;
}
