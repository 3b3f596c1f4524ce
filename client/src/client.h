/* client.h - the code that the C library and the shim share: it attaches one page per process, and
 * carries the page's decisions out.
 *
 * Nothing here allocates, throws or aborts. Every function leaves errno as it was. The process
 * keeps no descriptor; the few that are open for a moment belong to the helper thread, which has a
 * descriptor table of its own.
 */
#ifndef NUMAESTRO_CLIENT_H
#define NUMAESTRO_CLIENT_H

#include "page.h"

#include <stdbool.h>
#include <sys/types.h>

#define NM_LIKELY(x) __builtin_expect(!!(x), 1)
#define NM_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NM_UNATTACHED UINT32_MAX

/* A set of PUs by OS index. */
struct nm_cpuset {
    uint64_t words[NM_CPUSET_WORDS];
};

/* The decision that is in force in this process. Written under the adoption lock, read at every
 * region entry. */
struct nm_client {
    struct numaestro_page *_Atomic page; /* never NULL: an empty page of our own before attaching */
    _Atomic uint32_t epoch;              /* of the decision in force; NM_UNATTACHED before the first */
    _Atomic uint32_t count;              /* processors; UINT32_MAX = no limit */
    _Atomic uint32_t owned;              /* count of the latest decision that lends nothing; UINT32_MAX = none yet */
    _Atomic uint32_t flags;              /* NM_FLAG_* */
    _Atomic bool attached;
    _Atomic bool alone; /* its manager is gone and no other has come: it runs as without one */
    _Atomic bool tried; /* an attempt to attach was made; there is no second one at a region entry */
    _Atomic bool api;   /* the program uses numaestro.h */
    _Atomic uint32_t changes; /* futex: decisions carried out, and requests made; see nm_change_happens */
    _Atomic uint32_t waiters; /* threads that wait for the next one */
    struct nm_cpuset cpuset;
};

extern struct nm_client nm_client;

/* The actions of a user of this client (the shim) beyond moving threads. Each may be NULL.
 * `before_vacate` runs in the adopting thread before threads are moved to a smaller set; `root`
 * says whether that thread is one that opens regions and stands between two of them. `move_pool`
 * moves the threads that the root thread knows, when the helper will move the rest. `tell_pool`
 * makes these threads take the memory policy over, after the root has. `after` runs when the
 * decision is in force. */
struct nm_hooks {
    void (*before_vacate)(uint32_t count, bool root);
    void (*move_pool)(const struct nm_cpuset *set);
    void (*tell_pool)(void);
    void (*after)(uint32_t count, uint32_t flags, bool root);
    uint32_t (*runtimes)(void);
    uint32_t (*threads_max)(void);
    uint64_t (*tick)(void); /* helper: returns the nanoseconds until it is to be called again */
    /* Helper: the manager has decided for fewer processors. Threads that can leave the other
     * processors by themselves do so before they are moved. */
    void (*announce)(uint32_t count);
};
extern struct nm_hooks nm_hooks;

/* The place of a thread of this program that some call would put where it would be without us. */
enum nm_place {
    NM_ANYWHERE, /* where the call puts it: no manager manages the program */
    NM_AS_BORN,  /* where it is: the program is moved from outside */
    NM_WITHIN,   /* in the set of the manager's present decision */
};

/* attach.c */
bool nm_original(struct nm_cpuset *set);    /* the mask that the user gave; false if it is not known here */
bool nm_alone(struct nm_cpuset *set);       /* the mask without any manager: the same, or that of the program's start */
bool nm_attach(bool reattach);              /* may take up to 200 ms when the manager is busy; false = unmanaged */
void nm_notice(unsigned kind, uint32_t value, uint32_t second);
long nm_ask(const void *question, size_t bytes, void *answer, size_t room); /* bytes of the answer, -1 if there is none */
char nm_state_of(pid_t task);                /* state letter in /proc of a process or thread, 0 if unreadable */
bool nm_manager_alive(void);
void nm_forget(void);                       /* child after fork: no page, no helper */

/* A decision as it stands in the page. */
struct nm_target {
    uint32_t epoch, count, flags, memory;
    uint64_t nodes[NM_NODE_WORDS];
    struct nm_cpuset cpuset;
};

/* api.c */
void nm_change_happens(void);               /* counts a change, and wakes the threads that wait for one */

/* adopt.c */
bool nm_read_target(struct numaestro_page *page, struct nm_target *out); /* false: being written, or decided by no manager */
bool nm_adopt(bool root);                   /* carries out the page's present decision; true if something changed */
void nm_adopt_rest(void);                   /* helper: finishes a decision that the root put in force, and tells the manager */
void nm_adopt_unlock(void);
void nm_adopt_nobody(void);                 /* helper: no limits any more, because there is no manager to set any */
enum nm_place nm_belongs(struct nm_cpuset *set, uint32_t *epoch); /* sets both for NM_WITHIN */
void nm_back_from_sequential(void);         /* root, at a region entry while NM_FLAG_LENT is in force */
void nm_say_busy(void);                     /* helper */

/* memory.c */
bool nm_memory_told(uint32_t mode, const uint64_t *nodes); /* under the adoption lock; true if the policy is new */
void nm_memory_follow(void);                /* the calling thread's new pages go where the manager decided last */

/* helper.c */
bool nm_helper_start(void);                 /* it attaches first, if need be */
bool nm_helper_attach(void);                /* starts it and waits until it has attached; false = it could not start */
bool nm_helper_runs(void);
bool nm_is_helper(void);                    /* whether the calling thread is the helper */
bool nm_helper_step_aside(void);            /* it ends for good, so that the program has room for a thread; false = it did not run */
void nm_helper_forget(void);

/* vp.c: the virtual processors of a program that registers them */
void nm_vp_adopt(const struct nm_cpuset *set, uint32_t flags); /* map these processors to vps; under the adoption lock */
bool nm_vp_bound(pid_t tid);                /* the thread runs a vp on a processor of its own */
void nm_vp_lock(void);
void nm_vp_unlock(void);
uint32_t nm_vp_asked_back(void);            /* processors to give back that still run a vp; without vps all of them */
void nm_vp_wait_released(uint64_t until);   /* helper: waits until none is left, or until that time in ns */
void nm_vp_say(void);                       /* helper: tells the manager, if changed, what the program can use */
void nm_vp_abandon(void);                   /* the manager is gone: nothing stays parked */
void nm_vp_forget(void);

/* park.c */
void nm_vp_request(uint32_t processors);
bool nm_vp_registered(uint32_t *running);   /* whether there are any vps, and how many have a processor */
bool nm_vp_any_stolen(void);
void nm_vp_in_child(void);

/* pins.c: which masks are ours */
bool nm_is_ours(pid_t tid);                 /* nobody else has set the mask that this thread has; 0 = the caller */
void nm_pin(pid_t tid, const struct nm_cpuset *set); /* the program has put this thread there */
void nm_unpin(pid_t tid);
void nm_masks_put(const struct nm_cpuset *set); /* threads are about to be put there */
void nm_masks_settled(const struct nm_cpuset *set, const struct nm_cpuset *made); /* all of them are; what the kernel made of it */
void nm_masks_kept(const struct nm_cpuset *set); /* the shim has made this of a mask that a pool asked for */

/* threads.c */
void nm_move_threads(const struct nm_cpuset *set);
void nm_move_thread(pid_t tid, const struct nm_cpuset *set); /* 0 = the caller; only threads of this process, no pin, no bound vp */
void nm_put_thread(pid_t tid, const struct nm_cpuset *set);  /* the same, also for a bound vp */
unsigned nm_threads(void);                  /* of this process; 0 without /proc */
bool nm_cpuset_parse(const char *list, struct nm_cpuset *set);
uint64_t nm_now_ns(void);
uint64_t nm_waited_ns(void);                /* helper */
long nm_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);
void nm_futex_wake(_Atomic uint32_t *word);

#endif
