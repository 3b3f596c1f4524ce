/* stat.c - Before glibc 2.33 programs had these functions in themselves, and the library had
 * ones that are told the form of the result.
 */
#include "old.h"

#if defined __x86_64__
enum { FORM = 1 };
#else
enum { FORM = 0 };
#endif

struct stat;
int nm_xstat(int, const char *, struct stat *);
OLD(nm_xstat, __xstat, "GLIBC_2.2.5");
int nm_lxstat(int, const char *, struct stat *);
OLD(nm_lxstat, __lxstat, "GLIBC_2.2.5");
int nm_fxstat(int, int, struct stat *);
OLD(nm_fxstat, __fxstat, "GLIBC_2.2.5");
int nm_fxstatat(int, int, const char *, struct stat *, int);
OLD(nm_fxstatat, __fxstatat, "GLIBC_2.4");

OLD_INSIDE int stat(const char *path, struct stat *to) { return nm_xstat(FORM, path, to); }
OLD_INSIDE int lstat(const char *path, struct stat *to) { return nm_lxstat(FORM, path, to); }
OLD_INSIDE int fstat(int fd, struct stat *to) { return nm_fxstat(FORM, fd, to); }
OLD_INSIDE int fstatat(int fd, const char *path, struct stat *to, int flags) { return nm_fxstatat(FORM, fd, path, to, flags); }

// On machines of 64 bits the two forms are one.
#define SAME(name) OLD_INSIDE extern __typeof__(name) name##64 __attribute__((alias(#name)))
SAME(stat);
SAME(lstat);
SAME(fstat);
SAME(fstatat);
