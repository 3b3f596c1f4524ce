/* trust.h - whom a program believes to be its manager. The library, the command and the plugin of
 * Slurm have this file in common. */
#ifndef NUMAESTRO_TRUST_H
#define NUMAESTRO_TRUST_H

#include <stdbool.h>

/* The connection `fd` to the socket at `path` is one to root's process or to one of our own, and
 * nobody else can have put another socket there. `errno` is EACCES otherwise. */
bool nm_is_trusted(int fd, const char *path);

#endif
