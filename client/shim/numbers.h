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
    HOME(rt_sigprocmask) HOME(rt_sigpending) HOME(rt_sigtimedwait) HOME(rt_sigsuspend) HOME(sigaltstack)                \
    HOME(signalfd4) HOME(ppoll) HOME(pselect6) HOME(epoll_pwait) HOME(epoll_pwait2) HOME(timer_create)                  \
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

/* The C library's headers may be older than these. */
#define NM_SYS_clone3 435
#define NM_SYS_epoll_pwait2 441
#define NM_SYS_set_mempolicy_home_node 450
#define NM_SYS_landlock_restrict_self 446
#define NM_SYS_io_uring_setup 425
#define NM_SYS_io_uring_enter 426
#define NM_SYS_io_uring_register 427
#define NM_SYS_sched_setaffinity SYS_sched_setaffinity
#define NM_SYS_sched_getaffinity SYS_sched_getaffinity
#define NM_SYS_seccomp SYS_seccomp
#define NM_SYS_clone SYS_clone
#define NM_SYS_execve SYS_execve
#define NM_SYS_execveat SYS_execveat
#define NM_SYS_rt_sigprocmask SYS_rt_sigprocmask
#define NM_SYS_rt_sigpending SYS_rt_sigpending
#define NM_SYS_rt_sigtimedwait SYS_rt_sigtimedwait
#define NM_SYS_rt_sigsuspend SYS_rt_sigsuspend
#define NM_SYS_sigaltstack SYS_sigaltstack
#define NM_SYS_signalfd4 SYS_signalfd4
#define NM_SYS_ppoll SYS_ppoll
#define NM_SYS_pselect6 SYS_pselect6
#define NM_SYS_epoll_pwait SYS_epoll_pwait
#define NM_SYS_timer_create SYS_timer_create
#define NM_SYS_tkill SYS_tkill
#define NM_SYS_tgkill SYS_tgkill
#define NM_SYS_rt_tgsigqueueinfo SYS_rt_tgsigqueueinfo
#define NM_SYS_sched_getscheduler SYS_sched_getscheduler
#define NM_SYS_sched_getparam SYS_sched_getparam
#define NM_SYS_sched_rr_get_interval SYS_sched_rr_get_interval
#define NM_SYS_sched_getattr SYS_sched_getattr
#define NM_SYS_getpriority SYS_getpriority
#define NM_SYS_ioprio_get SYS_ioprio_get
#define NM_SYS_sched_setscheduler SYS_sched_setscheduler
#define NM_SYS_sched_setparam SYS_sched_setparam
#define NM_SYS_sched_setattr SYS_sched_setattr
#define NM_SYS_ioprio_set SYS_ioprio_set
#define NM_SYS_setpriority SYS_setpriority
#define NM_SYS_clock_gettime SYS_clock_gettime
#define NM_SYS_getrusage SYS_getrusage
#define NM_SYS_perf_event_open SYS_perf_event_open
#define NM_SYS_get_mempolicy SYS_get_mempolicy
#define NM_SYS_set_mempolicy SYS_set_mempolicy
#define NM_SYS_setuid SYS_setuid
#define NM_SYS_setgid SYS_setgid
#define NM_SYS_setreuid SYS_setreuid
#define NM_SYS_setregid SYS_setregid
#define NM_SYS_setresuid SYS_setresuid
#define NM_SYS_setresgid SYS_setresgid
#define NM_SYS_setgroups SYS_setgroups
#define NM_SYS_setfsuid SYS_setfsuid
#define NM_SYS_setfsgid SYS_setfsgid
#define NM_SYS_capget SYS_capget
#define NM_SYS_capset SYS_capset
#define NM_SYS_keyctl SYS_keyctl
#define NM_SYS_add_key SYS_add_key
#define NM_SYS_request_key SYS_request_key
#define NM_SYS_unshare SYS_unshare
#define NM_SYS_setns SYS_setns
#define NM_SYS_personality SYS_personality
#define NM_SYS_prctl SYS_prctl
#define NM_SYS_gettid SYS_gettid
#define NM_SYS_rseq SYS_rseq
#define NM_SYS_set_tid_address SYS_set_tid_address
#define NM_SYS_set_robust_list SYS_set_robust_list
#define NM_SYS_ptrace SYS_ptrace
#if defined(__x86_64__)
#define NM_SYS_fork SYS_fork
#define NM_SYS_vfork SYS_vfork
#define NM_SYS_pause SYS_pause
#define NM_SYS_signalfd SYS_signalfd
#define NM_SYS_arch_prctl SYS_arch_prctl
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
