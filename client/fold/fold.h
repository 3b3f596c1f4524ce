/* fold.h - a whole team of N threads, run by M kernel threads that switch between them in user
 * space.
 *
 * Words: a *context* is a thread of the team as the program sees it (stack, thread-local storage,
 * number). A *carrier* is a kernel thread that runs one context after the other. Every thread of
 * the team brings both, so there are N of each. Carriers below the *limit* work; the others are
 * parked on stacks of their own. The limit is M while the team is folded, and N while it has been
 * given back to the kernel: a context that is not running may be resumed by any carrier at any
 * moment.
 *
 * The root context, number 0, runs on its own carrier, but for regions that have been given back:
 * outside regions the program must be on its own kernel thread. That thread takes signals; others
 * take none, so that no handler runs beside the thread that it seems to be. A context that is *at
 * home* is run by its own carrier only, and takes its signals.
 *
 * There is one team in a process. team.c owns its state and knows no runtime; what a construct does
 * is the adapters' part (shim/gomp_*.c, shim/kmp_*.c), and when a team is given back is watch.c's.
 */
#ifndef NUMAESTRO_FOLD_H
#define NUMAESTRO_FOLD_H

#include "page.h"
#include "switch.h"

#include <stdbool.h>
#include <sys/types.h>

#define NM_FOLD_MEMBERS 1024u /* largest team */

struct nm_carrier;

/* What a thread of the team needs at each construct. Owned by the context itself, but for `runner`
 * and `turn`. */
struct nm_context {
    void *sp;                 /* where it goes on, while nobody runs it */
    uintptr_t tls;
    _Atomic uint32_t runner;  /* the carrier that runs it, plus 1; 0 = nobody, and `sp` is complete */
    _Atomic uint32_t turn;    /* it may go on when the team's generation has come to this */
    struct nm_carrier *_Atomic carrier; /* that runs it or ran it last */
    uint32_t number;
    _Atomic bool home;        /* only its own carrier may run it */
} __attribute__((aligned(128)));

/* What runs the team's contexts. Written by the kernel thread that it is, but for `call`. */
struct nm_carrier {
    void *sp;                   /* of the parking stack */
    uintptr_t tls;
    uint32_t number;
    uint32_t last;              /* context it ran last */
    uint32_t evicted;           /* context that it has just left because only its own carrier may run it, plus 1 */
    _Atomic uint32_t call;      /* futex of a parked carrier: 1 = look again */
    _Atomic int32_t tid;
    _Atomic uint64_t switches;
    char *stack;
    uint64_t signals;           /* the mask to return to */
    bool blocks;                /* `signals` is not in force */
} __attribute__((aligned(128)));

/* The thread's own context while it belongs to the team, else NULL. Follows the thread pointer. */
extern __thread struct nm_context *nm_context_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Opens a team of `members`: `enter(argument)` makes the runtime start a region of that size in
 * which each thread calls nm_fold_member with its number. Returns when all have come, with the root
 * thread back on its own stack, outside of the region as far as the program goes. False: there is
 * no memory, and nothing has happened. Root thread only. */
bool nm_fold_open(uint32_t members, uint32_t limit, void (*enter)(void *), void *argument);
/* Each thread of the runtime's region. Returns when the team is dissolved. */
void nm_fold_member(uint32_t number);
/* Runs `work(argument, context)` in every context, and returns when all are done. Root thread
 * only. */
void nm_fold_run(void (*work)(void *, struct nm_context *), void *argument);
/* Ends the runtime's region: every thread returns from nm_fold_member on its own kernel thread.
 * Root thread only. */
void nm_fold_dissolve(void);

/* The same for a region that is already running: the root prepares, each thread joins when all have
 * agreed to, and leaves before it returns to the runtime. */
bool nm_fold_prepare(uint32_t members, uint32_t limit);
struct nm_context *nm_fold_join(uint32_t number);
void nm_fold_leave(struct nm_context *me);

/* Returns when every context of the team has come. */
void nm_fold_barrier(struct nm_context *me);
/* Lets others run first, if there are any that could. False if there was nobody. */
bool nm_fold_yield(struct nm_context *me);
/* Goes on on its own kernel thread, and stays there. */
void nm_fold_go_home(struct nm_context *me);
/* The same for another one, at its next barrier or where it waits now. From any thread of the
 * team. */
void nm_fold_send_home(uint32_t number);
/* The same for all others; waits until they are. False: it took longer. */
bool nm_fold_send_all_home(struct nm_context *me, uint64_t patience_ns);
/* A signal for the root alone, which goes home: handled while its kernel thread runs it. From any
 * thread of the team. */
void nm_fold_signal_root(int number);
/* It may be run by any carrier again. */
void nm_fold_leave_home(struct nm_context *me);

/* How many carriers work. From any thread. */
void nm_fold_limit(uint32_t limit);
uint32_t nm_fold_limited(void);
/* Whether other carriers may run the root too: where its own is stuck with another context, nobody
 * else could help. */
void nm_fold_roam(bool on);
/* The number of the context with this thread pointer; false if it is no member. */
bool nm_fold_number_of(uintptr_t tls, uint32_t *number);

bool nm_fold_is_open(void);        /* a held-open team or one that has joined in the middle of a region */
uint32_t nm_fold_members(void);
bool nm_fold_someone_waits(void);  /* a context that could run is not running */
uint64_t nm_fold_switches(void);   /* of all carriers since the process began */
uint32_t nm_fold_generation(void);
struct nm_carrier *nm_fold_carrier(uint32_t number);
extern _Atomic uint64_t nm_fold_patience_ns __attribute__((visibility("hidden"))); /* spinning before a carrier sleeps */
/* Called by the last that comes to a meeting, before anybody goes on. */
extern void (*nm_fold_at_meeting)(void) __attribute__((visibility("hidden")));
void nm_fold_forget(void);         /* child after fork */

#endif
