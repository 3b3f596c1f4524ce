/* pace.h - the cost of the shim's own steps on this machine. No two machines have the same: the
 * clock may be a register or a system call, and the processor fast or slow. So limits that depend
 * on such costs are measured in the process that uses them.
 */
#ifndef NUMAESTRO_PACE_H
#define NUMAESTRO_PACE_H

#include <stdint.h>

struct nm_pace {
    uint64_t clock_ns;  /* from one reading of the clock to the next; one step of a coarse clock */
    uint64_t little_ns; /* a little work: some hundred instructions, one after the other */
};

/* Measured at the first call, for some tens of microseconds. */
struct nm_pace nm_pace(void);
/* The shortest of some runs of this piece of work, at least 1. */
uint64_t nm_shortest_ns(void (*piece)(void));

#endif
