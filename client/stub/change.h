/* change.h - what becomes of the environment and the affinity of one image that is started.
 */
#ifndef NUMAESTRO_CHANGE_H
#define NUMAESTRO_CHANGE_H

#include "stub.h"

#define NM_PATH_BYTES 2048u
#define NM_TEXT_BYTES 4096u
#define NM_ADDED_MAX 40u
#define NM_LIST_BYTES 1024u
#define NM_WORD_BYTES 48u
#define NM_REPLACED_MAX 5u

/* The C library's function behind ours. */
#define NM_NEXT(name, type) \
    static type *_Atomic next_##name; \
    static type *name##_next(void) \
    { \
        if (!next_##name) \
            next_##name = (type *)nm_stub_next(#name); \
        return next_##name; \
    }

/* What becomes of one image. */
struct nm_change {
    bool needed;      /* the environment differs from the given one */
    bool looked;      /* it is known what it is, and it may be managed */
    bool bare;        /* it starts without the stub: nobody of ours answers its questions */
    bool rights;      /* it starts with other rights than its caller's: no manager of the caller's may move it */
    const char *preload, *all, *now, *pool, *sanitizer; /* entries to put in, NULL = as it is */
    bool drop_preload, drop_now;
    bool restore;     /* what this process was told is missing */
    char stub[NM_PATH_BYTES], shim[NM_PATH_BYTES]; /* their paths, while it is decided */
    char preload_text[NM_TEXT_BYTES], sanitizer_text[NM_LIST_BYTES];
    char all_text[NM_LIST_BYTES], now_text[NM_LIST_BYTES], pool_text[NM_WORD_BYTES];
};

struct nm_moved {
    bool done;
    struct nm_cpus before, after;
};


struct start; /* exec.c */

/* Everything about one start that needs more room than a stack may have. What most starts need
 * comes first, in one page. */
struct nm_plan {
    const struct start *start;
    char *const *envp;
    struct nm_moved moved;
    struct nm_change change;
    char path[NM_PATH_BYTES];
    const char *replaced[NM_REPLACED_MAX]; /* entries of `envp` that others stand for, in a stand-in */
    const char *entries[];
};

/* change.c */
void nm_change_begin(struct nm_change *change);
void nm_change_choose(struct nm_change *change, const char *path, char *const argv[], char *const envp[]);
bool nm_change_replaces(const struct nm_change *change, const char *entry); /* another entry stands for it */
/* Fills `out`, which has room for all of `envp` and NM_ADDED_MAX more. */
void nm_change_compose(const struct nm_change *change, char *const envp[], const char **out);
void nm_entry_of(char *out, size_t room, const char *name, const struct nm_cpus *set, const char **entry);

/* place.c */
void nm_place(struct nm_change *change, char *const envp[], struct nm_moved *moved);
void nm_place_undo(const struct nm_moved *moved);

/* environment.c */
size_t nm_entries(char *const envp[]);
char *const *nm_own_environment(void);
bool nm_has_name_of(char *const envp[], size_t count, const char *entry); /* an entry of the same name is there */
size_t nm_plan_bytes(char *const envp[]);
int nm_fail(int error); /* sets errno; -1 */

#endif
