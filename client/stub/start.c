/* start.c - remembers what this process was told when it began. A program may clear its
 * environment, or write its title over it.
 */
#include "stub.h"

#include <link.h>

/* Few, so that the stub has one page to write to: each further page costs every program's start. */
#define SAVED_BYTES 768u
#define SAVED_MAX 24u

extern struct r_debug _r_debug __attribute__((weak));
extern char **environ __attribute__((weak));

/* The compiler may call these. */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes) __attribute__((visibility("hidden")));
void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    volatile char *out = to;
    for (const char *in = from; bytes; bytes--)
        *out++ = *in++;
    return to;
}

void *memset(void *to, int value, size_t bytes) __attribute__((visibility("hidden")));
void *memset(void *to, int value, size_t bytes)
{
    for (volatile char *at = to; bytes; bytes--)
        *at++ = (char)value;
    return to;
}

static struct nm_start start;
static char usual[SAVED_BYTES];
static char *saved[SAVED_MAX + 1];
static _Atomic int state; /* 0 = nobody has looked, 1 = somebody is looking, 2 = done */

/* The share of the moment is another one for whatever starts later. `run` has set the spin count,
 * if it is this one: the shim finds it again in libgomp (shim/spin.c). */
static bool is_kept(const char *entry)
{
    return (nm_after(entry, "NUMAESTRO_") && !nm_value(entry, "NUMAESTRO_CPUS_NOW")) || nm_equal(entry, "GOMP_SPINCOUNT=300089");
}

static void save(char *const *envp)
{
    size_t bytes = 0;
    for (char *const *entry = envp; entry && *entry; entry++)
        if (is_kept(*entry))
            bytes += nm_length(*entry) + 1;
    char *text = bytes <= sizeof usual ? usual : nm_stub_map(bytes);
    unsigned count = 0;
    for (char *const *entry = envp; text && entry && *entry && count < SAVED_MAX; entry++) {
        if (!is_kept(*entry))
            continue;
        size_t length = nm_length(*entry) + 1;
        nm_copy(text, *entry, length);
        saved[count++] = text;
        text += length;
    }
}

static void look(char *const *envp)
{
    const struct link_map *map = nm_stub_own_map();
    start.stub = map ? map->l_name : "";
    save(envp);
    start.saved = saved;
    start.allowed = (char *)nm_variable(envp, "NUMAESTRO_CPUS_ALL");
    start.allowed_room = start.allowed ? nm_length(start.allowed) : 0;
    const char *off = nm_variable(saved, "NUMAESTRO_OFF");
    start.off = off && *off && !nm_equal(off, "0");
}

static void remember(char *const *envp)
{
    int expected = 0;
    if (state != 2 && __atomic_compare_exchange_n((int *)&state, &expected, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        look(envp);
        state = 2;
    }
}

const struct nm_start *nm_stub_start(void)
{
    remember(&environ ? environ : NULL);
    return &start;
}

/* The C library gives the kernel a list of each thread's robust mutexes, also of the only thread of
 * a child of fork; a child of vfork has none. Before glibc 2.34 a program without threads has none
 * either: there a child of fork is told, and one of vfork has another number. */
static int32_t own_pid;
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));

static bool has_list(void)
{
    void *list = NULL;
    size_t bytes = 0;
    return nm_system3(SYS_get_robust_list, 0, &list, &bytes) == 0 && list != NULL;
}

static void note_pid(void)
{
    own_pid = (int32_t)nm_system3(SYS_getpid, 0, 0, 0);
}

bool nm_stub_is_vfork_child(void)
{
    if (has_list())
        return false;
    return own_pid == 0 ? &_r_debug != NULL : own_pid != (int32_t)nm_system3(SYS_getpid, 0, 0, 0);
}

/* Before the C library's own constructor, which sets `environ`. glibc gives constructors the
 * arguments of main; others give nothing. */
__attribute__((constructor)) static void at_start(int argc, char **argv, char **envp)
{
    nm_stub_note_last();
    remember(argc > 0 && argv && &_r_debug ? envp : &environ ? environ : NULL);
    if (has_list())
        return;
    note_pid();
    if (__register_atfork)
        __register_atfork(NULL, NULL, note_pid, NULL);
}

bool nm_stub_shim_path(const char *stub, char *out, size_t room)
{
    static const char before[] = "libnumaestro_preload", after[] = "libnumaestro_shim";
    const char *base = nm_base(stub), *rest = nm_after(base, before);
    size_t directory = (size_t)(base - stub);
    if (!rest || directory + sizeof after + nm_length(rest) > room)
        return false;
    nm_copy(out, stub, directory);
    nm_copy(out + directory, after, sizeof after - 1);
    nm_copy(out + directory + sizeof after - 1, rest, nm_length(rest) + 1);
    return true;
}
