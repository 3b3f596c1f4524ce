/* Regions of one thread between those of whole teams: by an `if` clause, by their size, combined
 * with loops and sections, in each other, and with teams inside. A team that is kept for the next
 * region must not show in them, nor they in it. */
#include "torture.h"
#include <pthread.h>
#include <sys/wait.h>

/* Clauses that no compiler decides. */
static volatile int no = 0, yes = 1;

static int whole_private;
#pragma omp threadprivate(whole_private)

static void whole(uint64_t seed)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        *slot(me) = mixed(*slot(me), seed + (uint64_t)(omp_get_num_threads() + 1000 * omp_get_level()));
#pragma omp barrier
        *slot(me) = mixed(*slot(me), *slot((me + 1) % omp_get_num_threads()) != 0);
        whole_private++;
    }
}

/* Everything that a program can ask about the region that it is in. */
static uint64_t position(void)
{
    uint64_t is = (uint64_t)omp_get_thread_num();
    is = mixed(is, (uint64_t)omp_get_num_threads());
    is = mixed(is, (uint64_t)omp_get_level());
    is = mixed(is, (uint64_t)omp_get_active_level());
    is = mixed(is, (uint64_t)omp_in_parallel());
    is = mixed(is, (uint64_t)omp_get_max_threads());
    for (int level = 0; level < 4; level++) {
        is = mixed(is, (uint64_t)(int64_t)omp_get_ancestor_thread_num(level));
        is = mixed(is, (uint64_t)(int64_t)omp_get_team_size(level));
    }
    return is;
}

/* Ones that have each construct in them. */
static uint64_t constructs(uint64_t seed)
{
    uint64_t all = seed, copy = 0;
#pragma omp parallel if (no) firstprivate(copy)
    {
        all = mixed(all, position());
#pragma omp single copyprivate(copy)
        copy = all;
#pragma omp for schedule(dynamic) ordered
        for (int i = 0; i < 5; i++) {
#pragma omp ordered
            all = mixed(all, copy + (uint64_t)i);
        }
#pragma omp sections
        {
#pragma omp section
            all = mixed(all, 1);
#pragma omp section
            all = mixed(all, 2);
        }
#pragma omp for schedule(static, 2)
        for (int i = 0; i < 7; i++)
            all += (uint64_t)i;
#pragma omp barrier
#pragma omp master
        all++;
#pragma omp critical(alone)
        all = mixed(all, 3);
#pragma omp atomic
        all += 4;
    }
    return all;
}

static uint64_t combined(uint64_t seed)
{
    uint64_t sum = seed;
#pragma omp parallel for if (no) schedule(static, 3) reduction(+ : sum)
    for (int i = 0; i < 30; i++)
        sum += (uint64_t)(i * (omp_get_num_threads() + omp_get_level()));
#pragma omp parallel for num_threads(1) schedule(guided) reduction(+ : sum)
    for (int i = 0; i < 30; i++)
        sum += (uint64_t)(i * (omp_get_num_threads() + omp_get_level()));
#pragma omp parallel sections num_threads(1) reduction(+ : sum)
    {
#pragma omp section
        sum += 5;
#pragma omp section
        sum += 7 * (uint64_t)omp_get_num_threads();
    }
    return sum;
}

static void between(void)
{
#pragma omp parallel
    whole_private = 0;
    for (int r = 0; r < fewer(60); r++) {
        whole((uint64_t)r);
        note(constructs((uint64_t)r));
        note(position());
        whole((uint64_t)r);
        note(combined((uint64_t)r));
        note(position());
        note((uint64_t)whole_private);
    }
    note_slots(team_size());
}

/* The same function with one thread and with all, in turn. */
static void either(void)
{
    uint64_t sum = 0;
    for (int r = 0; r < fewer(100); r++) {
        int size = r % 3 == 0 ? 1 : team_size();
#pragma omp parallel for num_threads(size) if (r % 5 != 0 && yes) reduction(+ : sum) schedule(static)
        for (int i = 0; i < 50; i++)
            sum += (uint64_t)(i * omp_get_num_threads());
        note(sum);
    }
    /* libomp keeps the size of a region whose `if` is false for the next region of any part. */
    whole(0);
}

static void tasks(void)
{
    for (int r = 0; r < fewer(30); r++) {
        uint64_t all = 0;
        whole(7);
#pragma omp parallel num_threads(1)
        {
            for (int i = 0; i < 4; i++) {
#pragma omp task shared(all)
                all = mixed(all, position() + (uint64_t)i);
            }
#pragma omp taskwait
#pragma omp taskloop shared(all)
            for (int i = 0; i < 3; i++)
                all = mixed(all, (uint64_t)i);
#pragma omp task shared(all) depend(out : all)
            all = mixed(all, 9);
        }
        note(all);
        whole(8);
    }
    note_slots(team_size());
}

/* Regions in regions of one thread. Those of several threads are real teams: a region of one thread
 * is no active level. */
static void below(void)
{
    static uint64_t cell[16];
    for (int r = 0; r < 6; r++) {
        uint64_t all = 0;
        whole((uint64_t)r);
#pragma omp parallel num_threads(1)
        {
            all = mixed(all, position());
#pragma omp parallel num_threads(3) if (no)
            {
                all = mixed(all, position());
#pragma omp parallel num_threads(r % 2 ? 12 : 2)
                {
                    int me = omp_get_thread_num();
                    cell[me] = position();
#pragma omp barrier
                    cell[me] = mixed(cell[me], cell[(me + 1) % omp_get_num_threads()] != 0);
                }
                all = mixed(all, position());
#pragma omp barrier
            }
            all = mixed(all, position());
        }
        for (int i = 0; i < (r % 2 ? 12 : 2); i++)
            all = mixed(all, cell[i]);
        note(all);
        note(position());
        whole((uint64_t)r);
    }
    note_slots(team_size());
}

/* Settings that are made in a region of one thread end with it. */
static void settings(void)
{
    int before = omp_get_max_threads();
    for (int r = 0; r < 6; r++) {
        uint64_t all = 0;
        whole((uint64_t)r);
#pragma omp parallel if (no)
        {
            omp_sched_t kind;
            int chunk;
            omp_set_num_threads(2 + r % 3);
            omp_set_schedule(omp_sched_dynamic, 3 + r);
            omp_set_dynamic(0);
            omp_get_schedule(&kind, &chunk);
            all = mixed(all, position() + (uint64_t)((int)kind * 100 + chunk));
#pragma omp parallel reduction(+ : all)
            all += 1 + (uint64_t)omp_get_thread_num();
            all = mixed(all, position());
        }
        note(all);
        note(position() + (uint64_t)(omp_get_max_threads() == before));
        whole((uint64_t)r);
    }
    note_slots(team_size());
}

/* The child has neither the team nor the kernel threads, but goes on in its region. */
static void forks(void)
{
    whole(1);
    uint64_t all = 0;
#pragma omp parallel num_threads(1)
    {
        all = mixed(all, position());
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            _exit(omp_get_level() == 1 && omp_get_num_threads() == 1 ? 7 : 8);
        int status = 0;
        waitpid(child, &status, 0);
        all = mixed(all, (uint64_t)(WIFEXITED(status) ? WEXITSTATUS(status) : -1));
        all = mixed(all, position());
    }
    note(all);
    whole(2);
    note_slots(team_size());
}

/* Another thread opens teams while this one is in a region of one thread. */
static void *elsewhere(void *result)
{
    uint64_t sum = 0;
    for (int r = 0; r < 3; r++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
        sum += 1 + (uint64_t)omp_get_thread_num();
#pragma omp parallel num_threads(1) reduction(+ : sum)
        sum += 10 + (uint64_t)omp_get_level();
    }
    *(uint64_t *)result = sum;
    return NULL;
}

static void beside(void)
{
    whole(1);
    uint64_t theirs = 0, all = 0;
#pragma omp parallel num_threads(1)
    {
        pthread_t thread;
        all = mixed(all, position());
        if (pthread_create(&thread, NULL, elsewhere, &theirs) != 0)
            wrong("no thread");
        all = constructs(all);
        pthread_join(thread, NULL);
        all = mixed(all, position());
    }
    note(all);
    note(theirs);
    whole(2);
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"between", between},   {"either", either}, {"tasks", tasks},   {"below", below},
        {"settings", settings}, {"forks", forks},   {"beside", beside},
    };
    return TORTURE(parts);
}
