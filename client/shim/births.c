/* births.c - threads and processes that a member of a folded team starts.
 *
 * They inherit what the kernel keeps for the thread that starts them: the signal mask (other
 * carriers block nearly all signals), priority, scheduling policy, affinity, memory policy, name.
 * So the member goes to its own kernel thread first. pthread_create is in hooks.c. What the stub
 * stands before (exec, posix_spawn, system, popen) calls back.
 */
#include "own.h"

#include <sched.h>
#include <stdarg.h>
#include <threads.h>
#include <unistd.h>
#include <wordexp.h>

extern pid_t _Fork(void);
/* <pty.h> is not needed for more. */
struct termios;
struct winsize;
extern int forkpty(int *terminal, char *name, const struct termios *modes, const struct winsize *size);

ABOUT_THREAD(int, thrd_create, (thrd_t *thread, thrd_start_t start, void *argument), (thread, start, argument))
ABOUT_THREAD(pid_t, fork, (void), ())
ABOUT_THREAD(pid_t, _Fork, (void), ())
ABOUT_THREAD(int, daemon, (int stay, int keep), (stay, keep))
ABOUT_THREAD(int, forkpty, (int *terminal, char *name, const struct termios *modes, const struct winsize *size),
             (terminal, name, modes, size))
ABOUT_THREAD(int, wordexp, (const char *words, wordexp_t *result, int flags), (words, result, flags))

SHIM_EXPORT int clone(int (*start)(void *), void *stack, int flags, void *argument, ...)
{
    va_list list;
    void *words[3];
    va_start(list, argument);
    for (unsigned i = 0; i < 3; i++)
        words[i] = va_arg(list, void *);
    va_end(list);
    own_thread();
    return REAL(clone)(start, stack, flags, argument, words[0], words[1], words[2]);
}

/* The child of vfork returns on its parent's stack, so nothing may be left there: a jump. */
void *nm_before_vfork(void) __attribute__((visibility("hidden")));
__attribute__((constructor)) void *nm_before_vfork(void)
{
    own_thread();
    return (void *)REAL(vfork);
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
extern void numaestro_at_birth(void (*prepare)(void)) __attribute__((weak));

__attribute__((constructor)) static void tell_stub(void)
{
    if (numaestro_at_birth)
        numaestro_at_birth(own_thread);
}
