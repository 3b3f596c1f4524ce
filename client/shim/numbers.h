/* numbers.h - the system calls about the calling thread, by number: what becomes of each one when a
 * member of a folded team makes it by syscall(). docs/threads.md has the same by kind.
 */
#ifndef NUMAESTRO_NUMBERS_H
#define NUMAESTRO_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#define NM_SYSCALLS 512 /* numbers below it; also in the assembly of syscall.c */

/* Of masks: syscall.c. Home: the member goes to its own kernel thread first. Differs: and the
 * kernel folds from the next region on. Special: it depends on the arguments, or is answered. */
#define NM_NUMBERS(MASKS, HOME, DIFFERS, SPECIAL)                                                                       \
    MASKS(sched_setaffinity) MASKS(sched_getaffinity) MASKS(seccomp)                                                    \
    /* births */                                                                                                        \
    HOME(clone) HOME(clone3) HOME(execve) HOME(execveat)                                                                \
    /* signals */                                                                                                       \
    HOME(rt_sigprocmask) HOME(rt_sigpending) HOME(rt_sigtimedwait) HOME(rt_sigsuspend) SPECIAL(sigaltstack)             \
    HOME(signalfd4) HOME(ppoll) HOME(pselect6) HOME(epoll_pwait) HOME(epoll_pwait2) SPECIAL(timer_create)               \
    SPECIAL(tkill) SPECIAL(tgkill) HOME(rt_tgsigqueueinfo)                                                              \
    /* scheduling */                                                                                                    \
    HOME(sched_getscheduler) HOME(sched_getparam) HOME(sched_rr_get_interval) HOME(sched_getattr) HOME(getpriority)     \
    HOME(ioprio_get) DIFFERS(sched_setscheduler) DIFFERS(sched_setparam) DIFFERS(sched_setattr) DIFFERS(ioprio_set)     \
    SPECIAL(setpriority) SPECIAL(clock_gettime) SPECIAL(getrusage) DIFFERS(perf_event_open)                             \
    /* memory */                                                                                                        \
    HOME(get_mempolicy) DIFFERS(set_mempolicy) DIFFERS(set_mempolicy_home_node)                                         \
    /* rights: by number they are the thread's own, not the process's */                                                \
    DIFFERS(setuid) DIFFERS(setgid) DIFFERS(setreuid) DIFFERS(setregid) DIFFERS(setresuid) DIFFERS(setresgid)           \
    DIFFERS(setgroups) DIFFERS(setfsuid) DIFFERS(setfsgid) HOME(capget) DIFFERS(capset) DIFFERS(keyctl)                 \
    DIFFERS(add_key) DIFFERS(request_key) DIFFERS(unshare) DIFFERS(setns) DIFFERS(personality)                          \
    DIFFERS(landlock_restrict_self) SPECIAL(prctl)                                                                      \
    /* the rest */                                                                                                      \
    SPECIAL(gettid) SPECIAL(rseq) DIFFERS(set_tid_address) DIFFERS(set_robust_list) DIFFERS(ptrace)                     \
    HOME(io_uring_setup) HOME(io_uring_enter) HOME(io_uring_register) NM_OLD_NUMBERS(HOME, SPECIAL)

/* Numbers that new architectures have not. */
#if defined(__x86_64__)
#define NM_OLD_NUMBERS(HOME, SPECIAL) HOME(fork) HOME(vfork) HOME(pause) HOME(signalfd) SPECIAL(arch_prctl)
#else
#define NM_OLD_NUMBERS(HOME, SPECIAL)
#endif

/* The headers may be older than these. */
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif
#ifndef SYS_io_uring_register
#define SYS_io_uring_register 427
#endif

enum nm_way { NM_BY_MASKS = 1, NM_BY_HOME, NM_BY_DIFFERING, NM_BY_ITSELF };

/* Used by the assembly of syscall.c. */
extern const uint8_t nm_syscall_ways[NM_SYSCALLS] __attribute__((visibility("hidden"))); /* enum nm_way, 0 = passed on */
struct nm_answer {
    long given; /* else the call is passed on */
    long value;
};
struct nm_answer nm_syscall_about(long number, long a, long b, long c, long d, long e) __attribute__((visibility("hidden")));
void nm_find_syscall(void) __attribute__((visibility("hidden")));

#endif
