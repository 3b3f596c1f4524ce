/* stub.h - the parts of the stub. docs/preload.md is its design.
 */
#ifndef NUMAESTRO_STUB_H
#define NUMAESTRO_STUB_H

#include "look.h"
#include "system.h"

#define STUB_EXPORT __attribute__((visibility("default")))
#define NM_CPU_WORDS 64u

/* Functions that the shim stands before, and the stub until then. scripts/check-c.sh compares this
 * list with the shim's symbols.
 * PASSED: called through the table. ASKED: the answer depends on the shim, so it is loaded first.
 * OWN: a function of numaestro.h.
 * Those of threads are passed, too: about what the kernel keeps for each thread, and handlers of
 * signals. Only a folded team needs the shim there, so a program needs no stub for them. */
#define NM_NAMES_OF_THREADS(PASSED)                                                                                     \
    PASSED(_Fork) PASSED(__sigaction) PASSED(__sysv_signal) PASSED(capget) PASSED(capset) PASSED(clock_gettime)         \
    PASSED(clone) PASSED(daemon) PASSED(epoll_pwait) PASSED(forkpty) PASSED(getpriority) PASSED(getrusage)              \
    PASSED(initgroups) PASSED(nice) PASSED(pause) PASSED(personality) PASSED(ppoll) PASSED(pselect)                     \
    PASSED(pthread_getcpuclockid) PASSED(pthread_getname_np) PASSED(pthread_setname_np) PASSED(pthread_setschedprio)    \
    PASSED(ptrace) PASSED(readlink) PASSED(readlinkat) PASSED(sched_getparam) PASSED(sched_getscheduler)                \
    PASSED(sched_rr_get_interval) PASSED(setfsgid) PASSED(setfsuid) PASSED(setns) PASSED(setpriority)                   \
    PASSED(sigaction) PASSED(sigblock) PASSED(sighold) PASSED(signal) PASSED(signalfd) PASSED(sigpending)               \
    PASSED(sigrelse) PASSED(sigset) PASSED(sigsetmask) PASSED(ssignal) PASSED(sysv_signal) PASSED(tgkill)               \
    PASSED(thrd_create) PASSED(timer_create) PASSED(unshare) PASSED(vfork) PASSED(wordexp)
#define NM_NAMES(PASSED, ASKED, OWN)                                                                                    \
    NM_NAMES_OF_THREADS(PASSED)                                                                                         \
    PASSED(dlclose) PASSED(fork) PASSED(gettid) PASSED(pkey_alloc) PASSED(pthread_attr_setaffinity_np)                  \
    PASSED(pthread_cancel) PASSED(pthread_create) PASSED(pthread_exit) PASSED(pthread_kill)                             \
    PASSED(pthread_mutexattr_setprotocol) PASSED(pthread_setschedparam) PASSED(pthread_sigmask)                         \
    PASSED(pthread_sigqueue) PASSED(raise) PASSED(readv) PASSED(sched_getcpu) PASSED(sched_setparam)                    \
    PASSED(sched_setscheduler) PASSED(sched_yield) PASSED(setegid) PASSED(seteuid) PASSED(setgid) PASSED(setgroups)     \
    PASSED(setregid) PASSED(setresgid) PASSED(setresuid) PASSED(setreuid) PASSED(setuid) PASSED(sigaltstack)            \
    PASSED(sigprocmask) PASSED(sigsuspend) PASSED(sigtimedwait) PASSED(sigwait) PASSED(sigwaitinfo)                     \
    ASKED(dlopen) ASKED(get_nprocs) ASKED(prctl) ASKED(pthread_getaffinity_np) ASKED(pthread_setaffinity_np) ASKED(sched_getaffinity)      \
    ASKED(sched_setaffinity) ASKED(syscall) ASKED(sysconf)                                                                    \
    OWN(numaestro_advise) OWN(numaestro_api_version) OWN(numaestro_asked_back) OWN(numaestro_attach) OWN(numaestro_changed)   \
    OWN(numaestro_current) OWN(numaestro_owned) OWN(numaestro_processors) OWN(numaestro_report_speedup)                       \
    OWN(numaestro_request) OWN(numaestro_vp_claim) OWN(numaestro_vp_handoff) OWN(numaestro_vp_info)                           \
    OWN(numaestro_vp_preempted) OWN(numaestro_vp_register) OWN(numaestro_vp_release) OWN(numaestro_wait_change)

/* next.c */
struct link_map;
const struct link_map *nm_stub_own_map(void);                                 /* of the stub; NULL if nobody says */
void *nm_stub_symbol_in(const struct link_map *map, const char *name); /* the default version of what an object defines */
void *nm_stub_next(const char *name); /* the definition after the stub's; NULL if there is none */
void nm_stub_note_last(void);         /* what is loaded from now on was not there at the start */
const struct link_map *nm_stub_last_map(void); /* of the start; NULL before that is known */

/* table.c */
bool nm_stub_is_sealed(void);          /* this process has forbidden itself system calls */

/* start.c: what this process was told when it began */
struct nm_start {
    const char *stub; /* path of this file */
    char *allowed;       /* where the kernel shows the value of NUMAESTRO_CPUS_ALL (/proc/PID/environ) */
    size_t allowed_room; /* its length at the start */
    char *const *saved; /* entries `NUMAESTRO_…=…` of its environment, copied; ends with NULL */
    bool off;         /* its user wants neither it nor what it starts to be managed */
};
const struct nm_start *nm_stub_start(void);
bool nm_stub_is_vfork_child(void); /* this process has the memory of another one, which waits for it */
bool nm_stub_shim_path(const char *stub, char *out, size_t room); /* the shim that lies beside a stub */

/* exec.c: a child of fork is about to start something, or may be */
void nm_stub_prepare_exec(void);
/* This thread is about to start something, or has done so. */
void nm_stub_at_birth(bool begins);

/* room.c: memory of this many bytes, and a stack beside it; NULL if there is none */
struct nm_room {
    struct kept *kept;
    void *at;
    size_t bytes;
};
void *nm_stub_map(size_t bytes); /* memory of zeros; NULL if there is none */
void *nm_room_take(struct nm_room *room, size_t bytes);
void nm_room_leave(struct nm_room *room);
void nm_room_run(const struct nm_room *room, void (*function)(void *), void *argument);
void nm_room_hand_over(struct nm_room *room);
void nm_room_hand_back(struct nm_room *room);

/* allowed.c: the allowed set of this process */
struct nm_cpus {
    uint64_t words[NM_CPU_WORDS];
};
/* This process has put a thread on these processors: the one that calls, its first one, or
 * another. */
enum nm_whose { NM_OWN, NM_FIRST_THREADS, NM_ANOTHERS };
void nm_stub_narrowed(const void *mask, size_t bytes, enum nm_whose whose, bool whole);
bool nm_stub_has_one_thread(void);
bool nm_stub_own_allowed(struct nm_cpus *out); /* the narrower set of this thread; it goes to what it starts */
bool nm_cpus_parse(const char *list, struct nm_cpus *out);
bool nm_cpus_write(const struct nm_cpus *set, char *out, size_t room);
unsigned nm_cpus_count(const struct nm_cpus *set);

#endif
