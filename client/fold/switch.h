/* switch.h - leaving one context for another in user space, for the processors that can do it.
 *
 * A context is a stack with a thread pointer. What the C calling convention keeps across a call
 * (callee-saved registers, rounding modes, stack) is saved on the stack that is left; all other
 * registers are dead at a call. The thread pointer goes with the stack, and with it thread-local
 * storage, errno, malloc's caches and the runtime's own idea of the thread.
 */
#ifndef NUMAESTRO_SWITCH_H
#define NUMAESTRO_SWITCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Saves the caller in `*save`, and goes on at `load` with the thread pointer `tls`. When nothing
 * runs on the stack that was left any more, `*released` becomes 0 with release order, unless it is
 * NULL. Returns when somebody loads `*save`. */
void nm_switch(void **save, void *load, uintptr_t tls, _Atomic uint32_t *released) __attribute__((visibility("hidden")));

/* A stack that, when loaded, calls `entry(argument)` with the rounding modes of the caller. `entry`
 * never returns. */
void *nm_switch_stack(void *top, void (*entry)(void *), void *argument) __attribute__((visibility("hidden")));

/* The kernel lets user space write the thread pointer, and nothing else would have to be switched
 * with it. */
enum nm_fold_why nm_switch_refused(void) __attribute__((visibility("hidden")));

uintptr_t nm_thread_pointer(void) __attribute__((visibility("hidden")));

#endif
