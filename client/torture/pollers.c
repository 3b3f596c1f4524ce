/* Tasks that need another thread before they can end: their makers wait for them without a
 * scheduling point, they wait for words of each other or of a thread outside the team, they are
 * made under a lock that they take, or each makes the next one.
 */
#include "torture.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static _Atomic int told, asked;

static void await(_Atomic int *word, int value)
{
    while (atomic_load(word) != value)
        sched_yield();
}

/* The maker does not come to a scheduling point before another member has run its task. */
static void makers(void)
{
    for (int r = 0; r < 4; r++) {
        uint64_t result = 0;
        told = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp task shared(result)
            {
                result = work((uint64_t)r, 50);
                atomic_store(&told, 1);
            }
            await(&told, 1);
            result = mixed(result, 1);
        }
        note(result);
    }
}

/* Two tasks answer each other, whichever is made first; the maker waits in the barrier. */
static void answers(void)
{
    for (int r = 0; r < 4; r++) {
        told = asked = 0;
        uint64_t sum = 0;
#pragma omp parallel
#pragma omp single nowait
        {
            for (int side = 0; side < 2; side++) {
                if (side == r % 2) {
#pragma omp task shared(sum)
                    for (int i = 1; i <= 10; i++) {
                        atomic_store(&asked, i);
                        await(&told, i);
                        sum = mixed(sum, (uint64_t)i);
                    }
                } else {
#pragma omp task
                    for (int i = 1; i <= 10; i++) {
                        await(&asked, i);
                        atomic_store(&told, i);
                    }
                }
            }
        }
        note(sum);
    }
}

/* Members at a barrier run tasks that a later member makes while it keeps away. */
static void late(void)
{
    for (int r = 0; r < 3; r++) {
        told = 0;
        uint64_t sum = 0;
#pragma omp parallel
        {
            if (omp_get_thread_num() == r % omp_get_num_threads()) {
                work((uint64_t)r, 3000);
                for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(i) shared(sum)
                    {
#pragma omp atomic
                        sum += work((uint64_t)i, 10);
                        atomic_fetch_add(&told, 1);
                    }
                }
                await(&told, 8);
            }
#pragma omp barrier
#pragma omp atomic
            sum++;
        }
        note(sum);
    }
}

/* A task takes the lock under which it was made. */
static void under_locks(void)
{
    omp_lock_t lock;
    uint64_t sum = 0;
    omp_init_lock(&lock);
#pragma omp parallel
    for (int r = 0; r < 5; r++) {
        omp_set_lock(&lock);
#pragma omp task
        {
            omp_set_lock(&lock);
            sum++;
            omp_unset_lock(&lock);
        }
        work((uint64_t)r, 20);
        omp_unset_lock(&lock);
#pragma omp barrier
    }
    omp_destroy_lock(&lock);
    note(sum);
}

/* Each task makes the next one and ends: no stack holds them all. */
static uint64_t links;

static void link_of(int left)
{
    links = mixed(links, (uint64_t)left);
    if (left > 0) {
#pragma omp task firstprivate(left)
        link_of(left - 1);
    }
}

static void chain(void)
{
    links = 0;
#pragma omp parallel
#pragma omp single
    link_of(20000);
    note(links);
}

/* A thread outside of the team has the word that a task waits for, and gives it when it is
 * asked. */
static void *helper(void *unused)
{
    for (int i = 1; i <= 5; i++) {
        await(&asked, i);
        atomic_store(&told, i);
    }
    return unused;
}

static void from_outside(void)
{
    pthread_t thread;
    told = asked = 0;
    if (pthread_create(&thread, NULL, helper, NULL))
        wrong("no thread");
    uint64_t sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 1; i <= 5; i++) {
#pragma omp task shared(sum) depend(inout : sum)
        {
            atomic_store(&asked, i);
            await(&told, i);
            sum = mixed(sum, (uint64_t)i);
        }
    }
    pthread_join(thread, NULL);
    note(sum);
}

/* What a task leaves with its thread is there when the same tied task goes on. */
static __thread uint64_t kept;

static void tied(void)
{
    uint64_t bad = 0, sum = 0;
#pragma omp parallel
#pragma omp for
    for (int i = 0; i < 24; i++) {
#pragma omp task shared(bad, sum) firstprivate(i)
        {
            uint64_t own = (uint64_t)i + 1, part = 0;
            uint64_t *here = &kept;
#pragma omp task shared(part)
            part = work(own, 30);
#pragma omp taskwait
            if (here != &kept) {
#pragma omp atomic
                bad++;
            }
#pragma omp atomic
            sum += part;
        }
    }
    note(bad);
    note(sum);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"makers", makers}, {"answers", answers},           {"late", late}, {"locks", under_locks},
        {"chain", chain},   {"from-outside", from_outside}, {"tied", tied},
    };
    return TORTURE(parts);
}
