/* change.c - measures how long it takes in the middle of a long region until a team runs on as many
 * processors as the manager decided.
 *
 *     change SECONDS MEMBERS MICROSECONDS SEED      a manager's part; starts itself as the program
 *
 * The program runs regions of 30 ms with a barrier after every MICROSECONDS of work. They begin and
 * end folded or not. At each barrier the members say which kernel threads they are on: a change has
 * been adopted when these are as many as the processors. The next decision comes 5 to 15 ms later.
 * One line tells how long adoption took; the code is 1 if a decision was never adopted, the program
 * did not end, or a barrier or the beginning of a region changed errno. CHANGE_PRELOAD names the
 * shim, NUMAESTRO_ATTACH a path for the socket.
 */
#include "../fold/kernel.h"
#include "manager.h"

#include <errno.h>
#include <omp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { MEMBERS_MOST = 64, EVENTS_MOST = 1 << 16, PATIENCE_MS = 2000, REGION_MS = 30 };

/* Written by the program: when the number of its kernel threads changed, and to which. */
static struct told {
    _Atomic uint32_t count;
    _Atomic bool over;
    _Atomic uint32_t errnos; /* values of errno that the member had not set */
    struct {
        uint64_t ns;
        uint32_t carriers;
    } event[EVENTS_MOST];
} *told;

static struct {
    int tid;
    char rest[60];
} on[MEMBERS_MOST];

static void note_carriers(int members)
{
    static uint32_t before;
    uint32_t carriers = 0;
    for (int i = 0; i < members; i++) {
        bool known = false;
        for (int k = 0; k < i; k++)
            known = known || on[k].tid == on[i].tid;
        carriers += !known;
    }
    if (carriers == before || told->count == EVENTS_MOST)
        return;
    before = carriers;
    told->event[told->count].ns = nm_now_ns();
    told->event[told->count].carriers = carriers;
    told->count++;
}

static void region(int members, uint64_t work_ns)
{
    static bool over, odd;
    uint64_t end_ns = nm_now_ns() + REGION_MS * 1000000ull;
    over = false;
    odd = !odd; /* members come to the end in another order */
    errno = 99;
#pragma omp parallel num_threads(members)
    {
        int me = omp_get_thread_num();
        if (me == 0 && errno != 99)
            told->errnos++;
        while (!over) {
            errno = 100 + me;
            for (uint64_t until = nm_now_ns() + work_ns; nm_now_ns() < until;) {
            }
            on[me].tid = (int)nm_raw(SYS_gettid, 0, 0, 0, 0); /* the C library's names the context's own thread */
#pragma omp barrier
            if (me == 0) {
                over = told->over || nm_now_ns() > end_ns;
                note_carriers(members);
            }
#pragma omp barrier
            if (errno != 100 + me)
                told->errnos++;
        }
        if (odd) {
#pragma omp barrier
        }
    }
    if (errno != 100)
        told->errnos++;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Receives every message of the program, as a manager does. */
static struct numaestro_page *listen_for(int listener, int ms, uint64_t set)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    union packet packet;
    struct numaestro_page *page = NULL;
    while (poll(&ready, 1, ms) == 1) {
        int connection = accept(listener, NULL, NULL);
        if (recv(connection, &packet, sizeof packet, 0) == (ssize_t)sizeof packet.hello && set)
            page = hand_out(connection, 0, set, 10000);
        close(connection);
        if (page)
            break;
    }
    return page;
}

/* Milliseconds until the program ran on `carriers` processors; -1 if that took too long. */
static double adopted_ms(int listener, uint32_t *seen, uint64_t since_ns, uint32_t carriers)
{
    for (uint64_t until = since_ns + PATIENCE_MS * 1000000ull; nm_now_ns() < until;) {
        for (; *seen < told->count; ++*seen)
            if (told->event[*seen].ns >= since_ns && told->event[*seen].carriers == carriers)
                return (double)(told->event[*seen].ns - since_ns) * 1e-6;
        listen_for(listener, 1, 0);
    }
    return -1;
}

int main(int argc, char **argv)
{
    if (argc == 4 && getenv("CHANGE_TOLD")) {
        told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(getenv("CHANGE_TOLD")), 0);
        while (told != MAP_FAILED && !told->over)
            region(atoi(argv[1]), (uint64_t)atol(argv[2]));
        return told == MAP_FAILED ? 2 : 0;
    }
    const char *path = getenv("NUMAESTRO_ATTACH"), *preload = getenv("CHANGE_PRELOAD");
    uint64_t two = processors(2), one = processors(1);
    int members = argc == 5 ? atoi(argv[2]) : 0;
    if (members < 2 || members > MEMBERS_MOST || !path || !preload)
        return 2;
    if (two == one) {
        puts("skipped change: one processor only");
        return 0;
    }
    unsigned dice = (unsigned)atoi(argv[4]);
    /* On one processor the members work in turn. */
    char work[32], number[16];
    snprintf(work, sizeof work, "%ld", atol(argv[3]) * 1000 * 2 / members);
    int shared = memfd_create("told", 0), listener = listen_at(path);
    if (shared < 0 || ftruncate(shared, sizeof *told) != 0 || listener < 0)
        return 2;
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    pid_t child = fork();
    if (child == 0) {
        snprintf(number, sizeof number, "%d", shared);
        setenv("CHANGE_TOLD", number, 1);
        setenv("LD_PRELOAD", preload, 1);
        setenv("GOMP_SPINCOUNT", "300089", 1);
        execl(argv[0], argv[0], argv[2], work, "program", NULL);
        _exit(127);
    }
    struct numaestro_page *page = listen_for(listener, 10000, two);
    static double took[EVENTS_MOST];
    uint32_t seen = 0, count = 0, lost = 0;
    uint64_t end_ns = nm_now_ns() + (uint64_t)atoi(argv[1]) * 1000000000u;
    if (page)
        usleep(200000);
    /* The region ends while its team is folded. */
    for (bool narrow = true; page && (nm_now_ns() < end_ns || narrow) && count < EVENTS_MOST && lost == 0; narrow = !narrow) {
        dice = dice * 1664525u + 1013904223u;
        usleep(5000 + (dice >> 16) % 10000);
        decide(page, 0, narrow ? one : two);
        double ms = adopted_ms(listener, &seen, page->manager.decided_ns, narrow ? 1 : 2);
        if (ms < 0)
            lost++;
        else
            took[count++] = ms;
    }
    told->over = true;
    int status = 0;
    for (int waited = 0; waitpid(child, &status, WNOHANG) == 0; waited++) {
        if (waited == 2000)
            kill(child, SIGKILL);
        usleep(5000);
    }
    qsort(took, count, sizeof *took, by_size);
    bool good = page && count > 0 && lost == 0 && told->errnos == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    printf("%s change: %u of %u decisions adopted by a team of %d", good ? "ok" : "FAILED", count, count + lost, members);
    if (count > 0)
        printf("; median %.3f ms, p99 %.3f ms, most %.3f ms", took[count / 2], took[count * 99 / 100], took[count - 1]);
    if (told->errnos > 0)
        printf("; errno was wrong %u times", told->errnos);
    puts("");
    return good ? 0 : 1;
}
