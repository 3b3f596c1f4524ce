/* One region for the whole run with barriers inside: red-black relaxation of an integer grid, the
 * size asked once inside. */
#include "check.h"
#include <omp.h>
#include <string.h>

enum { N = 96, SWEEPS = 60 };
static long long grid[N + 2][N + 2];
static int stop;

static void sweep(int colour, int from, int to)
{
    for (int i = from; i < to; i++)
        for (int j = 1 + (i + colour) % 2; j <= N; j += 2)
            grid[i][j] = (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1] + 2) / 4;
}

static void reset(void)
{
    memset(grid, 0, sizeof grid);
    for (int i = 0; i < N + 2; i++)
        grid[0][i] = grid[i][0] = 1000000 + i * 1000;
}

static long long checksum(void)
{
    long long sum = 0;
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++)
            sum = (sum * 31 + grid[i][j]) & 0xffffffffffLL;
    return sum;
}

int main(int argc, char **argv)
{
    long long expected = 0;
    reset();
    for (int s = 0; s < 2 * SWEEPS; s++)
        sweep(s % 2, 1, N + 1);
    expected = checksum();
#pragma omp parallel
    {
        int t = omp_get_thread_num(), n = omp_get_num_threads();
        int from = 1 + N * t / n, to = 1 + N * (t + 1) / n;
        for (;;) {
#pragma omp barrier
#pragma omp master
            {
                stop = !check_going(argc, argv);
                reset();
                check_saw(n);
            }
#pragma omp barrier
            if (stop)
                break;
            for (int s = 0; s < 2 * SWEEPS; s++) {
                sweep(s % 2, from, to);
#pragma omp barrier
            }
#pragma omp master
            check_equal("checksum", checksum(), expected);
        }
    }
    return check_end("persist", expected);
}
