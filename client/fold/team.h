/* team.h - the state of the one team, and what team.c and opening.c both do with it. No other file
 * includes this.
 */
#ifndef NUMAESTRO_TEAM_H
#define NUMAESTRO_TEAM_H

#include "client.h"
#include "fold.h"
#include "kernel.h"
#include "root.h"

struct team {
    /* Shared by all carriers: each context that arrives writes the first, the last one also the
     * second. */
    _Atomic uint32_t arrived __attribute__((aligned(128)));
    _Atomic uint32_t generation __attribute__((aligned(128)));
    _Atomic uint32_t recalled; /* the generation that followed the latest meeting that was recalled */
    _Atomic uint32_t sleepers __attribute__((aligned(128)));
    _Atomic uint32_t bell; /* futex of carriers that work and have nothing to do */
    /* Seldom written. */
    _Atomic uint32_t limit __attribute__((aligned(128)));
    uint32_t members;
    _Atomic bool open, dissolving;
    _Atomic bool roams; /* any carrier may run the root */
    _Atomic bool signalled; /* the root is to run on its own carrier, for a signal */
    struct nm_root root;
    bool complete; /* the root's member has arrived */
    _Atomic uint32_t joined; /* futex: threads that have arrived */
    bool (*work)(void *, struct nm_context *);
    void (*run_instead)(void *); /* of a meeting that was recalled */
    void *argument;
    /* The way into the runtime and back. */
    void (*enter)(void *);
    void *enter_argument;
    void *side_sp;
    char *side;
    struct nm_context *contexts; /* NM_FOLD_MEMBERS of each, made once, because the watcher may look at any time */
    struct nm_carrier *carriers;
};

extern struct team nm_team __attribute__((visibility("hidden")));

static inline NM_ON_ANY_STACK bool reached(uint32_t generation, uint32_t turn)
{
    return (int32_t)(generation - turn) >= 0;
}

static inline NM_ON_ANY_STACK bool is_ready(const struct nm_context *context)
{
    return reached(atomic_load_explicit(&nm_team.generation, memory_order_acquire),
                   atomic_load_explicit(&context->turn, memory_order_relaxed));
}

static inline NM_ON_ANY_STACK bool works(const struct nm_carrier *carrier)
{
    return carrier->number < atomic_load_explicit(&nm_team.limit, memory_order_relaxed);
}

/* After a sequentially consistent store that has made a context ready. */
static inline NM_ON_ANY_STACK void ring_after_store(void)
{
    if (atomic_load(&nm_team.sleepers) == 0)
        return;
    atomic_fetch_add(&nm_team.bell, 1);
    nm_wake(&nm_team.bell);
}

/* After any other write that has made a context ready. The full barrier pairs with that of a
 * carrier that is about to sleep. */
static inline NM_ON_ANY_STACK void ring(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    ring_after_store();
}

/* Makes a carrier look again, whichever futex it sleeps on. Exchanged, not stored: the carrier that
 * takes the call then sees everything that each of its callers did before. */
static inline NM_ON_ANY_STACK void call(struct nm_carrier *carrier)
{
    atomic_exchange(&carrier->call, 1);
    nm_wake(&carrier->call);
    ring();
}

/* Lets all contexts go on that wait for this generation. */
static inline void open_turn(uint32_t generation)
{
    atomic_store(&nm_team.generation, generation);
    ring_after_store();
}

static inline NM_ON_ANY_STACK void block_carrier(struct nm_carrier *carrier)
{
    uint64_t before = nm_block_signals();
    if (carrier->blocks)
        return; /* a signal has come just before, see nm_fold_takes */
    carrier->signals = before;
    carrier->blocks = true;
}

/* team.c: what a carrier does on its parking stack. */
NM_PARKING void nm_team_park(void *argument) __attribute__((visibility("hidden")));
/* opening.c: */
struct nm_context *nm_team_enrol(uint32_t number) __attribute__((visibility("hidden")));
void nm_team_withdraw(struct nm_context *me) __attribute__((visibility("hidden")));
void nm_team_root_member(void) __attribute__((visibility("hidden")));

#endif
