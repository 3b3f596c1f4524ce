/* hide.c - Copies a library of glibc for the linker, as if it were of glibc 2.17: a name whose
 * default version is newer gets its newest version up to 2.17 as the default (dlsym of 2.34 that
 * of 2.2.5), and a name without one is not found by the linker at all. A program that is linked
 * against the copy asks the loader for no newer version. hide LIBRARY COPY Only the bits in the
 * table of versions change that say which version a name without one means. Programs never load
 * the copy.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MINOR = 17, HIDDEN = 0x8000 };

static _Noreturn void fail(const char *name, const char *what)
{
    fprintf(stderr, "hide: %s: %s\n", name, what);
    exit(1);
}

static unsigned char *content(const char *name, size_t *bytes)
{
    FILE *file = fopen(name, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail(name, "it cannot be read");
    long length = ftell(file);
    rewind(file);
    unsigned char *all = length > 0 ? malloc((size_t)length) : NULL;
    if (!all || fread(all, 1, (size_t)length, file) != (size_t)length)
        fail(name, "it cannot be read");
    fclose(file);
    *bytes = (size_t)length;
    return all;
}

// GLIBC_2.2.5 is 2005; what is no version of glibc (GLIBC_PRIVATE) is negative. The major number has always been 2.
static int age(const char *version)
{
    int minor, patch = 0;
    return sscanf(version, "GLIBC_2.%d.%d", &minor, &patch) >= 1 ? 1000 * minor + patch : -1;
}

// The section of a kind, which the linker reads too.
static const Elf64_Shdr *section(const unsigned char *all, size_t bytes, unsigned kind, const char *name)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)all;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(all + head->e_shoff);
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (sections[i].sh_type == kind && sections[i].sh_offset + sections[i].sh_size <= bytes)
            return &sections[i];
    fail(name, "it has no versions of symbols");
}

// The age of each version that the library defines, by its index.
static int *ages(const unsigned char *all, const Elf64_Shdr *defined, const char *names)
{
    int *found = malloc((HIDDEN + 1) * sizeof *found);
    if (!found)
        fail("versions", "no memory");
    for (int i = 0; i <= HIDDEN; i++)
        found[i] = -1;
    const unsigned char *at = all + defined->sh_offset;
    for (unsigned i = 0; i < defined->sh_info; i++) {
        const Elf64_Verdef *version = (const Elf64_Verdef *)at;
        const Elf64_Verdaux *called = (const Elf64_Verdaux *)(at + version->vd_aux);
        found[version->vd_ndx & ~HIDDEN] = age(names + called->vda_name);
        at += version->vd_next;
    }
    return found;
}

int main(int count, char **words)
{
    if (count != 3)
        fail("usage", "hide LIBRARY COPY");
    size_t bytes;
    unsigned char *all = content(words[1], &bytes);
    if (bytes < sizeof(Elf64_Ehdr) || memcmp(all, ELFMAG, SELFMAG) != 0 || all[EI_CLASS] != ELFCLASS64 || all[EI_DATA] != ELFDATA2LSB)
        fail(words[1], "it is no library of 64 bits");
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(all + ((const Elf64_Ehdr *)all)->e_shoff);
    const Elf64_Shdr *table = section(all, bytes, SHT_DYNSYM, words[1]);
    const Elf64_Sym *symbols = (const Elf64_Sym *)(all + table->sh_offset);
    const char *names = (const char *)all + sections[table->sh_link].sh_offset;
    Elf64_Half *versions = (Elf64_Half *)(all + section(all, bytes, SHT_GNU_versym, words[1])->sh_offset);
    const int *of = ages(all, section(all, bytes, SHT_GNU_verdef, words[1]), names);
    size_t symbol_count = table->sh_size / sizeof *symbols;
    for (size_t i = 0; i < symbol_count; i++) {
        bool is_default = symbols[i].st_shndx != SHN_UNDEF && !(versions[i] & HIDDEN);
        if (!is_default || of[versions[i]] < 1000 * (MINOR + 1))
            continue;
        versions[i] |= HIDDEN;
        size_t best = symbol_count;
        for (size_t k = 0; k < symbol_count; k++) {
            int old = of[versions[k] & ~HIDDEN];
            if (old >= 0 && old < 1000 * (MINOR + 1) && symbols[k].st_shndx != SHN_UNDEF &&
                strcmp(names + symbols[k].st_name, names + symbols[i].st_name) == 0 &&
                (best == symbol_count || old > of[versions[best] & ~HIDDEN]))
                best = k;
        }
        if (best < symbol_count)
            versions[best] &= (Elf64_Half)~HIDDEN;
    }
    FILE *copy = fopen(words[2], "wb");
    if (!copy || fwrite(all, 1, bytes, copy) != bytes || fclose(copy) != 0)
        fail(words[2], "it cannot be written");
    return 0;
}
