/* Very large teams: 64, 256 and 1024 members, whichever size the user asked for. Each part is
 * short. */
#include "torture.h"

static void team_of(int size)
{
    uint64_t sum = 0, last = 0;
#pragma omp parallel num_threads(size) reduction(+ : sum)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        *slot(me) = (uint64_t)(me + all);
#pragma omp barrier
        sum += *slot((me + 1) % all);
#pragma omp single copyprivate(sum)
        sum = 5;
#pragma omp for schedule(static)
        for (int i = 0; i < size; i++)
            *slot(i) = mixed(*slot(i), (uint64_t)me);
#pragma omp for schedule(monotonic : dynamic, 16) lastprivate(last)
        for (int i = 0; i < 2 * size; i++)
            last = (uint64_t)i;
#pragma omp critical
        *slot(0) += 1;
    }
    note(sum);
    note(last);
    note_slots(size);
}

static void team_of_64(void)
{
    team_of(64);
}

static void team_of_256(void)
{
    team_of(256);
}

static void team_of_1024(void)
{
    team_of(1024);
}

/* Very large and very small teams in turn. */
static void in_turn(void)
{
    team_of(100);
    team_of(2);
    team_of(300);
    team_of(1);
    team_of(64);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"64", team_of_64}, {"256", team_of_256}, {"1024", team_of_1024}, {"turn", in_turn},
    };
    return TORTURE(parts);
}
