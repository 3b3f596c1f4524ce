/* lossy.c - preloaded by check.sh to prove that verification can fail: in
 * region LOST_REGION (from the environment, counted from 1) one thread of libgomp's team does none of its work, as after a
 * wrong change of a team's size. No program is built with it. */
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

/* libgomp's entry for `omp parallel`; declared here because it has no header. */
void GOMP_parallel(region_body *body, void *data, unsigned threads, unsigned flags);

void GOMP_parallel(region_body *body, void *data, unsigned threads, unsigned flags)
{
    static void (*next)(region_body *, void *, unsigned, unsigned);
    static int regions, lost;
    if (next == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "GOMP_parallel");
        memcpy(&next, &symbol, sizeof next);
        const char *region = getenv("LOST_REGION");
        lost = region != NULL ? atoi(region) : 0;
    }
    if (++regions == lost) {
        body_of_lost = body;
        body = body_without_last_thread;
    }
    next(body, data, threads, flags);
}
