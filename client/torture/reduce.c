/* Reductions: every operator, arrays, types of the user, tasks, scans; real numbers only where
 * their order is fixed. */
#include "torture.h"

static void operators(void)
{
    for (int r = 0; r < 4; r++) {
        int64_t sum = r, product = 1, least = 1 << 30, most = -1, all_bits = -1, some_bits = 0, odd_bits = 0;
        int every = 1, any = 0;
        double exact = 0.25;
#pragma omp parallel for schedule(dynamic, 5) reduction(+ : sum, exact) reduction(* : product) reduction(min : least)                     \
    reduction(max : most) reduction(& : all_bits) reduction(| : some_bits) reduction(^ : odd_bits) reduction(&& : every) reduction(|| : any)
        for (int i = 0; i < 300; i++) {
            int64_t x = (int64_t)(work((uint64_t)i, 2) >> 40);
            sum += x;
            product *= i % 50 == 7 ? 3 : 1;
            least = x < least ? x : least;
            most = x > most ? x : most;
            all_bits &= x | 0xff;
            some_bits |= x & 0xf0f0;
            odd_bits ^= x;
            every = every && x >= 0;
            any = any || i == 299 - r;
            exact += 0.5 * i;
        }
        note((uint64_t)sum);
        note((uint64_t)product);
        note((uint64_t)least);
        note((uint64_t)most);
        note((uint64_t)all_bits);
        note((uint64_t)some_bits);
        note((uint64_t)odd_bits);
        note((uint64_t)(every * 2 + any));
        note_real(exact);
    }
}

static void by_region(void)
{
    uint64_t sum = 0, last = 0;
#pragma omp parallel reduction(+ : sum) reduction(max : last)
    {
        sum += (uint64_t)omp_get_num_threads();
        last = (uint64_t)omp_get_thread_num() * 3;
    }
    note(sum);
    note(last);
#pragma omp parallel num_threads(5) reduction(+ : sum)
    sum += (uint64_t)omp_get_thread_num();
    note(sum);
#pragma omp parallel if (0) reduction(+ : sum)
    sum += 17;
    note(sum);
}

static void inner_loops(void)
{
    uint64_t sum = 0, most = 0;
#pragma omp parallel
    for (int r = 0; r < 30; r++) {
#pragma omp for reduction(+ : sum) nowait
        for (int i = 0; i < 100; i++)
            sum += (uint64_t)(i * r);
#pragma omp for reduction(max : most) schedule(dynamic)
        for (int i = 0; i < 40; i++)
            most = (uint64_t)(i * r) > most ? (uint64_t)(i * r) : most;
#pragma omp sections reduction(+ : sum)
        {
#pragma omp section
            sum += 1000;
#pragma omp section
            sum += (uint64_t)r;
        }
    }
    note(sum);
    note(most);
}

static void arrays(void)
{
    uint64_t histogram[33] = {0};
    double exact[2][8] = {{0}};
#pragma omp parallel for reduction(+ : histogram, exact[:2][:8]) schedule(guided)
    for (int i = 0; i < 4000; i++) {
        histogram[work((uint64_t)i, 1) % 33] += (uint64_t)i;
        exact[i % 2][i % 8] += 0.125;
    }
    for (int i = 0; i < 33; i++)
        note(histogram[i]);
    for (int i = 0; i < 16; i++)
        note_real(exact[i / 8][i % 8]);
}

struct place {
    int64_t value, where;
};

static struct place better(struct place a, struct place b)
{
    return b.value > a.value || (b.value == a.value && b.where < a.where) ? b : a;
}

#pragma omp declare reduction(best : struct place : omp_out = better(omp_out, omp_in)) initializer(omp_priv = {-1, -1})
#pragma omp declare reduction(join : uint64_t : omp_out ^= omp_in) initializer(omp_priv = 0)

static void of_the_user(void)
{
    for (int r = 0; r < 5; r++) {
        struct place found = {-1, -1};
        uint64_t joined = 0;
#pragma omp parallel for reduction(best : found) reduction(join : joined) schedule(dynamic, 3)
        for (int i = 0; i < 500; i++) {
            struct place here = {(int64_t)(work((uint64_t)(i / 2 + r), 1) % 401), i};
            found = better(found, here);
            joined ^= work((uint64_t)i, 1);
        }
        note((uint64_t)found.value);
        note((uint64_t)found.where);
        note(joined);
    }
}

static void of_tasks(void)
{
    uint64_t sum = 0, product = 1, loop = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(* : product)
        for (int i = 1; i < 60; i++) {
#pragma omp task in_reduction(+ : sum) in_reduction(* : product) firstprivate(i)
            {
                sum += (uint64_t)i;
                product *= (uint64_t)(2 * i + 1);
            }
        }
#pragma omp taskloop reduction(+ : loop) grainsize(9)
        for (int i = 0; i < 300; i++)
            loop += (uint64_t)i * 3;
    }
    note(sum);
    note(product);
    note(loop);
    sum = 0;
#pragma omp parallel reduction(task, + : sum)
    {
        sum += 1;
#pragma omp task in_reduction(+ : sum)
        sum += 10;
    }
    note(sum);
}

static void scans(void)
{
    static uint64_t before[200], upto[200];
    uint64_t sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < 200; i++) {
        sum += (uint64_t)(i * i);
#pragma omp scan inclusive(sum)
        upto[i] = sum;
    }
    note(sum);
    sum = 5;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < 200; i++) {
        before[i] = sum;
#pragma omp scan exclusive(sum)
        sum += upto[i] % 11;
    }
    for (int i = 0; i < 200; i++)
        note(mixed(upto[i], before[i]));
}

/* The sum of these numbers depends on the order. Each member has its own, and they are joined in
 * the order of the members. */
static void real_by_threads(void)
{
    static double partial[TORTURE_THREADS];
    for (int r = 0; r < 5; r++) {
        double sum = 0.0;
#pragma omp parallel
        {
            double mine = 0.0;
#pragma omp for schedule(static)
            for (int i = 0; i < 3000; i++)
                mine += 1.0 / (1.0 + (double)(i * (r + 1)));
            partial[omp_get_thread_num()] = mine;
        }
        for (int i = 0; i < team_size(); i++)
            sum += partial[i];
        note_real(sum);
    }
}

/* With this setting LLVM's runtime combines in an order that depends only on the team size. */
static void real_by_runtime(void)
{
    const char *fixed = getenv("KMP_DETERMINISTIC_REDUCTION");
    double sum = 0.0, other = 1.0;
#if !defined(__clang__)
    fixed = NULL;
#endif
    if (!fixed || strcmp(fixed, "true"))
        return;
    for (int r = 0; r < 5; r++) {
#pragma omp parallel for schedule(static) reduction(+ : sum) reduction(* : other)
        for (int i = 0; i < 3000; i++) {
            sum += 1.0 / (3.0 + (double)(i * (r + 1)));
            other *= 1.0 + 1.0 / (7.0 + i);
        }
        note_real(sum);
        note_real(other);
    }
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"operators", operators}, {"region", by_region}, {"inner", inner_loops}, {"arrays", arrays},        {"user", of_the_user},
        {"tasks", of_tasks},      {"scans", scans},      {"real", real_by_threads}, {"runtime", real_by_runtime},
    };
    return TORTURE(parts);
}
