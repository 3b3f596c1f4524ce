/* kmp_order.c - learns in which order libomp combines the data of a team's members, and repeats
 * that order.
 *
 * libomp reduces large teams in a tree, within a barrier; the version decides which teams are
 * large. The order in which members' data are combined decides the last bits of a floating-point
 * sum. So the shim asks libomp once for each team size: it runs a reduction of its own, notes the
 * order, and folded teams repeat it.
 */
#include "kmp.h"

#include <string.h>

#define ORDERS 16
static struct order {
    struct nm_runtime *runtime;
    uint32_t members;
    bool known, tree;
    uint32_t pairs;
    struct {
        uint16_t into, from;
    } pair[NM_FOLD_MEMBERS];
} orders[ORDERS];

/* The results of our own reduction: each member writes only its own line. */
static struct {
    uint16_t first, last, next; /* member numbers plus one */
} found[NM_FOLD_MEMBERS];

static struct order *order_of(const struct nm_runtime *runtime, uint32_t members)
{
    for (unsigned i = 0; i < ORDERS; i++)
        if (orders[i].runtime == runtime && orders[i].members == members)
            return &orders[i];
    return NULL;
}

bool nm_kmp_asks_for_order(struct nm_runtime *runtime, uint32_t members)
{
    static unsigned next;
    if (members > NM_FOLD_MEMBERS)
        return false;
    struct order *order = order_of(runtime, members);
    if (order)
        return !order->known;
    order = &orders[next++ % ORDERS];
    order->runtime = runtime;
    order->members = members;
    order->known = order->tree = false;
    order->pairs = 0;
    memset(found, 0, sizeof found);
    return true;
}

static void record(void *into, void *from)
{
    uint32_t parent = *(uint32_t *)into, child = *(uint32_t *)from;
    if (found[parent].last)
        found[found[parent].last - 1u].next = (uint16_t)(child + 1);
    else
        found[parent].first = (uint16_t)(child + 1);
    found[parent].last = (uint16_t)(child + 1);
}

/* libomp combines a member's data with its parent's when the member's own are complete. */
static void write_down(struct order *order, uint32_t parent)
{
    for (uint32_t child = found[parent].first; child; child = found[child - 1].next) {
        write_down(order, child - 1);
        order->pair[order->pairs].into = (uint16_t)parent;
        order->pair[order->pairs++].from = (uint16_t)(child - 1);
    }
}

void nm_kmp_ask_for_order(struct nm_runtime *runtime, int32_t gtid, uint32_t number, uint32_t members)
{
    static int32_t lock[8];
    const struct nm_kmp *k = runtime->inside;
    uint32_t mine = number;
    if (k->reduce_nowait(&nm_kmp_place, gtid, 1, sizeof mine, &mine, record, lock) == 1)
        k->end_reduce_nowait(&nm_kmp_place, gtid, lock);
    struct order *order = order_of(runtime, members);
    if (number == 0 && order && !order->known) {
        /* A limit of threads makes teams smaller; such teams are not folded. */
        if ((uint32_t)runtime->get_num_threads() == members)
            write_down(order, 0);
        order->tree = order->pairs > 0;
        atomic_thread_fence(memory_order_release);
        order->known = true;
    }
}

bool nm_kmp_reduces_in_tree(const struct nm_pass *pass, const void *data, nm_combine combine)
{
    const struct order *order = data && combine ? order_of(pass->runtime, pass->members) : NULL;
    return order && order->tree;
}

void nm_kmp_combine_all(const struct nm_pass *pass, void **data, nm_combine combine)
{
    const struct order *order = order_of(pass->runtime, pass->members);
    for (uint32_t i = 0; i < order->pairs; i++)
        combine(data[order->pair[i].into], data[order->pair[i].from]);
}
