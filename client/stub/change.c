/* change.c - decides what the environment of an image must be, by what the image is.
 */
#include "change.h"

#include <fcntl.h>
#include <linux/capability.h>

/* Its texts are long: they are left as they are. */
void nm_change_begin(struct nm_change *change)
{
    change->needed = change->looked = change->bare = change->rights = change->drop_preload = change->drop_now = change->restore = false;
    change->preload = change->all = change->now = change->pool = change->sanitizer = NULL;
}

/* The new image of a process that is not root's has no capabilities, though the process may have
 * kept some. */
static bool set_aside(struct __user_cap_data_struct kept[2])
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2];
    if (nm_system3(SYS_geteuid, 0, 0, 0) == 0 || nm_system3(SYS_capget, &head, kept, 0) != 0 ||
        (kept[0].effective | kept[1].effective) == 0)
        return false;
    nm_copy(none, kept, sizeof none);
    none[0].effective = none[1].effective = 0;
    head.version = _LINUX_CAPABILITY_VERSION_3;
    return nm_system3(SYS_capset, &head, none, 0) == 0;
}

static void take_back(const struct __user_cap_data_struct kept[2])
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    nm_system3(SYS_capset, &head, kept, 0);
}

static bool can_be_opened(const char *path)
{
    struct __user_cap_data_struct kept[2];
    bool aside = !nm_stub_is_sealed() && set_aside(kept);
    long fd = nm_system4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (aside)
        take_back(kept);
    if (fd < 0)
        return false;
    nm_system3(SYS_close, fd, 0, 0);
    return true;
}

/* One file of LD_PRELOAD: its length; 0 at the end. */
static size_t file_at(const char **list)
{
    while (**list == ':' || **list == ' ')
        (*list)++;
    size_t length = 0;
    while ((*list)[length] && (*list)[length] != ':' && (*list)[length] != ' ')
        length++;
    return length;
}

static bool is_ours(const char *file, size_t length, const char *name)
{
    size_t base = length;
    while (base > 0 && file[base - 1] != '/')
        base--;
    const char *rest = nm_after(file + base, name);
    return rest && rest <= file + length && (*rest == '.' || *rest == '-');
}

static const char *const stub_name = "libnumaestro_preload", *const shim_name = "libnumaestro_shim";

struct text {
    char *out;
    size_t used, room;
    bool full;
};

static void append(struct text *text, const char *from, size_t length)
{
    if (text->full || length >= text->room - text->used) {
        text->full = true;
        return;
    }
    nm_copy(text->out + text->used, from, length);
    text->used += length;
    text->out[text->used] = 0;
}

static void append_file(struct text *text, const char *file, size_t length)
{
    if (text->used > sizeof "LD_PRELOAD=" - 1)
        append(text, ":", 1);
    append(text, file, length);
}

/* The stub that an environment names, else ours. `out` has room for a path. */
static const char *stub_of(const char *preload, char *out)
{
    for (size_t length; preload && (length = file_at(&preload)) > 0; preload += length) {
        if (!is_ours(preload, length, stub_name) || length >= NM_PATH_BYTES)
            continue;
        nm_copy(out, preload, length);
        out[length] = 0;
        return out;
    }
    return nm_stub_start()->stub;
}

/* The value of LD_PRELOAD that an image gets: ours first, or none of ours. */
static void choose_preload(struct nm_change *change, const char *present, const char *stub, const char *shim)
{
    struct text text = {.out = change->preload_text, .room = sizeof change->preload_text};
    append(&text, "LD_PRELOAD=", 11);
    if (stub)
        append_file(&text, stub, nm_length(stub));
    if (stub && shim)
        append_file(&text, shim, nm_length(shim));
    const char *rest = present;
    for (size_t length; rest && (length = file_at(&rest)) > 0; rest += length)
        if (!is_ours(rest, length, stub_name) && !is_ours(rest, length, shim_name))
            append_file(&text, rest, length);
    if (text.full)
        return;
    const char *value = change->preload_text + 11;
    if (present ? nm_equal(value, present) : *value == 0)
        return;
    change->drop_preload = *value == 0;
    change->preload = *value ? change->preload_text : NULL;
    change->needed = true;
}

/* A program that only lists libraries must not list ours. */
static bool only_lists(const struct nm_image *image, char *const argv[], char *const envp[])
{
    const char *trace = nm_variable(envp, "LD_TRACE_LOADED_OBJECTS");
    if (trace && *trace)
        return true;
    for (unsigned i = 1; image->kind == NM_IMAGE_LOADER && argv && argv[0] && argv[i] && argv[i][0] == '-'; i++)
        if (nm_equal(argv[i], "--list") || nm_equal(argv[i], "--verify"))
            return true;
    return false;
}

/* A process that has narrowed itself hands its own set on, unless somebody has put in another. */
static void choose_allowed(struct nm_change *change, char *const envp[])
{
    struct nm_cpus own;
    const char *told = nm_variable(nm_stub_start()->saved, "NUMAESTRO_CPUS_ALL"), *given = nm_variable(envp, "NUMAESTRO_CPUS_ALL");
    if (!nm_stub_own_allowed(&own) || !told || (given && !nm_equal(told, given)))
        return;
    nm_entry_of(change->all_text, sizeof change->all_text, "NUMAESTRO_CPUS_ALL=", &own, &change->all);
    const char *pool = nm_variable(envp, "NUMAESTRO_POOL");
    pool = pool ? nm_after(pool, "whole:") : NULL;
    unsigned most = 0, count = nm_cpus_count(&own);
    for (; pool && *pool >= '0' && *pool <= '9' && most < 100000; pool++)
        most = most * 10 + (unsigned)(*pool - '0');
    if (pool && most > count) {
        static const char name[] = "NUMAESTRO_POOL=whole:";
        char digits[8];
        size_t n = 0, used = sizeof name - 1;
        nm_copy(change->pool_text, name, used);
        do
            digits[n++] = (char)('0' + count % 10);
        while (count /= 10);
        while (n)
            change->pool_text[used++] = digits[--n];
        change->pool_text[used] = 0;
        change->pool = change->pool_text;
    }
    change->needed = true;
}

/* AddressSanitizer ends a program in which another library comes before it. Its later options go
 * before its earlier ones. */
static void choose_sanitizer(struct nm_change *change, const struct nm_image *image, const char *preload, char *const envp[])
{
    static const char option[] = "verify_asan_link_order=0";
    const char *present = nm_variable(envp, "ASAN_OPTIONS");
    struct text text = {.out = change->sanitizer_text, .room = sizeof change->sanitizer_text};
    bool there = image->sanitizer || (preload && (nm_contains(preload, "libasan.so") || nm_contains(preload, "libclang_rt.asan")));
    if (!there || (present && nm_contains(present, option)))
        return;
    append(&text, "ASAN_OPTIONS=", 13);
    if (present && *present) {
        append(&text, present, nm_length(present));
        append(&text, ":", 1);
    }
    append(&text, option, sizeof option - 1);
    if (text.full)
        return;
    change->sanitizer = change->sanitizer_text;
    change->needed = true;
}

static bool is_of_threads(const char *name)
{
#define TEXT(name) #name,
    static const char names[][32] = {NM_NAMES_OF_THREADS(TEXT)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (nm_equal(name, names[i]))
            return true;
    return false;
}

static bool answers(const char *name)
{
    return *name && nm_stub_symbol_in(nm_stub_own_map(), name) && !is_of_threads(name);
}

/* Nothing but ours stands in it. */
static bool is_only_ours(const char *preload)
{
    for (size_t length; preload && (length = file_at(&preload)) > 0; preload += length)
        if (!is_ours(preload, length, stub_name) && !is_ours(preload, length, shim_name))
            return false;
    return true;
}

void nm_change_choose(struct nm_change *change, const char *path, char *const argv[], char *const envp[])
{
    const char *preload = nm_variable(envp, "LD_PRELOAD"), *off = nm_variable(envp, "NUMAESTRO_OFF");
    char *stub_text = change->stub, *shim_text = change->shim;
    /* Whoever has put the stub in by hand wants it. */
    bool is_off = off ? *off && !nm_equal(off, "0") : nm_stub_start()->off && stub_of(preload, stub_text) != stub_text;
    const char *rules = nm_variable(envp, "NUMAESTRO_LIBRARIES");
    struct nm_search search = {
        .library_path = nm_variable(envp, "LD_LIBRARY_PATH"),
        .rules = rules ? rules : nm_variable(nm_stub_start()->saved, "NUMAESTRO_LIBRARIES"),
        .answers = is_only_ours(preload) ? answers : NULL,
    };
    if (is_off) {
        choose_preload(change, preload, NULL, NULL);
        return;
    }
    /* Then only what every loader does is done: to open a file. */
    if (nm_stub_is_sealed()) {
        if (preload && !can_be_opened(stub_of(preload, stub_text)))
            choose_preload(change, preload, NULL, NULL);
        return;
    }
    struct nm_image image = nm_look_at_image(path, &search);
    if (image.kind == NM_IMAGE_UNKNOWN)
        return;
    /* It starts nothing and asks for nothing, so it is as without us. */
    if (image.content && !image.runtime) {
        choose_preload(change, preload, NULL, NULL);
        change->looked = true;
        return;
    }
    bool takes = image.kind == NM_IMAGE_GLIBC || image.kind == NM_IMAGE_STATIC || image.kind == NM_IMAGE_LOADER;
    const char *stub = takes && !only_lists(&image, argv, envp) ? stub_of(preload, stub_text) : NULL, *shim = NULL;
    if (stub && !can_be_opened(stub))
        stub = NULL;
    /* Nobody of ours looks at what a static program starts. */
    if (stub && (image.runtime || image.kind != NM_IMAGE_GLIBC) && nm_stub_shim_path(stub, shim_text, sizeof change->shim) &&
        can_be_opened(shim_text) && nm_shim_finds_its_libraries(search.library_path))
        shim = shim_text;
    choose_preload(change, preload, stub, shim);
    if (stub) {
        change->restore = !nm_variable(envp, "NUMAESTRO_ATTACH") && nm_variable(nm_stub_start()->saved, "NUMAESTRO_ATTACH");
        change->needed |= change->restore;
        choose_sanitizer(change, &image, preload, envp);
    }
    choose_allowed(change, envp);
    change->bare = !stub || image.kind == NM_IMAGE_STATIC;
    change->rights = image.kind == NM_IMAGE_SETID;
    change->looked = true;
}

bool nm_change_replaces(const struct nm_change *change, const char *entry)
{
    return ((change->preload || change->drop_preload) && nm_value(entry, "LD_PRELOAD")) ||
           (change->all && nm_value(entry, "NUMAESTRO_CPUS_ALL")) ||
           ((change->now || change->drop_now) && nm_value(entry, "NUMAESTRO_CPUS_NOW")) ||
           (change->pool && nm_value(entry, "NUMAESTRO_POOL")) || (change->sanitizer && nm_value(entry, "ASAN_OPTIONS"));
}

void nm_change_compose(const struct nm_change *change, char *const envp[], const char **out)
{
    size_t n = 0;
    for (size_t i = 0; envp && envp[i]; i++)
        if (!nm_change_replaces(change, envp[i]))
            out[n++] = envp[i];
    const char *const added[] = {change->preload, change->all, change->now, change->pool, change->sanitizer};
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (added[i])
            out[n++] = added[i];
    if (change->restore)
        for (char *const *entry = nm_stub_start()->saved; *entry; entry++)
            if (!nm_has_name_of((char *const *)out, n, *entry))
                out[n++] = *entry;
    out[n] = NULL;
}

