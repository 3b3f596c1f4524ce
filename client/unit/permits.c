/* permits.c - permits of the stand-in for the Thread Composability Manager: how workers are
 * divided, who is called back and when, and what becomes of mistakes of a client.
 *
 *     permits [SEED]
 */
#include "../shim/tcm.c"

#include <stdio.h>

enum { WHOLE = 8, THREADS = 4, PERMITS = 6, ROUNDS = 20000 };

static bool left;

unsigned nm_whole_count(void)
{
    return WHOLE;
}

uintptr_t nm_object_of(uintptr_t address, const char **path)
{
    (void)address;
    *path = "libtbb.so.12";
    return 0x1000;
}

enum nm_verb nm_library_verb(const char *path)
{
    (void)path;
    return left ? NM_VERB_LEAVE : NM_VERB_NONE;
}

void nm_look_after(void)
{
}

static void expect(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "FAILED permits: %s\n", what);
    exit(1);
}

/* As oneTBB's: the data is asked for in the callback. */
struct arena {
    permit *permit;
    _Atomic uint32_t concurrency;
    atomic_uint calls;
    atomic_bool alive;
};

static uint32_t ask(permit *it, uint8_t *state)
{
    uint32_t concurrency = UINT32_MAX;
    struct tcm_permit data = {&concurrency, NULL, 1, TCM_VOID, 0};
    expect(tcmGetPermitData(it, &data) == TCM_SUCCESS, "a permit has data");
    if (state)
        *state = data.state;
    return concurrency;
}

static int renegotiate(permit *it, void *argument, uint32_t flags)
{
    struct arena *arena = argument;
    expect(arena->alive, "no callback after a permit was released");
    expect(it == arena->permit && flags == TCM_NEW_CONCURRENCY, "a callback is about its own permit");
    sched_yield();
    arena->concurrency = ask(it, NULL);
    arena->calls++;
    expect(arena->alive, "no permit is released while its client is called");
    return TCM_SUCCESS;
}

static void request(uint64_t id, struct arena *arena, int min, int max)
{
    struct tcm_request request = {min, max, NULL, 0, INT32_MAX / 4 * 2, 0, {0}};
    expect(tcmRequestPermit(id, request, arena, &arena->permit, NULL) == TCM_SUCCESS, "a request is granted");
    arena->concurrency = ask(arena->permit, NULL);
}

static void divides(uint64_t id)
{
    struct arena a = {.alive = true}, b = {.alive = true};
    request(id, &a, 0, 7);
    expect(a.concurrency == 7, "all workers, for one that can use them");
    request(id, &b, 0, 7);
    expect(a.concurrency + b.concurrency == 7 && a.concurrency >= 3 && b.concurrency >= 3, "half for each of two");
    expect(a.calls == 1 && b.calls == 0, "the other one is called back");
    nm_tcm_allow(3);
    expect(a.concurrency + b.concurrency == 2, "three processors: two workers and a thread of the program");
    nm_tcm_allow(1);
    expect(a.concurrency == 0 && b.concurrency == 0, "one processor: no worker");
    request(id, &b, 1, 7);
    expect(a.concurrency == 0 && b.concurrency == 1, "the least number is granted on one processor too");
    unsigned before = a.calls;
    nm_tcm_allow(1);
    expect(a.calls == before, "nothing changes: no call");
    nm_tcm_allow(UINT32_MAX);
    expect(a.concurrency + b.concurrency == 7, "no limit: as many as there are processors");
    expect(tcmDeactivatePermit(b.permit) == TCM_SUCCESS, "deactivated");
    uint8_t state;
    expect(ask(b.permit, &state) == 0 && state == TCM_INACTIVE && a.concurrency == 7, "an inactive permit needs none");
    expect(tcmActivatePermit(b.permit) == TCM_SUCCESS && ask(b.permit, &state) > 0 && state == TCM_ACTIVE, "active again");
    expect(tcmReleasePermit(b.permit) == TCM_SUCCESS && a.concurrency == 7, "released");
    expect(tcmReleasePermit(a.permit) == TCM_SUCCESS, "the last one is released");
}

static void keeps_priorities(uint64_t id)
{
    struct arena low = {.alive = true}, high = {.alive = true};
    struct tcm_request request = {0, 7, NULL, 0, INT32_MAX / 4, 0, {0}};
    expect(tcmRequestPermit(id, request, &low, &low.permit, NULL) == TCM_SUCCESS, "low priority");
    request.priority = INT32_MAX / 4 * 3;
    request.max = 5;
    expect(tcmRequestPermit(id, request, &high, &high.permit, NULL) == TCM_SUCCESS, "high priority");
    expect(ask(high.permit, NULL) == 5 && ask(low.permit, NULL) == 2, "the higher priority comes first");
    tcmReleasePermit(low.permit);
    tcmReleasePermit(high.permit);
}

static void forgives(uint64_t id)
{
    permit *none = NULL;
    uint64_t other = 0;
    char small[4];
    struct tcm_request request = {3, 2, NULL, 0, 0, 0, {0}};
    expect(tcmRequestPermit(id, request, NULL, &none, NULL) == TCM_INVALID && !none, "more at least than at most");
    request.max = -1;
    expect(tcmRequestPermit(id, request, NULL, NULL, NULL) == TCM_INVALID, "no place for the handle");
    expect(tcmRequestPermit(99, request, NULL, &none, NULL) == TCM_INVALID, "nobody's request");
    expect(tcmGetPermitData(NULL, NULL) == TCM_INVALID && tcmReleasePermit(NULL) == TCM_INVALID, "no permit");
    expect(tcmIdlePermit(NULL) == TCM_INVALID && tcmDisconnect(99) == TCM_INVALID, "no client");
    expect(tcmGetVersionInfo(small, sizeof small) == TCM_SUCCESS && small[3] == 0, "a version in four bytes");
    expect(tcmConnect(renegotiate, NULL) == TCM_INVALID, "no place for the id");
    left = true;
    expect(tcmConnect(renegotiate, &other) == TCM_UNKNOWN, "its user wants it left alone");
    left = false;
    setenv("TCM_ENABLE", "0", 1);
    expect(tcmConnect(renegotiate, &other) == TCM_UNKNOWN, "switched off");
    expect(strcmp(nm_tcm_file("libtcm.so.1"), "libtcm.so.1") == 0, "switched off: the user's file");
    unsetenv("TCM_ENABLE");
    expect(strcmp(nm_tcm_file("libtcm.so.1"), "libtcm.so.1") != 0, "our file in its place");
    expect(strcmp(nm_tcm_file("libm.so.6"), "libm.so.6") == 0 && !nm_tcm_file(NULL), "no other file");
}

/* Its teams are folded, so it never gets fewer. */
static void folds(void)
{
    uint64_t id = 0;
    permit *it = NULL;
    struct tcm_request request = {0, 8, NULL, 0, 0, 1 << 1, {0}};
    uint32_t concurrency = 0;
    struct tcm_permit data = {&concurrency, NULL, 1, TCM_VOID, 0};
    nm_tcm_allow(2);
    expect(tcmConnect(NULL, &id) == TCM_SUCCESS, "a client without a callback");
    expect(tcmRequestPermit(id, request, NULL, &it, &data) == TCM_SUCCESS, "its request");
    expect(concurrency == 8 && data.state == TCM_ACTIVE && data.flags == 1 << 1, "all that it asked for");
    tcmReleasePermit(it);
    expect(tcmDisconnect(id) == TCM_SUCCESS, "disconnected");
    nm_tcm_allow(UINT32_MAX);
}

static uint64_t storm_client;
static atomic_uint storm_seed;

static void *storm(void *unused)
{
    (void)unused;
    unsigned seed = storm_seed++;
    struct arena arenas[PERMITS] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        struct arena *arena = &arenas[rand_r(&seed) % PERMITS];
        int most = rand_r(&seed) % WHOLE;
        if (!arena->permit) {
            arena->alive = true;
            request(storm_client, arena, 0, most);
        } else if (most == 0) {
            expect(tcmReleasePermit(arena->permit) == TCM_SUCCESS, "released in a storm");
            arena->alive = false;
            arena->permit = NULL;
        } else if (most == 1) {
            tcmDeactivatePermit(arena->permit);
        } else {
            request(storm_client, arena, most == 2, most);
            expect(arena->concurrency >= (most == 2) && arena->concurrency <= (uint32_t)most, "between least and most");
        }
    }
    for (int i = 0; i < PERMITS; i++)
        if (arenas[i].permit)
            tcmReleasePermit(arenas[i].permit);
    return NULL;
}

static void survives_a_storm(uint64_t id, unsigned seed)
{
    pthread_t threads[THREADS];
    storm_client = id;
    storm_seed = seed;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, storm, NULL);
    for (int i = 0; i < ROUNDS; i++)
        nm_tcm_allow(1 + (uint32_t)rand_r(&seed) % WHOLE);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    nm_tcm_allow(UINT32_MAX);
    unsigned count = 0;
    for (permit *it = permits; it; it = it->next) {
        expect(it->client == 0 && it->calls == 0, "nothing is left of a storm");
        count++;
    }
    expect(count <= THREADS * PERMITS + 4, "released permits are used again");
}

int main(int argc, char **argv)
{
    uint64_t id = 0;
    setenv("NUMAESTRO_ATTACH", "/nonexistent/attach", 1);
    expect(tcmConnect(renegotiate, &id) == TCM_SUCCESS && nm_tcm_serves(0x1000), "connected");
    divides(id);
    keeps_priorities(id);
    forgives(id);
    folds();
    survives_a_storm(id, argc > 1 ? (unsigned)atoi(argv[1]) : 1);
    expect(tcmDisconnect(id) == TCM_SUCCESS && !nm_tcm_serves(0x1000), "disconnected");
    puts("ok permits: divided, told, and none is left");
    return 0;
}
