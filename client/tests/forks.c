/* Processes made by a program that runs parallel regions. The second argument says how: "before"
 * fork, then regions in both; "after" regions, fork, then regions in both (not every runtime can:
 * the harness tries it without numaestro first); "sequential" regions, fork, no region in the
 * child; "exec" regions, fork and exec of this program; "spawn" regions, posix_spawn, vfork, system
 * and popen of this program; "self" regions, then exec of this program in place, three times. */
#include "check.h"
#include <omp.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;
enum { N = 5000, REGIONS = 30 };
static const long long expected = (long long)N * (N - 1) / 2;

static void regions(void)
{
    for (int r = 0; r < REGIONS; r++) {
        long long sum = 0;
        int members = 0;
#pragma omp parallel reduction(+ : sum, members)
        {
            members++;
#pragma omp for
            for (int i = 0; i < N; i++)
                sum += i;
        }
        check_saw(members);
        check_equal("sum", sum, expected);
    }
}

static void await(pid_t child)
{
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        check_fail("no child: %m");
    check_equal("status of the child", status, 0);
}

static void child_without_regions(void)
{
    volatile long long sum = 0;
    for (int i = 0; i < N; i++)
        sum += i;
    _exit(sum == expected && getppid() > 0 ? 0 : 1);
}

static void fork_once(const char *how, char **argv)
{
    pid_t child = fork();
    if (child == 0) {
        if (!strcmp(how, "sequential"))
            child_without_regions();
        if (!strcmp(how, "exec")) {
            execl("/proc/self/exe", argv[0], "0", "leaf", (char *)NULL);
            _exit(9);
        }
        regions();
        _exit(0);
    }
    regions();
    await(child);
}

static void spawn_once(char **argv)
{
    char line[32] = "", command[4200], path[4096] = "";
    char *words[] = {argv[0], "0", "leaf", NULL};
    pid_t child = -1;
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        check_fail("/proc/self/exe: %m");
    check_equal("posix_spawn", posix_spawn(&child, path, NULL, NULL, words, environ), 0);
    await(child);
    child = vfork();
    if (child == 0) {
        execv(path, words);
        _exit(9);
    }
    await(child);
    snprintf(command, sizeof command, "%s 0 leaf", path);
    check_equal("system", system(command), 0);
    snprintf(command, sizeof command, "%s 0 tell", path);
    FILE *pipe = popen(command, "r");
    if (!pipe || !fgets(line, sizeof line, pipe) || pclose(pipe) != 0 || strcmp(line, "forks 12497500\n"))
        check_fail("popen gave \"%s\"", line);
    regions();
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "before";
    if (!strcmp(how, "leaf") || !strcmp(how, "tell")) {
        regions();
        return strcmp(how, "tell") ? 0 : check_end("forks", expected);
    }
    if (!strcmp(how, "self")) {
        const char *left = argc > 3 ? argv[3] : "3";
        char fewer[2] = {(char)(*left - 1), 0};
        regions();
        if (*left > '0')
            execl("/proc/self/exe", argv[0], argv[1], "self", fewer, (char *)NULL);
        return check_end("forks", expected);
    }
    if (strcmp(how, "before"))
        regions();
    while (check_going(argc, argv)) {
        if (!strcmp(how, "spawn")) {
            spawn_once(argv);
        } else if (!strcmp(how, "before")) {
            /* This process never opens a region: each child forks once more before its own. */
            pid_t child = fork();
            if (child == 0) {
                fork_once(how, argv);
                _exit(0);
            }
            await(child);
        } else {
            fork_once(how, argv);
        }
    }
    return check_end("forks", expected);
}
