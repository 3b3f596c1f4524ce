/* births.c - threads and processes that a member of a folded team starts.
 *
 * They inherit what the kernel keeps for the thread that starts them: the signal mask (other
 * carriers block nearly all signals), priority, scheduling policy, affinity, memory policy, name.
 * So the member goes to its own kernel thread first. If it does not get there, it puts on its own
 * signal mask for the time of the call. pthread_create is in hooks.c. What the stub stands before
 * (exec, posix_spawn, system, popen) calls back.
 */
#include "../fold/kernel.h"
#include "own.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>
#include <wordexp.h>

extern pid_t _Fork(void);
/* <pty.h> is not needed for more. */
struct termios;
struct winsize;
extern int forkpty(int *terminal, char *name, const struct termios *modes, const struct winsize *size);

/* The mask that another kernel thread of the process has now. */
static uint64_t mask_of(pid_t tid)
{
    char path[40], text[2048], *line;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    return (line = strstr(text, "SigBlk:")) ? strtoull(line + 7, NULL, 16) : 0;
}

void nm_birth(bool begins)
{
    struct nm_context *me = nm_context_self;
    if (NM_LIKELY(!me))
        return;
    if (begins)
        nm_whole_own_thread();
    if (NM_LIKELY(me->carrier->number == me->number))
        return;
    static __thread uint64_t before __attribute__((tls_model("initial-exec")));
    int saved = errno;
    uint64_t *mask = nm_fold_own_mask(me);
    if (begins)
        before = nm_block_signals();
    nm_restore_signals(!begins ? before : mask ? *mask : mask_of(own_tid()));
    errno = saved;
}

#define BIRTH(type, name, parameters, arguments)                                                                        \
    SHIM_EXPORT type name parameters                                                                                    \
    {                                                                                                                   \
        nm_birth(true);                                                                                                 \
        type result = REAL(name) arguments;                                                                             \
        nm_birth(false);                                                                                                \
        return result;                                                                                                  \
    }

BIRTH(int, thrd_create, (thrd_t *thread, thrd_start_t start, void *argument), (thread, start, argument))
BIRTH(pid_t, fork, (void), ())
BIRTH(pid_t, _Fork, (void), ())
BIRTH(int, daemon, (int stay, int keep), (stay, keep))
BIRTH(int, forkpty, (int *terminal, char *name, const struct termios *modes, const struct winsize *size),
             (terminal, name, modes, size))
BIRTH(int, wordexp, (const char *words, wordexp_t *found, int flags), (words, found, flags))

SHIM_EXPORT int clone(int (*start)(void *), void *stack, int flags, void *argument, ...)
{
    va_list list;
    void *words[3];
    va_start(list, argument);
    for (unsigned i = 0; i < 3; i++)
        words[i] = va_arg(list, void *);
    va_end(list);
    nm_birth(true);
    int result = REAL(clone)(start, stack, flags, argument, words[0], words[1], words[2]);
    nm_birth(false);
    return result;
}

/* The child of vfork returns on its parent's stack, so nothing may be left there: a jump. */
void *nm_before_vfork(void) __attribute__((visibility("hidden")));
__attribute__((constructor)) void *nm_before_vfork(void)
{
    struct nm_context *me = nm_context_self;
    own_thread();
    /* Nothing can be done after vfork. */
    return NM_UNLIKELY(me && me->carrier->number != me->number) ? (void *)fork : (void *)REAL(vfork);
}

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        ".cfi_startproc\n"
        "    endbr64\n"
        "    subq $8, %rsp\n    .cfi_adjust_cfa_offset 8\n"
        "    call nm_before_vfork\n"
        "    addq $8, %rsp\n    .cfi_adjust_cfa_offset -8\n"
        "    jmp *%rax\n"
        ".cfi_endproc\n"
        ".size vfork, .-vfork\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, %function\n"
        "vfork:\n"
        ".cfi_startproc\n"
        "    hint #34\n"
        "    stp x29, x30, [sp, #-16]!\n    .cfi_adjust_cfa_offset 16\n    .cfi_rel_offset 30, 8\n"
        "    bl nm_before_vfork\n"
        "    ldp x29, x30, [sp], #16\n    .cfi_adjust_cfa_offset -16\n    .cfi_restore 30\n"
        "    mov x16, x0\n"
        "    br x16\n"
        ".cfi_endproc\n"
        ".size vfork, .-vfork\n");
#endif

/* Of the stub; a shim that is preloaded alone has none. */
extern void numaestro_at_birth(void (*around)(bool)) __attribute__((weak));

__attribute__((constructor)) static void tell_stub(void)
{
    if (numaestro_at_birth)
        numaestro_at_birth(nm_birth);
}
