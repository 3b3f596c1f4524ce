/* runtime.c - knows the runtimes that the shim serves, by the names of their files.
 */
#include "look.h"

#include "system.h"

#define NAME_BYTES 256u

/* Runtimes, by parts of their files' names. */
static const char *const runtimes[] = {
    "libgomp", "libomp.", "libomp-", "libiomp5", "openblas", "libblas", "libcblas", "liblapack", "libblis", "mkl_rt", "libmkl",
    "libtbb", "libmpi", "libopen-pal", "libucp", "libnumaestro.so",
};

/* A name among the user's rules for libraries: `PATTERN=VERB`, after commas; `*` stands for any
 * characters, `?` for one. */
static bool matches(const char *pattern, size_t length, const char *text)
{
    size_t at = 0, star = length, from = 0, i = 0;
    while (text[i]) {
        if (at < length && pattern[at] == '*') {
            star = at++;
            from = i;
        } else if (at < length && (pattern[at] == '?' || pattern[at] == text[i])) {
            at++;
            i++;
        } else if (star < length) {
            at = star + 1;
            i = ++from;
        } else {
            return false;
        }
    }
    while (at < length && pattern[at] == '*')
        at++;
    return at == length;
}

bool nm_is_named_by_user(const char *file, const char *rules)
{
    while (rules && *rules) {
        size_t length = 0, whole;
        while (rules[length] && rules[length] != '=' && rules[length] != ',')
            length++;
        for (whole = length; rules[whole] && rules[whole] != ',';)
            whole++;
        /* A rule may name the file without its version, or its beginning. */
        char short_name[NAME_BYTES];
        size_t n = 0;
        while (file[n] && n + 1 < sizeof short_name && !nm_after(file + n, ".so") && !nm_after(file + n, ".cpython")) {
            short_name[n] = file[n];
            n++;
        }
        short_name[n] = 0;
        if (length > 0 && (matches(rules, length, file) || matches(rules, length, short_name)))
            return true;
        rules += whole + (rules[whole] == ',');
    }
    return false;
}

bool nm_is_runtime_name(const char *path, const char *rules)
{
    const char *file = nm_base(path);
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (nm_contains(file, runtimes[i]))
            return true;
    return nm_is_named_by_user(file, rules);
}
