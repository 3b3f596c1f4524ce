/* Tasks: recursive, deferred and not, groups, loops of tasks, untied, final, and tasks that wait at
 * barriers. */
#include "torture.h"

static uint64_t fib(int n)
{
    uint64_t a, b;
    if (n < 2)
        return (uint64_t)n;
#pragma omp task shared(a) if (n > 6)
    a = fib(n - 1);
#pragma omp task shared(b) if (n > 6)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void recursive(void)
{
    uint64_t in_single = 0, in_master = 0;
#pragma omp parallel
#pragma omp single
    in_single = fib(15);
#pragma omp parallel
#pragma omp master
    in_master = fib(13);
    note(in_single);
    note(in_master);
    note(fib(9));
#pragma omp parallel if (0)
    in_single = fib(10);
    note(in_single);
}

/* Every member makes tasks; the barrier runs them. */
static void at_barriers(void)
{
    uint64_t sum = 0;
#pragma omp parallel
    for (int r = 0; r < 15; r++) {
        for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(i, r)
            {
#pragma omp atomic
                sum += (uint64_t)(i * r + 1);
            }
        }
#pragma omp barrier
        *slot(omp_get_thread_num()) = mixed(*slot(omp_get_thread_num()), sum);
#pragma omp barrier
    }
    note(sum);
    note_slots(team_size());
}

static void groups(void)
{
    uint64_t value[64], sum = 0;
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < 6; r++) {
#pragma omp taskgroup
        for (int i = 0; i < 64; i++) {
#pragma omp task shared(value) firstprivate(i, r)
            {
#pragma omp task shared(value) firstprivate(i, r)
                value[i] = work((uint64_t)(i + r), 20);
            }
        }
        for (int i = 0; i < 64; i++)
            sum = mixed(sum, value[i]);
    }
    note(sum);
}

static void task_loops(void)
{
    static uint64_t cell[400];
    int last = 0;
    memset(cell, 0, sizeof cell);
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(7)
        for (int i = 0; i < 400; i++)
            cell[i] = work((uint64_t)i, 3);
#pragma omp taskloop num_tasks(13) lastprivate(last)
        for (int i = 0; i < 400; i++) {
            cell[i] = mixed(cell[i], 1);
            last = i;
        }
#pragma omp taskloop collapse(2) nogroup
        for (int i = 0; i < 20; i++)
            for (int k = 0; k < 20; k++)
                cell[i * 20 + k] = mixed(cell[i * 20 + k], (uint64_t)(i * k));
#pragma omp taskwait
#pragma omp taskloop
        for (int i = 0; i < 400; i++)
            cell[i] += 5;
    }
    note((uint64_t)last);
    for (int i = 0; i < 400; i++)
        note(cell[i]);
}

/* A tied task stays with its member over a wait; an undeferred one runs at once, in the member that
 * creates it. */
static void ties(void)
{
    uint64_t moved = 0, early = 0;
#pragma omp parallel
    for (int r = 0; r < 5; r++) {
#pragma omp task shared(moved)
        {
            int me = omp_get_thread_num();
#pragma omp task
            work((uint64_t)me, 100);
#pragma omp taskwait
#pragma omp taskyield
            if (omp_get_thread_num() != me) {
#pragma omp atomic
                moved++;
            }
        }
        int here = omp_get_thread_num(), there = -1;
#pragma omp task if (0) shared(there)
        there = omp_get_thread_num();
        if (there != here) {
#pragma omp atomic
            early++;
        }
#pragma omp task final(1) shared(early)
        {
            int ran = 0;
            if (!omp_in_final()) {
#pragma omp atomic
                early++;
            }
#pragma omp task shared(ran)
            ran = 1;
            if (!ran) {
#pragma omp atomic
                early++;
            }
        }
#pragma omp taskwait
    }
    note(moved);
    note(early);
}

static void untied_and_priority(void)
{
    uint64_t sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 60; i++) {
#pragma omp task untied firstprivate(i) priority(i % 3)
        {
            uint64_t x = work((uint64_t)i, 30);
#pragma omp taskyield
#pragma omp task shared(x) mergeable
            x ^= 5;
#pragma omp taskwait
#pragma omp atomic
            sum += x;
        }
    }
    note(sum);
}

static uint64_t tree_sum(const uint64_t *from, int count)
{
    if (count <= 4) {
        uint64_t sum = 0;
        for (int i = 0; i < count; i++)
            sum = mixed(sum, from[i]);
        return sum;
    }
    uint64_t left, right;
#pragma omp task shared(left)
    left = tree_sum(from, count / 2);
    right = tree_sum(from + count / 2, count - count / 2);
#pragma omp taskwait
    return mixed(left, right);
}

/* All members make trees of tasks at once, and locks are taken inside. */
static void forests(void)
{
    static uint64_t leaf[256];
    static omp_lock_t lock;
    uint64_t taken = 0;
    for (int i = 0; i < 256; i++)
        leaf[i] = work((uint64_t)i, 2);
    omp_init_lock(&lock);
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        *slot(me) = tree_sum(leaf, 32 + me % 200);
#pragma omp task
        {
            omp_set_lock(&lock);
            taken++;
            omp_unset_lock(&lock);
        }
    }
    omp_destroy_lock(&lock);
    note(taken);
    note_slots(team_size());
}

static void region_in_task(uint64_t salt)
{
    clear_slots();
#pragma omp parallel
    {
        *slot(omp_get_thread_num()) = mixed(salt, (uint64_t)omp_get_thread_num());
#pragma omp barrier
    }
    note_slots(team_size());
    note((uint64_t)omp_get_level());
}

/* Tasks outside of any region run at once, and open regions: teams must not outlive the task that
 * they belong to. */
static void outside(void)
{
    static int chain;
    chain = 0;
    for (int r = 0; r < 3; r++) {
#pragma omp parallel
        *slot(omp_get_thread_num()) = 1;
#pragma omp task
        region_in_task(1);
#pragma omp task
        region_in_task(2);
#pragma omp taskwait
#pragma omp task if (0)
        region_in_task(3);
        region_in_task(4);
#pragma omp task depend(inout : chain)
        region_in_task(5);
#pragma omp task depend(inout : chain)
        region_in_task(6);
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp task
                region_in_task(7);
                region_in_task(8);
            }
        }
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 3; i++)
            region_in_task((uint64_t)(10 + i));
#pragma omp task
        {
            omp_set_num_threads(2);
            region_in_task(20);
            note((uint64_t)omp_get_max_threads());
        }
#pragma omp taskwait
        region_in_task(21);
        omp_set_num_threads(1);
        uint64_t alone = 0;
#pragma omp parallel
        {
#pragma omp task shared(alone)
            alone += 3;
        }
        note(alone);
        omp_set_num_threads(team_size());
#pragma omp parallel if (0)
        {
            omp_set_num_threads(3);
            region_in_task(30);
        }
        region_in_task(31);
#pragma omp parallel num_threads(1)
        {
            omp_set_num_threads(2);
            region_in_task(32);
        }
        region_in_task(33);
#pragma omp task if (0)
        {
            omp_set_num_threads(3);
            region_in_task(34);
        }
        region_in_task(35);
        omp_set_num_threads(team_size());
    }
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"recursive", recursive}, {"barriers", at_barriers}, {"groups", groups}, {"loops", task_loops},
        {"ties", ties},           {"untied", untied_and_priority}, {"forests", forests},
        {"outside", outside},
    };
    return TORTURE(parts);
}
