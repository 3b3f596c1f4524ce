/* A program that breaks the rules of the attach socket and the shared page (docs/ABI.md). First
 * argument: the socket; second: the way; third: for how many seconds, for ways that last.
 *
 *     "garbage"  attaches and writes random bytes into every line of its page, the manager's too
 *     "silent"   attaches, works, and never carries a decision out
 *     "liar"     attaches, asks for absurd numbers, and says `Adopted`, `Busy`, `Request` for
 *                other applications
 *     "claims"   re-attaches with another application's number and all processors, again and again
 *     "flood"    sends packets of every size with random bytes, and never reads an answer
 *     "resize"   attaches and tries to shrink, grow and punch the page
 *     "leave"    attaches again and again and leaves without a message
 *     "refused"  must be turned away: exit code 0 if it was
 *     "asks"     the socket is `control`: sends the line in the fourth argument again and again, on
 *                as many connections as the fifth says, and reads the answers if there is a sixth
 */
#include "../src/message.h"
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { PAGE = 4096 };
static const char *socket_path;
static uint64_t dice = 88172645463325252ull;

static uint64_t roll(void)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    return dice ^= dice << 17;
}

static int connected(int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, socket_path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    for (int attempt = 0; attempt < 1000; attempt++) {
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
            return fd;
        if (errno != EAGAIN)
            break;
        usleep(1000);
    }
    close(fd);
    return -1;
}

static struct nm_hello hello(void)
{
    struct nm_hello it = {.magic = NM_MESSAGE_MAGIC, .kind = NM_HELLO, .version = NM_MESSAGE_VERSION, .page_version = 1, .threads_max = 64};
    strcpy(it.name, "hostile");
    return it;
}

/* The page's descriptor, or -1 and the answer's code. */
static int attach(const struct nm_hello *it, struct nm_welcome *welcome)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec data = {welcome, sizeof *welcome};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int fd = connected(SOCK_SEQPACKET), page = -1;
    memset(welcome, 0, sizeof *welcome);
    if (fd < 0 || send(fd, it, sizeof *it, MSG_NOSIGNAL) < 0 || recvmsg(fd, &message, 0) <= 0) {
        close(fd);
        return -1;
    }
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (c && c->cmsg_type == SCM_RIGHTS)
        memcpy(&page, CMSG_DATA(c), sizeof page);
    close(fd);
    return page;
}

static uint64_t *attached(int *fd, struct nm_welcome *welcome)
{
    struct nm_hello it = hello();
    *fd = attach(&it, welcome);
    if (*fd < 0)
        check_fail("no page: code %u %s", welcome->code, welcome->text);
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (page == MAP_FAILED)
        check_fail("mmap: %m");
    return page;
}

static void say(uint16_t kind, uint64_t app, uint32_t value)
{
    struct nm_notice it = {NM_MESSAGE_MAGIC, kind, NM_MESSAGE_VERSION, app, value, (uint32_t)(roll() & 1)};
    int fd = connected(SOCK_SEQPACKET);
    if (fd < 0)
        return;
    (void)!send(fd, &it, sizeof it, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

static void garbage(uint64_t *page)
{
    for (int i = 0; i < PAGE / 8; i++)
        page[i] = roll() % 4 ? roll() : ~0ull * (roll() & 1);
    usleep(200);
}

static void lie(uint64_t mine)
{
    const uint32_t absurd[] = {0, 1, 2, 1000000, 0x7fffffff, 0xffffffff};
    uint64_t app = roll() % 3 ? roll() % 40 : roll();
    say(NM_ADOPTED, app, roll() % 2 ? (uint32_t)(roll() % 50) : 0xffffffff);
    say(NM_REQUEST, roll() % 2 ? mine : app, absurd[roll() % 6]);
    say(NM_BUSY, app, (uint32_t)roll());
    say((uint16_t)roll(), mine, (uint32_t)roll());
    usleep(500);
}

static void claim(void)
{
    struct nm_hello it = hello();
    struct nm_welcome welcome;
    it.reattach = 1;
    it.claim_app = roll() % 2 ? roll() % 20 : roll();
    it.claim_count = roll() % 2 ? 0xffffffff : 64;
    it.threads_max = 0xffffffff;
    it.runtimes = (uint32_t)roll();
    memset(it.claim_cpuset, roll() % 2 ? 0xff : 0, sizeof it.claim_cpuset);
    memset(it.name, 'x', sizeof it.name); /* no final zero */
    close(attach(&it, &welcome));
    usleep(500);
}

static void flood(void)
{
    static unsigned char bytes[200000];
    const size_t sizes[] = {0, 1, 3, 23, 24, 25, 639, 640, 641, 4096, 65536, sizeof bytes};
    struct nm_hello it = hello();
    int fd = connected(roll() % 8 ? SOCK_SEQPACKET : SOCK_STREAM);
    size_t size = sizes[roll() % 12];
    if (fd < 0)
        return;
    for (size_t i = 0; i < size; i += 8)
        memcpy(bytes + i, &(uint64_t){roll()}, 8);
    if (roll() % 2) /* a good beginning and a bad end */
        memcpy(bytes, &it, roll() % sizeof it);
    (void)!send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (roll() % 4) /* a few are left open until the end */
        close(fd);
}

enum { CONNECTIONS = 1024 };

/* Sends as much as there is room for on every connection, and begins a new one for each that the
 * manager has ended. */
static void ask(const char *line, int connections, int reads)
{
    static int fds[CONNECTIONS];
    static char lines[65536], answers[1 << 20];
    static size_t length;
    if (!length) {
        memset(fds, -1, sizeof fds);
        while (length + strlen(line) + 1 < sizeof lines)
            length += (size_t)sprintf(lines + length, "%s\n", line);
    }
    for (int i = 0; i < connections && i < CONNECTIONS; i++) {
        if (fds[i] < 0)
            fds[i] = connected(SOCK_STREAM);
        ssize_t sent = send(fds[i], lines, length, MSG_NOSIGNAL | MSG_DONTWAIT), got = 1;
        int ended = sent < 0 && errno != EAGAIN;
        while (reads && !ended && (got = recv(fds[i], answers, sizeof answers, MSG_DONTWAIT)) > 0)
            ;
        if (ended || got == 0) {
            close(fds[i]);
            fds[i] = -1;
        }
    }
    usleep(100);
}

static void expect_sealed(int fd)
{
    if (ftruncate(fd, 0) == 0 || ftruncate(fd, 2 * PAGE) == 0)
        check_fail("the page can be resized");
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE) == 0)
        printf("hole punched: only zeros for ourselves\n");
}

int main(int argc, char **argv)
{
    struct nm_welcome welcome;
    int fd = -1;
    if (argc < 3)
        return 2;
    socket_path = argv[1];
    const char *how = argv[2];
    if (!strcmp(how, "refused")) {
        struct nm_hello it = hello();
        fd = attach(&it, &welcome);
        printf("page %s, code %u, %.160s\n", fd < 0 ? "no" : "yes", welcome.code, welcome.text);
        return fd < 0 ? 0 : 1;
    }
    int attaches = strcmp(how, "flood") && strcmp(how, "leave") && strcmp(how, "asks");
    uint64_t *page = attaches ? attached(&fd, &welcome) : NULL;
    if (!strcmp(how, "resize"))
        expect_sealed(fd);
    printf("attached\n");
    fflush(stdout);
    while (check_going(argc - 2, argv + 2)) {
        if (!strcmp(how, "garbage"))
            garbage(page);
        else if (!strcmp(how, "liar"))
            lie(welcome.app);
        else if (!strcmp(how, "claims"))
            claim();
        else if (!strcmp(how, "flood"))
            flood();
        else if (!strcmp(how, "leave"))
            close(attach(&(struct nm_hello){0}, &welcome)), claim();
        else if (!strcmp(how, "asks"))
            ask(argc > 4 ? argv[4] : "", argc > 5 ? atoi(argv[5]) : 1, argc > 6);
        else if (strcmp(how, "silent"))
            usleep(1000);
    }
    return 0;
}
