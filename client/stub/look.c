/* look.c - see look.h.
 *
 * The dynamic section of a file lists the libraries that it needs. They are searched for as glibc's
 * loader does: in the file's own run path, in LD_LIBRARY_PATH, in the loader's cache, in the usual
 * directories. A library that is not found is none.
 */
#include "look.h"

#include "system.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define NAME_BYTES 256u
#define NAMES_BYTES 2048u
#define HEADERS_MAX 32u
#define DYNAMIC_MAX 512u
#define NEEDED_MAX 64u
#define VISITS_MAX 256u /* libraries looked at for one question */
#define DEPTH_MAX 8u
#define SCRIPTS_MAX 5u  /* as the kernel */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

/* They need nothing that is of interest here. */
static const char *const plain[] = {"libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux", "libgcc_s.so", "libstdc++.so"};

static bool is_plain(const char *name)
{
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (nm_after(name, plain[i]))
            return true;
    return false;
}

/* Reads all of it, or says false. */
static bool read_at(long fd, void *out, size_t bytes, uint64_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        long got = nm_system4(SYS_pread64, fd, (char *)out + done, bytes - done, offset + done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Reads a text that ends with a zero; false if it is too long. */
static bool read_text(long fd, char *out, size_t room, uint64_t offset)
{
    long got = nm_system4(SYS_pread64, fd, out, room, offset);
    for (long i = 0; i < got; i++)
        if (out[i] == 0)
            return true;
    return false;
}

/* An ELF file of our own architecture. */
struct file {
    long fd;
    Elf64_Ehdr head;
    Elf64_Phdr headers[HEADERS_MAX];
    unsigned headers_count;
    uint64_t strings; /* place in the file of the strings of its dynamic section */
    uint64_t strings_bytes;
    uint64_t needed[NEEDED_MAX]; /* places of the names of needed libraries in `strings` */
    unsigned needed_count;
    uint64_t run_path; /* 0 = none */
};

static const Elf64_Phdr *header_of(const struct file *file, uint32_t type)
{
    for (unsigned i = 0; i < file->headers_count; i++)
        if (file->headers[i].p_type == type)
            return &file->headers[i];
    return NULL;
}

static bool is_ours(const Elf64_Ehdr *head)
{
    return head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_ident[EI_DATA] == ELFDATA2LSB && head->e_machine == MACHINE;
}

static bool read_headers(struct file *file)
{
    unsigned count = file->head.e_phnum;
    if (file->head.e_phentsize != sizeof(Elf64_Phdr) || count == 0)
        return false;
    file->headers_count = count < HEADERS_MAX ? count : HEADERS_MAX;
    return read_at(file->fd, file->headers, file->headers_count * sizeof(Elf64_Phdr), file->head.e_phoff);
}

/* The place in the file of what will be at `address`; 0 if it is nowhere. */
static uint64_t place_of(const struct file *file, uint64_t address)
{
    for (unsigned i = 0; i < file->headers_count; i++) {
        const Elf64_Phdr *p = &file->headers[i];
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
            return address - p->p_vaddr + p->p_offset;
    }
    return 0;
}

static void read_dynamic(struct file *file)
{
    const Elf64_Phdr *dynamic = header_of(file, PT_DYNAMIC);
    Elf64_Dyn entries[32];
    uint64_t strings = 0;
    file->needed_count = 0;
    file->run_path = 0;
    file->strings_bytes = 0;
    for (unsigned at = 0; dynamic && at < DYNAMIC_MAX; at += 32) {
        uint64_t left = dynamic->p_filesz / sizeof *entries;
        unsigned count = left > at + 32 ? 32 : left > at ? (unsigned)(left - at) : 0;
        if (count == 0 || !read_at(file->fd, entries, count * sizeof *entries, dynamic->p_offset + at * sizeof *entries))
            break;
        for (unsigned i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
            uint64_t value = entries[i].d_un.d_val;
            if (entries[i].d_tag == DT_NEEDED && file->needed_count < NEEDED_MAX)
                file->needed[file->needed_count++] = value;
            else if (entries[i].d_tag == DT_RUNPATH || (entries[i].d_tag == DT_RPATH && !file->run_path))
                file->run_path = value;
            else if (entries[i].d_tag == DT_STRTAB)
                strings = value;
            else if (entries[i].d_tag == DT_STRSZ)
                file->strings_bytes = value;
        }
    }
    file->strings = place_of(file, strings);
    if (!file->strings)
        file->needed_count = 0;
}

/* Opens a library; false if it is none of ours. */
static bool open_library(struct file *file, const char *path)
{
    file->fd = nm_open_file(path);
    if (file->fd < 0)
        return false;
    if (read_at(file->fd, &file->head, sizeof file->head, 0) && nm_after((const char *)file->head.e_ident, "\x7f" "ELF") &&
        is_ours(&file->head) && read_headers(file)) {
        read_dynamic(file);
        return true;
    }
    nm_close_file(file->fd);
    return false;
}

/* A search that follows needed libraries. Names are told apart by a hash: two that fall together
 * cost a look, at worst. */
struct walk {
    const struct nm_search *search;
    struct nm_image *image;
    uint32_t seen[VISITS_MAX];
    unsigned count;
};

static bool is_new(struct walk *walk, const char *name)
{
    uint32_t hash = 5381;
    for (const char *at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    for (unsigned i = 0; i < walk->count; i++)
        if (walk->seen[i] == hash)
            return false;
    if (walk->count == VISITS_MAX)
        return false;
    walk->seen[walk->count++] = hash;
    return true;
}

static void walk_file(struct walk *walk, struct file *file, const char *path, unsigned depth);

static __attribute__((noinline)) void walk_library(struct walk *walk, const char *path, unsigned depth)
{
    struct file file;
    if (depth < DEPTH_MAX && open_library(&file, path)) {
        walk_file(walk, &file, path, depth + 1);
        nm_close_file(file.fd);
    }
}

static void walk_needed(struct walk *walk, const char *name, const char *run_path, const char *origin, unsigned depth)
{
    if (nm_contains(name, "libasan.so") || nm_contains(name, "libclang_rt.asan"))
        walk->image->sanitizer = 1;
    if (nm_is_runtime_name(name, walk->search->rules))
        walk->image->runtime = 1;
    if (walk->image->runtime || is_plain(name) || !is_new(walk, name))
        return;
    if (walk->search->is_loaded && walk->search->is_loaded(name))
        return;
    char path[NM_SEARCH_BYTES];
    if (nm_find_library(name, run_path, origin, walk->search, path))
        walk_library(walk, path, depth);
}

static void walk_file(struct walk *walk, struct file *file, const char *path, unsigned depth)
{
    char run_path[512], name[NAME_BYTES];
    if (!file->run_path || !read_text(file->fd, run_path, sizeof run_path, file->strings + file->run_path))
        run_path[0] = 0;
    for (unsigned i = 0; i < file->needed_count && !walk->image->runtime; i++)
        if (read_text(file->fd, name, sizeof name, file->strings + file->needed[i]))
            walk_needed(walk, name, run_path, path, depth);
}

/* It needs the C library only, and none of its names is one of a function that the stub answers. A
 * program with many names calls one of them anyway. */
static bool is_content(const struct file *file, const struct nm_search *search)
{
    char names[NAMES_BYTES];
    size_t bytes = file->strings_bytes;
    if (!search->answers || bytes == 0 || bytes > sizeof names || !read_at(file->fd, names, bytes, file->strings) || names[bytes - 1])
        return false;
    for (unsigned i = 0; i < file->needed_count; i++) {
        const char *name = file->needed[i] < bytes ? names + file->needed[i] : "";
        if (!nm_after(name, "libc.so") && !nm_after(name, "libm.so") && !nm_after(name, "ld-linux"))
            return false;
    }
    for (size_t at = 0; at < bytes; at += nm_length(names + at) + 1)
        if (search->answers(names + at))
            return false;
    return true;
}

bool nm_look_for_runtime(const char *file, const struct nm_search *search)
{
    struct nm_image image = {0};
    struct walk walk = {.search = search, .image = &image};
    if (!file)
        return false;
    walk_needed(&walk, file, NULL, file, 0);
    return image.runtime;
}

/* Images */

/* What is not a regular file is not opened: a device may act, and a pipe may wake who waits for
 * it. */
static bool is_file(const char *path, struct stat *status)
{
    return nm_system4(SYS_newfstatat, AT_FDCWD, path, status, 0) == 0 && S_ISREG(status->st_mode);
}

static bool gets_rights(const char *path, const struct stat *status)
{
    char capability[64];
    /* The kernel and the loader compare numbers of users: root's own setuid programs get no other
     * rights when root starts them. */
    uid_t uid = (uid_t)nm_system3(SYS_getuid, 0, 0, 0);
    if ((status->st_mode & S_ISUID) && status->st_uid != uid)
        return true;
    if ((status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status->st_gid != (gid_t)nm_system3(SYS_getgid, 0, 0, 0))
        return true;
    return uid != 0 && nm_system4(SYS_getxattr, path, "security.capability", capability, sizeof capability) > 0;
}

static bool is_loader_name(const char *path)
{
    const char *name = nm_base(path);
    return nm_after(name, "ld-linux") || nm_after(name, "ld64.so") || nm_after(name, "ld.so");
}

static void look_at_elf(struct nm_image *image, struct file *file, const char *path, const struct nm_search *search)
{
    char loader[NAME_BYTES];
    if (!is_ours(&file->head) || !read_headers(file)) {
        image->kind = NM_IMAGE_FOREIGN;
        return;
    }
    const Elf64_Phdr *interpreter = header_of(file, PT_INTERP);
    if (!interpreter) {
        const char *name = nm_base(path);
        bool loads = file->head.e_type == ET_DYN && (is_loader_name(path) || nm_after(name, "ld-"));
        image->kind = loads ? NM_IMAGE_LOADER : NM_IMAGE_STATIC;
        return;
    }
    if (!read_text(file->fd, loader, sizeof loader, interpreter->p_offset) || !is_loader_name(loader)) {
        image->kind = NM_IMAGE_FOREIGN;
        return;
    }
    image->kind = NM_IMAGE_GLIBC;
    image->runtime = nm_is_named_by_user(nm_base(path), search->rules);
    struct walk walk = {.search = search, .image = image};
    read_dynamic(file);
    image->content = is_content(file, search);
    if (!image->content)
        walk_file(&walk, file, path, 0);
}

/* The interpreter that the first line of a script names; false if it names none. */
static bool interpreter_of(const char *line, size_t bytes, char *out)
{
    size_t at = 2, n = 0;
    while (at < bytes && (line[at] == ' ' || line[at] == '\t'))
        at++;
    while (at < bytes && n + 1 < NAME_BYTES && line[at] > ' ')
        out[n++] = line[at++];
    out[n] = 0;
    return n > 0;
}

struct nm_image nm_look_at_image(const char *path, const struct nm_search *search)
{
    struct nm_image image = {0};
    char interpreter[NAME_BYTES];
    for (unsigned depth = 0; depth < SCRIPTS_MAX; depth++) {
        union {
            Elf64_Ehdr head;
            char line[256];
        } begin;
        struct file file;
        struct stat status;
        if (!is_file(path, &status))
            break;
        if ((file.fd = nm_open_file(path)) < 0) {
            /* A script that cannot be read is none. */
            if (gets_rights(path, &status))
                image.kind = NM_IMAGE_SETID;
            break;
        }
        long got = nm_system4(SYS_pread64, file.fd, &begin, sizeof begin, 0);
        if (got >= (long)sizeof begin.head && nm_after(begin.line, "\x7f" "ELF")) {
            file.head = begin.head;
            if (gets_rights(path, &status))
                image.kind = NM_IMAGE_SETID;
            else
                look_at_elf(&image, &file, path, search);
            nm_close_file(file.fd);
            break;
        }
        nm_close_file(file.fd);
        if (got <= 0)
            break;
        image.script = 1;
        if (got > 2 && begin.line[0] == '#' && begin.line[1] == '!') {
            if (!interpreter_of(begin.line, (size_t)got, interpreter))
                break;
            path = interpreter;
        } else {
            /* `execvp`, and shells, give what the kernel does not know to the shell. */
            path = "/bin/sh";
        }
    }
    return image;
}
