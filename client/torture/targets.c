/* Hidden helpers: libomp runs `nowait` target tasks on a team of its own, which it opens by itself
 * and never ends. On a machine without devices the host does the work.
 */
#include "torture.h"

static void in_sequence(void)
{
    int value = 0;
    uint64_t sum = 0;
    for (int r = 0; r < 4; r++) {
#pragma omp target map(tofrom : value, sum) depend(inout : value) nowait
        {
            for (int i = 0; i < 100; i++)
                sum += (uint64_t)i;
            value++;
        }
#pragma omp task depend(inout : value) shared(value)
        value *= 2;
    }
#pragma omp taskwait
    note((uint64_t)value);
    note(sum);
}

/* Regions before and after: the target tasks run on another team. */
static void beside_regions(void)
{
    uint64_t sum = 0;
    clear_slots();
#pragma omp parallel
    {
        *slot(omp_get_thread_num()) = (uint64_t)omp_get_num_threads();
#pragma omp barrier
    }
#pragma omp target map(tofrom : sum) nowait
    sum += 7;
#pragma omp taskwait
#pragma omp parallel reduction(+ : sum)
    sum += (uint64_t)omp_get_thread_num();
    note(sum);
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {{"sequence", in_sequence}, {"regions", beside_regions}};
    return TORTURE(parts);
}
