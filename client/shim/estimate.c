/* estimate.c - computes low quantiles of recorded times, and finds the sequence of regions that
 * repeats. Nothing here measures.
 *
 * The operating system interrupts a program now and then, and that makes means useless: a lower
 * quartile separates regions that scale from those that do not, a mean does not. A minimum would
 * favour the size that has more samples.
 */
#include "analyzer.h"

#define DISPERSE_PERCENT 15u
#define AGREE_PERCENT 15u
#define AGREE_TIMES 2u
#define ONE_MILLI 1000u
#define CLEAR_PERCENT 80u
#define REPEATS 3u /* repetitions from which on a sequence is taken for an iteration */

static void sort(uint64_t *values, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint64_t value = values[i];
        uint32_t at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

void nm_times_add(struct nm_times *times, uint64_t ns)
{
    times->ns[times->count++ % NM_KEPT] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

uint32_t nm_times_low(const struct nm_times *times, uint32_t least, bool *disperse)
{
    uint64_t values[NM_KEPT];
    uint32_t count = times->count < NM_KEPT ? times->count : NM_KEPT;
    if (count < least || count == 0)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        values[i] = times->ns[i];
    sort(values, count);
    uint64_t low = values[count / 4], median = values[count / 2];
    if (disperse && median * 100 > low * (100 + DISPERSE_PERCENT))
        *disperse = true;
    return (uint32_t)low;
}

uint32_t nm_times_recent(const struct nm_times *times, uint32_t latest)
{
    struct nm_times some = {.count = 0};
    for (uint32_t i = 0; i < latest && times->count >= latest; i++)
        nm_times_add(&some, times->ns[(times->count - latest + i) % NM_KEPT]);
    return nm_times_low(&some, latest, NULL);
}

bool nm_differs(uint32_t a, uint32_t b, uint32_t percent)
{
    uint32_t more = a > b ? a : b, less = a > b ? b : a;
    return (uint64_t)less * (100 + percent) < (uint64_t)more * 100;
}

/* A value counts if the next one is much the same, or the next two where single times say little: a
 * wrong first value may cost a program its processors. Two values of at most one agree however far
 * apart they are: both say that the processors beyond the first one bring nothing. */
bool nm_values_settle(struct nm_values *values, uint32_t milli, bool doubtful)
{
    bool no_gain = values->last <= ONE_MILLI && milli <= ONE_MILLI;
    bool alike = values->last && (no_gain || !nm_differs(values->last, milli, AGREE_PERCENT));
    values->alike = alike ? values->alike + 1 : 0;
    values->last = milli;
    return values->alike >= (doubtful ? AGREE_TIMES : 1);
}

/* A nanosecond that a thread waits delays the program by a nanosecond at most. So without any wait
 * the window would have been longer than took - waited. */
uint32_t nm_most_speedup(uint64_t on_one, uint64_t took, uint64_t waited)
{
    uint64_t least = took > waited ? took - waited : 0;
    uint64_t most = least ? on_one * ONE_MILLI / least : UINT32_MAX;
    return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* Values in between are those of which a disturbance can make either. */
bool nm_is_clear(uint32_t milli, uint32_t size)
{
    return milli <= ONE_MILLI || (uint64_t)milli * 100 >= (uint64_t)size * ONE_MILLI * CLEAR_PERCENT;
}

/* Whether a region is as long as the one a period before it, for most pairs, because some may be
 * disturbed. A region whose work varies in the course of a longer iteration is not, unless the
 * period is that iteration. */
static bool times_repeat(const struct nm_record *records, uint32_t from, uint32_t count, uint32_t period)
{
    uint32_t alike = 0, pairs = 0;
    for (uint32_t i = from + period; i < count; i++) {
        if (records[i].disturbed || records[i - period].disturbed)
            continue;
        uint64_t one = records[i].leave - records[i].enter, other = records[i - period].leave - records[i - period].enter;
        uint64_t more = one > other ? one : other, less = one > other ? other : one;
        alike += more * 100 <= less * (100 + DISPERSE_PERCENT);
        pairs++;
    }
    return alike * 2 > pairs;
}

uint32_t nm_period(const struct nm_record *records, uint32_t count)
{
    for (uint32_t period = 1; period * REPEATS <= count; period++) {
        /* The first records may belong to an earlier phase. */
        uint32_t from = count - (count / period < 2 * REPEATS ? period * REPEATS : count / 2);
        bool repeats = true;
        for (uint32_t i = from + period; i < count && repeats; i++)
            repeats = records[i].function == records[i - period].function;
        if (repeats && times_repeat(records, from, count, period))
            return period;
    }
    return 0;
}

static uint64_t iteration_of(const struct nm_record *records, uint32_t count, uint32_t period, bool undisturbed)
{
    uint64_t values[NM_RECORDS];
    uint32_t found = 0;
    for (uint32_t i = count; i > period; i -= period) {
        bool good = records[i - 1].function == records[i - 1 - period].function;
        for (uint32_t r = i - period; r < i && undisturbed; r++)
            good &= !records[r].gap_disturbed && !records[r - 1].disturbed;
        if (good)
            values[found++] = records[i - 1].enter - records[i - 1 - period].enter;
    }
    if (found < REPEATS - 1)
        return 0;
    sort(values, found);
    return values[found / 4];
}

/* A long iteration may never be undisturbed; the caller decides how much that matters. */
uint64_t nm_iteration(const struct nm_record *records, uint32_t count, uint32_t period)
{
    uint64_t undisturbed = period > 0 ? iteration_of(records, count, period, true) : 0;
    return undisturbed || period == 0 ? undisturbed : iteration_of(records, count, period, false);
}
