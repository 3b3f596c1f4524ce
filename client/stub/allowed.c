/* allowed.c - the allowed set of this process: the processors that its user, or it itself, has
 * given it. The environment tells it the user's; here is what it has done since.
 *
 * The kernel hands on the mask of the thread that starts something, so each thread has a set of its
 * own. A child of fork begins with its parent's, which its memory has; a child of vfork too, but
 * what it sets is not its parent's.
 */
#include "stub.h"

#include <fcntl.h>
#include <sys/stat.h>

#define RECORDS 256u

struct record {
    _Atomic uint32_t stamp; /* 0 = none; a later record may take its place */
    int32_t child;          /* set by this child of vfork; 0 = by a thread of this process */
    bool other;             /* set for another thread than the one that called */
    struct nm_cpus set;
};
static struct record *_Atomic table; /* NULL: nobody has set anything */
static _Atomic uint32_t stamps;
static _Atomic uint32_t first_threads; /* stamp of the first thread's; threads that it makes have its mask */
static __thread uint32_t own_stamp __attribute__((tls_model("initial-exec")));

static struct record *record_of(uint32_t stamp)
{
    struct record *records = table, *record = &records[stamp % RECORDS];
    return records && stamp && record->stamp == stamp ? record : NULL;
}

/* Two threads may be here at once: one of them has made memory for nothing. */
static struct record *records_made(void)
{
    void *nobody = NULL, *made = table;
    if (made)
        return made;
    made = nm_stub_map(RECORDS * sizeof(struct record));
    if (!__atomic_compare_exchange_n((void **)&table, &nobody, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) && made)
        nm_system3(SYS_munmap, made, RECORDS * sizeof(struct record), 0);
    return table;
}

static bool has_all(const struct nm_cpus *set, const struct nm_cpus *of)
{
    for (unsigned i = 0; i < NM_CPU_WORDS; i++)
        if (of->words[i] & ~set->words[i])
            return false;
    return true;
}

static struct record *found(const struct nm_cpus *present, int32_t child)
{
    struct record *records = table;
    for (unsigned i = 0; records && i < RECORDS; i++) {
        struct record *record = &records[i];
        if (!record->stamp || record->child != child || !has_all(&record->set, present))
            continue;
        /* A thread does not see what others set for it. A share of the moment may be the same set,
         * so it must be exactly this one. */
        if (child || (record->other && has_all(present, &record->set)))
            return record;
    }
    return NULL;
}

bool nm_stub_own_allowed(struct nm_cpus *out)
{
    struct record *record = NULL;
    struct nm_cpus present = {{0}};
    if (!stamps || nm_system3(SYS_sched_getaffinity, 0, sizeof present.words, present.words) <= 0)
        return false;
    if (nm_stub_is_vfork_child())
        record = found(&present, (int32_t)nm_system3(SYS_getpid, 0, 0, 0));
    if (!record)
        record = record_of(own_stamp);
    if (!record && (record = record_of(first_threads)) && !has_all(&record->set, &present))
        record = NULL;
    if (!record)
        record = found(&present, 0);
    if (record)
        *out = record->set;
    return record != NULL;
}

unsigned nm_cpus_count(const struct nm_cpus *set)
{
    unsigned count = 0;
    for (unsigned i = 0; i < NM_CPU_WORDS; i++)
        for (uint64_t word = set->words[i]; word; word &= word - 1)
            count++;
    return count;
}

/* The manager reads there what this process has done: the kernel does not say who has set a
 * mask. */
static void show(const struct nm_cpus *set)
{
    char list[256];
    char *shown = nm_stub_start()->allowed;
    if (shown && nm_cpus_write(set, list, sizeof list) && nm_length(list) <= nm_stub_start()->allowed_room)
        nm_copy(shown, list, nm_length(list) + 1);
}

bool nm_stub_has_one_thread(void)
{
    struct stat tasks;
    return nm_system4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) == 0 && tasks.st_nlink == 3;
}

/* `whole`: there are no other threads, which would stay where they are. */
void nm_stub_narrowed(const void *mask, size_t bytes, enum nm_whose whose, bool whole)
{
    struct nm_cpus set = {{0}}, told;
    const char *list = nm_variable(nm_stub_start()->saved, "NUMAESTRO_CPUS_ALL");
    bool child = nm_stub_is_vfork_child();
    int32_t pid = (int32_t)nm_system3(SYS_getpid, 0, 0, 0);
    bool first = whose == NM_FIRST_THREADS || (whose == NM_OWN && pid == (int32_t)nm_system3(SYS_gettid, 0, 0, 0));
    nm_copy(set.words, mask, bytes < sizeof set.words ? bytes : sizeof set.words);
    /* Whoever takes all that the user gave has taken nothing away. */
    bool all = list && nm_cpus_parse(list, &told) && has_all(&set, &told);
    uint32_t stamp = 0;
    if (first && !child && (all || whole))
        show(all ? &told : &set);
    struct record *records = !all || child ? records_made() : NULL;
    if (records) {
        struct record *record = child ? NULL : whose == NM_OWN ? record_of(own_stamp) : NULL;
        stamp = record ? record->stamp : ++stamps;
        if (!stamp)
            stamp = ++stamps;
        record = &records[stamp % RECORDS];
        record->stamp = 0;
        record->child = child ? pid : 0;
        record->other = whose == NM_ANOTHERS;
        record->set = set;
        record->stamp = stamp;
    }
    if (!child && whose == NM_OWN)
        own_stamp = stamp;
    if (!child && first)
        first_threads = stamp;
}

/* For the shim, from which such calls do not pass the stub. `whole`: of no thread but its own ones
 * and the caller. */
STUB_EXPORT void numaestro_narrowed(const void *mask, size_t bytes, bool whole)
{
    nm_stub_narrowed(mask, bytes, NM_OWN, whole);
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
