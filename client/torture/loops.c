/* Work-sharing loops: every schedule, combined with a region, inside one, and met by sequential
 * code. */
#include "torture.h"

#define ITERATIONS 997

static uint64_t result[ITERATIONS], owner[ITERATIONS];

static void note_result(void)
{
    for (int i = 0; i < ITERATIONS; i++)
        note(result[i]);
    memset(result, 0, sizeof result);
}

static void note_owner(void)
{
    for (int i = 0; i < ITERATIONS; i++)
        note(owner[i]);
    memset(owner, 0, sizeof owner);
}

static void body(int i)
{
#pragma omp atomic
    result[i] += work((uint64_t)i, 5) | 1;
}

static void static_loops(void)
{
#pragma omp parallel for
    for (int i = 0; i < ITERATIONS; i++)
        owner[i] = (uint64_t)omp_get_thread_num();
    note_owner();
#pragma omp parallel for schedule(static)
    for (int i = ITERATIONS - 1; i >= 0; i -= 2)
        owner[i] = (uint64_t)omp_get_thread_num();
    note_owner();
#pragma omp parallel
    for (int chunk = 1; chunk < 40; chunk += 13) {
#pragma omp for schedule(static, chunk)
        for (int i = 0; i < ITERATIONS; i++)
            owner[i] += (uint64_t)(omp_get_thread_num() * chunk);
    }
    note_owner();
}

/* The same thread gets the same iterations in loops of one shape, so that `nowait` is right between
 * them. */
static void static_nowait(void)
{
#pragma omp parallel
    for (int r = 0; r < 20; r++) {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < ITERATIONS; i++)
            result[i] += (uint64_t)(i * r);
#pragma omp for schedule(static) nowait
        for (int i = 0; i < ITERATIONS; i++)
            result[i] = mixed(result[i], (uint64_t)omp_get_thread_num());
    }
    note_result();
}

static void combined(void)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < ITERATIONS; i++)
        body(i);
#pragma omp parallel for schedule(dynamic, 7)
    for (int i = 0; i < ITERATIONS; i++)
        body(i);
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < ITERATIONS; i++)
        body(i);
#pragma omp parallel for schedule(guided, 5)
    for (int i = 0; i < ITERATIONS; i += 3)
        body(i);
#pragma omp parallel for schedule(nonmonotonic : dynamic, 2)
    for (int i = ITERATIONS - 1; i >= 0; i--)
        body(i);
#pragma omp parallel for schedule(monotonic : dynamic, 3)
    for (int i = 0; i < ITERATIONS; i++)
        body(i);
#pragma omp parallel for schedule(auto)
    for (int i = 0; i < ITERATIONS; i++)
        body(i);
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < ITERATIONS; i++)
        body(i);
    note_result();
}

static void inside(void)
{
#pragma omp parallel
    for (int r = 0; r < 10; r++) {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < ITERATIONS; i += 4)
            body(i);
#pragma omp for schedule(guided, 2)
        for (int i = 0; i < ITERATIONS; i += 5)
            body(i);
#pragma omp for schedule(runtime) nowait
        for (int i = 0; i < ITERATIONS; i += 6)
            body(i);
#pragma omp for schedule(nonmonotonic : guided)
        for (int i = 0; i < ITERATIONS; i += 7)
            body(i);
    }
    note_result();
}

static void runtime_schedules(void)
{
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    for (int r = 0; r < 8; r++) {
        omp_set_schedule(kinds[r % 4], 1 + 3 * (r / 4));
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < ITERATIONS; i++)
            body(i);
#pragma omp parallel
        {
            omp_set_schedule(omp_sched_dynamic, 4);
#pragma omp for schedule(runtime)
            for (int i = 0; i < ITERATIONS; i++)
                body(i);
        }
    }
    omp_set_schedule(omp_sched_static, 0);
    note_result();
}

__attribute__((noinline)) static void orphan(int step)
{
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < ITERATIONS; i += step)
        body(i);
#pragma omp for schedule(static, 2)
    for (int i = 0; i < ITERATIONS; i += step)
        owner[i] = mixed(owner[i], (uint64_t)(omp_get_thread_num() + 1000 * omp_get_num_threads()));
#pragma omp for schedule(guided) nowait
    for (int i = 0; i < ITERATIONS; i += step)
        body(i);
#pragma omp barrier
}

/* A team, sequential code and a serialized region run the same construct. */
static void orphaned(void)
{
    for (int r = 0; r < 4; r++) {
        orphan(2);
#pragma omp parallel
        {
            orphan(3);
            orphan(1);
        }
        orphan(5);
#pragma omp parallel if (0)
        orphan(4);
    }
    note_result();
    note_owner();
}

static void collapsed(void)
{
    static uint64_t cell[20][30];
    memset(cell, 0, sizeof cell);
#pragma omp parallel for collapse(2) schedule(static)
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < 30; k++)
            cell[i][k] = (uint64_t)omp_get_thread_num();
#pragma omp parallel for collapse(2) schedule(dynamic, 7)
    for (int i = 0; i < 20; i++)
        for (int k = 29; k >= 0; k--)
            cell[i][k] = mixed(cell[i][k], (uint64_t)(i * k));
    for (int i = 0; i < 600; i++)
        note(cell[i / 30][i % 30]);
}

/* Bounds of every type, empty loops, loops shorter than the team, and steps that do not divide. */
static void bounds(void)
{
    unsigned long long most = 0xffffffffffffff00ull;
    uint64_t sum = 0;
    for (int count = 0; count < 4; count++) {
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
        for (int i = 0; i < count; i++)
            sum += (uint64_t)i + 1;
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (long i = -count; i < 0; i++)
            sum += (uint64_t)-i;
    }
#pragma omp parallel for schedule(dynamic, 11) reduction(+ : sum)
    for (unsigned long long i = most; i < most + 250; i += 7)
        sum += i % 1009;
#pragma omp parallel for schedule(guided) reduction(+ : sum)
    for (unsigned char c = 3; c < 250; c += 3)
        sum += c;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
    for (unsigned long long i = most + 250; i > most; i -= 5)
        sum += i % 1013;
    note(sum);
}

/* `monotonic` is there for LLVM 14: if members steal iterations, its runtime may not know which one
 * was the last. */
static void last_and_first(void)
{
    for (int r = 0; r < 6; r++) {
        int last = -1, start = 40 + r;
        double twice = 0.0;
#pragma omp parallel for schedule(monotonic : dynamic, 3) firstprivate(start) lastprivate(last, twice)
        for (int i = 0; i < 300 + r; i++) {
            last = start + i;
            twice = 2.0 * i;
        }
        note((uint64_t)last);
        note_real(twice);
#pragma omp parallel for schedule(static) lastprivate(last) firstprivate(start)
        for (int i = 0; i < 77; i++)
            last = ++start;
        note((uint64_t)last);
    }
}

static void vectors(void)
{
    static float in[ITERATIONS], out[ITERATIONS];
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (int i = 0; i < ITERATIONS; i++)
            in[i] = (float)i * 0.5f;
#pragma omp for simd schedule(dynamic, 16)
        for (int i = 0; i < ITERATIONS; i++)
            out[i] = in[i] * in[i] + 1.25f;
    }
    for (int i = 0; i < ITERATIONS; i++)
        note_real((double)out[i]);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"static", static_loops}, {"nowait", static_nowait}, {"combined", combined},     {"inside", inside},
        {"runtime", runtime_schedules}, {"orphaned", orphaned}, {"collapsed", collapsed}, {"bounds", bounds},
        {"last", last_and_first}, {"simd", vectors},
    };
    return TORTURE(parts);
}
