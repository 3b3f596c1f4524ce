/* vp.h - the table of virtual processors, which vp.c (maps processors to vps) and park.c (carries
 * out a program's calls) share.
 *
 * Everything here is under one lock of the process, which is held for microseconds and never while
 * a thread waits. It is taken inside the adoption lock, never the other way round.
 */
#ifndef NUMAESTRO_VP_H
#define NUMAESTRO_VP_H

#include "client.h"

struct nm_vp {
    _Atomic pid_t tid;      /* 0 = unused */
    _Atomic uint8_t state;  /* enum nm_vp_state; written under the lock */
    int16_t pu;             /* OS index, -1 = none */
    int16_t claims;         /* the vp that this one has claimed, -1 = none */
    int16_t claimer;        /* the vp that has claimed this one, -1 = none */
    uint64_t since;         /* number of the theft: the smallest has been stolen for longest */
    _Atomic uint32_t go;    /* futex: 0 while parked */
};

struct nm_vp_table {
    struct nm_vp vps[NM_VPS];
    struct nm_cpuset held;  /* processors of the decision in force */
    uint32_t end;           /* one more than the largest number registered so far */
    uint32_t requested;     /* the latest numaestro_request, 0 = none */
    uint32_t wanted;        /* processors that the program can use now, 0 = no limit */
    _Atomic uint32_t count, running, stolen; /* registered; RUNNING; STOLEN */
    _Atomic bool alone;     /* the manager is gone or has let the program go */
    _Atomic bool news;      /* the manager is to be told `wanted`, and which processors are idle */
    _Atomic uint32_t changes; /* futex: grows with every release */
};

extern struct nm_vp_table nm_vp_table;

void nm_vp_lock(void);
void nm_vp_unlock(void);
void nm_vp_set(struct nm_vp *vp, enum nm_vp_state state, int pu);
void nm_vp_grant(struct nm_vp *vp, int pu);        /* it runs on `pu` from now on, whatever its state was */
void nm_vp_steal(struct nm_vp *vp);                /* it runs without a processor of its own */
bool nm_vp_allocate(int pu, bool parked_too);      /* false: there is no vp for this processor */
struct nm_vp *nm_vp_stolen_longest(void);
struct nm_vp *nm_vp_leaving(uint32_t *asked);      /* one that runs on a processor asked back, NULL if none */
bool nm_vp_is_asked(int pu);                       /* right after nm_vp_leaving */
int nm_vp_free_processor(void);                    /* a held one that runs no vp; -1 if none */
uint32_t nm_vp_active(void);                       /* vps that have something to run */
void nm_vp_tell_helper(void);

static inline bool nm_vp_has(const struct nm_cpuset *set, int pu)
{
    return pu >= 0 && (set->words[pu / 64] >> (pu % 64) & 1);
}

#endif
