/* unit.c - tests the parts of the client that need no manager: lists of PUs, the API without a
 * manager, moving threads.
 */
#include "../include/numaestro.h"
#include "manager.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failures;

static void expect(bool good, const char *what)
{
    if (good)
        return;
    failures++;
    printf("FAILED client: %s\n", what);
}

/* A thread that has no policy, or one of ours, takes the manager's memory policy over; no other
 * thread does. */
static void *memory_policies(void *arg)
{
    (void)arg;
    static const uint64_t node[NM_NODE_WORDS] = {1}, none[NM_NODE_WORDS] = {0};
    int mode = 0;
    if (syscall(SYS_get_mempolicy, &mode, NULL, 0ul, NULL, 0ul) != 0 || mode != 0)
        return NULL; /* not permitted here, or the tests run under a policy */
    enum { STATIC = 1 << 15, PREFERRED = 1, BIND = 2, INTERLEAVE = 3 };
    static const struct {
        uint32_t told;
        int found;
    } steps[] = {{NM_MEMORY_PREFERRED, PREFERRED | STATIC}, {NM_MEMORY_INTERLEAVE, INTERLEAVE | STATIC},
                 {NM_MEMORY_UNSAID, INTERLEAVE | STATIC}, {NM_MEMORY_FIRST_TOUCH, 0}, {77, 0}};
    errno = 4711;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        expect(nm_memory_told(steps[i].told, node), "a new word is news");
        expect(!nm_memory_told(steps[i].told, node), "the same word is not");
        nm_memory_follow();
        syscall(SYS_get_mempolicy, &mode, NULL, 0ul, NULL, 0ul);
        expect(mode == steps[i].found, "the policy is as told");
    }
    static const int own[] = {BIND, PREFERRED, INTERLEAVE, BIND | STATIC};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        syscall(SYS_set_mempolicy, own[i], node, NM_NODE_WORDS * 64ul + 1);
        nm_memory_told(NM_MEMORY_PREFERRED, node);
        nm_memory_follow();
        nm_memory_told(NM_MEMORY_FIRST_TOUCH, none);
        nm_memory_follow();
        syscall(SYS_get_mempolicy, &mode, NULL, 0ul, NULL, 0ul);
        expect(mode == own[i], "the program's own policy stays");
    }
    expect(errno == 4711, "errno is left alone");
    nm_memory_told(NM_MEMORY_UNSAID, none);
    return NULL;
}

static void lists(void)
{
    struct nm_cpuset set;
    expect(nm_cpuset_parse("0-3,8", &set) && set.words[0] == 0x10f, "0-3,8");
    expect(nm_cpuset_parse("64", &set) && set.words[0] == 0 && set.words[1] == 1, "64");
    expect(nm_cpuset_parse("8191", &set) && set.words[127] == 1ull << 63, "8191");
    static const char *const wrong[] = {"", "x", "3-1", "1-", "1,,2", "1 2", "8192", "0-9999999", "-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect(!nm_cpuset_parse(wrong[i], &set), wrong[i]);
}

static void without_manager(void)
{
    cpu_set_t own;
    sched_getaffinity(0, sizeof own, &own);
    errno = 4711;
    expect(numaestro_attach() == NUMAESTRO_E_UNMANAGED, "attach without a manager");
    expect(numaestro_processors() == CPU_COUNT(&own), "processors without a manager are those of the affinity mask");
    expect(numaestro_owned() == CPU_COUNT(&own), "they are the program's own");
    expect(numaestro_changed() == 0, "nothing changes without a manager");
    uint32_t seen = numaestro_wait_change(0, 0);
    uint64_t began = nm_now_ns();
    expect(numaestro_wait_change(seen, 20) == seen, "nothing is counted without a manager");
    expect(nm_now_ns() - began >= 20000000, "a wait takes its time");
    expect(numaestro_wait_change(seen + 1, 100000) == seen, "a wait for an older change ends at once");
    expect(numaestro_request(2) == NUMAESTRO_E_UNMANAGED, "request without a manager");
    expect(numaestro_request(-1) == NUMAESTRO_E_INVALID, "request of -1");
    expect(numaestro_request(65537) == NUMAESTRO_E_INVALID, "request of 65537");
    expect(numaestro_api_version() >> 16 == NUMAESTRO_API_VERSION >> 16, "version of header and library");
    expect(errno == 4711, "errno is left alone");
}

static int bits(const uint64_t *words, unsigned count)
{
    int bits = 0;
    for (unsigned i = 0; i < count; i++)
        bits += __builtin_popcountll(words[i]);
    return bits;
}

static void advice_without_manager(void)
{
    cpu_set_t own;
    sched_getaffinity(0, sizeof own, &own);
    struct numaestro_advice_query query = {.struct_size = sizeof query};
    struct numaestro_advice advice = {.struct_size = sizeof advice};
    errno = 4711;
    expect(numaestro_advise(NULL, &advice) == NUMAESTRO_OK, "advice without a manager");
    expect(advice.flags == NUMAESTRO_ADVICE_UNMANAGED && advice.struct_size == sizeof advice, "it says so");
    expect((int)advice.count == CPU_COUNT(&own) && (int)advice.threads == CPU_COUNT(&own), "as many as the affinity mask has");
    expect(memcmp(advice.cpus, &own, sizeof own) == 0, "exactly those of the affinity mask");
    expect(bits(advice.free, NUMAESTRO_ADVICE_CPU_WORDS) == 0, "nobody knows what is free");
    expect(advice.memory_free == UINT64_MAX && bits(advice.nodes, NUMAESTRO_ADVICE_NODE_WORDS) == 0, "nor of nodes");
    expect(strlen(advice.why) > 0 && strlen(advice.why) < sizeof advice.why, "why");
    query.processors = 1;
    expect(numaestro_advise(&query, &advice) == NUMAESTRO_OK && advice.count == 1, "one is wanted");
    expect(bits(advice.cpus, NUMAESTRO_ADVICE_CPU_WORDS) == 1, "one is named");

    /* Like a program that was built with a shorter structure. */
    memset(&advice, 0xaa, sizeof advice);
    advice.struct_size = 40;
    expect(numaestro_advise(NULL, &advice) == NUMAESTRO_OK && advice.struct_size == 40, "a short structure");
    for (size_t i = 40; i < sizeof advice; i++)
        expect(((unsigned char *)&advice)[i] == 0xaa, "nothing is written behind a short structure");
    advice.struct_size = sizeof advice;

    query = (struct numaestro_advice_query){.struct_size = sizeof query, .processors = 2, .min = 3};
    expect(numaestro_advise(&query, &advice) == NUMAESTRO_E_INVALID, "at least 3 of at most 2");
    query.min = query.processors = 65537;
    expect(numaestro_advise(&query, &advice) == NUMAESTRO_E_INVALID, "65537");
    query = (struct numaestro_advice_query){.struct_size = 8};
    expect(numaestro_advise(&query, &advice) == NUMAESTRO_E_INVALID, "a query that is too short");
    advice.struct_size = 8;
    expect(numaestro_advise(NULL, &advice) == NUMAESTRO_E_INVALID, "room for nothing");
    expect(numaestro_advise(NULL, NULL) == NUMAESTRO_E_INVALID, "no room at all");
    expect(errno == 4711, "errno is left alone by advice");
}

struct sleeper {
    pthread_t thread;
    _Atomic pid_t tid;
    _Atomic bool done;
};

static void *sleeper_main(void *arg)
{
    struct sleeper *sleeper = arg;
    sleeper->tid = (pid_t)syscall(SYS_gettid);
    while (!sleeper->done)
        usleep(1000);
    return NULL;
}

/* Every thread ends up on the one PU, and later all come back. */
static void moving(void)
{
    enum { SLEEPERS = 8 };
    static struct sleeper sleepers[SLEEPERS];
    struct nm_cpuset before = {{0}}, one = {{0}};
    syscall(SYS_sched_getaffinity, 0, sizeof before.words, before.words);
    unsigned word = 0;
    while (!before.words[word])
        word++;
    one.words[word] = before.words[word] & -before.words[word];
    for (int i = 0; i < SLEEPERS; i++)
        pthread_create(&sleepers[i].thread, NULL, sleeper_main, &sleepers[i]);
    for (int i = 0; i < SLEEPERS; i++)
        while (!sleepers[i].tid)
            usleep(100);
    const struct nm_cpuset *steps[] = {&one, &before};
    for (int step = 0; step < 2; step++) {
        nm_move_threads(steps[step]);
        for (int i = 0; i < SLEEPERS; i++) {
            struct nm_cpuset now = {{0}};
            syscall(SYS_sched_getaffinity, sleepers[i].tid, sizeof now.words, now.words);
            expect(memcmp(&now, steps[step], sizeof now) == 0, "a thread is where it was moved to");
        }
    }
    for (int i = 0; i < SLEEPERS; i++) {
        sleepers[i].done = true;
        pthread_join(sleepers[i].thread, NULL);
    }
}

/* The manager decides anew while a thread carries a decision out. */
static struct numaestro_page decided;
static uint64_t later;

static void decide_later(uint32_t count, uint32_t flags, bool root)
{
    (void)count;
    (void)flags;
    (void)root;
    if (later)
        decide(&decided, 0, later);
    later = 0;
}

/* A thread that has carried out a former decision carries out the present one, too. */
static void overtaken(void)
{
    cpu_set_t own, now;
    sched_getaffinity(0, sizeof own, &own);
    uint64_t all = processors(2), one = all & -all;
    if (all == one) {
        printf("skipped client a decision that is overtaken: one processor only\n");
        return;
    }
    nm_client.page = &decided;
    nm_client.attached = true;
    nm_hooks.after = decide_later;
    later = all;
    decide(&decided, 0, one);
    expect(nm_adopt(true), "a decision is carried out");
    sched_getaffinity(0, sizeof now, &now);
    expect(CPU_COUNT(&now) == 2 && nm_client.epoch == decided.manager.epoch, "the later decision is in force");
    nm_hooks.after = NULL;
    nm_client.attached = false;
    sched_setaffinity(0, sizeof own, &own);
}

int main(void)
{
    lists();
    without_manager();
    advice_without_manager();
    moving();
    pthread_t thread;
    pthread_create(&thread, NULL, memory_policies, NULL);
    pthread_join(thread, NULL);
    overtaken();
    if (!failures)
        printf("ok client: lists of PUs, the API and advice without a manager, moving threads, memory policies, overtaken decisions\n");
    return failures != 0;
}
