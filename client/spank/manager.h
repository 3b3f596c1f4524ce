/* manager.h - asks the node's manager one question. */
#ifndef NUMAESTRO_SPANK_MANAGER_H
#define NUMAESTRO_SPANK_MANAGER_H

#include <stddef.h>

/* Outcome of a question. */
enum answer {
    ANSWER_DONE,
    ANSWER_REFUSED,
    ANSWER_ABSENT, /* nobody listens */
    ANSWER_LATE,   /* the manager hangs, or the machine is very busy */
};

/* Sends `line`, of `length` bytes, to the manager of a directory. Takes 100 ms at most, whatever
 * the manager does. `reason`, of `size` bytes: for people, of every answer but ANSWER_DONE. */
enum answer manager_ask(const char *directory, const char *line, size_t length, char *reason, size_t size);

#endif
