/* Calls the OpenMP runtime by functions of its own, as ctypes and plugins do, in turn with ordinary
 * regions. Modes: "limits": settings by functions that dlsym finds in the runtime. "most": the
 * same, where teams may be smaller. "members": members set them, for their region only. "deep": a
 * library with OpenMP inside that is opened with RTLD_DEEPBIND. "entry": regions by an entry of the
 * runtime. */
#include "check.h"
#include <dlfcn.h>
#include <omp.h>
#include <string.h>

enum { BEFORE = 30 }; /* rounds after which it begins: a team may be held by then */

static void *runtime(void)
{
    static const char *const names[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *handle = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (handle)
            return handle;
    }
    check_fail("no runtime");
    return NULL;
}

static void (*set_threads)(int), (*set_levels)(int), (*set_schedule)(omp_sched_t, int);
static int levels, chunk; /* of sequential code, which asks once: some questions end a held team */

/* Returns the number of threads that see another setting than sequential code. */
static int region(int *team, int threads, int sets)
{
    int members = 0, others = 0;
#pragma omp parallel reduction(+ : members, others)
    {
        omp_sched_t kind;
        int size;
        members++;
        omp_get_schedule(&kind, &size);
        others += size != chunk || omp_get_max_active_levels() != levels || omp_get_max_threads() != threads;
#pragma omp barrier
        if (sets && omp_get_thread_num() == check_rounds % members)
            set_schedule(omp_sched_dynamic, 100);
    }
    *team = members;
    return others;
}

static void settings(const char *how, int first)
{
    int round = (int)check_rounds, threads = first, team, most = !strcmp(how, "most");
    if (strcmp(how, "members") != 0) {
        threads = 4 - round / 2 % 4;
        set_threads(threads);
        if (round % 5 == 0)
            set_schedule(omp_sched_guided, chunk = 1 + round % 7);
        if (round % 7 == 0)
            set_levels(levels = 1 + round % 3);
    }
    check_equal("members with other settings", region(&team, threads, !strcmp(how, "members")), 0);
    if (!most || team > threads)
        check_equal("team", team, threads);
}

static int counted;

static void count(void *unused)
{
    (void)unused;
    __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
}

static void count_number(int *gtid, int *tid, ...)
{
    (void)gtid;
    (void)tid;
    count(NULL);
}

static int by_entry(void)
{
    static void (*gomp)(void (*)(void *), void *, unsigned, unsigned);
    static void (*kmp)(void *, int, void (*)(int *, int *, ...), ...);
    static struct {
        int reserved, flags, other[2];
        const char *source;
    } place = {0, 2, {0, 0}, ";past;by_entry;0;0;;"};
    if (!gomp && !kmp) {
        *(void **)&kmp = dlsym(runtime(), "__kmpc_fork_call");
        *(void **)&gomp = kmp ? NULL : dlsym(runtime(), "GOMP_parallel");
    }
    counted = 0;
    if (kmp)
        kmp(&place, 0, count_number);
    else
        gomp(count, NULL, 0, 0);
    return counted;
}

static int by_plugin(void)
{
    static int (*sum)(int, int *);
    int team = 0;
    if (!sum) {
        void *library = dlopen("plugin.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
        if (!library)
            check_fail("%s", dlerror());
        *(void **)&sum = dlsym(library, "plugin_sum");
    }
    sum(100, &team);
    return team;
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "limits";
    int first = omp_get_max_threads();
    *(void **)&set_threads = dlsym(runtime(), "omp_set_num_threads");
    *(void **)&set_levels = dlsym(runtime(), "omp_set_max_active_levels");
    *(void **)&set_schedule = dlsym(runtime(), "omp_set_schedule");
    omp_sched_t kind;
    levels = omp_get_max_active_levels();
    omp_get_schedule(&kind, &chunk);
    while (check_going(argc, argv)) {
        if (strcmp(how, "deep") != 0 && strcmp(how, "entry") != 0) {
            settings(how, first);
            continue;
        }
        int team = 0;
#pragma omp parallel reduction(+ : team)
        team++;
        check_equal("team", team, first);
        if (check_rounds > BEFORE)
            check_equal("team past the program", !strcmp(how, "deep") ? by_plugin() : by_entry(), first);
    }
    return check_end("past", 0);
}
