/* choice.h - the value of --numaestro, read. */
#ifndef NUMAESTRO_SPANK_CHOICE_H
#define NUMAESTRO_SPANK_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOICE_POLICY_MAX 160  /* bytes, with the final zero */
#define CHOICE_CPUS_MAX 65535u /* as many as Slurm can count on one node */

/* What a user asks for. */
struct choice {
    bool managed;
    bool asked; /* by the user; else it is the administrator's default */
    bool malleable;
    uint32_t min, max;              /* processors on each node, if malleable */
    char policy[CHOICE_POLICY_MAX]; /* empty: that of the node */
};

/* Reads [POLICY|on|off][,malleable:MIN-MAX]; NULL is `on`. Gives NULL, or the mistake: a clause
 * that stays valid. `choice` changes only if there is none. */
const char *choice_read(const char *text, struct choice *choice);

/* One request of the manager, as JSON with its newline. Gives its length; 0 if it does not fit. */
struct step {
    uint32_t job;
    uint32_t uid;
    uint32_t cpus; /* allocated to the job on this node */
    char name[16]; /* of the step: 0, 1, ..., batch, interactive */
};
size_t choice_request(const struct choice *choice, const struct step *step, char *line, size_t size);

#endif
