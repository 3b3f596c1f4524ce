/* storm.c - runs the idle loop of numaestro.h in many threads, under a storm of decisions. The
 * rules of check_table must hold at any moment, and when the manager dies every thread must go on.
 * The argument is the number of seconds.
 */
#include "vps.h"

enum { STORM_VPS = 12, STORM_PUS = 6 };
static _Atomic bool over;
static _Atomic long done, handed, parked, lost;

/* The idle loop of numaestro.h, with a little work now and then. */
static void *idle_loop(void *argument)
{
    int number = (int)(intptr_t)argument, work;
    unsigned dice = (unsigned)number * 2654435761u + 1;
    expect(numaestro_vp_register(number) == NUMAESTRO_OK);
    while (!over) {
        dice = dice * 1664525u + 1013904223u;
        if (numaestro_asked_back() > 0 || dice >> 24 == 0) {
            parked++;
            numaestro_vp_release(number);
        } else if (numaestro_vp_preempted() > 0 && (work = numaestro_vp_claim()) >= 0) {
            expect(work != number);
            if (dice >> 28 == 0)
                continue; /* drops its claim */
            int code = numaestro_vp_handoff(work);
            expect(code == NUMAESTRO_OK || code == NUMAESTRO_NO_WORK || (over && code == NUMAESTRO_E_UNMANAGED));
            handed += code == NUMAESTRO_OK;
        } else {
            done++;
            /* Often too long to give a processor back in time. */
            if (dice >> 28 < 8)
                usleep(dice >> 16 & 4095);
            if (dice >> 22 == 1) { /* another thread's number for a while */
                expect(numaestro_vp_register(NUMAESTRO_VP_NONE) == NUMAESTRO_OK);
                expect(numaestro_vp_register(number) == NUMAESTRO_OK);
            }
        }
    }
    return NULL;
}

static long real_pus; /* indices from 0 to one less than this can be bound to */

/* Checks the rules that hold at any moment. */
static void check_table(void)
{
    nm_vp_lock();
    uint64_t used = 0;
    uint32_t running = 0, stolen = 0, count = 0;
    for (int i = 0; i < STORM_VPS; i++) {
        const struct nm_vp *vp = &nm_vp_table.vps[i];
        running += vp->state == NM_VP_RUNNING;
        stolen += vp->state == NM_VP_STOLEN;
        count += vp->state != NM_VP_UNUSED;
        lost += vp->state == NM_VP_STOLEN;
        if (vp->state == NM_VP_UNUSED)
            continue;
        expect(vp->state == NM_VP_UNALLOCATED || vp->go == 1);
        expect(vp->state != NM_VP_RUNNING || vp->pu >= 0);
        expect(vp->state < NM_VP_STOLEN || vp->pu == -1);
        expect((vp->state == NM_VP_CLAIMED) == (vp->claimer >= 0));
        expect(vp->state != NM_VP_CLAIMED || nm_vp_table.vps[vp->claimer].claims == i);
        if (vp->pu >= 0) {
            expect(nm_vp_has(&nm_vp_table.held, vp->pu) && !(used >> vp->pu & 1));
            used |= 1ull << vp->pu;
        }
        if (vp->state == NM_VP_RUNNING && vp->pu < real_pus) {
            struct nm_cpuset on = {{0}};
            syscall(SYS_sched_getaffinity, vp->tid, sizeof on.words, on.words);
            expect(on.words[0] == 1ull << vp->pu);
        }
        uint64_t shown = nm_client.page->vp[i];
        expect((shown >> 48) == vp->state && (uint32_t)shown == (uint32_t)vp->tid);
        expect((shown >> 32 & 0xffff) == (vp->pu < 0 ? NM_VP_NO_PU : (uint64_t)vp->pu));
    }
    expect(running == nm_vp_table.running && stolen == nm_vp_table.stolen && count == nm_vp_table.count);
    nm_vp_unlock();
}

static void storm(double seconds)
{
    pthread_t threads[STORM_VPS];
    attach((1u << STORM_PUS) - 1);
    nm_client.page->manager.grace_us = 1000;
    for (intptr_t i = 0; i < STORM_VPS; i++)
        pthread_create(&threads[i], NULL, idle_loop, (void *)i);
    unsigned dice = 1;
    long decisions = 0;
    for (uint64_t until = nm_now_ns() + (uint64_t)(seconds * 1e9); nm_now_ns() < until; decisions++) {
        dice = dice * 1664525u + 1013904223u;
        uint64_t set = dice >> 16 & ((1u << STORM_PUS) - 1);
        decide(nm_client.page, 0, set ? set : 1);
        if (dice >> 30 == 0)
            numaestro_request((int)(dice >> 8 & 15));
        for (int i = 0; i < 4; i++) {
            check_table();
            usleep(dice >> 4 & 511);
        }
    }
    /* Every thread goes on when the manager dies. */
    over = true;
    kill_manager();
    for (int i = 0; i < STORM_VPS; i++)
        pthread_join(threads[i], NULL);
    fprintf(stderr, "storm: %ld decisions, %ld pieces of work, %ld handed over, %ld parked, %ld seen stolen\n", decisions,
            (long)done, (long)handed, (long)parked, (long)lost);
    expect(done > 0 && handed > 0 && parked > 0 && lost > 0 && nm_vp_table.count == 0);
}

int main(int argc, char **argv)
{
    struct nm_cpuset own = {{0}};
    syscall(SYS_sched_getaffinity, 0, sizeof own.words, own.words);
    while (own.words[0] >> real_pus & 1)
        real_pus++;
    begin();
    storm(argc > 1 ? strtod(argv[1], NULL) : 1.0);
    printf("ok storm: no processor runs two virtual processors, and nobody stays parked\n");
    return 0;
}
