/* sanitize.h - tells ThreadSanitizer what it cannot see of the scheduler. Only `make check` builds
 * with ThreadSanitizer.
 *
 * ThreadSanitizer keeps its state of a thread in thread-local storage, which follows a context. So
 * it takes each context for a thread, on whichever carrier it runs, and only the atomics of team.c
 * order for it the actions of two contexts. It cannot know three things:
 *
 * A carrier on its parking stack has the thread pointer of a context that may be running elsewhere.
 * Code that runs there must not be instrumented: `park` is not, and the compiler inlines into it
 * the functions that it calls.
 *
 * One context after the other writes a carrier's own variables. They do so on one kernel thread, so
 * always in order.
 *
 * A context that a parked carrier resumed goes on after everything that this carrier has seen.
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
/* A function that both `park` and contexts use. */
#define NM_ON_ANY_STACK __attribute__((always_inline))

/* A function of ThreadSanitizer's runtime. */
void __tsan_acquire(void *what);
void AnnotateBenignRaceSized(const char *file, int line, const volatile void *at, size_t bytes, const char *why);

/* Everything written before the last store to the atomic `what` comes before the code that
 * follows. */
#define NM_SEES(what) __tsan_acquire((void *)(what))
#define NM_OF_ONE_KERNEL_THREAD(at, bytes) AnnotateBenignRaceSized(__FILE__, __LINE__, at, bytes, "of one kernel thread")
#else
#define NM_PARKING
#define NM_ON_ANY_STACK
#define NM_SEES(what) ((void)0)
#define NM_OF_ONE_KERNEL_THREAD(at, bytes) ((void)0)
#endif

#endif
