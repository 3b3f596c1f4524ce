/* Regions in regions: serialized, active, of explicit sizes, with barriers and work-sharing at both
 * levels. */
#include "torture.h"

static void serialized(void)
{
    uint64_t sum = 0;
    omp_set_max_active_levels(1);
    for (int r = 0; r < 5; r++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            uint64_t mine = 0;
#pragma omp parallel num_threads(3) reduction(+ : mine)
            {
                mine += (uint64_t)(omp_get_num_threads() + 10 * omp_get_level() + 100 * omp_get_active_level());
                *slot(me) = mixed(*slot(me), (uint64_t)(omp_get_ancestor_thread_num(1) + omp_get_thread_num()));
#pragma omp barrier
#pragma omp single
                mine++;
            }
#pragma omp barrier
            *slot(me) = mixed(*slot(me), (uint64_t)omp_get_team_size(1));
#pragma omp atomic
            sum += mine;
        }
    }
    note(sum);
    note_slots(team_size());
}

/* `inner` members in each member of an outer team. */
static void active_with(int outer, int inner)
{
    static uint64_t cell[TORTURE_THREADS][4];
    memset(cell, 0, sizeof cell);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(outer)
    for (int r = 0; r < 3; r++) {
        int me = omp_get_thread_num();
#pragma omp parallel num_threads(inner)
        {
            uint64_t *my = &cell[me][omp_get_thread_num()];
            *my = mixed(*my, (uint64_t)(omp_get_ancestor_thread_num(1) * 1000 + omp_get_team_size(1)));
            *my = mixed(*my, (uint64_t)(omp_get_team_size(2) * 10 + omp_get_level()));
#pragma omp barrier
            *my = mixed(*my, cell[me][(omp_get_thread_num() + 1) % inner] != 0);
#pragma omp for schedule(static)
            for (int i = 0; i < 17; i++)
                *my += (uint64_t)i;
#pragma omp barrier
        }
#pragma omp barrier
        *slot(me) = mixed(*slot(me), cell[(me + 1) % omp_get_num_threads()][0] != 0);
#pragma omp barrier
    }
    omp_set_max_active_levels(1);
    for (int i = 0; i < outer; i++)
        for (int k = 0; k < 4; k++)
            note(cell[i][k]);
    note_slots(outer);
}

static int few(int most)
{
    return team_size() < most ? team_size() : most;
}

static void active(void)
{
    active_with(few(4), 2);
    active_with(few(3), 3);
    active_with(2, 4);
    active_with(few(12), 2);
}

/* Only some members open a region of their own, and the others wait at the barrier meanwhile. */
static void some(void)
{
    uint64_t sum = 0;
    omp_set_max_active_levels(3);
    for (int r = 0; r < 5; r++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            if (me == r % omp_get_num_threads()) {
#pragma omp parallel num_threads(3) reduction(+ : sum)
                {
                    sum += (uint64_t)(omp_get_thread_num() + 1);
#pragma omp parallel num_threads(2) reduction(+ : sum)
                    {
                        sum += (uint64_t)(100 * omp_get_level());
#pragma omp barrier
                    }
                }
            }
#pragma omp barrier
            *slot(me) = mixed(*slot(me), sum);
#pragma omp barrier
        }
    }
    omp_set_max_active_levels(1);
    note(sum);
    note_slots(team_size());
}

/* Each member has its own size for the regions that it opens. */
static void own_sizes(void)
{
    static uint64_t size[TORTURE_THREADS];
    int outer = few(5);
    omp_set_max_active_levels(2);
    for (int r = 0; r < 4; r++) {
#pragma omp parallel num_threads(outer)
        {
            int me = omp_get_thread_num();
            omp_set_num_threads(1 + me % 3);
            size[me] = 0;
#pragma omp parallel
            {
#pragma omp atomic
                size[me] += 1 + 10 * (uint64_t)omp_get_thread_num();
            }
        }
        for (int i = 0; i < outer; i++)
            note(size[i]);
    }
    omp_set_max_active_levels(1);
}

/* Nested regions in tasks and sections. Each sum is complete before it is added to the common
 * one. */
static uint64_t nested_sum(int size, uint64_t each)
{
    uint64_t sum = 0;
#pragma omp parallel num_threads(size) reduction(+ : sum)
    sum += each * (uint64_t)(omp_get_thread_num() + 1);
    return sum;
}

static void below(void)
{
    uint64_t sum = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(few(4))
    {
#pragma omp single
        for (int i = 0; i < 6; i++) {
#pragma omp task shared(sum)
            {
                uint64_t mine = nested_sum(2, 1);
#pragma omp atomic
                sum += mine;
            }
        }
#pragma omp sections
        {
#pragma omp section
            {
                uint64_t mine = nested_sum(2, 100);
#pragma omp atomic
                sum += mine;
            }
#pragma omp section
            {
                uint64_t mine = nested_sum(3, 10000);
#pragma omp atomic
                sum += mine;
            }
        }
    }
    omp_set_max_active_levels(1);
    note(sum);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"serialized", serialized}, {"active", active}, {"some", some}, {"sizes", own_sizes}, {"below", below},
    };
    return TORTURE(parts);
}
