/* syscall.c - corrects the mask that libomp reads at its start, and the one that it gives its new
 * threads.
 *
 * libomp reads the mask of its process once, keeps it for ever, and puts every thread that it makes
 * on it (in its sources: __kmp_affin_fullMask and __kmp_affinity_set_init_mask). While we narrow
 * the process, the mask that it reads is ours; a thread that it makes after our end would stay on
 * it. So libomp must read the user's own mask, and a thread that libomp binds stays on the
 * processors that the manager allows the program (places.c). libomp asks the kernel by the C
 * library's syscall(), which every LLVM libomp and Intel's libiomp5 import: this file stands in
 * front of that one function. numbers.h has the other calls that are looked at (state.c). It passes
 * every call on by a jump with all registers and the stack unchanged, which only assembly can
 * promise: a compiler may write the stack words of the caller that it takes for arguments, and
 * these may hold a futex.
 */
#include "numbers.h"
#include "own.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#if defined(__x86_64__) || defined(__aarch64__)

typedef long (*nm_syscall_fn)(long, ...);

/* Used by the assembly below. */
nm_syscall_fn nm_real_syscall __attribute__((visibility("hidden")));
long nm_syscall_of_masks(long number, pid_t tid, size_t bytes, void *mask, const void *caller)
    __attribute__((visibility("hidden")));

/* Looked up before the program has threads or handlers: the first call from one of these would be a
 * bad time for it. */
__attribute__((constructor)) void nm_find_syscall(void)
{
    if (!nm_real_syscall)
        nm_real_syscall = (nm_syscall_fn)nm_next_symbol("syscall");
}

/* Of the shim's own code, by the linker: what it does for the kernel thread that it runs on is
 * never a member's wish. On both machines a function without a fixed number of arguments finds them
 * where this one does. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) __attribute__((visibility("hidden")));
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    nm_find_syscall();
    return nm_real_syscall(number, a, b, c, d, e, f);
}

long nm_syscall_of_masks(long number, pid_t tid, size_t bytes, void *mask, const void *caller)
{
    nm_find_syscall();
    bool own = tid == 0 && mask && nm_is_libomp(caller);
    if (number == SYS_seccomp)
        nm_seal();
    if (number != SYS_sched_getaffinity && !own)
        own_thread();
    if (own && number == SYS_sched_getaffinity)
        return nm_place_read(bytes, mask);
    if (own && number == SYS_sched_setaffinity) {
        int error = nm_place_self(bytes, mask);
        if (error)
            errno = error;
        return error ? -1 : 0;
    }
    if (number == SYS_sched_setaffinity)
        nm_places_change();
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
        "    cmpq $" NM_NUMBER(NM_SYSCALLS) ", %rdi\n"
        "    jae 1f\n"
        "    leaq nm_syscall_ways(%rip), %r11\n"
        "    cmpb $0, (%r11,%rdi)\n"
        "    jne 2f\n"
        "1:  movq nm_real_syscall(%rip), %rax\n"
        "    testq %rax, %rax\n"
        "    jz 3f\n"
        "    jmp *%rax\n"
        "2:  cmpb $1, (%r11,%rdi)\n" /* NM_BY_MASKS */
        "    jne 3f\n"
        "    movq (%rsp), %r8\n"
        "    jmp nm_syscall_of_masks\n"
        "3:  pushq %rdi\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rdx\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rcx\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r8\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r9\n    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n    .cfi_adjust_cfa_offset 8\n"
        "    call nm_syscall_about\n"
        "    movq %rdx, %r11\n"
        "    addq $8, %rsp\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %r9\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %r8\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rcx\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdx\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n    .cfi_adjust_cfa_offset -8\n"
        "    testq %rax, %rax\n"
        "    jz 1b\n"
        "    movq %r11, %rax\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size syscall, .-syscall\n");
#else
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, %function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "    hint #34\n"
        "    cmp x0, #" NM_NUMBER(NM_SYSCALLS) "\n"
        "    b.hs 1f\n"
        "    adrp x16, nm_syscall_ways\n"
        "    add x16, x16, :lo12:nm_syscall_ways\n"
        "    ldrb w16, [x16, x0]\n"
        "    cbnz w16, 2f\n"
        "1:  adrp x16, nm_real_syscall\n"
        "    ldr x16, [x16, #:lo12:nm_real_syscall]\n"
        "    cbz x16, 3f\n"
        "    br x16\n"
        "2:  cmp w16, #1\n" /* NM_BY_MASKS */
        "    b.ne 3f\n"
        "    mov x4, x30\n"
        "    b nm_syscall_of_masks\n"
        "3:  stp x0, x1, [sp, #-64]!\n    .cfi_adjust_cfa_offset 64\n"
        "    stp x2, x3, [sp, #16]\n"
        "    stp x4, x5, [sp, #32]\n"
        "    stp x6, x30, [sp, #48]\n    .cfi_rel_offset 30, 56\n"
        "    bl nm_syscall_about\n"
        "    mov x16, x0\n"
        "    mov x17, x1\n"
        "    ldp x2, x3, [sp, #16]\n"
        "    ldp x4, x5, [sp, #32]\n"
        "    ldp x6, x30, [sp, #48]\n    .cfi_restore 30\n"
        "    ldp x0, x1, [sp], #64\n    .cfi_adjust_cfa_offset -64\n"
        "    cbz x16, 1b\n"
        "    mov x0, x17\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size syscall, .-syscall\n");
#endif

#else

extern long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) __attribute__((visibility("hidden")));
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    return __real_syscall(number, a, b, c, d, e, f);
}

#endif
