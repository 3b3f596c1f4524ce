/* meddle.c - check.sh preloads it between a program and libgomp, to prove the
 * programs' promises. No program is built with it.
 *
 * LOST_REGION=N: in region N (counted from 1) the last thread does none of its
 * work, as after a wrong change of a team's size: verification must fail.
 * TEAM_CYCLE=N: region after region has 1, 2, .. N, 1, .. threads, unless the
 * program asked for a number: the result must stay the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef void region_body(void *);

static region_body *body_of_lost;

static void body_without_last_thread(void *data)
{
    if (omp_get_thread_num() != omp_get_num_threads() - 1)
        body_of_lost(data);
}

static unsigned number_from(const char *variable)
{
    const char *text = getenv(variable);
    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* libgomp's entry for `omp parallel`; declared here because it has no header. */
void GOMP_parallel(region_body *body, void *data, unsigned threads, unsigned flags);

void GOMP_parallel(region_body *body, void *data, unsigned threads, unsigned flags)
{
    static void (*next)(region_body *, void *, unsigned, unsigned);
    static unsigned regions, lost, cycle;
    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "GOMP_parallel");
        memcpy(&next, &symbol, sizeof next);
        lost = number_from("LOST_REGION");
        cycle = number_from("TEAM_CYCLE");
    }
    if (threads == 0 && cycle > 0)
        threads = regions % cycle + 1;
    if (++regions == lost) {
        body_of_lost = body;
        body = body_without_last_thread;
    }
    next(body, data, threads, flags);
}
