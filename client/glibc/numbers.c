/* numbers.c - The headers of glibc 2.38 and newer rename these to functions that know binary
 * digits (0b1) too. Nobody here reads any.
 */
#include "old.h"

long strtol(const char *, char **, int);
long long strtoll(const char *, char **, int);
unsigned long strtoul(const char *, char **, int);
unsigned long long strtoull(const char *, char **, int);

OLD_INSIDE long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }
OLD_INSIDE long long __isoc23_strtoll(const char *text, char **end, int base) { return strtoll(text, end, base); }
OLD_INSIDE unsigned long __isoc23_strtoul(const char *text, char **end, int base) { return strtoul(text, end, base); }
OLD_INSIDE unsigned long long __isoc23_strtoull(const char *text, char **end, int base) { return strtoull(text, end, base); }
