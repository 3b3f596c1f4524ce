/* A thread library of its own: four virtual processors take tasks from one queue, batch after
 * batch, and give processors back, get them again, claim and hand over as numaestro.h says. Every
 * task is done exactly once, whatever the manager does, and also without a manager. With VPS_IDLE
 * in the environment there is one batch only, and nothing to do afterwards. It prints its counts on
 * standard error: "asked A handed H parked P stolen S".
 */
#include "../include/numaestro.h"
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { VPS = 4, TASKS = 100 };

#pragma weak numaestro_vp_register
#pragma weak numaestro_vp_release
#pragma weak numaestro_vp_preempted
#pragma weak numaestro_vp_claim
#pragma weak numaestro_vp_handoff
#pragma weak numaestro_asked_back
#pragma weak numaestro_request

static _Atomic long next = TASKS, finished, done[TASKS];
static _Atomic int over;
static _Atomic long asked, handed, parked, stolen;

static void work(long task)
{
    volatile unsigned x = (unsigned)task;
    for (int i = 0; i < 20000; i++)
        x = x * 1664525u + 1013904223u;
    done[task]++;
    finished++;
}

static int managed(void)
{
    return numaestro_vp_register != NULL;
}

/* Gives processors back or hands over, if need be. True if it did: the caller looks again. */
static int minded_processors(int me)
{
    if (!managed())
        return 0;
    int got;
    if (numaestro_asked_back() > 0) {
        asked++;
        return numaestro_vp_release(me) == NUMAESTRO_OK;
    }
    if (numaestro_vp_preempted() == 0)
        return 0;
    stolen++;
    if ((got = numaestro_vp_claim()) < 0)
        return 0;
    if (numaestro_vp_handoff(got) == NUMAESTRO_OK)
        handed++;
    return 1;
}

static void *run(void *argument)
{
    int me = (int)(long)argument;
    if (managed() && numaestro_vp_register(me) == NUMAESTRO_E_INVALID)
        check_fail("vp %d cannot be registered", me);
    while (!over) {
        long task = atomic_load(&next) < TASKS ? next++ : TASKS;
        if (task < TASKS) {
            work(task);
            /* A safe point: this vp has no task in hand. */
            minded_processors(me);
        } else if (!minded_processors(me)) {
            if (managed() && numaestro_vp_release(me) == NUMAESTRO_OK)
                parked++;
            else
                usleep(200);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[VPS];
    for (long i = 0; i < VPS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    const char *idle = getenv("VPS_IDLE");
    while (check_going(argc, argv)) {
        if (idle && check_rounds > 0) {
            sleep(1);
            continue;
        }
        for (int i = 0; i < TASKS; i++)
            done[i] = 0;
        finished = 0;
        next = 0;
        if (managed())
            numaestro_request(VPS);
        while (finished < TASKS)
            usleep(100);
        for (int i = 0; i < TASKS; i++)
            check_equal("executions of a task", done[i], 1);
    }
    over = 1;
    for (int i = 0; i < VPS; i++)
        pthread_join(threads[i], NULL);
    fprintf(stderr, "asked %ld handed %ld parked %ld stolen %ld\n", (long)asked, (long)handed, (long)parked, (long)stolen);
    return check_end("vps", TASKS);
}
