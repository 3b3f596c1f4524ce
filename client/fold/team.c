/* team.c - contexts, carriers, and the one meeting that all constructs are made of.
 *
 * A context that waits stores the generation that it waits for in `turn`, and its carrier looks for
 * another context that may run. The carrier claims it by one compare-and-swap on `runner`. Two
 * carriers never run on one stack, because nm_switch clears `runner` only after it has left the
 * stack. The last context that comes to a meeting raises the generation, which makes all others
 * ready at once. So the common case takes no lock, and carriers share two cache lines.
 *
 * No wake-up is lost. A carrier that finds nothing raises `sleepers`, looks once more, and only
 * then sleeps on the bell. A carrier that makes a context ready does so first and then looks at
 * `sleepers`. Both use sequentially consistent order. If a context becomes ready while a carrier is
 * leaving it, that carrier sees it: the carrier looks again before it sleeps, or rings before it
 * parks. A context that is ready when its carrier leaves it for another one, as in nm_fold_yield,
 * is different: the other one may keep the carrier for ever. So the carrier rings once it is off
 * the stack (ring_for_left). A context that only its own carrier may run is different, too: that
 * carrier may have looked too early, and the carrier that leaves the stack does not ring. So the
 * own carrier sleeps only briefly while it finds its context taken (misses_own), and a carrier that
 * takes back a claim calls it. A context that becomes ready while its carrier switches from it to
 * another one is the same for all who look: whoever finds such a one sleeps only briefly.
 *
 * A parked carrier uses the thread pointer of its own thread, whose context may be running
 * elsewhere. So code that runs on a parking stack makes system calls by itself and touches nothing
 * thread-local, not even errno. Carriers other than the root's block all signals but those about
 * the instruction that they execute.
 *
 * Signals for the process come to the root's kernel thread whatever it runs, because blocking them
 * for each switch would cost two system calls. The shim's handler asks nm_fold_takes first. If it
 * has interrupted another context, then `signalled` rises, the signal is sent once more to the same
 * kernel thread, now blocked there, and the context is left for the root from within the handler:
 * when the root runs, signals are let in as always, and it handles this one on its own stack, with
 * the program's own action. The interrupted context waits on its stack like one that has yielded.
 * Any carrier may run it on; it then returns from the handler with the mask and the alternate stack
 * of that carrier. A context that is in the scheduler (`inside`) is not left like that: it goes on,
 * and lets the root go first where it comes out or looks for another context. A lock that an
 * interrupted context holds is nothing new: the root waits for it, and the watcher gives the team
 * back. Where the root runs elsewhere, which only a team that has been given back allows, or where
 * the handler has a stack of its own, the signal is handled in the context that it has come to.
 */
#include "client.h"
#include "team.h"

#include <sys/syscall.h>
#include <time.h>

#define LOOKS_A_CLOCK 64 /* looks at memory for one at the clock, while a carrier waits */

__thread struct nm_context *nm_context_self;
_Atomic uint64_t nm_fold_patience_ns = 1000000;
void (*nm_fold_at_meeting)(void);
struct team nm_team;

static inline NM_ON_ANY_STACK bool may_run(const struct nm_carrier *carrier, const struct nm_context *context)
{
    if (carrier->number == context->number)
        return true;
    bool roams = atomic_load_explicit(&nm_team.roams, memory_order_relaxed);
    if (context->number == 0 && (!roams || atomic_load(&nm_team.signalled)))
        return false;
    /* Each context of a team that has been given back has a carrier. That of one at home is kept
     * for it: another one might get stuck there, and wait for the one that is at home. */
    bool is_kept = roams && nm_team.contexts[carrier->number].home;
    return !is_kept && !context->home && !atomic_load_explicit(&nm_team.dissolving, memory_order_relaxed);
}

/* The own carrier of a context that is at home runs it even while it waits, because that carrier
 * takes the thread's signals. */
static inline NM_ON_ANY_STACK bool is_wanted(const struct nm_carrier *carrier, const struct nm_context *context)
{
    if (is_ready(context))
        return true;
    return carrier->number == context->number &&
           (context->home || (context->number == 0 && atomic_load_explicit(&nm_team.signalled, memory_order_relaxed)));
}

/* Called before the carrier looks for the reason of the call. */
static NM_ON_ANY_STACK void take_call(struct nm_carrier *carrier)
{
    atomic_exchange(&carrier->call, 0);
}

static NM_ON_ANY_STACK bool claim(struct nm_carrier *carrier, struct nm_context *context)
{
    uint32_t nobody = 0;
    if (atomic_load_explicit(&context->runner, memory_order_relaxed) != 0 || !is_wanted(carrier, context))
        return false;
    if (!atomic_compare_exchange_strong_explicit(&context->runner, &nobody, carrier->number + 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    /* The context may have run and come to its next meeting since this carrier looked at it. */
    if (is_wanted(carrier, context) && may_run(carrier, context)) {
        atomic_store_explicit(&context->carrier, carrier, memory_order_relaxed);
        carrier->last = context->number;
        return true;
    }
    atomic_store_explicit(&context->runner, 0, memory_order_release);
    /* The context's own carrier may have found it taken, and be the only one that may run it
     * now. */
    call(&nm_team.carriers[context->number]);
    return false;
}

/* Goes once round the contexts, from the one after the context that this carrier ran last; takes
 * only contexts that it ran last itself, or any. */
static NM_ON_ANY_STACK struct nm_context *find_among(struct nm_carrier *carrier, bool own_only)
{
    uint32_t number = carrier->last;
    for (uint32_t i = 0; i < nm_team.members; i++) {
        number = number + 1 < nm_team.members ? number + 1 : 0;
        struct nm_context *context = &nm_team.contexts[number];
        if (own_only && context->carrier != carrier)
            continue;
        if (may_run(carrier, context) && claim(carrier, context))
            return context;
    }
    return NULL;
}

/* Finds a context for this carrier to run. Its own thread's context goes first where no other
 * carrier can run that. Then those that it ran before, so that each carrier stays with its
 * contexts; then any, so that no carrier idles while there is work. */
static NM_ON_ANY_STACK struct nm_context *find(struct nm_carrier *carrier)
{
    struct nm_context *own = &nm_team.contexts[carrier->number];
    bool homing = atomic_load_explicit(&nm_team.dissolving, memory_order_relaxed);
    if ((carrier->number == 0 || homing || own->home) && claim(carrier, own))
        return own;
    if (homing || !works(carrier))
        return NULL;
    struct nm_context *found = find_among(carrier, true);
    return found ? found : find_among(carrier, false);
}

/* Whether a context waits for a carrier; or, if `left`, whether another carrier is leaving a
 * context that has become ready meanwhile. That carrier found it waiting, so it does not ring, and
 * may be kept by the context that it goes to: for ever, if that one waits in the kernel for the one
 * that was left. A context that does not count as `inside` yet sees by itself that it is ready,
 * because it arrives by a read-modify-write after that. */
static NM_ON_ANY_STACK bool someone_waits_for(const struct nm_carrier *carrier, bool left)
{
    for (uint32_t i = 0; i < nm_team.members; i++) {
        const struct nm_context *context = &nm_team.contexts[i];
        uint32_t runner = atomic_load_explicit(&context->runner, memory_order_relaxed);
        bool is_left = runner != 0 && runner != carrier->number + 1 && atomic_load_explicit(&context->inside, memory_order_relaxed);
        if ((left ? is_left : runner == 0) && is_ready(context) && may_run(carrier, context))
            return true;
    }
    return false;
}

/* No other carrier may run this carrier's own context, but another one is still on its stack. That
 * one does not ring when it leaves the stack, because each switch would pay for that; so this
 * carrier has to look again. */
static NM_ON_ANY_STACK bool misses_own(const struct nm_carrier *carrier)
{
    const struct nm_context *own = &nm_team.contexts[carrier->number];
    uint32_t runner = atomic_load_explicit(&own->runner, memory_order_relaxed);
    if (NM_LIKELY(runner == 0 || runner == carrier->number + 1))
        return false;
    return atomic_load_explicit(&nm_team.dissolving, memory_order_relaxed) || own->home ||
           (carrier->number == 0 && !atomic_load_explicit(&nm_team.roams, memory_order_relaxed));
}

/* Whether this carrier may go on with the context that it holds. */
static inline NM_ON_ANY_STACK bool may_keep(const struct nm_carrier *carrier, const struct nm_context *me)
{
    if (!may_run(carrier, me))
        return false;
    return works(carrier) || me->home || atomic_load_explicit(&nm_team.dissolving, memory_order_relaxed);
}

/* The carrier has something to do: with the context on whose stack it waits, if it holds one, or
 * with another. */
static inline NM_ON_ANY_STACK bool has_news(const struct nm_carrier *carrier, const struct nm_context *holds)
{
    if (holds ? is_ready(holds) || !may_keep(carrier, holds) : !works(carrier))
        return true;
    return atomic_load_explicit(&carrier->call, memory_order_relaxed);
}

/* There is no context to run: sleeps until the bell rings. A context made ready before `sleepers`
 * rose is seen here; one made ready after it rings the bell. */
static NM_ON_ANY_STACK void sleep_by_the_bell(const struct nm_carrier *carrier, const struct nm_context *holds)
{
    uint32_t bell = atomic_load(&nm_team.bell);
    atomic_fetch_add(&nm_team.sleepers, 1);
    atomic_thread_fence(memory_order_seq_cst);
    bool misses = misses_own(carrier) || (works(carrier) && someone_waits_for(carrier, true));
    if (!has_news(carrier, holds) && !(works(carrier) && someone_waits_for(carrier, false)))
        nm_sleep_on(&nm_team.bell, bell, misses);
    atomic_fetch_sub(&nm_team.sleepers, 1);
}

/* A carrier on its parking stack, holding no context. */
NM_PARKING void nm_team_park(void *argument)
{
    struct nm_carrier *carrier = argument;
    /* The root may be running elsewhere: its kernel thread takes no signals before it is on a
     * context's stack again. */
    if (carrier->number == 0 && !carrier->blocks)
        block_carrier(carrier);
    for (;;) {
        /* Only now has the carrier left its previous context. That context may be ready, and no
         * other carrier may be awake to see it. */
        uint32_t evicted = carrier->evicted;
        carrier->evicted = 0;
        if (evicted)
            call(&nm_team.carriers[evicted - 1]);
        else
            ring();
        take_call(carrier);
        bool misses = misses_own(carrier);
        struct nm_context *next = find(carrier);
        if (next)
            nm_switch(&carrier->sp, next->sp, next->tls, NULL);
        else if (works(carrier))
            sleep_by_the_bell(carrier, NULL);
        else
            nm_sleep_on(&carrier->call, 0, misses);
    }
}

static void count_switch(struct nm_carrier *carrier)
{
    uint64_t switches = atomic_load_explicit(&carrier->switches, memory_order_relaxed);
    atomic_store_explicit(&carrier->switches, switches + 1, memory_order_relaxed);
}

/* Whether a carrier may take signals while it runs this context: a handler sees the context's
 * thread-local storage. A signal for one thread must find that thread's own context; a signal for
 * the process may find any, and only the root's kernel thread takes those. */
static inline bool takes_signals(const struct nm_carrier *carrier, const struct nm_context *context)
{
    if (carrier->number == context->number)
        return carrier->number == 0 || context->home;
    return carrier->number == 0 && !nm_team.contexts[0].home && !atomic_load_explicit(&nm_team.signalled, memory_order_relaxed);
}

/* The root, run by its own carrier. */
static inline bool is_root_on_own(const struct nm_context *me, const struct nm_carrier *carrier)
{
    return me->number == 0 && carrier->number == 0;
}

/* The carrier is off the stack that it left for the present one. */
static void ring_for_left(struct nm_carrier *carrier)
{
    if (!is_ready(&nm_team.contexts[carrier->left - 1]))
        return;
    carrier->left = 0;
    ring();
}

/* The context runs again. */
static inline void runs_again(struct nm_context *me)
{
    struct nm_carrier *carrier = me->carrier;
    if (NM_UNLIKELY(carrier->left))
        ring_for_left(carrier);
    if (is_root_on_own(me, carrier))
        nm_root_comes(&nm_team.root);
    if (NM_UNLIKELY(carrier->blocks) && takes_signals(carrier, me)) {
        if (is_root_on_own(me, carrier))
            nm_team.signalled = false;
        carrier->blocks = false;
        nm_restore_signals(carrier->signals);
    }
    if (NM_UNLIKELY(me->home) && is_root_on_own(me, carrier))
        nm_root_take(&nm_team.root, carrier->tid);
}

static void leave_for(struct nm_context *me, struct nm_context *next)
{
    struct nm_carrier *carrier = next->carrier;
    if (is_root_on_own(me, carrier))
        nm_root_goes(&nm_team.root);
    if (NM_UNLIKELY(!carrier->blocks) && !takes_signals(carrier, next))
        block_carrier(carrier);
    /* A context at home may run before its turn, and both may become ready at once. */
    if (is_ready(me) || NM_UNLIKELY(next->home))
        carrier->left = me->number + 1;
    count_switch(carrier);
    nm_switch(&me->sp, next->sp, next->tls, &me->runner);
    runs_again(me);
}

/* A context comes into the scheduler, or leaves it: a handler that interrupts it sees which. */
static inline void set_inside(struct nm_context *me, bool inside)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&me->inside, inside, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

/* The root is wanted for a signal: runs it in the place of the caller, who goes on afterwards. */
static __attribute__((noinline)) void let_root_first(struct nm_context *me)
{
    struct nm_context *root = &nm_team.contexts[0];
    do {
        set_inside(me, true);
        struct nm_carrier *carrier = me->carrier;
        if (me == root || carrier->number != 0) {
            set_inside(me, false);
            return;
        }
        if (nm_team.signalled && claim(carrier, root)) {
            leave_for(me, root);
        } else if (nm_team.signalled) {
            nm_team.signalled = false; /* it runs elsewhere: the signal is handled here */
            runs_again(me);
        }
        set_inside(me, false);
    } while (atomic_load_explicit(&nm_team.signalled, memory_order_relaxed));
}

static inline void go_out(struct nm_context *me)
{
    set_inside(me, false);
    if (NM_UNLIKELY(atomic_load_explicit(&nm_team.signalled, memory_order_relaxed)))
        let_root_first(me);
}

bool nm_fold_hold(void)
{
    struct nm_context *me = nm_context_self;
    if (!me || me->inside)
        return false;
    set_inside(me, true);
    return true;
}

void nm_fold_let_go(void)
{
    go_out(nm_context_self);
}

static uintptr_t instruction_of(const ucontext_t *interrupted)
{
#if defined(__x86_64__)
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)interrupted->uc_mcontext.pc;
#else
    (void)interrupted;
    return 0;
#endif
}

static bool is_on_alternate_stack(const stack_t *stack)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return !(stack->ss_flags & SS_DISABLE) && here - (uintptr_t)stack->ss_sp < stack->ss_size;
}

bool nm_fold_takes(int signal, siginfo_t *info, ucontext_t *interrupted)
{
    struct nm_context *me = nm_context_self, *root = &nm_team.contexts[0];
    struct nm_carrier *carrier = &nm_team.carriers[0];
    if (!me || !atomic_load_explicit(&nm_team.open, memory_order_relaxed))
        return false;
    bool inside = me->inside;
    /* On its way from the root to another context the carrier has the root's thread pointer on the
     * other one's stack. */
    if (me == root ? !inside || !nm_switch_is_at(instruction_of(interrupted)) : me->carrier != carrier)
        return false;
    /* Its first word; the kernel knows no others. A context with more signals blocked than the root
     * is in a handler itself. */
    uint64_t *mask = (uint64_t *)(void *)&interrupted->uc_sigmask;
    if (*mask & ~carrier->signals || is_on_alternate_stack(&interrupted->uc_stack))
        return false;
    /* A child after vfork, or at the very beginning of fork, seems to be what its parent is. */
    if (nm_raw(SYS_gettid, 0, 0, 0, 0) != carrier->tid)
        return false;
    nm_team.signalled = true; /* no other carrier claims the root from here on */
    if (nm_team.contexts[0].runner > 1 ||
        nm_raw(SYS_rt_tgsigqueueinfo, nm_raw(SYS_getpid, 0, 0, 0, 0), carrier->tid, signal, (long)info) != 0) {
        nm_team.signalled = false;
        return false;
    }
    carrier->signals = *mask;
    carrier->blocks = true;
    *mask |= nm_all_signals();
    if (inside) {
        call(carrier);
        return true;
    }
    let_root_first(me);
    /* Perhaps on another carrier. */
    *mask = nm_block_signals();
    nm_raw(SYS_sigaltstack, 0, (long)&interrupted->uc_stack, 0, 0);
    return true;
}

uint64_t nm_fold_left_to_others(void)
{
    uint64_t all = nm_all_signals(), others = 0;
    nm_team.carriers[0].signals = nm_blocked_signals();
    for (uint32_t i = 1; i < nm_team.members; i++)
        others |= ~nm_team.carriers[i].signals;
    return nm_team.carriers[0].signals & others & all;
}

static void leave_for_parking(struct nm_context *me, struct nm_carrier *carrier)
{
    if (is_root_on_own(me, carrier))
        nm_root_goes(&nm_team.root);
    if (NM_UNLIKELY(!carrier->blocks))
        block_carrier(carrier);
    carrier->left = 0; /* it rings where it parks */
    count_switch(carrier);
    nm_switch(&me->sp, carrier->sp, carrier->tls, &me->runner);
    NM_SEES(&nm_team.generation);
    runs_again(me);
}

/* Whether a carrier that is to stop working still has a context. That context may have been moved
 * to where this carrier waits. */
static bool someone_is_to_stop(void)
{
    uint32_t limit = atomic_load_explicit(&nm_team.limit, memory_order_relaxed);
    for (uint32_t i = 0; i < nm_team.members; i++)
        if (atomic_load_explicit(&nm_team.contexts[i].runner, memory_order_relaxed) > limit)
            return true;
    return false;
}

/* Waits on the stack of `me`, which no other carrier can claim meanwhile. Returns when there may be
 * something new. */
static void wait_for_news(const struct nm_context *me, const struct nm_carrier *carrier)
{
    uint64_t patience = atomic_load_explicit(&nm_fold_patience_ns, memory_order_relaxed), until = 0;
    for (uint32_t looks = 1; patience > 0; looks++) {
        if (has_news(carrier, me))
            return;
        nm_pause_once();
        if (looks % LOOKS_A_CLOCK != 0)
            continue;
        /* A context that another carrier has given up in the meantime. */
        if (works(carrier) && someone_waits_for(carrier, false))
            return;
        if (someone_is_to_stop())
            break;
        uint64_t now = nm_vdso_ns();
        if (until == 0)
            until = now + patience;
        else if (now >= until)
            break;
    }
    sleep_by_the_bell(carrier, me);
}

/* The context waits for its turn, or lets others run first; its carrier runs others. Returns when
 * it runs again. */
static void suspend(struct nm_context *me)
{
    for (;;) {
        struct nm_carrier *carrier = me->carrier;
        if (NM_UNLIKELY(atomic_load_explicit(&carrier->call, memory_order_relaxed))) {
            take_call(carrier);
            runs_again(me); /* it may be at home since, and wait here for a signal */
        }
        /* Read this first: the store that has made it ready may follow one that sent it to its own
         * kernel thread, and the code below then sees that one too. */
        bool ready = is_ready(me);
        if (!may_keep(carrier, me)) {
            carrier->evicted = me->number + 1;
            leave_for_parking(me, carrier);
            continue;
        }
        struct nm_context *root = &nm_team.contexts[0];
        /* A context that is ready goes on. Only the root goes before it, because no other carrier
         * can run the root. */
        struct nm_context *next = !ready                                     ? find(carrier)
                                  : carrier->number == 0 && me != root && claim(carrier, root) ? root
                                                                                               : NULL;
        if (next) {
            leave_for(me, next);
            /* The root goes first only once: a root that gives way would otherwise get its turn
             * again and again. */
            if (is_ready(me) && may_keep(me->carrier, me))
                return;
        } else if (ready) {
            runs_again(me);
            return;
        } else {
            wait_for_news(me, carrier);
        }
    }
}

/* Waits for `wait` generations, of which the meeting is the first. Whoever recalls a meeting does
 * not come to it, so it is never complete; its generation is passed over together with the one that
 * follows, for which some wait. A context that read the generation before that finds itself ready;
 * one that reads it later sees that the meeting was recalled. Either takes back that it came. */
#define RECALL_GENERATIONS 2u

static bool meet(struct nm_context *me, uint32_t wait, bool may_be_recalled)
{
    uint32_t generation = atomic_load_explicit(&nm_team.generation, memory_order_acquire);
    if (NM_UNLIKELY(may_be_recalled && atomic_load_explicit(&nm_team.recalled, memory_order_relaxed) == generation))
        return false;
    atomic_store_explicit(&me->turn, generation + wait, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&nm_team.arrived, 1, memory_order_acq_rel) + 1 < nm_team.members) {
        suspend(me);
        if (NM_LIKELY(atomic_load_explicit(&nm_team.recalled, memory_order_relaxed) != generation + RECALL_GENERATIONS))
            return true;
        atomic_fetch_sub_explicit(&nm_team.arrived, 1, memory_order_relaxed);
        return false;
    }
    atomic_store_explicit(&nm_team.arrived, 0, memory_order_relaxed);
    if (nm_fold_at_meeting)
        nm_fold_at_meeting();
    open_turn(generation + 1);
    if (wait > 1 || !may_keep(me->carrier, me))
        suspend(me);
    else
        runs_again(me); /* it may have been sent home since, and be there */
    return true;
}

bool nm_fold_barrier(struct nm_context *me)
{
    set_inside(me, true);
    bool met = meet(me, 1, true);
    go_out(me);
    return met;
}

void nm_fold_recall(void)
{
    uint32_t next = atomic_load_explicit(&nm_team.generation, memory_order_relaxed) + RECALL_GENERATIONS;
    atomic_store(&nm_team.recalled, next);
    open_turn(next);
}

bool nm_fold_yield(struct nm_context *me)
{
    if (me->inside)
        return false; /* a handler, which the root runs while it waits */
    set_inside(me, true);
    struct nm_carrier *carrier = me->carrier;
    /* In turn, whichever carrier ran them before: so the context that `me` waits for comes, too. */
    struct nm_context *next = works(carrier) && !me->home ? find_among(carrier, false) : NULL;
    if (next)
        leave_for(me, next);
    go_out(me);
    return next != NULL;
}

void nm_fold_go_home(struct nm_context *me)
{
    bool inside = me->inside;
    set_inside(me, true);
    me->home = true;
    if (me->carrier->number != me->number)
        suspend(me);
    else
        runs_again(me);
    if (!inside)
        go_out(me);
}

bool nm_fold_try_home(struct nm_context *me)
{
    me->comes = true;
    nm_fold_go_home(me);
    me->comes = false;
    if (me->carrier->number != me->number)
        return false;
    nm_fold_go_home(me); /* it may have been let go, and have come all the same */
    return true;
}

bool nm_fold_comes_home(uint32_t number)
{
    const struct nm_context *context = &nm_team.contexts[number];
    return context->comes && atomic_load_explicit(&context->runner, memory_order_relaxed) == 0;
}

void nm_fold_give_up_home(uint32_t number)
{
    nm_team.contexts[number].home = false;
    ring();
}

uint64_t *nm_fold_own_mask(struct nm_context *me)
{
    struct nm_carrier *own = &nm_team.carriers[me->number];
    return me->carrier != own && own->blocks ? &own->signals : NULL;
}

void nm_fold_send_home(uint32_t number)
{
    if (number >= nm_team.members)
        return;
    nm_team.contexts[number].home = true;
    call(&nm_team.carriers[number]);
}

int nm_fold_signal(uint32_t member, int number)
{
    int32_t tid = nm_team.carriers[member].tid;
    if (member != 0) {
        int code = nm_signal_thread(tid, number);
        nm_fold_send_home(member);
        return code;
    }
    nm_root_begin(&nm_team.root, number);
    nm_fold_send_home(0);
    nm_root_end(&nm_team.root, tid);
    return 0;
}

bool nm_fold_send_all_home(struct nm_context *me, uint64_t patience_ns)
{
    for (uint32_t i = 0; i < nm_team.members; i++)
        if (i != me->number)
            nm_fold_send_home(i);
    uint64_t until = nm_vdso_ns() + patience_ns;
    for (uint32_t i = 0; i < nm_team.members;) {
        uint32_t runner = atomic_load(&nm_team.contexts[i].runner);
        if (runner == 0 || runner == i + 1)
            i++;
        else if (nm_vdso_ns() > until)
            return false;
        else
            nm_raw(SYS_sched_yield, 0, 0, 0, 0);
    }
    return true;
}

void nm_fold_leave_home(struct nm_context *me)
{
    nm_fold_go_home(me); /* it may have been sent home just now, for a signal that it has not handled */
    struct nm_carrier *carrier = me->carrier;
    me->home = false;
    if (me->number == 0) {
        nm_root_leaves(&nm_team.root, carrier->tid);
        return;
    }
    block_carrier(carrier);
    /* A signal that came before this is handled, and the context stays. One that comes later sends
     * the context home once more. */
    if (nm_pending_signals() & ~carrier->signals) {
        me->home = true;
        runs_again(me);
    }
}

void nm_fold_roam(bool on)
{
    bool before = atomic_exchange(&nm_team.roams, on);
    if (before && !on)
        call(&nm_team.carriers[0]);
    else if (on && !before)
        ring();
}

/* One execution of the work, and the meeting at its end. */
static void run(struct nm_context *me)
{
    uint32_t wait = me->number == 0 ? 1 : 2;
    bool may_be_recalled = nm_team.work(nm_team.argument, me);
    set_inside(me, true);
    if (!meet(me, wait, may_be_recalled)) {
        go_out(me);
        nm_team.run_instead(nm_team.argument);
        set_inside(me, true);
        meet(me, wait, false);
    }
    /* Outside of regions the root runs on its own kernel thread. */
    if (NM_UNLIKELY(me->number == 0 && me->carrier->number != 0))
        nm_fold_leave_home(me);
}

void nm_fold_member(uint32_t number)
{
    if (number == 0) {
        nm_team_root_member();
        return;
    }
    struct nm_context *me = nm_team_enrol(number);
    set_inside(me, true);
    atomic_store_explicit(&me->turn, atomic_load(&nm_team.generation) + 1, memory_order_relaxed);
    if (atomic_fetch_add(&nm_team.joined, 1) + 2 == nm_team.members)
        nm_wake(&nm_team.joined);
    /* Nothing is ready before the root opens a region; carriers that work wait for that on their
     * parking stacks. */
    leave_for_parking(me, me->carrier);
    if (!is_ready(me))
        suspend(me); /* it has been sent home before the first region */
    while (!atomic_load_explicit(&nm_team.dissolving, memory_order_acquire)) {
        go_out(me);
        run(me);
    }
    nm_team_withdraw(me);
}

void nm_fold_run(bool (*work)(void *, struct nm_context *), void (*recalled)(void *), void *argument)
{
    nm_team.work = work;
    nm_team.run_instead = recalled;
    nm_team.argument = argument;
    open_turn(atomic_load_explicit(&nm_team.generation, memory_order_relaxed) + 1);
    run(&nm_team.contexts[0]);
    go_out(&nm_team.contexts[0]);
}

void nm_fold_limit(uint32_t limit)
{
    if (limit > nm_team.members)
        limit = nm_team.members;
    if (limit == 0)
        limit = 1;
    uint32_t before = atomic_exchange(&nm_team.limit, limit);
    for (uint32_t i = before; i < limit; i++)
        call(&nm_team.carriers[i]);
    if (before != limit)
        ring();
}

bool nm_fold_someone_waits(void)
{
    for (uint32_t i = 0; i < nm_team.members; i++)
        if (atomic_load_explicit(&nm_team.contexts[i].runner, memory_order_relaxed) == 0 && is_ready(&nm_team.contexts[i]))
            return true;
    return false;
}

uint32_t nm_fold_limited(void)
{
    return atomic_load_explicit(&nm_team.limit, memory_order_relaxed);
}
