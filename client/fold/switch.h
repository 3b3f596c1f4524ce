/* switch.h - leaving one context for another in user space, for the processors that can do it.
 *
 * A context is a stack with a thread pointer. A switch saves on the old stack all that a thread
 * keeps across a call (callee-saved registers, rounding modes and exception flags, on x86-64 the GS
 * base); all other registers are dead at a call. The thread pointer goes with the stack, and
 * thread-local storage goes with the thread pointer: errno, malloc's caches, and the runtime's
 * record of the thread.
 */
#ifndef NUMAESTRO_SWITCH_H
#define NUMAESTRO_SWITCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Saves the caller in `*save`, and goes on at `load` with the thread pointer `tls`. When nothing
 * runs on the old stack any more, `*released` becomes 0 with release order, unless `released` is
 * NULL. Returns when some carrier loads `*save`. */
void nm_switch(void **save, void *load, uintptr_t tls, _Atomic uint32_t *released) __attribute__((visibility("hidden")));

/* Makes a stack that, when loaded, calls `entry(argument)` with the modes, flags and GS base of the
 * caller. `entry` never returns. */
void *nm_switch_stack(void *top, void (*entry)(void *), void *argument) __attribute__((visibility("hidden")));

/* The reason why contexts cannot be switched here. NM_WHY_NONE: the kernel lets user space write
 * the thread pointer, and nothing else would have to be switched with it. */
enum nm_fold_why nm_switch_refused(void) __attribute__((visibility("hidden")));

/* Whether an instruction of nm_switch is at this address. */
bool nm_switch_is_at(uintptr_t address) __attribute__((visibility("hidden")));

uintptr_t nm_thread_pointer(void) __attribute__((visibility("hidden")));

#endif
