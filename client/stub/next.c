/* next.c - looks names up in the objects that the loader has loaded.
 *
 * It takes no lock, so it may be asked in signal handlers and in children of vfork: the objects
 * that the loader has loaded at the start are never unloaded, and the C library is one of them.
 * Of the objects that came later, the last one may not be ready: another thread loads it at this
 * moment. Only the loader itself knows, and has a lock.
 */
#include "stub.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

/* Where they are missing (another C library), we do without. */
extern struct r_debug _r_debug __attribute__((weak));
extern void *dlsym(void *, const char *) __attribute__((weak));
/* First byte of this file in memory, from the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static const void *absolute(const struct link_map *map, ElfW(Addr) address)
{
    return (const void *)(address < map->l_addr ? address + map->l_addr : address);
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static void *value_of(const struct link_map *map, const ElfW(Sym) *symbol)
{
    uintptr_t value = map->l_addr + symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        return ((void *(*)(void))value)();
    return (void *)value;
}

/* The default version of a symbol that an object defines. */
void *nm_stub_symbol_in(const struct link_map *map, const char *name)
{
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    const uint32_t *table = NULL;
    const uint16_t *versions = NULL;
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            symbols = absolute(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_STRTAB)
            strings = absolute(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_GNU_HASH)
            table = absolute(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_VERSYM)
            versions = absolute(map, d->d_un.d_ptr);
    }
    if (!symbols || !strings || !table || table[0] == 0)
        return NULL;
    uint32_t hash = hash_of(name), bloom_words = table[2];
    const uint64_t *bloom = (const uint64_t *)(table + 4);
    const uint32_t *buckets = (const uint32_t *)(bloom + bloom_words), *chain = buckets + table[0];
    uint64_t word = bloom[hash / 64 % bloom_words];
    if (!(word >> hash % 64 & word >> (hash >> table[3]) % 64 & 1))
        return NULL;
    uint32_t at = buckets[hash % table[0]];
    for (; at >= table[1]; at++) {
        uint32_t found = chain[at - table[1]];
        const ElfW(Sym) *symbol = &symbols[at];
        if ((found | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
            !(versions && versions[at] & 0x8000) && nm_equal(strings + symbol->st_name, name))
            return value_of(map, symbol);
        if (found & 1)
            break;
    }
    return NULL;
}

const struct link_map *nm_stub_own_map(void)
{
    const struct link_map *map = &_r_debug ? _r_debug.r_map : NULL;
    while (map && map->l_addr != (ElfW(Addr))__ehdr_start)
        map = map->l_next;
    return map;
}

/* The last object of the start. */
static const struct link_map *_Atomic last;

/* Nothing has been opened by hand yet, or by constructors that are over. */
void nm_stub_note_last(void)
{
    const struct link_map *map = nm_stub_own_map();
    while (map && map->l_next)
        map = map->l_next;
    last = map;
}

const struct link_map *nm_stub_last_map(void)
{
    return last;
}

static void *found_from(const struct link_map *map, const struct link_map *end, const char *name)
{
    void *found = NULL;
    for (; map && !found; map = map == end ? NULL : map->l_next)
        found = nm_stub_symbol_in(map, name);
    return found;
}

void *nm_stub_next(const char *name)
{
    const struct link_map *own = nm_stub_own_map(), *end = last;
    void *found = own && own != end ? found_from(own->l_next, end, name) : NULL;
    return found || !dlsym ? found : dlsym(RTLD_NEXT, name);
}

/* For the shim, which may lie behind everything. It asks for functions of a runtime, too, which
 * only those call who have loaded it. */
STUB_EXPORT void *numaestro_next(const char *name)
{
    const struct link_map *end = last;
    void *found = nm_stub_next(name);
    return found || !end ? found : found_from(end->l_next, NULL, name);
}
