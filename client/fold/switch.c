/* switch.c - nm_switch for x86-64 with FSGSBASE and for aarch64; elsewhere the kernel folds.
 *
 * Nothing here may use thread-local storage: between the two halves of a switch the thread pointer
 * and the stack belong to different contexts.
 */
#include "fold.h"
#include "kernel.h"

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__LP64__)

#define HWCAP2_FSGSBASE (1u << 1)
#define ARCH_GET_GS 0x1004
#define ARCH_SHSTK_STATUS 0x5005

__asm__(".text\n"
        ".globl nm_switch\n.hidden nm_switch\n.type nm_switch,@function\n"
        "nm_switch:\n"
        ".cfi_startproc\n"
        "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  sub $8,%rsp\n"
        "  stmxcsr (%rsp)\n  fnstcw 4(%rsp)\n"
        /* The rounding modes that are in force: each is read at the width at which it was written,
         * or the processor waits for both stores. */
        "  mov (%rsp),%eax\n  movzwl 4(%rsp),%r8d\n"
        "  mov %rsp,(%rdi)\n"
        "  mov %rsi,%rsp\n"
        "  wrfsbase %rdx\n"
        "  test %rcx,%rcx\n  jz 1f\n"
        "  movl $0,(%rcx)\n" /* x86 stores are in order: what was saved is seen before this */
        "1:\n"
        /* mxcsr often differs, because its flags record past exceptions; the x87 word hardly ever
         * differs, and is slow to load. */
        "  cmp (%rsp),%eax\n  je 2f\n  ldmxcsr (%rsp)\n"
        "2:\n"
        "  cmp 4(%rsp),%r8w\n  jne 4f\n"
        "3:\n"
        "  add $8,%rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
        "  ret\n"
        "4:\n"
        "  fldcw 4(%rsp)\n  jmp 3b\n"
        ".cfi_endproc\n"
        ".size nm_switch,.-nm_switch\n"
        ".type nm_switch_begin,@function\n"
        "nm_switch_begin:\n"
        ".cfi_startproc\n.cfi_undefined rip\n"
        "  mov %r12,%rdi\n"
        "  xor %ebp,%ebp\n"
        "  call *%r13\n"
        "  ud2\n"
        ".cfi_endproc\n"
        ".size nm_switch_begin,.-nm_switch_begin\n");

extern void nm_switch_begin(void) __attribute__((visibility("hidden")));

void *nm_switch_stack(void *top, void (*entry)(void *), void *argument)
{
    uint64_t *at = (uint64_t *)((uintptr_t)top & ~(uintptr_t)15);
    uint32_t mxcsr;
    uint16_t control;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(control));
    *--at = 0;
    *--at = 0; /* nm_switch_begin begins with an aligned stack */
    *--at = (uint64_t)(uintptr_t)nm_switch_begin;
    *--at = 0;                              /* rbp */
    *--at = 0;                              /* rbx */
    *--at = (uint64_t)(uintptr_t)argument;  /* r12 */
    *--at = (uint64_t)(uintptr_t)entry;     /* r13 */
    *--at = 0;                              /* r14 */
    *--at = 0;                              /* r15 */
    *--at = mxcsr | (uint64_t)control << 32;
    return at;
}

bool nm_switch_is_at(uintptr_t address)
{
    return address >= (uintptr_t)nm_switch && address < (uintptr_t)nm_switch_begin;
}

uintptr_t nm_thread_pointer(void)
{
    uintptr_t value;
    __asm__ volatile("rdfsbase %0" : "=r"(value));
    return value;
}

enum nm_fold_why nm_switch_refused(void)
{
    unsigned long base = 0, features = 0;
    if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE))
        return NM_WHY_MACHINE;
    /* A shadow stack would have to be switched too. A program that sets the GS base uses it for
     * something of its own. Older kernels know neither question, and this may be in the middle of a
     * region: the answer must not show in errno. */
    if (nm_raw(SYS_arch_prctl, ARCH_SHSTK_STATUS, (long)&features, 0, 0) == 0 && features != 0)
        return NM_WHY_SHADOW;
    if (nm_raw(SYS_arch_prctl, ARCH_GET_GS, (long)&base, 0, 0) != 0 || base != 0)
        return NM_WHY_MACHINE;
    return NM_WHY_NONE;
}

#elif defined(__aarch64__)

#define SAVED_BYTES 176

__asm__(".text\n"
        ".globl nm_switch\n.hidden nm_switch\n.type nm_switch,%function\n"
        "nm_switch:\n"
        "  sub sp, sp, #176\n"
        "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mrs x9, fpcr\n  str x9, [sp, #160]\n"
        "  mov x10, sp\n  str x10, [x0]\n"
        "  mov sp, x1\n"
        "  msr tpidr_el0, x2\n"
        "  cbz x3, 1f\n"
        "  stlr wzr, [x3]\n"
        "1:\n"
        "  ldr x11, [sp, #160]\n  cmp x9, x11\n  b.eq 2f\n  msr fpcr, x11\n"
        "2:\n"
        "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #176\n"
        "  ret\n"
        ".size nm_switch,.-nm_switch\n"
        ".type nm_switch_begin,%function\n"
        "nm_switch_begin:\n"
        "  mov x0, x19\n"
        "  mov x29, xzr\n"
        "  mov x30, xzr\n"
        "  blr x20\n"
        "  brk #0\n"
        ".size nm_switch_begin,.-nm_switch_begin\n");

extern void nm_switch_begin(void) __attribute__((visibility("hidden")));

void *nm_switch_stack(void *top, void (*entry)(void *), void *argument)
{
    uint64_t *at = (uint64_t *)(((uintptr_t)top & ~(uintptr_t)15) - SAVED_BYTES);
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    for (unsigned i = 0; i < SAVED_BYTES / 8; i++)
        at[i] = 0;
    at[0] = (uint64_t)(uintptr_t)argument;          /* x19 */
    at[1] = (uint64_t)(uintptr_t)entry;             /* x20 */
    at[11] = (uint64_t)(uintptr_t)nm_switch_begin;  /* x30 */
    at[20] = control;
    return at;
}

bool nm_switch_is_at(uintptr_t address)
{
    return address >= (uintptr_t)nm_switch && address < (uintptr_t)nm_switch_begin;
}

uintptr_t nm_thread_pointer(void)
{
    uintptr_t value;
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(value));
    return value;
}

enum nm_fold_why nm_switch_refused(void)
{
    return NM_WHY_NONE;
}

#else

void nm_switch(void **save, void *load, uintptr_t tls, _Atomic uint32_t *released)
{
    (void)save;
    (void)load;
    (void)tls;
    (void)released;
    __builtin_trap(); /* nm_switch_refused keeps every caller from coming here */
}

void *nm_switch_stack(void *top, void (*entry)(void *), void *argument)
{
    (void)entry;
    (void)argument;
    return top;
}

bool nm_switch_is_at(uintptr_t address)
{
    (void)address;
    return false;
}

uintptr_t nm_thread_pointer(void)
{
    return 0;
}

enum nm_fold_why nm_switch_refused(void)
{
    return NM_WHY_MACHINE;
}

#endif
