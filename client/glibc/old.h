/* old.h - the name by which a function of glibc is wanted in an old version: the first of this
 * architecture, or for one that came later another.
 */
#pragma once

#if defined __x86_64__
#define OLD_NAME(name, x86_64) name "@" x86_64
#elif defined __aarch64__
#define OLD_NAME(name, x86_64) name "@GLIBC_2.17"
#else
#error "the versions of glibc for this architecture are not known here"
#endif

// Afterwards LOCAL is NAME of the version that it has on x86_64 (on others it is the first one).
#define OLD(local, name, x86_64) __asm__(".symver " #local ", " OLD_NAME(#name, x86_64))

// For what is linked, never for others: the loader must not find these functions.
#define OLD_INSIDE __attribute__((visibility("hidden")))
