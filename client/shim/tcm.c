/* tcm.c - stands in for the Thread Composability Manager (`libtcm.so.1`). oneTBB asks it for
 * permits to run worker threads, and Intel's OpenMP does if TCM_ENABLE=1.
 *
 * oneTBB names a callback, through which it is told of a changed permit at any time. All of its
 * permits in a process share the allocation, but for one processor: a permit counts workers, and
 * beside them a thread of the program works, as under oneTBB's own arbiter. The least number that
 * a permit asks for is always granted, else tasks that wait for a worker would wait for ever.
 *
 * A client without a callback gets what it asks for. Its teams keep their size, and are folded.
 *
 * No lock of ours is held while a client is called back: it asks for the permit's data then.
 */
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX 16u
#define LEVELS 3 /* of priority: low, normal, high */

/* The interface, in the layout of its ABI (tcm.h of version 1). */
enum { TCM_SUCCESS = 0, TCM_INVALID = 0x78000004, TCM_UNKNOWN = 0x7ffffffe };
enum { TCM_VOID, TCM_INACTIVE, TCM_PENDING, TCM_IDLE, TCM_ACTIVE };
enum { TCM_AS_INACTIVE = 1 << 3, TCM_KEPT_FLAGS = 1 << 1 | 1 << 2 };
enum { TCM_NEW_CONCURRENCY = 1 << 0 };

struct tcm_permit {
    uint32_t *concurrencies;
    void **masks;
    uint32_t size;
    uint8_t state;
    uint32_t flags;
};

struct tcm_request {
    int32_t min, max; /* threads; negative = any */
    void *constraints;
    uint32_t constraints_size;
    int32_t priority;
    uint32_t flags;
    char reserved[4];
};

struct tcm_permit_rep_t {
    struct tcm_permit_rep_t *next;
    unsigned client; /* index + 1; 0 = free for another request */
    void *argument;  /* of its client's callback */
    uint32_t min, max, granted, flags;
    int level;
    uint8_t state;
    bool changed;    /* its client is to be told */
    unsigned calls;  /* callbacks under way */
};
typedef struct tcm_permit_rep_t permit;
typedef int (*callback)(permit *, void *, uint32_t);

static struct {
    callback call;
    uintptr_t base; /* of the object that has connected */
    bool used;
} clients[CLIENTS_MAX];
static permit *permits;
static _Atomic uint32_t allowed = UINT32_MAX; /* processors; UINT32_MAX = no limit */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static __thread permit *calling __attribute__((tls_model("initial-exec")));

static bool shares(const permit *it)
{
    return it->client && clients[it->client - 1].call;
}

static uint32_t workers(void)
{
    uint32_t whole = nm_whole_count(), most = allowed < whole ? allowed : whole;
    return most > 0 ? most - 1 : 0;
}

static void grant(permit *it, uint32_t count)
{
    it->changed = it->changed || it->granted != count;
    it->granted = count;
}

/* Gives `left` workers to the permits of a level, in proportion to their demand beyond the least
 * number. What division leaves over is carried to the next one. */
static uint32_t divide_level(int level, uint32_t left)
{
    uint64_t demand = 0, carry = 0;
    uint32_t given = 0;
    for (permit *it = permits; it; it = it->next)
        if (shares(it) && it->state == TCM_ACTIVE && it->level == level)
            demand += it->max - it->min;
    for (permit *it = permits; it; it = it->next) {
        if (!shares(it) || it->state != TCM_ACTIVE || it->level != level)
            continue;
        uint64_t more = it->max - it->min;
        if (demand > left) {
            carry += more * left;
            more = carry / demand;
            carry %= demand;
        }
        given += (uint32_t)more;
        grant(it, it->min + (uint32_t)more);
    }
    return left - given;
}

static void divide(void)
{
    uint32_t left = workers();
    for (permit *it = permits; it; it = it->next) {
        if (!it->client)
            continue;
        if (!shares(it))
            it->granted = it->max;
        else if (it->state != TCM_ACTIVE)
            grant(it, 0);
        else
            left -= nm_least(left, it->min);
    }
    for (int level = LEVELS - 1; level >= 0; level--)
        left = divide_level(level, left);
}

static permit *next_changed(void)
{
    for (permit *it = permits; it; it = it->next)
        if (shares(it) && it->changed)
            return it;
    return NULL;
}

/* Under the lock, which it lets go in between: divides anew, and tells each client whose permit has
 * changed. The caller knows of its own. */
static void divide_and_tell(permit *own)
{
    divide();
    if (own)
        own->changed = false;
    for (permit *it; (it = next_changed());) {
        callback call = clients[it->client - 1].call;
        void *argument = it->argument;
        it->changed = false;
        it->calls++;
        nm_flag_unlock(&busy);
        permit *outer = calling;
        calling = it;
        call(it, argument, TCM_NEW_CONCURRENCY);
        calling = outer;
        nm_flag_lock(&busy);
        it->calls--;
    }
}

void nm_tcm_allow(uint32_t count)
{
    if (count == allowed)
        return;
    nm_flag_lock(&busy);
    allowed = count;
    divide_and_tell(NULL);
    nm_flag_unlock(&busy);
}

bool nm_tcm_serves(uintptr_t base)
{
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        if (clients[i].used && clients[i].call && clients[i].base == base)
            return true;
    return false;
}

/* Its user may have switched the interface off. */
static bool stands_in(void)
{
    const char *wish = getenv("TCM_ENABLE");
    return secure_getenv("NUMAESTRO_ATTACH") && !(wish && strcmp(wish, "0") == 0);
}

const char *nm_tcm_file(const char *file)
{
    Dl_info here;
    if (NM_LIKELY(!file || strcmp(file, "libtcm.so.1") != 0) || !stands_in())
        return file;
    return dladdr((void *)nm_tcm_file, &here) && here.dli_fname ? here.dli_fname : file;
}

static bool is_client(uint64_t id)
{
    return id >= 1 && id <= CLIENTS_MAX && clients[id - 1].used;
}

SHIM_EXPORT int tcmConnect(callback call, uint64_t *id)
{
    const char *path = NULL;
    uintptr_t base = nm_object_of((uintptr_t)__builtin_return_address(0), &path);
    if (!id)
        return TCM_INVALID;
    enum nm_verb verb = nm_library_verb(path);
    if (!stands_in() || verb == NM_VERB_LEAVE || verb == NM_VERB_SET)
        return TCM_UNKNOWN;
    nm_flag_lock(&busy);
    int result = TCM_UNKNOWN;
    for (unsigned i = 0; i < CLIENTS_MAX && result != TCM_SUCCESS; i++) {
        if (clients[i].used)
            continue;
        clients[i].used = true;
        clients[i].call = call;
        clients[i].base = base;
        *id = i + 1;
        result = TCM_SUCCESS;
    }
    nm_flag_unlock(&busy);
    return result;
}

SHIM_EXPORT int tcmDisconnect(uint64_t id)
{
    if (!is_client(id))
        return TCM_INVALID;
    nm_flag_lock(&busy);
    clients[id - 1].used = false;
    nm_flag_unlock(&busy);
    return TCM_SUCCESS;
}

static void show(const permit *it, struct tcm_permit *out)
{
    for (uint32_t i = 0; out->concurrencies && i < out->size; i++)
        out->concurrencies[i] = i == 0 ? it->granted : 0;
    out->state = it->state;
    out->flags = it->flags;
}

/* Its client may make threads. Under a limit of one thread it asks for none. */
static bool wants_workers(const permit *it)
{
    return shares(it) && it->state == TCM_ACTIVE && it->max > 0 && nm_whole_count() > 1;
}

static permit *new_permit(void)
{
    permit *it = permits;
    while (it && it->client)
        it = it->next;
    if (it)
        return it;
    it = calloc(1, sizeof *it);
    if (it) {
        it->next = permits;
        permits = it;
    }
    return it;
}

static int level_of(int32_t priority)
{
    int level = priority / (INT32_MAX / 4) - 1;
    return level < 0 ? 0 : level < LEVELS ? level : LEVELS - 1;
}

SHIM_EXPORT int tcmRequestPermit(uint64_t id, struct tcm_request request, void *argument, permit **handle,
                                 struct tcm_permit *out)
{
    bool bad = request.min >= 0 && request.max >= 0 && request.min > request.max;
    if (!is_client(id) || !handle || bad)
        return TCM_INVALID;
    nm_flag_lock(&busy);
    permit *it = *handle ? *handle : new_permit();
    if (!it) {
        nm_flag_unlock(&busy);
        return TCM_UNKNOWN;
    }
    it->client = (unsigned)id;
    it->argument = argument;
    it->min = request.min > 0 ? (uint32_t)request.min : 0;
    it->max = request.max >= 0 ? (uint32_t)request.max : nm_whole_count();
    if (it->max < it->min)
        it->max = it->min;
    it->level = level_of(request.priority);
    it->flags = request.flags & TCM_KEPT_FLAGS;
    it->state = request.flags & TCM_AS_INACTIVE ? TCM_INACTIVE : TCM_ACTIVE;
    if (!*handle)
        *handle = it; /* a callback may be reading it */
    divide_and_tell(it);
    if (out)
        show(it, out);
    bool works = wants_workers(it);
    nm_flag_unlock(&busy);
    if (works)
        nm_look_after();
    return TCM_SUCCESS;
}

SHIM_EXPORT int tcmGetPermitData(permit *it, struct tcm_permit *out)
{
    if (!it || !out)
        return TCM_INVALID;
    nm_flag_lock(&busy);
    show(it, out);
    nm_flag_unlock(&busy);
    return TCM_SUCCESS;
}

static int become(permit *it, uint8_t state)
{
    if (!it)
        return TCM_INVALID;
    nm_flag_lock(&busy);
    it->state = state;
    divide_and_tell(it);
    bool works = wants_workers(it);
    nm_flag_unlock(&busy);
    if (works)
        nm_look_after();
    return TCM_SUCCESS;
}

/* Waits for callbacks: the client destroys afterwards what they look at. */
SHIM_EXPORT int tcmReleasePermit(permit *it)
{
    if (!it)
        return TCM_INVALID;
    nm_flag_lock(&busy);
    it->state = TCM_VOID;
    while (it->calls > (calling == it)) {
        nm_flag_unlock(&busy);
        sched_yield();
        nm_flag_lock(&busy);
    }
    it->client = 0;
    it->granted = 0;
    divide_and_tell(NULL);
    nm_flag_unlock(&busy);
    return TCM_SUCCESS;
}

SHIM_EXPORT int tcmIdlePermit(permit *it)
{
    return become(it, TCM_IDLE);
}

SHIM_EXPORT int tcmDeactivatePermit(permit *it)
{
    return become(it, TCM_INACTIVE);
}

SHIM_EXPORT int tcmActivatePermit(permit *it)
{
    return become(it, TCM_ACTIVE);
}

SHIM_EXPORT int tcmRegisterThread(permit *it)
{
    return it ? TCM_SUCCESS : TCM_INVALID;
}

SHIM_EXPORT int tcmUnregisterThread(void)
{
    return TCM_SUCCESS;
}

SHIM_EXPORT int tcmGetVersionInfo(char *buffer, uint32_t size)
{
    if (!buffer || size == 0)
        return TCM_INVALID;
    static const char version[] = "TCM: numaestro stands in for it\n";
    size_t length = size < sizeof version ? size - 1 : sizeof version - 1;
    memcpy(buffer, version, length);
    buffer[length] = 0;
    return TCM_SUCCESS;
}

/* No thread that held the lock or called a client has survived the fork. */
static void in_child(void)
{
    atomic_flag_clear(&busy);
    for (permit *it = permits; it; it = it->next)
        it->calls = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}
