/* signals.c - a handler of the program for a signal of the process runs in the context that opens
 * the regions, as it does without folding: with that thread's data, on its stack.
 *
 * The root's kernel thread takes the signals of the process, also while it runs another context of
 * a folded team. So from the first folded team on, the kernel knows a function of ours as the
 * handler of each signal that the program handles; it asks nm_fold_takes (fold/team.c has the
 * design) and then runs the program's handler with the mask, flags and arguments that the program
 * has asked for. The wrappers below answer as if the program's own handler were there. What they do
 * not see (a bare system call) is handled where it comes. A child that executes another program
 * has no handlers; one after a fork has no team, and the program's handlers run at once.
 *
 * Left alone are signals about an instruction or a call of the thread that they come to, and those
 * of the clocks that count processor time: these tell of the thread that runs.
 *
 * A signal that the root blocks and another thread of the team does not is meant for that one. All
 * carriers but the root's block signals as long as the team is folded or held. So such a team is
 * dissolved, and left to the kernel while the masks are like that: its threads need no masks of
 * their own in between.
 */
#include "../fold/kernel.h"
#include "own.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define SIGNALS 65

struct action {
    void (*handler)(int, siginfo_t *, void *); /* with SA_SIGINFO; else the kind with one argument */
    int flags;
    uint64_t mask;
};

static struct entry {
    _Atomic uint32_t version; /* odd while the action is being written */
    struct action action;
} entries[SIGNALS];

static _Atomic uint64_t root_blocks; /* as of the latest call of nm_signals_follow */
static _Atomic uint64_t left_to_others; /* signals that the root has once blocked so that another thread takes them */
static atomic_flag writing = ATOMIC_FLAG_INIT;
static _Atomic bool follows;

static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);

/* A mask of the kernel is the first word of the C library's. */
static uint64_t word_of(const sigset_t *set)
{
    uint64_t word;
    memcpy(&word, set, sizeof word);
    return word;
}

static bool is_ours(int number)
{
    static const int about_the_thread[] = {SIGPIPE, SIGXFSZ, SIGPROF, SIGVTALRM};
    if (number < 1 || number >= SIGNALS || !(nm_all_signals() >> (number - 1) & 1))
        return false;
    for (size_t i = 0; i < sizeof about_the_thread / sizeof *about_the_thread; i++)
        if (number == about_the_thread[i])
            return false;
    return true;
}

/* A writer has all signals blocked, so no handler waits here for its own thread. */
static struct action action_of(int number)
{
    struct entry *entry = &entries[number];
    for (;;) {
        uint32_t version = atomic_load(&entry->version);
        struct action action = entry->action;
        atomic_thread_fence(memory_order_seq_cst);
        if (version % 2 == 0 && version == atomic_load(&entry->version))
            return action;
    }
}

static void handle(int number, siginfo_t *info, void *interrupted)
{
    ucontext_t *at = interrupted;
    if (NM_UNLIKELY(nm_context_self != NULL) && nm_fold_takes(number, info, at))
        return;
    struct action action = action_of(number);
    if (action.flags & SA_RESETHAND) {
        struct sigaction usual = {.sa_handler = SIG_DFL, .sa_flags = action.flags};
        memcpy(&usual.sa_mask, &action.mask, sizeof action.mask);
        real_sigaction(number, &usual, NULL);
    }
    nm_restore_signals(word_of(&at->uc_sigmask) | action.mask | (action.flags & SA_NODEFER ? 0 : 1ull << (number - 1)));
    action.handler(number, info, interrupted);
}

/* Puts our function in the place of the handler that the kernel knows, if it is one of the
 * program's. */
static void stand_in(int number)
{
    struct sigaction now;
    uint64_t before = nm_block_signals();
    while (atomic_flag_test_and_set_explicit(&writing, memory_order_acquire))
        nm_raw(SYS_sched_yield, 0, 0, 0, 0);
    if (real_sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN &&
        now.sa_sigaction != handle) {
        struct entry *entry = &entries[number];
        atomic_fetch_add(&entry->version, 1);
        entry->action = (struct action){now.sa_sigaction, now.sa_flags, word_of(&now.sa_mask)};
        atomic_fetch_add(&entry->version, 1);
        now.sa_sigaction = handle;
        now.sa_flags = (now.sa_flags | SA_SIGINFO) & ~(SA_RESETHAND | SA_NODEFER);
        uint64_t all = nm_all_signals();
        memcpy(&now.sa_mask, &all, sizeof all);
        real_sigaction(number, &now, NULL);
    }
    atomic_flag_clear_explicit(&writing, memory_order_release);
    nm_restore_signals(before);
}

static void in_child(void)
{
    atomic_flag_clear(&writing);
}

void nm_signals_follow(void)
{
    root_blocks = nm_blocked_signals();
    if (NM_LIKELY(follows))
        return;
    int saved = errno;
    if (!real_sigaction)
        real_sigaction = (__typeof__(real_sigaction))nm_next_symbol("sigaction");
    follows = true;
    pthread_atfork(NULL, NULL, in_child);
    for (int number = 1; number < SIGNALS; number++)
        if (is_ours(number))
            stand_in(number);
    errno = saved;
}

SHIM_EXPORT int sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
    if (NM_UNLIKELY(!real_sigaction))
        real_sigaction = (__typeof__(real_sigaction))nm_next_symbol("sigaction");
    if (NM_LIKELY(!follows) || !is_ours(number))
        return real_sigaction(number, new, old);
    struct action before = action_of(number);
    int code = real_sigaction(number, new, old);
    if (code == 0 && old && old->sa_sigaction == handle) {
        const int flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER;
        old->sa_sigaction = before.handler;
        old->sa_flags = (old->sa_flags & ~flags) | (before.flags & flags);
        memcpy(&old->sa_mask, &before.mask, sizeof before.mask);
    }
    if (code == 0 && new)
        stand_in(number);
    return code;
}

SHIM_EXPORT int __sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
    return sigaction(number, new, old);
}

bool nm_signals_differ(void)
{
    uint64_t left = nm_fold_left_to_others();
    left_to_others |= left;
    return left != 0;
}

bool nm_signals_left_to_others(void)
{
    return NM_UNLIKELY(left_to_others) && left_to_others & nm_blocked_signals();
}

bool nm_signals_are_left_to(uint32_t number)
{
    uint64_t left = root_blocks & ~nm_fold_carrier(number)->signals & nm_all_signals();
    left_to_others |= left;
    return left != 0;
}

typedef void (*handler_fn)(int);

#define SETS_HANDLER(name)                                                                                              \
    handler_fn name(int number, handler_fn handler);                                                                    \
    SHIM_EXPORT handler_fn name(int number, handler_fn handler)                                                         \
    {                                                                                                                   \
        static handler_fn (*_Atomic known)(int, handler_fn);                                                            \
        if (NM_UNLIKELY(!known))                                                                                        \
            known = (handler_fn(*)(int, handler_fn))nm_next_symbol(#name);                                              \
        return set_handler(known, number, handler);                                                                     \
    }

static handler_fn set_handler(handler_fn (*real)(int, handler_fn), int number, handler_fn handler)
{
    if (NM_LIKELY(!follows) || !is_ours(number))
        return real(number, handler);
    struct action before = action_of(number);
    handler_fn was = real(number, handler);
    if (was != SIG_ERR)
        stand_in(number);
    return was == (handler_fn)(void *)handle ? (handler_fn)(void *)before.handler : was;
}

SETS_HANDLER(signal)
SETS_HANDLER(bsd_signal)
SETS_HANDLER(ssignal)
SETS_HANDLER(sysv_signal)
SETS_HANDLER(__sysv_signal)

/* Masks: a thread of a team changes its own, on its own kernel thread. */

static inline void compare_masks(void)
{
    if (NM_UNLIKELY(nm_fold_is_open()))
        nm_whole_masks();
}

/* A member that did not get home changes the mask that it will have there. 0 or an error number;
 * -1: it is at home. */
static int change_mask(int how, const sigset_t *set, sigset_t *before)
{
    own_thread();
    uint64_t *mask = NM_UNLIKELY(nm_context_self != NULL) ? nm_fold_own_mask(nm_context_self) : NULL, bits = 0;
    if (NM_LIKELY(!mask))
        return -1;
    if (set)
        memcpy(&bits, set, sizeof bits);
    if (set && how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK)
        return EINVAL;
    if (before) {
        sigemptyset(before);
        memcpy(before, mask, sizeof *mask);
    }
    if (set)
        *mask = how == SIG_BLOCK ? *mask | bits : how == SIG_UNBLOCK ? *mask & ~bits : bits;
    return 0;
}

SHIM_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    int error = change_mask(how, set, before);
    if (NM_UNLIKELY(error >= 0))
        return error;
    error = REAL(pthread_sigmask)(how, set, before);
    compare_masks();
    return error;
}

SHIM_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
    int error = change_mask(how, set, before);
    if (NM_UNLIKELY(error >= 0)) {
        errno = error ? error : errno;
        return error ? -1 : 0;
    }
    int result = REAL(sigprocmask)(how, set, before);
    compare_masks();
    return result;
}

#define SETS_MASK(type, name, parameters, arguments)                                                                    \
    type name parameters;                                                                                               \
    SHIM_EXPORT type name parameters                                                                                    \
    {                                                                                                                   \
        static type(*_Atomic known) parameters;                                                                         \
        if (NM_UNLIKELY(!known))                                                                                        \
            known = (type(*) parameters)nm_next_symbol(#name);                                                          \
        own_thread();                                                                                                   \
        type result = known arguments;                                                                                  \
        compare_masks();                                                                                                \
        return result;                                                                                                  \
    }

/* Sets both. */
SHIM_EXPORT handler_fn sigset(int number, handler_fn handler)
{
    static handler_fn (*_Atomic known)(int, handler_fn);
    if (NM_UNLIKELY(!known))
        known = (handler_fn(*)(int, handler_fn))nm_next_symbol("sigset");
    own_thread();
    handler_fn was = set_handler(known, number, handler);
    compare_masks();
    return was;
}

SETS_MASK(int, sighold, (int number), (number))
SETS_MASK(int, sigrelse, (int number), (number))
SETS_MASK(int, sigblock, (int mask), (mask))
SETS_MASK(int, sigsetmask, (int mask), (mask))
