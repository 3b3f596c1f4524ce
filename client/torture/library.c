/* State of threads in a library that is loaded while the program runs, regions in it, and unloading
 * it again. */
#include "torture.h"
#include <dlfcn.h>

static uint64_t (*add)(uint64_t), (*region)(uint64_t);
static void (*forget)(void), (*keep)(void *), (*orphan)(uint64_t *, int);
static int (*ticket)(void);
static void *(*kept)(void);

static void *load(void)
{
    void *library = dlopen("plugin.so", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        wrong("no plugin: %s", dlerror());
    *(void **)&add = dlsym(library, "plugin_add");
    *(void **)&region = dlsym(library, "plugin_region");
    *(void **)&forget = dlsym(library, "plugin_forget");
    *(void **)&keep = dlsym(library, "plugin_keep");
    *(void **)&kept = dlsym(library, "plugin_kept");
    *(void **)&ticket = dlsym(library, "plugin_ticket");
    *(void **)&orphan = dlsym(library, "plugin_orphan");
    return library;
}

/* __thread data of the library, over barriers and over regions. */
static void states(void)
{
    load();
#pragma omp parallel
    forget();
    for (int r = 0; r < 30; r++) {
#pragma omp parallel
        {
            uint64_t me = (uint64_t)omp_get_thread_num();
            add(me);
#pragma omp barrier
            *slot((int)me) = add((uint64_t)r);
        }
    }
    note_slots(team_size());
}

/* Partitions by tickets that threads drew at their first call: each ticket goes to one member, and
 * stays with it. */
static void tickets(void)
{
    static int drawn[TORTURE_THREADS];
    static uint64_t sum[TORTURE_THREADS];
    int moved = 0;
    memset(sum, 0, sizeof sum);
    load();
#pragma omp parallel
    drawn[omp_get_thread_num()] = ticket();
    for (int r = 0; r < 20; r++) {
#pragma omp parallel reduction(+ : moved)
        {
            int mine = ticket(), all = team_size();
            moved += mine != drawn[omp_get_thread_num()];
#pragma omp barrier
            for (int i = 500 * mine / all; i < 500 * (mine + 1) / all; i++)
                sum[mine % TORTURE_THREADS] += work((uint64_t)(i + r), 2);
        }
    }
    note((uint64_t)moved);
    for (int i = 0; i < team_size(); i++)
        note(sum[i]);
}

static void kept_by_key(void)
{
    load();
#pragma omp parallel
    keep(slot(omp_get_thread_num()));
    for (int r = 0; r < 20; r++) {
#pragma omp parallel
        {
            uint64_t *mine = kept();
            *mine = mixed(*mine, (uint64_t)(omp_get_thread_num() * r));
#pragma omp barrier
            if (kept() != mine)
                wrong("a value of a key has changed its thread");
        }
    }
    note_slots(team_size());
}

static void regions(void)
{
    static uint64_t cells[333];
    memset(cells, 0, sizeof cells);
    load();
    for (int r = 0; r < 10; r++) {
        note(region((uint64_t)r));
#pragma omp parallel
        orphan(cells, 333);
        orphan(cells, 100);
    }
    for (int i = 0; i < 333; i++)
        note(cells[i]);
}

/* Another copy of the library comes and goes between regions, and in the middle of one. */
static void coming_and_going(void)
{
    char self[4096], copy[4200];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 16);
    if (length < 0)
        wrong("no name of the program");
    self[length] = 0;
    *strrchr(self, '/') = 0;
    snprintf(copy, sizeof copy, "%s/plugin-copy.so", self);
    for (int r = 0; r < 6; r++) {
        void *library = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            wrong("no copy of the plugin: %s", dlerror());
        uint64_t (*there)(uint64_t);
        *(void **)&there = dlsym(library, "plugin_region");
        note(there((uint64_t)r));
#pragma omp parallel
        {
#pragma omp barrier
#pragma omp single
            {
                void *again = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
                if (again)
                    dlclose(again);
            }
            *slot(omp_get_thread_num()) += 1;
        }
        if (dlclose(library))
            wrong("the copy cannot be closed: %s", dlerror());
    }
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"states", states}, {"tickets", tickets}, {"key", kept_by_key}, {"regions", regions}, {"dlclose", coming_and_going},
    };
    return TORTURE(parts);
}
