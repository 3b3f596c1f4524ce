/* Processes that the program starts: fork, fork and exec, vfork, system and popen, between regions
 * and inside them. */
#include "torture.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void some_work(void)
{
#pragma omp parallel
    {
        for (int r = 0; r < 20; r++) {
            *slot(omp_get_thread_num()) = mixed(*slot(omp_get_thread_num()), (uint64_t)r);
#pragma omp barrier
        }
    }
}

static int code_of(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* A child that works itself, and one that executes another program. */
static int forked(int number)
{
    pid_t child = fork();
    if (child < 0)
        wrong("no child");
    if (child == 0)
        _exit((int)(work((uint64_t)number, 100) % 100));
    return code_of(child);
}

static int executed(int number)
{
    char text[40];
    snprintf(text, sizeof text, "exit %d", 10 + number % 50);
    pid_t child = fork();
    if (child < 0)
        wrong("no child");
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", text, (char *)NULL);
        _exit(99);
    }
    return code_of(child);
}

static int spawned(int number)
{
    char text[40], *words[] = {"sh", "-c", text, NULL};
    pid_t child;
    snprintf(text, sizeof text, "exit %d", 60 + number % 30);
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ))
        wrong("no child");
    return code_of(child);
}

static void between(void)
{
    for (int r = 0; r < 3; r++) {
        some_work();
        note((uint64_t)forked(r));
        some_work();
        note((uint64_t)executed(r));
        some_work();
        note((uint64_t)spawned(r));
        note((uint64_t)WEXITSTATUS(system("exit 5")));
    }
    note_slots(team_size());
}

/* One member starts children while the others wait at a barrier, and then other members do. */
static void inside(void)
{
    for (int r = 0; r < 2; r++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num(), all = omp_get_num_threads();
            if (me == 0)
                *slot(me) = mixed(*slot(me), (uint64_t)forked(r));
#pragma omp barrier
            if (me == all - 1)
                *slot(me) = mixed(*slot(me), (uint64_t)(executed(r) * 1000 + spawned(r)));
#pragma omp barrier
            if (me == all / 2)
                *slot(me) = mixed(*slot(me), (uint64_t)WEXITSTATUS(system("exit 7")));
#pragma omp barrier
            *slot(me) = mixed(*slot(me), (uint64_t)r);
        }
    }
    note_slots(team_size());
}

/* Several members start children at the same time. */
static void together(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        if (me < 4)
            *slot(me) = (uint64_t)(forked(me) + 1000 * spawned(me));
#pragma omp barrier
        *slot(me) += 1;
    }
    note_slots(team_size());
}

static uint64_t read_all(const char *command)
{
    char line[200];
    uint64_t sum = 1;
    FILE *stream = popen(command, "r");
    if (!stream)
        wrong("popen failed");
    while (fgets(line, sizeof line, stream))
        for (char *c = line; *c; c++)
            sum = mixed(sum, (uint64_t)*c);
    return mixed(sum, (uint64_t)pclose(stream));
}

static void pipes(void)
{
    note(read_all("echo one; echo two; exit 3"));
    some_work();
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        if (me < 2)
            *slot(me) = read_all(me ? "echo inside; echo it" : "echo other");
#pragma omp barrier
    }
    note(read_all("printf %s three"));
    note_slots(team_size());
}

/* A child writes its result, and its parent reads it while the parent's team goes on. */
static void talking(void)
{
    int end[2];
    uint64_t value = 0, sum = 0;
    if (pipe(end))
        wrong("no pipe");
    some_work();
    pid_t child = fork();
    if (child == 0) {
        for (uint64_t i = 0; i < 50; i++) {
            value = work(i + *slot(0) % 7, 3);
            if (write(end[1], &value, sizeof value) != sizeof value)
                _exit(1);
        }
        _exit(0);
    }
    close(end[1]);
#pragma omp parallel
    {
        for (int i = 0; i < 50; i++) {
#pragma omp single
            {
                if (read(end[0], &value, sizeof value) != sizeof value)
                    wrong("the child says nothing");
                sum = mixed(sum, value);
            }
        }
    }
    close(end[0]);
    note((uint64_t)code_of(child));
    note(sum);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"between", between}, {"inside", inside}, {"together", together}, {"pipes", pipes}, {"talking", talking},
    };
    return TORTURE(parts);
}
