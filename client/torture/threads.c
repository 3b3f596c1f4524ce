/* Threads that the program makes itself: beside regions, inside them, and as openers of regions;
 * each opener has a team of its own. */
#include "torture.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define ROOTS 3

static pthread_t started(void *(*run)(void *), void *with)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, run, with);
    if (error)
        wrong("no thread: %s", strerror(error));
    return thread;
}

static void *worker(void *result)
{
    *(uint64_t *)result = work(*(uint64_t *)result, 500);
    return NULL;
}

/* Each member makes a thread and waits for it; the others are at the barrier meanwhile. */
static void inside(void)
{
#pragma omp parallel
    for (int r = 0; r < 3; r++) {
        int me = omp_get_thread_num();
        if (me % 3 == r % 3) {
            *slot(me) += (uint64_t)me;
            pthread_join(started(worker, slot(me)), NULL);
        }
#pragma omp barrier
    }
    note_slots(team_size());
}

static _Atomic int going;
static uint64_t beside_sum;

static void *beside(void *nothing)
{
    (void)nothing;
    while (atomic_load(&going)) {
        beside_sum = work(beside_sum, 20);
        sched_yield();
    }
    return NULL;
}

/* A thread of the program's own runs beside the regions. */
static void before(void)
{
    going = 1;
    pthread_t thread = started(beside, NULL);
    for (int r = 0; r < 10; r++) {
#pragma omp parallel
        {
            *slot(omp_get_thread_num()) += (uint64_t)omp_get_num_threads();
#pragma omp barrier
        }
    }
    going = 0;
    pthread_join(thread, NULL);
    note_slots(team_size());
}

struct root {
    int size, regions;
    uint64_t sum;
};

/* One opener's regions, with barriers, work-sharing and a critical section. */
static void *root(void *argument)
{
    struct root *me = argument;
    static uint64_t all;
    uint64_t cell[64] = {0};
    for (int r = 0; r < me->regions; r++) {
        uint64_t part = 0;
#pragma omp parallel num_threads(me->size) reduction(+ : part)
        {
            part += (uint64_t)(omp_get_thread_num() + 10 * omp_get_num_threads());
#pragma omp for schedule(dynamic, 3)
            for (int i = 0; i < 64; i++)
                cell[i] = mixed(cell[i], (uint64_t)(i + r));
#pragma omp single
            me->sum++;
#pragma omp critical
            all++;
        }
        me->sum = mixed(me->sum, part);
    }
    for (int i = 0; i < 64; i++)
        me->sum = mixed(me->sum, cell[i]);
    return NULL;
}

static int size_of_root(int i)
{
    int size = team_size() > 16 ? 16 : team_size();
    return i == 0 ? size : 1 + (size + i) / 2;
}

static void roots(void)
{
    struct root mine[ROOTS];
    pthread_t thread[ROOTS];
    for (int i = 0; i < ROOTS; i++) {
        mine[i] = (struct root){size_of_root(i), 15, (uint64_t)i};
        if (i > 0)
            thread[i] = started(root, &mine[i]);
    }
    root(&mine[0]);
    for (int i = 1; i < ROOTS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < ROOTS; i++)
        note(mine[i].sum);
}

/* One opener after the other, each with its own team, and each ends. */
static void short_lived(void)
{
    for (int i = 0; i < 6; i++) {
        struct root mine = {size_of_root(i % 2), 3, (uint64_t)i};
        pthread_join(started(root, &mine), NULL);
        note(mine.sum);
#pragma omp parallel
        *slot(omp_get_thread_num()) += 1;
    }
    note_slots(team_size());
}

static void *detached_root(void *argument)
{
    struct root mine = {2, 2, 5};
    root(&mine);
    atomic_fetch_add((_Atomic int *)argument, (int)(mine.sum % 1000) + 1);
    return NULL;
}

static void detached(void)
{
    static _Atomic int sum;
    int expected = 4;
    _Atomic int one = 0;
    pthread_join(started(detached_root, &one), NULL);
    sum = 0;
    for (int i = 0; i < expected; i++)
        pthread_detach(started(detached_root, &sum));
    while (atomic_load(&sum) < expected * one) {
#pragma omp parallel
        sched_yield();
    }
    note((uint64_t)sum);
}

/* The program can ask for the root's processor, time and name; it does not compare the answers. */
static void questions(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num(), bad = 0;
        for (int r = 0; r < 10; r++) {
            struct timespec t;
            unsigned cpu = 0;
            clockid_t clock;
            char name[32] = "", mine[16];
            bad += sched_getcpu() < 0;
            bad += getcpu(&cpu, NULL) != 0;
            bad += clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0;
            bad += pthread_getcpuclockid(pthread_self(), &clock) != 0 || clock_gettime(clock, &t) != 0;
            snprintf(mine, sizeof mine, "m%d", me);
            if (me > 0) {
                bad += pthread_setname_np(pthread_self(), mine) != 0;
#pragma omp flush
                bad += pthread_getname_np(pthread_self(), name, sizeof name) != 0;
            }
#pragma omp barrier
        }
        *slot(me) = (uint64_t)bad;
    }
    note_slots(team_size());
}

static pthread_key_t key;
static _Atomic int ended;

static void count_end(void *value)
{
    atomic_fetch_add(&ended, (int)(uintptr_t)value);
}

static void *keyed(void *unused)
{
    (void)unused;
    pthread_setspecific(key, (void *)(uintptr_t)3);
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
    }
    return NULL;
}

/* The destructors of a thread's values run once, when it ends. */
static void destructors(void)
{
    static int there;
    if (!there && pthread_key_create(&key, count_end))
        wrong("no key");
    there = 1;
    ended = 0;
    for (int i = 0; i < 4; i++)
        pthread_join(started(keyed, NULL), NULL);
    note((uint64_t)ended);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"inside", inside},     {"before", before},       {"roots", roots},           {"short-lived", short_lived},
        {"detached", detached}, {"questions", questions}, {"destructors", destructors},
    };
    return TORTURE(parts);
}
