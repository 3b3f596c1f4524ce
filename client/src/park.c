/* park.c - the calls of a program's virtual processors: register, release, claim, hand over, and
 * wait.
 *
 * A parked vp sleeps on a word of its own until vp.c grants it a processor. No vp is parked unless
 * some thread will wake it: the helper thread does so at the manager's next decision, or when the
 * manager is gone. The last vp to park might be the only one that could ask for processors, so it
 * wakes up by itself.
 */
#include "../include/numaestro.h"
#include "message.h"
#include "vp.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define table nm_vp_table
#define FIRST_LOOK_NS 1000000ull      /* the first look whether the helper has heard */
#define LOOK_NS 2000000000ull
#define LAST_PARKS_NS 100000000ull    /* the last vp parks for a quantum of the NANOS manager */

_Static_assert(NUMAESTRO_VPS == NM_VPS && NUMAESTRO_VP_UNUSED == (int)NM_VP_UNUSED &&
                   NUMAESTRO_VP_UNALLOCATED == (int)NM_VP_UNALLOCATED && NUMAESTRO_VP_RUNNING == (int)NM_VP_RUNNING &&
                   NUMAESTRO_VP_STOLEN == (int)NM_VP_STOLEN && NUMAESTRO_VP_CLAIMED == (int)NM_VP_CLAIMED,
               "states");

/* 1 + the vp that this thread is, 0 = none. */
static __thread int self __attribute__((tls_model("initial-exec")));
static pthread_key_t ends_key;
static pthread_once_t ends_once = PTHREAD_ONCE_INIT;

static struct nm_vp *me(void)
{
    return self ? &table.vps[self - 1] : NULL;
}

static bool unmanaged(void)
{
    return !nm_client.attached || table.alone || !nm_helper_runs();
}

static uint32_t at_least_one(uint32_t n)
{
    return n ? n : 1;
}

static void drop_claim(struct nm_vp *vp)
{
    if (vp->claims >= 0) {
        struct nm_vp *work = &table.vps[vp->claims];
        if (work->state == NM_VP_CLAIMED && work->claimer == vp - table.vps)
            nm_vp_set(work, NM_VP_STOLEN, -1);
    }
    vp->claims = -1;
}

/* A parked vp goes on without a grant. */
static void resume(struct nm_vp *vp)
{
    if (nm_vp_has(&table.held, vp->pu))
        nm_vp_grant(vp, vp->pu);
    else
        nm_vp_steal(vp);
}

static int park(struct nm_vp *vp, bool last)
{
    uint64_t until = nm_now_ns() + LAST_PARKS_NS, wait = FIRST_LOOK_NS;
    while (vp->go == 0) {
        nm_futex_wait(&vp->go, 0, wait);
        /* A thread that cancels this one and joins it must not wait until a processor comes. */
        pthread_testcancel();
        if (vp->go == 0 && table.news)
            nm_vp_tell_helper();
        if (last && nm_now_ns() >= until) {
            nm_vp_lock();
            if (vp->state == NM_VP_UNALLOCATED)
                resume(vp);
            nm_vp_unlock();
        }
        wait = last ? LAST_PARKS_NS : LOOK_NS;
    }
    return table.alone ? NUMAESTRO_E_UNMANAGED : NUMAESTRO_OK;
}

/* The vp's thread gives its number up. */
static void retire(struct nm_vp *vp)
{
    int pu = vp->pu;
    drop_claim(vp);
    nm_vp_set(vp, NM_VP_UNUSED, -1);
    vp->tid = 0;
    if (pu >= 0 && nm_vp_has(&table.held, pu))
        nm_vp_allocate(pu, false);
    for (uint32_t i = 0; nm_vp_active() == 0 && i < table.end; i++)
        if (table.vps[i].state == NM_VP_UNALLOCATED)
            resume(&table.vps[i]);
}

static void thread_ends(void *number)
{
    (void)number;
    if (!self)
        return;
    nm_vp_lock();
    retire(me());
    self = 0;
    nm_vp_unlock();
}

static void make_ends_key(void)
{
    pthread_key_create(&ends_key, thread_ends);
}

static void enrol(struct nm_vp *vp)
{
    uint32_t number = (uint32_t)(vp - table.vps);
    self = (int)number + 1;
    table.end = number >= table.end ? number + 1 : table.end;
    vp->tid = (pid_t)syscall(SYS_gettid);
    vp->claims = vp->claimer = -1;
    vp->go = 1;
    if (unmanaged()) {
        nm_vp_set(vp, NM_VP_RUNNING, -1);
        return;
    }
    int pu = nm_vp_free_processor();
    if (pu >= 0)
        nm_vp_grant(vp, pu);
    else
        nm_vp_steal(vp);
    if (table.wanted > 0 && table.wanted < nm_vp_active()) {
        table.wanted = nm_vp_active();
        table.news = true;
    }
}

PUBLIC int numaestro_vp_register(int number)
{
    if (number < NUMAESTRO_VP_NONE || number >= NUMAESTRO_VPS)
        return NUMAESTRO_E_INVALID;
    int saved = errno, code = NUMAESTRO_OK;
    numaestro_attach();
    pthread_once(&ends_once, make_ends_key);
    nm_vp_lock();
    if (number >= 0 && number + 1 != self && table.vps[number].state != NM_VP_UNUSED) {
        nm_vp_unlock();
        errno = saved;
        return NUMAESTRO_E_INVALID;
    }
    if (self && number + 1 != self) {
        retire(me());
        self = 0;
        if (number < 0 && !unmanaged())
            nm_put_thread(0, &table.held);
    }
    if (number >= 0 && !self)
        enrol(&table.vps[number]);
    if (number >= 0 && unmanaged())
        code = NUMAESTRO_E_UNMANAGED;
    bool news = table.news;
    nm_vp_unlock();
    pthread_setspecific(ends_key, self ? &table : NULL);
    if (news)
        nm_vp_tell_helper();
    errno = saved;
    return code;
}

/* The manager asks for a processor, and the caller gives one back: its own if the manager asks for
 * that one; otherwise it gives its own to a vp whose processor the manager asks for. So no vp is
 * stolen that need not be. */
static int give_back(int pu, struct nm_vp *leaving)
{
    if (pu < 0 || nm_vp_is_asked(pu))
        return pu;
    int left = leaving->pu;
    nm_vp_grant(leaving, pu);
    return left;
}

PUBLIC int numaestro_vp_release(int number)
{
    if (number < 0 || number + 1 != self)
        return NUMAESTRO_E_INVALID;
    int saved = errno;
    nm_vp_lock();
    struct nm_vp *vp = me();
    if (unmanaged()) {
        nm_vp_unlock();
        errno = saved;
        return NUMAESTRO_E_UNMANAGED;
    }
    drop_claim(vp);
    vp->go = 0;
    uint32_t asked;
    bool was_running = vp->state == NM_VP_RUNNING;
    struct nm_vp *leaving = nm_vp_leaving(&asked);
    int pu = vp->pu;
    nm_vp_set(vp, NM_VP_UNALLOCATED, -1);
    if (asked > 0)
        pu = give_back(pu, leaving);
    else if (pu >= 0 && nm_vp_allocate(pu, false))
        pu = -1;
    nm_vp_set(vp, NM_VP_UNALLOCATED, pu);
    uint32_t active = nm_vp_active();
    /* A vp that leaves because it was asked to, or had lost its processor, does not mean that the
     * program needs fewer. */
    if (asked == 0 && was_running) {
        table.news |= table.wanted != at_least_one(active);
        table.wanted = at_least_one(active);
    }
    nm_vp_unlock();
    nm_vp_tell_helper();
    int code = park(vp, active == 0);
    errno = saved;
    return code;
}

PUBLIC int numaestro_vp_preempted(void)
{
    return (int)atomic_load_explicit(&table.stolen, memory_order_relaxed);
}

PUBLIC int numaestro_vp_claim(void)
{
    if (!self)
        return NUMAESTRO_E_INVALID;
    int saved = errno, number = NUMAESTRO_NO_WORK;
    nm_vp_lock();
    struct nm_vp *vp = me();
    drop_claim(vp);
    /* A vp that has lost its own processor has none to give. */
    struct nm_vp *work = vp->state == NM_VP_RUNNING && vp->pu >= 0 ? nm_vp_stolen_longest() : NULL;
    if (work) {
        number = (int)(work - table.vps);
        nm_vp_set(work, NM_VP_CLAIMED, -1);
        work->claimer = (int16_t)(vp - table.vps);
        vp->claims = (int16_t)number;
    }
    nm_vp_unlock();
    errno = saved;
    return number;
}

PUBLIC int numaestro_vp_handoff(int number)
{
    struct nm_vp *vp = me();
    if (!vp || number < 0 || number >= NUMAESTRO_VPS)
        return NUMAESTRO_E_INVALID;
    int saved = errno;
    nm_vp_lock();
    struct nm_vp *work = &table.vps[number];
    bool claimed = vp->claims == number;
    bool waits = claimed && work->state == NM_VP_CLAIMED && work->claimer == vp - table.vps;
    int pu = vp->pu;
    if (!waits || vp->state != NM_VP_RUNNING || pu < 0) {
        if (claimed)
            drop_claim(vp);
        nm_vp_unlock();
        errno = saved;
        return claimed ? NUMAESTRO_NO_WORK : NUMAESTRO_E_INVALID;
    }
    vp->claims = -1;
    vp->go = 0;
    nm_vp_set(vp, NM_VP_UNALLOCATED, -1);
    nm_vp_grant(work, pu);
    uint32_t active = at_least_one(nm_vp_active());
    table.news |= table.wanted != active;
    table.wanted = active;
    /* Without a helper thread no thread carries decisions out for a parked vp. */
    bool stays = unmanaged();
    if (stays)
        nm_vp_steal(vp);
    nm_vp_unlock();
    nm_vp_tell_helper();
    int code = stays ? NUMAESTRO_E_UNMANAGED : park(vp, false);
    errno = saved;
    return code;
}

PUBLIC int numaestro_vp_info(int number, struct numaestro_vp *out)
{
    if (number < 0 || number >= NUMAESTRO_VPS || !out)
        return NUMAESTRO_E_INVALID;
    int saved = errno;
    nm_vp_lock();
    const struct nm_vp *vp = &table.vps[number];
    bool used = vp->state != NM_VP_UNUSED;
    *out = (struct numaestro_vp){vp->state, used ? vp->pu : -1, used ? vp->tid : 0};
    nm_vp_unlock();
    errno = saved;
    return NUMAESTRO_OK;
}

/* A vp without a processor that asks has come to a safe point: the program has one processor too
 * few for it. */
PUBLIC int numaestro_asked_back(void)
{
    struct numaestro_page *page = nm_client.page;
    uint32_t asked = 0;
    if (NM_UNLIKELY(atomic_load_explicit(&page->manager.epoch, memory_order_relaxed) != nm_client.epoch && nm_client.attached)) {
        int saved = errno;
        asked = nm_vp_asked_back();
        errno = saved;
    }
    const struct nm_vp *vp = me();
    bool lost = vp && vp->state >= NM_VP_STOLEN;
    return (int)(lost ? at_least_one(asked) : asked);
}

void nm_vp_request(uint32_t processors)
{
    nm_vp_lock();
    table.requested = processors;
    if (table.count > 0) {
        table.news |= table.wanted != processors;
        table.wanted = processors;
        for (uint32_t i = 0; i < table.end && (processors == 0 || table.running < processors); i++)
            if (table.vps[i].state == NM_VP_UNALLOCATED && nm_vp_has(&table.held, table.vps[i].pu))
                nm_vp_grant(&table.vps[i], table.vps[i].pu);
    }
    bool news = table.news;
    nm_vp_unlock();
    if (news)
        nm_vp_tell_helper();
}

bool nm_vp_registered(uint32_t *running)
{
    *running = table.running;
    return table.count > 0;
}

bool nm_vp_any_stolen(void)
{
    for (uint32_t i = 0; i < table.end; i++)
        if (table.vps[i].state >= NM_VP_STOLEN)
            return true;
    return false;
}

void nm_vp_in_child(void)
{
    self = 0;
    nm_vp_forget();
}
