/* The common part of the torture programs: runs parts, each of which notes numbers, and prints one
 * line of output for each part.
 *
 * A part notes numbers in an order that depends on the team size only. The same part runs again and
 * again for the seconds of the first argument, and every round must note what the first one noted.
 * Standard output has a digest for each part, and is the same for any number of rounds: the harness
 * compares a run under numaestro and a run without byte by byte. NUMAESTRO_TORTURE_SEED chooses the
 * order of the parts, NUMAESTRO_TORTURE_PART runs one part only, and NUMAESTRO_TORTURE_NOTES prints
 * the parts' notes. This file includes nothing of numaestro: the programs are ordinary ones.
 */
#ifndef TORTURE_H
#define TORTURE_H

#include <omp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TORTURE_THREADS 1100
#define TORTURE_PARTS 64

struct part {
    const char *name;
    void (*run)(void);
};

/* One slot for each thread of a team, a cache line apart. */
struct torture_slot {
    uint64_t is, rest[7];
};

static struct torture_slot torture_slots[TORTURE_THREADS];
static uint64_t torture_digest[TORTURE_PARTS];
static uint32_t torture_count[TORTURE_PARTS];
static uint64_t torture_now;
static uint32_t torture_noted;
static long torture_round;
static const char *torture_part = "";

/* Ends the program at once: a later hang must not hide a wrong result. */
__attribute__((format(printf, 1, 2), noreturn, unused)) static void wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "wrong: %s in round %ld: ", torture_part, torture_round);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    _exit(1);
}

/* The digest of `before` and then `value`: the order counts (FNV-1a by bytes, and 0 after 0 is not
 * 0). */
__attribute__((unused)) static uint64_t mixed(uint64_t before, uint64_t value)
{
    before += 0x9e3779b97f4a7c15ull;
    for (int i = 0; i < 8; i++)
        before = (before ^ ((value >> (8 * i)) & 255)) * 0x100000001b3ull;
    return before;
}

/* Only one thread notes, between regions. */
static void note(uint64_t value)
{
    torture_now = mixed(torture_now, value);
    if (getenv("NUMAESTRO_TORTURE_NOTES"))
        fprintf(stderr, "%s %u: %llu (%#llx)\n", torture_part, torture_noted, (unsigned long long)value, (unsigned long long)value);
    torture_noted++;
}

__attribute__((unused)) static void note_real(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    note(bits);
}

/* The slot of thread `number`; a number that no team can have ends the program. */
__attribute__((unused)) static uint64_t *slot(int number)
{
    if (number < 0 || number >= TORTURE_THREADS)
        wrong("there is a thread %d", number);
    return &torture_slots[number].is;
}

__attribute__((unused)) static void clear_slots(void)
{
    memset(torture_slots, 0, sizeof torture_slots);
}

/* Notes the slots of a team in the order of the threads. */
__attribute__((unused)) static void note_slots(int threads)
{
    for (int i = 0; i < threads; i++)
        note(*slot(i));
}

/* The team size that the user asked for, read from OMP_NUM_THREADS; without that variable the
 * program asks OpenMP once. */
static int team_size(void)
{
    static int size;
    const char *text = getenv("OMP_NUM_THREADS");
    if (!size)
        size = text && atoi(text) > 0 ? atoi(text) : omp_get_max_threads();
    return size;
}

/* Reduces the number of repetitions so that a team does about the same amount of work together,
 * whatever its size; at least one. On a machine that is busy with other programs a barrier takes
 * long, so the usual number is small: NUMAESTRO_TORTURE_WEIGHT asks for more. */
__attribute__((unused)) static int fewer(int repetitions)
{
    const char *weight = getenv("NUMAESTRO_TORTURE_WEIGHT");
    int n = repetitions * (weight && atoi(weight) > 0 ? atoi(weight) : 1) / team_size();
    return n > 0 ? n : 1;
}

__attribute__((unused)) static double torture_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Some work that no compiler removes; its result depends only on its arguments. */
__attribute__((unused, noinline)) static uint64_t work(uint64_t seed, int steps)
{
    for (int i = 0; i < steps; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed += 0x9e3779b97f4a7c15ull;
    }
    return seed;
}

static void torture_run(const struct part *part, int index)
{
    torture_part = part->name;
    torture_now = 0xcbf29ce484222325ull;
    torture_noted = 0;
    clear_slots();
    part->run();
    if (torture_round == 0) {
        torture_digest[index] = torture_now;
        torture_count[index] = torture_noted;
    } else if (torture_digest[index] != torture_now || torture_count[index] != torture_noted) {
        wrong("%u notes with digest %016llx, but %u with %016llx in the first round", torture_noted, (unsigned long long)torture_now,
              torture_count[index], (unsigned long long)torture_digest[index]);
    }
}

/* Runs every part again and again until the seconds of the first argument are over. */
static int torture(int argc, char **argv, const struct part *parts, int count)
{
    double until = torture_clock() + (argc > 1 ? strtod(argv[1], NULL) : 0.0);
    const char *seed_text = getenv("NUMAESTRO_TORTURE_SEED"), *only = getenv("NUMAESTRO_TORTURE_PART");
    uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) + 1 : 0;
    int order[TORTURE_PARTS];
    if (count > TORTURE_PARTS)
        wrong("%d parts, at most %d", count, TORTURE_PARTS);
    do {
        for (int i = 0; i < count; i++)
            order[i] = i;
        for (int i = count - 1; seed && i > 0; i--) {
            int other = (int)((seed = work(seed, 1)) % (uint64_t)(i + 1)), was = order[i];
            order[i] = order[other];
            order[other] = was;
        }
        for (int i = 0; i < count; i++)
            if (!only || !strcmp(only, parts[order[i]].name))
                torture_run(&parts[order[i]], order[i]);
        torture_round++;
    } while (torture_clock() < until);
    for (int i = 0; i < count; i++)
        printf("%s %u %016llx\n", parts[i].name, torture_count[i], (unsigned long long)torture_digest[i]);
    fprintf(stderr, "%d threads, %ld rounds\n", team_size(), torture_round);
    return fflush(stdout) ? 1 : 0;
}

#define TORTURE(parts) torture(argc, argv, parts, (int)(sizeof parts / sizeof parts[0]))

#endif
