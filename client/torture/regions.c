/* Parallel regions: their sizes, the ways and places to ask for sizes, and the answers that
 * sequential code gets between regions. */
#include "torture.h"

static int kept[4];

/* Every member notes its number and the size of the team in its own slot. */
static void see(void)
{
    *slot(omp_get_thread_num()) = (uint64_t)omp_get_num_threads() << 32 | (uint64_t)omp_get_thread_num();
}

static void implicit(void)
{
    for (int r = 0; r < 8; r++) {
        clear_slots();
#pragma omp parallel
        see();
        note_slots(team_size() + 1);
    }
}

static void explicit(void)
{
    for (int size = 1; size <= team_size() + 2; size += 1 + size / 4) {
        clear_slots();
#pragma omp parallel num_threads(size)
        see();
        note_slots(size + 1);
    }
}

static void conditional(void)
{
    for (int r = 0; r < 6; r++) {
        clear_slots();
#pragma omp parallel if (r % 3)
        see();
        note_slots(team_size());
        clear_slots();
#pragma omp parallel if (r % 2) num_threads(3)
        {
            see();
#pragma omp barrier
#pragma omp atomic
            *slot(5) += 1;
        }
        note_slots(6);
    }
}

/* A team grows and shrinks from region to region; each member carries a sum on from its last
 * region. */
static void changing(void)
{
    static const int twelfths[] = {12, 6, 12, 3, 24, 12, 1, 12, 9};
    for (unsigned i = 0; i < sizeof twelfths / sizeof *twelfths; i++) {
        int size = team_size() * twelfths[i] / 12;
        size = size < 1 ? 1 : size;
#pragma omp parallel num_threads(size)
        {
            uint64_t *my = slot(omp_get_thread_num());
            *my = mixed(*my, (uint64_t)omp_get_num_threads());
#pragma omp barrier
            *my = mixed(*my, (uint64_t)omp_get_thread_num());
        }
        note_slots(size);
    }
    note_slots(2 * team_size());
}

static void set_by_program(void)
{
    for (int size = 1; size <= team_size(); size += 1 + size / 3) {
        omp_set_num_threads(size);
        clear_slots();
        note((uint64_t)omp_get_max_threads());
#pragma omp parallel
        see();
        note_slots(size + 1);
    }
    omp_set_num_threads(team_size());
}

/* A member's settings hold for its own regions only. */
static void set_inside(void)
{
    for (int r = 0; r < 4; r++) {
        clear_slots();
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            omp_set_num_threads(me + 1);
            omp_set_dynamic(0);
            omp_set_schedule(omp_sched_dynamic, me + 2);
#pragma omp barrier
            omp_sched_t kind;
            int chunk;
            omp_get_schedule(&kind, &chunk);
            *slot(me) = (uint64_t)omp_get_max_threads() << 32 | (uint64_t)chunk;
        }
        note_slots(team_size());
        note((uint64_t)omp_get_max_threads());
    }
}

static void settings_between(void)
{
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided};
    for (int r = 0; r < 6; r++) {
        omp_sched_t kind;
        int chunk, seen = 0;
        omp_set_schedule(kinds[r % 3], r + 1);
        omp_set_max_active_levels(1 + r % 2);
        omp_set_dynamic(r % 2);
        note((uint64_t)omp_get_dynamic());
        omp_set_dynamic(0);
#pragma omp parallel reduction(+ : seen)
        {
            omp_sched_t my_kind;
            int my_chunk;
            omp_get_schedule(&my_kind, &my_chunk);
            seen += my_chunk + omp_get_max_active_levels() + (int)my_kind;
        }
        omp_get_schedule(&kind, &chunk);
        note((uint64_t)chunk);
        note((uint64_t)(kind == kinds[r % 3]));
        note((uint64_t)seen);
        note((uint64_t)omp_get_max_active_levels());
    }
    omp_set_max_active_levels(1);
    omp_set_schedule(omp_sched_static, 0);
}

static void note_queries(void)
{
    note((uint64_t)omp_in_parallel());
    note((uint64_t)omp_get_level());
    note((uint64_t)omp_get_active_level());
    note((uint64_t)omp_get_num_threads());
    note((uint64_t)omp_get_thread_num());
    note((uint64_t)omp_get_max_threads());
    note((uint64_t)omp_get_ancestor_thread_num(0));
    note((uint64_t)(omp_get_ancestor_thread_num(1) + 1));
    note((uint64_t)omp_get_team_size(0));
    note((uint64_t)(omp_get_team_size(1) + 1));
    note((uint64_t)omp_get_dynamic());
    note((uint64_t)omp_in_final());
    note((uint64_t)omp_get_cancellation());
    note((uint64_t)omp_get_num_teams());
    note((uint64_t)omp_get_team_num());
}

/* Sequential code gets the answers of sequential code, whichever regions ran before. */
static void queries_between(void)
{
    note_queries();
    for (int r = 0; r < 5; r++) {
#pragma omp parallel
        {
            uint64_t mine = mixed((uint64_t)omp_in_parallel(), (uint64_t)omp_get_level());
            mine = mixed(mine, (uint64_t)omp_get_active_level());
            mine = mixed(mine, (uint64_t)omp_get_ancestor_thread_num(0));
            mine = mixed(mine, (uint64_t)omp_get_ancestor_thread_num(1));
            mine = mixed(mine, (uint64_t)omp_get_team_size(1));
            *slot(omp_get_thread_num()) = mine;
        }
        note_slots(team_size());
        note_queries();
    }
}

__attribute__((noinline)) static int asked_here(void) { return omp_get_max_threads(); }
__attribute__((noinline)) static int asked_there(void) { return asked_here(); }

/* The program keeps the answers of several places, and makes partitions from each. */
static void places(void)
{
    uint64_t sums[4 * TORTURE_THREADS] = {0};
    kept[0] = omp_get_max_threads();
    kept[1] = asked_here();
    kept[2] = asked_there();
    for (int r = 0; r < 20; r++) {
        kept[3] = omp_get_max_threads();
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            for (int k = 0; k < 4; k++)
                for (int i = 1000 * me / kept[k]; i < 1000 * (me + 1) / kept[k]; i++)
                    sums[k * TORTURE_THREADS + me] += work((uint64_t)i, 3);
        }
    }
    for (int k = 0; k < 4; k++) {
        note((uint64_t)kept[k]);
        for (int i = 0; i < team_size(); i++)
            note(sums[k * TORTURE_THREADS + i]);
    }
}

/* Thousands of short regions: the team is almost always opening or closing one. */
static void short_ones(void)
{
    for (int r = 0; r < fewer(1200); r++) {
#pragma omp parallel
        *slot(omp_get_thread_num()) += (uint64_t)omp_get_num_threads();
#pragma omp parallel
        {
        }
    }
    note_slots(team_size());
}

/* The number of processors must not change while the program runs. */
static void processors(void)
{
    static int first;
    first = first ? first : omp_get_num_procs();
    note((uint64_t)(omp_get_num_procs() == first));
#pragma omp parallel
    *slot(omp_get_thread_num()) = (uint64_t)(omp_get_num_procs() == first);
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"implicit", implicit},     {"explicit", explicit},     {"if", conditional},         {"changing", changing},
        {"set", set_by_program},    {"set-inside", set_inside}, {"settings", settings_between}, {"queries", queries_between},
        {"places", places},         {"short", short_ones},      {"processors", processors},
    };
    return TORTURE(parts);
}
