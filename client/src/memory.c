/* memory.c - sets the memory policy of the calling thread, so that new pages of this program go
 * where the manager says.
 *
 * A policy belongs to a thread; the threads that it makes inherit it, and it is kept across exec.
 * So each thread that carries decisions out sets its own, once for each change. A policy that the
 * program has set itself is never touched. Ours are those with static nodes (MPOL_F_STATIC_NODES),
 * which no other program sets as a rule, and the default one, with which every thread begins.
 */
#include "client.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in linux/mempolicy.h, which not every libc brings. */
enum { POLICY_DEFAULT = 0, POLICY_PREFERRED = 1, POLICY_INTERLEAVE = 3, POLICY_STATIC_NODES = 1 << 15 };

/* The kernel reads one bit less than it is told. */
#define NODE_BITS (NM_NODE_WORDS * 64ul + 1)

/* The manager's latest memory policy. Written under the adoption lock; `serial` is stored last, and
 * is odd while the rest is written. */
static struct {
    _Atomic uint32_t serial, mode;
    _Atomic uint64_t nodes[NM_NODE_WORDS];
} told;

static __thread uint32_t followed __attribute__((tls_model("initial-exec"))); /* its latest serial here */

bool nm_memory_told(uint32_t mode, const uint64_t *nodes)
{
    bool same = told.mode == mode;
    for (unsigned i = 0; i < NM_NODE_WORDS; i++)
        same &= told.nodes[i] == nodes[i];
    if (same)
        return false;
    told.serial++;
    told.mode = mode;
    for (unsigned i = 0; i < NM_NODE_WORDS; i++)
        told.nodes[i] = nodes[i];
    told.serial++;
    return true;
}

/* Whether the calling thread's policy may be replaced. */
static bool is_ours(void)
{
    int mode = 0;
    uint64_t nodes[NM_NODE_WORDS];
    if (syscall(SYS_get_mempolicy, &mode, nodes, NODE_BITS, NULL, 0ul) != 0)
        return false;
    return mode == POLICY_DEFAULT || mode == (POLICY_PREFERRED | POLICY_STATIC_NODES) ||
           mode == (POLICY_INTERLEAVE | POLICY_STATIC_NODES);
}

static void set(uint32_t mode, const uint64_t *nodes)
{
    /* The program may not use a node, or the kernel has no nodes: everything stays as it is. */
    if (mode == NM_MEMORY_FIRST_TOUCH)
        syscall(SYS_set_mempolicy, POLICY_DEFAULT, NULL, 0ul);
    else if (mode == NM_MEMORY_PREFERRED)
        syscall(SYS_set_mempolicy, POLICY_PREFERRED | POLICY_STATIC_NODES, nodes, NODE_BITS);
    else if (mode == NM_MEMORY_INTERLEAVE)
        syscall(SYS_set_mempolicy, POLICY_INTERLEAVE | POLICY_STATIC_NODES, nodes, NODE_BITS);
}

void nm_memory_follow(void)
{
    uint32_t serial = atomic_load_explicit(&told.serial, memory_order_acquire);
    if (NM_LIKELY(serial == followed) || serial % 2)
        return;
    uint64_t nodes[NM_NODE_WORDS];
    uint32_t mode = told.mode;
    for (unsigned i = 0; i < NM_NODE_WORDS; i++)
        nodes[i] = told.nodes[i];
    /* Another thread is writing a new policy: the next region is early enough. */
    if (told.serial != serial)
        return;
    int saved = errno;
    followed = serial;
    if (mode != NM_MEMORY_UNSAID && is_ours())
        set(mode, nodes);
    errno = saved;
}
