/* numaestro.h - the calls by which a program follows the number of its processors.
 *
 * A program that uses this header asks "how many processors can I have right now?" before it opens
 * a parallel region, and tells the manager how many it could use. The program also runs without a
 * manager: every call then answers as if the program had the machine to itself.
 *
 * A thread library goes further: it registers the threads that are virtual processors, and gives
 * processors back and hands them over itself. That is the application interface of the NANOS CPU
 * Manager (Martorell et al. 2000, section 3 and figures 3 and 4), in its protected variant: every
 * movement of a processor between programs passes through the manager.
 *
 * Link with -lnumaestro. Under `numaestro run` the same functions come from the preloaded library,
 * and both share one page. Every function is thread-safe and async-signal-unsafe, leaves errno as
 * it was, and blocks for at most the 200 milliseconds that numaestro_attach may take when the
 * manager is busy. Three functions are made to wait longer: numaestro_vp_release,
 * numaestro_vp_handoff and numaestro_wait_change. Only the first two are cancellation points: a
 * cancelled thread that waits there ends within two seconds.
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

/* -- Errors ------------------------------------------------------------------------------------ */

#define NUMAESTRO_OK 0
/* No manager is running, or it has no room for this program. */
#define NUMAESTRO_E_UNMANAGED (-1)
/* An argument is out of its range. */
#define NUMAESTRO_E_INVALID (-2)
/* There is no stolen virtual processor to which the caller could hand its own processor (NANOS:
 * NO_WORK). */
#define NUMAESTRO_NO_WORK (-3)
/* This machine cannot give what the caller asks for, or this user may not have it. */
#define NUMAESTRO_E_REFUSED (-4)

/* -- Version ----------------------------------------------------------------------------------- */

/* Version of this header: major * 65536 + minor. */
#define NUMAESTRO_API_VERSION 0x00010003u
/* Version of the library that is loaded; its major half must equal the header's. Never fails. */
uint32_t numaestro_api_version(void);

/* -- Attaching --------------------------------------------------------------------------------- */

/* Attaches this process to the manager of its user. Calling it again is cheap and harmless. Returns
 * NUMAESTRO_OK, or NUMAESTRO_E_UNMANAGED if this process has no page of a manager. */
int numaestro_attach(void);

/* -- How many ---------------------------------------------------------------------------------- */

/* The number of processors to use for the next parallel region, at least 1. Carries out a new
 * decision of the manager first: call it between regions, where the program's threads stand still.
 * Without a manager the answer is the number of processors in the affinity mask of the calling
 * thread. Never fails. Costs about a nanosecond while nothing changes. */
int numaestro_processors(void);

/* The number of processors that the program runs on now, at least 1 (NANOS: n_cpus_current). Unlike
 * numaestro_processors it carries no decision out, so any thread may ask at any time. Once virtual
 * processors are registered, the answer is the number of those that run on a processor of their
 * own, 0 if all are parked. Never fails. */
int numaestro_current(void);

/* The number of processors that belong to the program, at least 1: as numaestro_current, and also
 * those that it lends while it is sequential, which come back when it opens a parallel region. For
 * a thread that tells libraries how many threads to use: a library that is told 1 opens no region,
 * so nothing would come back. Carries no decision out. Never fails. Since version 1.3. */
int numaestro_owned(void);

/* The number of processors that the manager wants back from this program now, 0 if none (NANOS:
 * cpus_asking_for). With virtual processors the answer stays above 0 until the program has given so
 * many back by numaestro_vp_release, or until half of the time that the manager grants is over (5
 * of 10 milliseconds, unless the manager's user has changed that): then the library moves the
 * program off them. Without virtual processors it stays above 0 until the decision is carried out.
 * A vp that has lost its processor gets at least 1: the program has one processor too few for it,
 * and if it has nothing to run it should release itself. Never fails. Costs about a nanosecond
 * while the answer is 0. */
int numaestro_asked_back(void);

/* Has the manager decided anew since the last numaestro_processors()? 1 or 0, and 0 without a
 * manager. For long regions that can shrink in the middle. */
int numaestro_changed(void);

/* The number of changes so far, modulo 2^32: decisions that were carried out, and requests that the
 * program made. If the number is still `seen`, the call first waits for the next change, for at
 * most `milliseconds`; 0 asks only. For a thread that tells others of changes: it calls this before
 * it looks at numaestro_owned, and passes the answer as `seen` the next time, so that it misses no
 * change. While processors are lent, a thread that waits asks for them once a second. Without a
 * manager nothing changes. Never fails. Since version 1.3. */
uint32_t numaestro_wait_change(uint32_t seen, unsigned milliseconds);

/* Tells the manager that the program could use `processors` processors now (NANOS: cpus_request); 0
 * withdraws the request. It takes effect with the manager's next decision; a request for fewer
 * processors than the program has gives the rest up at once. Parked virtual processors go on at
 * once on idle processors of the program, until `processors` of them run. Returns NUMAESTRO_OK;
 * NUMAESTRO_E_UNMANAGED: nobody gets the request; NUMAESTRO_E_INVALID: `processors` is negative or
 * above 65536. */
int numaestro_request(int processors);

/* -- Advice ------------------------------------------------------------------------------------ */

/* Asks the manager what one more program would get if it came now: how many processors, which ones,
 * on which nodes, and where its memory should be. Launchers and libraries use this when they start
 * a program, or choose a size before there is anything to attach. The call starts, reserves and
 * changes nothing, and the calling process need not be attached; if it is, its own processors count
 * as in use and are not part of the answer. The answer is exact as long as nothing else happens:
 * the next program to come gets these processors, whichever it is.
 *
 *     struct numaestro_advice_query query = {.struct_size = sizeof query, .processors = 16, .memory = 8ull << 30};
 *     struct numaestro_advice advice = {.struct_size = sizeof advice};
 *     if (numaestro_advise(&query, &advice) == NUMAESTRO_OK && advice.count > 0)
 *         start a program with advice.threads threads on advice.cpus; */

/* Other programs would run on some of the processors. */
#define NUMAESTRO_ADVICE_SHARED 1u
/* The program would wait: in the queue (`position`), or for its first turn. */
#define NUMAESTRO_ADVICE_WAITS 2u
/* No manager answers: `cpus` are processors that the calling thread's affinity allows, also those
 * that other programs use; `free` and the sets of nodes are empty. */
#define NUMAESTRO_ADVICE_UNMANAGED 0x80000000u

/* In the sets below bit i % 64 of word i / 64 stands for operating-system index i. */
#define NUMAESTRO_ADVICE_CPU_WORDS 128
#define NUMAESTRO_ADVICE_NODE_WORDS 16

/* Describes the program. A field that is 0 says nothing; only struct_size must be set. */
struct numaestro_advice_query {
    /* In bytes: sizeof(struct numaestro_advice_query). */
    uint32_t struct_size;
    /* Processors it could use, at most 65536; 0: all that there are. */
    uint32_t processors;
    /* Fewest processors it can do with, at most 65536; 0: any number will do. */
    uint32_t min;
    /* Must be 0. */
    uint32_t reserved;
    /* Memory it is going to need, in bytes; 0: not known. */
    uint64_t memory;
};

/* The manager's answer. */
struct numaestro_advice {
    /* In bytes. In: sizeof(struct numaestro_advice). Out: the part that the library has written. */
    uint32_t struct_size;
    /* Bits NUMAESTRO_ADVICE_... */
    uint32_t flags;
    /* Processors of its own, once other programs have made room; 0: it would wait, or share. */
    uint32_t count;
    /* Threads it would be told to run with; 0: it would wait. */
    uint32_t threads;
    /* Place in the queue where it would wait, 1 is next; 0: it would not wait there. */
    uint32_t position;
    /* Always 0. */
    uint32_t reserved;
    /* Bytes that are free on memory_nodes; UINT64_MAX: not known. */
    uint64_t memory_free;
    /* Processors it would run on; empty if it would wait. */
    uint64_t cpus[NUMAESTRO_ADVICE_CPU_WORDS];
    /* Those of `cpus` that nobody uses now. */
    uint64_t free[NUMAESTRO_ADVICE_CPU_WORDS];
    /* NUMA nodes of `cpus`. */
    uint64_t nodes[NUMAESTRO_ADVICE_NODE_WORDS];
    /* NUMA nodes where its memory should be: the nearest ones, as many as `memory` bytes need. */
    uint64_t memory_nodes[NUMAESTRO_ADVICE_NODE_WORDS];
    /* The reason in one sentence for people; ends with a 0 byte. */
    char why[208];
};

/* Fills in `advice`. `query` may be NULL if nothing is known of the program. The call opens a
 * descriptor and closes it before it returns, after microseconds as a rule. Returns NUMAESTRO_OK,
 * also without a manager (NUMAESTRO_ADVICE_UNMANAGED); NUMAESTRO_E_REFUSED: the manager would
 * refuse the program, and `why` gives the reason; NUMAESTRO_E_INVALID: `advice` is NULL, a
 * struct_size is too small, processors or min is out of its range, or min is above processors. */
int numaestro_advise(const struct numaestro_advice_query *query, struct numaestro_advice *advice);

/* -- Virtual processors ------------------------------------------------------------------------ */

/* A virtual processor (vp) is a thread of the program that runs the program's work, one at a time
 * on each processor. The program numbers its vps from 0. The library knows which vp is on which
 * processor, and binds each to its own.
 *
 * The idle loop of a thread library, for the vp `me` that has nothing to run (NANOS, figure 4); put
 * the same checks at every barrier and join, so that no vp waits there for one that has lost its
 * processor:
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
 * A vp loses its processor only when the program did not give one back in time. It is then STOLEN:
 * its thread shares the processors that are left to the program until a vp at a safe point hands it
 * one. The library never stops it, because a stopped thread might hold a lock that all others need
 * (the allocator's, say).
 *
 * When the manager dies or lets the program go, every parked vp goes on: the library parks no vp
 * unless some thread will wake it. The child of a fork has no vps.
 *
 * A thread or program that a vp starts inherits the vp's one processor; a thread keeps it until it
 * is registered itself or the next decision comes. Start threads and programs that shall run on all
 * processors from a thread that is no vp. */

/* vps are numbered from 0 to one less than this. */
#define NUMAESTRO_VPS 256
/* For numaestro_vp_register: the calling thread is no virtual processor any more. */
#define NUMAESTRO_VP_NONE (-1)

/* No thread has registered this vp, or its thread has ended. */
#define NUMAESTRO_VP_UNUSED 0
/* It has nothing to run and is parked (NANOS: UNALLOCATED). If `processor` is not -1, that
 * processor still belongs to the program, and is idle. */
#define NUMAESTRO_VP_UNALLOCATED 1
/* It runs on a processor of its own (NANOS: CPU_RUNNING). Without a manager `processor` may be -1:
 * the kernel chooses where it runs. */
#define NUMAESTRO_VP_RUNNING 2
/* It has something to run but no processor of its own, and shares the program's processors (NANOS:
 * CPU_STOLEN). */
#define NUMAESTRO_VP_STOLEN 3
/* As STOLEN, and another vp is about to hand it a processor. */
#define NUMAESTRO_VP_CLAIMED 4

/* The present state of one virtual processor. */
struct numaestro_vp {
    /* One of NUMAESTRO_VP_... above. */
    int state;
    /* Operating-system index of the processor it has, -1 if none. */
    int processor;
    /* Thread id of its thread as gettid() gives it, 0 if the vp is UNUSED. */
    int thread;
};

/* Makes the calling thread virtual processor `vp` from now on; the thread gives up the number it
 * had. A processor of the program that runs no other vp becomes its own; if there is none, the vp
 * is STOLEN and goes on: registering never waits for a processor. The registration ends with the
 * thread, or with NUMAESTRO_VP_NONE. Returns NUMAESTRO_OK; NUMAESTRO_E_UNMANAGED: registered, but
 * without a manager it has no effect; NUMAESTRO_E_INVALID: `vp` is out of range, or another thread
 * has this number. */
int numaestro_vp_register(int vp);

/* Gives the processor of the calling vp away, because the vp has nothing to run: the processor goes
 * to a stolen vp of this program if there is one and the manager does not ask for it, else to the
 * manager, for other programs (NANOS: cpus_release_self). The call parks the caller, and returns
 * when a processor has been allocated to the vp again: the manager gives the program more, or
 * another thread asks for them by numaestro_request. If the caller is the last vp that is not
 * parked, it returns after 100 milliseconds at the latest, because no other thread may be left to
 * ask. Returns NUMAESTRO_OK; NUMAESTRO_E_UNMANAGED: there is no manager (any more), so the caller
 * is not parked; NUMAESTRO_E_INVALID: the calling thread is not this vp. */
int numaestro_vp_release(int vp);

/* The number of stolen vps without those that are claimed (NANOS: cpus_preempted_work). Never
 * fails. */
int numaestro_vp_preempted(void);

/* Claims the vp that has been stolen for longest, so that no other vp claims it too (NANOS:
 * cpus_get_preempted_work). The calling vp hands its processor to it next (numaestro_vp_handoff). A
 * claim is void when the caller claims another vp, is parked, or ends. Returns the number of the
 * vp; NUMAESTRO_NO_WORK: no vp is stolen, or the caller has no processor of its own;
 * NUMAESTRO_E_INVALID: the calling thread is no vp. */
int numaestro_vp_claim(void);

/* Hands the processor of the calling vp to vp `work`, which the caller has claimed (NANOS:
 * cpus_processor_handoff). The call parks the caller as numaestro_vp_release does, and returns when
 * a processor has been allocated to it again. The number of processors that the program runs on
 * does not change. Returns NUMAESTRO_OK; NUMAESTRO_NO_WORK, at once: `work` has got a processor
 * meanwhile, has nothing to run, or the caller has lost its own processor; NUMAESTRO_E_UNMANAGED:
 * done, but there is no manager (any more), so the caller is not parked and shares the program's
 * processors; NUMAESTRO_E_INVALID: the caller has not claimed `work`. */
int numaestro_vp_handoff(int work);

/* Writes the present state of `vp` to `*out`. Another thread may change that state at any time.
 * Returns NUMAESTRO_OK; NUMAESTRO_E_INVALID: `vp` is out of range, or `out` is NULL. */
int numaestro_vp_info(int vp, struct numaestro_vp *out);

/* -- Speedup ----------------------------------------------------------------------------------- */

/* Tells the manager a speedup that the program has measured itself: on `processors` processors it
 * is speedup_milli / 1000 times as fast as on one. Policies that use speedups (PDPA) act on it if
 * the program has `processors` processors now; others ignore it. A wrong value hurts only this
 * program. The preloaded library measures programs that report nothing, where that is possible.
 * Returns NUMAESTRO_OK; NUMAESTRO_E_UNMANAGED: nobody gets the report; NUMAESTRO_E_INVALID:
 * `processors` is below 1 or above 65536, or speedup_milli is 0. */
int numaestro_report_speedup(int processors, unsigned speedup_milli);

#ifdef __cplusplus
}
#endif

#endif
