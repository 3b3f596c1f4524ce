/* vp.c - decides which processor runs which virtual processor (Martorell et al. 2000, figure 3),
 * and tells the manager what the program can use.
 *
 * The manager decides which processors the program has. This file maps them to vps when a decision
 * is carried out. A vp whose processor is gone is stolen, and shares the processors that are left;
 * it is never stopped, because it might hold a lock that all others need. A new processor goes to
 * the vp that ran there last, else to a stolen one, else to one that is parked. Each running vp is
 * bound to its processor. park.c parks vps and hands processors over.
 */
#include "vp.h"
#include "message.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PU_MAX (NM_CPUSET_WORDS * 64)
#define LOCK_PATIENCE_NS 1000000000ull

struct nm_vp_table nm_vp_table;
#define table nm_vp_table

/* All of these are used under the lock. */
static uint16_t ran_last[PU_MAX];         /* 1 + the vp, 0 = none */
static uint64_t thefts;
static struct numaestro_page *mirrored;   /* the page that shows the table */
static struct nm_target pending;          /* the page's decision while it is not in force */
static uint32_t pending_epoch = NM_UNATTACHED;

static _Atomic uint32_t lock_word; /* 0 free, 1 taken, 2 taken and another thread waits */

void nm_vp_lock(void)
{
    uint32_t none = 0;
    if (atomic_compare_exchange_strong(&lock_word, &none, 1))
        return;
    while (atomic_exchange(&lock_word, 2) != 0)
        nm_futex_wait(&lock_word, 2, LOCK_PATIENCE_NS);
}

void nm_vp_unlock(void)
{
    if (atomic_exchange(&lock_word, 0) == 2)
        nm_futex_wake(&lock_word);
}

/* -- One vp ------------------------------------------------------------------------------------ */

static void show(const struct nm_vp *vp)
{
    uint64_t word = 0;
    if (vp->state != NM_VP_UNUSED) {
        uint64_t pu = vp->pu < 0 ? NM_VP_NO_PU : (uint64_t)vp->pu;
        word = (uint64_t)vp->state << 48 | pu << 32 | (uint32_t)vp->tid;
    }
    if (mirrored)
        atomic_store_explicit(&mirrored->vp[vp - table.vps], word, memory_order_relaxed);
}

static void show_all(struct numaestro_page *page)
{
    if (page == mirrored || !nm_client.attached)
        return;
    mirrored = page;
    for (uint32_t i = 0; i < table.end; i++)
        show(&table.vps[i]);
    table.news |= table.wanted > 0;
}

void nm_vp_set(struct nm_vp *vp, enum nm_vp_state state, int pu)
{
    table.running += (uint32_t)((state == NM_VP_RUNNING) - (vp->state == NM_VP_RUNNING));
    table.stolen += (uint32_t)((state == NM_VP_STOLEN) - (vp->state == NM_VP_STOLEN));
    table.count += (uint32_t)((state != NM_VP_UNUSED) - (vp->state != NM_VP_UNUSED));
    /* An idle processor comes or goes. */
    bool idled = vp->state == NM_VP_UNALLOCATED && vp->pu >= 0, idles = state == NM_VP_UNALLOCATED && pu >= 0;
    if (idled != idles || (idles && pu != vp->pu))
        table.news = true;
    if (state != NM_VP_CLAIMED)
        vp->claimer = -1;
    vp->state = (uint8_t)state;
    vp->pu = (int16_t)pu;
    show(vp);
}

static struct nm_vp *holder_of(int pu)
{
    for (uint32_t i = 0; i < table.end; i++)
        if (table.vps[i].state != NM_VP_UNUSED && table.vps[i].pu == pu)
            return &table.vps[i];
    return NULL;
}

static void unpark(struct nm_vp *vp)
{
    if (vp->go == 0) {
        vp->go = 1;
        nm_futex_wake(&vp->go);
    }
}

static void put_on_all(const struct nm_vp *vp)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < NM_CPUSET_WORDS; i++)
        any |= table.held.words[i];
    if (any)
        nm_put_thread(vp->tid, &table.held);
}

void nm_vp_grant(struct nm_vp *vp, int pu)
{
    struct nm_vp *idle = holder_of(pu);
    if (idle && idle != vp)
        nm_vp_set(idle, idle->state, -1);
    nm_vp_set(vp, NM_VP_RUNNING, pu);
    ran_last[pu] = (uint16_t)(vp - table.vps + 1);
    struct nm_cpuset one = {{0}};
    one.words[pu / 64] = 1ull << (pu % 64);
    nm_put_thread(vp->tid, &one);
    unpark(vp);
}

void nm_vp_steal(struct nm_vp *vp)
{
    vp->since = ++thefts;
    nm_vp_set(vp, NM_VP_STOLEN, -1);
    put_on_all(vp);
    unpark(vp);
}

/* -- Choosing a vp ----------------------------------------------------------------------------- */

struct nm_vp *nm_vp_stolen_longest(void)
{
    struct nm_vp *found = NULL;
    for (uint32_t i = 0; i < table.end; i++) {
        struct nm_vp *vp = &table.vps[i];
        if (vp->state == NM_VP_STOLEN && (!found || vp->since < found->since))
            found = vp;
    }
    return found;
}

uint32_t nm_vp_active(void)
{
    uint32_t active = 0;
    for (uint32_t i = 0; i < table.end; i++)
        active += table.vps[i].state >= NM_VP_RUNNING;
    return active;
}

/* Whether a vp can be given a processor. A parked one with a larger number than the program has
 * asked for is not woken. */
static bool takes(const struct nm_vp *vp, bool parked_too)
{
    uint32_t number = (uint32_t)(vp - table.vps);
    bool asked_for = table.requested == 0 || number < table.requested;
    return vp->state == NM_VP_STOLEN || vp->state == NM_VP_CLAIMED ||
           (vp->state == NM_VP_UNALLOCATED && parked_too && asked_for);
}

static struct nm_vp *first_in(enum nm_vp_state state, bool parked_too)
{
    for (uint32_t i = 0; i < table.end; i++)
        if (table.vps[i].state == state && takes(&table.vps[i], parked_too))
            return &table.vps[i];
    return NULL;
}

bool nm_vp_allocate(int pu, bool parked_too)
{
    struct nm_vp *vp = ran_last[pu] ? &table.vps[ran_last[pu] - 1] : NULL;
    if (!vp || !takes(vp, parked_too))
        vp = nm_vp_stolen_longest();
    if (!vp)
        vp = first_in(NM_VP_CLAIMED, parked_too);
    if (!vp)
        vp = first_in(NM_VP_UNALLOCATED, parked_too);
    if (!vp)
        return false;
    nm_vp_grant(vp, pu);
    return true;
}

/* The PU on which the caller is if it is free, else one that no vp has, else one that is idle. */
int nm_vp_free_processor(void)
{
    int here = sched_getcpu(), idle = -1;
    if (here >= 0 && here < (int)PU_MAX && nm_vp_has(&table.held, here) && !holder_of(here))
        return here;
    for (int pu = 0; pu < (int)PU_MAX; pu++) {
        if (!nm_vp_has(&table.held, pu))
            continue;
        const struct nm_vp *holder = holder_of(pu);
        if (!holder)
            return pu;
        if (holder->state == NM_VP_UNALLOCATED && idle < 0)
            idle = pu;
    }
    return idle;
}

/* -- Decisions --------------------------------------------------------------------------------- */

/* Whether there is a decision that is not carried out yet; `pending` is then that decision. */
static bool something_pending(void)
{
    struct numaestro_page *page = nm_client.page;
    uint32_t epoch = page->manager.epoch;
    if (!nm_client.attached || epoch == nm_client.epoch)
        return false;
    if (epoch != pending_epoch) {
        pending_epoch = NM_UNATTACHED;
        if (nm_read_target(page, &pending))
            pending_epoch = pending.epoch;
    }
    return pending_epoch == epoch && !(pending.flags & NM_FLAG_RELEASED);
}

struct nm_vp *nm_vp_leaving(uint32_t *asked)
{
    struct nm_vp *found = NULL;
    *asked = 0;
    if (!something_pending())
        return NULL;
    for (uint32_t i = 0; i < table.end; i++) {
        struct nm_vp *vp = &table.vps[i];
        if (vp->state == NM_VP_RUNNING && vp->pu >= 0 && !nm_vp_has(&pending.cpuset, vp->pu)) {
            found = vp;
            ++*asked;
        }
    }
    if (table.count == 0)
        for (unsigned i = 0; i < NM_CPUSET_WORDS; i++)
            *asked += (uint32_t)__builtin_popcountll(table.held.words[i] & ~pending.cpuset.words[i]);
    return found;
}

bool nm_vp_is_asked(int pu)
{
    return !nm_vp_has(&pending.cpuset, pu);
}

uint32_t nm_vp_asked_back(void)
{
    nm_vp_lock();
    uint32_t asked;
    nm_vp_leaving(&asked);
    nm_vp_unlock();
    return asked;
}

/* No manager decides for this program any more: all parked vps go on. */
static void set_free(void)
{
    table.alone = true;
    for (uint32_t i = 0; i < table.end; i++) {
        struct nm_vp *vp = &table.vps[i];
        if (vp->state == NM_VP_UNUSED || (vp->state == NM_VP_RUNNING && vp->pu >= 0 && nm_vp_has(&table.held, vp->pu)))
            continue;
        nm_vp_set(vp, NM_VP_RUNNING, -1);
        put_on_all(vp);
        unpark(vp);
    }
    table.wanted = 0;
}

void nm_vp_abandon(void)
{
    nm_vp_lock();
    /* Only once: afterwards the program decides where a free thread runs. */
    if (!table.alone)
        set_free();
    nm_vp_unlock();
}

static void lose(const struct nm_cpuset *set)
{
    for (uint32_t i = 0; i < table.end; i++) {
        struct nm_vp *vp = &table.vps[i];
        if (vp->state == NM_VP_RUNNING && !nm_vp_has(set, vp->pu)) {
            vp->since = ++thefts;
            nm_vp_set(vp, NM_VP_STOLEN, -1); /* the thread that carries the decision out moves the vp's thread */
        } else if (vp->state == NM_VP_UNALLOCATED && vp->pu >= 0 && !nm_vp_has(set, vp->pu)) {
            nm_vp_set(vp, NM_VP_UNALLOCATED, -1);
        }
    }
}

static void gain(const struct nm_cpuset *set)
{
    for (int pu = 0; pu < (int)PU_MAX; pu++) {
        if (!nm_vp_has(set, pu))
            continue;
        const struct nm_vp *holder = holder_of(pu);
        /* A vp that is parked and has an idle processor has found nothing to run; a new processor
         * may mean that there is work. */
        if (!holder || holder->state == NM_VP_UNALLOCATED)
            nm_vp_allocate(pu, !holder);
    }
}

void nm_vp_adopt(const struct nm_cpuset *set, uint32_t flags)
{
    nm_vp_lock();
    table.held = *set;
    show_all(nm_client.page);
    if (flags & NM_FLAG_RELEASED) {
        for (uint32_t i = 0; i < table.end; i++)
            if (table.vps[i].state == NM_VP_RUNNING)
                nm_vp_set(&table.vps[i], NM_VP_RUNNING, -1);
        set_free();
    } else if (table.count > 0) {
        table.alone = false;
        lose(set);
        gain(set);
        uint32_t active = nm_vp_active();
        if (table.wanted > 0 && table.wanted < active) {
            table.wanted = active;
            table.news = true;
        }
    } else {
        table.alone = false;
    }
    nm_vp_unlock();
}

bool nm_vp_bound(pid_t tid)
{
    if (table.count == 0)
        return false;
    if (tid == 0)
        tid = (pid_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < table.end; i++)
        if (table.vps[i].tid == tid)
            return table.vps[i].state == NM_VP_RUNNING && table.vps[i].pu >= 0;
    return false;
}

/* -- With the helper --------------------------------------------------------------------------- */

/* The helper's wake-up may come a moment too early; a caller that waits for it calls this again. */
void nm_vp_tell_helper(void)
{
    table.changes++;
    nm_futex_wake(&table.changes);
    nm_futex_wake(&nm_client.page->manager.epoch);
}

void nm_vp_say(void)
{
    if (!table.news || !atomic_exchange(&table.news, false) || table.count == 0)
        return;
    nm_vp_lock();
    uint32_t wanted = table.wanted;
    nm_vp_unlock();
    nm_notice(NM_DEMAND, wanted, 0);
}

void nm_vp_wait_released(uint64_t until)
{
    for (;;) {
        uint32_t seen = table.changes;
        uint64_t now = nm_now_ns();
        if (table.count == 0 || now >= until || nm_vp_asked_back() == 0)
            return;
        nm_vp_say();
        nm_futex_wait(&table.changes, seen, until - now);
    }
}

/* Only the thread that forked is left, and it is no vp. */
void nm_vp_forget(void)
{
    bool some = table.count > 0;
    struct nm_cpuset held = table.held;
    memset(&table, 0, sizeof table);
    memset(ran_last, 0, sizeof ran_last);
    mirrored = NULL;
    pending_epoch = NM_UNATTACHED;
    lock_word = 0;
    if (some)
        nm_put_thread(0, &held);
}
