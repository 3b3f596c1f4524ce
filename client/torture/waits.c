/* Members that wait for each other in the kernel: condition variables, semaphores, barriers of
 * pthreads, pipes, sleeps. */
#include "torture.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/eventfd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* The members run in turn; a condition variable wakes the next one. */
static void conditions(void)
{
    uint64_t order = 0;
    int turn = 0, rounds = fewer(120);
#pragma omp parallel
    for (int r = 0; r < rounds; r++) {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        pthread_mutex_lock(&mutex);
        while (turn != r * all + me)
            pthread_cond_wait(&changed, &mutex);
        order = mixed(order, (uint64_t)(me + r));
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
    }
    note(order);
}

/* A queue with one place: the first member fills it, all others empty it. */
static void queue(void)
{
    static uint64_t place;
    static int full;
    uint64_t sum = 0;
    int items = 20 * (team_size() - 1);
    items = items > 200 ? 200 / (team_size() - 1) * (team_size() - 1) : items;
#pragma omp parallel reduction(+ : sum)
    {
        int others = omp_get_num_threads() - 1;
        int mine = omp_get_thread_num() == 0 ? items : items / (others ? others : 1);
        for (int i = 0; i < mine; i++) {
            pthread_mutex_lock(&mutex);
            while (full == (omp_get_thread_num() == 0))
                pthread_cond_wait(&changed, &mutex);
            if (omp_get_thread_num() == 0)
                place = work((uint64_t)i, 2);
            else
                sum += place;
            full = !full;
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&mutex);
        }
    }
    note(sum);
}

static void semaphores(void)
{
    static sem_t sem[TORTURE_THREADS];
    uint64_t order = 0;
    int rounds = fewer(120);
    for (int i = 0; i < team_size(); i++)
        sem_init(&sem[i], 0, i == 0);
#pragma omp parallel
    for (int r = 0; r < rounds; r++) {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        while (sem_wait(&sem[me])) {
        }
        order = mixed(order, (uint64_t)(me * r));
        sem_post(&sem[(me + 1) % all]);
    }
    for (int i = 0; i < team_size(); i++)
        sem_destroy(&sem[i]);
    note(order);
}

/* A pthread barrier, which OpenMP does not know, between two barriers of OpenMP. */
static void pthread_barriers(void)
{
    static pthread_barrier_t barrier;
    static uint64_t board[TORTURE_THREADS];
    int serial = 0, rounds = fewer(100);
    pthread_barrier_init(&barrier, NULL, (unsigned)team_size());
#pragma omp parallel reduction(+ : serial)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int r = 0; r < rounds; r++) {
            board[me] = (uint64_t)(me + r);
            serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
            *slot(me) = mixed(*slot(me), board[(me + 1) % all]);
#pragma omp barrier
        }
    }
    pthread_barrier_destroy(&barrier);
    note((uint64_t)serial);
    note_slots(team_size());
}

/* A token goes around through pipes. */
static void pipes(void)
{
    static int end[TORTURE_THREADS][2];
    uint64_t sum = 0;
    int rounds = fewer(120);
    for (int i = 0; i < team_size(); i++)
        if (pipe(end[i]))
            wrong("no pipe");
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int r = 0; r < rounds; r++) {
            uint64_t token = 1;
            if ((me > 0 || r > 0) && read(end[me][0], &token, sizeof token) != sizeof token)
                wrong("a pipe gave nothing");
            token = mixed(token, (uint64_t)me);
            if (me == all - 1)
                sum = mixed(sum, token);
            if (write(end[(me + 1) % all][1], &token, sizeof token) != sizeof token)
                wrong("a pipe took nothing");
        }
    }
    for (int i = 0; i < team_size(); i++) {
        close(end[i][0]);
        close(end[i][1]);
    }
    note(sum);
}

static void events(void)
{
    int event = eventfd(0, EFD_SEMAPHORE);
    uint64_t got = 0;
#pragma omp parallel reduction(+ : got)
    {
        uint64_t value = 10;
        if (omp_get_thread_num() == 0) {
            value = 10 * (uint64_t)omp_get_num_threads();
            if (write(event, &value, sizeof value) != sizeof value)
                wrong("an event took nothing");
        }
        for (int i = 0; i < 10; i++) {
            struct pollfd wait = {.fd = event, .events = POLLIN};
            poll(&wait, 1, -1);
            if (read(event, &value, sizeof value) != sizeof value)
                wrong("an event gave nothing");
            got += value;
        }
    }
    close(event);
    note(got);
}

static void sleeps(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int r = 0; r < 8; r++) {
            if ((me + r) % 4 == 0)
                usleep(300);
            else if ((me + r) % 4 == 1)
                sched_yield();
            *slot(me) = mixed(*slot(me), (uint64_t)(r * me));
#pragma omp barrier
        }
    }
    note_slots(team_size());
}

static void readers_and_writers(void)
{
    static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    uint64_t a = 0, b = 0;
#pragma omp parallel
    for (int r = 0; r < fewer(200); r++) {
        if ((omp_get_thread_num() + r) % 4) {
            pthread_rwlock_rdlock(&lock);
            if (a != b)
                wrong("a reader saw half of what a writer does");
        } else {
            pthread_rwlock_wrlock(&lock);
            a += 1;
            sched_yield();
            b += 1;
        }
        pthread_rwlock_unlock(&lock);
    }
    note((uint64_t)(a == b));
}

/* One member holds a mutex over a barrier that the others have to pass before they ask for it. */
static void mutex_over_barrier(void)
{
    uint64_t order = 0;
#pragma omp parallel
    for (int r = 0; r < 8; r++) {
        int me = omp_get_thread_num(), first = r % omp_get_num_threads();
        if (me == first)
            pthread_mutex_lock(&mutex);
#pragma omp barrier
        if (me == first)
            order = mixed(order, (uint64_t)me);
        else
            pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
#pragma omp barrier
    }
    note(order);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"conditions", conditions}, {"queue", queue},   {"semaphores", semaphores},       {"pthread-barriers", pthread_barriers},
        {"pipes", pipes},           {"events", events}, {"sleeps", sleeps},               {"rwlock", readers_and_writers},
        {"mutex", mutex_over_barrier},
    };
    return TORTURE(parts);
}
