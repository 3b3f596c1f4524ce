/* library.c - the table of libraries, the user's word on them, and what the page says of each.
 *
 * A library comes into the table only where its own way is better than folding its whole teams,
 * which is measured for OpenBLAS. Libraries outside of it, and the program itself, have no verb.
 */
#include "library.h"

#include "shim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RULES_MAX 16u
#define PATTERN_MAX 64u
#define NAME_BYTES sizeof(((struct nm_library_row *)0)->name)

#define TBB_CREATE "_ZN3tbb6detail2r16createERNS0_2d114global_controlE"
#define TBB_DESTROY "_ZN3tbb6detail2r17destroyERNS0_2d114global_controlE"

const struct nm_known nm_known[] = {
    {"openblas", NM_RUNTIME_OPENBLAS, "scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_"},
    {"openblas", NM_RUNTIME_OPENBLAS, "scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"},
    {"openblas", NM_RUNTIME_OPENBLAS, "openblas_set_num_threads64_", "openblas_get_num_threads64_"},
    {"blas", NM_RUNTIME_OPENBLAS, "openblas_set_num_threads", "openblas_get_num_threads"},
    {"blis", NM_RUNTIME_BLIS, "bli_thread_set_num_threads", "bli_thread_get_num_threads"},
    {"blas", NM_RUNTIME_BLIS, "bli_thread_set_num_threads", "bli_thread_get_num_threads"},
    {"mkl_rt", NM_RUNTIME_MKL, "MKL_Set_Num_Threads", "MKL_Get_Max_Threads"},
    {"libtbb.so", NM_RUNTIME_TBB, TBB_CREATE, TBB_DESTROY},
    {"libtbb-", NM_RUNTIME_TBB, TBB_CREATE, TBB_DESTROY},
};
const size_t nm_known_count = sizeof nm_known / sizeof *nm_known;

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool nm_library_may_be_set(const char *path)
{
    const char *file = file_of(path);
    for (size_t i = 0; i < nm_known_count; i++)
        if (strstr(file, nm_known[i].file))
            return true;
    return nm_library_verb(path) == NM_VERB_SET;
}

bool nm_is_blas(uintptr_t address)
{
    const char *name = NULL;
    nm_object_of(address, &name);
    return name && (strstr(name, "openblas") || strstr(name, "libblis") || strstr(name, "libblas") || strstr(name, "mkl_"));
}

/* The user's word */

static struct rule {
    char pattern[PATTERN_MAX];
    enum nm_verb verb;
    _Atomic bool met; /* an object of such a name has been seen */
} rules[RULES_MAX];
static unsigned rules_count;
bool nm_library_answers;

/* With `*` for any characters, and `?` for one. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
}

/* `PATTERN=VERB`, and others after commas. `run` has checked it; anything else is ignored. */
static void read_rule(const char *text, size_t length)
{
    static const char *const verbs[] = {[NM_VERB_SET] = "set", [NM_VERB_ANSWER] = "answer", [NM_VERB_LEAVE] = "leave"};
    const char *equals = memchr(text, '=', length);
    size_t pattern = equals ? (size_t)(equals - text) : 0, word = length - pattern - 1;
    if (!equals || pattern == 0 || pattern >= PATTERN_MAX || rules_count == RULES_MAX)
        return;
    for (unsigned verb = NM_VERB_SET; verb <= NM_VERB_LEAVE; verb++) {
        if (strlen(verbs[verb]) != word || strncmp(verbs[verb], equals + 1, word) != 0)
            continue;
        memcpy(rules[rules_count].pattern, text, pattern);
        rules[rules_count++].verb = verb;
        nm_library_answers = nm_library_answers || verb == NM_VERB_ANSWER;
    }
}

/* The short name: `libscipy_openblas64_` of `/x/libscipy_openblas64_-32a4b2a6.so`. The digits and
 * those of `.cpython-…` change from one build to the next. */
static void shorten(const char *path, char *name)
{
    static const char *const ends[] = {".so", ".cpython-", ".abi3", ".pypy"};
    const char *file = file_of(path);
    size_t length = strlen(file);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(file, ends[i]);
        if (end && end > file && (size_t)(end - file) < length)
            length = (size_t)(end - file);
    }
    if (length > 9 && file[length - 9] == '-' && strspn(file + length - 8, "0123456789abcdef") >= 8)
        length -= 9;
    memset(name, 0, NAME_BYTES);
    memcpy(name, file, length < NAME_BYTES ? length : NAME_BYTES);
}

enum nm_verb nm_library_verb(const char *path)
{
    if (NM_LIKELY(rules_count == 0) || !path)
        return NM_VERB_NONE;
    char name[NAME_BYTES + 1] = {0};
    shorten(path, name);
    enum nm_verb verb = NM_VERB_NONE;
    size_t longest = 0;
    for (unsigned i = 0; i < rules_count; i++) {
        if (!matches(rules[i].pattern, file_of(path)) && !matches(rules[i].pattern, name))
            continue;
        rules[i].met = true;
        if (strlen(rules[i].pattern) > longest) {
            longest = strlen(rules[i].pattern);
            verb = rules[i].verb;
        }
    }
    return verb;
}

/* What the page says. Names are written under the lock, states by any thread; each row of the page
 * is a copy of one here, because a page comes late and may be replaced. */

static struct said {
    char name[NAME_BYTES];
    _Atomic uint64_t state;
    _Atomic uint32_t runtime; /* NM_RUNTIME_*, 0 = not known */
    _Atomic uint32_t answered;
} said[NM_LIBRARIES];
static _Atomic unsigned said_count;
static _Atomic bool full; /* some object found no room */
static atomic_flag naming = ATOMIC_FLAG_INIT;

static unsigned add_name(const char *name, uint32_t runtime)
{
    unsigned count = said_count;
    for (unsigned i = 0; i < count; i++) {
        if (memcmp(said[i].name, name, NAME_BYTES) != 0)
            continue;
        if (runtime)
            said[i].runtime = runtime;
        return i + 1;
    }
    if (count == NM_LIBRARIES) {
        full = true;
        return 0;
    }
    memcpy(said[count].name, name, NAME_BYTES);
    said[count].runtime = runtime;
    said_count = count + 1;
    return count + 1;
}

static unsigned number_of(const char *name, uint32_t runtime)
{
    nm_flag_lock(&naming);
    unsigned number = add_name(name, runtime);
    nm_flag_unlock(&naming);
    return number;
}

unsigned nm_library_of(const char *path, uint32_t runtime)
{
    char name[NAME_BYTES];
    if (!path)
        return 0;
    shorten(path, name);
    return number_of(name, runtime);
}

static void publish_row(struct numaestro_page *page, unsigned index)
{
    struct nm_library_row *row = &page->libraries.rows[index];
    uint64_t words[NAME_BYTES / 8], state;
    memcpy(words, said[index].name, sizeof words);
    for (size_t i = 0; i < NAME_BYTES / 8; i++)
        atomic_store_explicit(&row->name[i], words[i], memory_order_relaxed);
    /* Another thread may be saying something newer. */
    do {
        state = said[index].state;
        atomic_store(&row->state, state);
    } while (state != said[index].state);
}

void nm_library_say(unsigned library, enum nm_library_how how, unsigned why, uint32_t threads)
{
    if (library == 0)
        return;
    struct said *it = &said[library - 1];
    unsigned runtime = it->runtime ? (unsigned)__builtin_ctz(it->runtime) : 0xff;
    uint64_t state = (uint64_t)threads << 32 | (uint64_t)runtime << 16 | (uint64_t)why << 8 | how;
    uint64_t before = atomic_load_explicit(&it->state, memory_order_relaxed);
    /* A library that is set opens regions of that size. */
    if (before == state || ((before & 0xff) == NM_LIBRARY_SET && how == NM_LIBRARY_WHOLE))
        return;
    it->state = state;
    publish_row(nm_client.page, library - 1);
}

uint32_t nm_library_answered(unsigned library)
{
    return library ? said[library - 1].answered : 0;
}

void nm_library_answer(unsigned library, uint32_t threads)
{
    if (library)
        said[library - 1].answered = threads;
}

/* A rule that no object has met has a row of its own. It becomes unused when one comes. */
static void say_absent(void)
{
    for (unsigned i = 0; i < rules_count; i++) {
        char name[NAME_BYTES] = {0};
        memcpy(name, rules[i].pattern, strnlen(rules[i].pattern, NAME_BYTES));
        unsigned row = 0;
        for (unsigned j = 0; j < said_count; j++)
            if (memcmp(said[j].name, name, NAME_BYTES) == 0)
                row = j + 1;
        bool absent = row && (said[row - 1].state & 0xff) == NM_LIBRARY_ABSENT;
        if (!rules[i].met)
            nm_library_say(row ? row : number_of(name, 0), NM_LIBRARY_ABSENT, NM_BECAUSE_USER, 0);
        else if (absent)
            said[row - 1].state = NM_LIBRARY_UNUSED;
    }
}

void nm_libraries_publish(void)
{
    struct numaestro_page *page = nm_client.page;
    say_absent();
    atomic_store_explicit(&page->libraries.full, full, memory_order_relaxed);
    for (unsigned i = 0; i < said_count; i++)
        publish_row(page, i);
}

/* What a child does with its libraries is said anew. */
static void in_child(void)
{
    atomic_flag_clear(&naming);
    for (unsigned i = 0; i < NM_LIBRARIES; i++)
        said[i].state = NM_LIBRARY_UNUSED;
}

__attribute__((constructor)) static void read_rules(void)
{
    pthread_atfork(NULL, NULL, in_child);
    const char *text = secure_getenv("NUMAESTRO_LIBRARIES");
    while (text && *text) {
        size_t length = strcspn(text, ",");
        read_rule(text, length);
        text += length + (text[length] == ',');
    }
}
