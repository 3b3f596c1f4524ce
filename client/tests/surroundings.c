/* Prints a program's surroundings before and after parallel regions: descriptors, standard streams,
 * directory, umask, priorities, limits, dispositions and masks of signals, process group and
 * session relative to itself, environment. The harness compares two runs: they may differ only in
 * the points that numaestro documents. */
#include "check.h"
#include <dirent.h>
#include <omp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

extern char **environ;

static void descriptors(const char *when)
{
    DIR *dir = opendir("/proc/self/fd");
    char link[64], target[512];
    if (!dir)
        check_fail("/proc/self/fd: %m");
    for (struct dirent *entry; (entry = readdir(dir));) {
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || fd == dirfd(dir))
            continue;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        target[strcspn(target, ":[")] = 0; /* "pipe:[123]": the number differs in every run */
        printf("%s descriptor %d %s\n", when, fd, target);
    }
    closedir(dir);
}

static void signals(const char *when)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6) || !strncmp(line, "SigCgt", 6) ||
            !strncmp(line, "NoNewPrivs", 10) || !strncmp(line, "CapEff", 6) || !strncmp(line, "Umask", 5))
            printf("%s %s", when, line);
    if (status)
        fclose(status);
}

static void limits(const char *when)
{
    for (int kind = 0; kind < RLIMIT_NLIMITS; kind++) {
        struct rlimit limit;
        if (!getrlimit(kind, &limit))
            printf("%s limit %d %lld %lld\n", when, kind, (long long)limit.rlim_cur, (long long)limit.rlim_max);
    }
    printf("%s nice %d\n", when, getpriority(PRIO_PROCESS, 0));
}

static void look(const char *when, pid_t self)
{
    char directory[4096];
    descriptors(when);
    signals(when);
    limits(when);
    printf("%s directory %s\n", when, getcwd(directory, sizeof directory));
    printf("%s same process %d own group %d own session %d\n", when, getpid() == self, getpgrp() == self, getsid(0) == self);
    printf("%s terminals %d%d%d\n", when, isatty(0), isatty(1), isatty(2));
}

int main(int argc, char **argv)
{
    char line[256] = "";
    look("before", getpid());
    for (int r = 0; r < 50; r++) {
        int members = 0;
#pragma omp parallel reduction(+ : members)
        members++;
        check_saw(members);
    }
    look("after", getpid());
    for (int i = 1; i < argc; i++)
        printf("argument %s\n", argv[i]);
    while (fgets(line, sizeof line, stdin))
        printf("input %s", line);
    for (char **entry = environ; *entry; entry++)
        printf("environment %s\n", *entry);
    fprintf(stderr, "this is standard error\n");
    return argc > 1 ? atoi(argv[1]) : 0;
}
