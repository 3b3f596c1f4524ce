/* whole.h - a region whose team keeps its size while the number of its processors changes.
 *
 * A *pass* is one execution of a region by the primary root's team. A *member* is what a thread of the team knows of it. Each
 * barrier of a pass has a number, counted by each member for itself. Members use the runtime's own barriers, or those of fold.h
 * (then the pass is folded); the root decides on a change before it comes to a barrier, for the barrier after it, so that
 * all members have seen the decision when they come there.
 *
 * A team that is *held open* stays inside one region of the runtime while the program leaves regions and opens others. The
 * adapters (gomp_*.c, kmp_*.c) know how; whole.c knows when.
 */
#ifndef NUMAESTRO_WHOLE_H
#define NUMAESTRO_WHOLE_H

#include "../fold/watch.h"
#include "shim.h"

struct nm_pass {
    struct nm_runtime *runtime;
    struct nm_region *region;
    uint32_t members;
    bool held;                  /* its team is held open */
    bool begins_real;           /* its constructs are the runtime's at its beginning */
    bool to_real;               /* what the change is to */
    _Atomic uint32_t change_at; /* number of a barrier, 0 = no change so far */
    void (*body)(struct nm_pass *, uint32_t number); /* the program's region, for one member */
    void (*real_barrier)(void); /* the runtime's, for a pass whose constructs are the runtime's at its end */
    void *copied;               /* of a single construct with copyprivate */
};

struct nm_member {
    struct nm_pass *pass; /* NULL: outside, or inside a nested region */
    uint32_t barriers;    /* that it has come to */
    bool real;            /* it uses the runtime's own constructs */
    bool joined;          /* it has a context */
    uint8_t first;        /* of `parallel sections`: 0 = ask the runtime, 1 = `section` is the first */
    unsigned section;
};
extern __thread struct nm_member nm_member __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Why a region with this plan cannot be folded in user space; NM_WHY_NONE: it can. */
enum nm_fold_why nm_whole_refused(struct nm_runtime *runtime, uint32_t members);
/* From any thread, for good: something in this process does not go together with folding in user space. */
void nm_whole_refuse(enum nm_fold_why why);
bool nm_whole_is_refused(void);

/* A member of a pass that the runtime's own region runs: around the body. */
void nm_pass_member(struct nm_pass *pass, uint32_t number);

/* Opens the team that is to be held; `enter` as in nm_fold_open. Root, in sequential code. */
bool nm_whole_open(struct nm_runtime *runtime, uint32_t members, uint32_t flags, void (*enter)(void *), void *argument,
                   void (*inside)(bool));
/* Whether the team held open is one like this. A different one is dissolved, and so is one whose settings are old. */
bool nm_whole_holds(struct nm_runtime *runtime, uint32_t members, uint32_t flags);
void nm_whole_run(struct nm_pass *pass);
/* Before anything that needs the runtime to itself. Does nothing inside a region, or where nothing is held. */
void nm_whole_dissolve(void);
/* The program has changed a setting that the members of a team take over when the team begins. */
void nm_whole_settings(void);
bool nm_whole_is_held(void);

void nm_pass_change(struct nm_member *member, struct nm_pass *pass);
void nm_pass_look(struct nm_member *member, struct nm_pass *pass);

/* A member comes to a barrier of `runtime`. True: it is to meet the others by nm_fold_barrier. */
static inline bool nm_meets(struct nm_member *member, const struct nm_runtime *runtime)
{
    struct nm_pass *pass = member->pass;
    if (!pass || NM_UNLIKELY(pass->runtime != runtime))
        return false;
    uint32_t number = ++member->barriers;
    if (NM_UNLIKELY(atomic_load_explicit(&pass->change_at, memory_order_relaxed) == number))
        nm_pass_change(member, pass);
    if (nm_self.root == NM_PRIMARY)
        nm_pass_look(member, pass);
    return !member->real;
}

/* Whether the next barrier is such a one. */
static inline bool nm_will_meet(const struct nm_member *member, const struct nm_runtime *runtime)
{
    struct nm_pass *pass = member->pass;
    if (!pass || NM_UNLIKELY(pass->runtime != runtime))
        return false;
    bool changes = atomic_load_explicit(&pass->change_at, memory_order_relaxed) == member->barriers + 1;
    return changes ? !pass->to_real : !member->real;
}

/* Around a region opened by a member: its constructs are the runtime's. */
struct nm_member nm_nested_begin(unsigned asked);
static inline void nm_nested_end(const struct nm_member *outer)
{
    nm_member = *outer;
}

/* gomp_inside.c */
void nm_gomp_find(struct nm_runtime *runtime, void *handle);
bool nm_gomp_run(struct nm_pass *pass, uint32_t flags);
bool nm_gomp_starts_loops(const struct nm_runtime *runtime);
void nm_gomp_start_loop(const struct nm_runtime *runtime, int kind, long from, long to, long step, long chunk);
void nm_gomp_start_sections(const struct nm_runtime *runtime, unsigned count);

#endif
