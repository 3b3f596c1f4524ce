/* bound.c - the OpenMP runtime that an object's own calls go to.
 *
 * This library answers some names of a runtime and not others. All of an object's calls must go to
 * one runtime, so the one that the loader has bound its other names to is right. Where the loader
 * has bound none yet, it is going to look in the process's global scope before it looks in the
 * libraries that the object needs: a library built by gcc calls libomp in a program built by clang,
 * because libomp has libgomp's names and versions, too.
 */
#include "shim.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#if defined(__aarch64__)
#define SLOT_OF_CALL R_AARCH64_JUMP_SLOT
#define SLOT_OF_ADDRESS R_AARCH64_GLOB_DAT
#else
#define SLOT_OF_CALL R_X86_64_JUMP_SLOT
#define SLOT_OF_ADDRESS R_X86_64_GLOB_DAT
#endif

#define HIDDEN_VERSION 0x8000u

/* What the dynamic section says of the names that the object needs. */
struct needs {
    const struct link_map *map;
    const ElfW(Sym) *symbols;
    const char *strings;
    const ElfW(Half) *versions; /* by symbol */
    const ElfW(Verneed) *files;
    const ElfW(Rela) *calls, *others;
    size_t calls_bytes, others_bytes;
    const char *name; /* that is to be found in the runtime */
};

static struct needs needs_of(const struct link_map *map, const char *name)
{
    ElfW(Addr) of[DT_NUM] = {0}, versions = 0, files = 0; /* values by tag; those of two large tags */
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag > 0 && d->d_tag < DT_NUM)
            of[d->d_tag] = d->d_un.d_ptr;
        else if (d->d_tag == DT_VERSYM)
            versions = d->d_un.d_ptr;
        else if (d->d_tag == DT_VERNEED)
            files = d->d_un.d_ptr;
    }
    return (struct needs){
        .map = map,
        .symbols = nm_absolute(map->l_addr, of[DT_SYMTAB]),
        .strings = nm_absolute(map->l_addr, of[DT_STRTAB]),
        .versions = nm_absolute(map->l_addr, versions),
        .files = nm_absolute(map->l_addr, files),
        .calls = nm_absolute(map->l_addr, of[DT_JMPREL]),
        .others = nm_absolute(map->l_addr, of[DT_RELA]),
        .calls_bytes = of[DT_PLTRELSZ],
        .others_bytes = of[DT_RELASZ],
        .name = name,
    };
}

/* The version of a symbol that the object asks for; NULL: any. */
static const char *version_of(const struct needs *it, size_t symbol)
{
    unsigned wanted = it->versions && it->files ? it->versions[symbol] & ~HIDDEN_VERSION : 0;
    if (wanted <= VER_NDX_GLOBAL)
        return NULL;
    for (const char *at = (const char *)it->files; at;) {
        const ElfW(Verneed) *file = (const ElfW(Verneed) *)(const void *)at;
        for (const char *one = at + file->vn_aux; one;) {
            const ElfW(Vernaux) *version = (const ElfW(Vernaux) *)(const void *)one;
            if (version->vna_other == wanted)
                return it->strings + version->vna_name;
            one = version->vna_next ? one + version->vna_next : NULL;
        }
        at = file->vn_next ? at + file->vn_next : NULL;
    }
    return NULL;
}

/* The object of this address; NULL: it is in none. */
static const struct link_map *map_of(uintptr_t address)
{
    struct link_map *map = NULL;
    Dl_info info;
    return dladdr1((void *)address, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

/* `name` as this object has it itself; NULL: it has none. The loader knows the program by no name:
 * any other would be looked for on the disk. */
static void *own_symbol(const struct link_map *map, const char *name)
{
    if (!map || !map->l_name)
        return NULL;
    void *handle = dlopen(map->l_name[0] ? map->l_name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    void *found = handle ? dlsym(handle, name) : NULL;
    if (handle)
        nm_dlclose(handle);
    return found && map_of((uintptr_t)found) == map ? found : NULL;
}

/* Where the loader would find this symbol in the global scope if this library were not there. */
static void *in_global_scope(const struct needs *it, size_t symbol)
{
    const char *name = it->strings + it->symbols[symbol].st_name, *version = version_of(it, symbol);
    void *program = dlopen(NULL, RTLD_LAZY), *found = NULL;
    if (program) {
        found = version ? dlvsym(program, name, version) : dlsym(program, name);
        nm_dlclose(program);
    }
    if (found && nm_is_own((uintptr_t)found))
        found = version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
    return found;
}

/* Where the loader has bound the symbol of this place to. A call that has not been made yet leads
 * back into its own object. */
static void *bound_to(const struct needs *it, const ElfW(Rela) *place)
{
    void *target = *(void *const *)(it->map->l_addr + place->r_offset);
    const struct link_map *map = map_of((uintptr_t)target);
    return map && map != it->map && !nm_is_own((uintptr_t)target) ? target : NULL;
}

/* Asks about the names that compiled code calls (`by_compiler`), or that the program calls. */
static void *ask(const struct needs *it, const ElfW(Rela) *places, size_t bytes, bool by_compiler, bool bound)
{
    for (size_t i = 0; places && i < bytes / sizeof *places; i++) {
        unsigned long kind = ELF64_R_TYPE(places[i].r_info);
        size_t symbol = ELF64_R_SYM(places[i].r_info);
        const char *name = it->strings + it->symbols[symbol].st_name;
        bool compiler = strncmp(name, "GOMP_", 5) == 0 || strncmp(name, "__kmpc_", 7) == 0;
        if ((kind != SLOT_OF_CALL && kind != SLOT_OF_ADDRESS) || it->symbols[symbol].st_shndx != SHN_UNDEF ||
            (by_compiler ? !compiler : strncmp(name, "omp_", 4) != 0))
            continue;
        void *target = bound ? bound_to(it, &places[i]) : in_global_scope(it, symbol);
        void *found = target ? own_symbol(map_of((uintptr_t)target), it->name) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

void *nm_bound_symbol(uintptr_t address, const char *name)
{
    const struct link_map *map = nm_is_own(address) ? NULL : map_of(address);
    void *found = own_symbol(map, name);
    struct needs it = map && !found ? needs_of(map, name) : (struct needs){.map = NULL};
    for (int step = 0; step < 4 && !found && it.symbols && it.strings; step++) {
        bool by_compiler = step % 2 == 0, bound = step < 2;
        found = ask(&it, it.calls, it.calls_bytes, by_compiler, bound);
        if (!found)
            found = ask(&it, it.others, it.others_bytes, by_compiler, bound);
    }
    return found ? found : nm_symbol_for(address, name);
}
