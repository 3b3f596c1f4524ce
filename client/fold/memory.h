/* memory.h - memory of a team, straight from the kernel: a member may be inside the program's
 * allocator.
 */
#ifndef NUMAESTRO_FOLD_MEMORY_H
#define NUMAESTRO_FOLD_MEMORY_H

#include <stddef.h>
#include <sys/mman.h>

#define NM_GUARD_BYTES 4096

/* Allocates memory above a page that no code may touch; NULL if there is none. */
static inline char *nm_new_stack(size_t bytes)
{
    char *at = mmap(NULL, bytes + NM_GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    mprotect(at, NM_GUARD_BYTES, PROT_NONE);
    return at + NM_GUARD_BYTES;
}

static inline void *nm_new_zeroed(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

#endif
