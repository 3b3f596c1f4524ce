/* spank.c - the plugin of Slurm without Slurm: what --numaestro means, and the question to the
 * manager, with a manager of this file's own that answers, refuses, hangs or goes. */
#include "../spank/choice.h"
#include "../spank/manager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;

static void check(bool holds, const char *what)
{
    if (!holds) {
        printf("FAILED spank: %s\n", what);
        failures++;
    }
}

static void read_choices(void)
{
    struct choice c = {0};
    check(!choice_read(NULL, &c) && c.managed && c.asked && !c.malleable && !c.policy[0], "no value");
    check(!choice_read("on", &c) && c.managed && !c.policy[0], "on");
    check(!choice_read("off", &c) && !c.managed && c.asked, "off");
    check(!choice_read("dss", &c) && c.managed && !strcmp(c.policy, "dss") && !c.malleable, "a policy");
    check(!choice_read("share=dss placement=worst-fit", &c) && !strcmp(c.policy, "share=dss placement=worst-fit"),
          "a policy in parts");
    check(!choice_read("malleable:2-8", &c) && c.malleable && c.min == 2 && c.max == 8 && !c.policy[0], "a range");
    check(!choice_read("equi,malleable:4-4", &c) && c.malleable && c.min == 4 && c.max == 4 && !strcmp(c.policy, "equi"),
          "a policy and a range");
    static const char *const wrong[] = {"malleable:",      "malleable:2",       "malleable:0-2",     "malleable:3-2",
                                        "malleable:2-8x",  "malleable:-1-2",    "malleable:2-70000", "malleable: 2-8",
                                        "off,malleable:1-2", "a\"b",            "a\\b",              "a;b",
                                        "malleable:99999999999999999999-2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct choice kept = {.managed = true, .min = 77};
        if (!choice_read(wrong[i], &kept) || kept.min != 77) {
            printf("FAILED spank: `%s' is taken\n", wrong[i]);
            failures++;
        }
    }
    char longest[CHOICE_POLICY_MAX + 1];
    memset(longest, 'a', CHOICE_POLICY_MAX);
    longest[CHOICE_POLICY_MAX] = 0;
    check(choice_read(longest, &c) != NULL, "a policy that is too long");
    longest[CHOICE_POLICY_MAX - 1] = 0;
    check(!choice_read(longest, &c), "the longest policy");
    check(!choice_read("(null)", &c) && c.managed && !c.policy[0], "no value, as a step hears it");
}

static void write_requests(void)
{
    struct choice c = {0};
    struct step step = {.job = 12, .uid = 1000, .cpus = 4, .name = "batch"};
    char line[1024];
    choice_read(NULL, &c);
    size_t length = choice_request(&c, &step, line, sizeof line);
    check(length == strlen(line) && !strcmp(line, "{\"ask\":\"begin-step\",\"version\":1,\"job\":12,\"step\":\"batch\","
                                                  "\"uid\":1000,\"cpus\":4}\n"),
          "a request");
    choice_read("share=dss placement=worst-fit,malleable:2-8", &c);
    choice_request(&c, &step, line, sizeof line);
    check(strstr(line, ",\"policy\":\"share=dss placement=worst-fit\",\"malleable\":{\"min\":2,\"max\":8}}\n") != NULL,
          "a request with everything");
    check(choice_request(&c, &step, line, 40) == 0, "a request that does not fit");
}

/* A manager in a process of its own that answers one question so; NULL: it goes without a word. */
static pid_t manager(const char *directory, const char *answer, bool hangs)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s/control", directory);
    unlink(at.sun_path);
    int door = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(door, (struct sockaddr *)&at, sizeof at) != 0 || listen(door, 1) != 0)
        exit(2);
    pid_t child = fork();
    if (child == 0) {
        if (hangs)
            pause();
        int one = accept(door, NULL, NULL);
        char asked[1024];
        ssize_t got = recv(one, asked, sizeof asked, 0);
        if (got <= 0 || asked[got - 1] != '\n')
            _exit(1);
        /* In two parts, as a stream may come. */
        size_t length = answer ? strlen(answer) : 0, half = length / 2;
        if (answer && (send(one, answer, half, 0) < 0 || usleep(2000) || send(one, answer + half, length - half, 0) < 0))
            _exit(1);
        _exit(0);
    }
    close(door);
    return child;
}

static long ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

static enum answer ask(const char *directory, const char *answer, bool hangs, char *reason, size_t size)
{
    static const char line[] = "{\"ask\":\"begin-step\"}\n";
    pid_t child = manager(directory, answer, hangs);
    enum answer got = manager_ask(directory, line, sizeof line - 1, reason, size);
    if (hangs)
        kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return got;
}

static void ask_managers(void)
{
    char directory[] = "/tmp/numaestro-spank-XXXXXX", reason[256] = "", path[64];
    if (!mkdtemp(directory))
        exit(2);
    check(manager_ask(directory, "x\n", 2, reason, sizeof reason) == ANSWER_ABSENT && strstr(reason, "no manager"), "nobody");
    check(ask(directory, "{\"reply\":\"done\"}\n", false, reason, sizeof reason) == ANSWER_DONE, "a manager");
    check(ask(directory, "{\"reply\":\"refused\",\"reason\":\"no \\\"x\\\" here\",\"hint\":\"\"}\n", false, reason,
              sizeof reason) == ANSWER_REFUSED && !strcmp(reason, "no \"x\" here"),
          "a refusal");
    check(ask(directory, NULL, false, reason, sizeof reason) == ANSWER_ABSENT, "a manager that goes");
    long before = ms();
    check(ask(directory, NULL, true, reason, sizeof reason) == ANSWER_LATE && strstr(reason, "not answered"), "one that hangs");
    /* Generous: the machine may be busy. Without a deadline it never comes back. */
    check(ms() - before < 5000, "the deadline");
    if (getuid() == 0)
        check(chown(directory, 12345, 0) == 0 &&
                  ask(directory, "{\"reply\":\"done\"}\n", false, reason, sizeof reason) == ANSWER_ABSENT &&
                  strstr(reason, "Permission denied"),
              "a directory of somebody else");
    snprintf(path, sizeof path, "%s/control", directory);
    unlink(path);
    rmdir(directory);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    alarm(60);
    read_choices();
    write_requests();
    ask_managers();
    if (!failures)
        puts("ok spank: what the option means, and managers that answer, refuse, hang and go");
    return failures != 0;
}
