/* managed.c - nano-threads under a manager that this program plays itself: it exports the
 * primitives of numaestro.h, which the library finds before any others, gives and takes processors,
 * and checks how the library uses them.
 *
 * usage: managed tied|untied     ends with 0 if all is as it should be */
#define _GNU_SOURCE
#include "nanothreads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define VPS 3
#define PUBLIC __attribute__((visibility("default")))

enum state { UNUSED, PARKED, RUNNING, STOLEN, CLAIMED };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t granted = PTHREAD_COND_INITIALIZER;
static enum state vps[VPS];
static int held = VPS, running, stolen, released, handed, requests, reported;
static bool all_parked;
static _Thread_local int self = -1;

static void set(int vp, enum state state)
{
    running += (state == RUNNING) - (vps[vp] == RUNNING);
    stolen += (state == STOLEN) - (vps[vp] == STOLEN);
    vps[vp] = state;
    int awake = 0;
    for (int i = 0; i < VPS; i++)
        awake += vps[i] >= RUNNING;
    all_parked |= awake == 0 && vps[0] != UNUSED && vps[1] != UNUSED && vps[2] != UNUSED;
    pthread_cond_broadcast(&granted);
}

/* Gives free processors to vps that lack one: the stolen first. */
static void grant(bool parked_too)
{
    for (enum state who = CLAIMED; who >= PARKED; who--)
        for (int vp = 0; vp < VPS && running < held; vp++)
            if (who != RUNNING && vps[vp] == who && (who != PARKED || parked_too))
                set(vp, RUNNING);
}

static int park(int vp)
{
    set(vp, PARKED);
    while (vps[vp] == PARKED)
        pthread_cond_wait(&granted, &lock);
    return 0;
}

PUBLIC uint32_t numaestro_api_version(void) { return 0x00010001u; }
PUBLIC int numaestro_attach(void) { return 0; }

PUBLIC int numaestro_current(void)
{
    pthread_mutex_lock(&lock);
    int count = running;
    pthread_mutex_unlock(&lock);
    return count;
}

PUBLIC int numaestro_asked_back(void)
{
    pthread_mutex_lock(&lock);
    int asked = running > held ? running - held : self >= 0 && vps[self] >= STOLEN;
    pthread_mutex_unlock(&lock);
    return asked;
}

PUBLIC int numaestro_request(int processors)
{
    pthread_mutex_lock(&lock);
    requests++;
    if (processors == VPS)
        grant(true);
    pthread_mutex_unlock(&lock);
    return 0;
}

PUBLIC int numaestro_vp_register(int vp)
{
    pthread_mutex_lock(&lock);
    self = vp;
    set(vp, running < held ? RUNNING : STOLEN);
    pthread_mutex_unlock(&lock);
    return 0;
}

PUBLIC int numaestro_vp_release(int vp)
{
    pthread_mutex_lock(&lock);
    released++;
    set(vp, PARKED);
    grant(false);
    int code = park(vp);
    pthread_mutex_unlock(&lock);
    return code;
}

PUBLIC int numaestro_vp_preempted(void)
{
    pthread_mutex_lock(&lock);
    int count = stolen;
    pthread_mutex_unlock(&lock);
    return count;
}

PUBLIC int numaestro_vp_claim(void)
{
    int work = -3;
    pthread_mutex_lock(&lock);
    for (int vp = 0; vp < VPS && work < 0 && vps[self] == RUNNING; vp++)
        if (vps[vp] == STOLEN)
            work = vp;
    if (work >= 0)
        set(work, CLAIMED);
    pthread_mutex_unlock(&lock);
    return work;
}

PUBLIC int numaestro_vp_handoff(int work)
{
    int code = -3;
    pthread_mutex_lock(&lock);
    if (vps[work] == CLAIMED && vps[self] == RUNNING) {
        handed++;
        set(work, RUNNING);
        code = park(self);
    } else if (vps[work] == CLAIMED) {
        set(work, STOLEN);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

PUBLIC int numaestro_vp_info(int vp, int out[3])
{
    pthread_mutex_lock(&lock);
    out[0] = (int)vps[vp];
    out[1] = out[2] = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

PUBLIC int numaestro_report_speedup(int processors, unsigned milli)
{
    reported = processors * 10000 + (int)milli;
    return 0;
}

/* -- The manager's side ------------------------------------------------------------------------ */

static void nap(void)
{
    struct timespec time = {0, 200000};
    nanosleep(&time, NULL);
}

/* Waits, for ten seconds at most, until `count` vps run. */
static bool runs_on(int count)
{
    for (int i = 0; i < 50000; i++, nap())
        if (numaestro_current() == count)
            return true;
    fprintf(stderr, "%d run instead of %d\n", numaestro_current(), count);
    return false;
}

static void allot(int count)
{
    pthread_mutex_lock(&lock);
    held = count;
    grant(true);
    pthread_mutex_unlock(&lock);
}

/* Marks vps as stolen whose processors were not given back in time, the highest vp number first. */
static void steal(void)
{
    pthread_mutex_lock(&lock);
    for (int vp = VPS - 1; vp >= 0 && running > held; vp--)
        if (vps[vp] == RUNNING)
            set(vp, STOLEN);
    pthread_mutex_unlock(&lock);
}

static int tally(int *counter)
{
    pthread_mutex_lock(&lock);
    int value = *counter;
    pthread_mutex_unlock(&lock);
    return value;
}

/* -- The program's side ------------------------------------------------------------------------ */

static atomic_bool end;
static atomic_long sum;

static void work(size_t from, size_t to, void *arg)
{
    (void)arg;
    for (size_t i = from; i < to; i++) {
        for (volatile int spin = 0; spin < 300; spin++) {
        }
        atomic_fetch_add(&sum, (long)(i % 7));
    }
}

static void *program(void *arg)
{
    long *expected = arg;
    while (!atomic_load(&end)) {
        nth_parallel_for(0, 7000, 10, work, NULL);
        *expected += 21000;
    }
    return NULL;
}

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
            return 1; \
        } \
    } while (0)

int main(int count, char **words)
{
    bool untied = count > 1 && strcmp(words[1], "untied") == 0;
    struct nth_options options = {sizeof options, VPS, untied ? NTH_UNTIED : 0, 0};
    CHECK(nth_init(&options) == NTH_OK);
    long expected = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, program, &expected) == 0);
    CHECK(runs_on(VPS));

    /* The program gives back processors that the manager asks for, and uses them again when it gets
     * them. Tied vps may stay in one nano-thread for as long as a loop lasts, but not for ever. */
    for (int round = 0; round < 20; round++) {
        allot(1 + round % VPS);
        CHECK(runs_on(1 + round % VPS));
    }
    CHECK(tally(&released) > 0);

    /* Stolen vps give way or are recovered, and nothing stops. */
    for (int round = 0; round < 50; round++) {
        allot(1);
        steal();
        long before = atomic_load(&sum);
        while (atomic_load(&sum) == before)
            nap();
        allot(VPS);
    }

    /* A vp that finds nothing to do gives its processor to others, but one vp stays; new work calls
     * it back. */
    atomic_store(&end, true);
    pthread_join(thread, NULL);
    CHECK(atomic_load(&sum) == expected);
    CHECK(runs_on(1));
    int before = tally(&requests);
    atomic_store(&end, false);
    CHECK(pthread_create(&thread, NULL, program, &expected) == 0);
    CHECK(runs_on(VPS));
    CHECK(tally(&requests) > before);
    atomic_store(&end, true);
    pthread_join(thread, NULL);
    CHECK(atomic_load(&sum) == expected);

    CHECK(nth_request(2) == NTH_OK && nth_report_speedup(2, 1900) == NTH_OK && reported == 21900);
    CHECK(nth_request(0) == NTH_OK);
    CHECK(!all_parked);
    allot(VPS);
    printf("released %d, handed over %d, requests %d\n", released, handed, requests);
    return 0;
}
