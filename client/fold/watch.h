/* watch.h - when a folded team is given back to the kernel, when it is folded again, and what is
 * remembered of a region.
 */
#ifndef NUMAESTRO_WATCH_H
#define NUMAESTRO_WATCH_H

#include "fold.h"

/* What is known of a region's function: how often its contexts waited for each other without a
 * meeting. */
struct nm_fold_memory {
    uint8_t level;    /* grows when an execution is given back, shrinks when some are not */
    uint8_t clean;    /* executions in a row that were not */
    uint16_t rest;    /* executions that are left to the kernel before the next attempt; UINT16_MAX = all */
    uint8_t because;  /* enum nm_fold_why of the last time */
};

/* Root, around a region that may be folded. `false`: leave this execution to the kernel. */
bool nm_watch_begin(struct nm_fold_memory *memory);
void nm_watch_end(void);
/* The kernel does better with what this region is doing: from a context, at a construct. */
void nm_watch_give_back(enum nm_fold_why why);
/* The present region is to be left to the kernel from now on. */
void nm_watch_remember(void);
/* Processors that the program has, and whether others use them too. From any thread. */
void nm_watch_allow(uint32_t processors, bool shared);
/* All carriers work, because the runtime's own constructs are about to be used; or as many as there
 * are processors. */
void nm_watch_all(bool all);
bool nm_watch_in_region(void);
/* How the program's teams are run at present, for the page. */
void nm_watch_say(enum nm_fold_mode mode, enum nm_fold_why why, uint32_t threads);
void nm_watch_count(bool opened);
/* Helper thread: nanoseconds until it is to be called again. */
uint64_t nm_watch_tick(void);
void nm_watch_in_child(void);

#endif
