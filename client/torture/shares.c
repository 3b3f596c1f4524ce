/* Sections, single with and without copyprivate, master and masked, in regions, combined, and in
 * sequential code. */
#include "torture.h"

#if defined(__clang__) || __GNUC__ < 12
#define MASKED "omp master"
#else
#define MASKED "omp masked"
#endif

static void combined_sections(void)
{
    for (int r = 0; r < 10; r++) {
        uint64_t part[5] = {0};
#pragma omp parallel sections
        {
#pragma omp section
            part[0] = work(1, r);
#pragma omp section
            part[1] = work(2, r);
#pragma omp section
            part[2] = work(3, r);
#pragma omp section
            part[3] = (uint64_t)omp_get_num_threads();
#pragma omp section
            part[4] = (uint64_t)omp_in_parallel();
        }
        for (int i = 0; i < 5; i++)
            note(part[i]);
    }
}

static int last_section;

__attribute__((noinline)) static void orphan_sections(uint64_t *part)
{
#pragma omp sections lastprivate(last_section)
    {
#pragma omp section
        {
#pragma omp atomic
            part[0] += 1;
            last_section = 1;
        }
#pragma omp section
        {
#pragma omp atomic
            part[1] += 10;
            last_section = 2;
        }
#pragma omp section
        {
#pragma omp atomic
            part[2] += 100;
            last_section = 3;
        }
    }
#pragma omp sections nowait
    {
#pragma omp section
#pragma omp atomic
        part[3] += 7;
#pragma omp section
#pragma omp atomic
        part[4] += (uint64_t)omp_get_num_threads();
    }
#pragma omp single
    part[5] += (uint64_t)last_section;
}

static void inner_sections(void)
{
    uint64_t part[6] = {0};
    for (int r = 0; r < 5; r++) {
#pragma omp parallel
        for (int k = 0; k < 4; k++)
            orphan_sections(part);
        orphan_sections(part);
#pragma omp parallel if (0)
        orphan_sections(part);
    }
    for (int i = 0; i < 6; i++)
        note(part[i]);
}

static void singles(void)
{
    uint64_t entered = 0, left = 0;
#pragma omp parallel
    for (int r = 0; r < 100; r++) {
#pragma omp single
        entered = mixed(entered, (uint64_t)r);
        if (entered == 0)
            wrong("single was left before its end");
#pragma omp barrier
#pragma omp single nowait
        {
#pragma omp atomic
            left += (uint64_t)r;
        }
    }
#pragma omp single
    entered = mixed(entered, 5);
    note(entered);
    note(left);
}

/* Every member gets the values that one has found; two values of different sizes, and an array. */
static void copies(void)
{
    double kept[3] = {0.0, 0.0, 0.0};
    int x = 0;
#pragma omp parallel firstprivate(x, kept)
    {
        uint64_t *my = slot(omp_get_thread_num());
        for (int r = 0; r < 60; r++) {
#pragma omp single copyprivate(x, kept)
            {
                x = 7 * r + x % 5;
                for (int i = 0; i < 3; i++)
                    kept[i] += r + i;
            }
            *my = mixed(*my, (uint64_t)x + (uint64_t)kept[r % 3]);
            x += r % 2;
        }
    }
    note_slots(team_size());
}

static void masters(void)
{
    uint64_t seen = 0, total = 0;
#pragma omp parallel
    for (int r = 0; r < 50; r++) {
        _Pragma(MASKED)
        seen = mixed(seen, (uint64_t)(omp_get_thread_num() + r));
#pragma omp barrier
        *slot(omp_get_thread_num()) = mixed(*slot(omp_get_thread_num()), seen);
#pragma omp barrier
#pragma omp master
        total++;
    }
#pragma omp master
    total++;
    note(total);
    note_slots(team_size());
}

/* Threads run through many constructs without waiting: some get far ahead of others. */
static void far_ahead(void)
{
    static uint64_t part[40];
    memset(part, 0, sizeof part);
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int r = 0; r < 40; r++) {
#pragma omp single nowait
            {
                uint64_t x = work((uint64_t)r, me == 0 ? 2000 : 10);
#pragma omp atomic
                part[r] += 1 + (x == 0);
            }
#pragma omp sections nowait
            {
#pragma omp section
#pragma omp atomic
                part[r] += 10;
#pragma omp section
#pragma omp atomic
                part[r] += 100;
            }
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 8; i++) {
#pragma omp atomic
                part[r] += 1000;
            }
        }
    }
    for (int r = 0; r < 40; r++)
        note(part[r]);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"sections", combined_sections}, {"inner", inner_sections}, {"single", singles},
        {"copyprivate", copies},         {"master", masters},       {"ahead", far_ahead},
    };
    return TORTURE(parts);
}
