/* Partitions that a program made earlier, from numbers that it learned elsewhere: through a
 * library, far up the stack, from another region, from tickets, from the user. Every member works
 * on the share that has its number.
 */
#include "torture.h"
#include <alloca.h>
#include <dlfcn.h>
#include <stdatomic.h>

#define CELLS 1200

struct shares {
    int count, from[TORTURE_THREADS], to[TORTURE_THREADS];
};

static uint64_t cell[CELLS];

static void divide(struct shares *shares, int count)
{
    shares->count = count;
    for (int i = 0; i < count; i++) {
        shares->from[i] = CELLS * i / count;
        shares->to[i] = CELLS * (i + 1) / count;
    }
}

static void share_of(const struct shares *shares, int number, int round)
{
    for (int i = shares->from[number]; i < shares->to[number]; i++)
        cell[i] = mixed(cell[i], (uint64_t)(number + round));
}

/* Asks first for the number only, then for number and size. */
static void use(const struct shares *shares, int rounds)
{
    memset(cell, 0, sizeof cell);
    for (int r = 0; r < rounds; r++) {
#pragma omp parallel
        share_of(shares, omp_get_thread_num(), r);
#pragma omp parallel
        {
            int me = omp_get_thread_num(), all = omp_get_num_threads();
            share_of(shares, me, r);
            *slot(me) = mixed(*slot(me), (uint64_t)all);
        }
    }
    note((uint64_t)shares->count);
    note_slots(team_size());
    for (int i = 0; i < CELLS; i++)
        note(cell[i]);
}

static void through_a_library(void)
{
    static struct shares one, other;
    void *library = dlopen("plugin.so", RTLD_NOW | RTLD_LOCAL);
    int (*threads)(void);
    if (!library)
        wrong("no plugin: %s", dlerror());
    *(void **)&threads = dlsym(library, "plugin_threads");
    divide(&one, threads());
    use(&one, 3);
    divide(&other, threads());
    use(&other, 3);
    use(&one, 3);
}

__attribute__((noinline)) static int asked_below(size_t size)
{
    volatile char *frame = alloca(size);
    frame[0] = 1;
    frame[size - 1] = 1;
    int threads = omp_get_max_threads();
    return frame[0] == frame[size - 1] ? threads : 0;
}

/* One place is reached from several others through frames of four kilobytes; the program keeps each
 * of its answers. */
static void below_large_frames(void)
{
    static struct shares one, two;
    divide(&one, asked_below(4096));
    use(&one, 2);
    divide(&two, asked_below(5000));
    for (int r = 0; r < 4; r++) {
        use(&two, 1);
        use(&one, 1);
    }
}

/* One place asks again and again, as a constructor does, and all answers stay in use. */
static void kept_objects(void)
{
    static struct shares object[5];
    for (int i = 0; i < 5; i++) {
        divide(&object[i], asked_below(64));
#pragma omp parallel
        *slot(omp_get_thread_num()) += 1;
    }
    for (int i = 4; i >= 0; i--)
        use(&object[i], 2);
}

/* An earlier region told the size. */
static void from_a_region(void)
{
    static struct shares shares;
    int size = 0;
#pragma omp parallel
    {
#pragma omp single
        size = omp_get_num_threads();
    }
    divide(&shares, size);
    use(&shares, 5);
}

/* Members draw tickets, and the number of tickets is the size. */
static void from_tickets(void)
{
    static struct shares shares;
    static _Atomic int tickets;
    tickets = 0;
#pragma omp parallel
    atomic_fetch_add(&tickets, 1);
    divide(&shares, tickets);
    memset(cell, 0, sizeof cell);
    for (int r = 0; r < 5; r++) {
        tickets = 0;
#pragma omp parallel
        share_of(&shares, atomic_fetch_add(&tickets, 1), r);
    }
    for (int i = 0; i < CELLS; i++)
        note(cell[i]);
}

/* The program says by omp_set_dynamic(0) that the size must not change. */
static void not_dynamic(void)
{
    static struct shares shares;
    omp_set_dynamic(0);
    note((uint64_t)omp_get_dynamic());
    divide(&shares, omp_get_max_threads());
    use(&shares, 4);
}

/* The user says it by the environment. */
static void from_the_user(void)
{
    static struct shares shares;
    divide(&shares, team_size());
    use(&shares, 4);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"library", through_a_library}, {"frames", below_large_frames}, {"objects", kept_objects}, {"region", from_a_region},
        {"tickets", from_tickets},      {"dynamic", not_dynamic},       {"user", from_the_user},
    };
    return TORTURE(parts);
}
