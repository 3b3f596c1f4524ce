/* nanothreads.h - malleable user-level threads in C and C++.
 *
 * A program divides its work into nano-threads, as many as it likes; a few virtual processors, one
 * operating-system thread each, run them. When the numaestro manager takes a processor away, a
 * virtual processor gives it back at its next safe point (the end of a nano-thread, a spawn, a
 * join, a barrier, a chunk of a loop); the others go on with its work. When the manager gives one
 * more, the program uses it at once. Without a manager the program has the processors of its
 * affinity mask.
 *
 * Link with -lnanothreads, or with libnanothreads.a -lpthread -ldl -lm.
 *
 * Any thread may call every function, also inside nano-threads, but not in signal handlers. A
 * nano-thread that waits (nth_join, nth_both, nth_parallel_for, nth_barrier_wait, nth_graph_run)
 * leaves its processor to others; a thread that is no nano-thread sleeps. Functions given to this
 * library must not leave it by longjmp or by a C++ exception.
 *
 * The child of a fork has no virtual processors: it must not call anything here before exec.
 *
 * Errors: functions return 0 or a count on success and one of the codes below (negative) on
 * failure. Codes are never renumbered. If the operating system has no memory for a stack, the
 * program ends with a message.
 */
#ifndef NANOTHREADS_H
#define NANOTHREADS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- Errors ------------------------------------------------------------------------------------ */

#define NTH_OK 0
/* The runtime exists already. */
#define NTH_E_EXISTS (-1)
/* An argument is out of its range. */
#define NTH_E_INVALID (-2)
/* The operating system refused threads. */
#define NTH_E_SYSTEM (-3)
/* The tasks of a graph depend on each other in a circle. */
#define NTH_E_CYCLE (-4)
/* No manager is there to receive it. */
#define NTH_E_UNMANAGED (-5)

/* -- Version ----------------------------------------------------------------------------------- */

/* Version of this header: major * 65536 + minor. */
#define NTH_API_VERSION 0x00010000u
/* Version of the library that is loaded; its major half must equal the header's. Never fails. */
uint32_t nth_api_version(void);

/* -- The runtime ------------------------------------------------------------------------------- */

/* A nano-thread that has waited may go on with any virtual processor, not only the one it began on:
 * so nano-threads that wait at a barrier follow the processors as they come and go. The program
 * promises that no nano-thread keeps the address of thread-local data (errno's, say) while it
 * waits. */
#define NTH_UNTIED 1u

struct nth_options {
    /* In bytes: sizeof(struct nth_options), so that later versions can add fields at its end. */
    size_t struct_size;
    /* The most processors the program can use, 1 to 256; 0 = those of its affinity mask. */
    unsigned vps;
    /* NTH_UNTIED or 0. */
    unsigned flags;
    /* Bytes of a nano-thread's stack; only the part that is used costs memory; 0 = 1 MiB. */
    size_t stack_bytes;
};

/* Starts the runtime; `options` may be NULL. If another function is called first, that starts the
 * runtime with NULL. Returns NTH_OK, NTH_E_EXISTS, NTH_E_INVALID, NTH_E_SYSTEM. */
int nth_init(const struct nth_options *options);

/* Ends the runtime when all spawned nano-threads have ended; after that it can be started again.
 * Must not be called in a nano-thread. Returns NTH_OK; NTH_E_INVALID: the caller is a
 * nano-thread. */
int nth_finish(void);

/* The number of processors that the program has now, at least 1: it tells how much parallelism is
 * worth generating. Never fails. */
int nth_processors(void);

/* Asks the manager for `processors` processors; 0 withdraws the request. Returns NTH_OK,
 * NTH_E_UNMANAGED, NTH_E_INVALID (`processors` is negative or above 65536). */
int nth_request(int processors);

/* Tells the manager that the program is speedup_milli / 1000 times as fast on `processors`
 * processors as on one. Returns NTH_OK, NTH_E_UNMANAGED, NTH_E_INVALID (`processors` is below 1 or
 * above 65536, or speedup_milli is 0). */
int nth_report_speedup(int processors, unsigned speedup_milli);

/* -- Loops and pairs --------------------------------------------------------------------------- */

/* Calls `body` for parts [from, to) of at most `grain` indices that together are [begin, end), in
 * any order and perhaps at the same time; returns when all have ended. After each part the runtime
 * can give a processor back or share work. grain 0: the runtime chooses. Nothing happens if end <=
 * begin. */
void nth_parallel_for(size_t begin, size_t end, size_t grain, void (*body)(size_t from, size_t to, void *arg), void *arg);

/* Calls both functions, perhaps at the same time, and returns when both have ended. This is the
 * cheapest way to fork: it allocates nothing. */
void nth_both(void (*first)(void *), void *first_arg, void (*second)(void *), void *second_arg);

/* -- Nano-threads ------------------------------------------------------------------------------ */

/* A spawned nano-thread. */
typedef struct nth_thread nth_thread;

/* Starts a nano-thread. Its handle ends with nth_join or nth_detach, one of which must be called
 * once. Never NULL. */
nth_thread *nth_spawn(void *(*work)(void *), void *arg);
/* Waits until it has ended, and returns the result of its `work`. */
void *nth_join(nth_thread *thread);
/* Lets the nano-thread end without nth_join. */
void nth_detach(nth_thread *thread);

/* -- Barriers ---------------------------------------------------------------------------------- */

/* Lets a fixed number of nano-threads (or threads) meet, again and again. */
typedef struct nth_barrier nth_barrier;

/* For 1 to 65535 parties; NULL if `parties` is out of that range. */
nth_barrier *nth_barrier_create(size_t parties);
/* Waits until all parties have come. Returns 1 to exactly one of them, 0 to the others. */
int nth_barrier_wait(nth_barrier *barrier);
/* To be called when no party waits any more. NULL is allowed. */
void nth_barrier_destroy(nth_barrier *barrier);

/* -- Graphs ------------------------------------------------------------------------------------ */

/* Tasks; the runtime runs each when all tasks before it have ended. One thread builds the graph. */
typedef struct nth_graph nth_graph;

nth_graph *nth_graph_create(void);
/* Adds a task and returns its number, counted from 0. */
int nth_graph_task(nth_graph *graph, void (*work)(void *), void *arg);
/* Makes `task` run only after the `count` tasks in `others` have ended. Returns NTH_OK or
 * NTH_E_INVALID (no such task). */
int nth_graph_after(nth_graph *graph, int task, const int *others, size_t count);
/* Runs all tasks, returns when they have ended, and destroys the graph. Returns NTH_OK, or
 * NTH_E_CYCLE: nothing was run. */
int nth_graph_run(nth_graph *graph);
/* Destroys a graph instead of running it. NULL is allowed. */
void nth_graph_destroy(nth_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
