/* Calls that set something for the whole process. For user and group ids the C library tells all
 * threads by signals. Other calls set limits, the working directory, the umask, priorities, and
 * affinity. The calls come between regions and inside them.
 */
#include "torture.h"
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void some_work(void)
{
#pragma omp parallel
    for (int r = 0; r < 10; r++) {
        *slot(omp_get_thread_num()) = mixed(*slot(omp_get_thread_num()), (uint64_t)r);
#pragma omp barrier
    }
}

/* Sets the ids that the process has anyway: nothing changes, but the C library tells every
 * thread. */
static void same_ids(void)
{
    uid_t uid[3];
    gid_t gid[3];
    if (getresuid(&uid[0], &uid[1], &uid[2]) || getresgid(&gid[0], &gid[1], &gid[2]))
        wrong("no ids");
    if (setresgid(gid[0], gid[1], gid[2]) || setresuid(uid[0], uid[1], uid[2]) || setuid(uid[1]) || setgid(gid[1]))
        wrong("the ids of a process cannot be set to what they are");
}

static void ids_between(void)
{
    for (int r = 0; r < 5; r++) {
        some_work();
        same_ids();
    }
    note_slots(team_size());
}

static void ids_inside(void)
{
    for (int r = 0; r < 4; r++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            if (me == (r % 2 ? omp_get_num_threads() - 1 : 0))
                same_ids();
#pragma omp barrier
            *slot(me) = mixed(*slot(me), (uint64_t)r);
#pragma omp single
            same_ids();
        }
    }
    note_slots(team_size());
}

static void others(void)
{
    char before[4096];
    if (!getcwd(before, sizeof before))
        wrong("no directory");
    for (int r = 0; r < 4; r++) {
        struct rlimit limit;
        mode_t mask = umask(022);
        umask(mask);
        getrlimit(RLIMIT_CORE, &limit);
        setrlimit(RLIMIT_CORE, &limit);
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0));
        if (chdir("/") || chdir(before))
            wrong("no way back");
        prctl(PR_SET_DUMPABLE, prctl(PR_GET_DUMPABLE));
        setenv("NUMAESTRO_TORTURE_WORD", r % 2 ? "a" : "b", 1);
        some_work();
        note((uint64_t)*getenv("NUMAESTRO_TORTURE_WORD"));
    }
    note_slots(team_size());
}

/* A member asks for the processors that it may use, and sets the same ones. */
static void affinity(void)
{
    for (int r = 0; r < 3; r++) {
#pragma omp parallel
        {
            cpu_set_t set;
            int me = omp_get_thread_num(), bad = 0;
            bad += sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 1;
            sched_setaffinity(0, sizeof set, &set);
#pragma omp barrier
            bad += sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 1;
            *slot(me) += (uint64_t)bad;
        }
    }
    note_slots(team_size());
}

/* The program asks the runtime to give everything back; the next region has it all again. */
static void paused(void)
{
    for (int r = 0; r < 3; r++) {
        some_work();
        if (omp_pause_resource_all(r % 2 ? omp_pause_hard : omp_pause_soft) < 0)
            wrong("the runtime cannot be paused");
        some_work();
    }
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"between", ids_between}, {"inside", ids_inside}, {"others", others}, {"affinity", affinity}, {"paused", paused},
    };
    return TORTURE(parts);
}
