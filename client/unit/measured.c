/* measured.c - runs a program under the shim on processors of its own, asks for measuring, and
 * prints the program's reports.
 *
 *     measured FLAGS SET[:MILLISECONDS:SET...] PROGRAM [ARGUMENT...]
 *
 * FLAGS are those of the page, SET is a bit mask of processors; after MILLISECONDS the next one is
 * decided. Each result is a line on standard output: milliseconds since the program attached,
 * processors, speedup in thousandths. The last line is "page" with the values of the page's
 * analyzer line. The program's own output goes to standard error.
 */
#include "manager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static struct numaestro_page *page;
static uint64_t attached_ns;

static void served(int listener, uint32_t flags, uint64_t set)
{
    union packet packet;
    int connection = accept(listener, NULL, NULL);
    ssize_t got = recv(connection, &packet, sizeof packet, 0);
    if (got == (ssize_t)sizeof packet.hello) {
        page = hand_out(connection, flags, set, 10000);
        attached_ns = nm_now_ns();
    } else if (got == (ssize_t)sizeof packet.notice && packet.notice.kind == NM_SPEEDUP) {
        printf("%llu %u %u\n", (unsigned long long)((nm_now_ns() - attached_ns) / 1000000), packet.notice.value,
               packet.notice.second);
    }
    close(connection);
}

int main(int argc, char **argv)
{
    const char *path = getenv("NUMAESTRO_ATTACH");
    if (argc < 4 || !path)
        return 2;
    int listener = listen_at(path);
    uint32_t flags = (uint32_t)strtoul(argv[1], NULL, 0);
    char *steps = argv[2];
    uint64_t set = strtoull(steps, &steps, 0), next_ms = UINT64_MAX;
    if (*steps == ':')
        next_ms = strtoull(steps + 1, &steps, 0);
    pid_t child = fork();
    if (child == 0) {
        /* Only the manager's lines go to standard output. */
        dup2(STDERR_FILENO, STDOUT_FILENO);
        setenv("LD_PRELOAD", getenv("MEASURED_PRELOAD"), 1);
        setenv("GOMP_SPINCOUNT", "300089", 1);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        if (poll(&ready, 1, 5) > 0)
            served(listener, flags, set);
        if (page && *steps == ':' && (nm_now_ns() - attached_ns) / 1000000 >= next_ms) {
            set = strtoull(steps + 1, &steps, 0);
            decide(page, flags, set);
            next_ms = *steps == ':' ? next_ms + strtoull(steps + 1, &steps, 0) : UINT64_MAX;
        }
    }
    if (page) {
        const struct nm_analyzer_line *line = &page->analyzer;
        printf("page processors=%u speedup=%u iteration_ns=%llu samples=%u share=%u stretch=%u results=%u cost_ns=%llu\n",
               line->processors, line->speedup_milli, (unsigned long long)line->iteration_ns, line->samples, line->share_milli,
               line->stretch_milli, line->results, (unsigned long long)line->cost_ns);
    }
    unlink(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
