/* root.h - signals for the root of a folded team.
 *
 * Other carriers block signals whenever they run a context that is not their own. The root's kernel
 * thread also takes signals for the process while it runs others, so a signal for the root alone
 * may be sent only while it runs the root.
 *
 * The root's carrier stores `runs` before it reads whether the root is at home; a sender stores
 * that the root is at home before it reads `runs`. So a sender that sees the root run makes its
 * carrier block signals before it runs another context. A sender that does not see it leaves the
 * signal in `late`, and the root sees that when it runs again.
 */
#ifndef NUMAESTRO_ROOT_H
#define NUMAESTRO_ROOT_H

#include "client.h"
#include "kernel.h"

struct nm_root {
    _Atomic uint64_t late;    /* signals that have not been sent yet, bit number - 1 */
    _Atomic uint32_t senders; /* futex: threads that may be sending one */
    _Atomic bool runs;        /* its own carrier, which writes this, is on the root's stack */
};

/* For its own carrier. */
static inline void nm_root_comes(struct nm_root *root)
{
    if (NM_UNLIKELY(!atomic_load_explicit(&root->runs, memory_order_relaxed)))
        atomic_store(&root->runs, true);
}

static inline void nm_root_goes(struct nm_root *root)
{
    atomic_store(&root->runs, false);
}

/* Sends what has come, while the kernel thread `tid` runs the root, or before it can run another
 * context with signals unblocked. */
static void nm_root_take(struct nm_root *root, int32_t tid)
{
    uint64_t late = atomic_exchange(&root->late, 0);
    for (int number = 1; late; number++, late >>= 1)
        if (late & 1)
            nm_signal_thread(tid, number);
}

/* A sender begins, then sends the root home, then ends. */
static inline void nm_root_begin(struct nm_root *root, int number)
{
    atomic_fetch_add(&root->senders, 1);
    atomic_fetch_or(&root->late, 1ull << (number - 1));
}

static inline void nm_root_end(struct nm_root *root, int32_t tid)
{
    if (atomic_load(&root->runs))
        nm_root_take(root, tid);
    atomic_fetch_sub(&root->senders, 1);
}

/* The root is not at home any more: its kernel thread will take signals while it runs others. What
 * somebody is sending must come before that. A sender that this does not see sends the root home
 * once more. */
static inline void nm_root_leaves(struct nm_root *root, int32_t tid)
{
    for (uint32_t senders; (senders = atomic_load(&root->senders)) != 0;)
        nm_sleep_on(&root->senders, senders, true);
    nm_root_take(root, tid);
}

#endif
