/* kernel.h - the system calls that the scheduler makes, without thread-local storage.
 *
 * A parked carrier has the thread pointer of a context that may be running elsewhere. The C
 * library's calls write errno, and some read more of the thread; these do not.
 */
#ifndef NUMAESTRO_FOLD_KERNEL_H
#define NUMAESTRO_FOLD_KERNEL_H

#include "sanitize.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#define NM_BRIEF_NS 1000000

/* System calls without errno, which is thread-local. */
static inline NM_ON_ANY_STACK long nm_raw(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                  x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#else
    (void)number, (void)a, (void)b, (void)c, (void)d;
    return -1;
#endif
}

/* Sleeps until some thread wakes it; with `briefly`, only for a short time. */
static inline NM_ON_ANY_STACK void nm_sleep_on(_Atomic uint32_t *word, uint32_t value, bool briefly)
{
    static const struct timespec brief = {0, NM_BRIEF_NS};
    nm_raw(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, briefly ? (long)&brief : 0);
}

static inline NM_ON_ANY_STACK void nm_wake(_Atomic uint32_t *word)
{
    nm_raw(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
}

static inline void nm_pause_once(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* The vDSO's clock uses no thread-local storage. */
static inline uint64_t nm_vdso_ns(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Signals that can be put off. Those about the instruction that a thread executes, and the C
 * library's own two, cannot. */
static inline NM_ON_ANY_STACK uint64_t nm_all_signals(void)
{
    static const int kept[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, 32, 33};
    uint64_t mask = ~0ull;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        mask &= ~(1ull << (kept[i] - 1));
    return mask;
}

/* Blocks the signals that a carrier must not take, because its thread is not the one that it seems
 * to be. Returns what was blocked before. */
static inline NM_ON_ANY_STACK uint64_t nm_block_signals(void)
{
    uint64_t mask = nm_all_signals(), before = 0;
    nm_raw(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mask, (long)&before, 8);
    return before;
}

static inline void nm_restore_signals(uint64_t mask)
{
    nm_raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8);
}

static inline uint64_t nm_blocked_signals(void)
{
    uint64_t mask = 0;
    nm_raw(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, 8);
    return mask;
}

/* Sends one thread of the process a signal. Returns 0 or an error number. */
static inline int nm_signal_thread(int32_t tid, int number)
{
    return (int)-nm_raw(SYS_tgkill, nm_raw(SYS_getpid, 0, 0, 0, 0), tid, number, 0);
}

/* Signals for this kernel thread that it blocks. */
static inline uint64_t nm_pending_signals(void)
{
    uint64_t pending = 0;
    nm_raw(SYS_rt_sigpending, (long)&pending, 8, 0, 0);
    return pending;
}

#endif
