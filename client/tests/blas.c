/* dgemm with small integers, so that every order of summation gives the same bits. Linked with the
 * BLAS interface only; the harness chooses the library (OpenBLAS with OpenMP or threads, BLIS) with
 * LD_LIBRARY_PATH. */
#include "check.h"

enum { MAX = 220 };
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
            const double *, const int *, const double *, double *, const int *);

static double a[MAX * MAX], b[MAX * MAX], c[MAX * MAX], expected[MAX * MAX];

static void multiply_by_hand(int n)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i + k * n] * b[k + j * n];
            expected[i + j * n] = sum;
        }
}

int main(int argc, char **argv)
{
    const double one = 1, zero = 0;
    const int sizes[] = {64, 150, MAX};
    long long hash = 0;
    for (int s = 0; s < 3; s++) {
        int n = sizes[s];
        for (int i = 0; i < n * n; i++) {
            a[i] = i * 7 % 11 - 5;
            b[i] = i * 5 % 13 - 6;
        }
        multiply_by_hand(n);
        check_until = 0.0;
        while (check_going(argc, argv)) {
            dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
            for (int i = 0; i < n * n; i++)
                if (c[i] != expected[i])
                    check_fail("element %d of %d x %d is %g, not %g", i, n, n, c[i], expected[i]);
        }
        for (int i = 0; i < n * n; i++)
            hash = (hash * 31 + (long long)c[i]) & 0xffffffffffLL;
    }
    return check_end("blas", hash);
}
