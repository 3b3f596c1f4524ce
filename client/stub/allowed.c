/* allowed.c - the allowed set of this process: the processors that its user, or it itself, has
 * given it. The environment tells it the user's; here is what it has done since.
 */
#include "stub.h"

static struct nm_cpus narrowed;
static int32_t narrowed_by; /* the process; a child of vfork has another number and the same memory */

static int32_t own_pid(void)
{
    return (int32_t)nm_system3(SYS_getpid, 0, 0, 0);
}

bool nm_stub_own_allowed(struct nm_cpus *out)
{
    if (narrowed_by == 0 || narrowed_by != own_pid())
        return false;
    *out = narrowed;
    return true;
}

unsigned nm_cpus_count(const struct nm_cpus *set)
{
    unsigned count = 0;
    for (unsigned i = 0; i < NM_CPU_WORDS; i++)
        for (uint64_t word = set->words[i]; word; word &= word - 1)
            count++;
    return count;
}

static bool has_all(const struct nm_cpus *set, const struct nm_cpus *of)
{
    for (unsigned i = 0; i < NM_CPU_WORDS; i++)
        if (of->words[i] & ~set->words[i])
            return false;
    return true;
}

void nm_stub_narrowed(const void *mask, size_t bytes)
{
    struct nm_cpus set = {{0}}, told;
    const char *list = nm_variable(nm_stub_start()->saved, "NUMAESTRO_CPUS_ALL");
    nm_copy(set.words, mask, bytes < sizeof set.words ? bytes : sizeof set.words);
    /* Whoever takes all that the user gave has taken nothing away. */
    if (list && nm_cpus_parse(list, &told) && has_all(&set, &told)) {
        narrowed_by = 0;
        return;
    }
    narrowed = set;
    narrowed_by = own_pid();
}

/* For the shim, from which such calls do not pass the stub. */
STUB_EXPORT void numaestro_narrowed(const void *mask, size_t bytes)
{
    nm_stub_narrowed(mask, bytes);
}

static const char *number(const char *at, unsigned *out)
{
    unsigned value = 0;
    const char *begin = at;
    while (*at >= '0' && *at <= '9' && value < NM_CPU_WORDS * 64)
        value = value * 10 + (unsigned)(*at++ - '0');
    *out = value;
    return at > begin && value < NM_CPU_WORDS * 64 ? at : NULL;
}

/* The list of Linux, "0-3,8". */
bool nm_cpus_parse(const char *list, struct nm_cpus *out)
{
    bool some = false;
    *out = (struct nm_cpus){{0}};
    while (*list) {
        unsigned first, last;
        list = number(list, &first);
        last = first;
        if (list && *list == '-')
            list = number(list + 1, &last);
        if (!list || last < first)
            return false;
        for (unsigned cpu = first; cpu <= last; cpu++)
            out->words[cpu / 64] |= 1ull << cpu % 64;
        some = true;
        if (*list == ',')
            list++;
        else if (*list)
            return false;
    }
    return some;
}

static bool put(char *out, size_t room, size_t *used, unsigned value, char before)
{
    char digits[12];
    unsigned n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    if (*used + n + 2 > room)
        return false;
    if (before)
        out[(*used)++] = before;
    while (n)
        out[(*used)++] = digits[--n];
    out[*used] = 0;
    return true;
}

bool nm_cpus_write(const struct nm_cpus *set, char *out, size_t room)
{
    size_t used = 0;
    bool fits = room > 0;
    for (unsigned cpu = 0; fits && cpu < NM_CPU_WORDS * 64; cpu++) {
        unsigned last = cpu;
        if (!(set->words[cpu / 64] >> cpu % 64 & 1))
            continue;
        while (last + 1 < NM_CPU_WORDS * 64 && set->words[(last + 1) / 64] >> (last + 1) % 64 & 1)
            last++;
        fits = put(out, room, &used, cpu, used ? ',' : 0) && (last == cpu || put(out, room, &used, last, '-'));
        cpu = last;
    }
    return fits && used > 0;
}
