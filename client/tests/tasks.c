/* Tasks: a tree of them, a taskloop, dependences, and taskwait in the middle. */
#include "check.h"
#include <omp.h>

static long long fib(int n)
{
    long long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) if (n > 8)
    a = fib(n - 1);
#pragma omp task shared(b) if (n > 8)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static int chain(int length)
{
    int value = 0;
    for (int i = 1; i <= length; i++)
#pragma omp task depend(inout : value) shared(value)
        value = value * 2 % 10007 + i;
#pragma omp taskwait
    return value;
}

int main(int argc, char **argv)
{
    long long result = 0;
    while (check_going(argc, argv)) {
        long long tree = 0, loop = 0;
        int ordered = 0;
#pragma omp parallel
#pragma omp single
        {
            check_saw(omp_get_num_threads());
            tree = fib(16);
            ordered = chain(50);
#pragma omp taskloop grainsize(16) shared(loop)
            for (int i = 0; i < 1000; i++)
#pragma omp atomic
                loop += i;
        }
        check_equal("fib", tree, 987);
        check_equal("taskloop", loop, 499500);
        if (check_rounds > 0)
            check_equal("chain", ordered, result);
        result = ordered;
    }
    return check_end("tasks", result);
}
