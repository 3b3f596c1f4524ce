/* vps.h - the common part of the tests of virtual processors: a manager in a process of its own, so
 * that it can die, which records all messages; and functions to wait and to fail. The test itself
 * writes decisions, into the page that it shares with that process.
 *
 * Processors that the machine does not have are only numbers here: binding to them fails, and
 * nothing depends on it.
 */
#ifndef UNIT_VPS_H
#define UNIT_VPS_H

#include "../include/numaestro.h"
#include "../src/vp.h"
#include "manager.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define GRACE_US 200000u /* long: a machine that runs the tests is busy */

struct said {
    _Atomic uint32_t count[8], value[8], second[8];
};
static struct said *said;
static pid_t manager_pid;

static inline void expect_at(bool good, const char *what, int line)
{
    if (good)
        return;
    printf("FAILED vp: line %d: %s\n", line, what);
    fflush(stdout);
    kill(manager_pid, SIGKILL);
    _exit(1);
}
#define expect(condition) expect_at(condition, #condition, __LINE__)

/* True if the condition holds within 20 seconds. */
#define comes(condition)                                                      \
    do {                                                                      \
        uint64_t until_ = nm_now_ns() + 20000000000ull;                       \
        while (!(condition) && nm_now_ns() < until_)                          \
            usleep(500);                                                      \
        expect(condition);                                                    \
    } while (0)

static inline void manage(int listener, uint64_t set)
{
    for (;;) {
        union packet packet;
        int connection = accept(listener, NULL, NULL);
        ssize_t got = recv(connection, &packet, sizeof packet, 0);
        if (got == (ssize_t)sizeof packet.hello) {
            said->value[NM_HELLO] = packet.hello.runtimes;
            if (!hand_out(connection, 0, set, GRACE_US))
                _exit(1);
        } else if (got == (ssize_t)sizeof packet.notice && packet.notice.kind < 8) {
            said->value[packet.notice.kind] = packet.notice.value;
            said->second[packet.notice.kind] = packet.notice.second;
            said->count[packet.notice.kind]++;
        }
        close(connection);
    }
}

static inline void start_manager(uint64_t set)
{
    int listener = listen_at(getenv("NUMAESTRO_ATTACH"));
    expect(listener >= 0);
    memset(said, 0, sizeof *said);
    manager_pid = fork();
    if (manager_pid == 0)
        manage(listener, set);
    close(listener);
}

static inline void kill_manager(void)
{
    kill(manager_pid, SIGKILL);
    waitpid(manager_pid, NULL, 0);
    unlink(getenv("NUMAESTRO_ATTACH"));
}

static inline bool in_force(void)
{
    return nm_client.page->helper.adopted_epoch == nm_client.page->manager.epoch;
}

/* Memory that the manager's process shares; to be called first. */
static inline void begin(void)
{
    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* The first time the program attaches; later the helper does, when it sees another manager. */
static inline void attach(uint64_t set)
{
    start_manager(set);
    expect(nm_client.attached || numaestro_attach() == NUMAESTRO_OK);
    comes(nm_client.page->header.manager_pid == (uint32_t)manager_pid && in_force());
}

#endif
