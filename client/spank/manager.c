/* manager.c - asks the node's manager one question, with a deadline: a manager that hangs must not
 * delay a job. Knows nothing of Slurm. */
#include "manager.h"

#include "../src/trust.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 100

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

/* Waits until the socket is ready, or the deadline has passed. */
static bool ready(int fd, short events, long deadline)
{
    for (;;) {
        long left = deadline - now_ms();
        struct pollfd one = {.fd = fd, .events = events};
        int found = left > 0 ? poll(&one, 1, (int)left) : 0;
        if (found >= 0 || errno != EINTR)
            return found > 0;
    }
}

/* The text of the first string with this key, up to its end or `size`. Of an escape, the byte
 * behind the backslash stays. */
static void string_of(const char *json, const char *key, char *text, size_t size)
{
    const char *at = strstr(json, key);
    size_t length = 0;
    for (at = at ? at + strlen(key) : ""; *at && *at != '"' && length + 1 < size; at++) {
        if (*at == '\\' && at[1])
            at++;
        text[length++] = *at >= ' ' ? *at : '?';
    }
    text[length] = 0;
}

/* A socket whose peer has all of the line; -1: `errno` says why not. */
static int say(const char *directory, const char *line, size_t length)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int written = snprintf(to.sun_path, sizeof to.sun_path, "%s/control", directory);
    if (written < 0 || (size_t)written >= sizeof to.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    /* A line fits into the buffer of a new socket whole. The queue of a manager that hangs may be
     * full: then this fails at once. */
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0 || !nm_is_trusted(fd, to.sun_path) ||
        send(fd, line, length, MSG_NOSIGNAL) != (ssize_t)length) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

enum answer manager_ask(const char *directory, const char *line, size_t length, char *reason, size_t size)
{
    long deadline = now_ms() + PATIENCE_MS;
    int fd = say(directory, line, length);
    if (fd < 0) {
        bool hangs = errno == EAGAIN;
        snprintf(reason, size, "%s in %s: %s", hangs ? "the manager does not answer" : "there is no manager", directory,
                 strerror(errno));
        return hangs ? ANSWER_LATE : ANSWER_ABSENT;
    }
    char reply[2048];
    size_t have = 0;
    enum answer answer = ANSWER_LATE;
    snprintf(reason, size, "the manager in %s has not answered for %d ms", directory, PATIENCE_MS);
    while (have + 1 < sizeof reply && ready(fd, POLLIN, deadline)) {
        ssize_t got = recv(fd, reply + have, sizeof reply - 1 - have, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0) {
            answer = ANSWER_ABSENT;
            snprintf(reason, size, "the manager in %s has ended", directory);
            break;
        }
        have += (size_t)got;
        reply[have] = 0;
        if (!strchr(reply, '\n') && have + 1 < sizeof reply)
            continue;
        if (!strncmp(reply, "{\"reply\":\"done\"", 15)) {
            answer = ANSWER_DONE;
        } else {
            answer = ANSWER_REFUSED;
            string_of(reply, "\"reason\":\"", reason, size);
        }
        break;
    }
    close(fd);
    return answer;
}
