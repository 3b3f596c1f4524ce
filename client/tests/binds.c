/* Sizes a pool by the mask of its process, as many libraries do. "count" prints how many processors
 * it is told: by the mask, online, configured, and by the system call. Otherwise it makes a thread
 * for each processor of the mask and binds it there: by the thread itself ("self"), by the first
 * thread ("other"), or before it is made ("attribute"). The threads work for the seconds of the
 * first argument; then the first thread binds itself and takes the former mask again. A thread that
 * has bound itself must be told so. */
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

static char **words;
static pthread_barrier_t ready;

static int asked(cpu_set_t *mask)
{
    if (sched_getaffinity(0, sizeof *mask, mask) != 0)
        check_fail("sched_getaffinity: %m");
    return CPU_COUNT(mask);
}

static void bind_to(int cpu)
{
    cpu_set_t one, now;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        check_fail("it cannot be bound to a processor that it was told of: %m");
    if (asked(&now) != 1 || !CPU_ISSET(cpu, &now) || pthread_getaffinity_np(pthread_self(), sizeof now, &now) != 0 ||
        !CPU_EQUAL(&one, &now))
        check_fail("a thread is told another mask than the one that it has set");
}

static void *work(void *cpu)
{
    double until = check_now() + atof(words[1]);
    if (!strcmp(words[2], "self"))
        bind_to((int)(long)cpu);
    pthread_barrier_wait(&ready);
    while (check_now() < until)
        ;
    return NULL;
}

static void start(pthread_t *thread, int cpu)
{
    cpu_set_t one;
    pthread_attr_t attributes;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_attr_init(&attributes);
    int error = !strcmp(words[2], "attribute") ? pthread_attr_setaffinity_np(&attributes, sizeof one, &one) : 0;
    if (error || pthread_create(thread, &attributes, work, (void *)(long)cpu) != 0)
        check_fail("no thread bound to a processor that it was told of");
    if (!strcmp(words[2], "other") && pthread_setaffinity_np(*thread, sizeof one, &one) != 0)
        check_fail("a thread cannot be bound to a processor that it was told of");
    pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
    cpu_set_t mask, kernel, again;
    words = argv;
    int count = asked(&mask);
    if (argc < 3) {
        CPU_ZERO(&kernel);
        long bytes = syscall(SYS_sched_getaffinity, 0, sizeof kernel, &kernel);
        printf("told %d online %ld %d configured %ld kernel %d\n", count, sysconf(_SC_NPROCESSORS_ONLN), get_nprocs(),
               sysconf(_SC_NPROCESSORS_CONF), bytes > 0 ? CPU_COUNT(&kernel) : -1);
        return 0;
    }
    pthread_t threads[CPU_SETSIZE];
    pthread_barrier_init(&ready, NULL, (unsigned)count + 1);
    int made = 0, last = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask))
            start(&threads[made++], last = cpu);
    pthread_barrier_wait(&ready);
    for (int i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    bind_to(last);
    if (sched_setaffinity(0, sizeof mask, &mask) != 0)
        check_fail("it cannot take its former mask again: %m");
    if (asked(&again) != count)
        check_fail("told %d processors first, %d later", count, CPU_COUNT(&again));
    puts("bound");
    return 0;
}
