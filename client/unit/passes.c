/* passes.c - counts how often a held team is dissolved in a program whose folded regions alternate
 * with regions of one thread, with changes of the schedule, or with regions of another size.
 *
 *     passes alone|schedules|right|sizes MEMBERS REPETITIONS      a manager's part; starts itself as the program
 *
 * The program has one processor, so its teams are folded. Regions of one thread come in each form
 * that a program has for them: an `if` clause that is false, num_threads(1), combined constructs,
 * regions in regions. None of them may dissolve the team. A nested region of several threads does,
 * and the code around it must not notice. A schedule that sequential code sets does not dissolve
 * the team, and each member has it; one that members set ends with their region, and may. `right`
 * is `schedules` for libomp, whose team may be dissolved at any time. With `sizes` a team fits one
 * region only: nearly all are left to the kernel, from beginning to end. The code is 1 if the team
 * was opened more or fewer times, or if a result is wrong. PASSES_PRELOAD names the shim,
 * NUMAESTRO_ATTACH a path for the socket.
 */
#include "manager.h"

#include <omp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { NESTS_EVERY = 50, SETTLES_MOST = 4, SELDOM = 20 };

static long wrong;

static void expect(bool holds, const char *what)
{
    if (!holds && wrong++ < 5)
        fprintf(stderr, "passes: %s\n", what);
}

/* A region that is folded. */
static void whole(int members)
{
    int sum = 0;
#pragma omp parallel num_threads(members) reduction(+ : sum)
    {
        sum += omp_get_thread_num();
#pragma omp barrier
        sum += omp_get_num_threads();
    }
    expect(sum == members * (members - 1) / 2 + members * members, "the sum of a folded region");
}

static void is_alone(int level)
{
    expect(omp_get_num_threads() == 1 && omp_get_thread_num() == 0, "the team of a region of one thread");
    expect(omp_get_level() == level && omp_get_active_level() == 0 && !omp_in_parallel(), "the level in a region of one thread");
}

static void condition(int members, int no)
{
    int done = 0;
#pragma omp parallel num_threads(members) if (no)
    {
        is_alone(1);
#pragma omp barrier
#pragma omp single
        done++;
#pragma omp critical
        done++;
    }
    expect(done == 2, "a region whose if clause is false");
}

static void loop(int members, int no)
{
    long sum = 0;
#pragma omp parallel for schedule(dynamic, 3) num_threads(members) if (no) reduction(+ : sum)
    for (int i = 0; i < 20; i++)
        sum += i;
    expect(sum == 190, "a loop of one thread");
}

static void sections(void)
{
    int done = 0;
#pragma omp parallel sections num_threads(1)
    {
#pragma omp section
        done += 1;
#pragma omp section
        done += 10;
    }
    expect(done == 11, "sections of one thread");
}

static void nested(int no)
{
    int done = 0;
#pragma omp parallel num_threads(1)
    {
        is_alone(1);
#pragma omp parallel num_threads(2) if (no)
        {
            is_alone(2);
#pragma omp task shared(done)
            done++;
        }
        is_alone(1);
    }
    expect(done == 1, "a task in nested regions of one thread");
}

/* libgomp makes a real team here: a region of one thread is no active level. */
static void with_team(int no)
{
    int sum = 0;
#pragma omp parallel num_threads(4) if (no)
    {
        is_alone(1);
        omp_set_num_threads(3);
#pragma omp parallel reduction(+ : sum)
        sum += 10 + omp_get_thread_num() + 100 * omp_get_level();
        is_alone(1);
        expect(omp_get_max_threads() == 3, "the setting in a region of one thread");
#pragma omp barrier
    }
    expect(sum == 3 * 210 + 3, "a nested team");
    expect(omp_get_max_threads() == 5 && omp_get_level() == 0, "the settings after a region of one thread");
}

static int takes_turns(int i, int chunk, int size)
{
    return i / chunk % size;
}

/* Sequential code does not ask for the schedule: libomp would look at its team. */
static void schedules(int members, int repetitions)
{
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided};
    for (int r = 0; r < repetitions; r++) {
        int chunk = 1 + r % 7, others = 0, away = 0, done = 0;
        omp_sched_t kind = kinds[r % 3];
        omp_set_schedule(kind, chunk);
#pragma omp parallel num_threads(members) reduction(+ : others, away, done)
        {
            omp_sched_t now;
            int now_chunk;
            omp_get_schedule(&now, &now_chunk);
            others += now != kind || now_chunk != chunk;
#pragma omp for schedule(runtime)
            for (int i = 0; i < 100; i++) {
                done++;
                away += kind == omp_sched_static && takes_turns(i, chunk, members) != omp_get_thread_num();
            }
            if (r % NESTS_EVERY == NESTS_EVERY - 1)
                omp_set_schedule(omp_sched_guided, 50 + omp_get_thread_num());
        }
        expect(others == 0, "the schedule that members have");
        expect(done == 100 && away == 0, "who executes a loop");
    }
}

/* Regions of two sizes by turns, each with barriers. */
static void sizes(int members, int repetitions)
{
    for (int r = 0; r < repetitions; r++)
        whole(r % 2 ? members : members + 1);
}

static void alone(int members, int repetitions)
{
    int no = getenv("PASSES_NEVER") != NULL;
    omp_set_num_threads(5);
    for (int r = 0; r < repetitions; r++) {
        whole(members);
        switch (r % 5) {
        case 0: condition(members, no); break;
        case 1: loop(members, no); break;
        case 2: sections(); break;
        case 3: nested(no); break;
        default: condition(members, no), loop(members, no), nested(no); break;
        }
        if (r % NESTS_EVERY == NESTS_EVERY - 1)
            with_team(no);
    }
}

static int program(const char *what, int members, int repetitions)
{
    if (!strcmp(what, "alone"))
        alone(members, repetitions);
    else if (!strcmp(what, "sizes"))
        sizes(members, repetitions);
    else
        schedules(members, repetitions);
    usleep(200000); /* the helper thread writes the counts into the page */
    return wrong == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *path = getenv("NUMAESTRO_ATTACH"), *preload = getenv("PASSES_PRELOAD");
    int members = argc == 4 ? atoi(argv[2]) : 0, repetitions = argc == 4 ? atoi(argv[3]) : 0;
    if (members < 2 || repetitions < NESTS_EVERY || !path)
        return 2;
    if (!preload)
        return program(argv[1], members, repetitions);
    uint64_t set = processors(1);
    int listener = listen_at(path);
    if (listener < 0 || !set)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        unsetenv("PASSES_PRELOAD");
        setenv("LD_PRELOAD", preload, 1);
        setenv("GOMP_SPINCOUNT", "300089", 1);
        execv(argv[0], argv);
        _exit(127);
    }
    struct numaestro_page *page = NULL;
    int status;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        union packet packet;
        if (poll(&ready, 1, 5) <= 0)
            continue;
        int connection = accept(listener, NULL, NULL);
        if (recv(connection, &packet, sizeof packet, 0) == (ssize_t)sizeof packet.hello)
            page = hand_out(connection, 0, set, 10000);
        close(connection);
    }
    unlink(path);
    /* Each nested team dissolves the held one, and the settling of the first regions may, too. */
    uint32_t opened = page ? page->fold.opened : 0, least = (uint32_t)(repetitions / NESTS_EVERY), most = least + SETTLES_MOST;
    if (!strcmp(argv[1], "right"))
        least = 1, most = UINT32_MAX;
    if (!strcmp(argv[1], "sizes"))
        least = 1, most = (uint32_t)repetitions / SELDOM;
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && opened >= least && opened <= most;
    printf("%s passes %s: the team of %d was opened %u times in %d folded regions\n", good ? "ok" : "FAILED", argv[1], members,
           opened, repetitions);
    return good ? 0 : 1;
}
