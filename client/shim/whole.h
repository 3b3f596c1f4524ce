/* whole.h - a region whose team keeps its size while the number of its processors changes.
 *
 * A *pass* is one execution of a region by the primary root's team. A *member* is the record that a
 * thread of the team keeps of it. Each barrier of a pass has a number; each member counts for
 * itself. Members use the runtime's own barriers, or those of fold.h (then the pass is folded); the
 * root decides on a change before it comes to a barrier, for the barrier after it, so that all
 * members have seen the decision when they get there.
 *
 * A task is the runtime's, which runs tasks where its threads meet. So the first task of a folded
 * pass *recalls* the meeting before which it was made: every member comes to the runtime's barrier
 * instead, also one that waits already, and the rest of the pass is the runtime's. Members stay on
 * the carriers that run them, and each has one, because the team has been given back: a member that
 * had to go home first could find a member there that waits for its task.
 *
 * A team that is *held open* stays inside one region of the runtime while the program leaves
 * regions and opens others. The adapters (gomp_*.c, kmp_*.c) open and dissolve it; whole.c decides
 * when.
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
    bool begins_real;           /* its constructs are the runtime's at first */
    bool to_real;               /* the change is to the runtime's constructs */
    bool rests;                 /* opening teams does not pay at present */
    _Atomic uint32_t change_at; /* number of a barrier, 0 = no change so far */
    _Atomic uint32_t recalled_at; /* number of the barrier whose meeting is recalled, 0 = none */
    void (*body)(struct nm_pass *, uint32_t number); /* the program's region, for one member */
    void (*real_barrier)(struct nm_runtime *);       /* the runtime's */
    void *copied;               /* data of a single construct with copyprivate */
};

struct nm_member {
    struct nm_pass *pass; /* NULL: outside, or inside a nested region */
    uint32_t barriers;    /* number of barriers that it has come to */
    bool real;            /* it uses the runtime's own constructs */
    bool joined;          /* it has a context */
    uint32_t announced;   /* root: the decision that its team makes room for, before it is adopted */
    bool copies;          /* the shim carries out its `single` with copyprivate */
    uint8_t first;        /* of `parallel sections`: 0 = ask the runtime, 1 = `section` is the first */
    unsigned section;
};
extern __thread struct nm_member nm_member __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The reason why a region with this plan cannot be folded in user space; NM_WHY_NONE: it can. */
enum nm_fold_why nm_whole_refused(const struct nm_region *region, uint32_t members);
/* Why the kernel folds this region at present; NM_WHY_NONE: the shim does, in user space. */
enum nm_fold_why nm_whole_by(const struct nm_region *region, uint32_t members);
/* The kernel folds this execution of the region. */
void nm_whole_by_kernel(struct nm_pass *pass, enum nm_fold_why why);
/* From any thread, for good: something in this process does not go together with folding in user
 * space. */
void nm_whole_refuse(enum nm_fold_why why);
bool nm_whole_is_refused(void);
/* A thread has changed, or is changing, what the kernel keeps for it: no other thread of its team
 * may run on its kernel thread, nor it on another one's. From any thread. */
void nm_whole_differs(uintptr_t thread);
bool nm_whole_has_differing(void);
/* Of a thread that becomes a member of a team that is to be held. */
void nm_whole_member(uint32_t number);
void nm_whole_forget_differing(void); /* in the child after a fork */
/* Or something has come that nobody has looked at. */
bool nm_whole_may_be_refused(void);
/* Says who folds the regions of the library that owns this one. */
void nm_whole_say_library(struct nm_pass *pass, bool by_kernel, enum nm_fold_why why);
/* Called when something is being loaded that the shim has not looked at. */
void nm_whole_more_loaded(void);

/* Runs the body in a member of a pass whose region the runtime runs. */
void nm_pass_member(struct nm_pass *pass, uint32_t number);

/* Whether it is worth while to open a team to be held for this pass; called before each opening. */
bool nm_whole_may_open(struct nm_pass *pass);
/* Opens the team that is to be held; `enter` as in nm_fold_open. Root, in sequential code. */
bool nm_whole_open(struct nm_runtime *runtime, uint32_t members, uint32_t flags, void (*enter)(void *), void *argument,
                   void (*inside)(bool));
/* Whether the held team is one like this. A different one is dissolved, and so is one whose
 * members cannot take the present settings over. */
bool nm_whole_holds(struct nm_runtime *runtime, uint32_t members, uint32_t flags);
void nm_whole_run(struct nm_pass *pass);
/* Called before anything that needs the runtime to itself. Does nothing inside a region of the held
 * team, or if no team is held. */
void nm_whole_dissolve(void);
/* The held team may stay while sequential code opens a region of one thread. */
bool nm_whole_lets_pass(void);
/* The settings that members of a team take over when the team begins, and that functions of the
 * runtime set. */
struct nm_settings {
    int max_threads, dynamic, levels, kind, chunk;
};
void nm_settings_read(const struct nm_runtime *runtime, struct nm_settings *settings);
bool nm_settings_differ(const struct nm_settings *a, const struct nm_settings *b);
/* The program has changed a setting that the members of a team take over when the team begins. */
void nm_whole_settings(void);
/* The caller is the root in sequential code while a team of this runtime, a libgomp, is held: a
 * schedule that it sets is seen when the next region begins. */
bool nm_whole_compares(const struct nm_runtime *runtime);
extern _Atomic bool nm_whole_open_now __attribute__((visibility("hidden")));
static inline bool nm_whole_is_held(void)
{
    return atomic_load_explicit(&nm_whole_open_now, memory_order_relaxed);
}
/* A member of a folded team is about to do something that belongs to its own kernel thread. */
void nm_whole_own_thread(void);
/* The caller's signal mask may have changed: what the root leaves to other threads must reach
 * them. */
void nm_whole_masks(void);

/* signals.c */
void nm_signals_follow(void); /* from now on signals of the process go to the root, who calls this */
bool nm_signals_differ(void); /* whether the root of the open team leaves signals to the others */
bool nm_signals_left_to_others(void); /* the same before a team is opened, as far as it is known */
bool nm_signals_are_left_to(uint32_t number); /* to this member, who has joined in the middle of a region */

/* The runtime may run the region as it is: its team is not folded, and cannot be folded before its
 * end. A quick plan belongs to the primary root outside of other regions. */
static inline bool nm_is_bare(const struct nm_plan *plan)
{
    return plan->quick && !plan->fold && atomic_load_explicit(&plan->region->bare, memory_order_relaxed) &&
           NM_LIKELY(!nm_whole_is_held());
}

static inline void nm_leave_bare(struct nm_region *region)
{
    if (NM_UNLIKELY(nm_self.met)) {
        nm_self.met = false;
        region->bare = false;
    }
    nm_quick_leave();
}

void nm_pass_change(struct nm_member *member, struct nm_pass *pass);
void nm_pass_look(struct nm_member *member, struct nm_pass *pass);
/* The body ends with a barrier, too: the member comes to one at which the pass is recalled, or
 * changes to the runtime's. A change to folding comes too late. */
void nm_pass_comes_to_end(struct nm_member *member, const struct nm_pass *pass);
/* The member's next barrier is to be the runtime's. */
void nm_pass_recall(const struct nm_member *member, struct nm_pass *pass);

static inline bool nm_is_recalled(const struct nm_pass *pass, uint32_t number)
{
    return NM_UNLIKELY(atomic_load_explicit(&pass->recalled_at, memory_order_relaxed) == number);
}

/* A member comes to a barrier of `runtime`. True: the shim carries out the construct, and the
 * member meets the others by nm_meet_others. */
static inline bool nm_meets(struct nm_member *member, const struct nm_runtime *runtime)
{
    struct nm_pass *pass = member->pass;
    if (!pass || NM_UNLIKELY(pass->runtime != runtime)) {
        nm_self.met = true;
        return false;
    }
    uint32_t number = ++member->barriers;
    if (nm_is_recalled(pass, number)) {
        /* Others may have begun the construct before. */
        member->real = true;
        return true;
    }
    if (NM_UNLIKELY(atomic_load_explicit(&pass->change_at, memory_order_relaxed) == number))
        nm_pass_change(member, pass);
    if (nm_self.root == NM_PRIMARY)
        nm_pass_look(member, pass);
    return !member->real;
}

/* The members that carry a construct out themselves meet, whoever's barrier that takes. */
static inline void nm_meet_others(struct nm_member *member)
{
    if (NM_LIKELY(!member->real) && NM_LIKELY(nm_fold_barrier(nm_context_self)))
        return;
    member->real = true;
    member->pass->real_barrier(member->pass->runtime);
}

/* A member in a construct that the shim has begun: it comes to a barrier, and meets the others. */
static inline void nm_meet(struct nm_member *member)
{
    nm_meets(member, member->pass->runtime);
    nm_meet_others(member);
}

/* Whether the shim would carry a construct out that ends with the next barrier. */
static inline bool nm_will_meet(const struct nm_member *member, const struct nm_runtime *runtime)
{
    struct nm_pass *pass = member->pass;
    if (!pass || NM_UNLIKELY(pass->runtime != runtime)) {
        nm_self.met = true;
        return false;
    }
    uint32_t number = member->barriers + 1;
    if (nm_is_recalled(pass, number))
        return true;
    bool changes = atomic_load_explicit(&pass->change_at, memory_order_relaxed) == number;
    return changes ? !pass->to_real : !member->real;
}

/* Called around code that the runtime runs within a call of sequential code: a task, or a region of
 * one thread that compiled code opens by itself. Regions in there are nested ones, and the shim
 * leaves them to the runtime: a held team would still be there when the runtime ends the task, and
 * the settings in there are another task's. */
static inline bool nm_task_begin(void)
{
    if (NM_LIKELY(nm_member.pass != NULL) || nm_self.depth > 0)
        return false;
    nm_whole_dissolve();
    nm_self.depth = 1;
    return true;
}

static inline void nm_task_end(bool begun)
{
    if (begun)
        nm_self.depth = 0;
}

/* A thread is about to make a task that another thread may run. */
static inline void nm_task_is_made(const struct nm_runtime *runtime)
{
    const struct nm_member *member = &nm_member;
    if (nm_will_meet(member, runtime) && !nm_is_recalled(member->pass, member->barriers + 1))
        nm_pass_recall(member, member->pass);
}

/* Called around a region that a member opens: its constructs are the runtime's. */
struct nm_member nm_nested_begin(unsigned asked);
static inline void nm_nested_end(const struct nm_member *outer)
{
    nm_member = *outer;
}

/* rseq.c */
bool nm_rseq_may_be_used(void);
bool nm_rseq_was_used(void); /* by the calling thread */

/* past.c */
/* The program has functions of a runtime that change settings, and members may call them. */
extern _Atomic bool nm_past_sets __attribute__((visibility("hidden")));
void nm_past_opens(int mode); /* the program is about to open a library */
bool nm_past_is_deep(void);   /* a library may call a runtime past the shim */

/* gomp_inside.c */
void nm_gomp_find(struct nm_runtime *runtime);
void nm_gomp_real_barrier(struct nm_runtime *runtime);
bool nm_gomp_starts_loops(const struct nm_runtime *runtime);
void nm_gomp_start_loop(const struct nm_runtime *runtime, int kind, long from, long to, long step, long chunk);
void nm_gomp_start_sections(const struct nm_runtime *runtime, unsigned count);

/* gomp_team.c */
bool nm_gomp_run(struct nm_pass *pass, uint32_t flags);
/* Whether the size of libgomp's state of a thread is one that fits the copies. */
bool nm_gomp_state_is_known(const struct nm_runtime *runtime);

/* kmp_inside.c */
extern __thread int32_t nm_kmp_gtid __attribute__((tls_model("initial-exec"), visibility("hidden"))); /* of a member */
void nm_kmp_find(struct nm_runtime *runtime);
bool nm_kmp_run(struct nm_pass *pass);
void nm_kmp_real_barrier(struct nm_runtime *runtime);
void nm_kmp_serialized(struct nm_runtime *runtime, void *place, nm_microtask task, void *argument);
/* Whether a team of that size has to find out in which order libomp reduces; if so, every member of
 * it does. */
bool nm_kmp_asks_for_order(struct nm_runtime *runtime, uint32_t members);
void nm_kmp_ask_for_order(struct nm_runtime *runtime, int32_t gtid, uint32_t number, uint32_t members);
/* nm_whole_settings for libomp, where members share no memory of settings with sequential code. */
void nm_kmp_settings(void);

/* kmp_loops.c: the program has changed a setting that static loops may depend on. */
void nm_kmp_leave_loops(struct nm_runtime *runtime);

/* kmp_outside.c */
extern _Atomic bool nm_kmp_outside __attribute__((visibility("hidden"))); /* a team of libomp is held, its root not in it */
void nm_kmp_hold(struct nm_runtime *runtime, bool outside);
bool nm_kmp_holds(const struct nm_runtime *runtime);
/* The caller is the root in sequential code while a team of this runtime is held. */
static inline bool nm_kmp_is_outside_of(const struct nm_runtime *runtime)
{
    return NM_UNLIKELY(atomic_load_explicit(&nm_kmp_outside, memory_order_relaxed)) && nm_kmp_holds(runtime);
}
/* Whether a tool or a debugger hears of the runtime's constructs. */
bool nm_kmp_is_watched(const struct nm_runtime *runtime);
/* Whether nothing in the process makes it unsafe to hold a team of this runtime open. */
bool nm_kmp_ready(struct nm_runtime *runtime);
void nm_kmp_more_loaded(void);
void nm_kmp_forget_slots(void);

#endif
