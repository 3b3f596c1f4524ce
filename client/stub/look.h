/* look.h - looks at the file that the kernel or the loader is about to start: what is it, and does
 * it, or a library that it needs, contain a runtime that the shim serves?
 *
 * It has no state, allocates nothing, and needs no library: it runs in children of vfork, and in
 * the command. A file that cannot be read, or makes no sense, is NM_IMAGE_UNKNOWN.
 */
#ifndef NUMAESTRO_LOOK_H
#define NUMAESTRO_LOOK_H

#include <stdbool.h>
#include <stdint.h>

enum nm_image_kind {
    NM_IMAGE_UNKNOWN = 0, /* nobody can tell */
    NM_IMAGE_GLIBC = 1,   /* the dynamic loader of glibc starts it, for this architecture */
    NM_IMAGE_STATIC = 2,  /* it has no loader */
    NM_IMAGE_LOADER = 3,  /* it is a dynamic loader */
    NM_IMAGE_FOREIGN = 4, /* of another C library, architecture or word size */
    NM_IMAGE_SETID = 5,   /* it gets other rights, and its loader takes no library from a user */
};

struct nm_image {
    uint8_t kind;      /* enum nm_image_kind */
    uint8_t runtime;   /* 1: it needs a runtime that the shim serves */
    uint8_t sanitizer; /* 1: it needs the shared runtime of AddressSanitizer */
    uint8_t script;    /* 1: what was said is about the interpreter that its first line names */
    uint8_t content;   /* 1: it needs no library but the C library, and calls nothing that the stub answers */
};

/* The settings of a search for libraries. Each may be NULL. */
struct nm_search {
    const char *library_path; /* LD_LIBRARY_PATH */
    const char *rules;        /* NUMAESTRO_LIBRARIES: further names of runtimes */
    bool (*is_loaded)(const char *name); /* libraries that are there already are not looked at again */
    bool (*answers)(const char *name);   /* functions that the stub answers; NULL: nobody asks about them */
};

/* At the file that `execve` would start. */
struct nm_image nm_look_at_image(const char *path, const struct nm_search *search);
/* At the library that `dlopen` would load. */
bool nm_look_for_runtime(const char *file, const struct nm_search *search);
/* search.c */
#define NM_SEARCH_BYTES 1024u
long nm_open_file(const char *path); /* a descriptor, or a negative number */
void nm_close_file(long fd);
/* Fills `out` (NM_SEARCH_BYTES) with the path of a file that can be opened. `origin`: the file that
 * needs it. */
bool nm_find_library(const char *name, const char *run_path, const char *origin, const struct nm_search *search, char *out);

/* Until glibc 2.34 functions of the C library were in files of their own, which the shim needs. Who
 * has copied into a root only what its programs need has none. */
bool nm_shim_finds_its_libraries(const char *library_path);

/* runtime.c: what the name of a file says: a runtime that the shim serves, or one that the user's
 * rules name */
bool nm_is_runtime_name(const char *path, const char *rules);
bool nm_is_named_by_user(const char *file, const char *rules);

#endif
