/* gomp_team.c - holds a team of libgomp open.
 *
 * Outside of regions libgomp must not notice the held team. All its state of a thread is in
 * thread-local storage; so the root has two copies of that, and one of them is in force. libgomp
 * then answers every question and carries out every construct in sequential code as without us,
 * also if the program found the function by dlsym. A region of one thread is such a construct: a
 * region whose `if` clause is false passes over the held team.
 */
#include "whole.h"

#include <link.h>
#include <string.h>

#define STATE_BYTES 512

typedef void (*parallel_fn)(nm_outlined, void *, unsigned, unsigned);

/* The part of the calling thread's storage that belongs to a loaded object. */
struct storage {
    uintptr_t base;
    size_t module, bytes;
};

static int find_storage(struct dl_phdr_info *info, size_t size, void *data)
{
    struct storage *storage = data;
    if (info->dlpi_addr != storage->base || size < sizeof *info)
        return 0;
    storage->module = info->dlpi_tls_modid;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            storage->bytes = info->dlpi_phdr[i].p_memsz;
    return 1;
}

/* The C library's own way from an object's number to its storage. `dlpi_tls_data` will not do: it
 * is NULL where no code of the object has asked in this way before, and code of a library that was
 * loaded by `dlopen`, as by Python, need not ask. */
struct place {
    size_t module, offset;
};
extern void *__tls_get_addr(struct place *);

bool nm_gomp_state_is_known(const struct nm_runtime *runtime)
{
    struct storage storage = {.base = runtime->base};
    dl_iterate_phdr(find_storage, &storage);
    return storage.bytes > 0 && storage.bytes <= STATE_BYTES;
}

static struct {
    struct nm_runtime *runtime;
    void *at;
    size_t bytes;
    uint32_t members, flags;
    alignas(16) char inside[STATE_BYTES], outside[STATE_BYTES];
} held;

static void switch_state(bool inside)
{
    memcpy(inside ? held.outside : held.inside, held.at, held.bytes);
    memcpy(held.at, inside ? held.inside : held.outside, held.bytes);
}

static void held_member(void *unused)
{
    (void)unused;
    /* A limit of threads may have made the team smaller: then the shim cannot use it, and all
     * members see that. */
    if ((uint32_t)held.runtime->get_num_threads() != held.members)
        return;
    nm_whole_member((uint32_t)held.runtime->get_thread_num());
}

/* The runtime's region of the held team, from its beginning to its end. Sequential code may be in a
 * region of one thread when it ends, and goes on with its own state. */
static void enter(void *unused)
{
    (void)unused;
    ((parallel_fn)held.runtime->parallel)(held_member, NULL, held.members, held.flags);
    memcpy(held.at, held.outside, held.bytes);
}

static void nothing(void *unused)
{
    (void)unused;
}

static bool open_team(struct nm_runtime *runtime, uint32_t members, uint32_t flags)
{
    struct storage storage = {.base = runtime->base};
    dl_iterate_phdr(find_storage, &storage);
    if (storage.module == 0 || storage.bytes > STATE_BYTES)
        return false;
    /* Makes libgomp keep the thread's settings in memory of their own from now on, also those made
     * in sequential code. The region makes the thread's pool, if it has none. So both copies of the
     * state name the same. */
    runtime->set_num_threads(runtime->get_max_threads());
    ((parallel_fn)runtime->parallel)(nothing, NULL, 1, 0);
    held.runtime = runtime;
    held.at = __tls_get_addr(&(struct place){.module = storage.module});
    held.bytes = storage.bytes;
    held.members = members;
    held.flags = flags;
    memcpy(held.outside, held.at, held.bytes);
    if (!nm_whole_open(runtime, members, flags, enter, NULL, switch_state))
        return false;
    switch_state(false);
    bool outside = runtime->get_level() == 0;
    if (NM_LIKELY(outside && !nm_whole_is_refused()))
        return true;
    /* A member has seen a reason; or libgomp keeps more state of a thread than we know: then it is
     * never to hold a team again. */
    nm_whole_dissolve();
    runtime->whole = runtime->whole && outside;
    return false;
}

bool nm_gomp_run(struct nm_pass *pass, uint32_t flags)
{
    struct nm_runtime *runtime = pass->runtime;
    if (!nm_whole_holds(runtime, pass->members, flags) &&
        (!nm_whole_may_open(pass) || !open_team(runtime, pass->members, flags)))
        return false;
    nm_whole_run(pass);
    return true;
}
