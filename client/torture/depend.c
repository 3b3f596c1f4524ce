/* Tasks that depend on each other, by data, in chains, in waves, exclusive of each other, and on
 * events from outside. */
#include "torture.h"
#include <pthread.h>

static void chains(void)
{
    uint64_t line[8] = {0};
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < 160; r++) {
        int i = r % 8;
#pragma omp task depend(inout : line[i]) firstprivate(i, r)
        line[i] = mixed(line[i], (uint64_t)r);
        if (r % 16 == 15) {
#pragma omp task depend(in : line[0], line[1], line[2]) depend(inout : line[7])
            line[7] = mixed(line[7], line[0] + line[1] + line[2]);
        }
    }
    for (int i = 0; i < 8; i++)
        note(line[i]);
}

/* Readers together, then a writer, then readers. */
static void readers(void)
{
    uint64_t value = 1, seen = 0;
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < 12; r++) {
        for (int k = 0; k < 9; k++) {
#pragma omp task depend(in : value) shared(value, seen)
            {
#pragma omp atomic
                seen += value;
            }
        }
#pragma omp task depend(out : value) shared(value) firstprivate(r)
        value = mixed(value, (uint64_t)r) >> 8;
    }
    note(value);
    note(seen);
}

static void waves(void)
{
    static uint64_t value[13][13];
    memset(value, 0, sizeof value);
#pragma omp parallel
#pragma omp master
    for (int i = 1; i < 13; i++)
        for (int k = 1; k < 13; k++) {
#pragma omp task depend(in : value[i - 1][k], value[i][k - 1]) depend(out : value[i][k]) firstprivate(i, k)
            value[i][k] = mixed(value[i - 1][k] + (uint64_t)(i * k), value[i][k - 1]);
        }
    for (int i = 0; i < 169; i++)
        note(value[i / 13][i % 13]);
}

/* Before LLVM 19, libomp may still use the dependences of a task that waits in its creator's stack
 * frame after the frame has gone (llvm-project issue 85963). */
#if !defined(__clang__) || __clang_major__ >= 19
#define UNDEFERRED 1
static void undeferred(void)
{
    uint64_t x = 3, y = 0;
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < 20; r++) {
#pragma omp task depend(out : x) shared(x) firstprivate(r)
        x = mixed(x, (uint64_t)r);
#pragma omp task depend(in : x) if (0) shared(x, y)
        y = mixed(y, x);
#pragma omp taskwait depend(in : x)
        y = mixed(y, x);
    }
    note(x);
    note(y);
}
#endif

/* Tasks that may run in any order, but never two at once. */
static void exclusive(void)
{
    uint64_t sum = 0, guard = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int r = 0; r < 50; r++) {
#pragma omp task depend(mutexinoutset : sum) shared(sum, guard) firstprivate(r)
            {
                if (guard++)
                    wrong("two tasks of a mutexinoutset run at once");
                sum += work((uint64_t)r, 30);
                guard--;
            }
        }
#pragma omp task depend(in : sum) shared(sum)
        sum = mixed(sum, 1);
    }
    note(sum);
}

static void iterated(void)
{
    static uint64_t cell[16];
    uint64_t all = 0;
    memset(cell, 0, sizeof cell);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 16; i++) {
#pragma omp task depend(out : cell[i]) firstprivate(i)
            cell[i] = work((uint64_t)i, 200);
        }
#pragma omp task depend(iterator(k = 0 : 16), in : cell[k]) shared(all)
        for (int i = 0; i < 16; i++)
            all = mixed(all, cell[i]);
    }
    note(all);
}

/* A task is over when its event is fulfilled: by another task, or by a thread that OpenMP does not
 * know. */
static void *fulfil(void *event)
{
    usleep(200);
    omp_fulfill_event((omp_event_handle_t)(uintptr_t)event);
    return NULL;
}

static void detached(void)
{
    uint64_t order = 0;
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < 4; r++) {
        omp_event_handle_t event;
        pthread_t thread;
#pragma omp task detach(event) depend(out : order) shared(order) firstprivate(r)
        order = mixed(order, (uint64_t)r);
        if (r % 2) {
            if (pthread_create(&thread, NULL, fulfil, (void *)(uintptr_t)event))
                wrong("no thread");
            pthread_detach(thread);
        } else {
#pragma omp task firstprivate(event)
            omp_fulfill_event(event);
        }
#pragma omp task depend(inout : order) shared(order)
        order = mixed(order, 77);
#pragma omp taskwait
    }
    note(order);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"chains", chains},       {"readers", readers},   {"waves", waves},
        {"exclusive", exclusive}, {"iterated", iterated}, {"detached", detached},
#ifdef UNDEFERRED
        {"undeferred", undeferred},
#endif
    };
    return TORTURE(parts);
}
