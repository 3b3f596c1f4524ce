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
 * The root context, number 0, runs on its own carrier, except in regions that have been given back:
 * outside regions the program must be on its own kernel thread. That thread takes signals, and
 * hands them to the root if it runs another context (nm_fold_takes); the others take none. A
 * context that is *at home* is run by its own carrier only, and takes its signals.
 *
 * There is one team in a process. team.c and opening.c own its state (team.h) and know no runtime.
 * The adapters (shim/gomp_*.c, shim/kmp_*.c) carry each construct out, and watch.c decides when a
 * team is given back.
 */
#ifndef NUMAESTRO_FOLD_H
#define NUMAESTRO_FOLD_H

#include "page.h"
#include "switch.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <ucontext.h>

#define NM_FOLD_MEMBERS 1024u /* largest team */

struct nm_carrier;

/* The part of a thread of the team that each construct needs. The context itself owns it, except
 * `runner` and `turn`. */
struct nm_context {
    void *sp;                 /* the stack pointer where it goes on, while nobody runs it */
    uintptr_t tls;
    _Atomic uint32_t runner;  /* the carrier that runs it, plus 1; 0 = no carrier, and `sp` is complete */
    _Atomic uint32_t turn;    /* it may go on when the team's generation has come to this */
    struct nm_carrier *_Atomic carrier; /* the carrier that runs it or ran it last */
    uint32_t number;
    _Atomic bool home;        /* only its own carrier may run it */
    _Atomic bool comes;       /* it waits for its own carrier, and may give up */
    _Atomic bool inside;      /* it is in the scheduler, and must come out by itself */
} __attribute__((aligned(128)));

/* A kernel thread that runs the team's contexts. That thread writes it, except `call`. */
struct nm_carrier {
    void *sp;                   /* of the parking stack */
    uintptr_t tls;
    uint32_t number;
    uint32_t last;              /* the context that it ran last */
    uint32_t evicted;           /* context (plus 1) just left because only its own carrier may run it */
    uint32_t left;              /* context (plus 1) just left for another one although it is ready, or may become so */
    _Atomic uint32_t call;      /* futex of a parked carrier: 1 = look again */
    _Atomic int32_t tid;
    _Atomic uint64_t switches;
    char *stack;
    uint64_t signals;           /* the signal mask to return to */
    bool blocks;                /* `signals` is not in force */
} __attribute__((aligned(128)));

/* The thread's own context while it belongs to the team, else NULL. Follows the thread pointer. */
extern __thread struct nm_context *nm_context_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Opens a team of `members` threads: `enter(argument)` makes the runtime start a region of that
 * size in which each thread calls nm_fold_member with its number. Returns when all have called it,
 * with the root thread back on its own stack; for the program it is outside of the region. False:
 * there is no memory, and nothing has happened. Root thread only. */
bool nm_fold_open(uint32_t members, uint32_t limit, void (*enter)(void *), void *argument);
/* Each thread of the runtime's region calls this. Returns when the team is dissolved. */
void nm_fold_member(uint32_t number);
/* Runs `work(argument, context)` in every context, and returns when all are done. True: the meeting
 * at the end may be recalled; then every context calls `recalled(argument)` before it comes again.
 * Root thread only. */
void nm_fold_run(bool (*work)(void *, struct nm_context *), void (*recalled)(void *), void *argument);
/* Ends the runtime's region: every thread returns from nm_fold_member on its own kernel thread.
 * Root thread only. */
void nm_fold_dissolve(void);

/* The same for a region that is already running: the root prepares, each thread joins when all have
 * agreed to it, and leaves before it returns to the runtime. */
bool nm_fold_prepare(uint32_t members, uint32_t limit);
struct nm_context *nm_fold_join(uint32_t number);
void nm_fold_leave(struct nm_context *me);

/* Returns when every context of the team has come: true. False: the meeting was recalled. */
bool nm_fold_barrier(struct nm_context *me);
/* Recalls the meeting that the contexts come to next: those that have come return from
 * nm_fold_barrier, and so do those that come later. Called by a context that has not come, and that
 * will not; once for a meeting. */
void nm_fold_recall(void);
/* Lets other contexts run first. False: none could. */
bool nm_fold_yield(struct nm_context *me);
/* The context goes on on its own kernel thread, and stays there. */
void nm_fold_go_home(struct nm_context *me);
/* The same, until somebody calls nm_fold_give_up_home. False: it goes on elsewhere. */
bool nm_fold_try_home(struct nm_context *me);
/* Whether the context waits in nm_fold_try_home. From any thread. */
bool nm_fold_comes_home(uint32_t number);
void nm_fold_give_up_home(uint32_t number);
/* The signal mask that the context has at home; NULL: it is there. */
uint64_t *nm_fold_own_mask(struct nm_context *me);
/* Sends another context home, at its next barrier or where it waits now. From any thread of the
 * team. */
void nm_fold_send_home(uint32_t number);
/* Sends all other contexts home and waits until they are there. False: that took longer than
 * `patience_ns`. */
bool nm_fold_send_all_home(struct nm_context *me, uint64_t patience_ns);
/* Sends a signal to another context alone: its own kernel thread handles the signal, while it runs
 * that context. Returns 0 or an error number. From any thread. */
int nm_fold_signal(uint32_t member, int number);
/* A handler of `signal` asks, on the kernel thread that the signal has come to, and with all
 * signals blocked that can be. True: the signal was for the root, who handles it, and the caller
 * returns to what was `interrupted`. False: it is to be handled here. */
bool nm_fold_takes(int signal, siginfo_t *info, ucontext_t *interrupted);
/* The signals that the root blocks now and another thread of the team does not: the program means
 * that one to handle them. On the root's kernel thread. */
uint64_t nm_fold_left_to_others(void);
/* Keeps a context of the team that comes between others from being taken off its carrier by a
 * signal. False: it need not be let go. */
bool nm_fold_hold(void);
void nm_fold_let_go(void);
/* Any carrier may run the context again, unless it has been sent a signal meanwhile. First goes
 * home for what it was sent before. */
void nm_fold_leave_home(struct nm_context *me);

/* Sets the number of carriers that work. From any thread. */
void nm_fold_limit(uint32_t limit);
uint32_t nm_fold_limited(void);
/* Says whether other carriers may run the root too: when its own is stuck with another context,
 * only they can help. */
void nm_fold_roam(bool on);
/* The number of the context with this thread pointer; false if it is no member. */
bool nm_fold_number_of(uintptr_t tls, uint32_t *number);

bool nm_fold_is_open(void);        /* a held-open team or one that has joined in the middle of a region */
uint32_t nm_fold_members(void);
bool nm_fold_someone_waits(void);  /* a context that could run is not running */
uint64_t nm_fold_switches(void);   /* switches of all carriers since the process began */
uint32_t nm_fold_generation(void);
struct nm_carrier *nm_fold_carrier(uint32_t number);
extern _Atomic uint64_t nm_fold_patience_ns __attribute__((visibility("hidden"))); /* spinning before a carrier sleeps, ns */
/* The last context that comes to a meeting calls this before any goes on. */
extern void (*nm_fold_at_meeting)(void) __attribute__((visibility("hidden")));
void nm_fold_forget(void);         /* in the child after a fork */

#endif
