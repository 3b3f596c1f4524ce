/* opening.c - how a team comes to be and ends: its memory, the threads that become contexts and
 * carriers, the way into the runtime's region and back, and questions about the team.
 */
#include "client.h"
#include "memory.h"
#include "team.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#define PARKING_BYTES (32 * 1024)
#define SIDE_BYTES (512 * 1024)

/* Allocates the memory of a team of this size. Stacks are kept for the next team. */
static bool make_room(uint32_t members)
{
    if (!nm_team.side && !(nm_team.side = nm_new_stack(SIDE_BYTES)))
        return false;
    if (!nm_team.contexts && !(nm_team.contexts = nm_new_zeroed(NM_FOLD_MEMBERS * sizeof *nm_team.contexts)))
        return false;
    if (!nm_team.carriers && !(nm_team.carriers = nm_new_zeroed(NM_FOLD_MEMBERS * sizeof *nm_team.carriers)))
        return false;
    NM_OF_ONE_KERNEL_THREAD(nm_team.carriers, NM_FOLD_MEMBERS * sizeof *nm_team.carriers);
    for (uint32_t i = 0; i < members; i++)
        if (!nm_team.carriers[i].stack && !(nm_team.carriers[i].stack = nm_new_stack(PARKING_BYTES)))
            return false;
    return true;
}

bool nm_fold_prepare(uint32_t members, uint32_t limit)
{
    int saved = errno;
    bool room = members <= NM_FOLD_MEMBERS && make_room(members);
    errno = saved; /* the program may be in the middle of a region */
    if (!room)
        return false;
    /* The watcher may look at any of this; it sees a team in which no context waits. */
    for (uint32_t i = 0; i < members; i++)
        nm_team.contexts[i].runner = i + 1;
    nm_team.members = members;
    nm_team.recalled = nm_team.generation - 1; /* not the first meeting of this team */
    nm_team.arrived = 0;
    nm_team.sleepers = 0;
    nm_team.dissolving = nm_team.roams = nm_team.signalled = false;
    nm_team.root = (struct nm_root){.runs = true};
    nm_team.joined = 0;
    for (uint32_t i = 0; i < members; i++) {
        struct nm_context *context = &nm_team.contexts[i];
        struct nm_carrier *carrier = &nm_team.carriers[i];
        context->number = carrier->number = carrier->last = i;
        context->carrier = carrier;
        context->home = context->inside = context->comes = false;
        carrier->call = 0;
        carrier->blocks = false;
        carrier->evicted = carrier->left = 0;
    }
    atomic_store(&nm_team.limit, limit < members ? limit : members);
    return true;
}

/* Makes the calling thread a context, and a carrier that runs it. */
struct nm_context *nm_team_enrol(uint32_t number)
{
    struct nm_context *context = &nm_team.contexts[number];
    struct nm_carrier *carrier = &nm_team.carriers[number];
    context->tls = carrier->tls = nm_thread_pointer();
    context->turn = atomic_load(&nm_team.generation);
    carrier->tid = (int32_t)nm_raw(SYS_gettid, 0, 0, 0, 0);
    carrier->sp = nm_switch_stack(carrier->stack + PARKING_BYTES, nm_team_park, carrier);
    if (number != 0)
        block_carrier(carrier);
    else
        carrier->signals = nm_blocked_signals();
    nm_context_self = context;
    return context;
}

void nm_team_withdraw(struct nm_context *me)
{
    struct nm_carrier *carrier = me->carrier;
    nm_context_self = NULL;
    if (carrier->blocks) {
        carrier->blocks = false;
        nm_restore_signals(carrier->signals);
    }
}

struct nm_context *nm_fold_join(uint32_t number)
{
    struct nm_context *me = nm_team_enrol(number);
    /* The last member to join makes the team known; until then no carrier may look for a
     * context. */
    atomic_fetch_add(&nm_team.joined, 1);
    nm_team.open = true;
    return me;
}

void nm_fold_leave(struct nm_context *me)
{
    /* The root takes its carrier along, and other contexts may be waiting for that carrier: they go
     * on on their own carriers. */
    for (uint32_t i = 1; me->number == 0 && i < nm_team.members; i++)
        nm_fold_send_home(i);
    nm_fold_go_home(me);
    uint32_t left = atomic_fetch_sub(&nm_team.joined, 1) - 1;
    if (left == 0)
        nm_team.open = false;
    nm_team_withdraw(me);
}

static void enter_on_side(void *unused)
{
    (void)unused;
    nm_team.enter(nm_team.enter_argument);
    /* The runtime's region is over. */
    struct nm_context *root = &nm_team.contexts[0];
    nm_switch(&nm_team.side_sp, root->sp, root->tls, NULL);
    __builtin_trap();
}

bool nm_fold_open(uint32_t members, uint32_t limit, void (*enter)(void *), void *argument)
{
    if (!nm_fold_prepare(members, limit))
        return false;
    nm_team.enter = enter;
    nm_team.enter_argument = argument;
    nm_team.complete = false;
    struct nm_context *root = nm_team_enrol(0);
    nm_team.side_sp = nm_switch_stack(nm_team.side + SIDE_BYTES, enter_on_side, NULL);
    nm_switch(&root->sp, nm_team.side_sp, root->tls, NULL);
    if (!nm_team.complete)
        nm_context_self = NULL;
    nm_team.open = nm_team.complete;
    return nm_team.complete;
}

/* The root's own part of the runtime's region, on the side stack: back to the program as soon as
 * all others have come. */
void nm_team_root_member(void)
{
    struct nm_context *root = &nm_team.contexts[0];
    nm_team.complete = true;
    for (uint32_t joined; (joined = atomic_load(&nm_team.joined)) + 1 < nm_team.members;)
        nm_sleep_on(&nm_team.joined, joined, false);
    nm_switch(&nm_team.side_sp, root->sp, root->tls, NULL);
}

void nm_fold_dissolve(void)
{
    struct nm_context *root = &nm_team.contexts[0];
    atomic_store(&nm_team.dissolving, true);
    atomic_store(&nm_team.limit, nm_team.members);
    open_turn(atomic_load_explicit(&nm_team.generation, memory_order_relaxed) + 1);
    for (uint32_t i = 1; i < nm_team.members; i++)
        call(&nm_team.carriers[i]);
    nm_context_self = NULL;
    nm_switch(&root->sp, nm_team.side_sp, root->tls, NULL);
    nm_team.open = false;
}

void nm_fold_forget(void)
{
    /* The other threads are gone, and with them the stacks that their contexts were on: the memory
     * stays, unused. */
    memset(&nm_team, 0, sizeof nm_team);
    nm_context_self = NULL;
}

bool nm_fold_is_open(void)
{
    return atomic_load_explicit(&nm_team.open, memory_order_acquire);
}

uint32_t nm_fold_members(void)
{
    return nm_team.members;
}

uint32_t nm_fold_generation(void)
{
    return atomic_load_explicit(&nm_team.generation, memory_order_relaxed);
}

uint64_t nm_fold_switches(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; nm_team.carriers && i < NM_FOLD_MEMBERS && nm_team.carriers[i].stack; i++)
        sum += atomic_load_explicit(&nm_team.carriers[i].switches, memory_order_relaxed);
    return sum;
}

struct nm_carrier *nm_fold_carrier(uint32_t number)
{
    return number < nm_team.members ? &nm_team.carriers[number] : NULL;
}

bool nm_fold_number_of(uintptr_t tls, uint32_t *number)
{
    for (uint32_t i = 0; nm_fold_is_open() && i < nm_team.members; i++) {
        *number = i;
        if (nm_team.contexts[i].tls == tls)
            return true;
    }
    return false;
}
