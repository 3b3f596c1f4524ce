/* search.c - searches for libraries as glibc's loader does: in the run path of the file that needs
 * one, in LD_LIBRARY_PATH, in the loader's cache, in the usual directories. A library that is not
 * found is none.
 */
#include "look.h"

#include "system.h"

#include <fcntl.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#define CACHE_FLAGS 0x0303u
static const char *const usual[] = {"/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/", "/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"};
#else
#define CACHE_FLAGS 0x0a03u
static const char *const usual[] = {"/lib/aarch64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/", "/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"};
#endif

long nm_open_file(const char *path)
{
    return nm_system4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

void nm_close_file(long fd)
{
    nm_system3(SYS_close, fd, 0, 0);
}

static bool try_in(const char *directory, size_t length, const char *origin, const char *name, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < length;) {
        size_t skip = 0;
        if (directory[i] == '$' && nm_after(directory + i, "$ORIGIN"))
            skip = 7;
        else if (directory[i] == '$' && nm_after(directory + i, "${ORIGIN}"))
            skip = 9;
        if (skip && origin) {
            size_t origin_length = (size_t)(nm_base(origin) - origin);
            /* Without the slash; a program that was named without one lies here. */
            const char *from = origin_length > 0 ? origin : "./";
            origin_length = origin_length > 1 ? origin_length - 1 : 1;
            if (n + origin_length >= NM_SEARCH_BYTES)
                return false;
            nm_copy(out + n, from, origin_length);
            n += origin_length;
            i += skip;
        } else {
            if (n + 1 >= NM_SEARCH_BYTES)
                return false;
            out[n++] = directory[i++];
        }
    }
    size_t name_length = nm_length(name);
    if (n == 0 || n + name_length + 2 > NM_SEARCH_BYTES)
        return false;
    if (out[n - 1] != '/')
        out[n++] = '/';
    nm_copy(out + n, name, name_length + 1);
    return nm_system4(SYS_faccessat, AT_FDCWD, out, 4 /* R_OK */, 0) == 0;
}

static bool try_list(const char *list, const char *origin, const char *name, char *out)
{
    while (list && *list) {
        size_t length = 0;
        while (list[length] && list[length] != ':' && list[length] != ';')
            length++;
        if (try_in(list, length, origin, name, out))
            return true;
        list += length + (list[length] != 0);
    }
    return false;
}

/* The loader's cache, in the form that glibc has written since 2.2: a head, rows, strings. */
struct cache_head {
    char magic[20]; /* "glibc-ld.so.cache1.1" */
    uint32_t count;
    uint32_t strings;
    uint32_t unused[5];
};
struct cache_row {
    int32_t flags;
    uint32_t key, value, os;
    uint64_t hardware;
};

static bool find_in_cache(const char *cache, size_t bytes, const char *name, char *out)
{
    const struct cache_head *head = (const void *)cache;
    /* An older part may stand before. */
    for (size_t at = 0; at + sizeof *head <= bytes; at += 4) {
        head = (const void *)(cache + at);
        if (nm_after(head->magic, "glibc-ld.so.cache1.1"))
            break;
        if (at > 0 && !nm_after(cache, "ld.so-1.7.0"))
            return false;
        head = NULL;
    }
    if (!head)
        return false;
    const char *base = (const char *)head;
    const struct cache_row *rows = (const void *)(head + 1);
    size_t room = bytes - (size_t)(base - cache);
    if (head->count > (room - sizeof *head) / sizeof *rows)
        return false;
    for (uint32_t i = 0; i < head->count; i++) {
        const struct cache_row *row = &rows[i];
        if (row->key >= room || row->value >= room || (uint32_t)row->flags != CACHE_FLAGS || row->hardware != 0)
            continue;
        if (!nm_equal(base + row->key, name))
            continue;
        size_t length = nm_length(base + row->value);
        if (length >= NM_SEARCH_BYTES)
            return false;
        nm_copy(out, base + row->value, length + 1);
        return true;
    }
    return false;
}

static bool try_cache(const char *name, char *out)
{
    long fd = nm_open_file("/etc/ld.so.cache");
    if (fd < 0)
        return false;
    long bytes = nm_system3(SYS_lseek, fd, 0, 2 /* SEEK_END */);
    /* One more zero ends its last text. */
    long at = bytes > (long)sizeof(struct cache_head)
                  ? nm_system(SYS_mmap, 0, bytes + 1, PROT_READ, MAP_PRIVATE, fd, 0)
                  : -1;
    nm_close_file(fd);
    if (at < 0 && at > -4096)
        return false;
    bool found = find_in_cache((const char *)at, (size_t)bytes, name, out);
    nm_system3(SYS_munmap, at, bytes + 1, 0);
    return found;
}

bool nm_find_library(const char *name, const char *run_path, const char *origin, const struct nm_search *search, char *out)
{
    if (nm_contains(name, "/"))
        return try_in(name, (size_t)(nm_base(name) - name), origin, nm_base(name), out);
    if (try_list(run_path, origin, name, out) || try_list(search->library_path, origin, name, out) || try_cache(name, out))
        return true;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (try_in(usual[i], nm_length(usual[i]), NULL, name, out))
            return true;
    return false;
}

bool nm_shim_finds_its_libraries(const char *library_path)
{
    static const char *const needed[] = {"libpthread.so.0", "libdl.so.2"};
    struct nm_search search = {.library_path = library_path};
    char path[NM_SEARCH_BYTES];
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!nm_find_library(needed[i], NULL, NULL, &search, path))
            return false;
    return true;
}
