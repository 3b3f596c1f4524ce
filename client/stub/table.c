/* table.c - entries of functions of the C library that jump through a table, and the loading of the
 * shim.
 *
 * A jump leaves registers, stack and return address as they are: the function after it sees the
 * caller itself. An entry whose place in the table is empty asks `nm_stub_resolve` first. It is
 * asked in constructors, in signal handlers and in children of vfork, so it takes no lock.
 */
#include "stub.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PATH_BYTES 4096u

/* Where they are missing (another C library, an old one without libdl), we do without. */
extern struct r_debug _r_debug __attribute__((weak));
extern int dl_iterate_phdr(int (*)(struct dl_phdr_info *, size_t, void *), void *) __attribute__((weak));
extern int *__errno_location(void) __attribute__((weak, const));
extern pthread_t pthread_self(void) __attribute__((weak, const));

/* Numbers in the table. */
#define ENUM(name) AT_##name,
enum { NM_NAMES(ENUM, ENUM, ENUM) NAMES };
#define TEXT(name) #name,
/* Pointers would have to be relocated at each start. */
static const char names[][32] = {NM_NAMES(TEXT, TEXT, TEXT)};

/* The function that an entry leads to from now on. */
void *_Atomic nm_stub_table[NAMES] __attribute__((visibility("hidden")));
/* The next definitions, for entries that are decided anew at each call. */
void *_Atomic nm_stub_nexts[NAMES] __attribute__((visibility("hidden")));
#define nexts nm_stub_nexts

void nm_stub_syscall(void) __attribute__((visibility("hidden"))); /* as syscall(), but for one number */

static long missing(void)
{
    if (__errno_location)
        *__errno_location() = ENOSYS;
    return -1;
}

static long nothing(void)
{
    return 0;
}

static void *next_of(unsigned at)
{
    void *next = nexts[at];
    if (!next) {
        next = nm_stub_next(names[at]);
        if (!next)
            next = nm_after(names[at], "numaestro_") ? (void *)nothing : (void *)missing;
        nexts[at] = next;
    }
    return next;
}

/* A program that forbids itself system calls must not be killed for ours. */
static _Atomic bool sealed;

bool nm_stub_is_sealed(void)
{
    return sealed;
}

/* For the shim, from which such calls do not pass the stub. */
STUB_EXPORT void numaestro_seal(void)
{
    sealed = true;
}

/* Loading */

enum { ABSENT, HERE, REFUSED };
static _Atomic int shim;
/* This thread loads it. What it asks meanwhile, the next definition answers. */
static __thread bool loads __attribute__((tls_model("initial-exec")));

static bool is_shim_name(const char *path)
{
    return nm_after(nm_base(path), "libnumaestro_shim") != NULL;
}

/* `end`: the last object that is looked at; NULL = all. */
static const struct link_map *shim_map(const struct link_map *end)
{
    const struct link_map *map = nm_stub_own_map();
    while (map && !is_shim_name(map->l_name))
        map = map == end ? NULL : map->l_next;
    return map;
}

/* Every entry leads to the shim from now on, or to the next definition for ever. */
static void settle(const struct link_map *map)
{
    for (unsigned at = 0; at < NAMES; at++) {
        void *found = map ? nm_stub_symbol_in(map, names[at]) : NULL;
        /* Those that are decided at each call are decided at each call. */
        nm_stub_table[at] = found ? found : next_of(at);
    }
}

/* Several threads may be here at once: the loader lets one load it, and the others wait. */
static void load(void)
{
    void *(*open)(const char *, int) = (void *(*)(const char *, int))next_of(AT_dlopen);
    const struct nm_start *start = nm_stub_start();
    char path[PATH_BYTES];
    /* What a child of vfork loads, its parent would have. */
    if (shim != ABSENT || loads || (void *)open == (void *)missing || start->off || sealed || nm_stub_is_vfork_child())
        return;
    loads = true;
    int saved = __errno_location ? *__errno_location() : 0;
    const struct link_map *map = NULL;
    if (nm_stub_shim_path(start->stub, path, sizeof path) && open(path, RTLD_NOW | RTLD_GLOBAL))
        map = shim_map(NULL);
    settle(map);
    shim = map ? HERE : REFUSED;
    loads = false;
    if (__errno_location)
        *__errno_location() = saved;
}

/* The memory allocator of a program asks for the number of processors when it starts itself. The
 * loader allocates, so the shim cannot be loaded there. */
struct place {
    uintptr_t address;
    ElfW(Addr) base;
    bool found;
};

static int holds(struct dl_phdr_info *info, size_t size, void *data)
{
    struct place *place = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && place->address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz) {
            place->base = info->dlpi_addr;
            place->found = true;
            return 1;
        }
    }
    return 0;
}

static bool is_allocator(const void *caller)
{
    struct place place = {.address = (uintptr_t)caller};
    if (!dl_iterate_phdr)
        return true;
    dl_iterate_phdr(holds, &place);
    if (!place.found)
        return false;
    const struct link_map *map = &_r_debug ? _r_debug.r_map : NULL;
    while (map && map->l_addr != place.base)
        map = map->l_next;
    return map && nm_stub_symbol_in(map, "malloc") && !nm_stub_symbol_in(map, "__libc_start_main");
}

/* Calls that narrow this process, as long as the shim is not there to see them. */

static long after_narrowing(long result, pid_t tid, size_t bytes, const void *mask)
{
    pid_t pid = (pid_t)nm_system3(SYS_getpid, 0, 0, 0);
    if (result == 0 && (tid == 0 || tid == (pid_t)nm_system3(SYS_gettid, 0, 0, 0)))
        nm_stub_narrowed(mask, bytes, NM_OWN, nm_stub_has_one_thread());
    else if (result == 0 && tid == pid)
        nm_stub_narrowed(mask, bytes, NM_FIRST_THREADS, nm_stub_has_one_thread());
    else if (result == 0 && nm_system3(SYS_tgkill, pid, tid, 0) == 0)
        nm_stub_narrowed(mask, bytes, NM_ANOTHERS, false);
    return result;
}

static long narrow(pid_t tid, size_t bytes, const void *mask)
{
    typedef long (*function)(pid_t, size_t, const void *);
    return after_narrowing((int)((function)next_of(AT_sched_setaffinity))(tid, bytes, mask), tid, bytes, mask);
}

static long narrow_thread(pthread_t thread, size_t bytes, const void *mask)
{
    typedef int (*function)(pthread_t, size_t, const void *);
    long result = ((function)next_of(AT_pthread_setaffinity_np))(thread, bytes, mask);
    if (result == 0 && pthread_self)
        nm_stub_narrowed(mask, bytes, thread == pthread_self() ? NM_OWN : NM_ANOTHERS, nm_stub_has_one_thread());
    return result;
}

static long narrow_by_number(long number, pid_t tid, size_t bytes, const void *mask)
{
    typedef long (*function)(long, ...);
    return after_narrowing(((function)next_of(AT_syscall))(number, tid, bytes, mask), tid, bytes, mask);
}

static bool is_loaded(const char *name)
{
    const struct link_map *map = &_r_debug ? _r_debug.r_map : NULL;
    for (; map; map = map->l_next)
        if (nm_equal(nm_base(map->l_name), nm_base(name)))
            return true;
    return false;
}

struct question {
    const char *file;
    bool answer;
};

static void look_at_library(void *of)
{
    extern char **environ __attribute__((weak));
    struct question *question = of;
    char *const *variables = &environ ? environ : NULL;
    struct nm_search search = {
        .library_path = nm_variable(variables, "LD_LIBRARY_PATH"),
        .rules = nm_variable(variables, "NUMAESTRO_LIBRARIES"),
        .is_loaded = is_loaded,
    };
    question->answer = nm_look_for_runtime(question->file, &search);
}

static bool brings_runtime(const char *file, int mode)
{
    struct nm_room room;
    struct question question = {file, false};
    if (!file || (mode & RTLD_NOLOAD) || sealed || !nm_room_take(&room, 0))
        return false;
    nm_room_run(&room, look_at_library, &question);
    nm_room_leave(&room);
    return question.answer;
}

/* An entry that no thread has decided yet leads there from now on. */
static void *lead(unsigned at, void *to)
{
    void *empty = NULL;
    __atomic_compare_exchange_n((void **)&nm_stub_table[at], &empty, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return nm_stub_table[at];
}

/* The shim may stand behind the stub from the start. */
static void look_behind(void)
{
    static _Atomic bool looked;
    if (looked)
        return;
    const struct link_map *map = shim_map(nm_stub_last_map());
    if (map && shim == ABSENT) {
        settle(map);
        shim = HERE;
    }
    looked = true;
}

/* The registers of a caller, as the entries below push them. */
struct call {
    long arguments[6];
    const void *caller;
};

void *nm_stub_resolve(unsigned at, const struct call *call) __attribute__((visibility("hidden")));
void *nm_stub_resolve(unsigned at, const struct call *call)
{
    look_behind();
    bool asks = false;
    if (shim == HERE || shim == REFUSED)
        return nm_stub_table[at];
    switch (at) {
    case AT_sysconf:
        asks = call->arguments[0] == _SC_NPROCESSORS_ONLN && !is_allocator(call->caller);
        break;
    case AT_get_nprocs:
    case AT_sched_getaffinity:
    case AT_pthread_getaffinity_np:
        asks = !is_allocator(call->caller);
        break;
    case AT_dlopen:
        asks = brings_runtime((const char *)call->arguments[0], (int)call->arguments[1]);
        break;
    case AT_sched_setaffinity:
        return (void *)narrow;
    case AT_pthread_setaffinity_np:
        return (void *)narrow_thread;
    case AT_prctl:
        sealed |= (int)call->arguments[0] == PR_SET_SECCOMP;
        break;
    case AT_syscall:
        next_of(at);
        if ((int)call->arguments[0] == SYS_sched_setaffinity)
            return (void *)narrow_by_number;
        sealed |= (int)call->arguments[0] == SYS_seccomp;
        lead(at, (void *)nm_stub_syscall);
        break;
    case AT_fork:
        /* What is found here once, each child would have to find. */
        nm_stub_prepare_exec();
        return lead(at, next_of(at));
    default:
        if (at < AT_numaestro_advise)
            return lead(at, next_of(at));
        asks = true;
    }
    if (asks)
        load();
    return shim == HERE || shim == REFUSED ? nm_stub_table[at] : next_of(at);
}

/* Entries */

#define NUMBER_OF(name) ".set nm_at_" #name ", nm_counter\n.set nm_counter, nm_counter + 1\n"

#if defined(__x86_64__)
#define FUNCTION(name) ".globl " name "\n.type " name ", @function\n.p2align 4\n" name ":\n    endbr64\n"
#define ENTRY(name)                                                                                                      \
    FUNCTION(#name)                                                                                                      \
    "    movq nm_stub_table+8*nm_at_" #name "(%rip), %r11\n"                                                             \
    "    testq %r11, %r11\n"                                                                                             \
    "    jz 1f\n"                                                                                                        \
    "    jmp *%r11\n"                                                                                                    \
    "1:  movl $nm_at_" #name ", %r11d\n"                                                                                 \
    "    jmp nm_stub_ask\n"                                                                                              \
    ".size " #name ", . - " #name "\n"
#define ASK                                                                                                              \
    ".type nm_stub_ask, @function\nnm_stub_ask:\n"                                                                       \
    "    pushq (%rsp)\n" /* the caller; the return address itself stays above it */                                      \
    "    pushq %r9\n    pushq %r8\n    pushq %rcx\n    pushq %rdx\n    pushq %rsi\n    pushq %rdi\n"                     \
    "    pushq %rax\n    subq $8, %rsp\n"                                                                                \
    "    movl %r11d, %edi\n"                                                                                             \
    "    leaq 16(%rsp), %rsi\n"                                                                                          \
    "    call nm_stub_resolve\n"                                                                                         \
    "    movq %rax, %r11\n"                                                                                              \
    "    addq $8, %rsp\n    popq %rax\n"                                                                                 \
    "    popq %rdi\n    popq %rsi\n    popq %rdx\n    popq %rcx\n    popq %r8\n    popq %r9\n"                           \
    "    addq $8, %rsp\n"                                                                                                \
    "    jmp *%r11\n"                                                                                                    \
    ".size nm_stub_ask, . - nm_stub_ask\n"
#define SYSCALL                                                                                                          \
    ".hidden nm_stub_syscall\n" FUNCTION("nm_stub_syscall")                                                              \
    "    cmpl $203, %edi\n" /* sched_setaffinity */                                                                      \
    "    je 1f\n"                                                                                                        \
    "    cmpl $317, %edi\n" /* seccomp */                                                                                \
    "    je 1f\n"                                                                                                        \
    "    jmp *nm_stub_nexts+8*nm_at_syscall(%rip)\n"                                                                     \
    "1:  movl $nm_at_syscall, %r11d\n"                                                                                   \
    "    jmp nm_stub_ask\n"                                                                                              \
    ".size nm_stub_syscall, . - nm_stub_syscall\n"
#else
#define FUNCTION(name) ".globl " name "\n.type " name ", %function\n.p2align 4\n" name ":\n    hint #34\n"
#define ENTRY(name)                                                                                                      \
    FUNCTION(#name)                                                                                                      \
    "    adrp x16, nm_stub_table\n"                                                                                      \
    "    add x16, x16, :lo12:nm_stub_table\n"                                                                            \
    "    ldr x16, [x16, #8*nm_at_" #name "]\n"                                                                           \
    "    cbz x16, 1f\n"                                                                                                  \
    "    br x16\n"                                                                                                       \
    "1:  mov w17, #nm_at_" #name "\n"                                                                                    \
    "    b nm_stub_ask\n"                                                                                                \
    ".size " #name ", . - " #name "\n"
#define ASK                                                                                                              \
    ".type nm_stub_ask, %function\nnm_stub_ask:\n"                                                                       \
    "    stp x29, x30, [sp, #-96]!\n"                                                                                    \
    "    mov x29, sp\n"                                                                                                  \
    "    stp x0, x1, [sp, #16]\n    stp x2, x3, [sp, #32]\n    stp x4, x5, [sp, #48]\n"                                  \
    "    stp x30, x6, [sp, #64]\n    stp x7, x8, [sp, #80]\n"                                                            \
    "    mov w0, w17\n"                                                                                                  \
    "    add x1, sp, #16\n"                                                                                              \
    "    bl nm_stub_resolve\n"                                                                                           \
    "    mov x16, x0\n"                                                                                                  \
    "    ldp x0, x1, [sp, #16]\n    ldp x2, x3, [sp, #32]\n    ldp x4, x5, [sp, #48]\n"                                  \
    "    ldr x6, [sp, #72]\n    ldp x7, x8, [sp, #80]\n"                                                                 \
    "    ldp x29, x30, [sp], #96\n"                                                                                      \
    "    br x16\n"                                                                                                       \
    ".size nm_stub_ask, . - nm_stub_ask\n"
#define SYSCALL                                                                                                          \
    ".hidden nm_stub_syscall\n" FUNCTION("nm_stub_syscall")                                                              \
    "    cmp w0, #122\n" /* sched_setaffinity */                                                                         \
    "    b.eq 1f\n"                                                                                                      \
    "    cmp w0, #277\n" /* seccomp */                                                                                   \
    "    b.eq 1f\n"                                                                                                      \
    "    adrp x16, nm_stub_nexts\n"                                                                                      \
    "    add x16, x16, :lo12:nm_stub_nexts\n"                                                                            \
    "    ldr x16, [x16, #8*nm_at_syscall]\n"                                                                             \
    "    br x16\n"                                                                                                       \
    "1:  mov w17, #nm_at_syscall\n"                                                                                      \
    "    b nm_stub_ask\n"                                                                                                \
    ".size nm_stub_syscall, . - nm_stub_syscall\n"
#endif

__asm__(".text\n.set nm_counter, 0\n" NM_NAMES(NUMBER_OF, NUMBER_OF, NUMBER_OF) ASK SYSCALL NM_NAMES(ENTRY, ENTRY, ENTRY));
