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
#define ARCH_SHSTK_STATUS 0x5005

/* Saved, from the lowest address: mxcsr (4 bytes), x87 control word (2), x87 exception flags (2),
 * GS base (8), callee-saved registers. */
#define PUSH(register) "  push %" register "\n  .cfi_adjust_cfa_offset 8\n"
#define POP(register) "  pop %" register "\n  .cfi_adjust_cfa_offset -8\n"

__asm__(".text\n"
        ".globl nm_switch\n.hidden nm_switch\n.type nm_switch,@function\n"
        "nm_switch:\n"
        ".cfi_startproc\n"
        PUSH("rbp") PUSH("rbx") PUSH("r12") PUSH("r13") PUSH("r14") PUSH("r15")
        /* Each word is read at the width at which it was written, or the processor waits for both
         * stores. */
        "  stmxcsr -32(%rsp)\n  fnstcw -24(%rsp)\n  fnstsw %ax\n"
        "  rdgsbase %r9\n"
        "  movzbl %al,%eax\n  shl $16,%eax\n"
        "  movzwl -24(%rsp),%r8d\n  or %r8d,%eax\n  shl $32,%rax\n"
        "  mov -32(%rsp),%r8d\n  or %r8,%rax\n"
        PUSH("r9") PUSH("rax")
        "  mov %rsp,(%rdi)\n"
        "  mov %rsi,%rsp\n"
        "  wrfsbase %rdx\n"
        "  test %rcx,%rcx\n  jz 1f\n"
        "  movl $0,(%rcx)\n" /* x86 stores are in order: what was saved is seen before this */
        "1:\n"
        "  cmp (%rsp),%rax\n  jne 3f\n"
        "2:\n"
        "  cmp 8(%rsp),%r9\n  jne 6f\n"
        "7:\n"
        "  .cfi_remember_state\n"
        "  add $16,%rsp\n  .cfi_adjust_cfa_offset -16\n"
        POP("r15") POP("r14") POP("r13") POP("r12") POP("rbx") POP("rbp")
        "  ret\n"
        "  .cfi_restore_state\n"
        /* mxcsr often differs, because its flags record past exceptions; the x87 words hardly ever
         * differ, and are slow to load. */
        "3:\n"
        "  cmp (%rsp),%eax\n  je 4f\n  ldmxcsr (%rsp)\n"
        "4:\n"
        "  mov 4(%rsp),%r8d\n  shr $32,%rax\n"
        "  cmp %r8d,%eax\n  je 2b\n"
        "  test $0xff0000,%r8d\n  jnz 5f\n"
        "  fnclex\n  fldcw 4(%rsp)\n  jmp 2b\n"
        /* Only a whole environment can set flags. An exception that is pending here must not be
         * raised for the other context: until then no instruction may wait. */
        "5:\n"
        "  fnstenv -32(%rsp)\n"
        "  mov %r8w,-32(%rsp)\n  shr $16,%r8d\n"
        "  andw $0x7f00,-28(%rsp)\n  or %r8w,-28(%rsp)\n"
        "  fldenv -32(%rsp)\n  jmp 2b\n"
        "6:\n"
        "  mov 8(%rsp),%r9\n  wrgsbase %r9\n  jmp 7b\n"
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
    uint64_t *at = (uint64_t *)((uintptr_t)top & ~(uintptr_t)15), gs;
    uint32_t mxcsr;
    uint16_t control, status;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2\n\trdgsbase %3"
                     : "=m"(mxcsr), "=m"(control), "=a"(status), "=r"(gs));
    *--at = 0;
    *--at = 0; /* nm_switch_begin begins with an aligned stack */
    *--at = (uint64_t)(uintptr_t)nm_switch_begin;
    *--at = 0;                              /* rbp */
    *--at = 0;                              /* rbx */
    *--at = (uint64_t)(uintptr_t)argument;  /* r12 */
    *--at = (uint64_t)(uintptr_t)entry;     /* r13 */
    *--at = 0;                              /* r14 */
    *--at = 0;                              /* r15 */
    *--at = gs;
    *--at = mxcsr | (uint64_t)control << 32 | (uint64_t)(status & 0xff) << 48;
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
    unsigned long features = 0;
    if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE))
        return NM_WHY_MACHINE;
    /* A shadow stack would have to be switched too. Older kernels do not know the question, and
     * this may be in the middle of a region: the answer must not show in errno. */
    if (nm_raw(SYS_arch_prctl, ARCH_SHSTK_STATUS, (long)&features, 0, 0) == 0 && features != 0)
        return NM_WHY_SHADOW;
    return NM_WHY_NONE;
}

#elif defined(__aarch64__)

#define SAVED_BYTES 176
#define SAVED(register, at) "  .cfi_offset " register "," at "-176\n"

__asm__(".text\n"
        ".globl nm_switch\n.hidden nm_switch\n.type nm_switch,%function\n"
        "nm_switch:\n"
        ".cfi_startproc\n"
        "  sub sp, sp, #176\n  .cfi_adjust_cfa_offset 176\n"
        "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        SAVED("19", "0") SAVED("20", "8") SAVED("21", "16") SAVED("22", "24") SAVED("23", "32") SAVED("24", "40")
        SAVED("25", "48") SAVED("26", "56") SAVED("27", "64") SAVED("28", "72") SAVED("29", "80") SAVED("30", "88")
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mrs x9, fpcr\n  mrs x12, fpsr\n  stp x9, x12, [sp, #160]\n"
        "  mov x10, sp\n  str x10, [x0]\n"
        "  mov sp, x1\n"
        "  msr tpidr_el0, x2\n"
        "  cbz x3, 1f\n"
        "  stlr wzr, [x3]\n"
        "1:\n"
        "  ldp x11, x13, [sp, #160]\n"
        "  cmp x9, x11\n  b.eq 2f\n  msr fpcr, x11\n"
        "2:\n"
        "  cmp x12, x13\n  b.eq 3f\n  msr fpsr, x13\n"
        "3:\n"
        "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #176\n  .cfi_adjust_cfa_offset -176\n"
        "  ret\n"
        ".cfi_endproc\n"
        ".size nm_switch,.-nm_switch\n"
        ".type nm_switch_begin,%function\n"
        "nm_switch_begin:\n"
        ".cfi_startproc\n.cfi_undefined 30\n"
        "  mov x0, x19\n"
        "  mov x29, xzr\n"
        "  mov x30, xzr\n"
        "  blr x20\n"
        "  brk #0\n"
        ".cfi_endproc\n"
        ".size nm_switch_begin,.-nm_switch_begin\n");

extern void nm_switch_begin(void) __attribute__((visibility("hidden")));

void *nm_switch_stack(void *top, void (*entry)(void *), void *argument)
{
    uint64_t *at = (uint64_t *)(((uintptr_t)top & ~(uintptr_t)15) - SAVED_BYTES);
    uint64_t control, status;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status));
    for (unsigned i = 0; i < SAVED_BYTES / 8; i++)
        at[i] = 0;
    at[0] = (uint64_t)(uintptr_t)argument;          /* x19 */
    at[1] = (uint64_t)(uintptr_t)entry;             /* x20 */
    at[11] = (uint64_t)(uintptr_t)nm_switch_begin;  /* x30 */
    at[20] = control;
    at[21] = status;
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
