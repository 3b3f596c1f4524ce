/* program.c - a C program that uses every function of nanothreads.h; it ends with 0 if each of them
 * does what the header says. */
#include "nanothreads.h"

#include <stdatomic.h>
#include <stdio.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
            return 1; \
        } \
    } while (0)

#define PARTIES 10

static atomic_size_t sum, arrived, leaders;
static nth_barrier *barrier;

static void add(size_t from, size_t to, void *weight)
{
    for (size_t i = from; i < to; i++)
        atomic_fetch_add(&sum, i * *(size_t *)weight);
}

struct fib {
    unsigned n;
    unsigned long value;
};

static void fib(void *arg)
{
    struct fib *self = arg;
    if (self->n < 2) {
        self->value = self->n;
        return;
    }
    struct fib a = {self->n - 1, 0}, b = {self->n - 2, 0};
    nth_both(fib, &a, fib, &b);
    self->value = a.value + b.value;
}

static void *meet(void *arg)
{
    for (int round = 1; round <= 20; round++) {
        atomic_fetch_add(&arrived, 1);
        atomic_fetch_add(&leaders, (size_t)nth_barrier_wait(barrier));
        if (atomic_load(&arrived) < (size_t)round * PARTIES)
            return NULL;
        nth_barrier_wait(barrier);
    }
    return arg;
}

static void *inner(void *arg)
{
    return (char *)arg + 1;
}

static void *outer(void *arg)
{
    return nth_finish() == NTH_E_INVALID ? nth_join(nth_spawn(inner, arg)) : NULL;
}

static atomic_int turn;

static void step(void *arg)
{
    int *at = arg;
    *at = atomic_fetch_add(&turn, 1);
}

static int run(unsigned flags)
{
    struct nth_options options = {sizeof options, 3, flags, 64 * 1024};
    CHECK(nth_init(&options) == NTH_OK);
    CHECK(nth_init(NULL) == NTH_E_EXISTS);
    CHECK(nth_processors() >= 1);

    size_t weight = 2;
    atomic_store(&sum, 0);
    nth_parallel_for(10, 1000, 7, add, &weight);
    nth_parallel_for(5, 5, 0, add, &weight);
    nth_parallel_for(5, 4, 0, add, &weight);
    CHECK(atomic_load(&sum) == 2 * (999 * 1000 / 2 - 45));

    struct fib top = {18, 0};
    fib(&top);
    CHECK(top.value == 2584);

    atomic_store(&arrived, 0);
    atomic_store(&leaders, 0);
    CHECK(nth_barrier_create(0) == NULL && nth_barrier_create(65536) == NULL);
    barrier = nth_barrier_create(PARTIES);
    nth_thread *threads[PARTIES];
    for (int i = 0; i < PARTIES; i++)
        threads[i] = nth_spawn(meet, &sum);
    for (int i = 0; i < PARTIES; i++)
        CHECK(nth_join(threads[i]) == &sum);
    CHECK(atomic_load(&leaders) == 20);
    nth_barrier_destroy(barrier);
    nth_barrier_destroy(NULL);

    char bytes[2];
    CHECK(nth_join(nth_spawn(outer, bytes)) == bytes + 1);
    nth_detach(nth_spawn(inner, bytes));

    int at[3] = {-1, -1, -1};
    nth_graph *graph = nth_graph_create();
    int last = nth_graph_task(graph, step, &at[0]);
    int others[2] = {nth_graph_task(graph, step, &at[1]), nth_graph_task(graph, step, &at[2])};
    CHECK(nth_graph_after(graph, last, others, 2) == NTH_OK);
    CHECK(nth_graph_after(graph, 3, others, 2) == NTH_E_INVALID && nth_graph_after(graph, -1, NULL, 0) == NTH_E_INVALID);
    atomic_store(&turn, 0);
    CHECK(nth_graph_run(graph) == NTH_OK && at[0] == 2 && at[1] + at[2] == 1);
    graph = nth_graph_create();
    last = nth_graph_task(graph, step, &at[0]);
    CHECK(nth_graph_after(graph, last, &last, 1) == NTH_OK && nth_graph_run(graph) == NTH_E_CYCLE);
    nth_graph_destroy(nth_graph_create());
    nth_graph_destroy(NULL);

    CHECK(nth_request(-1) == NTH_E_INVALID && nth_report_speedup(0, 1) == NTH_E_INVALID);
    CHECK(nth_finish() == NTH_OK);
    return 0;
}

int main(void)
{
    CHECK(nth_api_version() >> 16 == NTH_API_VERSION >> 16);
    struct nth_options wrong = {sizeof wrong, 257, 0, 0}, smaller = {4, 0, 0, 0}, unknown = {sizeof unknown, 0, 2, 0};
    CHECK(nth_init(&wrong) == NTH_E_INVALID && nth_init(&smaller) == NTH_E_INVALID && nth_init(&unknown) == NTH_E_INVALID);
    int failed = run(0) || run(NTH_UNTIED) || nth_finish();
    /* The first call starts the runtime, whichever function it is. */
    size_t weight = 1;
    atomic_store(&sum, 0);
    nth_parallel_for(0, 10, 0, add, &weight);
    CHECK(atomic_load(&sum) == 45);
    return failed;
}
