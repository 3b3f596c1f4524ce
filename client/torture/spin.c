/* Members that wait for each other without barriers, by spinning on flags: pipelines, rings, locks
 * of their own.
 *
 * A plain run with more threads than processors pays a time slice for each step. Large teams take
 * few steps.
 */
#include "torture.h"
#include <sched.h>
#include <stdatomic.h>

static _Atomic uint64_t flag[TORTURE_THREADS];

static void rest(int kind)
{
    if (kind == 1)
        sched_yield();
    else if (kind == 2)
        usleep(20);
    else
        __builtin_ia32_pause();
}

/* Rows of a matrix, from member to member: each waits for its left neighbour's flag, as LU of the
 * NAS benchmarks does. */
static void pipeline_with(int kind, int steps, int members)
{
    static uint64_t value[TORTURE_THREADS];
    for (int i = 0; i < team_size(); i++)
        flag[i] = value[i] = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int s = 1; s <= steps && me < members; s++) {
            if (me > 0)
                while (atomic_load_explicit(&flag[me - 1], memory_order_acquire) < (uint64_t)s)
                    rest(kind);
            value[me] = mixed(value[me] + (uint64_t)me, work((uint64_t)s, 300));
            atomic_store_explicit(&flag[me], (uint64_t)s, memory_order_release);
        }
    }
    for (int i = 0; i < team_size(); i++)
        note(value[i]);
}

static void pipeline(void)
{
    pipeline_with(0, fewer(120) + 2, 8);
}

static void pipeline_yields(void)
{
    pipeline_with(1, fewer(2000), team_size());
}

static void pipeline_sleeps(void)
{
    pipeline_with(2, fewer(400), team_size());
}

/* The same with OpenMP's own words: atomic read and write, and flush. */
static void flushed(void)
{
    static int turn;
    uint64_t order = 0;
    turn = 0;
    int rounds = fewer(60);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads(), now;
        for (int r = 0; r < rounds; r++) {
            for (;;) {
#pragma omp atomic read
                now = turn;
                if (now == r * all + me)
                    break;
#pragma omp flush
                sched_yield();
            }
            order = mixed(order, (uint64_t)(me * r));
#pragma omp flush
#pragma omp atomic write
            turn = now + 1;
        }
    }
    note(order);
}

/* A producer and its consumers: only the first two members work, the others go to the barrier at
 * once. */
static void producer(void)
{
    static _Atomic int full;
    static uint64_t box;
    uint64_t sum = 0;
    full = 0;
    if (team_size() < 2)
        return;
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
            for (int i = 0; i < 60; i++) {
                while (atomic_load(&full))
                    rest(i % 2);
                box = work((uint64_t)i, 5);
                atomic_store(&full, 1);
            }
        } else if (omp_get_thread_num() == 1) {
            for (int i = 0; i < 60; i++) {
                while (!atomic_load(&full))
                    rest((i + 1) % 2);
                sum = mixed(sum, box);
                atomic_store(&full, 0);
            }
        }
    }
    note(sum);
}

/* A barrier that the program made itself. */
static void own_barrier(void)
{
    static _Atomic int arrived, sense;
    static uint64_t board[TORTURE_THREADS];
    int phases = fewer(24);
    arrived = sense = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads(), my_sense = 0;
        for (int r = 0; r < 2 * phases; r++) {
            if (r % 2 == 0)
                board[me] = (uint64_t)(me + r);
            else
                *slot(me) = mixed(*slot(me), board[(me + 1) % all]);
            my_sense = !my_sense;
            if (atomic_fetch_add(&arrived, 1) == all - 1) {
                arrived = 0;
                atomic_store(&sense, my_sense);
            } else {
                while (atomic_load(&sense) != my_sense)
                    rest(r % 3 != 0);
            }
        }
    }
    note_slots(team_size());
}

/* A ticket lock: members get it in the order in which they came. */
static void tickets(void)
{
    static _Atomic uint64_t next, serving;
    uint64_t sum = 0;
    int rounds = fewer(80);
    next = serving = 0;
#pragma omp parallel
    for (int r = 0; r < rounds; r++) {
        uint64_t mine = atomic_fetch_add(&next, 1);
        while (atomic_load(&serving) != mine)
            rest(1);
        sum += mine;
        atomic_store(&serving, mine + 1);
    }
    note(sum);
}

/* The first member waits for all others, who have a barrier of their own afterwards. */
static void waiting_root(void)
{
    static _Atomic int done;
    uint64_t sum = 0;
    for (int r = 0; r < 4; r++) {
        done = 0;
#pragma omp parallel
        {
            if (omp_get_thread_num() == 0)
                while (atomic_load(&done) != omp_get_num_threads() - 1)
                    rest(r % 2);
            else
                atomic_fetch_add(&done, 1);
#pragma omp barrier
#pragma omp atomic
            sum += (uint64_t)done;
        }
    }
    note(sum);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"pipeline", pipeline}, {"yields", pipeline_yields}, {"sleeps", pipeline_sleeps}, {"flushed", flushed},
        {"producer", producer}, {"barrier", own_barrier},    {"tickets", tickets},        {"root", waiting_root},
    };
    return TORTURE(parts);
}
