/* numaestro.h - malleability in a few calls.
 *
 * A program that uses this header asks "how many processors can I have right now?" before it opens
 * a parallel region, and says what it could use. It needs no manager to run: without one every call
 * answers as if the program had the machine to itself.
 *
 * A thread library goes further: it tells which of its threads are virtual processors, and takes
 * part when processors are taken and given. That is the application interface of the NANOS CPU
 * Manager (Martorell et al. 2000, section 3 and figures 3 and 4), in its protected variant: every
 * movement of a processor between programs passes through the manager.
 *
 * Link with -lnumaestro. Under `numaestro run` the same functions come from the preloaded library,
 * and both share one page. Every function is thread-safe and async-signal-unsafe, leaves errno as
 * it was, and, but for the two that are there to wait (numaestro_vp_release and
 * numaestro_vp_handoff), never blocks for longer than the 200 milliseconds that numaestro_attach
 * may take when the manager is busy. Those two are also where a thread that is cancelled ends,
 * within two seconds; the others are no cancellation points.
 *
 * Errors: functions return 0 or a count on success and one of the NUMAESTRO_E codes below
 * (negative) on failure. Codes are never renumbered.
 */
#ifndef NUMAESTRO_H
#define NUMAESTRO_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- Errors
 * ---------------------------------------------------------------------------------------------- */

#define NUMAESTRO_OK 0
/* No manager is running, or it has no room for this program. */
#define NUMAESTRO_E_UNMANAGED (-1)
/* An argument is out of its range. */
#define NUMAESTRO_E_INVALID (-2)
/* There is no stolen virtual processor to go on with (NANOS: NO_WORK). */
#define NUMAESTRO_NO_WORK (-3)
/* What was asked for cannot be had on this machine, or not by this user. */
#define NUMAESTRO_E_REFUSED (-4)

/* -- Version
 * ---------------------------------------------------------------------------------------------- */

/* Version of this header: major * 65536 + minor. */
#define NUMAESTRO_API_VERSION 0x00010002u
/* Version of the library that is loaded; its major half must equal the header's. Never fails. */
uint32_t numaestro_api_version(void);

/* -- Attaching
 * ---------------------------------------------------------------------------------------------- */

/* Attach this process to the manager of its user. Calling it again is cheap and harmless.
 * Returns NUMAESTRO_OK or NUMAESTRO_E_UNMANAGED. */
int numaestro_attach(void);

/* -- How many
 * ---------------------------------------------------------------------------------------------- */

/* Processors to use for the next parallel region, at least 1. Carries out a new decision first:
 * call it where the program's threads stand still, i.e. between regions. Without a manager: the
 * processors of this process's affinity mask. About a nanosecond while nothing changes. */
int numaestro_processors(void);

/* Processors that the program runs on now, at least 1 (NANOS: n_cpus_current). Unlike
 * numaestro_processors this only looks: it carries no decision out, so any thread may ask in the
 * middle of anything. Once virtual processors are registered, those that have a processor are
 * counted (0 if all are parked). */
int numaestro_current(void);

/* How many of its processors the manager wants back from this program now, 0 if none (NANOS:
 * cpus_asking_for). With virtual processors it stays above 0 until so many have been given back by
 * numaestro_vp_release, or until half the time that the manager grants is over (5 of 10
 * milliseconds, if its user has not changed that): then the program is moved off them. Without,
 * until the decision is carried out. To a vp that has lost its processor the answer is at least 1:
 * it is one too many for what the program has, and if it has nothing to run it should release
 * itself. About a nanosecond while 0. */
int numaestro_asked_back(void);

/* Has something changed since the last numaestro_processors()? 1 or 0. For long regions that can
 * shrink in the middle. */
int numaestro_changed(void);

/* Ask for `processors` (NANOS: cpus_request); 0 withdraws the wish. Takes effect with the manager's
 * next decision; fewer than the present ones are given up at once. Virtual processors that are
 * parked while a processor of the program is idle go on at once, as many as are wanted. Returns
 * NUMAESTRO_OK, NUMAESTRO_E_UNMANAGED, NUMAESTRO_E_INVALID (negative or above 65536). */
int numaestro_request(int processors);

/* -- Advice
 * ---------------------------------------------------------------------------------------------- */

/* What would one more program get that came now: how many processors, which ones, on which nodes,
 * and where its memory should be. For launchers and libraries that start something, or choose a
 * size before there is anything to attach. Nothing is started, reserved or changed, and the calling
 * process need not be attached; if it is, its own processors are not part of the answer but in use.
 * The answer is exact as long as nothing else happens: whoever comes next gets what the next one
 * gets.
 *
 *     struct numaestro_advice_query query = {.struct_size = sizeof query, .processors = 16, .memory = 8ull << 30};
 *     struct numaestro_advice advice = {.struct_size = sizeof advice};
 *     if (numaestro_advise(&query, &advice) == NUMAESTRO_OK && advice.count > 0)
 *         start a program with advice.threads threads on advice.cpus; */

/* Others would run on some of the processors. */
#define NUMAESTRO_ADVICE_SHARED 1u
/* The program would wait: in the queue (`position`), or for its first turn. */
#define NUMAESTRO_ADVICE_WAITS 2u
/* No manager answers: `cpus` is what this thread's affinity allows, whoever else uses it, and the
 * sets of nodes are empty. */
#define NUMAESTRO_ADVICE_UNMANAGED 0x80000000u

/* In the sets below bit i % 64 of word i / 64 stands for operating-system index i. */
#define NUMAESTRO_ADVICE_CPU_WORDS 128
#define NUMAESTRO_ADVICE_NODE_WORDS 16

/* What the program is. Zero in every field but the first says nothing. */
struct numaestro_advice_query {
    /* sizeof(struct numaestro_advice_query). */
    uint32_t struct_size;
    /* Processors it could use, at most 65536; 0: as many as there are. */
    uint32_t processors;
    /* Never fewer, at most 65536; 0: any number will do. */
    uint32_t min;
    /* Zero. */
    uint32_t reserved;
    /* Bytes of memory it is going to need; 0: not known. */
    uint64_t memory;
};

/* What it would get. */
struct numaestro_advice {
    /* In: sizeof(struct numaestro_advice). Out: bytes that have been written. */
    uint32_t struct_size;
    /* NUMAESTRO_ADVICE_... */
    uint32_t flags;
    /* Processors of its own, once others have made room; 0: it would wait, or share. */
    uint32_t count;
    /* Threads it would be told to run with; 0: it would wait. */
    uint32_t threads;
    /* Place in the queue where it would wait, 1 is next; 0: it would not wait there. */
    uint32_t position;
    /* Zero. */
    uint32_t reserved;
    /* Bytes that are free on memory_nodes; UINT64_MAX: not known. */
    uint64_t memory_free;
    /* Processors it would run on; empty if it would wait. */
    uint64_t cpus[NUMAESTRO_ADVICE_CPU_WORDS];
    /* Those of them that nobody uses now. */
    uint64_t free[NUMAESTRO_ADVICE_CPU_WORDS];
    /* NUMA nodes of cpus. */
    uint64_t nodes[NUMAESTRO_ADVICE_NODE_WORDS];
    /* NUMA nodes where its memory should be: nearest first as many as `memory` bytes need. */
    uint64_t memory_nodes[NUMAESTRO_ADVICE_NODE_WORDS];
    /* Why, one sentence for people, terminated. */
    char why[208];
};

/* `query` may be NULL: nothing is known of the program. Opens a descriptor for as long as it takes,
 * microseconds as a rule. Returns NUMAESTRO_OK, also without a manager
 * (NUMAESTRO_ADVICE_UNMANAGED); NUMAESTRO_E_REFUSED: it would be refused, and `why` says why;
 * NUMAESTRO_E_INVALID: `advice` is NULL, a struct_size is too small, processors or min is out of
 * its range, or min is above processors. */
int numaestro_advise(const struct numaestro_advice_query *query, struct numaestro_advice *advice);

/* -- Virtual processors
 * ---------------------------------------------------------------------------------------------- */

/* A virtual processor (vp) is a thread of the program that runs the program's work, one at a time
 * on each processor. The program numbers its vps from 0. The library knows which vp is on which
 * processor, and binds each to its own.
 *
 * The idle loop of a thread library, for the vp `me` that has nothing to run (NANOS, figure 4); the
 * same checks belong at every barrier and join, so that nobody waits there for a vp that has lost
 * its processor:
 *
 *     for (;;) {
 *         int work;
 *         if (numaestro_asked_back() > 0)
 *             numaestro_vp_release(me);
 *         else if (numaestro_vp_preempted() > 0 && (work = numaestro_vp_claim()) >= 0)
 *             numaestro_vp_handoff(work);
 *         else if (there is something in this vp's queue, or in the common one)
 *             run it;
 *     }
 *
 * A vp loses its processor only when the program did not give one back in time. It is then STOLEN,
 * but never stopped: its thread shares the processors that are left to the program until a vp at a
 * safe point hands it one, because a thread that is stopped might hold a lock that all others need
 * (the allocator's, say).
 *
 * When the manager dies or lets the program go, every parked vp goes on: nothing is ever parked
 * without somebody who would wake it. The child of a fork has no vps.
 *
 * A thread or program that a vp starts inherits its one processor: a thread until it is registered
 * itself or the next decision comes. What shall run on all of them is started by a thread that is
 * no vp. */

/* vps are numbered from 0 to one less than this. */
#define NUMAESTRO_VPS 256
/* For numaestro_vp_register: no virtual processor any more. */
#define NUMAESTRO_VP_NONE (-1)

/* Nobody has registered this vp, or its thread has ended. */
#define NUMAESTRO_VP_UNUSED 0
/* It has nothing to run and is parked (NANOS: UNALLOCATED). If `processor` is not -1, that one is
 * still the program's, and idle. */
#define NUMAESTRO_VP_UNALLOCATED 1
/* It runs on a processor of its own (NANOS: CPU_RUNNING). Without a manager `processor` may be -1:
 * wherever it likes. */
#define NUMAESTRO_VP_RUNNING 2
/* It has something to run but no processor of its own, and shares what the program has (NANOS:
 * CPU_STOLEN). */
#define NUMAESTRO_VP_STOLEN 3
/* The same, and another vp is about to hand it a processor. */
#define NUMAESTRO_VP_CLAIMED 4

/* One virtual processor as it is now. */
struct numaestro_vp {
    /* One of NUMAESTRO_VP_... above. */
    int state;
    /* Operating-system index of the processor it has, -1 if none. */
    int processor;
    /* Thread id of its thread as gettid() gives it, 0 if unused. */
    int thread;
};

/* The calling thread is virtual processor `vp` from now on, and gives up the number it had. A
 * processor of the program that runs no other vp becomes its own; if there is none it is STOLEN,
 * and goes on as such: registering never waits. It ends with the thread, or with NUMAESTRO_VP_NONE.
 * Returns NUMAESTRO_OK; NUMAESTRO_E_UNMANAGED: registered, but without a manager nothing will come
 * of it; NUMAESTRO_E_INVALID: out of range, or another thread has this number. */
int numaestro_vp_register(int vp);

/* The calling vp has nothing to run: its processor goes to a stolen vp of this program if there is
 * one and the manager does not ask for it, else to the manager, for others (NANOS:
 * cpus_release_self). The caller is parked, and returns when a processor has been allocated to it
 * again: more are given to the program, or numaestro_request asks for them. If it was the last vp
 * that was not parked it returns after a tenth of a second at the latest: nobody else might be left
 * to ask. Returns NUMAESTRO_OK; NUMAESTRO_E_UNMANAGED: there is no manager (any more), so it is not
 * parked; NUMAESTRO_E_INVALID: the calling thread is not this vp. */
int numaestro_vp_release(int vp);

/* Number of stolen vps, those claimed not counted (NANOS: cpus_preempted_work). */
int numaestro_vp_preempted(void);

/* Claims the vp that has been stolen for longest: no other vp gets it, too. The calling vp hands it
 * its processor next (numaestro_vp_handoff); a claim is void when the caller claims another one, is
 * parked, or ends (NANOS: cpus_get_preempted_work). Returns the vp, or NUMAESTRO_NO_WORK;
 * NUMAESTRO_E_INVALID: the calling thread is no vp. */
int numaestro_vp_claim(void);

/* `work`, which the calling vp has claimed, gets the processor of the calling vp; the caller is
 * parked as in numaestro_vp_release and returns when a processor has been allocated to it again
 * (NANOS: cpus_processor_handoff). The number of processors that the program runs on does not
 * change. Returns NUMAESTRO_OK; NUMAESTRO_NO_WORK at once if `work` has a processor meanwhile or
 * nothing to run, or if the caller has lost its own; NUMAESTRO_E_UNMANAGED: done, but there is no
 * manager (any more), so the caller is not parked and shares what the program has;
 * NUMAESTRO_E_INVALID: the caller has not claimed `work`. */
int numaestro_vp_handoff(int work);

/* What is known of `vp`. Another thread may change it at any time.
 * Returns NUMAESTRO_OK or NUMAESTRO_E_INVALID (out of range, or `out` is NULL). */
int numaestro_vp_info(int vp, struct numaestro_vp *out);

/* -- Speedup
 * ---------------------------------------------------------------------------------------------- */

/* The program has measured its own speedup: on `processors` it is speedup_milli / 1000 times as
 * fast as on one. Policies that want to know (PDPA) act on it if `processors` is what the program
 * has; others ignore it. A wrong value hurts only this program. Programs that say nothing are
 * measured by the preloaded library, where that is possible. Returns NUMAESTRO_OK,
 * NUMAESTRO_E_UNMANAGED, NUMAESTRO_E_INVALID (processors below 1 or above 65536, speedup of 0). */
int numaestro_report_speedup(int processors, unsigned speedup_milli);

#ifdef __cplusplus
}
#endif

#endif
