/* Long regions with very many barriers: the team is in one region while its processors come and
 * go. */
#include "torture.h"
#include <math.h>

#define WIDTH 96

/* Each member carries on the value that its neighbour had before the barrier. */
static void ring(void)
{
    static uint64_t value[2][TORTURE_THREADS];
    int phases = fewer(4000);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        value[0][me] = (uint64_t)me;
#pragma omp barrier
        for (int r = 0; r < phases; r++) {
            value[(r + 1) % 2][me] = mixed(value[r % 2][(me + 1) % all], value[r % 2][me]);
#pragma omp barrier
        }
        *slot(me) = value[phases % 2][me];
    }
    note_slots(team_size());
}

__attribute__((noinline)) static void wait_far_down(int depth)
{
    volatile char here[256];
    here[depth % 256] = (char)depth;
    if (depth > 0)
        wait_far_down(depth - 1);
    else {
#pragma omp barrier
    }
    if (here[depth % 256] != (char)depth)
        wrong("the stack was changed over a barrier");
}

/* Barriers in functions, in branches that all take together, and at different depths in different
 * members. */
static void everywhere(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        uint64_t *my = slot(me), x = (uint64_t)me;
        for (int r = 0; r < fewer(500); r++) {
            wait_far_down((me + r) % 7);
            if (r % 3 == 0) {
#pragma omp barrier
                x = mixed(x, (uint64_t)r);
            } else {
                wait_far_down(me % 3);
                x += 3;
            }
        }
        *my = x;
    }
    note_slots(team_size());
}

/* Members with much work and members with none, in turn. */
static void uneven(void)
{
    static uint64_t board[TORTURE_THREADS];
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        uint64_t x = 1;
        for (int r = 0; r < 30; r++) {
            board[me] = work(x, r % all == me ? 60000 : 10);
#pragma omp barrier
            x = mixed(board[r % all], (uint64_t)me);
#pragma omp barrier
        }
        *slot(me) = x;
    }
    note_slots(team_size());
}

/* Red-black relaxation in one region for the whole run. All members know the largest change after
 * each sweep. */
static void relaxation(void)
{
    static double grid[WIDTH][WIDTH], change[TORTURE_THREADS];
    for (int i = 0; i < WIDTH; i++)
        for (int k = 0; k < WIDTH; k++)
            grid[i][k] = i == 0 ? 1.0 : k == 0 ? 0.5 : 0.0;
    int sweeps = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        double most = 1.0;
        for (int s = 0; s < 60 && most > 1e-9; s++) {
            double mine = 0.0;
            for (int colour = 0; colour < 2; colour++) {
#pragma omp for schedule(static)
                for (int i = 1; i < WIDTH - 1; i++)
                    for (int k = 1 + (i + colour) % 2; k < WIDTH - 1; k += 2) {
                        double was = grid[i][k];
                        grid[i][k] += 1.7 * (0.25 * (grid[i - 1][k] + grid[i + 1][k] + grid[i][k - 1] + grid[i][k + 1]) - was);
                        mine = fmax(mine, fabs(grid[i][k] - was));
                    }
            }
            change[me] = mine;
#pragma omp barrier
            most = 0.0;
            for (int i = 0; i < all; i++)
                most = fmax(most, change[i]);
#pragma omp single
            sweeps++;
        }
    }
    note((uint64_t)sweeps);
    for (int i = 0; i < WIDTH * WIDTH; i++)
        note_real(grid[i / WIDTH][i % WIDTH]);
}

/* Conjugate gradients in one region; every member adds up every sum in the order of the members. */
static void gradients(void)
{
    enum { SIZE = 2000 };
    static double x[SIZE], r[SIZE], p[SIZE + 2], q[SIZE], part[2][TORTURE_THREADS];
    memset(x, 0, sizeof x);
    memset(p, 0, sizeof p);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads(), from = SIZE * me / all, to = SIZE * (me + 1) / all;
        double rho = 0.0, old, alpha, sum = 0.0;
        for (int i = from; i < to; i++) {
            r[i] = p[i + 1] = 1.0 / (1.0 + i % 17);
            sum += r[i] * r[i];
        }
        part[0][me] = sum;
#pragma omp barrier
        for (int i = 0; i < all; i++)
            rho += part[0][i];
        for (int s = 0; s < 25; s++) {
            sum = 0.0;
            for (int i = from; i < to; i++) {
                q[i] = 2.5 * p[i + 1] - p[i] - p[i + 2];
                sum += q[i] * p[i + 1];
            }
            part[1][me] = sum;
#pragma omp barrier
            for (alpha = 0.0, sum = 0.0; sum < all; sum += 1.0)
                alpha += part[1][(int)sum];
            alpha = rho / alpha;
            sum = 0.0;
            for (int i = from; i < to; i++) {
                x[i] += alpha * p[i + 1];
                r[i] -= alpha * q[i];
                sum += r[i] * r[i];
            }
            part[0][me] = sum;
#pragma omp barrier
            old = rho;
            rho = 0.0;
            for (int i = 0; i < all; i++)
                rho += part[0][i];
            for (int i = from; i < to; i++)
                p[i + 1] = r[i] + rho / old * p[i + 1];
#pragma omp barrier
        }
    }
    for (int i = 0; i < SIZE; i += 7)
        note_real(x[i]);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"ring", ring}, {"everywhere", everywhere}, {"uneven", uneven}, {"relaxation", relaxation}, {"gradients", gradients},
    };
    return TORTURE(parts);
}
