/* What Linux and the C library keep for each thread (docs/threads.md): each thread of a team sets
 * its own and finds it again, behind barriers and in other regions, and what it starts inherits it.
 *
 *     thread_state          the names of the kinds, one a line
 *     thread_state KIND     says "KIND right", or that this machine does not let it try
 *     thread_state KIND 2   two threads set theirs in a team of two, and find it in a larger one
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>

#include "check.h"

enum { RIGHT, WRONG, CANNOT };
extern char **environ;
static __thread int heard;
static int tids[CHECK_SIZES];
static int setters; /* threads of the first region */

static int truth(int is)
{
    return is ? RIGHT : WRONG;
}

static void hear(int number)
{
    (void)number;
    heard++;
}

/* The kernel's own answer, which no library sees. */
static int is_home(void)
{
    char link[64] = "", *slash;
    if (syscall(SYS_readlinkat, AT_FDCWD, "/proc/thread-self", link, sizeof link - 1) < 0 || !(slash = strrchr(link, '/')))
        return 1;
    return atoi(slash + 1) == gettid();
}

#include "births.h"

/* Scheduling */

static int set_nice(int t)
{
    return setpriority(PRIO_PROCESS, 0, t + 1) ? CANNOT : RIGHT;
}

static int get_nice(int t)
{
    pid_t child = fork();
    if (child == 0)
        _exit(truth(getpriority(PRIO_PROCESS, 0) == t + 1));
    return ended(child) || getpriority(PRIO_PROCESS, 0) != t + 1;
}

static int set_policy(int t)
{
    struct sched_param param = {0};
    return sched_setscheduler(0, t % 2 ? SCHED_BATCH : SCHED_OTHER, &param) ? CANNOT : RIGHT;
}

static int get_policy(int t)
{
    struct sched_param param = {.sched_priority = 1};
    return truth(sched_getscheduler(0) == (t % 2 ? SCHED_BATCH : SCHED_OTHER) && !sched_getparam(0, &param) && !param.sched_priority);
}

static int set_ioprio(int t)
{
    return syscall(SYS_ioprio_set, 1, 0, 2 << 13 | (t % 8)) ? CANNOT : RIGHT;
}

static int get_ioprio(int t)
{
    return truth(syscall(SYS_ioprio_get, 1, 0) == (2 << 13 | (t % 8)));
}

static int set_memory(int t)
{
    return syscall(SYS_set_mempolicy, t % 2 ? 4 : 0, NULL, 0) ? CANNOT : RIGHT;
}

static int get_memory(int t)
{
    int policy = -1;
    return truth(syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0) == 0 && policy == (t % 2 ? 4 : 0));
}

static long long ns(clockid_t clock)
{
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static int get_clock(int t)
{
    clockid_t clock;
    struct rusage usage;
    (void)t;
    long long before = ns(CLOCK_THREAD_CPUTIME_ID);
    pthread_getcpuclockid(pthread_self(), &clock);
    long long between = ns(clock), after = ns(CLOCK_THREAD_CPUTIME_ID);
    return truth(before <= between && between <= after && !getrusage(RUSAGE_THREAD, &usage) && is_home());
}

/* Identity */

static int set_name(int t)
{
    char name[16];
    snprintf(name, sizeof name, "member %d", t);
    return (t % 2 ? pthread_setname_np(pthread_self(), name) : prctl(PR_SET_NAME, name)) ? WRONG : RIGHT;
}

static int get_name(int t)
{
    char name[16], one[16] = "", other[16] = "";
    snprintf(name, sizeof name, "member %d", t);
    pthread_getname_np(pthread_self(), one, sizeof one);
    prctl(PR_GET_NAME, other);
    return truth(strcmp(one, name) == 0 && strcmp(other, name) == 0);
}

static int set_tid(int t)
{
    tids[t] = gettid();
    return RIGHT;
}

static int get_tid(int t)
{
    return truth(syscall(SYS_gettid) == tids[t] && gettid() == tids[t] && tids[t] != tids[(t + 1) % omp_get_num_threads()]);
}

/* Where the kernel says who this thread is. */
static int get_self(int t)
{
    char path[64], link[64] = "", name[16] = "";
    FILE *file = fopen("/proc/thread-self/comm", "r");
    int named = file && fgets(name, sizeof name, file) && atoi(name) == t;
    if (file)
        fclose(file);
    snprintf(path, sizeof path, "%d/task/%d", getpid(), gettid());
    return truth(named && readlink("/proc/thread-self", link, sizeof link - 1) > 0 && strcmp(link, path) == 0);
}

static int set_self(int t)
{
    char name[16];
    snprintf(name, sizeof name, "%d", t);
    return truth(pthread_setname_np(pthread_self(), name) == 0);
}

/* Rights */

static int get_groups(int t)
{
    (void)t;
    return geteuid() ? CANNOT : truth(initgroups("root", 0) == 0);
}

static int set_slack(int t)
{
    return prctl(PR_SET_TIMERSLACK, 1000ul * (unsigned long)(t + 1), 0, 0, 0) ? CANNOT : RIGHT;
}

static int get_slack(int t)
{
    return truth(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == 1000 * (t + 1));
}

static int set_privileges(int t)
{
    return t % 2 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? CANNOT : RIGHT;
}

static int get_privileges(int t)
{
    return truth(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == t % 2);
}

static int set_fsuid(int t)
{
    setfsuid((uid_t)(1000 + t));
    return setfsuid((uid_t)-1) == 1000 + t ? RIGHT : CANNOT;
}

static int get_fsuid(int t)
{
    return truth(setfsuid((uid_t)-1) == 1000 + t);
}

static int set_directory(int t)
{
    return unshare(CLONE_FS) || chdir(t % 2 ? "/" : "/proc") ? CANNOT : RIGHT;
}

static int get_directory(int t)
{
    char now[64] = "";
    return truth(getcwd(now, sizeof now) && strcmp(now, t % 2 ? "/" : "/proc") == 0);
}

static int set_persona(int t)
{
    return personality(t % 2 ? ADDR_NO_RANDOMIZE : 0) < 0 ? CANNOT : RIGHT;
}

static int get_persona(int t)
{
    return truth(personality(0xffffffff) == (t % 2 ? ADDR_NO_RANDOMIZE : 0));
}

static int set_capabilities(int t)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) || data[0].effective == 0)
        return CANNOT;
    data[0].effective &= t % 2 ? 0 : ~0u;
    return syscall(SYS_capset, &header, data) ? CANNOT : RIGHT;
}

static int get_capabilities(int t)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    return truth(syscall(SYS_capget, &header, data) == 0 && (data[0].effective == 0) == t % 2);
}

/* Signals */

static int set_pending(int t)
{
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &block, NULL);
    return t % 2 && raise(SIGUSR2) ? WRONG : RIGHT;
}

static int get_pending(int t)
{
    sigset_t pending, now;
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return truth(sigismember(&pending, SIGUSR2) == t % 2 && sigismember(&now, SIGUSR2));
}

static int get_poll(int t)
{
    sigset_t block, none;
    struct timespec most = {5, 0};
    (void)t;
    sigemptyset(&none);
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &block, NULL);
    int before = heard;
    raise(SIGUSR1);
    int answer = truth(ppoll(NULL, 0, &most, &none) == -1 && errno == EINTR && heard == before + 1);
    pthread_sigmask(SIG_UNBLOCK, &block, NULL);
    return answer;
}

static int heard_soon(int count)
{
    for (double until = check_now() + 5; *(volatile int *)&heard < count && check_now() < until;)
        usleep(100);
    return truth(heard == count);
}

static int get_timer(int t)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    int before = heard;
    (void)t;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &soon, NULL))
        return CANNOT;
    int answer = heard_soon(before + 1);
    timer_delete(timer);
    return answer;
}

#include "later.h"

static int get_signal(int t)
{
    static __thread int sent;
    int next = tids[(t + 1) % setters];
    if (t % 2 ? syscall(SYS_tgkill, getpid(), next, SIGUSR1) : tgkill(getpid(), next, SIGUSR1))
        return WRONG;
    return heard_soon(++sent);
}

static const struct kind {
    const char *name;
    int (*set)(int member), (*get)(int member);
} kinds[] = {
    {"thread", NULL, born_thread}, {"thread-c11", NULL, born_c11}, {"fork", NULL, born_fork}, {"vfork", NULL, born_vfork},
    {"clone", NULL, born_clone}, {"clone-by-number", NULL, born_by_number}, {"spawn", NULL, born_spawn}, {"shell", NULL, born_shell},
    {"locked", NULL, born_locked}, {"nice", set_nice, get_nice}, {"policy", set_policy, get_policy}, {"ioprio", set_ioprio, get_ioprio},
    {"memory", set_memory, get_memory}, {"clock", NULL, get_clock}, {"name", set_name, get_name}, {"tid", set_tid, get_tid},
    {"slack", set_slack, get_slack}, {"privileges", set_privileges, get_privileges}, {"fsuid", set_fsuid, get_fsuid},
    {"directory", set_directory, get_directory}, {"persona", set_persona, get_persona},
    {"capabilities", set_capabilities, get_capabilities}, {"pending", set_pending, get_pending}, {"ppoll", NULL, get_poll},
    {"timer", NULL, get_timer}, {"signal", set_tid, get_signal}, {"own-timer", set_own_timer, get_own_timer},
    {"self", set_self, get_self}, {"groups", NULL, get_groups},
    {"own-clock", set_own_clock, get_own_clock}, {"stack", set_stack, get_stack},
};

static int results[3];

/* So long that a team on fewer processors is given back to the kernel, and any carrier runs any
 * thread. */
static void work(void)
{
    for (double until = check_now() + 0.01; check_now() < until;)
        ;
}

static void note(int result)
{
    __atomic_fetch_add(&results[result <= CANNOT ? result : WRONG], 1, __ATOMIC_RELAXED);
}

/* The first region that does so, and another one later. */
static __thread int has_set;

static void first(const struct kind *kind, int threads)
{
#pragma omp parallel num_threads(threads)
    {
        int t = omp_get_thread_num();
        has_set = 1;
        for (int i = 0; i < 8; i++) {
#pragma omp barrier
        }
        int done = kind->set ? kind->set(t) : RIGHT;
        if (done != RIGHT)
            note(done);
#pragma omp barrier
        work();
        if (results[CANNOT] == 0)
            note(kind->get(t));
#pragma omp barrier
    }
}

static void second(const struct kind *kind)
{
#pragma omp parallel
    for (int i = 0; i < 4; i++) {
#pragma omp barrier
        work();
        if (has_set)
            note(kind->get(omp_get_thread_num()));
    }
}

int main(int argc, char **argv)
{
    signal(SIGUSR1, hear);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (argc < 2)
            puts(kinds[i].name);
        else if (strcmp(argv[1], kinds[i].name) == 0) {
            setters = argc > 2 ? atoi(argv[2]) : omp_get_max_threads();
            first(&kinds[i], setters);
            for (int r = 0; r < 2 && results[WRONG] + results[CANNOT] == 0; r++)
                second(&kinds[i]);
            printf("%s %s\n", argv[1], results[CANNOT] ? "cannot be tried here" : results[WRONG] ? "WRONG" : "right");
            fprintf(stderr, "right %d, wrong %d\n", results[RIGHT], results[WRONG]);
            return results[WRONG] != 0;
        }
    }
    return argc > 1;
}
