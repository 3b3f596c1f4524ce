/* rseq.c - whether the program uses restartable sequences (rseq(2)).
 *
 * The kernel reads and writes a thread's area where that thread registered it. A member on another
 * kernel thread would write to an area at which nobody looks, and its sequence would not be
 * restarted. The C library registers the area (since 2.35) and does no harm with it.
 *
 * What gives a user away: the names by which it finds that area, the name of an area of its own, a
 * tunable that keeps the C library from registering one, and the names of the usual libraries. Code
 * that has found the area by dlsym or in other ways shows once it has run in the root: only when
 * the kernel has to interrupt a thread, it clears the pointer to a sequence. Of such a program the
 * first folded region is wrong.
 */
#include "whole.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define RSEQ_CS 8 /* offset of the pointer to the present sequence */

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_of_libc(uintptr_t address)
{
    const char *path = "";
    nm_object_of(address, &path);
    const char *file = strrchr(path, '/');
    file = file ? file + 1 : path;
    return begins_with(file, "libc.so") || begins_with(file, "libc-2.") || begins_with(file, "ld-") || begins_with(file, "ld64.");
}

static bool names_area(const char *name, uintptr_t address, void *data)
{
    (void)data;
    return begins_with(name, "__rseq_") && !is_of_libc(address);
}

/* The linker gives a program that names a variable a copy of its own: then it imports nothing. */
static bool has_copy(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found && !is_of_libc((uintptr_t)found);
}

static int has_usual_name(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    const char *file = strrchr(info->dlpi_name, '/');
    file = file ? file + 1 : info->dlpi_name;
    *(bool *)data |= begins_with(file, "librseq") || begins_with(file, "libtcmalloc");
    return *(bool *)data;
}

bool nm_rseq_may_be_used(void)
{
    bool usual = false;
    dl_iterate_phdr(has_usual_name, &usual);
    const char *tunables = getenv("GLIBC_TUNABLES");
    return usual || (tunables && strstr(tunables, "glibc.pthread.rseq=0")) || has_copy("__rseq_offset") ||
           has_copy("__rseq_size") || has_copy("__rseq_flags") || has_copy("__rseq_abi") || nm_imports_any(names_area, NULL);
}

bool nm_rseq_was_used(void)
{
    static const ptrdiff_t *_Atomic offset;
    static const ptrdiff_t none = 0;
    if (!offset) {
        const ptrdiff_t *found = dlsym(RTLD_DEFAULT, "__rseq_offset");
        const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
        offset = found && size && *size != 0 ? found : &none;
    }
    uintptr_t thread = nm_thread_pointer();
    return offset != &none && thread && *(volatile const uint64_t *)(thread + (uintptr_t)*offset + RSEQ_CS) != 0;
}
