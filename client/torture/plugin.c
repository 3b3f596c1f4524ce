/* A library that torture's `library` loads: it has regions of its own, and state of each thread
 * that only it sees.
 */
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static __thread uint64_t own;
static __thread int ticket = -1;
static _Atomic int tickets;
static pthread_key_t key;

__attribute__((constructor)) static void begin(void)
{
    pthread_key_create(&key, NULL);
}

__attribute__((destructor)) static void end(void)
{
    pthread_key_delete(key);
}

uint64_t plugin_add(uint64_t value)
{
    own = own * 31 + value;
    return own;
}

void plugin_forget(void)
{
    own = 0;
}

/* A thread's first call takes a number; its later calls return it. */
int plugin_ticket(void)
{
    if (ticket < 0)
        ticket = atomic_fetch_add(&tickets, 1);
    return ticket;
}

void plugin_keep(void *value)
{
    pthread_setspecific(key, value);
}

void *plugin_kept(void)
{
    return pthread_getspecific(key);
}

/* A region in the library: returns the sum of the values of all members of its team. */
uint64_t plugin_region(uint64_t seed)
{
    uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        sum += seed * (uint64_t)(omp_get_thread_num() + 1);
#pragma omp barrier
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 50; i++)
            sum += (uint64_t)i;
    }
    return sum;
}

/* An orphaned loop and a barrier: work for the caller's team. */
void plugin_orphan(uint64_t *cells, int count)
{
#pragma omp for schedule(static)
    for (int i = 0; i < count; i++)
        cells[i] += (uint64_t)omp_get_thread_num() + 1;
#pragma omp barrier
}

/* OpenMP's answer, through a function of another object. */
int plugin_threads(void)
{
    return omp_get_max_threads();
}
