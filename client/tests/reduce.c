/* Integer reductions of every kind, among them one over an array section: exact with any team
 * size. */
#include "check.h"
#include <omp.h>

enum { N = 30000, BINS = 32 };

int main(int argc, char **argv)
{
    long long result = 0;
    while (check_going(argc, argv)) {
        long long sum = 0, high = -1, low = N, bins[BINS] = {0};
        unsigned parity = 0, all = ~0u, any = 0;
        int yes = 1, members = 0;
#pragma omp parallel reduction(+ : members)
        members += 1;
        check_saw(members);
#pragma omp parallel for reduction(+ : sum, bins[:BINS]) reduction(^ : parity) reduction(& : all) reduction(| : any) \
    reduction(max : high) reduction(min : low) reduction(&& : yes)
        for (int i = 0; i < N; i++) {
            long long v = (i * 7919LL) % N;
            sum += v;
            bins[v % BINS]++;
            parity ^= (unsigned)(v * 2654435761u);
            all &= (unsigned)v | 0xffff0000u;
            any |= (unsigned)v;
            high = v > high ? v : high;
            low = v < low ? v : low;
            yes = yes && v >= 0;
        }
        long long hash = sum + high * 3 + low + parity % 1000 + all % 1000 + any % 1000 + yes;
        for (int i = 0; i < BINS; i++)
            hash = hash * 31 + bins[i];
        hash &= 0xffffffffffffLL;
        check_equal("sum", sum, (long long)N * (N - 1) / 2);
        if (check_rounds > 0)
            check_equal("hash of all reductions", hash, result);
        result = hash;
    }
    return check_end("reduce", result);
}
