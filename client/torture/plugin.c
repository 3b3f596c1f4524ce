/* A library that torture's `library` loads: it has regions of its own, and state for each thread
 * that nobody else sees.
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

/* The first call of a thread takes a number; the later ones give it back. */
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

/* A region in the library: the sum of what all members of its team have. */
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

/* The answer of OpenMP, through a function of another object. */
int plugin_threads(void)
{
    return omp_get_max_threads();
}
