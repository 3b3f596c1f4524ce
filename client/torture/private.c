/* Each thread keeps its own data over barriers and from region to region: threadprivate and
 * __thread data, errno, pthread_getspecific, its own id, and its stack.
 */
#include "torture.h"
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>

static int counter, table[50];
static __thread uint64_t own;
static pthread_key_t key;
#pragma omp threadprivate(counter, table)

/* Values that one region sets and the following ones change and read, in teams of one size. */
static void threadprivate_persists(void)
{
#pragma omp parallel
    {
        counter = 100 * omp_get_thread_num();
        own = (uint64_t)(7 * omp_get_thread_num());
        for (int i = 0; i < 50; i++)
            table[i] = i + omp_get_thread_num();
    }
    for (int r = 0; r < 30; r++) {
#pragma omp parallel
        {
            counter += r;
#pragma omp barrier
            own = mixed(own, (uint64_t)counter);
            table[r] += counter;
        }
    }
#pragma omp parallel
    {
        uint64_t sum = own;
        for (int i = 0; i < 50; i++)
            sum = mixed(sum, (uint64_t)table[i]);
        *slot(omp_get_thread_num()) = sum;
    }
    note_slots(team_size());
}

static void copied_in(void)
{
    for (int r = 0; r < 10; r++) {
        counter = 5 + r;
        for (int i = 0; i < 50; i++)
            table[i] = r * i;
#pragma omp parallel copyin(counter, table)
        {
            counter += omp_get_thread_num();
#pragma omp barrier
            *slot(omp_get_thread_num()) = mixed(*slot(omp_get_thread_num()), (uint64_t)(counter + table[49]));
        }
        note((uint64_t)counter);
#pragma omp parallel
        {
#pragma omp single copyprivate(counter)
            counter = 1000 + r;
            *slot(omp_get_thread_num()) = mixed(*slot(omp_get_thread_num()), (uint64_t)counter);
        }
    }
    note_slots(team_size());
}

static void clauses(void)
{
    int first = 4, last = 0, array[6] = {1, 2, 3, 4, 5, 6};
    for (int r = 0; r < 10; r++) {
#pragma omp parallel firstprivate(first, array)
        {
            int me = omp_get_thread_num();
            first += me;
            array[me % 6] += first;
#pragma omp barrier
            *slot(me) = mixed(*slot(me), (uint64_t)(first + array[me % 6] + array[5]));
#pragma omp for lastprivate(last) nowait
            for (int i = 0; i < 61; i++)
                last = i + r;
        }
        note((uint64_t)last);
        first++;
    }
    note_slots(team_size());
}

/* Every member has its own errno, whichever member fails at a system call in between. */
static void errnos(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num(), bad = 0;
        for (int r = 0; r < 40; r++) {
            errno = 1 + (me + r) % 100;
#pragma omp barrier
            bad += errno != 1 + (me + r) % 100;
            if ((me + r) % 3 == 0) {
                bad += close(-1) != -1 || errno != EBADF;
#pragma omp critical
                bad += errno != EBADF;
            }
        }
        *slot(me) = (uint64_t)bad;
    }
    note_slots(team_size());
}

static void specific(void)
{
    static int there;
    if (!there && pthread_key_create(&key, NULL))
        wrong("no key");
    there = 1;
#pragma omp parallel
    pthread_setspecific(key, slot(omp_get_thread_num()));
    for (int r = 0; r < 20; r++) {
#pragma omp parallel
        {
            uint64_t *mine = pthread_getspecific(key);
            *mine = mixed(*mine, (uint64_t)omp_get_thread_num());
#pragma omp barrier
            mine = pthread_getspecific(key);
            *mine += 1;
        }
    }
    note_slots(team_size());
}

/* A member is one thread all the time: its pthread_self, the address of its data, its stack, and
 * its thread id. */
static void identity(void)
{
    static pthread_t self[TORTURE_THREADS];
    static const void *address[TORTURE_THREADS];
    static long id[TORTURE_THREADS];
    int moved = 0, outside = 0;
    long root = syscall(SYS_gettid);
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        self[me] = pthread_self();
        address[me] = &own;
        id[me] = syscall(SYS_gettid);
    }
    for (int r = 0; r < 12; r++) {
#pragma omp parallel reduction(+ : moved, outside)
        {
            int me = omp_get_thread_num();
            pthread_attr_t attributes;
            void *stack;
            size_t size;
            char here;
            moved += !pthread_equal(self[me], pthread_self()) || address[me] != &own;
            if (pthread_getattr_np(pthread_self(), &attributes))
                wrong("no attributes of a thread");
            pthread_attr_getstack(&attributes, &stack, &size);
            pthread_attr_destroy(&attributes);
            outside += &here < (char *)stack || &here >= (char *)stack + size;
#pragma omp barrier
            moved += !pthread_equal(self[me], pthread_self()) || address[me] != &own;
        }
        moved += syscall(SYS_gettid) != root || root != id[0];
    }
    note((uint64_t)moved);
    note((uint64_t)outside);
    for (int i = 0; i < team_size(); i++)
        for (int k = 0; k < i; k++)
            moved += pthread_equal(self[i], self[k]) || address[i] == address[k];
    note((uint64_t)moved);
}

/* Inside a region a member asks for its thread id twice, with barriers in between, and all ids
 * differ. */
static void thread_ids(void)
{
    static long id[TORTURE_THREADS];
    int changed = 0, equal = 0;
    for (int r = 0; r < 10; r++) {
#pragma omp parallel reduction(+ : changed, equal)
        {
            int me = omp_get_thread_num();
            id[me] = (long)gettid();
            for (int k = 0; k < 10; k++) {
#pragma omp barrier
                changed += id[me] != (long)gettid();
            }
            for (int k = 0; k < me; k++)
                equal += id[k] == id[me];
        }
    }
    note((uint64_t)changed);
    note((uint64_t)equal);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"threadprivate", threadprivate_persists}, {"copyin", copied_in},  {"clauses", clauses},       {"errno", errnos},
        {"specific", specific},                    {"identity", identity}, {"thread-ids", thread_ids},
    };
    return TORTURE(parts);
}
