/* api.c - the functions of numaestro.h. They use the same client as the shim.
 */
#include "../include/numaestro.h"
#include "client.h"
#include "message.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define ASK_FOR_LENT_NS 1000000000ull
#define PUBLIC __attribute__((visibility("default")))

PUBLIC uint32_t numaestro_api_version(void)
{
    return NUMAESTRO_API_VERSION;
}

PUBLIC int numaestro_attach(void)
{
    if (NM_UNLIKELY(!nm_client.api))
        nm_client.api = true;
    if (!nm_client.attached && !nm_client.tried && (nm_helper_attach() || nm_attach(false)))
        nm_adopt(true);
    return nm_client.attached ? NUMAESTRO_OK : NUMAESTRO_E_UNMANAGED;
}

static int own_affinity(void)
{
    int saved = errno;
    cpu_set_t sets[NM_CPUSET_WORDS * 64 / CPU_SETSIZE];
    int count = sched_getaffinity(0, sizeof sets, sets) == 0 ? CPU_COUNT_S(sizeof sets, sets) : 1;
    errno = saved;
    return count > 0 ? count : 1;
}

PUBLIC int numaestro_processors(void)
{
    if (NM_UNLIKELY(numaestro_attach() != NUMAESTRO_OK))
        return own_affinity();
    struct numaestro_page *page = nm_client.page;
    if (NM_UNLIKELY(atomic_load_explicit(&page->manager.epoch, memory_order_relaxed) != nm_client.epoch))
        nm_adopt(true);
    uint32_t count = nm_client.count;
    return count == UINT32_MAX ? own_affinity() : (int)count;
}

PUBLIC int numaestro_current(void)
{
    uint32_t running;
    if (nm_vp_registered(&running))
        return (int)running;
    if (NM_UNLIKELY(numaestro_attach() != NUMAESTRO_OK) || nm_client.count == UINT32_MAX)
        return own_affinity();
    return (int)nm_client.count;
}

PUBLIC int numaestro_owned(void)
{
    if (NM_UNLIKELY(numaestro_attach() != NUMAESTRO_OK) || nm_client.count == UINT32_MAX)
        return own_affinity();
    uint32_t count = nm_client.count, owned = nm_client.owned;
    return (int)(owned == UINT32_MAX || owned < count ? count : owned);
}

PUBLIC int numaestro_changed(void)
{
    struct numaestro_page *page = nm_client.page;
    return nm_client.attached && atomic_load_explicit(&page->manager.epoch, memory_order_relaxed) != nm_client.epoch;
}

/* A waiter counts itself before it reads the number of changes: so either it reads the new number,
 * or the thread that changes it sees the waiter. */
void nm_change_happens(void)
{
    nm_client.changes++;
    if (nm_client.waiters > 0)
        nm_futex_wake(&nm_client.changes);
}

PUBLIC uint32_t numaestro_wait_change(uint32_t seen, unsigned milliseconds)
{
    int saved = errno;
    numaestro_attach();
    uint64_t until = nm_now_ns() + milliseconds * 1000000ull;
    nm_client.waiters++;
    uint32_t changes;
    for (uint64_t now = nm_now_ns(); (changes = nm_client.changes) == seen && now < until; now = nm_now_ns()) {
        uint64_t left = until - now;
        long woken = nm_futex_wait(&nm_client.changes, seen, left < ASK_FOR_LENT_NS ? left : ASK_FOR_LENT_NS);
        /* Perhaps nobody needs them any more. A library that was told 1 opens no region that would
         * bring them back. */
        if (woken != 0 && errno == ETIMEDOUT && (nm_client.flags & NM_FLAG_LENT))
            nm_back_from_sequential();
    }
    nm_client.waiters--;
    errno = saved;
    return changes;
}

PUBLIC int numaestro_request(int processors)
{
    if (processors < 0 || processors > 65536)
        return NUMAESTRO_E_INVALID;
    if (numaestro_attach() != NUMAESTRO_OK)
        return NUMAESTRO_E_UNMANAGED;
    int saved = errno;
    nm_vp_request((uint32_t)processors);
    nm_client.page->request.requested = (uint32_t)processors;
    nm_notice(NM_REQUEST, (uint32_t)processors, 0);
    nm_change_happens();
    errno = saved;
    return NUMAESTRO_OK;
}

PUBLIC int numaestro_report_speedup(int processors, unsigned speedup_milli)
{
    if (processors < 1 || processors > 65536 || speedup_milli == 0)
        return NUMAESTRO_E_INVALID;
    if (numaestro_attach() != NUMAESTRO_OK)
        return NUMAESTRO_E_UNMANAGED;
    struct numaestro_page *page = nm_client.page;
    page->request.speedup_processors = (uint32_t)processors;
    page->request.speedup_milli = speedup_milli;
    nm_notice(NM_SPEEDUP, (uint32_t)processors, speedup_milli);
    return NUMAESTRO_OK;
}

/* The child of a fork has no helper thread and must not write into its parent's page. */
static void in_child(void)
{
    int saved = errno;
    nm_forget();
    nm_helper_forget();
    nm_vp_in_child();
    nm_adopt_unlock();
    errno = saved;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}
