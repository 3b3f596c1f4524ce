/* Sizes and schedules that are set on each way there is: by the header's names, by the names of
 * Fortran, by addresses that dlsym gives, from other threads, inside regions and between them. The
 * next region has the size that the runtime says.
 */
#include "torture.h"
#include <dlfcn.h>
#include <pthread.h>

static int region_size(void)
{
    int size = 0;
#pragma omp parallel
    {
#pragma omp barrier
#pragma omp atomic
        size++;
    }
    return size;
}

static void note_size(void)
{
    note((uint64_t)omp_get_max_threads());
    note((uint64_t)region_size());
}

static void *symbol(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found)
        wrong("no %s", name);
    return found;
}

/* By address, as foreign-function interfaces do. */
static void by_address(void)
{
    void (*set)(int) = (void (*)(int))symbol("omp_set_num_threads");
    int (*get)(void) = (int (*)(void))symbol("omp_get_max_threads");
    void (*set_by_reference)(const int *) = (void (*)(const int *))symbol("omp_set_num_threads_");
    for (int r = 0; r < 3; r++) {
        int before = get(), fortran = 2;
        set(1);
        note_size();
        set(3);
        note_size();
        set_by_reference(&fortran);
        note_size();
        set(before);
        note_size();
    }
}

static void *sets_two(void *unused)
{
    omp_set_num_threads(2);
    note_size();
    return unused;
}

/* Each thread has its own setting. */
static void by_others(void)
{
    for (int r = 0; r < 2; r++) {
        pthread_t thread;
        note_size();
        if (pthread_create(&thread, NULL, sets_two, NULL))
            wrong("no thread");
        pthread_join(thread, NULL);
        note_size();
    }
}

/* A member's setting is for its own regions; the root's ends with the region, too. */
static void inside(void)
{
    for (int r = 0; r < 3; r++) {
#pragma omp parallel
        {
            omp_set_num_threads(1 + omp_get_thread_num() % 3);
#pragma omp barrier
            *slot(omp_get_thread_num()) = mixed(*slot(omp_get_thread_num()), (uint64_t)omp_get_max_threads());
        }
        note_size();
    }
    note_slots(team_size());
}

/* Sizes that alternate between small regions, in the ways that programs do this. */
static void alternating(void)
{
    uint64_t sum = 0;
    int before = omp_get_max_threads();
    for (int r = 0; r < fewer(120); r++) {
        omp_set_num_threads(1 + r % 3);
        sum = mixed(sum, (uint64_t)region_size());
        omp_set_num_threads(before);
#pragma omp parallel num_threads(2)
#pragma omp single
        sum = mixed(sum, (uint64_t)omp_get_num_threads());
#pragma omp parallel if (r % 2)
#pragma omp single
        sum = mixed(sum, (uint64_t)omp_get_num_threads());
        sum = mixed(sum, (uint64_t)region_size());
    }
    note(sum);
}

/* Which iterations a member gets says which schedule was in force. */
static void schedules(void)
{
    static int owner[96];
    omp_sched_t kind, was;
    int chunk, chunk_was;
    omp_get_schedule(&was, &chunk_was);
    for (int r = 0; r < 4; r++) {
        omp_set_schedule(omp_sched_static, 1 + r);
        omp_get_schedule(&kind, &chunk);
        note((uint64_t)chunk);
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < 96; i++)
            owner[i] = omp_get_thread_num();
        for (int i = 0; i < 96; i++)
            note((uint64_t)owner[i]);
    }
    omp_set_schedule(was, chunk_was);
}

static void levels(void)
{
    int before = omp_get_max_active_levels();
    for (int most = 0; most < 3; most++) {
        int inner = 0;
        omp_set_max_active_levels(most);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            inner++;
        }
        note((uint64_t)inner);
        note((uint64_t)omp_get_max_active_levels());
    }
    omp_set_max_active_levels(before);
}

static unsigned drawn_from;

static unsigned draw(unsigned below)
{
    drawn_from = drawn_from * 1664525u + 1013904223u;
    return (drawn_from >> 10) % below;
}

static uint64_t drawn_region(int asked, int condition)
{
    uint64_t seen = 0;
    switch (draw(6)) {
    case 0:
#pragma omp parallel num_threads(asked)
#pragma omp master
        seen = (uint64_t)omp_get_num_threads();
        break;
    case 1: /* libomp may keep the size for the next region */
#pragma omp parallel num_threads(asked) if (condition)
#pragma omp master
        seen = (uint64_t)(omp_get_num_threads() * 10 + omp_in_parallel());
        break;
    case 2:
        omp_set_num_threads(asked);
        break;
    case 3:
#pragma omp parallel num_threads(1)
        {
#pragma omp barrier
            seen = (uint64_t)(omp_get_num_threads() * 100);
#pragma omp parallel num_threads(asked) if (condition)
#pragma omp master
            seen += (uint64_t)(omp_get_num_threads() * 10 + omp_get_level());
        }
        break;
    case 4:
#pragma omp parallel num_threads(asked)
#pragma omp single
#pragma omp parallel num_threads(1)
        seen = (uint64_t)(omp_get_level() * 10 + omp_get_num_threads());
        break;
    default:
        for (int r = 0; r < 6; r++)
#pragma omp parallel num_threads(r % 2 ? 1 : asked)
#pragma omp master
            seen = seen * 7 + (uint64_t)omp_get_num_threads();
    }
    return seen;
}

/* Sizes by clauses, conditions and setters, one after the other in any order. */
static void drawn(void)
{
    int before = omp_get_max_threads();
    uint64_t sum = 0;
    volatile int never = 0;
#pragma omp parallel num_threads(1) if (never)
    sum = mixed(sum, (uint64_t)omp_get_num_threads());
    sum = mixed(sum, (uint64_t)region_size());
    drawn_from = 1;
    for (int r = 0; r < fewer(300); r++) {
        int asked = 1 + (int)draw(5), condition = (int)draw(2);
        sum = mixed(sum, drawn_region(asked, condition));
        if (draw(3) == 0)
            sum = mixed(sum, (uint64_t)region_size());
    }
    omp_set_num_threads(before);
    sum = mixed(sum, (uint64_t)region_size()); /* what libomp has kept ends here */
    note(sum);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"address", by_address},      {"others", by_others},    {"inside", inside},
        {"alternating", alternating}, {"schedules", schedules}, {"levels", levels},
        {"drawn", drawn},
    };
    return TORTURE(parts);
}
