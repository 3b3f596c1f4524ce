/* own.h - for the wrappers of calls that act on the kernel thread that makes them.
 *
 * A member of a folded team is not on a fixed kernel thread. docs/threads.md lists what Linux and
 * the C library keep for each thread, and what becomes of it.
 */
#ifndef NUMAESTRO_OWN_H
#define NUMAESTRO_OWN_H

#include "whole.h"

#include <pthread.h>

/* The C library's own function. Looked up once; if two threads look it up at once, they find the
 * same. */
#define REAL(name)                                                                                                      \
    ({                                                                                                                  \
        static void *_Atomic known;                                                                                     \
        if (NM_UNLIKELY(!known))                                                                                        \
            known = nm_next_symbol(#name);                                                                              \
        (__typeof__(&name))(void *)known;                                                                               \
    })

static inline void own_thread(void)
{
    if (NM_UNLIKELY(nm_context_self != NULL))
        nm_whole_own_thread();
}

/* The setting outlasts the region, and makes this thread different from the others of its team,
 * which may be folded only later: from the next region on the kernel folds. */
static inline void own_thread_differs(void)
{
    nm_whole_differs((uintptr_t)pthread_self());
    own_thread();
}

/* sigaltstack: handlers in later regions run on a stack that is set; NULL only asks. */
static inline void about_stack(const void *stack)
{
    if (stack)
        own_thread_differs();
    else
        own_thread();
}

/* The calling thread's id, as the program knows it; 0 = it is the kernel thread's. */
static inline pid_t own_tid(void)
{
    struct nm_context *me = nm_context_self;
    return NM_UNLIKELY(me != NULL) ? nm_fold_carrier(me->number)->tid : 0;
}

#define ABOUT_WITH(prepare, type, name, parameters, arguments)                                                          \
    SHIM_EXPORT type name parameters                                                                                    \
    {                                                                                                                   \
        prepare;                                                                                                        \
        return REAL(name) arguments;                                                                                    \
    }
/* The member goes to its own kernel thread first. */
#define ABOUT_THREAD(type, name, parameters, arguments) ABOUT_WITH(own_thread(), type, name, parameters, arguments)
#define CHANGES_THREAD(type, name, parameters, arguments) ABOUT_WITH(own_thread_differs(), type, name, parameters, arguments)

/* births.c: around a start of a thread or process. */
void nm_birth(bool begins);

/* own.c: a signal for a thread with this id. False: it is no member of the team, or the signal is
 * none that a member can be sent. */
bool nm_own_signal(pid_t tid, int number, int *code);

/* state.c: what prctl does for one thread. True: it is answered. */
bool nm_own_prctl(int option, unsigned long argument, int *result);

#endif
