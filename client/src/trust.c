/* trust.c - whom a program believes to be its manager: root, or its own user. Whoever it believes
 * moves its threads, and gives it memory to read.
 *
 * The kernel names the user who listens. Its word is enough, but for one case: in a user namespace
 * all users from outside have one number, the overflow user's. Root of the host is one of them, and
 * so is any stranger. The directories are the proof there: each one up to the socket belongs to
 * root, to ourselves or to somebody outside, and nobody else may write there, so whoever made the
 * namespace has put the socket into its place.
 */
#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PATH_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)
#define ALL_USERS UINT32_MAX

/* The text of a small file; empty: it cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
}

static uid_t overflow_user(void)
{
    char text[16];
    read_text("/proc/sys/kernel/overflowuid", text, sizeof text);
    return text[0] ? (uid_t)strtoul(text, NULL, 10) : 65534;
}

/* The users that this process's namespace has numbers for: all of them, or whether `user` is one.
 * A namespace of unknown kind may have any. */
static void read_users(uid_t user, bool *all, bool *has)
{
    char text[4096], *at = text, *end;
    read_text("/proc/self/uid_map", text, sizeof text);
    *all = false;
    *has = !text[0] && access("/proc/self/uid_map", F_OK) != 0;
    for (;;) {
        unsigned long first = strtoul(at, &end, 10), count;
        if (end == at)
            return;
        strtoul(end, &at, 10);
        count = strtoul(at, &at, 10);
        *all |= count == ALL_USERS;
        *has |= user >= first && user - first < count;
    }
}

/* The directory may be the place of a manager's socket: nobody else can write there. */
static bool is_of(const char *path, uid_t user)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && !(st.st_mode & OTHERS_WRITE) &&
           (st.st_uid == 0 || st.st_uid == geteuid() || st.st_uid == user);
}

/* All directories up to `path` are so. */
static bool are_of(char *path, uid_t user)
{
    if (path[0] != '/' || !is_of("/", user))
        return false;
    for (char *at = path + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        bool good = is_of(path, user);
        *at = '/';
        if (!good)
            return false;
    }
    return is_of(path, user);
}

static bool is_trusted(int fd, const char *path)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    char dir[PATH_BYTES];
    const char *end = strrchr(path, '/');
    if (!end || end == path || (size_t)(end - path) >= sizeof dir ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return false;
    memcpy(dir, path, (size_t)(end - path));
    dir[end - path] = 0;
    if (peer.uid == 0)
        return is_of(dir, 0);
    if (peer.uid == overflow_user()) {
        bool all, has;
        read_users(peer.uid, &all, &has);
        /* A process of another process-id namespace has the number 0: it is not the user of this
         * namespace that has the overflow user's number. */
        if (!all)
            return (!has || peer.pid == 0) && are_of(dir, peer.uid);
    }
    return peer.uid == geteuid() && is_of(dir, 0);
}

bool nm_is_trusted(int fd, const char *path)
{
    int saved = errno;
    bool trusted = is_trusted(fd, path);
    errno = trusted ? saved : EACCES;
    return trusted;
}
