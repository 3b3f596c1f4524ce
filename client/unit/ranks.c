/* ranks.c - a thread that only polls for messages of MPI sleeps between two polls, if its
 * processors could be lent; one that finds some, or does something else, never does. The same holds
 * on other machines: the rank sees a clock that runs faster or slower, or is slow to read, polls
 * that take longer, caches that are cold after each sleep, and a program that computes where it
 * sleeps.
 *
 *     ranks      a manager's part; starts itself as the rank: `ranks HOW MACHINE`, where HOW is
 *                `lends`, `spins`, or `many`: lends as a rank of Open MPI, and not as one of MPICH,
 *                where many threads may call MPI
 *
 * RANKS_PRELOAD names the shim, NUMAESTRO_ATTACH a path for the socket. The libraries of MPI are
 * those of progress.c. A sleep shows in the number of times that a thread gave its processor away,
 * which other programs do not change. Work is counted in pieces that take as long as this processor
 * needs, so no limit here is a time.
 */
#include "manager.h"
#include "progress.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Seconds in which a rank that must not sleep does not, and in which one that may must have done it
 * often: the other time is for busy machines only. */
#define WAIT 0.1
#define WAIT_MOST 25
/* Seconds between two polls: it has slept, or another program has run. */
#define SLEPT 3e-5
enum { MANY = 30, FEW = 3, PATIENCE_MS = 60000 };

/* What the rank sees. */
static const struct machine {
    const char *name;
    double runs;    /* its clock, against the real one */
    int reading;    /* system calls for each reading of the clock */
    int takes;      /* pieces of work at each poll */
    int least_work; /* pieces of work that must show: only longer ones do if the clock is slow */
    bool cold;      /* caches, after each sleep */
    bool hog;       /* another program computes where it sleeps */
} machines[] = {
    {"this machine", 1, 0, 0, 7, false, false},
    {"a clock that runs at a quarter", 0.25, 0, 0, 7, false, false},
    {"a clock that runs at a half", 0.5, 0, 0, 7, false, false},
    {"a clock that runs twice as fast", 2, 0, 0, 7, false, false},
    {"a clock that runs four times as fast", 4, 0, 0, 7, false, false},
    {"a clock that runs eight times as fast", 8, 0, 0, 7, false, false},
    {"a clock that is slow to read", 1, 10, 0, 50, false, false},
    {"slow polls", 1, 0, 4, 7, false, false},
    {"very slow polls", 1, 0, 32, 7, false, false},
    {"cold caches", 1, 0, 0, 7, true, false},
    {"cold caches, and polls and a clock that are slow", 2, 3, 4, 25, true, false},
    {"a program that computes where it sleeps", 1, 0, 0, 7, false, true},
};
enum { MACHINES = sizeof machines / sizeof *machines };
static const struct machine *machine = machines;

/* The shim's clock, and everybody's. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*_Atomic real)(clockid_t, struct timespec *);
    static _Atomic uint64_t began;
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (clock != CLOCK_MONOTONIC || machine == machines || result != 0)
        return result;
    for (int i = 0; i < machine->reading; i++)
        syscall(SYS_gettid);
    uint64_t ns = (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec, none = 0;
    atomic_compare_exchange_strong(&began, &none, ns);
    ns = began + (uint64_t)((double)(ns - began) * machine->runs);
    *time = (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return 0;
}

static long sleeps(void)
{
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
}

/* Runs pieces of a wait until there was time for sleeps. Where a reading of the clock takes longer
 * than short work, a rank cannot tell the two apart: it must not sleep in vain, and need not sleep.
 * */
static void expect_of(const char *what, bool many, void (*piece)(int), int value)
{
    if (many && machine->reading > 0) {
        piece(value);
        return;
    }
    long before = sleeps(), count = 0;
    double began = now();
    for (double passed = 0; passed < (many && count < MANY ? WAIT_MOST : WAIT); passed = now() - began) {
        piece(value);
        count = sleeps() - before;
    }
    if (many ? count >= MANY : count <= FEW)
        return;
    fprintf(stderr, "FAILED ranks: %s: %ld sleeps, expected %s, on %s\n", what, count, many ? "many" : "none", machine->name);
    exit(1);
}

/* Polls for a while, with a message in every `message_every`, and so many pieces of work between
 * two. */
static void poll_open_mpi(int message_every, int pieces)
{
    int polls = 0;
    double latest = now();
    for (double until = latest + WAIT / 4; latest < until; polls++) {
        open_pal_finds = message_every && polls % message_every == 0;
        errno = 77;
        if (opal_progress() != open_pal_finds || errno != 77) {
            fputs("FAILED ranks: the answer of Open MPI, or errno, is another one\n", stderr);
            exit(1);
        }
        work(pieces);
        double before = latest;
        latest = now();
        if (machine->cold && latest - before > SLEPT) {
            open_pal_cold = 2;
            work(machine->least_work);
        }
    }
}

static void end_wait(void)
{
    open_pal_finds = 1;
    opal_progress();
    open_pal_finds = 0;
}

static void open_mpi(int message_every)
{
    poll_open_mpi(message_every, 0);
}

static void open_mpi_with_work(int pieces)
{
    poll_open_mpi(0, pieces);
}

static void open_mpi_that_reads(int socket)
{
    for (double until = now() + WAIT / 4; now() < until;) {
        if (write(socket, "", 1) != 1)
            exit(1);
        for (int i = 0; i < 100; i++)
            opal_progress();
    }
}

/* Many polls at once after each so many pieces of work. */
static void bursts(int pieces)
{
    open_pal_finds = 0;
    for (double until = now() + WAIT / 4; now() < until;) {
        work(pieces);
        for (int i = 0; i < 100; i++)
            opal_progress();
    }
}

/* The meeting at the region's end does not count: the runtime may sleep there. */
static void expect_inside_region(void)
{
#pragma omp parallel num_threads(2)
#pragma omp master
    expect_of("Open MPI, inside a region", false, open_mpi, 0);
}

static void poll_in_vain(void)
{
    open_pal_finds = 0;
    opal_progress();
    open_pal_finds = 1;
}

static void mpich(int value)
{
    (void)value;
    if (mpich_wait(WAIT / 4) != 0 && ucp_finds == 0) {
        fputs("FAILED ranks: the answer of UCX is another one\n", stderr);
        exit(1);
    }
}

/* Some messages come, so UCX is where this rank's come from. */
static void hear_mpich(void)
{
    ucp_finds = 3;
    unsigned long found = mpich_wait(0.001);
    ucp_finds = 0;
    if (found == 0 || found % 3 != 0) {
        fputs("FAILED ranks: UCX has found another number\n", stderr);
        exit(1);
    }
}

static void ucx(int value)
{
    (void)value;
    for (double until = now() + WAIT / 4; now() < until;)
        ucp_worker_progress(NULL);
}

/* What must hold on every machine. */
static void anywhere(bool lends)
{
    int least = machine->least_work;
    expect_of("Open MPI, nothing comes", lends, open_mpi, 0);
    expect_of("Open MPI, some messages come", false, open_mpi, 100);
    expect_of("Open MPI, work between two polls", false, open_mpi_with_work, 7 * least);
    expect_of("Open MPI, short work between two polls", false, open_mpi_with_work, least);
    expect_of("Open MPI, work, and then many polls", false, bursts, 700 * least);
    expect_of("Open MPI, short work, and then many polls", false, bursts, 2 * least + 20 * machine->takes);
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        exit(1);
    open_pal_socket = sockets[0];
    expect_of("Open MPI over TCP, nothing comes", lends, open_mpi, 0);
    end_wait();
    expect_of("Open MPI over TCP, messages of which it does not say", false, open_mpi_that_reads, sockets[1]);
    open_pal_socket = -1;
    hear_mpich();
    expect_of("MPICH, nothing comes", lends && mpich_level < 3, mpich, 0);
}

static int rank(bool lends)
{
    /* MPI_Init. */
    if (!opal_progress_set_yield_when_idle(false) || opal_progress_set_yield_when_idle(false))
        return 1;
    open_pal_takes = machine->takes;
    expect_of("Open MPI without a manager", false, open_mpi, 0);
    hear_mpich();
    expect_of("MPICH without a manager", false, mpich, 0);
#pragma omp parallel num_threads(2)
    sched_yield();
    anywhere(lends);
    if (machine != machines)
        return 0;
    if (opal_progress_set_yield_when_idle(true))
        return 1;
    expect_of("Open MPI, where ranks are to yield", lends, open_mpi, 0);
    expect_inside_region();
    open_pal_calls = poll_in_vain;
    expect_of("Open MPI, messages with functions that poll", false, open_mpi, 1);
    open_pal_calls = NULL;
    if (mpich_level == 3)
        return 0;
    double began = now();
    /* A wait in which others run may end without a sleep. */
    for (int slept = 0; lends && slept < MANY;) {
        long before = sleeps();
        work(5000);
        mpich_wait(0.001);
        slept += sleeps() > before;
        if (now() - began > WAIT_MOST)
            break;
    }
    expect_of("MPICH, after many waits that UCX has not ended", false, mpich, 0);
    ucp_finds = 3;
    if (ucp_worker_progress(NULL) != 3)
        return 1;
    expect_of("MPICH, messages come", false, mpich, 0);
    ucp_finds = 0;
    expect_of("UCX without MPI", false, ucx, 0);
    return 0;
}

/* A program that computes on this processor whenever nobody else does. */
static pid_t hog(uint64_t set)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(__builtin_ctzll(set), &one);
    struct sched_param none = {0};
    if (sched_setaffinity(0, sizeof one, &one) != 0 || sched_setscheduler(0, SCHED_IDLE, &none) != 0)
        _exit(1);
    for (;;)
        work(1000);
}

/* Runs the rank on this machine under these rules, and a manager with this decision; others lack
 * processors up to `wanted_until`. */
static void try(int listener, char *self, int on, const char *rules, uint32_t flags, uint64_t wanted_until, const char *how)
{
    uint64_t set = processors(64);
    if (machines[on].hog)
        set &= -set;
    pid_t beside = machines[on].hog ? hog(set) : 0, child = fork();
    if (child == 0) {
        char number[12];
        snprintf(number, sizeof number, "%d", on);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("LD_PRELOAD", getenv("RANKS_PRELOAD"), 1);
        setenv("NUMAESTRO_LIBRARIES", rules, 1);
        execl(self, self, how, number, NULL);
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
                struct numaestro_page *page = hand_out(connection, flags, set, 10000);
                attached = page != NULL;
                if (attached)
                    page->manager.wanted_until_ns = wanted_until;
            }
            close(connection);
        }
        if (nm_now_ns() > until)
            kill(child, SIGKILL);
    }
    if (beside > 0) {
        kill(beside, SIGKILL);
        waitpid(beside, NULL, 0);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && attached)
        return;
    fprintf(stderr, "FAILED ranks: rules `%s`, flags %u, %s: status %d%s\n", rules, flags, machines[on].name, status,
            attached ? "" : ", never attached");
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        mpich_level = strcmp(argv[1], "many") == 0 ? 3 : 1;
        machine = &machines[atoi(argv[2]) % MACHINES];
        return rank(strcmp(argv[1], "spins") != 0);
    }
    int listener = listen_at(getenv("NUMAESTRO_ATTACH"));
    if (listener < 0)
        return 1;
    for (int on = 0; on < MACHINES; on++)
        try(listener, argv[0], on, "", 0, UINT64_MAX, "lends");
    try(listener, argv[0], 0, "", 0, UINT64_MAX, "many");
    try(listener, argv[0], 0, "", 0, nm_now_ns(), "spins");
    try(listener, argv[0], 0, "", NM_FLAG_RELEASED, UINT64_MAX, "spins");
    try(listener, argv[0], 0, "libopen-pal=leave,libmpich=leave", 0, UINT64_MAX, "spins");
    printf("ok ranks: they sleep while they wait, and only then, on this machine and as on %d others\n", MACHINES - 1);
    return 0;
}
