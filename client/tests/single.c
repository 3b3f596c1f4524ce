/* A program of one thread: says how many threads the kernel counts, and whether it may make a user
 * namespace, which the kernel allows a process of one thread only.
 *
 *     single nothing          it has a runtime, and opens no region
 *     single plain            regions of the size that its environment says
 *     single asked            regions that name one thread, or whose condition is false
 *     single set              regions after omp_set_num_threads(1)
 *     single bound            it binds itself to its first processor
 *     single loads FILE...    it loads libraries, and multiplies if they can
 *     single later SECONDS    as set; afterwards it opens regions of two threads for that time
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <string.h>

#include "check.h"

enum { REGIONS = 200, SIZE = 64 };
typedef void dgemm(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
                   const double *, const int *, const double *, double *, const int *);

static int threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

static void region(void)
{
    long long sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        sum += omp_get_thread_num() + 1;
        if (omp_get_thread_num() == 0)
            check_saw(omp_get_num_threads());
    }
    check_equal("sum", sum, omp_get_max_threads() == 1 ? 1 : 3);
}

static void asked(int one)
{
    int teams = 0;
#pragma omp parallel num_threads(one) reduction(+ : teams)
    teams += omp_get_num_threads();
#pragma omp parallel if (one > 1) reduction(+ : teams)
    teams += omp_get_num_threads();
    check_equal("teams", teams, 2);
}

static void bind_first(void)
{
    cpu_set_t may, first;
    CPU_ZERO(&first);
    if (sched_getaffinity(0, sizeof may, &may) != 0)
        check_fail("no affinity");
    for (int cpu = 0; CPU_COUNT(&first) == 0; cpu++)
        if (CPU_ISSET(cpu, &may))
            CPU_SET(cpu, &first);
    if (sched_setaffinity(0, sizeof first, &first) != 0)
        check_fail("it cannot bind itself: %s", strerror(errno));
}

static void load(const char *file)
{
    static double a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    const double one = 1, zero = 0;
    const int n = SIZE;
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        check_fail("%s", dlerror());
    for (int i = 0; i < SIZE * SIZE; i++)
        a[i] = b[i] = 1;
    dgemm *multiply = (dgemm *)(size_t)dlsym(library, "dgemm_");
    for (int i = 0; multiply && i < REGIONS; i++) {
        multiply("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
        check_equal("product", (long long)c[i], SIZE);
    }
    /* The sign that a library is complete. */
    dlopen(NULL, RTLD_NOW);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "nothing";
    int later = strcmp(how, "later") == 0;
    if (strcmp(how, "set") == 0 || later)
        omp_set_num_threads(1);
    if (strcmp(how, "bound") == 0)
        bind_first();
    for (int i = 2; i < argc && strcmp(how, "loads") == 0; i++)
        load(argv[i]);
    for (int i = 0; i < REGIONS; i++) {
        if (strcmp(how, "plain") == 0 || strcmp(how, "set") == 0 || later)
            region();
        else if (strcmp(how, "asked") == 0)
            asked(1);
    }
    /* A thread of somebody else's would be there by then. */
    usleep(300 * 1000);
    printf("threads %d\n", threads());
    if (later) {
        omp_set_num_threads(2);
        for (check_until = check_now() + (argc > 2 ? strtod(argv[2], NULL) : 1.0); check_now() < check_until;)
            region();
    } else {
        printf("unshare: %s\n", unshare(CLONE_NEWUSER) == 0 ? "done" : strerror(errno));
    }
    return check_end("single", REGIONS);
}
