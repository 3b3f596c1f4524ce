/* ranks.c - a thread that only polls for messages of MPI sleeps between two polls, if its
 * processors could be lent; one that finds some, or does something else, never does.
 *
 *     ranks      a manager's part; starts itself as the rank: `lends`, `spins`, or `many`: lends as
 *                a rank of Open MPI, and not as one of MPICH, where many threads may call MPI
 *
 * RANKS_PRELOAD names the shim, NUMAESTRO_ATTACH a path for the socket. The libraries of MPI are
 * those of progress.c. A sleep shows in the number of times that a thread gave its processor away,
 * which other programs do not change.
 */
#include "manager.h"
#include "progress.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Seconds of each wait, and sleeps in it: one takes little more than 1 ms where nothing else
 * runs. */
#define WAIT 0.1
/* The same of a rank that yields at each poll, if others keep it from polling often. */
#define WAIT_BUSY 25
enum { MANY = 30, FEW = 3, PATIENCE_MS = 60000 };

static long sleeps(void)
{
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
}

static void expect(const char *what, bool many, long count)
{
    if (many ? count >= MANY : count <= FEW)
        return;
    fprintf(stderr, "FAILED ranks: %s: %ld sleeps, expected %s\n", what, count, many ? "many" : "none");
    exit(1);
}

/* Polls for so many seconds, with a message in every so many, and with so many nanoseconds of work
 * between two. */
static long open_mpi_for(double seconds, int message_every, double work)
{
    long before = sleeps();
    int polls = 0;
    for (double until = now() + seconds; now() < until; polls++) {
        open_pal_finds = message_every && polls % message_every == 0;
        errno = 77;
        if (opal_progress() != open_pal_finds || errno != 77) {
            fputs("FAILED ranks: the answer of Open MPI, or errno, is another one\n", stderr);
            exit(1);
        }
        look_around(work);
    }
    return sleeps() - before;
}

static long open_mpi(int message_every, double work)
{
    return open_mpi_for(WAIT, message_every, work);
}

static long open_mpi_that_yields(bool lends)
{
    long count = open_mpi(0, 0);
    return lends && count < MANY ? open_mpi_for(WAIT_BUSY, 0, 0) : count;
}

static void poll_in_vain(void)
{
    open_pal_finds = 0;
    opal_progress();
    open_pal_finds = 1;
}

/* Pieces of work of so many nanoseconds, and after each many polls at once. */
static long bursts(double work)
{
    long before = sleeps();
    open_pal_finds = 0;
    for (double until = now() + WAIT; now() < until;) {
        look_around(work);
        for (int i = 0; i < 100; i++)
            opal_progress();
    }
    return sleeps() - before;
}

/* A wait in vain, after some messages. */
static long mpich(void)
{
    ucp_finds = 3;
    unsigned long found = mpich_wait(0.001);
    ucp_finds = 0;
    long before = sleeps();
    if (found == 0 || found % 3 != 0 || mpich_wait(WAIT) != 0) {
        fputs("FAILED ranks: the answer of UCX is another one\n", stderr);
        exit(1);
    }
    return sleeps() - before;
}

static long ucx(void)
{
    long before = sleeps();
    for (double until = now() + WAIT; now() < until;)
        ucp_worker_progress(NULL);
    return sleeps() - before;
}

static int rank(bool lends)
{
    /* MPI_Init. */
    if (!opal_progress_set_yield_when_idle(false) || opal_progress_set_yield_when_idle(false))
        return 1;
    expect("Open MPI without a manager", false, open_mpi(0, 0));
    expect("MPICH without a manager", false, mpich());
#pragma omp parallel num_threads(2)
    sched_yield();
    expect("Open MPI, nothing comes", lends, open_mpi(0, 0));
    expect("Open MPI, some messages come", false, open_mpi(100, 0));
    expect("Open MPI, work between two polls", false, open_mpi(0, 10000));
    expect("Open MPI, short work between two polls", false, open_mpi(0, 1500));
    expect("Open MPI, work, and then many polls", false, bursts(1e6));
    expect("Open MPI, short work, and then many polls", false, bursts(3000));
    if (opal_progress_set_yield_when_idle(true))
        return 1;
    expect("Open MPI, where ranks are to yield", lends, open_mpi_that_yields(lends));
    long inside = 0;
#pragma omp parallel num_threads(2)
#pragma omp master
    inside = open_mpi(0, 0);
    expect("Open MPI, inside a region", false, inside);
    open_pal_reads = 5000;
    expect("Open MPI, messages of which it does not say", false, open_mpi(0, 0));
    open_pal_reads = 0;
    open_pal_calls = poll_in_vain;
    expect("Open MPI, messages with functions that poll", false, open_mpi(1, 0));
    open_pal_calls = NULL;
    expect("MPICH, nothing comes", lends && mpich_level < 3, mpich());
    if (mpich_level == 3)
        return 0;
    for (int i = 0; i < 20; i++) {
        look_around(1e6);
        mpich_wait(0.001);
    }
    long before = sleeps();
    mpich_wait(WAIT);
    expect("MPICH, after many waits that UCX has not ended", false, sleeps() - before);
    ucp_finds = 3;
    if (ucp_worker_progress(NULL) != 3)
        return 1;
    before = sleeps();
    mpich_wait(WAIT);
    expect("MPICH, messages come", false, sleeps() - before);
    ucp_finds = 0;
    expect("UCX without MPI", false, ucx());
    return 0;
}

static uint64_t some_processors(void)
{
    cpu_set_t all;
    uint64_t set = 0;
    sched_getaffinity(0, sizeof all, &all);
    for (int i = 0; i < 64; i++)
        set |= CPU_ISSET(i, &all) ? 1ull << i : 0;
    return set;
}

/* Runs the rank under these rules, and a manager with this decision; others lack processors
 * up to `wanted_until`. */
static void try(int listener, char *self, const char *rules, uint32_t flags, uint64_t wanted_until, const char *lends)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("LD_PRELOAD", getenv("RANKS_PRELOAD"), 1);
        setenv("NUMAESTRO_LIBRARIES", rules, 1);
        execl(self, self, lends, NULL);
        _exit(127);
    }
    bool attached = false;
    int status;
    for (uint64_t until = nm_now_ns() + PATIENCE_MS * 1000000ull; waitpid(child, &status, WNOHANG) == 0;) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        union packet packet;
        if (poll(&ready, 1, 10) == 1) {
            int connection = accept(listener, NULL, NULL);
            if (recv(connection, &packet, sizeof packet, 0) == (ssize_t)sizeof packet.hello && !attached) {
                struct numaestro_page *page = hand_out(connection, flags, some_processors(), 10000);
                attached = page != NULL;
                if (attached)
                    page->manager.wanted_until_ns = wanted_until;
            }
            close(connection);
        }
        if (nm_now_ns() > until)
            kill(child, SIGKILL);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && attached)
        return;
    fprintf(stderr, "FAILED ranks: rules `%s`, flags %u: status %d%s\n", rules, flags, status, attached ? "" : ", never attached");
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        mpich_level = strcmp(argv[1], "many") == 0 ? 3 : 1;
        return rank(strcmp(argv[1], "spins") != 0);
    }
    int listener = listen_at(getenv("NUMAESTRO_ATTACH"));
    if (listener < 0)
        return 1;
    try(listener, argv[0], "", 0, UINT64_MAX, "lends");
    try(listener, argv[0], "", 0, UINT64_MAX, "many");
    try(listener, argv[0], "", 0, nm_now_ns(), "spins");
    try(listener, argv[0], "", NM_FLAG_RELEASED, UINT64_MAX, "spins");
    try(listener, argv[0], "libopen-pal=leave,libmpich=leave", 0, UINT64_MAX, "spins");
    puts("ok ranks: they sleep while they wait, and only then");
    return 0;
}
