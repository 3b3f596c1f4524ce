/* The common part of the test programs: runs for a time, fails, and counts the team sizes that it
 * saw.
 *
 * A program repeats its rounds for the seconds named in its first argument, or with "-" until its
 * standard input ends. It checks every round, and prints one line on standard output that is the
 * same with any number of rounds, threads and processors. The team sizes it saw go to
 * standard error as "sizes 1:20 2:35": from this line the harness reads whether a size was held or
 * followed the allocation. This file includes nothing of numaestro: the programs are ordinary ones.
 */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK_SIZES 65

static double check_until;
static long check_rounds;
static long check_sizes[CHECK_SIZES];

static inline double check_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ends the program at once: a wrong result must not be hidden by a later hang. */
static inline void check_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("wrong: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    fflush(stdout);
    _exit(1);
}

static inline void check_equal(const char *what, long long is, long long should)
{
    if (is != should)
        check_fail("%s is %lld, not %lld, in round %ld", what, is, should, check_rounds);
}

/* Counts a team of this size; any thread may call it. */
static inline void check_saw(int team)
{
    __atomic_fetch_add(&check_sizes[team < CHECK_SIZES ? team : 0], 1, __ATOMIC_RELAXED);
}

/* The time at which a program with this argument ends. "-": only when its standard input does. */
static inline double check_end_by(const char *seconds)
{
    return !strcmp(seconds, "-") ? HUGE_VAL : check_now() + strtod(seconds, NULL);
}

/* Whether this time has come, or standard input has ended. */
static inline int check_over(double until)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return until == HUGE_VAL ? poll(&input, 1, 0) > 0 : check_now() >= until;
}

/* One round is done in any case. */
static inline int check_going(int argc, char **argv)
{
    if (check_until == 0.0) {
        check_until = check_end_by(argc > 1 ? argv[1] : "1");
        return 1;
    }
    check_rounds++;
    return !check_over(check_until);
}

static inline int check_end(const char *name, long long result)
{
    fprintf(stderr, "sizes");
    for (int i = 0; i < CHECK_SIZES; i++)
        if (check_sizes[i])
            fprintf(stderr, " %d:%ld", i, check_sizes[i]);
    fprintf(stderr, "\n");
    printf("%s %lld\n", name, result);
    return fflush(stdout) ? 1 : 0;
}

#endif
