/* kmp.h - libomp's constructs, as the shim found them in a runtime. For the files kmp_*.c only.
 */
#ifndef NUMAESTRO_KMP_H
#define NUMAESTRO_KMP_H

#include "whole.h"

typedef void (*nm_combine)(void *, void *);

struct nm_kmp {
    void (*barrier)(void *, int32_t);
    int32_t (*cancel_barrier)(void *, int32_t);
    int32_t (*reduce)(void *, int32_t, int32_t, size_t, void *, nm_combine, void *);
    int32_t (*reduce_nowait)(void *, int32_t, int32_t, size_t, void *, nm_combine, void *);
    void (*end_reduce)(void *, int32_t, void *);
    void (*end_reduce_nowait)(void *, int32_t, void *);
    void (*copyprivate)(void *, int32_t, size_t, void *, nm_combine, int32_t);
    void *(*copyprivate_light)(void *, int32_t, void *); /* newer ones */
    void (*ordered)(void *, int32_t);
    void (*doacross_wait)(void *, int32_t, const int64_t *);
    int32_t (*task)(void *, int32_t, void *);
    int32_t (*task_with_deps)(void *, int32_t, void *, int32_t, void *, int32_t, void *);
    void (*task_begin)(void *, int32_t, void *);
    void (*task_complete)(void *, int32_t, void *);
    void (*taskloop)(void *, int32_t, void *, int32_t, uint64_t *, uint64_t *, int64_t, int32_t, int32_t, uint64_t, void *);
    void (*taskloop_5)(void *, int32_t, void *, int32_t, uint64_t *, uint64_t *, int64_t, int32_t, int32_t, uint64_t, int32_t,
                       void *);
    void (*serialized)(void *, int32_t);
    void (*end_serialized)(void *, int32_t);
    void *static_init[4]; /* by the loop variable's type: 32 bits, the same unsigned, 64 bits, the same unsigned */
    _Atomic int loops;    /* static loops whose division was compared with libomp's; -1: libomp divides all */
    _Atomic int keeps_size; /* whether a pushed size outlasts a serialized region: 1 = it stays, -1 = it is gone, 0 = not known */
};

/* ident_t: the place in the source from which a call comes. */
struct nm_kmp_ident {
    int32_t reserved, flags, reserved2, reserved3;
    const char *source;
};
extern struct nm_kmp_ident nm_kmp_place __attribute__((visibility("hidden"))); /* of our own calls */

/* kmp_order.c: true if the team of this pass reduces in a known tree; false: its members reduce one
 * after the other. */
bool nm_kmp_reduces_in_tree(const struct nm_pass *pass, const void *data, nm_combine combine);
/* The root calls this when all have come: combines the data of all members into the root's. */
void nm_kmp_combine_all(const struct nm_pass *pass, void **data, nm_combine combine);

/* kmp_loops.c */
void nm_kmp_find_loops(struct nm_runtime *runtime, struct nm_kmp *k);

#endif
