/* places.c - keeps the threads that an OpenMP runtime binds to its places on the allocation.
 *
 * OMP_PLACES, OMP_PROC_BIND and their like name places among all processors of the user. The
 * runtime reads the user's own mask (affinity.c, syscall.c), so it makes the places that it makes
 * without us, and answers all questions about them. Where the manager narrows the program, the call
 * that binds a thread to its place succeeds, and the thread stays on the allocation: it is the
 * runtime's choice for its user, and no pin. Without a manager the call is the kernel's.
 */
#include "shim.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASKED_WORDS 4

/* libomp reads its mask, goes to each processor to ask it for its number, and takes the mask again:
 * these bindings must have their effect. Where it reads files instead, nothing is lost. */
static __thread bool looks_around __attribute__((tls_model("initial-exec")));
/* What the runtime has set, as far as it fits. */
static __thread uint64_t asked[ASKED_WORDS] __attribute__((tls_model("initial-exec")));
static _Atomic uint32_t bindings; /* by the program, of any of its threads */
/* The decision by which this thread was put where a thread without a place belongs, and the number
 * of bindings at that time: libomp binds a thread anew each time that it takes it into a team. */
static __thread uint32_t put_by __attribute__((tls_model("initial-exec"))) = NM_UNATTACHED;
static __thread uint32_t put_after __attribute__((tls_model("initial-exec")));
/* The program has bound this thread, and libomp has read that mask: it takes everything for a
 * moment, and puts back what it has read. Empty: it has not, or the mask does not fit. */
static __thread uint64_t pinned_to[ASKED_WORDS] __attribute__((tls_model("initial-exec")));

void nm_places_change(void)
{
    bindings++;
}

/* It is on the processors of the present decision, and so it should be. */
static bool is_in_place(void)
{
    return nm_client.attached && !nm_client.alone && put_by == nm_client.page->manager.epoch && put_after == bindings;
}

/* 0, or an error number. */
static int bind_for_real(size_t bytes, const void *mask)
{
    return syscall(SYS_sched_setaffinity, 0, bytes, mask) == 0 ? 0 : errno;
}

static bool is_empty(size_t bytes, const void *mask)
{
    const char *at = mask;
    while (bytes > 0 && !*at)
        at++, bytes--;
    return bytes == 0;
}

static bool is_none(const uint64_t *words)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < ASKED_WORDS; i++)
        any |= words[i];
    return any == 0;
}

/* Whether nothing of a mask is left out where it is kept. */
static bool fits(size_t bytes, const void *mask)
{
    return bytes <= sizeof asked || is_empty(bytes - sizeof asked, (const char *)mask + sizeof asked);
}

/* Keeps the processors of a mask, as far as they fit. */
static void keep(uint64_t *words, size_t bytes, const void *mask)
{
    memset(words, 0, sizeof asked);
    memcpy(words, mask, bytes < sizeof asked ? bytes : sizeof asked);
}

/* The program's own binding of the calling thread comes back. */
static bool is_put_back(size_t bytes, const void *mask)
{
    uint64_t words[ASKED_WORDS];
    if (NM_LIKELY(is_none(pinned_to)))
        return false;
    keep(words, bytes, mask);
    if (memcmp(words, pinned_to, sizeof words) != 0 || !fits(bytes, mask))
        return false;
    struct nm_cpuset set = {{0}};
    memcpy(set.words, words, sizeof words);
    nm_pin((pid_t)syscall(SYS_gettid), &set);
    memset(pinned_to, 0, sizeof pinned_to);
    memset(asked, 0, sizeof asked); /* what it took for a moment */
    return true;
}

/* A runtime binds the calling thread. 0, or an error number. */
int nm_place_self(size_t bytes, const void *mask)
{
    struct nm_cpuset set;
    uint32_t epoch, after = bindings;
    bool whole = nm_is_whole(bytes, mask);
    bool put_back = is_put_back(bytes, mask);
    if (put_back || (whole && is_in_place())) {
        looks_around = false;
        return put_back ? bind_for_real(bytes, mask) : 0;
    }
    put_by = NM_UNATTACHED;
    if (is_empty(bytes, mask))
        return EINVAL;
    if (nm_starting())
        nm_starting_at(bytes, mask);
    if (nm_starting() || (looks_around && !whole))
        return bind_for_real(bytes, mask);
    looks_around = false;
    keep(asked, whole ? 0 : bytes, mask);
    for (;;) {
        switch (nm_belongs(&set, &epoch)) {
        case NM_ANYWHERE:
            return bind_for_real(bytes, mask);
        case NM_AS_BORN:
            return 0;
        case NM_WITHIN:
            break;
        }
        int error = bind_for_real(sizeof set.words, set.words);
        /* The helper may have gone through the threads before this one got to where it moved the
         * others. */
        if (nm_client.page->manager.epoch != epoch)
            continue;
        if (whole && !error) {
            put_by = epoch;
            put_after = after;
        }
        return error;
    }
}

/* A runtime binds another thread, or one that is yet to be made: that one is where it belongs, or
 * begins where its maker is. */
bool nm_place_is_kept(const void *caller)
{
    struct nm_cpuset set;
    uint32_t epoch;
    return nm_is_openmp(caller) && nm_belongs(&set, &epoch) != NM_ANYWHERE;
}

/* Whether the program has bound the calling thread; then `mask`, of `bytes` bytes, is where. */
static bool is_pinned(size_t bytes, void *mask)
{
    struct nm_cpuset now;
    if (!nm_client.attached && !nm_client.alone)
        return false;
    long got = syscall(SYS_sched_getaffinity, 0, sizeof now.words, now.words);
    if (got <= 0)
        return false;
    /* Nobody here binds threads: it is where a thread without a pin is. */
    if (bindings == 0 && is_in_place() && memcmp(now.words, nm_client.cpuset.words, (size_t)got) == 0)
        return false;
    if (nm_is_ours(0))
        return false;
    memset(mask, 0, bytes);
    memcpy(mask, now.words, (size_t)got < bytes ? (size_t)got : bytes);
    return true;
}

/* libomp reads the mask of the calling thread: as the system call answers. */
long nm_place_read(size_t bytes, void *mask)
{
    long got = nm_affinity_whole(bytes, mask);
    bool placed = !is_none(asked), unbound = got > 0 && !nm_starting() && !placed;
    memset(pinned_to, 0, sizeof pinned_to);
    if (unbound && is_pinned((size_t)got, mask)) {
        if (fits((size_t)got, mask))
            keep(pinned_to, (size_t)got, mask);
    } else if (got > 0 && placed) {
        memset(mask, 0, (size_t)got);
        memcpy(mask, asked, (size_t)got < sizeof asked ? (size_t)got : sizeof asked);
    }
#if defined(__x86_64__)
    looks_around = unbound;
#endif
    return got;
}
