/* syscall.c - corrects the mask that libomp reads at its start, and the one that it gives its new
 * threads.
 *
 * libomp reads the mask of its process once, keeps it for ever, and puts every thread that it makes
 * on it (in its sources: __kmp_affin_fullMask and __kmp_affinity_set_init_mask). While we narrow
 * the process, the mask that it reads is ours; a thread that it makes after our end would stay on
 * it. So libomp must read the user's own mask, and a thread that libomp binds stays on the
 * processors that the manager allows the program (places.c). libomp asks the kernel by the C library's
 * syscall(), which every LLVM libomp and Intel's libiomp5 import: this file stands in front of that
 * one function. It passes every other call on by a jump with all registers and the stack unchanged,
 * which only assembly can promise: a compiler may write the stack words of the caller that it takes
 * for arguments, and these may hold a futex.
 */
#include "shim.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#if defined(__x86_64__) || defined(__aarch64__)

typedef long (*nm_syscall_fn)(long, ...);

/* First byte of this library, and the one after its last, from the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char end[] __attribute__((visibility("hidden")));

/* Used by the assembly below. */
nm_syscall_fn nm_real_syscall __attribute__((visibility("hidden")));
void nm_find_syscall(void) __attribute__((visibility("hidden")));
long nm_syscall_of_masks(long number, pid_t tid, size_t bytes, void *mask, const void *caller)
    __attribute__((visibility("hidden")));

/* Looked up before the program has threads or handlers: the first call from one of these would be a
 * bad time for it. */
__attribute__((constructor)) void nm_find_syscall(void)
{
    if (!nm_real_syscall)
        nm_real_syscall = (nm_syscall_fn)nm_next_symbol("syscall");
}

static bool is_libomp(const void *caller)
{
    const char *at = caller;
    return !(at >= __ehdr_start && at < end) && nm_is_libomp(caller);
}

long nm_syscall_of_masks(long number, pid_t tid, size_t bytes, void *mask, const void *caller)
{
    nm_find_syscall();
    if (number == SYS_seccomp)
        nm_seal();
    bool own = tid == 0 && mask && is_libomp(caller);
    if (own && number == SYS_sched_getaffinity)
        return nm_place_read(bytes, mask);
    if (own && number == SYS_sched_setaffinity) {
        int error = nm_place_self(bytes, mask);
        if (error)
            errno = error;
        return error ? -1 : 0;
    }
    long result = nm_real_syscall(number, tid, bytes, mask);
    /* numactl, for one, binds itself by this way, and then becomes the program. */
    if (result == 0 && number == SYS_sched_setaffinity && nm_is_pool(caller))
        nm_sizing_bound(tid, bytes, mask);
    return result;
}

#define NM_STRING(x) #x
#define NM_NUMBER(x) NM_STRING(x)

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "    endbr64\n"
        "    cmpq $" NM_NUMBER(SYS_sched_setaffinity) ", %rdi\n"
        "    je 2f\n"
        "    cmpq $" NM_NUMBER(SYS_sched_getaffinity) ", %rdi\n"
        "    je 2f\n"
        "    cmpq $" NM_NUMBER(SYS_seccomp) ", %rdi\n"
        "    je 2f\n"
        "1:  movq nm_real_syscall(%rip), %rax\n"
        "    testq %rax, %rax\n"
        "    jz 3f\n"
        "    jmp *%rax\n"
        "2:  movq (%rsp), %r8\n"
        "    jmp nm_syscall_of_masks\n"
        "3:  pushq %rdi\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rdx\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rcx\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r8\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r9\n    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n    .cfi_adjust_cfa_offset 8\n"
        "    call nm_find_syscall\n"
        "    addq $8, %rsp\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %r9\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %r8\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rcx\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdx\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n    .cfi_adjust_cfa_offset -8\n"
        "    jmp 1b\n"
        ".cfi_endproc\n"
        ".size syscall, .-syscall\n");
#else
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, %function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "    hint #34\n"
        "    cmp x0, #" NM_NUMBER(SYS_sched_setaffinity) "\n"
        "    b.eq 2f\n"
        "    cmp x0, #" NM_NUMBER(SYS_sched_getaffinity) "\n"
        "    b.eq 2f\n"
        "    mov x16, #" NM_NUMBER(SYS_seccomp) "\n"
        "    cmp x0, x16\n"
        "    b.eq 2f\n"
        "1:  adrp x16, nm_real_syscall\n"
        "    ldr x16, [x16, #:lo12:nm_real_syscall]\n"
        "    cbz x16, 3f\n"
        "    br x16\n"
        "2:  mov x4, x30\n"
        "    b nm_syscall_of_masks\n"
        "3:  stp x0, x1, [sp, #-64]!\n    .cfi_adjust_cfa_offset 64\n"
        "    stp x2, x3, [sp, #16]\n"
        "    stp x4, x5, [sp, #32]\n"
        "    stp x6, x30, [sp, #48]\n    .cfi_rel_offset 30, 56\n"
        "    bl nm_find_syscall\n"
        "    ldp x2, x3, [sp, #16]\n"
        "    ldp x4, x5, [sp, #32]\n"
        "    ldp x6, x30, [sp, #48]\n    .cfi_restore 30\n"
        "    ldp x0, x1, [sp], #64\n    .cfi_adjust_cfa_offset -64\n"
        "    b 1b\n"
        ".cfi_endproc\n"
        ".size syscall, .-syscall\n");
#endif

#endif
