/* sizing.c - tells a program that sizes a pool of threads how many processors it may ever have.
 *
 * Most pools are sized once, at start, by the mask of the process: rayon, polars, Java, Python's
 * workers. `numaestro run` starts a program on its present allocation, so such a pool would stay
 * small for life. With `--pool whole` (NUMAESTRO_POOL=whole:N) the C library's questions are
 * answered with N processors; the kernel's mask is as narrow as ever, and raw system calls see it.
 *
 * A process that binds itself while it has one thread narrows itself: `taskset`, `numactl`, a
 * launcher between fork and exec, a worker that was given one processor. It gets the affinity that
 * it asks for, and that is its allowed set from then on, and of whatever it starts.
 *
 * A pool that was told more than the kernel allows may bind its threads to what it was told. It
 * could not know better, so its threads must not leave the allocation for it: the shim attaches, to
 * know the allocation, and keeps each binding within it. The thread itself is answered what it has
 * asked for. A pool that binds threads without asking first chooses by itself.
 *
 * sysconf(_SC_NPROCESSORS_ONLN) and get_nprocs() answer for the machine whatever the mask is. They
 * are lowered to N for runtimes that size pools by them. Everybody else may count processors of the
 * machine with them (top does, and arrays with one slot for each processor).
 */
#include "shim.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library's own name of sysconf: it needs no lookup, which might allocate. */
extern long __sysconf(int name);

/* A thread's own words must be few, because they lie on its stack. */
#define ASKED_WORDS 4

/* What a thread has set its own mask to. */
struct binding {
    enum { FREE, BY_ITSELF, WITHIN } kind;
    uint64_t asked[ASKED_WORDS]; /* WITHIN: before it was kept within the allocation */
};

static uint32_t most;          /* processors that the program may ever have; 0: only the truth is told */
static pid_t process;          /* a child of vfork has another number, and the same memory */
static atomic_bool told;       /* the program has been told more than the kernel allows it */
static __thread struct binding binding __attribute__((tls_model("initial-exec")));
static struct binding *of_first; /* that of the first thread: others can ask about it */

static void after_fork(void)
{
    process = getpid();
    of_first = &binding;
}

/* Before the first question, which may come from a constructor that runs before ours. */
static bool load(void)
{
    static bool loaded;
    if (!loaded) {
        after_fork();
        const char *word = secure_getenv("NUMAESTRO_POOL");
        if (word && strncmp(word, "whole:", 6) == 0) {
            unsigned long count = strtoul(word + 6, NULL, 10);
            most = count <= NM_CPUSET_WORDS * 64 ? (uint32_t)count : 0;
        }
        if (nm_whole_count() == 0)
            most = 0;
        loaded = true;
    }
    return most > 0;
}

__attribute__((constructor)) static void load_early(void)
{
    load();
    if (nm_whole_count() > 0)
        pthread_atfork(NULL, NULL, after_fork);
}

static unsigned bits_of(const struct nm_cpuset *set)
{
    unsigned count = 0;
    for (unsigned i = 0; i < NM_CPUSET_WORDS; i++)
        count += (unsigned)__builtin_popcountll(set->words[i]);
    return count;
}

static struct nm_cpuset both(const struct nm_cpuset *one, const struct nm_cpuset *other)
{
    struct nm_cpuset set;
    for (unsigned i = 0; i < NM_CPUSET_WORDS; i++)
        set.words[i] = one->words[i] & other->words[i];
    return set;
}

static struct nm_cpuset from_program(size_t bytes, const void *mask)
{
    struct nm_cpuset set = {{0}};
    memcpy(set.words, mask, bytes < sizeof set.words ? bytes : sizeof set.words);
    return set;
}

/* Adds processors that the user gave until there are as many as the program may ever have. */
static void widen(struct nm_cpuset *set)
{
    struct nm_cpuset all;
    unsigned count = bits_of(set);
    if (!nm_whole(&all))
        return;
    for (unsigned cpu = 0; cpu < NM_CPUSET_WORDS * 64 && count < most; cpu++) {
        uint64_t bit = 1ull << cpu % 64;
        if (all.words[cpu / 64] & bit && !(set->words[cpu / 64] & bit)) {
            set->words[cpu / 64] |= bit;
            count++;
        }
    }
}

/* `mask` holds the kernel's answer to the question of `caller` about thread `tid`, in `bytes`. */
void nm_sizing_answer(const void *caller, pid_t tid, size_t bytes, void *mask)
{
    if (!load() || !nm_is_pool(caller) || (tid != 0 && tid != process && tid != syscall(SYS_gettid)))
        return;
    const struct binding *bound = tid == process ? of_first : &binding;
    struct nm_cpuset set = from_program(bytes, mask);
    if (bound->kind == BY_ITSELF)
        return;
    if (bound->kind == WITHIN) {
        set = (struct nm_cpuset){{0}};
        memcpy(set.words, bound->asked, sizeof bound->asked);
    } else if (bits_of(&set) < most) {
        widen(&set);
        told = true;
    } else {
        /* Nobody is told more than the allowed set. */
        struct nm_cpuset all;
        if (nm_whole(&all))
            all = both(&set, &all);
        if (bits_of(&all) > 0)
            set = all;
    }
    memcpy(mask, set.words, bytes < sizeof set.words ? bytes : sizeof set.words);
}

static bool is_first(void)
{
    return &binding == of_first;
}

/* Threads of ours do not count. */
static bool has_one_thread(void)
{
    return nm_threads() - nm_helper_runs() - nm_caller_runs() <= 1;
}

/* Nothing that it was told is left out. */
static bool is_anywhere(const struct nm_cpuset *set)
{
    struct nm_cpuset all;
    if (!nm_given(&all))
        return false;
    unsigned given = bits_of(&all);
    all = both(&all, set);
    return bits_of(&all) >= (most ? most : given);
}

/* This thread takes everything that its user gave. */
static void free_again(const struct nm_cpuset *set)
{
    struct nm_cpuset given;
    if (binding.kind != BY_ITSELF || !is_first() || !nm_given(&given))
        return;
    given = both(&given, set);
    nm_whole_narrow(&given, true, has_one_thread());
}

/* A thread of this program has been bound by itself. The first one stands for the process. */
void nm_sizing_bound(pid_t tid, size_t bytes, const void *mask)
{
    pid_t pid = getpid();
    load();
    if (!mask || nm_whole_count() == 0 || (tid != 0 && tid != pid && tid != syscall(SYS_gettid)))
        return;
    struct nm_cpuset set = from_program(bytes, mask);
    bool anywhere = is_anywhere(&set);
    if (pid != process) {
        if (!anywhere)
            nm_whole_narrow(&set, false, false);
        return;
    }
    if (tid == process && !is_first())
        return;
    if (anywhere) {
        free_again(&set);
    } else {
        nm_pin((pid_t)syscall(SYS_gettid), &set);
        if (is_first())
            nm_whole_narrow(&set, true, has_one_thread());
    }
    binding.kind = anywhere ? FREE : BY_ITSELF;
}

/* The processors among `asked` that are the program's now, or all of these; false: nobody manages
 * it. */
static bool within(const struct nm_cpuset *asked, struct nm_cpuset *out, uint32_t *epoch)
{
    struct nm_cpuset have;
    /* A program of one thread stays one: the manager moves it from outside. */
    if (!nm_client.attached && !nm_client.tried && !(nm_has_threads() && nm_helper_attach()) && nm_attach(false))
        nm_adopt(true);
    if (nm_belongs(&have, epoch) != NM_WITHIN)
        return false;
    *out = both(asked, &have);
    if (bits_of(out) == 0)
        *out = have;
    return true;
}

static bool is_steered(const void *caller, pid_t tid, const void *mask)
{
    if (!load() || !mask || !told || getpid() != process || !nm_is_pool(caller))
        return false;
    return tid == 0 || syscall(SYS_tgkill, process, tid, 0) == 0;
}

/* 0, or an error number. */
static int bind(const void *caller, pid_t tid, size_t bytes, const void *mask)
{
    if (mask && tid == 0 && nm_is_openmp(caller))
        return nm_place_self(bytes, mask);
    nm_places_change();
    bool steered = is_steered(caller, tid, mask), self = tid == 0 || tid == syscall(SYS_gettid);
    struct nm_cpuset asked = steered ? from_program(bytes, mask) : (struct nm_cpuset){{0}}, set;
    bool anywhere = steered && is_anywhere(&asked);
    if (!steered || (self && !anywhere && has_one_thread())) {
        long result = syscall(SYS_sched_setaffinity, tid, bytes, mask);
        if (result == 0 && nm_is_pool(caller))
            nm_sizing_bound(tid, bytes, mask);
        return result == 0 ? 0 : errno;
    }
    if (bits_of(&asked) == 0)
        return EINVAL;
    if (anywhere && self && binding.kind == FREE)
        return 0;
    uint32_t epoch;
    do {
        if (!within(&asked, &set, &epoch)) {
            long result = syscall(SYS_sched_setaffinity, tid, bytes, mask);
            if (result == 0)
                nm_sizing_bound(tid, bytes, mask);
            return result == 0 ? 0 : errno;
        }
        nm_masks_kept(&set);
        if (syscall(SYS_sched_setaffinity, tid, sizeof set.words, set.words) != 0)
            return errno;
        /* The helper may have gone through the threads before this one got there. */
    } while (nm_client.page->manager.epoch != epoch);
    if (self) {
        if (anywhere)
            free_again(&asked);
        memcpy(binding.asked, asked.words, sizeof binding.asked);
        memset(asked.words, 0, sizeof binding.asked);
        binding.kind = anywhere ? FREE : bits_of(&asked) > 0 ? BY_ITSELF : WITHIN;
    }
    return 0;
}

int nm_sizing_bind(const void *caller, pid_t tid, size_t bytes, const void *mask)
{
    int saved = errno, error = bind(caller, tid, bytes, mask);
    errno = error ? error : saved;
    return error ? -1 : 0;
}

/* Only the C library knows the numbers of other threads. */
int nm_sizing_bind_thread(const void *caller, pthread_t thread, size_t bytes, const void *mask)
{
    static int (*_Atomic real)(pthread_t, size_t, const cpu_set_t *);
    int saved = errno, error;
    struct nm_cpuset asked, set;
    uint32_t epoch;
    if (pthread_equal(thread, pthread_self())) {
        error = bind(caller, 0, bytes, mask);
    } else if (nm_place_is_kept(caller)) {
        error = 0;
    } else {
        nm_places_change();
        if (!real)
            real = (int (*)(pthread_t, size_t, const cpu_set_t *))nm_next_symbol("pthread_setaffinity_np");
        bool steered = real && is_steered(caller, 0, mask);
        if (steered)
            asked = from_program(bytes, mask);
        if (steered && bits_of(&asked) > 0 && within(&asked, &set, &epoch))
            do
                error = real(thread, sizeof set.words, (const cpu_set_t *)set.words);
            while (error == 0 && nm_client.page->manager.epoch != epoch && within(&asked, &set, &epoch));
        else
            error = real ? real(thread, bytes, mask) : ENOSYS;
    }
    errno = saved;
    return error;
}

/* The same for a thread that is yet to be made. */
SHIM_EXPORT int pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t bytes, const cpu_set_t *mask)
{
    static int (*_Atomic real)(pthread_attr_t *, size_t, const cpu_set_t *);
    int saved = errno;
    struct nm_cpuset asked, set;
    uint32_t epoch;
    if (!real)
        real = (int (*)(pthread_attr_t *, size_t, const cpu_set_t *))nm_next_symbol("pthread_attr_setaffinity_np");
    if (nm_place_is_kept(__builtin_return_address(0))) {
        bytes = 0;
        mask = NULL;
    } else if (bytes > 0 && is_steered(__builtin_return_address(0), 0, mask)) {
        asked = from_program(bytes, mask);
        if (is_anywhere(&asked)) {
            /* As its creator. */
            bytes = 0;
            mask = NULL;
        } else if (bits_of(&asked) > 0 && within(&asked, &set, &epoch)) {
            nm_masks_kept(&set);
            bytes = sizeof set.words;
            mask = (const cpu_set_t *)set.words;
        }
    }
    int error = real ? real(attributes, bytes, mask) : ENOSYS;
    errno = saved;
    return error;
}

static long online(const void *caller, long machine)
{
    if (!load() || machine == (long)most)
        return machine;
    /* A C library that counts by the mask (2.34), or finds no /sys. */
    if (machine < (long)most)
        return machine > 0 && nm_is_pool(caller) && binding.kind == FREE ? (long)most : machine;
    return nm_sizes_by_machine(caller) ? (long)most : machine;
}

SHIM_EXPORT long sysconf(int name)
{
    long value = __sysconf(name);
    return NM_LIKELY(name != _SC_NPROCESSORS_ONLN) ? value : online(__builtin_return_address(0), value);
}

SHIM_EXPORT int get_nprocs(void)
{
    return (int)online(__builtin_return_address(0), __sysconf(_SC_NPROCESSORS_ONLN));
}
