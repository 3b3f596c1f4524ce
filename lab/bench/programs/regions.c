/* regions.c - parallel regions that do next to nothing, to measure what happens around them.
 *
 *   regions empty BLOCKS REGIONS empty regions; prints the nanoseconds per region of each block
 *   regions watch SECONDS WORK_US regions of WORK_US microseconds; prints for each new allocation
 *                                   its processors, how long after the manager's decision it was
 *                                   adopted, and when (nanoseconds of CLOCK_MONOTONIC), as noted in
 *                                   the shared page of this program; SIGTERM ends it early
 *   regions stay THREADS one region of THREADS threads that never ends and never looks at anything
 *
 * The page is found through /proc/self/maps and read at the offsets of docs/ABI.md; this program
 * links nothing of numaestro. Results are one line of JSON on stdout.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Offsets in the page. */
enum { EPOCH = 0x40, COUNT = 0x44, SEQUENCE = 0x4c, DECIDED_NS = 0x58, TEAM = 0x8c, ADOPTED_NS = 0x98, ADOPTED_EPOCH = 0xc0 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t word(const unsigned char *page, unsigned offset)
{
    return atomic_load_explicit((const _Atomic uint32_t *)(page + offset), memory_order_acquire);
}

static uint64_t time_at(const unsigned char *page, unsigned offset)
{
    return atomic_load_explicit((const _Atomic uint64_t *)(page + offset), memory_order_acquire);
}

/* The mapped page of this program; null while it has none. */
static const unsigned char *find_page(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    const unsigned char *page = NULL;
    char line[512];
    while (maps && !page && fgets(line, sizeof line, maps)) {
        uintptr_t begin;
        if (strstr(line, "/memfd:numaestro") && sscanf(line, "%" SCNxPTR, &begin) == 1)
            page = (const unsigned char *)begin;
    }
    if (maps)
        fclose(maps);
    return page && memcmp(page, "NUMAEST1", 8) == 0 ? page : NULL;
}

static int empty(long blocks, long regions)
{
    double *ns = calloc((size_t)blocks, sizeof *ns);
    if (!ns)
        return EXIT_FAILURE;
    const unsigned char *page = NULL;
    uint32_t team = 0; /* the smallest of any block; 0 without a page */
    for (long block = -2; block < blocks; block++) { /* two to warm up */
        uint64_t begin = now_ns();
        for (long i = 0; i < regions; i++) {
#pragma omp parallel
            __asm__ volatile("" ::: "memory");
        }
        if (block >= 0)
            ns[block] = (double)(now_ns() - begin) / (double)regions;
        if (!page)
            page = find_page();
        uint32_t now = page ? word(page, TEAM) : 0;
        if (now > 0 && (team == 0 || now < team))
            team = now;
    }
    printf("{\"name\":\"empty\",\"team\":%" PRIu32 ",\"managed\":%s,\"ns\":[", team, page ? "true" : "false");
    for (long block = 0; block < blocks; block++)
        printf("%s%.2f", block ? "," : "", ns[block]);
    puts("],\"verification\":\"ok\"}");
    free(ns);
    return EXIT_SUCCESS;
}

static void region(uint64_t work_ns)
{
#pragma omp parallel
    {
        uint64_t until = now_ns() + work_ns;
        while (now_ns() < until)
            ;
    }
}

static volatile sig_atomic_t over;

static void end_watch(int signal)
{
    (void)signal;
    over = 1;
}

static int watch(double seconds, double work_us)
{
    enum { MOST = 100000 };
    static double latency_us[MOST];
    static uint32_t count[MOST];
    static uint64_t at_ns[MOST];
    uint64_t end = now_ns() + (uint64_t)(seconds * 1e9), work_ns = (uint64_t)(work_us * 1e3);
    signal(SIGTERM, end_watch);
    const unsigned char *page = NULL;
    uint32_t seen = 0;
    int samples = 0;
    for (long done = 0; !over && now_ns() < end; done++) {
        region(work_ns);
        if (!page) {
            page = done % 100 == 0 ? find_page() : NULL;
            seen = page ? word(page, ADOPTED_EPOCH) : 0;
            continue;
        }
        uint32_t before = word(page, SEQUENCE), adopted = word(page, ADOPTED_EPOCH), processors = word(page, COUNT);
        uint64_t decided_ns = time_at(page, DECIDED_NS), adopted_ns = time_at(page, ADOPTED_NS);
        bool whole = before % 2 == 0 && word(page, EPOCH) == adopted && word(page, SEQUENCE) == before;
        if (whole && adopted != seen && samples < MOST) {
            /* The epoch is written once per decision, so a pair of times that belong together is
             * read once. */
            seen = adopted;
            count[samples] = processors;
            at_ns[samples] = adopted_ns;
            latency_us[samples++] = ((double)adopted_ns - (double)decided_ns) / 1e3;
        }
    }
    printf("{\"name\":\"watch\",\"managed\":%s,\"samples\":[", page ? "true" : "false");
    for (int i = 0; i < samples; i++)
        printf("%s[%" PRIu32 ",%.2f,%" PRIu64 "]", i ? "," : "", count[i], latency_us[i], at_ns[i]);
    puts("],\"verification\":\"ok\"}");
    return EXIT_SUCCESS;
}

static int stay(int threads)
{
#pragma omp parallel num_threads(threads)
    {
        volatile unsigned long counter = 0;
        for (;;)
            counter++;
    }
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "empty") == 0)
        return empty(atol(argv[2]), atol(argv[3]));
    if (argc == 4 && strcmp(argv[1], "watch") == 0)
        return watch(atof(argv[2]), atof(argv[3]));
    if (argc == 3 && strcmp(argv[1], "stay") == 0)
        return stay(atoi(argv[2]));
    fputs("usage: regions empty BLOCKS REGIONS | watch SECONDS WORK_US | stay THREADS\n", stderr);
    return EXIT_FAILURE;
}
