/* attach.c - gets a page from the manager, and sends messages to it.
 *
 * A connection lives for one message: connect, send, perhaps receive, close. So the program may
 * close, count or reuse descriptors as it likes, and the manager's death never shows as a broken
 * pipe.
 */
#include "client.h"
#include "message.h"
#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* Stands in for a page until there is one: epoch 0 is never equal to NM_UNATTACHED. */
static struct numaestro_page no_page;

struct nm_client nm_client = {.page = &no_page, .epoch = NM_UNATTACHED, .count = UINT32_MAX, .owned = UINT32_MAX};

#define SYSTEM_SOCKET "/run/numaestro/attach"

/* The paths of sockets, empty where there is none. They cannot change while the program lives, and
 * getenv is not safe against setenv: so they are read once, at load. A program with other rights
 * than its caller's (setuid) is told nothing by its caller: secure_getenv. */
typedef char path_of_socket[sizeof(((struct sockaddr_un *)0)->sun_path)];

/* The place of the manager that the program was started under, or would be. */
static path_of_socket first_place;
/* The places that a manager of this user has without being told one, the best first. */
enum { OWN_PLACES = 3 };
static path_of_socket own_places[OWN_PLACES];
/* The place of the manager that has answered. */
static const char *_Atomic place = first_place;

__attribute__((format(printf, 2, 3))) static void fill_place(path_of_socket *at, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    int n = vsnprintf(*at, sizeof *at, format, words);
    va_end(words);
    if (n < 0 || (size_t)n >= sizeof *at)
        (*at)[0] = 0;
}

static bool is_directory(const char *path, bool of_ours)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && (!of_ours || st.st_uid == geteuid());
}

/* As the command does it (rundir.rs): a user directory counts where it is there and ours. */
__attribute__((constructor)) static void read_places(void)
{
    const char *path = secure_getenv("NUMAESTRO_ATTACH");
    const char *dir = secure_getenv("NUMAESTRO_DIR");
    const char *run = secure_getenv("XDG_RUNTIME_DIR");
    const char *tmp = secure_getenv("TMPDIR");
    const char *own = secure_getenv("NUMAESTRO_USER");
    unsigned user = (unsigned)geteuid();
    char usual[64];
    struct stat st;
    snprintf(usual, sizeof usual, "/run/user/%u", user);
    if (run && *run == '/')
        fill_place(&own_places[0], "%s/numaestro/attach", run);
    fill_place(&own_places[1], "%s/numaestro/attach", usual);
    fill_place(&own_places[2], "%s/numaestro-%u/attach", tmp && *tmp == '/' && is_directory(tmp, false) ? tmp : "/tmp", user);
    if (path && strlen(path) < sizeof first_place)
        strcpy(first_place, path);
    else if (dir && *dir)
        fill_place(&first_place, "%s/attach", dir);
    else if (!(own && *own && strcmp(own, "0") != 0) && lstat(SYSTEM_SOCKET, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == 0)
        /* The manager of all users goes before the user's own. Only root can make a file in
         * /run. */
        strcpy(first_place, SYSTEM_SOCKET);
    else
        strcpy(first_place, own_places[run && is_directory(run, true) ? 0 : is_directory(usual, true) ? 1 : 2]);
}

/* The processors that the program may have: as `run` tells it, read once at load like the path,
 * or as the manager tells it, which has seen who has bound the program since. */
static struct nm_cpuset original;
static bool has_original;
/* The mask that the program began with, where nobody told it more: in containers, no `run` does. */
static struct nm_cpuset born;
static bool has_born;

__attribute__((constructor)) static void read_original(void)
{
    const char *list = secure_getenv("NUMAESTRO_CPUS_ALL");
    has_original = list && nm_cpuset_parse(list, &original);
    has_born = !has_original && syscall(SYS_sched_getaffinity, 0, sizeof born.words, born.words) > 0;
}

bool nm_original(struct nm_cpuset *set)
{
    *set = original;
    return has_original;
}

bool nm_alone(struct nm_cpuset *set)
{
    *set = has_original ? original : born;
    return has_original || has_born;
}

static int connect_to(const char *path)
{
    if (!path[0])
        return -1;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    /* A full backlog answers EAGAIN at once: a thousand programs may start together. */
    for (int attempt = 0; attempt < 100; attempt++) {
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
            if (nm_is_trusted(fd, path))
                return fd;
            break;
        }
        if (errno != EAGAIN && errno != EINTR)
            break;
        usleep(1000);
    }
    close(fd);
    return -1;
}

/* The manager that has the program. */
static int connect_manager(void)
{
    return connect_to(place);
}

/* The directory of a socket is there. */
static bool has_directory(const char *path)
{
    path_of_socket dir;
    struct stat st;
    strcpy(dir, path);
    char *end = strrchr(dir, '/');
    if (!end)
        return false;
    *end = 0;
    return lstat(dir, &st) == 0;
}

/* A manager of this user may have lost its directory: a logout removes $XDG_RUNTIME_DIR, though
 * programs go on. The next manager is in the next usual place then. Whoever was told another
 * place than the usual ones stays with that. */
static int connect_any(void)
{
    int fd = connect_to(first_place);
    place = first_place;
    bool usual = false;
    for (int i = 0; i < OWN_PLACES; i++)
        usual |= first_place[0] && strcmp(first_place, own_places[i]) == 0;
    if (fd >= 0 || !usual || has_directory(first_place))
        return fd;
    for (int i = 0; i < OWN_PLACES && fd < 0; i++)
        if ((fd = connect_to(own_places[i])) >= 0)
            place = own_places[i];
    return fd;
}

static void fill_hello(struct nm_hello *hello, bool reattach)
{
    *hello = (struct nm_hello){
        .magic = NM_MESSAGE_MAGIC,
        .kind = NM_HELLO,
        .version = NM_MESSAGE_VERSION,
        .page_version = NM_PAGE_VERSION,
        .runtimes = (nm_hooks.runtimes ? nm_hooks.runtimes() : 0) | (nm_client.api ? NM_RUNTIME_API : 0),
        .threads_max = nm_hooks.threads_max ? nm_hooks.threads_max() : 0,
    };
    strncpy(hello->name, program_invocation_short_name, sizeof hello->name - 1);
    /* A program that runs without limits has nothing to claim. */
    if (!reattach || nm_client.alone || nm_client.flags & NM_FLAG_RELEASED)
        return;
    struct numaestro_page *page = nm_client.page;
    hello->reattach = 1;
    hello->claim_count = nm_client.count;
    hello->claim_app = page->header.app;
    memcpy(hello->claim_cpuset, nm_client.cpuset.words, sizeof hello->claim_cpuset);
}

/* Receives the answer and the page's descriptor; -1 if neither comes within the socket's
 * timeout. */
static int receive_welcome(int fd, struct nm_welcome *welcome)
{
    struct iovec data = {welcome, sizeof *welcome};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got;
    do
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    int page = -1;
    struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&page, CMSG_DATA(c), sizeof page);
    bool good = got == (ssize_t)sizeof *welcome && welcome->magic == NM_MESSAGE_MAGIC && welcome->kind == NM_WELCOME &&
                welcome->code == 0;
    if (!good && page >= 0) {
        close(page);
        page = -1;
    }
    return page;
}

/* The seals keep the page as long as it is: reading beyond the end of a file kills the reader. */
static struct numaestro_page *map_page(int fd)
{
    struct stat st;
    const int needed = F_SEAL_SHRINK | F_SEAL_SEAL, seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & needed) != needed || fstat(fd, &st) != 0 || st.st_size < (off_t)NM_PAGE_BYTES)
        return NULL;
    void *at = mmap(NULL, NM_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    struct numaestro_page *page = at;
    if (page->header.magic != NM_PAGE_MAGIC || page->header.version_lowest > NM_PAGE_VERSION) {
        munmap(at, NM_PAGE_BYTES);
        return NULL;
    }
    return page;
}

/* The manager is in another process-id namespace: it knows us by another number, and its number
 * means nothing here, or another process. */
static bool is_apart(struct numaestro_page *page)
{
    return (pid_t)page->header.app_pid != getpid();
}

bool nm_attach(bool reattach)
{
    /* A thread that is cancelled in here would leave a descriptor open. */
    int saved = errno, cancellable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    nm_client.tried = true;
    bool done = false;
    int fd = connect_any();
    if (fd >= 0) {
        /* The manager answers in microseconds; a dead or stuck one must not hold the program. */
        struct timeval patience = {.tv_usec = 200000};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        fcntl(fd, F_SETFL, 0);
        struct nm_hello hello;
        struct nm_welcome welcome;
        fill_hello(&hello, reattach);
        int page_fd = -1;
        if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == (ssize_t)sizeof hello)
            page_fd = receive_welcome(fd, &welcome);
        close(fd);
        if (page_fd >= 0) {
            struct numaestro_page *page = map_page(page_fd);
            close(page_fd);
            if (page) {
                /* The former page, if any, stays mapped: another thread may be looking at it. */
                nm_client.epoch = NM_UNATTACHED;
                nm_client.page = page;
                nm_client.attached = true;
                nm_client.alone = false;
                struct nm_cpuset told;
                welcome.text[sizeof welcome.text - 1] = 0;
                if (nm_cpuset_parse(welcome.text, &told)) {
                    original = told;
                    has_original = true;
                }
                /* The manager stops programs outside their turns by ptrace, which Yama allows
                 * nobody else. */
                if (!is_apart(page))
                    prctl(PR_SET_PTRACER, (unsigned long)page->header.manager_pid, 0, 0, 0);
                done = true;
            }
        }
    }
    pthread_setcancelstate(cancellable, NULL);
    errno = saved;
    return done;
}

long nm_ask(const void *question, size_t bytes, void *answer, size_t room)
{
    int saved = errno, cancellable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    ssize_t got = -1;
    int fd = connect_manager();
    if (fd >= 0) {
        struct timeval patience = {.tv_usec = 200000};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        fcntl(fd, F_SETFL, 0);
        if (send(fd, question, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes) {
            /* A longer answer is cut off, and then differs from the expected one. */
            do
                got = recv(fd, answer, room, MSG_TRUNC);
            while (got < 0 && errno == EINTR);
        }
        close(fd);
    }
    pthread_setcancelstate(cancellable, NULL);
    errno = saved;
    return got;
}

void nm_notice(unsigned kind, uint32_t value, uint32_t second)
{
    int saved = errno, cancellable;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    struct numaestro_page *page = nm_client.page;
    int fd = nm_client.attached ? connect_manager() : -1;
    if (fd >= 0) {
        struct nm_notice notice = {NM_MESSAGE_MAGIC, (uint16_t)kind, NM_MESSAGE_VERSION, page->header.app, value, second};
        send(fd, &notice, sizeof notice, MSG_NOSIGNAL | MSG_DONTWAIT);
        close(fd);
    }
    pthread_setcancelstate(cancellable, NULL);
    errno = saved;
}

char nm_state_of(pid_t task)
{
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)task);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    char *end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : 0;
}

/* Asks whoever listens. One that does not answer in time is busy; one that does not know the
 * question is as old as a manager that we cannot ask. */
static bool says_alive(struct numaestro_page *page)
{
    int fd = connect_manager();
    if (fd < 0)
        return false;
    struct timeval patience = {.tv_usec = 200000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    fcntl(fd, F_SETFL, 0);
    struct nm_notice question = {NM_MESSAGE_MAGIC, NM_ALIVE, NM_MESSAGE_VERSION, page->header.app, page->header.manager_pid, 0};
    struct nm_welcome answer = {.code = NM_CODE_OK};
    ssize_t got = -1;
    if (send(fd, &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof question)
        do
            got = recv(fd, &answer, sizeof answer, 0);
        while (got < 0 && errno == EINTR);
    close(fd);
    return got != (ssize_t)sizeof answer || answer.kind != NM_WELCOME || answer.code != NM_CODE_REFUSED;
}

/* Helper thread only. In a container without an init a dead manager stays a zombie, which kill()
 * takes for alive. */
bool nm_manager_alive(void)
{
    int saved = errno;
    struct numaestro_page *page = nm_client.page;
    pid_t pid = (pid_t)page->header.manager_pid;
    bool alive;
    if (is_apart(page))
        alive = says_alive(page);
    else
        alive = pid > 0 && (kill(pid, 0) == 0 || errno == EPERM) && nm_state_of(pid) != 'Z' && nm_state_of(pid) != 'X';
    errno = saved;
    return alive;
}

void nm_forget(void)
{
    nm_client.page = &no_page;
    nm_client.epoch = NM_UNATTACHED;
    nm_client.count = UINT32_MAX;
    nm_client.owned = UINT32_MAX;
    nm_client.flags = 0;
    nm_client.attached = false;
    nm_client.alone = false;
    nm_client.tried = false;
    nm_client.waiters = 0;
}
