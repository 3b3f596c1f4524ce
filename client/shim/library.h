/* library.h - the objects of the program that own parallel regions or a pool of threads: what the
 * shim does with each, and how that is said.
 *
 * The verb of an object comes from its user (`NUMAESTRO_LIBRARIES`, which a profile sets), else
 * from the table in library.c.
 */
#ifndef NUMAESTRO_LIBRARY_H
#define NUMAESTRO_LIBRARY_H

#include "../src/client.h"

enum nm_verb {
    NM_VERB_NONE,   /* nothing is said: its teams are whole */
    NM_VERB_SET,    /* call its own setter of numbers of threads */
    NM_VERB_ANSWER, /* answer its questions about numbers of threads with the allocation */
    NM_VERB_LEAVE,  /* no setter, no answer, no folding in user space: the kernel alone */
};

/* A library that has a setter. */
struct nm_known {
    const char *file; /* part of the file's name */
    uint32_t kind;    /* NM_RUNTIME_* */
    const char *set, *get; /* of oneTBB: the functions that make and remove a limit */
};
extern const struct nm_known nm_known[] __attribute__((visibility("hidden")));
extern const size_t nm_known_count __attribute__((visibility("hidden")));

/* The user's word on the object of this file; NM_VERB_NONE if there is none. */
enum nm_verb nm_library_verb(const char *path);
/* Some object's questions are to be answered with the allocation. */
extern bool nm_library_answers __attribute__((visibility("hidden")));
/* Whether a file of this name may belong to a library that has a setter. */
bool nm_library_may_be_set(const char *path);
/* Whether the code at this address belongs to a BLAS library. One that was built with OpenMP needs
 * exactly the team for which it divided its work. */
bool nm_is_blas(uintptr_t address);

/* The number of the object of this file, from 1 on; 0 if the table is full. Objects of one name
 * have one number. */
unsigned nm_library_of(const char *path, uint32_t runtime);
/* From any thread: how it is steered now. `why`: enum nm_fold_why for NM_LIBRARY_KERNEL, else enum
 * nm_library_why. */
void nm_library_say(unsigned library, enum nm_library_how how, unsigned why, uint32_t threads);
/* The number that its latest question was answered with, as the size of its next region; 0 = it has
 * not asked. */
uint32_t nm_library_answered(unsigned library);
void nm_library_answer(unsigned library, uint32_t threads);
/* Under the adoption lock: writes everything that was said to the page, which may be a new one. */
void nm_libraries_publish(void);

#endif
