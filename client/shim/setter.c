/* setter.c - steers libraries that have a setter of their own (the table in library.c).
 *
 * The shim calls the setter with the allocation, never with more than the library would use by
 * itself. If the value is not the one that the shim set last, the program has set it: then the shim
 * leaves the library alone from there on.
 */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARIES_MAX 16
/* Under a limit of one, oneTBB 2021.8 gives no worker to an arena that still asks for one when its
 * thread leaves. A program that waits for the end of all workers (`finalize`, as Numba does) waits
 * for ever then. */
#define TBB_LEAST 2

struct control { /* tbb::detail::d1::global_control, in the layout of its ABI */
    size_t value;
    intptr_t reserved;
    int parameter; /* 0 = max_allowed_parallelism */
};

struct library {
    void *handle; /* keeps it loaded: one thread calls it while another may close it */
    uintptr_t base;
    uint32_t kind; /* NM_RUNTIME_* */
    void *setter; /* `set` or `create` */
    void (*set)(int);
    int (*get)(void);
    void (*create)(struct control *);
    void (*destroy)(struct control *);
    struct control controls[2];
    int which; /* the control in force, -1 = none */
    int own;   /* the number of threads that the library would use by itself */
    int last;  /* the number when it was found, or the one that we set last */
    bool left_alone;
    unsigned number; /* in library.c */
    unsigned why;    /* enum nm_library_why, if it is left alone */
};

static struct library libraries[LIBRARIES_MAX];
static unsigned libraries_count;
static unsigned long long seen_adds;
static atomic_bool fresh_pool; /* a library has come that has made its threads by now, or would have without us */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void add(const struct library *library)
{
    if (libraries_count == LIBRARIES_MAX)
        return;
    libraries[libraries_count++] = *library;
    if (library->kind == NM_RUNTIME_OPENBLAS && library->own > 1)
        fresh_pool = true;
}

static bool is_listed(uintptr_t base)
{
    for (unsigned i = 0; i < libraries_count; i++)
        if (libraries[i].base == base)
            return true;
    return false;
}

static bool has_setter(const void *setter)
{
    for (unsigned i = 0; i < libraries_count; i++)
        if (libraries[i].setter == setter)
            return true;
    return false;
}

/* The most threads that the user allows OpenBLAS, by the variables that it reads, in its order. */
static int said_size(void)
{
    static const char *const names[] = {"OPENBLAS_NUM_THREADS", "OPENBLAS_DEFAULT_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        int size = value ? atoi(value) : 0;
        if (size > 0)
            return size;
    }
    return INT32_MAX;
}

/* The number of threads that the library would use without us. OpenBLAS has counted the processors
 * of the allocation at its start, and uses no more. Without us it would have counted those of the
 * user's own mask. */
static int own_size(const struct library *library)
{
    int whole = (int)nm_whole_count(), said = said_size(), most = said < whole ? said : whole;
    return library->kind == NM_RUNTIME_OPENBLAS && most > library->last ? most : library->last;
}

static bool is_named(const char *path, const char *part)
{
    const char *file = strrchr(path, '/');
    return strstr(file ? file + 1 : path, part) != NULL;
}

/* Takes the first setter in the table that the object has. The user may name an object that the
 * table does not. */
static bool find_setter(struct library *library, const char *path, enum nm_verb verb)
{
    int (*parallel)(void) = (int (*)(void))dlsym(library->handle, "openblas_get_parallel");
    if (parallel && parallel() == 2)
        return false; /* built with OpenMP: it asks omp_get_max_threads before each operation */
    for (size_t i = 0; i < nm_known_count; i++) {
        const struct nm_known *known = &nm_known[i];
        if (verb != NM_VERB_SET && !is_named(path, known->file))
            continue;
        void *set = dlsym(library->handle, known->set), *get = dlsym(library->handle, known->get);
        if (!set || !get)
            continue;
        library->kind = known->kind;
        library->setter = set;
        if (known->kind == NM_RUNTIME_TBB) {
            library->create = (void (*)(struct control *))set;
            library->destroy = (void (*)(struct control *))get;
            library->own = INT32_MAX;
        } else {
            library->set = (void (*)(int))set;
            library->get = (int (*)(void))get;
            library->last = library->get();
            library->own = own_size(library);
        }
        return true;
    }
    return false;
}

struct names {
    char name[LIBRARIES_MAX][256];
    uintptr_t base[LIBRARIES_MAX];
    unsigned count;
    unsigned long long adds;
};

/* dlopen must not be called from here: this function only collects names. */
static int collect(struct dl_phdr_info *info, size_t size, void *data)
{
    struct names *names = data;
    if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds)
        names->adds = info->dlpi_adds;
    if (nm_library_may_be_set(info->dlpi_name) && names->count < LIBRARIES_MAX &&
        strlen(info->dlpi_name) < sizeof names->name[0]) {
        strcpy(names->name[names->count], info->dlpi_name);
        names->base[names->count++] = info->dlpi_addr;
    }
    return 0;
}

static int count_adds(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(unsigned long long *)data = info->dlpi_adds;
    return 1;
}

/* A library may load another one while it is set; dlopen looks for setters. */
static __thread bool inside __attribute__((tls_model("initial-exec")));

static void name(struct library *library)
{
    const char *path = NULL;
    nm_object_of((uintptr_t)library->setter, &path);
    library->number = nm_library_of(path, library->kind);
    library->left_alone = nm_library_verb(path) == NM_VERB_LEAVE;
    library->why = NM_BECAUSE_USER;
}

static void scan_names(const struct names *names)
{
    for (unsigned i = 0; i < names->count; i++) {
        if (is_listed(names->base[i]))
            continue;
        struct library library = {.base = names->base[i], .which = -1};
        library.handle = dlopen(names->name[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!library.handle)
            continue;
        enum nm_verb verb = nm_library_verb(names->name[i]);
        bool found = find_setter(&library, names->name[i], verb);
        /* It may be that of another object, which this one needs. */
        if (found && !has_setter(library.setter)) {
            name(&library);
            add(&library);
            continue;
        }
        nm_dlclose(library.handle);
        if (verb == NM_VERB_SET && !found)
            nm_library_say(nm_library_of(names->name[i], 0), NM_LIBRARY_LEFT, NM_BECAUSE_UNKNOWN, 0);
    }
}

/* Finds the libraries with a setter that have come since; true if there are any. */
static bool scan(void)
{
    if (inside)
        return libraries_count > 0;
    unsigned long long adds = 0;
    dl_iterate_phdr(count_adds, &adds);
    if (adds == seen_adds)
        return libraries_count > 0;
    int saved = errno;
    struct names names = {.count = 0};
    dl_iterate_phdr(collect, &names);
    /* Never waits: the program may be inside a dlopen of the very library whose setter waits for
     * that. */
    if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
        errno = saved;
        return libraries_count > 0;
    }
    seen_adds = names.adds;
    scan_names(&names);
    nm_flag_unlock(&busy);
    errno = saved;
    return libraries_count > 0;
}

/* OpenBLAS makes its threads as soon as it is loaded, or counts one processor and makes none. The
 * others make theirs when they first have work. */
bool nm_setters_matter(bool thread)
{
    if (!scan())
        return false;
    bool some = atomic_exchange(&fresh_pool, false);
    for (unsigned i = 0; thread && !some && i < libraries_count; i++)
        some = libraries[i].own > 1;
    return some;
}

/* A limit would hold beside its permits. */
static void remove_limit(struct library *library)
{
    if (library->which >= 0)
        library->destroy(&library->controls[library->which]);
    library->which = -1;
}

static void apply_tbb(struct library *library, int count)
{
    int next = library->which == 0 ? 1 : 0;
    library->controls[next] = (struct control){.value = (size_t)count};
    library->create(&library->controls[next]);
    if (library->which >= 0)
        library->destroy(&library->controls[library->which]);
    library->which = next;
}

/* The number that the library uses from now on; 0 if it is left alone. */
static int apply(struct library *library, uint32_t allowed)
{
    if (library->left_alone)
        return 0;
    int count = allowed < (uint32_t)library->own ? (int)allowed : library->own;
    if (library->kind == NM_RUNTIME_TBB) {
        if (nm_tcm_serves(library->base)) {
            remove_limit(library);
        } else {
            count = count < TBB_LEAST ? TBB_LEAST : count;
            if (allowed != UINT32_MAX && count != library->last)
                apply_tbb(library, count);
        }
        library->last = count;
        return count;
    }
    int now = library->get();
    if (now != library->last) {
        library->left_alone = true;
        library->why = NM_BECAUSE_PROGRAM;
        return 0;
    }
    if (now != count)
        library->set(count);
    library->last = count;
    return count;
}

static void say(const struct library *library, uint32_t allowed, int count)
{
    if (library->left_alone)
        nm_library_say(library->number, NM_LIBRARY_LEFT, library->why, 0);
    else if (allowed == UINT32_MAX)
        nm_library_say(library->number, NM_LIBRARY_LEFT, NM_BECAUSE_CLASS, 0);
    else
        nm_library_say(library->number, NM_LIBRARY_SET, NM_BECAUSE_NOTHING, (uint32_t)count);
}

/* oneTBB's threads run the program's own code. */
static bool may_be_called_here(const struct library *library)
{
    return library->kind != NM_RUNTIME_TBB || !nm_is_helper();
}

static void apply_all(uint32_t count)
{
    inside = true;
    nm_flag_lock(&busy);
    for (unsigned i = 0; i < libraries_count; i++)
        if (may_be_called_here(&libraries[i]))
            say(&libraries[i], count, apply(&libraries[i], count));
    nm_flag_unlock(&busy);
    inside = false;
}

void nm_setters_apply(uint32_t count)
{
    if (count == 0)
        return;
    if (scan())
        apply_all(count);
    if (!nm_is_helper())
        nm_tcm_allow(count);
}

void nm_setters_follow(uint32_t count)
{
    bool helper = nm_is_helper(), later = helper && nm_caller_runs();
    if (helper)
        nm_caller_post(count);
    if (!later)
        nm_setters_apply(count);
}

uint32_t nm_setters_found(void)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < libraries_count; i++)
        bits |= libraries[i].kind;
    return bits;
}

uint32_t nm_setters_max(void)
{
    uint32_t max = 0;
    for (unsigned i = 0; i < libraries_count; i++)
        if (libraries[i].own != INT32_MAX && (uint32_t)libraries[i].own > max)
            max = (uint32_t)libraries[i].own;
    return max;
}

/* A thread that held the lock did not survive the fork, and no pool did. */
static void in_child(void)
{
    atomic_flag_clear(&busy);
    fresh_pool = false;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}
