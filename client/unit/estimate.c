/* estimate.c - runs the analyzer's estimates on recorded times with a known answer.
 */
#include "../shim/analyzer.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void expect(bool good, const char *what)
{
    if (good)
        return;
    failures++;
    printf("FAILED estimate: %s\n", what);
}

static struct nm_record records[NM_RECORDS];

/* Regions named by letters; each takes 10 ns and the gap before it 5 ns. The iteration that begins
 * with '!' takes 1000 ns more. */
static uint32_t play(const char *letters)
{
    uint64_t now = 100;
    uint32_t count = 0;
    for (; *letters; letters++) {
        if (*letters == '!') {
            now += 1000;
            continue;
        }
        records[count++] = (struct nm_record){.function = (uintptr_t)*letters, .enter = now + 5, .leave = now + 15};
        now += 15;
    }
    return count;
}

static void quartiles(void)
{
    struct nm_times times = {.count = 0};
    bool disperse = false;
    expect(nm_times_low(&times, 0, NULL) == 0, "no times");
    for (uint32_t i = 0; i < 8; i++)
        nm_times_add(&times, i % 2 ? 1000000 : 100);
    expect(nm_times_low(&times, 9, NULL) == 0, "too few times");
    expect(nm_times_low(&times, 8, &disperse) == 100 && disperse, "half of them disturbed");
    disperse = false;
    for (uint32_t i = 0; i < 3 * NM_KEPT; i++)
        nm_times_add(&times, 200 + i % 8);
    expect(nm_times_low(&times, NM_KEPT, &disperse) == 202 && !disperse, "the latest ones only");
    for (uint32_t i = 0; i < 4; i++)
        nm_times_add(&times, 300 + i);
    expect(nm_times_recent(&times, 4) == 301 && nm_times_recent(&times, NM_KEPT) == 202, "the latest four");
    expect(nm_times_recent(&(struct nm_times){.count = 3}, 4) == 0, "not yet four");
    nm_times_add(&times, UINT64_MAX);
    expect(times.ns[(times.count - 1) % NM_KEPT] == UINT32_MAX, "a time too long to keep");
}

static void periods(void)
{
    static const struct {
        const char *letters;
        uint32_t period;
    } known[] = {
        {"aaaaaa", 1}, {"ababab", 2},       {"abcabcabcabc", 3}, {"aabaabaab", 3}, {"xyzababababababab", 2},
        {"abcd", 0},   {"abababacdefghij", 0}, {"", 0},           {"aab", 0},       {"abcabdabeabfabgabh", 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        expect(nm_period(records, play(known[i].letters)) == known[i].period, known[i].letters);
}

/* A diamond: one region with work for 2, 4, 6, 8, 8, 6, 4, 2. */
static void varying(void)
{
    static const uint64_t work[8] = {2, 4, 6, 8, 8, 6, 4, 2};
    uint64_t now = 0;
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t took = work[i % 8] * 100 + i % 3;
        records[i] = (struct nm_record){.function = 'a', .enter = now, .leave = now + took};
        now += took;
    }
    expect(nm_period(records, 40) == 8, "an iteration of varying work");
    uint64_t iteration = nm_iteration(records, 40, 8);
    expect(iteration >= 4000 && iteration < 4020, "a whole diamond");
    expect(nm_period(records, 20) == 0, "too few to tell");
}

static void iterations(void)
{
    uint32_t count = play("abcabcabcabc");
    expect(nm_iteration(records, count, 3) == 45, "three regions of 15");
    expect(nm_iteration(records, count, 0) == 0, "no period");
    expect(nm_iteration(records, 6, 3) == 0, "one iteration is too few");
    count = play("abab!abababab!ab");
    expect(nm_iteration(records, count, 2) == 30, "interrupted now and then");
    records[4].disturbed = records[7].gap_disturbed = true;
    expect(nm_iteration(records, count, 2) == 30, "disturbed ones left out");
    for (uint32_t i = 0; i < count; i++)
        records[i].disturbed = true;
    expect(nm_iteration(records, count, 2) == 30, "all of them disturbed");
}

static void values(void)
{
    struct nm_values values = {0};
    expect(!nm_values_settle(&values, 1900, false), "one value is none");
    expect(nm_values_settle(&values, 1800, false), "two that are alike");
    expect(!nm_values_settle(&values, 1300, false), "another one");
    expect(!nm_values_settle(&values, 1300, true) && nm_values_settle(&values, 1300, true), "three if they are doubtful");
    values = (struct nm_values){0};
    expect(!nm_values_settle(&values, 210, false) && nm_values_settle(&values, 900, false), "neither says that a second processor helps");
    expect(!nm_values_settle(&values, 1100, false), "this one does");
}

static void bounds(void)
{
    expect(nm_most_speedup(1000, 2000, 0) == 500, "nobody waited");
    expect(nm_most_speedup(1000, 2000, 1000) == 1000, "half of the window may be others'");
    expect(nm_most_speedup(1000, 2000, 1999) == 1000000, "nearly all of it");
    expect(nm_most_speedup(1000, 2000, 2000) == UINT32_MAX && nm_most_speedup(1000, 2000, 5000) == UINT32_MAX, "nothing is known");
    expect(nm_most_speedup(UINT64_MAX / 2000, 1, 0) == UINT32_MAX, "more than fits");
}

static void clear(void)
{
    expect(nm_is_clear(1000, 2) && nm_is_clear(1, 2) && nm_is_clear(900, 16), "no faster than on one");
    expect(nm_is_clear(1600, 2) && nm_is_clear(12800, 16), "four of five are used");
    expect(!nm_is_clear(1001, 2) && !nm_is_clear(1599, 2) && !nm_is_clear(12799, 16), "in between");
}

int main(void)
{
    quartiles();
    values();
    bounds();
    clear();
    periods();
    iterations();
    varying();
    if (!failures)
        printf("ok estimate: quartiles, periods and iterations\n");
    return failures != 0;
}
