/* Cancellation of regions, loops, sections and groups of tasks. OMP_CANCELLATION=true makes it
 * work; without it nothing is cancelled, and the results are others, but the same each time.
 */
#include "torture.h"

/* LLVM 14's runtime does not clean up after a cancelled loop whose iterations it hands out: it ends
 * with an assertion where they are stolen, the next loop hangs if members had come to the end of
 * this one, and may leave iterations out. A static loop has no state that could be left. */
#ifdef __clang__
#define CANCELLED schedule(static)
#else
#define CANCELLED schedule(monotonic : dynamic, 4)
#endif

/* The member that finds the number ends the search. All others see that at their next iteration at
 * the latest. */
static void loops(void)
{
    for (int r = 0; r < 10; r++) {
        int found = -1;
#pragma omp parallel
        {
#pragma omp for CANCELLED
            for (int i = 0; i < 2000; i++) {
                if (i == 100 + r) {
#pragma omp atomic write
                    found = i;
#pragma omp cancel for
                }
#pragma omp cancellation point for
            }
#pragma omp barrier
            *slot(omp_get_thread_num()) = mixed(*slot(omp_get_thread_num()), (uint64_t)found);
        }
        note((uint64_t)found);
    }
    note_slots(team_size());
}

static void regions(void)
{
    for (int r = 0; r < 10; r++) {
        int after = 0;
        clear_slots();
#pragma omp parallel
        {
            int me = omp_get_thread_num(), last = omp_get_num_threads() - 1;
            *slot(me) = (uint64_t)(me + r);
            if (me == last) {
#pragma omp cancel parallel
            }
            if (omp_get_cancellation())
                for (;;) {
#pragma omp cancellation point parallel
                    usleep(100);
                }
#pragma omp atomic
            after++;
        }
        note((uint64_t)after);
        note_slots(team_size());
    }
}

/* Barriers are cancellation points, too. */
static void at_barriers(void)
{
    for (int r = 0; r < 10; r++) {
        int passed = 0;
#pragma omp parallel
        {
            if (omp_get_thread_num() == r % omp_get_num_threads()) {
#pragma omp cancel parallel
            }
#pragma omp barrier
#pragma omp atomic
            passed++;
        }
        note((uint64_t)passed);
    }
}

static void sections(void)
{
    for (int r = 0; r < 10; r++) {
        int done = 0;
#pragma omp parallel
        {
#pragma omp sections
            {
#pragma omp section
                {
#pragma omp cancel sections
#pragma omp atomic
                    done += 100;
                }
            }
#pragma omp atomic
            done++;
        }
        note((uint64_t)done);
    }
}

static void groups(void)
{
    for (int r = 0; r < 6; r++) {
        int64_t late = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskgroup
            {
#pragma omp task shared(late)
                {
#pragma omp cancel taskgroup
#pragma omp atomic
                    late += 1000;
                }
                for (int i = 0; i < 20; i++) {
#pragma omp task
                    {
#pragma omp cancellation point taskgroup
                        work((uint64_t)i, 10);
                    }
                }
            }
#pragma omp task shared(late)
            {
#pragma omp atomic
                late++;
            }
        }
        note((uint64_t)late);
    }
}

/* Right after a cancelled region the next one runs in full. */
static void again(void)
{
    uint64_t sum = 0;
    for (int r = 0; r < 20; r++) {
#pragma omp parallel
        {
#pragma omp cancel parallel if (r % 2)
#pragma omp barrier
#pragma omp atomic
            sum++;
        }
    }
    note(sum);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"loops", loops}, {"regions", regions}, {"barriers", at_barriers}, {"sections", sections}, {"groups", groups}, {"again", again},
    };
    return TORTURE(parts);
}
