/* Tasks that another thread has to run, in every place where a member of the team may wait: at a
 * barrier, at the end of a loop, of a region, of a `single` with copyprivate, and in a reduction.
 * Each region below is a function of its own, because the shim remembers what a function did.
 */
#include "check.h"
#include <omp.h>

#define PATIENCE_S 20

static int set(int *flag, int to)
{
    __atomic_store_n(flag, to, __ATOMIC_RELEASE);
    return to;
}

static void until_set(const int *flag, const char *what)
{
    for (double until = check_now() + PATIENCE_S; !__atomic_load_n(flag, __ATOMIC_ACQUIRE);)
        if (check_now() > until)
            check_fail("nobody %s, in round %ld", what, check_rounds);
}

enum kind {
    MAKER_POLLS,       /* until its task was run by a member that waits at a barrier */
    MAKER_POLLS_AT_END, /* the same at the end of the region */
    TWO_POLL,          /* so does another member */
    TASK_POLLS,        /* until its maker has come to the barrier */
    CONSUMER_FIRST,    /* a task polls for one that another member makes later. Whoever still waits at
                        * the former barrier may be the one that runs it and then makes nothing, so
                        * all others do */
    IN_SINGLE,         /* the member that executes a `single` with copyprivate polls for its task */
    IN_LOOP,           /* a task made in a loop, before the barrier at the loop's end */
    IN_REDUCTION
};

static struct {
    int ran, came, produced, consumed;
    long sum;
} shared;

static long total;

static void poll_for_task(void)
{
#pragma omp task
    set(&shared.ran, 1);
    until_set(&shared.ran, "runs the task of a member that polls for it");
}

static inline __attribute__((always_inline)) void body(enum kind kind, int barriers, int maker)
{
    int me = omp_get_thread_num(), team = omp_get_num_threads(), makes = me == maker % team, copied = -1;
    for (int i = 0; i < barriers; i++) {
#pragma omp barrier
    }
    switch (kind) {
    case MAKER_POLLS:
    case MAKER_POLLS_AT_END:
    case TWO_POLL:
        if (makes)
            poll_for_task();
        else if (kind == TWO_POLL && team > 2 && me == (maker + 1) % team)
            until_set(&shared.ran, "runs the task for which two members poll");
        if (kind == MAKER_POLLS_AT_END)
            return;
        break;
    case TASK_POLLS:
        if (makes) {
#pragma omp task
            until_set(&shared.came, "comes to the barrier after making a task");
            set(&shared.came, 1);
        }
        break;
    case CONSUMER_FIRST:
        if (team == 2)
            break;
        if (makes) {
#pragma omp task
            set(&shared.consumed, (until_set(&shared.produced, "makes the task that another one waits for"), 1));
        } else {
#pragma omp task
            set(&shared.produced, 1);
        }
        break;
    case IN_SINGLE:
#pragma omp single copyprivate(copied)
        {
            poll_for_task();
            copied = 77 + maker;
        }
        check_equal("a copied value", copied, 77 + maker);
        break;
    case IN_LOOP:
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 40; i++) {
#pragma omp task firstprivate(i)
            __atomic_fetch_add(&shared.sum, i, __ATOMIC_RELAXED);
        }
        check_equal("the tasks of a loop", __atomic_load_n(&shared.sum, __ATOMIC_RELAXED), 780);
        break;
    default:
#pragma omp for reduction(+ : total) schedule(static, 1)
        for (int i = 0; i < 40; i++) {
            total += i;
            if (i == maker)
                poll_for_task();
        }
        check_equal("a reduction after a task", total, 780);
        break;
    }
#pragma omp barrier
#pragma omp atomic
    shared.sum += 1;
#pragma omp barrier
    if (makes)
        check_saw(team);
}

static void clear(void)
{
    __typeof__(shared) none = {0};
    shared = none;
    total = 0;
}

#define REGION(kind, barriers, maker)                                                                                   \
    do {                                                                                                                \
        clear();                                                                                                        \
        _Pragma("omp parallel") body(kind, barriers, maker);                                                            \
        check_equal("ran", shared.ran, kind <= TWO_POLL || kind == IN_SINGLE || kind == IN_REDUCTION);                                          \
        check_equal("consumed", shared.consumed, kind == CONSUMER_FIRST && team > 2);                                               \
    } while (0);
#define MAKERS(kind, barriers) REGION(kind, barriers, 0) REGION(kind, barriers, 1) REGION(kind, barriers, 2)
#define BARRIERS(kind) MAKERS(kind, 0) MAKERS(kind, 1) MAKERS(kind, 4)

int main(int argc, char **argv)
{
    int team = omp_get_max_threads();
    while (check_going(argc, argv) && team > 1) {
        BARRIERS(MAKER_POLLS)
        BARRIERS(MAKER_POLLS_AT_END)
        BARRIERS(TWO_POLL)
        BARRIERS(TASK_POLLS)
        BARRIERS(CONSUMER_FIRST)
        BARRIERS(IN_SINGLE)
        BARRIERS(IN_LOOP)
        BARRIERS(IN_REDUCTION)
    }
    return check_end("deferred", team > 1);
}
