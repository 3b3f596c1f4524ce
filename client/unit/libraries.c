/* libraries.c - what the page says of the objects that own parallel regions.
 *
 *     libraries DIRECTORY      a manager's part; starts itself as the program, with COUNT libraries
 *
 * DIRECTORY has the libraries plugin-01.so and so on. The program has two threads and one
 * processor. LIBRARIES_PRELOAD names the shim, NUMAESTRO_ATTACH a path for the socket.
 */
#include "manager.h"

#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { COUNT = 15, PATIENCE_MS = 20000 };

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "FAILED libraries: %s%s%s\n", what, name ? ": " : "", name ? name : "");
    exit(1);
}

/* The program: opens a region in each library, one after the other, until it is ended. */
static _Noreturn void program(const char *directory)
{
    long long (*sum[COUNT])(int, int *);
    for (int i = 0; i < COUNT; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/plugin-%02d.so", directory, i + 1);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            fail(dlerror(), NULL);
        *(void **)&sum[i] = dlsym(library, "plugin_sum");
    }
    for (;;)
        for (int i = 0; i < COUNT; i++) {
            int team = 0;
            if (sum[i](1000, &team) != 999 * 500 || team != 2)
                fail("a wrong sum or team", NULL);
            usleep(1000);
        }
}

static pid_t start(char *self, char *directory, const char *rules)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("LD_PRELOAD", getenv("LIBRARIES_PRELOAD"), 1);
    setenv("NUMAESTRO_LIBRARIES", rules, 1);
    setenv("OMP_NUM_THREADS", "2", 1);
    execl(self, self, directory, "program", NULL);
    _exit(127);
}

/* The state of the row of that name; 0 if there is none. */
static uint64_t row_of(const struct numaestro_page *page, const char *name)
{
    for (unsigned i = 0; i < NM_LIBRARIES; i++) {
        char seen[sizeof page->libraries.rows[i].name + 1] = {0};
        memcpy(seen, (const void *)page->libraries.rows[i].name, sizeof page->libraries.rows[i].name);
        if (strcmp(seen, name) == 0)
            return page->libraries.rows[i].state;
    }
    return 0;
}

static unsigned used(const struct numaestro_page *page)
{
    unsigned count = 0;
    for (unsigned i = 0; i < NM_LIBRARIES; i++)
        count += page->libraries.rows[i].state != 0;
    return count;
}

static void expect(const struct numaestro_page *page, const char *name, unsigned how, unsigned why, unsigned threads)
{
    uint64_t state = row_of(page, name);
    if ((state & 0xff) == how && (state >> 8 & 0xff) == why && (state >> 32) == threads)
        return;
    fprintf(stderr, "%s is steered %u because %u, %u threads\n", name, (unsigned)state & 0xff, (unsigned)(state >> 8) & 0xff,
            (unsigned)(state >> 32));
    fail("it should be another way", name);
}

/* Runs the program with these rules until its table is full, and `check`s the page. */
static void try(int listener, char **argv, const char *rules, void (*check)(const struct numaestro_page *))
{
    pid_t child = start(argv[0], argv[1], rules);
    struct numaestro_page *page = NULL;
    for (uint64_t until = nm_now_ns() + PATIENCE_MS * 1000000ull; !page || !page->libraries.full;) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        union packet packet;
        if (poll(&ready, 1, 10) == 1) {
            int connection = accept(listener, NULL, NULL);
            if (recv(connection, &packet, sizeof packet, 0) == (ssize_t)sizeof packet.hello && !page)
                page = hand_out(connection, 0, processors(1), 10000);
            close(connection);
        } else if (page && page->root.regions > COUNT) {
            decide(page, 0, processors(1)); /* the flag and the rules without an object are told then */
        }
        if (nm_now_ns() > until || waitpid(child, NULL, WNOHANG) == child)
            fail("the table never filled up", rules);
    }
    usleep(100000);
    check(page);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    munmap(page, NM_PAGE_BYTES);
}

static void check_plain(const struct numaestro_page *page)
{
    if (used(page) != NM_LIBRARIES)
        fail("rows are missing", NULL);
    for (unsigned i = 0; i < NM_LIBRARIES; i++) {
        char name[16];
        snprintf(name, sizeof name, "plugin-%02u", i + 1);
        uint64_t how = row_of(page, name) & 0xff;
        if (how != NM_LIBRARY_USER && how != NM_LIBRARY_KERNEL)
            fail("a whole team on one processor is folded", name);
        if (row_of(page, name) >> 32 != 2)
            fail("it has two threads", name);
    }
}

static void check_rules(const struct numaestro_page *page)
{
    expect(page, "plugin-01", NM_LIBRARY_LEFT, NM_BECAUSE_USER, 2);
    expect(page, "plugin-02", NM_LIBRARY_LEFT, NM_BECAUSE_USER, 2);
    expect(page, "plugin-03", NM_LIBRARY_ANSWERED, NM_BECAUSE_USER, 2);
    expect(page, "libnothing", NM_LIBRARY_ABSENT, NM_BECAUSE_USER, 0);
}

int main(int argc, char **argv)
{
    if (argc == 3)
        program(argv[1]);
    int listener = argc == 2 ? listen_at(getenv("NUMAESTRO_ATTACH")) : -1;
    if (listener < 0)
        fail("usage: libraries DIRECTORY", NULL);
    try(listener, argv, "", check_plain);
    try(listener, argv, "plugin-01.*=leave,?lugin*2=leave,plugin*=answer,libnothing=leave,=set,x=eat", check_rules);
    puts("ok libraries: 13 of 15 have a row, and rules hold");
    return 0;
}
