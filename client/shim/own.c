/* own.c - wraps calls that act on the kernel thread that makes them, and calls that do not go
 * together with folding.
 *
 * A member of a folded team is not on a fixed kernel thread. If it asks for something that the
 * kernel keeps for each thread (signal masks, alternate stacks, affinity, priority), it first goes
 * to its own, and stays there for the rest of the region. The shim remembers the region's function,
 * and leaves its next executions to the kernel from the start. In sequential code the root is on
 * its own kernel thread anyway; calls that visit every thread of the process dissolve the team
 * there.
 */
#include "own.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

ABOUT_WITH(about_stack(stack), int, sigaltstack, (const stack_t *stack, stack_t *before), (stack, before))
ABOUT_THREAD(int, sigsuspend, (const sigset_t *set), (set))
ABOUT_THREAD(int, sigwait, (const sigset_t *set, int *number), (set, number))
ABOUT_THREAD(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info))
ABOUT_THREAD(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *most), (set, info, most))
ABOUT_THREAD(int, sigpending, (sigset_t *set), (set))
ABOUT_THREAD(int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags))
ABOUT_THREAD(int, pause, (void), ())
ABOUT_THREAD(int, raise, (int number), (number))

/* These set a mask for as long as they wait. */
#define WAITS_WITH(mask, name, parameters, arguments) ABOUT_WITH(if (mask) own_thread(), int, name, parameters, arguments)
WAITS_WITH(mask, ppoll, (struct pollfd *fds, nfds_t count, const struct timespec *most, const sigset_t *mask), (fds, count, most, mask))
WAITS_WITH(mask, pselect,
           (int count, fd_set *in, fd_set *out, fd_set *other, const struct timespec *most, const sigset_t *mask),
           (count, in, out, other, most, mask))
WAITS_WITH(mask, epoll_pwait, (int fd, struct epoll_event *events, int count, int most, const sigset_t *mask),
           (fd, events, count, most, mask))

CHANGES_THREAD(int, sched_setscheduler, (pid_t pid, int policy, const struct sched_param *param), (pid, policy, param))
CHANGES_THREAD(int, sched_setparam, (pid_t pid, const struct sched_param *param), (pid, param))

SHIM_EXPORT int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
    own_thread();
    return nm_sizing_bind(__builtin_return_address(0), pid, bytes, set);
}

/* A jump out of a signal handler puts back a mask, too. It needs no wrapper: a thread that has set
 * a mask is on its own kernel thread already. */

/* For calls about a thread. True: it is a member of the team, and not the calling one. */
static bool is_member(pthread_t thread, uint32_t *number)
{
    if (NM_LIKELY(!nm_fold_is_open()))
        return false;
    own_thread();
    return !pthread_equal(thread, pthread_self()) && nm_fold_number_of((uintptr_t)thread, number);
}

/* For calls about another thread: a member goes to its own kernel thread. */
static void send_home(pthread_t thread)
{
    uint32_t number;
    if (NM_UNLIKELY(is_member(thread, &number)))
        nm_fold_send_home(number);
}

/* The same for what outlasts the region. */
static void differs(pthread_t thread)
{
    nm_whole_differs((uintptr_t)thread);
    send_home(thread);
}

#define ABOUT_ANOTHER(prepare, type, name, parameters, arguments)                                                       \
    SHIM_EXPORT type name parameters                                                                                    \
    {                                                                                                                   \
        prepare(thread);                                                                                                \
        return REAL(name) arguments;                                                                                    \
    }

ABOUT_ANOTHER(send_home, int, pthread_cancel, (pthread_t thread), (thread))
ABOUT_ANOTHER(differs, int, pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *param),
              (thread, policy, param))
ABOUT_ANOTHER(differs, int, pthread_setschedprio, (pthread_t thread, int priority), (thread, priority))
/* Its kernel thread uses time for it only at home, and the clock may be read at any time. */
ABOUT_ANOTHER(differs, int, pthread_getcpuclockid, (pthread_t thread, clockid_t *clock), (thread, clock))

SHIM_EXPORT int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
    send_home(thread);
    return nm_sizing_bind_thread(__builtin_return_address(0), thread, bytes, set);
}

/* Others are the C library's. */
static bool is_usual(int number)
{
    return (number > 0 && number < 32) || (number >= SIGRTMIN && number <= SIGRTMAX);
}

SHIM_EXPORT int pthread_kill(pthread_t thread, int number)
{
    uint32_t member;
    if (NM_LIKELY(!is_member(thread, &member)) || !is_usual(number))
        return REAL(pthread_kill)(thread, number);
    return nm_fold_signal(member, number);
}

/* First the signal, then the way home, as in nm_fold_signal: a member that leaves its home sees the
 * one or the other. */
SHIM_EXPORT int pthread_sigqueue(pthread_t thread, int number, const union sigval value)
{
    uint32_t member;
    bool theirs = is_member(thread, &member);
    int code = REAL(pthread_sigqueue)(thread, number, value);
    if (NM_UNLIKELY(theirs))
        nm_fold_send_home(member);
    return code;
}

bool nm_own_signal(pid_t tid, int number, int *code)
{
    struct nm_context *me = nm_context_self;
    if (NM_LIKELY(!nm_fold_is_open()) || !is_usual(number))
        return false;
    own_thread();
    for (uint32_t i = 0; i < nm_fold_members(); i++) {
        if (nm_fold_carrier(i)->tid != tid || (me && me->number == i))
            continue;
        *code = nm_fold_signal(i, number);
        return true;
    }
    return false;
}

SHIM_EXPORT int tgkill(pid_t process, pid_t tid, int number)
{
    int code;
    if (NM_LIKELY(process != getpid() || !nm_own_signal(tid, number, &code)))
        return (int)syscall(SYS_tgkill, process, tid, number);
    errno = code ? code : errno;
    return code ? -1 : 0;
}

/* Waits so long for all members to be on their own kernel threads. */
#define ALL_HOME_NS 2000000000ull

static void all_home(void)
{
    nm_whole_dissolve();
    own_thread();
    if (NM_UNLIKELY(nm_context_self != NULL))
        nm_fold_send_all_home(nm_context_self, ALL_HOME_NS);
}

/* The C library interrupts every thread of the process for these. */
#define ABOUT_ALL(name, parameters, arguments)                                                                          \
    SHIM_EXPORT int name parameters                                                                                     \
    {                                                                                                                   \
        all_home();                                                                                                     \
        return REAL(name) arguments;                                                                                    \
    }

ABOUT_ALL(setuid, (uid_t id), (id))
ABOUT_ALL(setgid, (gid_t id), (id))
ABOUT_ALL(seteuid, (uid_t id), (id))
ABOUT_ALL(setegid, (gid_t id), (id))
ABOUT_ALL(setreuid, (uid_t real, uid_t effective), (real, effective))
ABOUT_ALL(setregid, (gid_t real, gid_t effective), (real, effective))
ABOUT_ALL(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
ABOUT_ALL(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
ABOUT_ALL(setgroups, (size_t count, const gid_t *groups), (count, groups))
/* It calls setgroups inside of the C library. */
ABOUT_ALL(initgroups, (const char *user, gid_t group), (user, group))

/* The program may keep this number: it is the member's own thread id, which all other programs
 * see. */
SHIM_EXPORT pid_t gettid(void)
{
    pid_t tid = own_tid();
    return NM_UNLIKELY(tid != 0) ? tid : (pid_t)syscall(SYS_gettid);
}

/* The C library would read an area that the kernel wrote for the parked thread. */
SHIM_EXPORT int sched_getcpu(void)
{
    if (NM_LIKELY(!nm_context_self))
        return REAL(sched_getcpu)();
    unsigned cpu = 0;
    return syscall(SYS_getcpu, &cpu, NULL, NULL) == 0 ? (int)cpu : -1;
}

SHIM_EXPORT int sched_yield(void)
{
    struct nm_context *me = nm_context_self;
    bool needless = nm_mpi_yields_in_vain();
    if (NM_UNLIKELY(me != NULL) && nm_member.pass && !nm_member.real && nm_fold_yield(me))
        return 0;
    return NM_UNLIKELY(needless) ? 0 : REAL(sched_yield)();
}

/* The kernel compares the owner of such a mutex with the thread that unlocks it. */
SHIM_EXPORT int pthread_mutexattr_setprotocol(pthread_mutexattr_t *attributes, int protocol)
{
    if (protocol == PTHREAD_PRIO_INHERIT)
        nm_whole_refuse(NM_WHY_PI);
    return REAL(pthread_mutexattr_setprotocol)(attributes, protocol);
}

/* The rights to keys of memory protection are in a register that is not switched. */
extern int pkey_alloc(unsigned flags, unsigned rights);
SHIM_EXPORT int pkey_alloc(unsigned flags, unsigned rights)
{
    nm_whole_refuse(NM_WHY_SHADOW);
    return REAL(pkey_alloc)(flags, rights);
}

SHIM_EXPORT _Noreturn void pthread_exit(void *value)
{
    nm_whole_dissolve();
    REAL(pthread_exit)(value);
    __builtin_unreachable();
}
