/* imports.c - whether a region of this process may contain sections.
 *
 * Teams with sections keep their size even if other teams follow the allocation. Compiled code
 * calls the runtime to give sections out, so a program without that import has none. clang's code
 * gives out its loops of 32-bit numbers by the same entry.
 *
 * Undefined symbols stand before all others in an object's dynamic symbol table, and the GNU hash
 * table says where the others begin. An object without that table counts as one that may have
 * sections.
 */
#include "shim.h"

#include <elf.h>
#include <link.h>
#include <string.h>

struct tables {
    const ElfW(Sym) *symbols;
    const char *strings;
    const uint32_t *gnu_hash;
};

struct question {
    bool (*says)(const char *name, uintptr_t address, void *data);
    void *data;
    bool found;
};

static struct tables tables_of(const struct dl_phdr_info *info, const ElfW(Dyn) *dynamic)
{
    struct tables tables = {NULL, NULL, NULL};
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            tables.symbols = nm_absolute(info->dlpi_addr, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_STRTAB)
            tables.strings = nm_absolute(info->dlpi_addr, dynamic->d_un.d_ptr);
        else if (dynamic->d_tag == DT_GNU_HASH)
            tables.gnu_hash = nm_absolute(info->dlpi_addr, dynamic->d_un.d_ptr);
    }
    return tables;
}

static bool gives_out_sections(const char *name, uintptr_t address, void *data)
{
    (void)address;
    (void)data;
    return strcmp(name, "__kmpc_for_static_init_4") == 0 || strncmp(name, "GOMP_sections", 13) == 0;
}

/* The number of symbols to look at. The table of an object that exports nothing does not say it;
 * there the strings' place does, because linkers put them behind the symbols. */
static size_t count_of(const struct tables *tables)
{
    uint32_t undefined = tables->gnu_hash[1];
    if (undefined > 1)
        return undefined;
    uintptr_t symbols = (uintptr_t)tables->symbols, strings = (uintptr_t)tables->strings;
    return strings > symbols ? (strings - symbols) / sizeof *tables->symbols : 0;
}

static bool imports(const struct tables *tables, const struct question *question, uintptr_t address)
{
    size_t count = tables->symbols && tables->strings && tables->gnu_hash ? count_of(tables) : 0;
    for (size_t i = 1; i < count; i++) {
        const ElfW(Sym) *symbol = &tables->symbols[i];
        if (symbol->st_shndx == SHN_UNDEF && question->says(tables->strings + symbol->st_name, address, question->data))
            return true;
    }
    return count == 0;
}

/* The runtimes call each other by these names, and we forward them: they contain no region of a
 * program. */
static bool is_apart(const char *name)
{
    static const char *const names[] = {"libgomp", "libomp", "libiomp5", "libnumaestro", "linux-vdso", "ld-linux"};
    const char *file = strrchr(name, '/');
    file = file ? file + 1 : name;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct question *question = data;
    if (is_apart(info->dlpi_name))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_DYNAMIC)
            continue;
        struct tables tables = tables_of(info, (const ElfW(Dyn) *)(info->dlpi_addr + p->p_vaddr));
        question->found |= imports(&tables, question, (uintptr_t)info->dlpi_addr + p->p_vaddr);
    }
    return question->found;
}

bool nm_imports_any(bool (*says)(const char *, uintptr_t, void *), void *data)
{
    struct question question = {says, data, false};
    dl_iterate_phdr(look, &question);
    return question.found;
}

bool nm_may_have_sections(void)
{
    return nm_imports_any(gives_out_sections, NULL);
}
