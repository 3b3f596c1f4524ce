// oneTBB: an integer parallel_reduce, an array in which each element is written once, and a task group.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_group.h>
#include <vector>

static double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

static long long fib(int n)
{
    if (n < 8)
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    long long a = 0, b = 0;
    tbb::task_group group;
    group.run([&] { a = fib(n - 1); });
    group.run([&] { b = fib(n - 2); });
    group.wait();
    return a + b;
}

int main(int argc, char **argv)
{
    const int n = 100000;
    const double until = now() + (argc > 1 ? std::strtod(argv[1], nullptr) : 1.0);
    std::vector<int> cell(n, 0);
    int rounds = 0;
    do {
        rounds++;
        tbb::parallel_for(0, n, [&](int i) { cell[std::size_t(i)]++; });
        long long sum = tbb::parallel_reduce(
            tbb::blocked_range<int>(0, n), 0LL,
            [&](const tbb::blocked_range<int> &range, long long part) {
                for (int i = range.begin(); i < range.end(); i++)
                    part += cell[std::size_t(i)];
                return part;
            },
            [](long long x, long long y) { return x + y; });
        if (sum != (long long)n * rounds || fib(18) != 2584) {
            std::fprintf(stderr, "wrong: sum %lld in round %d\n", sum, rounds);
            return 1;
        }
    } while (now() < until);
    std::printf("tbb %d\n", n);
    return 0;
}
