/* The floating-point state of a member is its own: rounding, exceptions, flushing of tiny numbers,
 * and the x87 precision. */
#include "torture.h"
#include <fenv.h>
#include <math.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static volatile double one = 1.0, three = 3.0, tiny = 1e-300;

/* Each member rounds in its own direction, so a third is a different number in each. */
static void rounding(void)
{
    static const int direction[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
#pragma omp parallel
    {
        int me = omp_get_thread_num(), before = fegetround();
        fesetround(direction[me % 4]);
        for (int r = 0; r < 40; r++) {
            double third = one / three;
            long double wide = (long double)one / three;
            uint64_t bits;
            memcpy(&bits, &third, sizeof bits);
            *slot(me) = mixed(*slot(me), bits + (uint64_t)fegetround() + (wide > third));
            *slot(me) = mixed(*slot(me), (uint64_t)lrint(2.5 * (double)(r + me)));
#pragma omp barrier
        }
        fesetround(before);
    }
    note_slots(team_size());
    note((uint64_t)fegetround());
}

/* A member keeps its direction from region to region, until it sets another one. */
static void rounding_persists(void)
{
#pragma omp parallel
    fesetround(omp_get_thread_num() % 2 ? FE_UPWARD : FE_DOWNWARD);
    for (int r = 0; r < 10; r++) {
#pragma omp parallel
        {
            *slot(omp_get_thread_num()) += (uint64_t)(fegetround() == (omp_get_thread_num() % 2 ? FE_UPWARD : FE_DOWNWARD));
#pragma omp barrier
            *slot(omp_get_thread_num()) += (uint64_t)(one / three * three < one);
        }
    }
#pragma omp parallel
    fesetround(FE_TONEAREST);
    note_slots(team_size());
}

/* One member raises exceptions, and only that one sees them. */
static void exceptions(void)
{
    static const int kind[] = {FE_DIVBYZERO, FE_INVALID, FE_OVERFLOW, FE_UNDERFLOW};
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int r = 0; r < 12; r++) {
            feclearexcept(FE_ALL_EXCEPT);
#pragma omp barrier
            feraiseexcept(kind[(me + r) % 4]);
#pragma omp barrier
            *slot(me) = mixed(*slot(me), (uint64_t)(fetestexcept(FE_DIVBYZERO | FE_INVALID) & kind[(me + r) % 4]));
            *slot(me) = mixed(*slot(me), (uint64_t)(fetestexcept(FE_DIVBYZERO) != 0 && (me + r) % 4 != 0));
        }
        feclearexcept(FE_ALL_EXCEPT);
    }
    note_slots(team_size());
}

/* Half of the members take tiny numbers for zero. */
static void tiny_numbers(void)
{
#if defined(__x86_64__)
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        unsigned before = _mm_getcsr();
        if (me % 2)
            _mm_setcsr(before | 0x8040u);
        for (int r = 0; r < 30; r++) {
            double product = tiny * 1e-15;
            *slot(me) = mixed(*slot(me), (uint64_t)(product == 0.0) + (_mm_getcsr() & 0x8040u));
#pragma omp barrier
        }
        _mm_setcsr(before);
    }
#endif
    note_slots(team_size());
}

/* The precision of the x87 unit: 64, 53 or 24 bits. */
static void precision(void)
{
#if defined(__x86_64__)
#pragma omp parallel
    {
        static const unsigned short bits[] = {0x300, 0x200, 0x000};
        int me = omp_get_thread_num();
        unsigned short before, mine, now;
        __asm__ volatile("fnstcw %0" : "=m"(before));
        mine = (unsigned short)((before & ~0x300u) | bits[me % 3]);
        __asm__ volatile("fldcw %0" : : "m"(mine));
        for (int r = 0; r < 30; r++) {
            volatile long double third = 1.0L, divisor = 3.0L;
            third = third / divisor;
            __asm__ volatile("fnstcw %0" : "=m"(now));
            *slot(me) = mixed(*slot(me), (uint64_t)((double)third != third) + now);
#pragma omp barrier
        }
        __asm__ volatile("fldcw %0" : : "m"(before));
    }
#endif
    note_slots(team_size());
}

/* Many live values over barriers: callee-saved registers, and vectors that were spilled. */
static void registers(void)
{
#pragma omp parallel
    {
        uint64_t me = (uint64_t)omp_get_thread_num(), a = me, b = me + 1, c = me + 2, d = me + 3, e = me + 4, f = me + 5, g = me + 6;
        double x = (double)me, y = x + 0.5, z = x + 0.25, w = x + 0.125;
        for (int r = 0; r < 60; r++) {
            a += b ^ (c << 3);
            b += d * 5;
            c ^= e + (uint64_t)r;
#pragma omp barrier
            d += f | a;
            e ^= g * 9;
            f += a ^ b;
            g += c;
            x += y * 0.5;
            y += z;
#pragma omp barrier
            z += w * 0.25;
            w += x * 0.001;
        }
        uint64_t bits;
        x += y * z + w;
        memcpy(&bits, &x, sizeof bits);
        *slot((int)me) = mixed(mixed(mixed(a, b), mixed(c, d)), mixed(mixed(e, f), mixed(g, bits)));
    }
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"rounding", rounding}, {"persists", rounding_persists}, {"exceptions", exceptions},
        {"tiny", tiny_numbers}, {"precision", precision},        {"registers", registers},
    };
    return TORTURE(parts);
}
