/* advise.c - asks the manager what a program would get if it came now. One question on a connection
 * of its own; no page, nothing kept, nothing allocated.
 */
#include "../include/numaestro.h"
#include "client.h"
#include "message.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

/* Programs that were built with an older header know fewer fields at the end. Below these sizes
 * there is no answer. */
#define QUERY_BYTES_MIN 24u
#define ADVICE_BYTES_MIN 40u

_Static_assert(sizeof(((struct numaestro_advice *)0)->cpus) == sizeof(((struct nm_advised *)0)->cpus), "cpus");
_Static_assert(sizeof(((struct numaestro_advice *)0)->nodes) == sizeof(((struct nm_advised *)0)->nodes), "nodes");
_Static_assert(sizeof(((struct numaestro_advice *)0)->why) == sizeof(((struct nm_advised *)0)->text), "text");

/* Answers without a manager: the processors that the calling thread's affinity allows, of which
 * none is known to be free. */
static void by_affinity(uint32_t wanted, struct numaestro_advice *out)
{
    int saved = errno;
    struct nm_cpuset own = {{0}};
    int ok = sched_getaffinity(0, sizeof own.words, (cpu_set_t *)own.words);
    errno = saved;
    uint32_t count = 0;
    for (unsigned i = 0; ok == 0 && i < NM_CPUSET_WORDS * 64; i++) {
        if (!(own.words[i / 64] >> i % 64 & 1))
            continue;
        count++;
        out->cpus[i / 64] |= own.words[i / 64] & 1ull << i % 64;
        if (count == wanted)
            break;
    }
    out->flags = NUMAESTRO_ADVICE_UNMANAGED;
    out->count = out->threads = count ? count : 1;
    strcpy(out->why, "no manager answers: this is what the affinity allows, whoever else uses it");
}

/* True if the manager has answered: advice, or a refusal. */
static bool by_manager(const struct numaestro_advice_query *query, struct numaestro_advice *out, bool *refused)
{
    struct nm_query question = {
        .magic = NM_MESSAGE_MAGIC,
        .kind = NM_ADVISE,
        .version = NM_MESSAGE_VERSION,
        .processors = query->processors,
        .min = query->min,
        .memory = query->memory,
    };
    struct nm_advised answer;
    long got = nm_ask(&question, sizeof question, &answer, sizeof answer);
    if (got != (long)sizeof answer || answer.magic != NM_MESSAGE_MAGIC || answer.kind != NM_ADVICE)
        return false;
    if (answer.code != NM_CODE_OK && answer.code != NM_CODE_REFUSED)
        return false;
    *refused = answer.code == NM_CODE_REFUSED;
    out->flags = answer.flags;
    out->count = answer.count;
    out->threads = answer.threads;
    out->position = answer.position;
    out->memory_free = answer.memory_free;
    memcpy(out->cpus, answer.cpus, sizeof out->cpus);
    memcpy(out->free, answer.free, sizeof out->free);
    memcpy(out->nodes, answer.nodes, sizeof out->nodes);
    memcpy(out->memory_nodes, answer.memory_nodes, sizeof out->memory_nodes);
    memcpy(out->why, answer.text, sizeof out->why);
    out->why[sizeof out->why - 1] = 0;
    return true;
}

PUBLIC int numaestro_advise(const struct numaestro_advice_query *query, struct numaestro_advice *advice)
{
    struct numaestro_advice_query asked = {0};
    if (query) {
        if (query->struct_size < QUERY_BYTES_MIN)
            return NUMAESTRO_E_INVALID;
        memcpy(&asked, query, query->struct_size < sizeof asked ? query->struct_size : sizeof asked);
    }
    uint32_t room = advice ? advice->struct_size : 0;
    if (room < ADVICE_BYTES_MIN || asked.processors > 65536 || asked.min > 65536)
        return NUMAESTRO_E_INVALID;
    if (asked.processors && asked.min > asked.processors)
        return NUMAESTRO_E_INVALID;
    struct numaestro_advice full = {.memory_free = UINT64_MAX};
    bool refused = false;
    if (!by_manager(&asked, &full, &refused))
        by_affinity(asked.processors, &full);
    full.struct_size = room < sizeof full ? room : (uint32_t)sizeof full;
    memcpy(advice, &full, full.struct_size);
    return refused ? NUMAESTRO_E_REFUSED : NUMAESTRO_OK;
}
