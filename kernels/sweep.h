/* sweep.h - the loop of flush, bbma and nbbma: pass after pass over one array,
 * each thread over its own part, with many passes per region.
 *
 * Every pass adds 1 to each word it touches, so the result is known exactly.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "kernel.h"

#include <omp.h>

enum { SWEEP_LINE_WORDS = 8 }; /* 64 bytes */

struct sweep {
    long words, step; /* touches every step-th word */
    long passes;      /* per region */
    uint64_t *data;
};

static void sweep_region(const struct sweep *s)
{
    long touched = s->words / s->step;
#pragma omp parallel
    for (long pass = 0; pass < s->passes; pass++) {
        /* No barrier is needed: equal static loops give each thread the same
         * iterations every time, so only one thread touches a word. */
#pragma omp for schedule(static) nowait
        for (long k = 0; k < touched; k++) {
            s->data[k * s->step]++;
        }
        if (pass == 0) {
#pragma omp single nowait
            kernel_note_team(omp_get_num_threads());
        }
    }
}

static inline int sweep_main(const struct kernel_about *about, int argc, char **argv, long step,
                             long passes)
{
    struct kernel_args args = kernel_open(about, argc, argv);
    struct sweep s = {.words = args.size * 1024 / 8, .step = step, .passes = passes};
    size_t bytes = (size_t)s.words * sizeof *s.data;
    s.data = kernel_alloc((size_t)s.words, sizeof *s.data);
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++)
        sweep_region(&s);
    kernel_end();

    bool ok = true;
    for (long w = 0; ok && w < s.words; w++)
        ok = kernel_expect(s.data[w] == (w % step == 0 ? (uint64_t)(done * passes) : 0),
                           "every pass touched its words once");
    return kernel_report(done, kernel_checksum(0, s.data, bytes), ok);
}

#endif
