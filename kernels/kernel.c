/* kernel.c - options, timing and report of the load programs; see kernel.h. */
#define _POSIX_C_SOURCE 200809L
#include "kernel.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct kernel_teams kernel_teams __attribute__((aligned(64)));

static const struct kernel_about *about;
static struct kernel_args args;
static bool json;
static double wall_begin, wall_s, cpu_begin, cpu_s;

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double kernel_now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

static void usage(FILE *out)
{
    fprintf(out,
            "Usage: %s [--size N] [--reps N | --seconds S] [--threads N]%s%s [--json]\n"
            "%s\n\n"
            "  --size N      %s (default %ld, %ld to %ld)\n"
            "  --reps N      %s (default %ld)\n"
            "  --seconds S   repeat for at least S seconds instead\n"
            "  --threads N   fix the number of threads; without it the runtime decides\n",
            about->name, about->may_be_explicit ? " [--explicit]" : "",
            about->may_be_late ? " [--late]" : "", about->what,
            about->size_unit, about->size, about->size_min, about->size_max,
            about->reps_unit, about->reps);
    if (about->may_be_explicit)
        fputs("  --explicit    ask for each team with a num_threads clause\n", out);
    if (about->may_be_late)
        fputs("  --late        begin with the wait, so that two of them can take turns\n", out);
    fputs("  --json        print the report as one line of JSON\n"
          "  --help        print this\n\n"
          "The exit code is 0 if the result was verified, else 1.\n", out);
}

static void refuse(const char *option, const char *text)
{
    fprintf(stderr, "%s: bad value '%s' for --%s; see --help\n", about->name, text, option);
    exit(EXIT_FAILURE);
}

static long whole(const char *option, const char *text, long min, long max)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < min || value > max)
        refuse(option, text);
    return value;
}

static double positive(const char *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || value <= 0)
        refuse(option, text);
    return value;
}

struct kernel_args kernel_open(const struct kernel_about *of, int argc, char **argv)
{
    static const struct option options[] = {
        {"size", required_argument, NULL, 's'},  {"reps", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 'S'}, {"threads", required_argument, NULL, 't'},
        {"json", no_argument, NULL, 'j'},        {"help", no_argument, NULL, 'h'},
        {"explicit", no_argument, NULL, 'e'},    {"late", no_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    about = of;
    args = (struct kernel_args){.size = of->size, .reps = of->reps};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case 's':
            args.size = whole("size", optarg, of->size_min, of->size_max);
            if (of->size_power_of_2 && (args.size & (args.size - 1)) != 0)
                refuse("size (a power of 2)", optarg);
            break;
        case 'r': args.reps = whole("reps", optarg, 1, LONG_MAX); break;
        case 'S': args.seconds = positive("seconds", optarg); break;
        case 't': args.threads = (int)whole("threads", optarg, 1, 4096); break;
        case 'j': json = true; break;
        case 'h': usage(stdout); exit(EXIT_SUCCESS);
        case 'e':
            if (!of->may_be_explicit)
                refuse("explicit", "(this program has no such form)");
            args.explicit_teams = true;
            break;
        case 'l':
            if (!of->may_be_late)
                refuse("late", "(this program has one phase)");
            args.late = true;
            break;
        default: usage(stderr); exit(EXIT_FAILURE);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: unexpected argument '%s'; see --help\n", of->name, argv[optind]);
        exit(EXIT_FAILURE);
    }
    if (args.threads > 0)
        omp_set_num_threads(args.threads);
    return args;
}

void kernel_begin(void)
{
    cpu_begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    wall_begin = kernel_now();
}

bool kernel_more(long done)
{
    if (args.seconds > 0)
        return done == 0 || kernel_now() - wall_begin < args.seconds;
    return done < args.reps;
}

void kernel_end(void)
{
    wall_s = kernel_now() - wall_begin;
    cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
}

int kernel_report(long done, uint64_t checksum, bool verified)
{
    struct kernel_teams *t = &kernel_teams;
    if (t->regions == 0) /* a sequential program */
        t->first = t->last = t->min = t->max = 1;
    const char *verdict = verified ? "ok" : "FAILED";
    const char *form = json
        ? "{\"name\":\"%s\",\"size\":%ld,\"reps\":%ld,\"threads_first\":%d,\"threads_last\":%d,"
          "\"threads_min\":%d,\"threads_max\":%d,\"team_changes\":%ld,\"regions\":%ld,"
          "\"wall_s\":%.6f,\"cpu_s\":%.6f,\"checksum\":\"%016llx\",\"verification\":\"%s\"}\n"
        : "%s size %ld reps %ld\n"
          "threads: first %d last %d min %d max %d, %ld changes in %ld regions\n"
          "wall: %.6f s\ncpu: %.6f s\nchecksum: %016llx\nverification: %s\n";
    int written = printf(form, about->name, args.size, done, t->first, t->last, t->min, t->max,
                         t->changes, t->regions, wall_s, cpu_s, (unsigned long long)checksum,
                         verdict);
    return verified && written > 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void *kernel_alloc_untouched(size_t bytes)
{
    void *memory = NULL;
    if (bytes > 0 && bytes <= SIZE_MAX / 2)
        memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        fprintf(stderr, "%s: no memory for %zu bytes\n", about->name, bytes);
        exit(EXIT_FAILURE);
    }
    return memory;
}

void *kernel_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;
    return memset(kernel_alloc_untouched(bytes), 0, bytes);
}

uint64_t kernel_checksum(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t word;
        memcpy(&word, p + i, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

bool kernel_expect(bool holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "%s: not true: %s\n", about->name, what);
    return holds;
}
