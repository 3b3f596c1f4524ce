/* nth.h - the system calls that `nth` lets fail, and the errors that Linux may give for each: of
 * EINTR, EAGAIN, ENOMEM, ENOSPC, EMFILE and EPERM those that the call's manual page names, and only
 * with arguments with which they can come. */
#ifndef NTH_H
#define NTH_H

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NTH_ERRORS = 6 };

enum nth_kind {
    NTH_NONE,
    NTH_OPEN,    /* a path; the third argument has its flags */
    NTH_READ,    /* a descriptor first */
    NTH_WRITE,
    NTH_MESSAGE, /* a socket; the fourth argument has flags */
    NTH_MADE,    /* makes a descriptor */
    NTH_WAIT,    /* waits */
    NTH_NAME,    /* changes a directory */
    NTH_LOOK,    /* needs memory of the kernel */
    NTH_RIGHT,   /* needs a right */
    NTH_PLACE,   /* needs a right and memory */
    NTH_BORN,    /* a thread or process */
    NTH_MAP,
    NTH_FCNTL,
    NTH_LOCK,
    NTH_WATCH,
    NTH_ACCEPT,
};

static inline enum nth_kind nth_kind_of(int number)
{
    switch (number) {
    case SYS_openat:
        return NTH_OPEN;
    case SYS_read: case SYS_pread64: case SYS_readv: case SYS_recvfrom:
        return NTH_READ;
    case SYS_write: case SYS_pwrite64: case SYS_writev:
        return NTH_WRITE;
    case SYS_sendmsg: case SYS_recvmsg: case SYS_sendto: case SYS_connect:
        return NTH_MESSAGE;
    case SYS_socket: case SYS_epoll_create1: case SYS_memfd_create: case SYS_pidfd_open: case SYS_timerfd_create:
    case SYS_eventfd2: case SYS_inotify_init1: case SYS_signalfd4: case SYS_pipe2: case SYS_socketpair:
    case SYS_perf_event_open:
        return NTH_MADE;
    case SYS_epoll_pwait: case SYS_ppoll: case SYS_wait4: case SYS_waitid: case SYS_clock_nanosleep:
        return NTH_WAIT;
    case SYS_renameat: case SYS_renameat2: case SYS_unlinkat: case SYS_mkdirat: case SYS_linkat: case SYS_symlinkat: case SYS_bind:
        return NTH_NAME;
    case SYS_newfstatat: case SYS_statx: case SYS_readlinkat: case SYS_getdents64:
    case SYS_sched_getaffinity: case SYS_setsockopt:
        return NTH_LOOK;
    case SYS_kill: case SYS_tgkill: case SYS_pidfd_send_signal: case SYS_fchmod: case SYS_ptrace:
    case SYS_prlimit64:
        return NTH_RIGHT;
    case SYS_sched_setaffinity: case SYS_set_mempolicy:
        return NTH_PLACE;
    case SYS_clone: case SYS_clone3:
        return NTH_BORN;
    case SYS_mmap: case SYS_mprotect:
        return NTH_MAP;
    case SYS_fcntl:
        return NTH_FCNTL;
    case SYS_flock:
        return NTH_LOCK;
    case SYS_inotify_add_watch: case SYS_epoll_ctl:
        return NTH_WATCH;
    case SYS_accept4:
        return NTH_ACCEPT;
#ifdef __x86_64__
    case SYS_epoll_wait: case SYS_poll:
        return NTH_WAIT;
    case SYS_rename: case SYS_unlink: case SYS_mkdir:
        return NTH_NAME;
    case SYS_readlink:
        return NTH_LOOK;
    case SYS_chmod:
        return NTH_RIGHT;
    case SYS_fork: case SYS_vfork:
        return NTH_BORN;
#endif
    default:
        return NTH_NONE;
    }
}

static inline bool nth_knows(int number)
{
    return nth_kind_of(number) != NTH_NONE;
}

/* The descriptor is a file with a name, and not a pipe, socket or the like. */
static inline bool nth_is_file(unsigned pid, unsigned long long fd)
{
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%u/fd/%d", pid, (int)fd);
    return readlink(path, name, sizeof name - 1) > 0 && name[0] == '/' && strncmp(name, "/dev/", 5) != 0;
}

static inline bool nth_is_open_without_waiting(unsigned pid, unsigned long long fd)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%u/fdinfo/%d", pid, (int)fd);
    FILE *info = fopen(path, "re");
    unsigned flags = 0;
    while (info && fgets(text, sizeof text, info))
        if (sscanf(text, "flags: %o", &flags) == 1)
            break;
    if (info)
        fclose(info);
    return flags & O_NONBLOCK;
}

/* The errors of a call about a descriptor: a file waits for nobody, and a socket or pipe needs no
 * room on a disk. */
static inline size_t nth_errors_of_transfer(const struct seccomp_notif *call, enum nth_kind kind, int *errors)
{
    unsigned long long fd = call->data.args[0];
    size_t some = 0;
    if (kind != NTH_ACCEPT && nth_is_file(call->pid, fd)) {
        errors[some++] = kind == NTH_WRITE ? ENOSPC : ENOMEM;
        return some;
    }
    bool waits_not =
        nth_is_open_without_waiting(call->pid, fd) || (kind == NTH_MESSAGE && call->data.args[3] & MSG_DONTWAIT);
    errors[some++] = waits_not ? EAGAIN : EINTR;
    if (kind == NTH_ACCEPT) {
        errors[some++] = EMFILE;
        errors[some++] = EPERM;
    }
    if (kind == NTH_MESSAGE || kind == NTH_ACCEPT)
        errors[some++] = ENOMEM;
    return some;
}

static inline size_t nth_errors_of_fcntl(unsigned long long order, int *errors)
{
    enum { ADD_SEALS = 1033 };
    if (order == F_DUPFD_CLOEXEC || order == F_DUPFD)
        errors[0] = EMFILE;
    else if (order == F_SETLK || order == F_OFD_SETLK)
        errors[0] = EAGAIN;
    else if (order == ADD_SEALS)
        errors[0] = EPERM;
    else
        return 0;
    return 1;
}

/* The errors that this call may have. Returns their number. */
static inline size_t nth_errors_of(const struct seccomp_notif *call, int *errors)
{
    static const int always[][NTH_ERRORS] = {
        [NTH_OPEN] = {EMFILE, ENOMEM, EPERM}, [NTH_MADE] = {EMFILE, ENOMEM}, [NTH_WAIT] = {EINTR},
        [NTH_NAME] = {ENOMEM, ENOSPC, EPERM}, [NTH_LOOK] = {ENOMEM},         [NTH_RIGHT] = {EPERM},
        [NTH_PLACE] = {EPERM, ENOMEM},        [NTH_BORN] = {EAGAIN, ENOMEM}, [NTH_MAP] = {ENOMEM, EAGAIN, EPERM},
        [NTH_LOCK] = {EINTR, ENOMEM},         [NTH_WATCH] = {ENOMEM, ENOSPC}, [NTH_ACCEPT] = {0},
    };
    const unsigned long long *words = (const unsigned long long *)call->data.args;
    enum nth_kind kind = nth_kind_of(call->data.nr);
    size_t some = 0;
    if (kind == NTH_READ || kind == NTH_WRITE || kind == NTH_MESSAGE || kind == NTH_ACCEPT)
        return nth_errors_of_transfer(call, kind, errors);
    if (kind == NTH_FCNTL)
        return nth_errors_of_fcntl(words[1], errors);
    /* A limit may always be read. Without anonymous memory Rust ends a process, by design. */
    if ((call->data.nr == SYS_prlimit64 && words[2] == 0) || call->data.nr == SYS_mprotect ||
        (kind == NTH_MAP && words[3] & MAP_ANONYMOUS))
        return 0;
    for (; some < NTH_ERRORS && always[kind][some]; some++)
        errors[some] = always[kind][some];
    if (kind == NTH_OPEN && words[2] & O_CREAT)
        errors[some++] = ENOSPC;
    return some;
}

#endif
