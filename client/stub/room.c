/* room.c - memory and a stack for the time of a call.
 *
 * A thread may have 16 KiB of stack and a handler of signals less, and to start a program needs
 * little of it. To look at the program needs more. So this happens on a stack of ours.
 *
 * Signals are blocked on it: a handler must find the stack that its program has made. A room is
 * kept for the next call. A child of vfork that becomes another program gives its room back to
 * its parent by the kernel's hand: the kernel writes a zero where such a child has asked for it.
 */
#include "stub.h"

#include <sys/mman.h>

#define ROOMS 16u
#define STACK_BYTES (96u << 10)
#define USUAL_BYTES (128u << 10) /* besides the stack */

static struct kept {
    _Atomic int32_t used; /* 0 = nobody uses it */
    void *_Atomic at;
} kept[ROOMS];

void *nm_stub_map(size_t bytes)
{
    long at = nm_system(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

static struct kept *take_kept(void)
{
    for (unsigned i = 0; i < ROOMS; i++) {
        int32_t nobody = 0;
        if (!__atomic_compare_exchange_n((int32_t *)&kept[i].used, &nobody, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        if (!kept[i].at)
            kept[i].at = nm_stub_map(STACK_BYTES + USUAL_BYTES);
        if (kept[i].at)
            return &kept[i];
        kept[i].used = 0;
        return NULL;
    }
    return NULL;
}

void *nm_room_take(struct nm_room *room, size_t bytes)
{
    room->kept = bytes <= USUAL_BYTES ? take_kept() : NULL;
    room->bytes = STACK_BYTES + (room->kept ? USUAL_BYTES : bytes);
    room->at = room->kept ? room->kept->at : nm_stub_map(room->bytes);
    return room->at ? (char *)room->at + STACK_BYTES : NULL;
}

void nm_room_leave(struct nm_room *room)
{
    if (room->kept)
        room->kept->used = 0;
    else if (room->at)
        nm_system3(SYS_munmap, room->at, room->bytes, 0);
}

/* Before an exec. Who has failed leaves the room as usual. */
void nm_room_hand_over(struct nm_room *room)
{
    if (room->kept && !nm_stub_is_sealed() && nm_stub_is_vfork_child())
        nm_system3(SYS_set_tid_address, &room->kept->used, 0, 0);
}

void nm_room_hand_back(struct nm_room *room)
{
    if (room->kept && !nm_stub_is_sealed() && nm_stub_is_vfork_child())
        nm_system3(SYS_set_tid_address, NULL, 0, 0);
}

void nm_room_call(void (*function)(void *), void *argument, void *stack) __attribute__((visibility("hidden")));

void nm_room_run(const struct nm_room *room, void (*function)(void *), void *argument)
{
    uint64_t all = ~0ull, before = 0;
    nm_system4(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &before, sizeof all);
    nm_room_call(function, argument, (char *)room->at + STACK_BYTES);
    nm_system4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, NULL, sizeof before);
}

#if defined(__x86_64__)
__asm__(".text\n.hidden nm_room_call\n.globl nm_room_call\n.type nm_room_call, @function\n.p2align 4\nnm_room_call:\n"
        "    endbr64\n"
        "    pushq %rbp\n"
        "    movq %rsp, %rbp\n"
        "    movq %rdx, %rsp\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    call *%rax\n"
        "    movq %rbp, %rsp\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size nm_room_call, . - nm_room_call\n");
#else
__asm__(".text\n.hidden nm_room_call\n.globl nm_room_call\n.type nm_room_call, %function\n.p2align 4\nnm_room_call:\n"
        "    hint #34\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    mov x29, sp\n"
        "    mov sp, x2\n"
        "    mov x9, x0\n"
        "    mov x0, x1\n"
        "    blr x9\n"
        "    mov sp, x29\n"
        "    ldp x29, x30, [sp], #16\n"
        "    ret\n"
        ".size nm_room_call, . - nm_room_call\n");
#endif
