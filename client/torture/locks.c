/* Mutual exclusion: critical with and without a name, atomic of every kind, locks, nest locks, and
 * members that hold one over a barrier or while others wait for it. */
#include "torture.h"

static uint64_t plain_sum;

static void criticals(void)
{
    uint64_t a = 0, b = 0, both = 0;
#pragma omp parallel
    for (int r = 0; r < fewer(600); r++) {
#pragma omp critical
        a += 3;
#pragma omp critical(second)
        {
            b += 5;
#pragma omp critical(third)
            both++;
        }
#pragma omp critical(hinted) hint(omp_sync_hint_contended)
        plain_sum += 2;
    }
    note(a);
    note(b);
    note(both);
    note(plain_sum);
    plain_sum = 0;
}

/* Some member loses its processor in the middle of a critical section again and again. */
static void long_criticals(void)
{
    uint64_t inside = 0, sum = 0;
#pragma omp parallel
    for (int r = 0; r < 4; r++) {
#pragma omp critical
        {
            if (inside++)
                wrong("two in a critical section");
            sum += work((uint64_t)r, 20000) | 1;
            inside--;
        }
    }
    note(sum);
}

static void atomics(void)
{
    int64_t i = 0, captured = 0, most = 0;
    double d = 0.0;
    float f = 0.0f;
    unsigned char c = 0;
    long double wide = 0.0L;
    _Complex double complex = 0.0;
#pragma omp parallel reduction(+ : captured)
    for (int r = 0; r < fewer(800); r++) {
        int64_t before;
#pragma omp atomic
        i += r;
#pragma omp atomic capture
        {
            before = most;
            most++;
        }
        captured += before;
#pragma omp atomic
        d += 0.5;
#pragma omp atomic
        f += 1.0f;
#pragma omp atomic
        c += 1;
#pragma omp critical(wide)
        {
            wide += 0.25L;
            complex += 1.0;
        }
#pragma omp atomic update seq_cst
        i ^= 0;
    }
    note((uint64_t)i);
    note((uint64_t)captured);
    note((uint64_t)most);
    note_real(d);
    note_real((double)f);
    note(c);
    note_real((double)wide);
    note_real(__real__ complex);
}

static void locks(void)
{
    static omp_lock_t lock[3];
    static uint64_t sum[3], tried;
    memset(sum, 0, sizeof sum);
    tried = 0;
    omp_init_lock(&lock[0]);
    omp_init_lock(&lock[1]);
    omp_init_lock(&lock[2]);
#pragma omp parallel
    for (int r = 0; r < fewer(500); r++) {
        for (int k = 0; k < 2; k++) {
            omp_set_lock(&lock[k]);
            sum[k] += (uint64_t)(r + k);
            omp_unset_lock(&lock[k]);
        }
        while (!omp_test_lock(&lock[2])) {
        }
        sum[2]++;
        omp_unset_lock(&lock[2]);
        if (omp_test_lock(&lock[0])) {
            tried++;
            omp_unset_lock(&lock[0]);
        }
    }
    for (int k = 0; k < 3; k++) {
        note(sum[k]);
        omp_destroy_lock(&lock[k]);
    }
}

/* A nest lock belongs to a member: it may take it again, and again after others have run. */
static void nested_locks(void)
{
    static omp_nest_lock_t lock;
    uint64_t depths = 0, count = 0;
    omp_init_nest_lock(&lock);
#pragma omp parallel reduction(+ : depths)
    for (int r = 0; r < fewer(200); r++) {
        omp_set_nest_lock(&lock);
        omp_set_nest_lock(&lock);
        count += work((uint64_t)r, 50) | 1;
        depths += (uint64_t)omp_test_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
    }
    note(depths);
    note(count);
    omp_destroy_nest_lock(&lock);
}

/* A lock that one member takes before a barrier and gives back after it: the others wait for it in
 * between. */
static void held_over_barriers(void)
{
    omp_lock_t lock;
    uint64_t order = 0;
    int holder = 0;
    omp_init_lock(&lock);
#pragma omp parallel
    for (int r = 0; r < 12; r++) {
        int me = omp_get_thread_num(), first = r % omp_get_num_threads();
        if (me == first)
            omp_set_lock(&lock);
#pragma omp barrier
        if (me == first) {
            holder = me + 1;
            order = mixed(order, (uint64_t)(me + r));
            omp_unset_lock(&lock);
        } else {
            omp_set_lock(&lock);
            if (holder != first + 1)
                wrong("the lock was not held over the barrier");
            omp_unset_lock(&lock);
        }
#pragma omp barrier
    }
    note(order);
    omp_destroy_lock(&lock);
}

/* Values that one member writes and another reads behind a flush and a barrier. */
static void flushes(void)
{
    static volatile uint64_t board[TORTURE_THREADS];
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int r = 0; r < 40; r++) {
            board[me] = (uint64_t)(me * 100 + r);
#pragma omp flush
#pragma omp barrier
            *slot(me) = mixed(*slot(me), board[(me + 1) % all] + board[(me + all - 1) % all]);
#pragma omp barrier
        }
    }
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"critical", criticals},   {"long-critical", long_criticals}, {"atomic", atomics},      {"lock", locks},
        {"nest-lock", nested_locks}, {"held", held_over_barriers},    {"flush", flushes},
    };
    return TORTURE(parts);
}
