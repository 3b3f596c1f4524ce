/* system.h - system calls and strings for code that may use no library.
 *
 * The stub is loaded into every program: also into those of another C library, and before the C
 * library has started. So it brings what it needs.
 */
#ifndef NUMAESTRO_SYSTEM_H
#define NUMAESTRO_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* A negative result is an error number. */
static inline long nm_system(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "the stub knows x86-64 and AArch64"
#endif
}

#define nm_system3(number, a, b, c) nm_system(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define nm_system4(number, a, b, c, d) nm_system(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static inline size_t nm_length(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

static inline bool nm_equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* What follows `start` in `text`; NULL if `text` does not begin so. */
static inline const char *nm_after(const char *text, const char *start)
{
    while (*start)
        if (*text++ != *start++)
            return NULL;
    return text;
}

static inline bool nm_contains(const char *text, const char *part)
{
    for (; *text; text++)
        if (nm_after(text, part))
            return true;
    return *part == 0;
}

static inline const char *nm_base(const char *path)
{
    const char *base = path;
    for (; *path; path++)
        if (*path == '/')
            base = path + 1;
    return base;
}

static inline void nm_copy(void *to, const void *from, size_t bytes)
{
    char *out = to;
    const char *in = from;
    while (bytes--)
        *out++ = *in++;
}

/* The value of an entry `NAME=value` of that name; NULL if it has another name. */
static inline const char *nm_value(const char *entry, const char *name)
{
    const char *rest = nm_after(entry, name);
    return rest && *rest == '=' ? rest + 1 : NULL;
}

static inline const char *nm_variable(char *const *environment, const char *name)
{
    for (; environment && *environment; environment++) {
        const char *value = nm_value(*environment, name);
        if (value)
            return value;
    }
    return NULL;
}

#endif
