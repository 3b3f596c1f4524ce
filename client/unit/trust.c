/* trust.c - whom a program believes to be its manager. Other users are processes of this test, for
 * which it must be root; user namespaces are made with the users that a container would have.
 */
#include "manager.h"
#include "../src/trust.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SOMEBODY 12345
#define STRANGER 12346

static int failures;
static char socket_path[100];

static void expect(bool holds, const char *what)
{
    if (!holds) {
        printf("FAILED trust: %s\n", what);
        failures++;
    }
}

static void become(uid_t user)
{
    if (user != 0 && (setgid(user) != 0 || setuid(user) != 0))
        _exit(99);
}

/* Listens as a user, and serves one connection with a page under these seals; or nobody. */
static pid_t listener(uid_t user, bool serves, int seals)
{
    int ready[2];
    if (pipe(ready) != 0)
        exit(2);
    pid_t child = fork();
    if (child == 0) {
        become(user);
        int door = listen_at(socket_path);
        chmod(socket_path, 0666);
        if (door < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        close(ready[1]);
        if (!serves)
            pause();
        int one = accept(door, NULL, NULL);
        union packet packet;
        if (recv(one, &packet, sizeof packet, 0) > 0)
            hand_out_with(one, 0, processors(1), 0, seals);
        pause();
    }
    close(ready[1]);
    char byte;
    if (read(ready[0], &byte, 1) != 1)
        exit(2);
    close(ready[0]);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    unlink(socket_path);
}

static int code_of(pid_t child)
{
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A user of this process connects: 1 = it believes, 0 = it does not. */
static int believes(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, socket_path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    return connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ? 98 : nm_is_trusted(fd, socket_path);
}

static bool user_believes(uid_t user)
{
    pid_t child = fork();
    if (child == 0) {
        become(user);
        _exit(believes());
    }
    return code_of(child) == 1;
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

/* A process in a user namespace with these users; -1: there are no such namespaces here. `apart`:
 * in a process-id namespace, too. */
static int believes_within(const char *users, bool apart)
{
    int made[2], mapped[2];
    if (pipe(made) != 0 || pipe(mapped) != 0)
        exit(2);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        if (unshare(CLONE_NEWUSER | (apart ? CLONE_NEWPID : 0)) != 0)
            _exit(97);
        if (write(made[1], "x", 1) != 1 || read(mapped[0], &byte, 1) != 1)
            _exit(97);
        pid_t inner = fork();
        if (inner == 0)
            _exit(believes());
        _exit(code_of(inner));
    }
    close(made[1]);
    char byte, path[64];
    snprintf(path, sizeof path, "/proc/%d/uid_map", (int)child);
    if (read(made[0], &byte, 1) == 1 && (!*users || write_file(path, users)))
        expect(write(mapped[1], "x", 1) == 1, "a namespace");
    close(mapped[1]);
    close(mapped[0]);
    close(made[0]);
    int code = code_of(child);
    return code == 97 ? -1 : code;
}

static void place(const char *directory)
{
    snprintf(socket_path, sizeof socket_path, "%s/attach", directory);
}

static bool attaches(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(nm_attach(false));
    return code_of(child) == 1;
}

/* A page is taken if it is sealed. */
static void take_pages(void)
{
    const int seals[] = {0, F_SEAL_SHRINK, F_SEAL_SEAL, F_SEAL_SHRINK | F_SEAL_SEAL};
    for (int i = 0; i < 4; i++) {
        pid_t child = listener(0, true, seals[i]);
        expect(attaches() == (i == 3), i == 3 ? "one's own manager" : "a page that can shrink is taken");
        end(child);
    }
}

static void meet_users(void)
{
    char directory[] = "/tmp/numaestro-trust-XXXXXX";
    if (!mkdtemp(directory) || chmod(directory, 0755) != 0)
        exit(2);
    place(directory);
    pid_t child = listener(0, false, 0);
    expect(user_believes(0) && user_believes(SOMEBODY), "root's manager is not believed");
    expect(chmod(directory, 01777) == 0 && !user_believes(0), "a directory where everybody can write");
    expect(chmod(directory, 0775) == 0 && !user_believes(0), "a directory where a group can write");
    expect(chmod(directory, 0755) == 0 && chown(directory, STRANGER, 0) == 0 && !user_believes(SOMEBODY), "a stranger's directory");
    end(child);
    child = listener(STRANGER, false, 0);
    expect(user_believes(STRANGER), "one's own manager is not believed");
    expect(!user_believes(SOMEBODY) && !user_believes(0), "a stranger in a directory of its own");
    expect(chown(directory, 0, 0) == 0 && !user_believes(SOMEBODY) && !user_believes(0), "a stranger in root's directory");
    end(child);
    rmdir(directory);
}

/* In a user namespace root has no number. */
static void meet_namespaces(void)
{
    char guarded[] = "/run/numaestro-trust-XXXXXX", open[] = "/tmp/numaestro-trust-XXXXXX";
    static const char own[] = "0 12345 1\n", as_container[] = "0 12345 1\n65534 12399 1\n";
    if (!mkdtemp(guarded) || !mkdtemp(open) || chmod(guarded, 0755) != 0 || chmod(open, 0755) != 0)
        exit(2);
    place(guarded);
    pid_t child = listener(0, false, 0);
    int first = believes_within(own, false);
    if (first < 0) {
        puts("skipped trust in user namespaces: there are none here");
    } else {
        expect(first == 1, "root from outside");
        expect(believes_within("", false) == 1, "root from outside, where nobody has a number");
        expect(believes_within("0 0 4294967295\n", false) == 1, "a namespace with all users");
        expect(believes_within(as_container, false) == 0, "one who may be the container's nobody");
        expect(believes_within(as_container, true) == 1, "root from outside, beside the container's nobody");
    }
    end(child);
    place(open);
    child = listener(0, false, 0);
    expect(first < 0 || (believes_within(own, false) == 0 && believes_within("", false) == 0), "a directory that anybody can have made");
    end(child);
    rmdir(guarded);
    rmdir(open);
}

/* A copy of this program with another user's rights takes no word from its caller. */
static void be_setuid(const char *self)
{
    char copy[120], command[512];
    snprintf(copy, sizeof copy, "%s-setuid", self);
    snprintf(command, sizeof command, "cp %s %s && chown %d %s && chmod 4755 %s", self, copy, SOMEBODY, copy, copy);
    expect(system(command) == 0, "a copy");
    pid_t child = listener(0, true, F_SEAL_SHRINK | F_SEAL_SEAL);
    pid_t program = fork();
    if (program == 0) {
        execl(copy, copy, "attach", (char *)NULL);
        _exit(96);
    }
    int code = code_of(program);
    if (code == 95)
        puts("skipped trust of a setuid program: its file system gives no rights");
    else
        expect(code == 0, "a setuid program goes where its caller says");
    end(child);
    unlink(copy);
}

int main(int argc, char **argv)
{
    const char *at = getenv("NUMAESTRO_ATTACH");
    alarm(60);
    if (argc > 1)
        return getuid() == geteuid() ? 95 : nm_attach(false);
    if (!at || strlen(at) >= sizeof socket_path)
        return 2;
    strcpy(socket_path, at);
    take_pages();
    if (getuid() != 0) {
        puts("skipped trust of other users: not root");
    } else {
        be_setuid(argv[0]);
        meet_users();
        meet_namespaces();
    }
    if (!failures)
        puts("ok trust: own and root's managers are believed, strangers' and their pages are not");
    return failures != 0;
}
