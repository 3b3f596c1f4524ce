/* Mutexes that check the calling thread: recursive, checking, robust, and with priority
 * inheritance, where the kernel checks it too. */
#include "torture.h"
#include <errno.h>
#include <pthread.h>

static void make(pthread_mutex_t *mutex, int type, int protocol, int robust, int shared)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    if (protocol && pthread_mutexattr_setprotocol(&attributes, protocol))
        wrong("no such protocol");
    if (robust)
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (shared)
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (pthread_mutex_init(mutex, &attributes))
        wrong("no such mutex");
    pthread_mutexattr_destroy(&attributes);
}

/* Every member counts under it; half of the time the holder has much to do, or sleeps. */
static void count_with(pthread_mutex_t *mutex, int rounds)
{
    uint64_t sum = 0;
#pragma omp parallel
    for (int r = 0; r < rounds; r++) {
        int error = pthread_mutex_lock(mutex);
        if (error)
            wrong("a mutex cannot be locked: %s", strerror(error));
        sum += work((uint64_t)r, r % 4 == 0 ? 3000 : 5) | 1;
        if (r % 8 == 5)
            usleep(50);
        error = pthread_mutex_unlock(mutex);
        if (error)
            wrong("a mutex cannot be unlocked: %s", strerror(error));
    }
    note(sum);
    if (pthread_mutex_destroy(mutex))
        wrong("a mutex is still held");
}

/* A member holds it over a barrier, and gives it back itself. */
static void hold_with(pthread_mutex_t *mutex)
{
    uint64_t refused = 0;
#pragma omp parallel reduction(+ : refused)
    for (int r = 0; r < 6; r++) {
        int holder = omp_get_thread_num() == r % omp_get_num_threads();
        if (holder && pthread_mutex_lock(mutex))
            wrong("a mutex cannot be locked");
#pragma omp barrier
        if (!holder)
            refused += pthread_mutex_trylock(mutex) == EBUSY;
#pragma omp barrier
        if (holder && pthread_mutex_unlock(mutex))
            wrong("a mutex cannot be unlocked by its holder");
#pragma omp barrier
    }
    note(refused);
}

static void recursive(void)
{
    pthread_mutex_t mutex;
    make(&mutex, PTHREAD_MUTEX_RECURSIVE, 0, 0, 0);
    hold_with(&mutex);
#pragma omp parallel
    for (int r = 0; r < fewer(100); r++) {
        for (int i = 0; i < 3; i++)
            if (pthread_mutex_lock(&mutex))
                wrong("a recursive mutex cannot be locked");
        *slot(0) += 1;
        for (int i = 0; i < 3; i++)
            if (pthread_mutex_unlock(&mutex))
                wrong("a recursive mutex cannot be unlocked");
    }
    note_slots(1);
    count_with(&mutex, fewer(60));
}

static void checking(void)
{
    pthread_mutex_t mutex;
    int refused = 0;
    make(&mutex, PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0);
    hold_with(&mutex);
#pragma omp parallel reduction(+ : refused)
    {
        refused += pthread_mutex_unlock(&mutex) == EPERM;
#pragma omp barrier
        pthread_mutex_lock(&mutex);
        refused += pthread_mutex_lock(&mutex) == EDEADLK;
        pthread_mutex_unlock(&mutex);
    }
    note((uint64_t)refused);
    count_with(&mutex, fewer(60));
}

static void inheriting(void)
{
    pthread_mutex_t mutex;
    make(&mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0, 0);
    hold_with(&mutex);
    count_with(&mutex, fewer(80));
    make(&mutex, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT, 0, 0);
    count_with(&mutex, fewer(60));
}

static void robust(void)
{
    pthread_mutex_t mutex;
    make(&mutex, PTHREAD_MUTEX_NORMAL, 0, 1, 0);
    hold_with(&mutex);
    count_with(&mutex, fewer(80));
    make(&mutex, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, 1, 1);
    hold_with(&mutex);
    count_with(&mutex, fewer(60));
}

static void *die_with(void *mutex)
{
    pthread_mutex_lock(mutex);
    return NULL;
}

/* A thread that is no member ends while it holds the mutex; exactly one member learns of it. */
static void inherited_from_the_dead(void)
{
    for (int r = 0; r < 4; r++) {
        pthread_mutex_t mutex;
        pthread_t thread;
        int told = 0;
        make(&mutex, PTHREAD_MUTEX_NORMAL, r % 2 ? PTHREAD_PRIO_INHERIT : 0, 1, 0);
        if (pthread_create(&thread, NULL, die_with, &mutex))
            wrong("no thread");
        pthread_join(thread, NULL);
#pragma omp parallel reduction(+ : told)
        {
            int error = pthread_mutex_lock(&mutex);
            if (error == EOWNERDEAD) {
                told++;
                pthread_mutex_consistent(&mutex);
            } else if (error) {
                wrong("a robust mutex cannot be locked: %s", strerror(error));
            }
            pthread_mutex_unlock(&mutex);
        }
        note((uint64_t)told);
        pthread_mutex_destroy(&mutex);
    }
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"recursive", recursive}, {"checking", checking}, {"inheriting", inheriting}, {"robust", robust}, {"dead", inherited_from_the_dead},
    };
    return TORTURE(parts);
}
