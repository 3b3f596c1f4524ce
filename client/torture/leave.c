/* How programs end: by exit in a region and in sequential code, by returning, by pthread_exit, by
 * other functions, and with regions in exit handlers. This program starts itself again for each
 * way, and notes how that one ended.
 */
#include "torture.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static uint64_t sum_of_region(void)
{
    uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (int r = 0; r < 5; r++) {
        sum += (uint64_t)(omp_get_thread_num() + omp_get_num_threads());
#pragma omp barrier
    }
    return sum;
}

static void say(const char *what)
{
    printf("%s %llu\n", what, (unsigned long long)sum_of_region());
    fflush(stdout);
}

static volatile int *volatile nowhere = NULL;

static void at_exit(void)
{
    say("at exit");
}

/* This thread ends the process: otherwise threads of LLVM's runtime would keep it for ever. */
static void *last_thread(void *unused)
{
    (void)unused;
    usleep(3000);
    say("main has left");
    exit(9);
}

static void alarmed(int number)
{
    (void)number;
    _exit(44);
}

static void die(const char *way)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    say("begins");
    if (!strcmp(way, "exit-sequential"))
        exit(3);
    if (!strcmp(way, "at-exit")) {
        atexit(at_exit);
        exit(4);
    }
    if (!strcmp(way, "quick")) {
        at_quick_exit(at_exit);
        quick_exit(5);
    }
}

static void die_in_region(const char *way)
{
    if (!strcmp(way, "exit-region")) {
#pragma omp parallel
        {
#pragma omp barrier
            if (omp_get_thread_num() == 0)
                exit(6);
#pragma omp barrier
        }
    }
    if (!strcmp(way, "exit-member")) {
#pragma omp parallel
        {
#pragma omp barrier
            if (omp_get_thread_num() == omp_get_num_threads() - 1)
                exit(7);
            usleep(100);
        }
        pause();
    }
    if (!strcmp(way, "_exit-member")) {
#pragma omp parallel
        {
            if (omp_get_thread_num() == omp_get_num_threads() / 2)
                _exit(8);
#pragma omp barrier
        }
    }
    if (!strcmp(way, "abort-region")) {
#pragma omp parallel
        {
#pragma omp barrier
            if (omp_get_thread_num() == 0)
                abort();
#pragma omp barrier
        }
    }
    if (!strcmp(way, "fault-region")) {
#pragma omp parallel
        {
#pragma omp barrier
            if (omp_get_thread_num() == omp_get_num_threads() - 1)
                *nowhere = 1;
#pragma omp barrier
        }
    }
    if (!strcmp(way, "killed")) {
#pragma omp parallel
        {
#pragma omp master
            raise(SIGTERM);
#pragma omp barrier
        }
    }
    if (!strcmp(way, "alarm")) {
        signal(SIGALRM, alarmed);
        ualarm(4000, 0);
        for (;;)
            sum_of_region();
    }
}

/* These ways return from main, or leave it by pthread_exit. */
static int leave(const char *way)
{
    die(way);
    die_in_region(way);
    if (!strcmp(way, "pthread_exit")) {
        pthread_t thread;
        pthread_create(&thread, NULL, last_thread, NULL);
        pthread_detach(thread);
        pthread_exit(NULL);
    }
    if (!strcmp(way, "exec")) {
        execl("/bin/sh", "sh", "-c", "echo something else; exit 11", (char *)NULL);
    }
    if (!strcmp(way, "exec-region")) {
#pragma omp parallel
        {
#pragma omp barrier
#pragma omp master
            execl("/bin/sh", "sh", "-c", "echo something else; exit 12", (char *)NULL);
#pragma omp barrier
        }
    }
    return 13;
}

/* Starts this program again; notes its output and how it ended. */
static void note_end_of(const char *way)
{
    int end[2], status;
    unsigned char byte;
    uint64_t said = 0;
    if (pipe(end))
        wrong("no pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(end[1], 1);
        close(end[0]);
        close(end[1]);
        execl("/proc/self/exe", "leave", "--leave", way, (char *)NULL);
        _exit(99);
    }
    close(end[1]);
    while (read(end[0], &byte, 1) == 1)
        said = mixed(said, byte);
    close(end[0]);
    while (waitpid(child, &status, 0) < 0) {
    }
    note(said);
    note((uint64_t)(WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status)));
}

#define WAY(name, text)                                                                                                                    \
    static void name(void)                                                                                                                 \
    {                                                                                                                                      \
        note_end_of(text);                                                                                                                 \
    }
WAY(returns, "return")
WAY(exits, "exit-sequential")
WAY(exits_at_exit, "at-exit")
WAY(exits_quickly, "quick")
WAY(exits_in_region, "exit-region")
WAY(exits_in_member, "exit-member")
WAY(exits_at_once, "_exit-member")
WAY(aborts, "abort-region")
WAY(faults, "fault-region")
WAY(is_killed, "killed")
WAY(is_alarmed, "alarm")
WAY(leaves_main, "pthread_exit")
WAY(executes, "exec")
WAY(executes_in_region, "exec-region")

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"return", returns},       {"exit", exits},             {"at-exit", exits_at_exit}, {"quick", exits_quickly},
        {"in-region", exits_in_region}, {"in-member", exits_in_member}, {"at-once", exits_at_once}, {"abort", aborts},
        {"fault", faults},         {"killed", is_killed},       {"alarm", is_alarmed},      {"main", leaves_main},
        {"exec", executes},        {"exec-region", executes_in_region},
    };
    if (argc == 3 && !strcmp(argv[1], "--leave"))
        return leave(argv[2]);
    return TORTURE(parts);
}
