/* Runs a command and lets the n-th system call of one role among its processes fail.
 *
 *   nth ROLE N SEED FILE COMMAND...
 *
 * Roles: "manager", "guard", "run" (until it is its program), "shim" (calls that the shim makes in
 * programs). The calls that may fail, and the errors that each may have, are in `errors_of`; only
 * calls with one of these are counted, from 1. N = 0 counts only. FILE always has the count, 10
 * digits, and "-" or the call that failed: its number and error, and the thread.
 *
 * A filter of seccomp, which all processes of the tree inherit, hands these calls to a process of
 * ours (seccomp_unotify(2)). That one outlives the command, because managers do, and ends with the
 * last process of the tree. This program ends as the command does.
 */
#include "nth.h"
#include <dirent.h>
#include <linux/filter.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

enum { CALLS_MAX = 100, CODES_MAX = 512, WORDS = 96, TEXT = 4096 };

static const char *role;
static unsigned long wanted, seed, count;
static int file;
static bool fired;

static void die(const char *what)
{
    perror(what);
    _exit(99);
}

/* Every call that the table knows goes to the listener. */
static int listen_to_calls(void)
{
    struct sock_filter code[CALLS_MAX + 3];
    unsigned short calls = 0, at = 0;
    for (int number = 0; number < 500; number++)
        calls += nth_knows(number);
    if (calls > CALLS_MAX)
        die("too many calls");
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    unsigned char left = (unsigned char)calls;
    for (int number = 0; number < 500; number++)
        if (nth_knows(number))
            code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, left--, 0);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = {at, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        die("no new privileges");
    /* A call that has been received is not begun anew for a signal (Linux 5.19). */
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* Reads a file of a process whole, as a string. */
static ssize_t read_of(pid_t pid, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0, more = 1;
    while (fd >= 0 && more > 0 && (size_t)got < room - 1)
        if ((more = read(fd, text + got, room - 1 - (size_t)got)) > 0)
            got += more;
    if (fd >= 0)
        close(fd);
    text[got] = '\0';
    return got;
}

static bool is_command(pid_t pid)
{
    char path[64], exe[TEXT];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t length = readlink(path, exe, sizeof exe - 1);
    exe[length > 0 ? length : 0] = '\0';
    const char *name = strrchr(exe, '/');
    return name && strcmp(name, "/numaestro") == 0;
}

/* The code that a word on the stack points into: 's' the shim or the stub, 'l' the C library, 'd'
 * the dynamic loader, 'o' any other. */
struct code {
    unsigned long begin, end;
    char kind;
};

static struct code all[CODES_MAX];

static size_t code_of(pid_t pid)
{
    static char maps[1 << 20];
    size_t found = 0;
    read_of(pid, "maps", maps, sizeof maps);
    for (char *next, *line = maps; found < CODES_MAX && line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        struct code one;
        char rights[8] = "";
        if (sscanf(line, "%lx-%lx %7s", &one.begin, &one.end, rights) != 3 || rights[2] != 'x')
            continue;
        bool shim = strstr(line, "/libnumaestro_") != NULL;
        bool libc = strstr(line, "/libc.so") || strstr(line, "/libc-") || strstr(line, "/libpthread");
        one.kind = shim ? 's' : libc ? 'l' : strstr(line, "/ld-") ? 'd' : 'o';
        all[found++] = one;
    }
    return found;
}

static char kind_at(size_t codes, unsigned long address)
{
    for (size_t i = 0; i < codes; i++)
        if (address >= all[i].begin && address < all[i].end)
            return all[i].kind;
    return 0;
}

/* Whether the shim makes the call, through the C library or by itself: the code that called the C
 * library is the first other one on the stack. */
static bool is_of_shim(pid_t tid, unsigned long at)
{
    char text[256];
    unsigned long words[WORDS], sp = 0;
    size_t codes = code_of(tid);
    char kind = kind_at(codes, at);
    if (kind != 'l')
        return kind == 's';
    read_of(tid, "syscall", text, sizeof text);
    char *last = strrchr(text, ' ');
    if (!last)
        return false;
    *last = '\0';
    char *before = strrchr(text, ' ');
    if (!before || (sp = strtoul(before, NULL, 16)) == 0)
        return false;
    struct iovec here = {words, sizeof words}, there = {(void *)sp, sizeof words};
    ssize_t got = process_vm_readv(tid, &here, 1, &there, 1, 0);
    for (ssize_t i = 0; i < got / (ssize_t)sizeof words[0]; i++) {
        kind = kind_at(codes, words[i]);
        if (kind == 's' || kind == 'o')
            return kind == 's';
    }
    return false;
}

/* A program's own files are opened through the shim too: only files about processes and the machine
 * are the shim's. */
static bool is_shims_file(const struct seccomp_notif *call)
{
    char path[8] = "";
    struct iovec here = {path, sizeof path - 1}, there = {(void *)call->data.args[1], sizeof path - 1};
    return call->data.nr != SYS_openat || (process_vm_readv((pid_t)call->pid, &here, 1, &there, 1, 0) > 0 &&
                                           (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0));
}

static bool has_role(const struct seccomp_notif *call)
{
    pid_t tid = (pid_t)call->pid;
    char line[TEXT], name[64];
    if (!is_command(tid))
        return strcmp(role, "shim") == 0 && is_shims_file(call) && is_of_shim(tid, call->data.instruction_pointer);
    ssize_t length = read_of(tid, "cmdline", line, sizeof line);
    const char *verb = line + strlen(line) + 1;
    if (verb >= line + length)
        return false;
    /* The loader's calls come before anything of ours. */
    if (kind_at(code_of(tid), call->data.instruction_pointer) == 'd')
        return false;
    if (strcmp(verb, "daemon") != 0)
        return strcmp(role, verb) == 0;
    read_of(tid, "comm", name, sizeof name);
    return strcmp(role, strcmp(name, "numaestro-guard\n") == 0 ? "guard" : "manager") == 0;
}

static void note(const struct seccomp_notif *call, int error)
{
    char text[128], name[64] = "";
    if (call)
        read_of((pid_t)call->pid, "comm", name, sizeof name);
    name[strcspn(name, "\n")] = '\0';
    int length = call ? snprintf(text, sizeof text, "%10lu call %d error %d of %s\n", count, call->data.nr, error, name)
                      : snprintf(text, sizeof text, "%10lu", count);
    if (!fired || call)
        pwrite(file, text, (size_t)length, 0);
    else
        pwrite(file, text, 10, 0);
}

/* The error of this call, 0: none. */
static int judge(const struct seccomp_notif *call)
{
    int errors[NTH_ERRORS];
    size_t some = nth_errors_of(call, errors);
    /* Processes and threads that a program makes pass through the shim too, and their failure is
     * the program's own. */
    bool is_shims = strcmp(role, "shim") != 0 || nth_kind_of(call->data.nr) != NTH_BORN;
    if (some == 0 || !is_shims || !has_role(call))
        return 0;
    count++;
    if (fired || count != wanted) {
        note(NULL, 0);
        return 0;
    }
    int error = errors[(seed + count) % some];
    fired = true;
    note(call, error);
    return error;
}

static void serve(int listener)
{
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0)
        die("sizes");
    struct seccomp_notif *call = calloc(1, sizes.seccomp_notif);
    struct seccomp_notif_resp *answer = calloc(1, sizes.seccomp_notif_resp);
    for (;;) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        if (poll(&ready, 1, -1) < 0)
            continue;
        if (ready.revents & POLLHUP)
            _exit(0);
        memset(call, 0, sizes.seccomp_notif);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, call) != 0)
            continue;
        memset(answer, 0, sizes.seccomp_notif_resp);
        int error = judge(call);
        answer->id = call->id;
        answer->error = -error;
        answer->flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, answer);
    }
}

int main(int argc, char **argv)
{
    if (argc < 6)
        die("usage: nth ROLE N SEED FILE COMMAND...");
    role = argv[1];
    wanted = strtoul(argv[2], NULL, 10);
    seed = strtoul(argv[3], NULL, 10);
    file = open(argv[4], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        die(argv[4]);
    dprintf(file, "%10lu -\n", 0ul);
    _Atomic int *listener = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *listener = -2;
    /* The table of descriptors is the child's too, until it becomes the command: so is the
     * listener. */
    pid_t child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        /* Nothing here is answered before the parent serves. */
        int made = listen_to_calls();
        atomic_store(listener, made);
        if (made >= 0)
            execvp(argv[5], argv + 5);
        _exit(98);
    }
    while (atomic_load(listener) == -2)
        usleep(100);
    int fd = atomic_load(listener);
    if (fd < 0)
        die("no listener");
    pid_t server = fork();
    if (server == 0) {
        setsid();
        prctl(PR_SET_NAME, "nth", 0, 0, 0);
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int i = 0; i < 3; i++)
            dup2(nothing, i);
        signal(SIGPIPE, SIG_IGN);
        serve(fd);
    }
    close(fd);
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
    }
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 97);
}
