/* watch.h - decides when a folded team is given back to the kernel and when it is folded again, and
 * remembers that for each region.
 */
#ifndef NUMAESTRO_WATCH_H
#define NUMAESTRO_WATCH_H

#include "fold.h"

/* The record of a region's function: how often its contexts waited for each other without a
 * meeting. */
struct nm_fold_memory {
    uint8_t level;    /* grows when an execution is given back, shrinks after executions that are not */
    uint8_t clean;    /* consecutive executions that were not given back */
    uint16_t rest;    /* executions left to the kernel before the next attempt; UINT16_MAX = all */
    uint8_t because;  /* enum nm_fold_why of the last execution that was given back */
};

/* The root calls these around a region that may be folded. `false`: leave this execution to the
 * kernel. */
bool nm_watch_begin(struct nm_fold_memory *memory);
void nm_watch_end(void);
/* A context calls this at a construct when the kernel does better with this region. */
void nm_watch_give_back(enum nm_fold_why why);
/* Leaves the present region to the kernel from now on. */
void nm_watch_remember(void);
/* Sets the number of processors that the program has, and whether others use them too. From any
 * thread. */
void nm_watch_allow(uint32_t processors, bool shared);
/* True: all carriers work, because the runtime's own constructs are about to be used. False: as
 * many carriers work as there are processors. */
void nm_watch_all(bool all);
bool nm_watch_in_region(void);
/* Writes to the page how the program's teams are run at present. */
void nm_watch_say(enum nm_fold_mode mode, enum nm_fold_why why, uint32_t threads);
void nm_watch_count(bool opened);
/* Helper thread: returns the nanoseconds until it is to be called again. */
uint64_t nm_watch_tick(void);
void nm_watch_in_child(void);

#endif
