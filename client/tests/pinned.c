/* Works for the seconds of the first argument, or with "-" until its standard input ends, with a
 * mask of its own choice, and fails if that mask changes. "process CPU": binds itself, in its only
 * thread. "thread CPU": binds one thread of three. "number CPU": binds itself by the system call.
 * "team CPU": binds itself, and then opens parallel regions. "briefly CPU": binds itself, and after
 * a third of the time takes everything that it had. "born": has the mask that it was started with.
 * It prints a line when it is bound. */
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

static cpu_set_t mine;
static double until;
static const char *way;

static void bind_here(void)
{
    long result = !strcmp(way, "number") ? syscall(SYS_sched_setaffinity, 0, sizeof mine, &mine)
                                         : sched_setaffinity(0, sizeof mine, &mine);
    if (result != 0)
        check_fail("it cannot be bound: %m");
}

static void look(void)
{
    cpu_set_t now;
    CPU_ZERO(&now);
    if (syscall(SYS_sched_getaffinity, 0, sizeof now, &now) <= 0 || !CPU_EQUAL(&now, &mine))
        check_fail("somebody has changed a mask that this program has set");
}

static void work(void)
{
    while (!check_over(until))
        look();
}

static void *unbound(void *unused)
{
    (void)unused;
    while (!check_over(until))
        ;
    return NULL;
}

static void open_regions(void)
{
    while (!check_over(until)) {
#pragma omp parallel
        look();
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    way = argv[2];
    until = check_end_by(argv[1]);
    if (argc > 3) {
        CPU_ZERO(&mine);
        CPU_SET(atoi(argv[3]), &mine);
    } else if (syscall(SYS_sched_getaffinity, 0, sizeof mine, &mine) <= 0) {
        return 2;
    }
    pthread_t others[2];
    bool threads = !strcmp(way, "thread"), briefly = !strcmp(way, "briefly");
    cpu_set_t before;
    double end = until;
    if (sched_getaffinity(0, sizeof before, &before) != 0)
        return 2;
    if (briefly)
        until -= 2 * atof(argv[1]) / 3;
    for (int i = 0; threads && i < 2; i++)
        if (pthread_create(&others[i], NULL, unbound, NULL) != 0)
            check_fail("no thread");
    if (strcmp(way, "born"))
        bind_here();
    puts("bound");
    fflush(stdout);
    if (!strcmp(way, "team"))
        open_regions();
    else
        work();
    if (briefly && sched_setaffinity(0, sizeof before, &before) != 0)
        check_fail("it cannot be everywhere again: %m");
    while (briefly && check_now() < end)
        ;
    for (int i = 0; threads && i < 2; i++)
        pthread_join(others[i], NULL);
    puts("kept");
    return 0;
}
