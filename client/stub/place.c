/* place.c - puts an image on the processors on which it is to begin.
 */
#include "change.h"

#include "../src/message.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

void nm_entry_of(char *out, size_t room, const char *name, const struct nm_cpus *set, const char **entry)
{
    size_t length = nm_length(name);
    nm_copy(out, name, length);
    if (nm_cpus_write(set, out + length, room - length))
        *entry = out;
}

/* Affinity: an image that starts without the stub begins on its allowed set, and takes along what
 * its share was (NUMAESTRO_CPUS_NOW), for images that it starts. One with the stub begins on its
 * share, because its questions are answered. */

static bool is_within(const struct nm_cpus *set, const struct nm_cpus *all)
{
    for (unsigned i = 0; i < NM_CPU_WORDS; i++)
        if (set->words[i] & ~all->words[i])
            return false;
    return true;
}

static bool equal_sets(const struct nm_cpus *a, const struct nm_cpus *b)
{
    return is_within(a, b) && is_within(b, a);
}

static bool present_set(struct nm_cpus *out)
{
    *out = (struct nm_cpus){{0}};
    return nm_system3(SYS_sched_getaffinity, 0, sizeof out->words, out->words) > 0;
}

#define WAIT_NS 50000000

/* The manager lets it begin before it moves it onto its share. One that is busy or gone is waited
 * for no longer than this: it may see the process on its allowed set before it has read the
 * message, and move it back before the image has asked. */
static void announce(char *const envp[])
{
    const char *path = nm_variable(envp, "NUMAESTRO_ATTACH");
    struct nm_notice notice = {.magic = NM_MESSAGE_MAGIC, .kind = NM_BEGINS, .version = NM_MESSAGE_VERSION};
    struct sockaddr_un address;
    size_t length = (path = path ? path : nm_variable(nm_stub_start()->saved, "NUMAESTRO_ATTACH")) ? nm_length(path) : 0;
    if (length == 0 || length >= sizeof address.sun_path)
        return;
    address.sun_family = AF_UNIX;
    nm_copy(address.sun_path, path, length + 1);
    long fd = nm_system3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    struct pollfd answer = {.fd = (int)fd, .events = POLLIN};
    struct timespec wait = {.tv_nsec = WAIT_NS};
    if (nm_system3(SYS_connect, fd, &address, offsetof(struct sockaddr_un, sun_path) + length + 1) == 0 &&
        nm_system(SYS_sendto, fd, (long)&notice, sizeof notice, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0) == (long)sizeof notice)
        nm_system(SYS_ppoll, (long)&answer, 1, (long)&wait, 0, 0, 0);
    nm_system3(SYS_close, fd, 0, 0);
}

static void move(struct nm_moved *moved, const struct nm_cpus *from, const struct nm_cpus *to)
{
    if (nm_system3(SYS_sched_setaffinity, 0, sizeof to->words, to->words) != 0)
        return;
    moved->done = true;
    moved->before = *from;
    moved->after = *to;
}

void nm_place(struct nm_change *change, char *const envp[], struct nm_moved *moved)
{
    const char *list = change->all ? change->all + sizeof "NUMAESTRO_CPUS_ALL=" - 1 : nm_variable(envp, "NUMAESTRO_CPUS_ALL");
    const char *pool = nm_variable(envp, "NUMAESTRO_POOL"), *now = nm_variable(envp, "NUMAESTRO_CPUS_NOW");
    struct nm_cpus allowed, present, share;
    if (!list)
        list = nm_variable(nm_stub_start()->saved, "NUMAESTRO_CPUS_ALL");
    bool known = list && nm_cpus_parse(list, &allowed) && present_set(&present) && is_within(&present, &allowed);
    bool narrow = known && !equal_sets(&present, &allowed);
    /* Nobody widens later what has other rights. */
    if (change->bare && known && (change->rights || !(pool && nm_equal(pool, "now")))) {
        if (!narrow)
            return;
        announce(envp);
        move(moved, &present, &allowed);
        if (moved->done) {
            nm_entry_of(change->now_text, sizeof change->now_text, "NUMAESTRO_CPUS_NOW=", &present, &change->now);
        }
    } else if (now && known && !narrow && nm_cpus_parse(now, &share) && is_within(&share, &allowed)) {
        move(moved, &present, &share);
    }
    change->drop_now = now && !change->now;
    change->needed |= change->drop_now || change->now;
}

/* A manager may have moved this thread meanwhile. */
void nm_place_undo(const struct nm_moved *moved)
{
    struct nm_cpus present;
    if (moved->done && present_set(&present) && equal_sets(&present, &moved->after))
        nm_system3(SYS_sched_setaffinity, 0, sizeof moved->before.words, moved->before.words);
}
