/* manager.h - a manager in a few lines, for tests: it hands out a page, and writes decisions into
 * it. It decides nothing by itself.
 */
#ifndef UNIT_MANAGER_H
#define UNIT_MANAGER_H

#include "../src/client.h"
#include "../src/message.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

union packet {
    struct nm_hello hello;
    struct nm_notice notice;
};

static inline void decide(struct numaestro_page *page, uint32_t flags, uint64_t set)
{
    page->manager.sequence |= 1;
    page->cpuset[0] = set;
    page->manager.count = (uint32_t)__builtin_popcountll(set);
    page->manager.flags = flags;
    page->manager.decided_ns = nm_now_ns();
    page->manager.epoch++;
    page->manager.sequence++;
    syscall(SYS_futex, &page->manager.epoch, 1 /* FUTEX_WAKE */, INT32_MAX, NULL, NULL, 0);
}

/* The first `most` processors of this process, as far as a test's page has room for their
 * numbers. */
static inline uint64_t processors(int most)
{
    cpu_set_t all;
    uint64_t set = 0;
    sched_getaffinity(0, sizeof all, &all);
    for (int i = 0; i < 64 && most > 0; i++)
        if (CPU_ISSET(i, &all)) {
            set |= 1ull << i;
            most--;
        }
    return set;
}

/* Answers a hello with a new page that holds this decision, under these seals; returns the page,
 * NULL if there is none. */
static inline struct numaestro_page *hand_out_with(int connection, uint32_t flags, uint64_t set, uint32_t grace_us, int seals)
{
    int fd = memfd_create("page", MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, NM_PAGE_BYTES) != 0 || fcntl(fd, F_ADD_SEALS, seals) != 0)
        return NULL;
    struct numaestro_page *page = mmap(NULL, NM_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    page->header.magic = NM_PAGE_MAGIC;
    page->header.version_lowest = 1;
    page->header.manager_pid = (uint32_t)getpid();
    page->header.app = 7;
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    page->header.app_pid = (uint32_t)peer.pid;
    page->manager.grace_us = grace_us;
    decide(page, flags, set);
    page->header.version = NM_PAGE_VERSION;
    struct nm_welcome welcome = {.magic = NM_MESSAGE_MAGIC, .kind = NM_WELCOME, .version = NM_MESSAGE_VERSION, .app = 7};
    struct iovec data = {&welcome, sizeof welcome};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    sendmsg(connection, &message, MSG_NOSIGNAL);
    close(fd);
    return page;
}

static inline struct numaestro_page *hand_out(int connection, uint32_t flags, uint64_t set, uint32_t grace_us)
{
    return hand_out_with(connection, flags, set, grace_us, F_SEAL_SHRINK | F_SEAL_SEAL);
}

/* A socket at `path`; -1 on failure. */
static inline int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    unlink(path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool good = bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 128) == 0;
    return good ? listener : -1;
}

#endif
