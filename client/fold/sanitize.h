/* sanitize.h - what ThreadSanitizer has to be told of the scheduler. `make check` builds it so;
 * nobody else does.
 *
 * ThreadSanitizer keeps what it knows of a thread in thread-local storage, and that follows a
 * context. So it takes each context for a thread, on whatever carrier it runs, and what one context
 * does after the other is ordered for it by the atomics of team.c alone. Three things it cannot
 * know:
 *
 * A carrier on its parking stack has the thread pointer of a context that may be running elsewhere.
 * What runs there must not be instrumented: `park` is not, and what it calls is compiled into it
 * once more.
 *
 * A carrier's own variables are written by one context after the other. That is one kernel thread,
 * which is always in order.
 *
 * A context that was resumed by a parked carrier goes on after what that carrier has seen.
 */
#ifndef NUMAESTRO_SANITIZE_H
#define NUMAESTRO_SANITIZE_H

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define NM_SANITIZED
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define NM_SANITIZED
#endif

#ifdef NM_SANITIZED
#include <stddef.h>

#ifdef __clang__
#define NM_PARKING __attribute__((disable_sanitizer_instrumentation))
#else
#define NM_PARKING __attribute__((no_sanitize("thread")))
#endif
/* A function that `park` uses, and contexts too. */
#define NM_ON_ANY_STACK __attribute__((always_inline))

/* Of ThreadSanitizer's runtime. */
void __tsan_acquire(void *what);
void AnnotateBenignRaceSized(const char *file, int line, const volatile void *at, size_t bytes, const char *why);

/* What was written before the last store to the atomic `what` comes before what follows. */
#define NM_SEES(what) __tsan_acquire((void *)(what))
#define NM_OF_ONE_KERNEL_THREAD(at, bytes) AnnotateBenignRaceSized(__FILE__, __LINE__, at, bytes, "of one kernel thread")
#else
#define NM_PARKING
#define NM_ON_ANY_STACK
#define NM_SEES(what) ((void)0)
#define NM_OF_ONE_KERNEL_THREAD(at, bytes) ((void)0)
#endif

#endif
