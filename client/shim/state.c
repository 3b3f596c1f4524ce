/* state.c - what the kernel keeps for each thread besides signals and scheduling: name, priority,
 * clocks, rights, memory policy; and the same by number, for syscall().
 *
 * A question that the kernel answers for any thread by its id is answered so, and the member stays
 * where it is. What a thread changes of itself for good sends the member home, and the kernel folds
 * from the next region on: threads of one team that differ cannot take each other's place.
 */
#include "own.h"
#include "numbers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES 16

CHANGES_THREAD(int, nice, (int more), (more))
CHANGES_THREAD(int, setfsuid, (uid_t id), (id))
CHANGES_THREAD(int, setfsgid, (gid_t id), (id))
CHANGES_THREAD(int, unshare, (int flags), (flags))
CHANGES_THREAD(int, setns, (int fd, int kind), (fd, kind))
extern int capget(void *header, void *data);
extern int capset(void *header, const void *data);
ABOUT_THREAD(int, capget, (void *header, void *data), (header, data))
CHANGES_THREAD(int, capset, (void *header, const void *data), (header, data))

/* A timer that goes by one thread, or on its clock, does so for as long as it runs. */
static void about_timer(clockid_t clock, const struct sigevent *event)
{
    bool process = clock >= 0 && clock != CLOCK_THREAD_CPUTIME_ID;
    if (!process || (event && event->sigev_notify == SIGEV_THREAD_ID))
        own_thread_differs();
    else
        own_thread();
}

ABOUT_WITH(about_timer(clock, event), int, timer_create, (clockid_t clock, struct sigevent *event, timer_t *timer), (clock, event, timer))

SHIM_EXPORT int personality(unsigned long persona)
{
    if (persona == 0xffffffff)
        own_thread();
    else
        own_thread_differs();
    return REAL(personality)(persona);
}

SHIM_EXPORT int setpriority(__priority_which_t which, id_t who, int priority)
{
    if (which == PRIO_PROCESS && (who == 0 || (pid_t)who == own_tid()))
        own_thread_differs();
    return REAL(setpriority)(which, who, priority);
}

SHIM_EXPORT int getpriority(__priority_which_t which, id_t who)
{
    return REAL(getpriority)(which, which == PRIO_PROCESS && who == 0 ? (id_t)own_tid() : who);
}

#define ANSWERED(name, parameters, arguments)                                                                           \
    SHIM_EXPORT int name parameters                                                                                     \
    {                                                                                                                   \
        tid = tid ? tid : own_tid();                                                                                    \
        return REAL(name) arguments;                                                                                    \
    }

ANSWERED(sched_getscheduler, (pid_t tid), (tid))
ANSWERED(sched_getparam, (pid_t tid, struct sched_param *param), (tid, param))
ANSWERED(sched_rr_get_interval, (pid_t tid, struct timespec *interval), (tid, interval))

SHIM_EXPORT long ptrace(enum __ptrace_request request, ...)
{
    va_list list;
    void *words[3];
    va_start(list, request);
    for (unsigned i = 0; i < 3; i++)
        words[i] = va_arg(list, void *);
    va_end(list);
    own_thread_differs();
    return REAL(ptrace)(request, words[0], words[1], words[2]);
}

SHIM_EXPORT int getrusage(__rusage_who_t who, struct rusage *usage)
{
    if (who == RUSAGE_THREAD)
        own_thread();
    return REAL(getrusage)(who, usage);
}

static void about_path(const char *path)
{
    static const char of_thread[] = "/proc/thread-self";
    if (NM_UNLIKELY(nm_context_self != NULL) && path && strncmp(path, of_thread, sizeof of_thread - 1) == 0)
        own_thread();
}

/* Files below it are opened by the stub (stub/told.c). */
ABOUT_WITH(about_path(path), ssize_t, readlink, (const char *path, char *text, size_t room), (path, text, room))
ABOUT_WITH(about_path(path), ssize_t, readlinkat, (int at, const char *path, char *text, size_t room), (at, path, text, room))

/* Signal handlers may ask for the time, so it is looked up before. Asked for on any stack: only the
 * thread's own clock may look at thread-local storage. */
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void find_clock(void)
{
    if (!real_clock_gettime)
        real_clock_gettime = (int (*)(clockid_t, struct timespec *))nm_next_symbol("clock_gettime");
}

SHIM_EXPORT int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (NM_UNLIKELY(clock == CLOCK_THREAD_CPUTIME_ID))
        own_thread();
    if (NM_UNLIKELY(!real_clock_gettime))
        find_clock();
    return real_clock_gettime(clock, time);
}

/* The name of a member, as the C library asks for that of another thread. 0 or an error number. */
static int own_name(pid_t tid, const char *set, char *get)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)tid);
    int fd = open(path, (set ? O_WRONLY : O_RDONLY) | O_CLOEXEC), saved = errno;
    if (fd < 0)
        return saved;
    ssize_t done = set ? write(fd, set, strlen(set)) : read(fd, get, NAME_BYTES);
    saved = errno;
    if (!set && done > 0)
        get[done - 1] = 0; /* it ends with a newline */
    close(fd);
    return done < 0 ? saved : 0;
}

static bool is_own_name(pthread_t thread, const char *set, char *get)
{
    pid_t tid = own_tid();
    if (NM_LIKELY(tid == 0) || thread != pthread_self())
        return false;
    int saved = errno, error = own_name(tid, set, get);
    errno = saved;
    if (error)
        nm_whole_own_thread();
    return !error;
}

SHIM_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    return strlen(name) < NAME_BYTES && is_own_name(thread, name, NULL) ? 0 : REAL(pthread_setname_np)(thread, name);
}

SHIM_EXPORT int pthread_getname_np(pthread_t thread, char *name, size_t room)
{
    return room >= NAME_BYTES && is_own_name(thread, NULL, name) ? 0 : REAL(pthread_getname_np)(thread, name, room);
}

bool nm_own_prctl(int option, unsigned long argument, int *result)
{
    if (NM_LIKELY(!nm_context_self))
        return false;
    *result = 0;
    char name[NAME_BYTES] = "";
    switch (option) {
    case PR_SET_NAME:
        return is_own_name(pthread_self(), strncpy(name, (const char *)argument, sizeof name - 1), NULL);
    case PR_GET_NAME:
        return is_own_name(pthread_self(), NULL, (char *)argument);
    /* These are about the process. */
    case PR_SET_DUMPABLE:
    case PR_GET_DUMPABLE:
    case PR_SET_CHILD_SUBREAPER:
    case PR_GET_CHILD_SUBREAPER:
    case PR_SET_MM:
    case PR_SET_PTRACER:
    case PR_SET_THP_DISABLE:
    case PR_GET_THP_DISABLE:
    case 0x53564d41: /* PR_SET_VMA */
        return false;
    case PR_SET_PDEATHSIG:
    case PR_SET_TIMERSLACK:
    case PR_SET_KEEPCAPS:
    case PR_SET_SECUREBITS:
    case PR_CAPBSET_DROP:
    case PR_CAP_AMBIENT:
    case PR_SET_NO_NEW_PRIVS:
    case PR_SET_SECCOMP:
    case PR_SET_TSC:
    case PR_SET_SPECULATION_CTRL:
        own_thread_differs();
        return false;
    default:
        own_thread();
        return false;
    }
}

#if defined(__x86_64__) || defined(__aarch64__)

#define WAY_OF_MASKS(name) [SYS_##name] = NM_BY_MASKS,
#define WAY_HOME(name) [SYS_##name] = NM_BY_HOME,
#define WAY_DIFFERS(name) [SYS_##name] = NM_BY_DIFFERING,
#define WAY_SPECIAL(name) [SYS_##name] = NM_BY_ITSELF,
const uint8_t nm_syscall_ways[NM_SYSCALLS] = {NM_NUMBERS(WAY_OF_MASKS, WAY_HOME, WAY_DIFFERS, WAY_SPECIAL)};

static struct nm_answer answer(long value)
{
    if (value < 0) {
        errno = (int)-value;
        value = -1;
    }
    return (struct nm_answer){true, value};
}

static struct nm_answer about_itself(long number, const long *argument)
{
    static const struct nm_answer none = {false, 0};
    int code = 0;
    switch (number) {
    case SYS_gettid:
        return nm_context_self ? answer(own_tid()) : none;
    case SYS_tkill:
        return nm_own_signal((pid_t)argument[0], (int)argument[1], &code) ? answer(-code) : none;
    case SYS_tgkill:
        return argument[0] == getpid() && nm_own_signal((pid_t)argument[1], (int)argument[2], &code) ? answer(-code) : none;
    case SYS_prctl:
        return nm_own_prctl((int)argument[0], (unsigned long)argument[1], &code) ? answer(code) : none;
    case SYS_setpriority:
        if (argument[0] == PRIO_PROCESS && (argument[1] == 0 || argument[1] == own_tid()))
            own_thread_differs();
        return none;
    case SYS_sigaltstack:
        about_stack((const void *)argument[0]);
        return none;
    case SYS_timer_create:
        about_timer((clockid_t)argument[0], (const struct sigevent *)argument[1]);
        return none;
    case SYS_clock_gettime:
        if (argument[0] == CLOCK_THREAD_CPUTIME_ID)
            own_thread();
        return none;
    case SYS_getrusage:
        if (argument[0] == RUSAGE_THREAD)
            own_thread();
        return none;
    case SYS_rseq: /* somebody else than the C library */
        nm_whole_refuse(NM_WHY_RSEQ);
        own_thread();
        return none;
#if defined(__x86_64__)
    case SYS_arch_prctl:
        if (argument[0] >= 0x5001 && argument[0] <= 0x5005) /* ARCH_SHSTK_* */
            nm_whole_refuse(NM_WHY_SHADOW);
        return none;
#endif
    default:
        return none;
    }
}

struct nm_answer nm_syscall_about(long number, long a, long b, long c, long d, long e)
{
    nm_find_syscall();
    switch ((unsigned long)number < NM_SYSCALLS ? nm_syscall_ways[number] : 0) {
    case NM_BY_HOME:
        own_thread();
        break;
    case NM_BY_DIFFERING:
        own_thread_differs();
        break;
    case NM_BY_ITSELF:
        return about_itself(number, (const long[]){a, b, c, d, e});
    }
    return (struct nm_answer){false, 0};
}

#endif
