/* kmp_outside.c - libomp's functions as sequential code calls them while a team is held open.
 *
 * libomp keeps its state of a thread in its heap, so it takes the root for a member of the held
 * team even outside of the program's regions. The shim therefore exports every function of libomp
 * that looks at the team. It answers the frequent questions as sequential code expects. All others
 * dissolve the team before the runtime sees the call.
 *
 * Their signatures differ and do not matter: a stub keeps all registers that carry arguments and
 * jumps to the runtime's function. If no team is held, or the root is inside it, a stub costs two
 * loads and a jump.
 */
#include "whole.h"
#include "kmp_names.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RUNTIMES 4

/* A function of the runtimes. `real` is set while there is only one runtime; it stands first
 * because the stubs read it there. */
struct nm_slot {
    void *_Atomic real;
    const char *name;
    bool sets;
    struct {
        struct nm_runtime *_Atomic runtime;
        void *_Atomic real;
    } of[RUNTIMES];
};

_Atomic bool nm_kmp_outside;
static struct nm_runtime *_Atomic holder; /* the runtime whose team is held open; valid while nm_kmp_outside */

void nm_kmp_hold(struct nm_runtime *runtime, bool outside)
{
    /* The root reads its own store; no other thread is ever outside of a held team. */
    atomic_store_explicit(&holder, runtime, memory_order_relaxed);
    atomic_store_explicit(&nm_kmp_outside, outside, memory_order_relaxed);
}

bool nm_kmp_holds(const struct nm_runtime *runtime)
{
    return nm_self.root == NM_PRIMARY && runtime == holder;
}

#define SLOT(function) struct nm_slot nm_slot_##function __attribute__((visibility("hidden"))) = {.name = #function};
#define SLOT_SETS(function)                                                                                             \
    struct nm_slot nm_slot_##function __attribute__((visibility("hidden"))) = {.name = #function, .sets = true};
#define SLOT_FORTRAN(function) SLOT(function) SLOT(function##_)
#define SLOT_SETS_FORTRAN(function) SLOT_SETS(function) SLOT_SETS(function##_) SLOT_SETS(function##_8_)
#define NM_KMP_ANSWERS(X)                                                                                               \
    X(omp_get_thread_num, 0)                                                                                            \
    X(omp_get_num_threads, 1)                                                                                           \
    X(omp_in_parallel, 0)                                                                                               \
    X(omp_get_level, 0)                                                                                                 \
    X(omp_get_active_level, 0)
#define SLOT_ANSWERS(function, value) SLOT_FORTRAN(function)

NM_KMP_LOOKS(SLOT)
NM_KMP_LOOKS_FORTRAN(SLOT_FORTRAN)
NM_KMP_SETS(SLOT_SETS)
NM_KMP_SETS_FORTRAN(SLOT_SETS_FORTRAN)
NM_KMP_ANSWERS(SLOT_ANSWERS)

#define AT(function) &nm_slot_##function,
#define AT_FORTRAN(function) &nm_slot_##function, &nm_slot_##function##_,
#define AT_SETS_FORTRAN(function) AT_FORTRAN(function) &nm_slot_##function##_8_,
#define AT_ANSWERS(function, value) AT_FORTRAN(function)
static struct nm_slot *const slots[] = {
    NM_KMP_LOOKS(AT) NM_KMP_LOOKS_FORTRAN(AT_FORTRAN) NM_KMP_SETS(AT) NM_KMP_SETS_FORTRAN(AT_SETS_FORTRAN)
    NM_KMP_ANSWERS(AT_ANSWERS)};

#define SLOTS (sizeof slots / sizeof *slots)

/* Called when there are several runtimes. */
void nm_kmp_forget_slots(void)
{
    for (size_t i = 0; i < SLOTS; i++)
        slots[i]->real = NULL;
}

/* A weak reference of a program without a runtime has become a reference to us. */
static long nobody(void)
{
    return 0;
}

static void *real_of(struct nm_slot *slot, struct nm_runtime *runtime)
{
    for (unsigned i = 0; i < RUNTIMES; i++)
        if (slot->of[i].runtime == runtime && slot->of[i].real)
            return slot->of[i].real;
    int saved = errno;
    void *real = nm_runtime_symbol(runtime, slot->name);
    errno = saved;
    if (!real)
        return NULL;
    for (unsigned i = 0; i < RUNTIMES; i++) {
        struct nm_runtime *none = NULL;
        if (atomic_compare_exchange_strong(&slot->of[i].runtime, &none, runtime)) {
            slot->of[i].real = real;
            break;
        }
    }
    if (!nm_runtime_next(nm_runtime_next(NULL))) {
        slot->real = real;
        if (nm_runtime_next(nm_runtime_next(NULL)))
            slot->real = NULL;
    }
    return real;
}

/* Finds the function to which a stub jumps; `place` is the stub's return address. */
__attribute__((visibility("hidden"), used)) void *nm_kmp_resolve(struct nm_slot *slot, const void *place)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    void *real = runtime ? real_of(slot, runtime) : NULL;
    if (!real)
        return (void *)nobody;
    if (slot->sets && runtime->kmp) {
        nm_kmp_settings();
        if (slot == &nm_slot_kmp_set_defaults)
            nm_kmp_leave_loops(runtime);
    } else if (slot->sets && !(nm_whole_compares(runtime) && strncmp(slot->name, "omp_set_schedule", 16) == 0)) {
        nm_whole_settings();
        nm_whole_dissolve();
        if (strncmp(slot->name, "omp_display_env", 15) == 0)
            nm_spin_show(runtime);
    }
    if (nm_kmp_is_outside_of(runtime))
        nm_whole_dissolve();
    return real;
}

#if defined(__x86_64__) && defined(__LP64__)

__asm__(".text\n"
        ".type nm_kmp_slow,@function\n"
        "nm_kmp_slow:\n" /* %r11: the slot */
        ".cfi_startproc\n"
        "  push %rax\n  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  push %r10\n"
        "  .cfi_adjust_cfa_offset 64\n"
        "  sub $136,%rsp\n"
        "  .cfi_adjust_cfa_offset 136\n"
        "  movups %xmm0,(%rsp)\n  movups %xmm1,16(%rsp)\n  movups %xmm2,32(%rsp)\n  movups %xmm3,48(%rsp)\n"
        "  movups %xmm4,64(%rsp)\n  movups %xmm5,80(%rsp)\n  movups %xmm6,96(%rsp)\n  movups %xmm7,112(%rsp)\n"
        "  mov %r11,%rdi\n"
        "  mov 200(%rsp),%rsi\n"
        "  call nm_kmp_resolve\n"
        "  mov %rax,%r11\n"
        "  movups (%rsp),%xmm0\n  movups 16(%rsp),%xmm1\n  movups 32(%rsp),%xmm2\n  movups 48(%rsp),%xmm3\n"
        "  movups 64(%rsp),%xmm4\n  movups 80(%rsp),%xmm5\n  movups 96(%rsp),%xmm6\n  movups 112(%rsp),%xmm7\n"
        "  add $136,%rsp\n"
        "  .cfi_adjust_cfa_offset -136\n"
        "  pop %r10\n  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n  pop %rax\n"
        "  .cfi_adjust_cfa_offset -64\n"
        "  jmp *%r11\n"
        ".cfi_endproc\n"
        ".size nm_kmp_slow,.-nm_kmp_slow\n");

#define BEGIN(function) ".globl " #function "\n.type " #function ",@function\n" #function ":\n.cfi_startproc\n"
#define END(function) ".cfi_endproc\n.size " #function ",.-" #function "\n"
#define STUB(function)                                                                                                  \
    __asm__(BEGIN(function) "  cmpb $0,nm_kmp_outside(%rip)\n  jne 1f\n"                                                \
                            "  mov nm_slot_" #function "(%rip),%r11\n  test %r11,%r11\n  je 1f\n  jmp *%r11\n"          \
                            "1:\n  lea nm_slot_" #function "(%rip),%r11\n  jmp nm_kmp_slow\n" END(function));
#define STUB_SETS(function)                                                                                             \
    __asm__(BEGIN(function) "  lea nm_slot_" #function "(%rip),%r11\n  jmp nm_kmp_slow\n" END(function));
#define HAS_STUBS true

#elif defined(__aarch64__)

__asm__(".text\n"
        ".type nm_kmp_slow,%function\n"
        "nm_kmp_slow:\n" /* x16: the slot */
        ".cfi_startproc\n"
        "  stp x29, x30, [sp, #-224]!\n"
        "  .cfi_adjust_cfa_offset 224\n  .cfi_offset 29,-224\n  .cfi_offset 30,-216\n"
        "  stp x0, x1, [sp, #16]\n  stp x2, x3, [sp, #32]\n  stp x4, x5, [sp, #48]\n  stp x6, x7, [sp, #64]\n"
        "  str x8, [sp, #80]\n"
        "  stp q0, q1, [sp, #96]\n  stp q2, q3, [sp, #128]\n  stp q4, q5, [sp, #160]\n  stp q6, q7, [sp, #192]\n"
        "  mov x0, x16\n"
        "  mov x1, x30\n"
        "  bl nm_kmp_resolve\n"
        "  mov x16, x0\n"
        "  ldp q0, q1, [sp, #96]\n  ldp q2, q3, [sp, #128]\n  ldp q4, q5, [sp, #160]\n  ldp q6, q7, [sp, #192]\n"
        "  ldr x8, [sp, #80]\n"
        "  ldp x0, x1, [sp, #16]\n  ldp x2, x3, [sp, #32]\n  ldp x4, x5, [sp, #48]\n  ldp x6, x7, [sp, #64]\n"
        "  ldp x29, x30, [sp], #224\n"
        "  .cfi_adjust_cfa_offset -224\n  .cfi_restore 29\n  .cfi_restore 30\n"
        "  br x16\n"
        ".cfi_endproc\n"
        ".size nm_kmp_slow,.-nm_kmp_slow\n");

#define BEGIN(function) ".globl " #function "\n.type " #function ",%function\n" #function ":\n.cfi_startproc\n"
#define END(function) ".cfi_endproc\n.size " #function ",.-" #function "\n"
#define SLOW(function) "  adrp x16, nm_slot_" #function "\n  add x16, x16, :lo12:nm_slot_" #function "\n  b nm_kmp_slow\n"
#define STUB(function)                                                                                                  \
    __asm__(BEGIN(function) "  adrp x16, nm_kmp_outside\n  ldrb w17, [x16, :lo12:nm_kmp_outside]\n  cbnz w17, 1f\n"     \
                            "  adrp x16, nm_slot_" #function "\n  ldr x16, [x16, :lo12:nm_slot_" #function "]\n"        \
                            "  cbz x16, 1f\n  br x16\n1:\n" SLOW(function) END(function));
#define STUB_SETS(function) __asm__(BEGIN(function) SLOW(function) END(function));
#define HAS_STUBS true

#else

#define STUB(function)
#define STUB_SETS(function)
#define HAS_STUBS false

#endif

#define STUB_FORTRAN(function) STUB(function) STUB(function##_)
#define STUB_SETS_FORTRAN(function) STUB_SETS(function) STUB_SETS(function##_) STUB_SETS(function##_8_)
NM_KMP_LOOKS(STUB)
NM_KMP_LOOKS_FORTRAN(STUB_FORTRAN)
NM_KMP_SETS(STUB_SETS)
NM_KMP_SETS_FORTRAN(STUB_SETS_FORTRAN)

static __attribute__((noinline)) int answer(struct nm_slot *slot, const void *place, int outside)
{
    struct nm_runtime *runtime = nm_runtime_at(place);
    if (!runtime || nm_kmp_is_outside_of(runtime))
        return outside;
    int (*real)(void) = (int (*)(void))real_of(slot, runtime);
    return real ? real() : outside;
}

#define ANSWER(function, outside)                                                                                       \
    SHIM_EXPORT int function(void)                                                                                      \
    {                                                                                                                   \
        int (*real)(void) = (int (*)(void))atomic_load_explicit(&nm_slot_##function.real, memory_order_relaxed);        \
        if (NM_LIKELY(real && !atomic_load_explicit(&nm_kmp_outside, memory_order_relaxed)))                            \
            return real();                                                                                              \
        return answer(&nm_slot_##function, __builtin_return_address(0), outside);                                       \
    }
#define ANSWER_FORTRAN(function, outside) ANSWER(function, outside) ANSWER(function##_, outside)
NM_KMP_ANSWERS(ANSWER_FORTRAN)

/* The other names that a program may import of libomp: the function looks at no team, or has a
 * wrapper here. */

static bool is_one_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_harmless(const char *name)
{
    static const char *const beginnings[] = {
        "__kmpc_atomic_", "__kmpc_critical", "__kmpc_init_lock", "__kmpc_init_nest_lock", "omp_init_lock", "omp_init_nest_lock",
        "omp_get_interop_", "omp_get_mapped_", "omp_target_", "kmp_set_warnings_",
    };
    static const char *const names[] = {
        "__kmpc_end_critical", "__kmpc_flush", "__kmpc_begin", "__kmpc_end", "__kmpc_ok_to_fork", "__kmpc_error",
        "__kmpc_pop_num_threads", "__kmpc_global_thread_num", "__kmpc_get_target_offload", "__kmpc_alloc", "__kmpc_aligned_alloc",
        "__kmpc_calloc", "__kmpc_realloc", "__kmpc_free", "__kmpc_init_allocator", "__kmpc_destroy_allocator",
        "__kmpc_get_default_allocator", "__kmpc_destroy_lock", "__kmpc_destroy_nest_lock", "__kmpc_set_lock",
        "__kmpc_set_nest_lock", "__kmpc_unset_lock", "__kmpc_unset_nest_lock", "__kmpc_test_lock", "__kmpc_test_nest_lock",
        "omp_destroy_lock", "omp_destroy_nest_lock", "omp_set_lock", "omp_set_nest_lock", "omp_unset_lock",
        "omp_unset_nest_lock", "omp_test_lock", "omp_test_nest_lock", "omp_get_wtime", "omp_get_wtick", "omp_alloc",
        "omp_aligned_alloc", "omp_calloc", "omp_aligned_calloc", "omp_realloc", "omp_free", "omp_init_allocator",
        "omp_destroy_allocator", "omp_get_num_devices", "omp_get_device_num", "omp_get_initial_device", "omp_is_initial_device",
        "omp_get_max_task_priority", "omp_get_supported_active_levels", "omp_get_cancellation", "omp_get_affinity_format",
        "omp_get_num_interop_properties", "kmp_malloc", "kmp_aligned_malloc", "kmp_calloc", "kmp_realloc", "kmp_free",
        "kmp_get_cancellation_status",
        /* Wrapped: */
        "__kmpc_fork_call", "__kmpc_fork_call_if", "__kmpc_fork_teams", "__kmpc_push_num_threads", "__kmpc_serialized_parallel",
        "__kmpc_end_serialized_parallel", "__kmpc_barrier", "__kmpc_cancel_barrier", "__kmpc_reduce", "__kmpc_end_reduce",
        "__kmpc_reduce_nowait", "__kmpc_end_reduce_nowait", "__kmpc_copyprivate", "__kmpc_copyprivate_light",
        "__kmpc_omp_task_begin_if0", "__kmpc_omp_task_complete_if0",
        "__kmpc_ordered", "__kmpc_doacross_wait", "__kmpc_omp_task", "__kmpc_omp_task_with_deps", "__kmpc_taskloop",
        "__kmpc_taskloop_5",
        "__kmpc_for_static_init_4", "__kmpc_for_static_init_4u", "__kmpc_for_static_init_8", "__kmpc_for_static_init_8u",
        "omp_get_max_threads", "omp_set_num_threads", "omp_get_num_procs", "omp_set_dynamic",
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return is_one_of(names, sizeof names / sizeof *names, name);
}

static bool is_runtimes(const char *name)
{
    static const char *const beginnings[] = {"__kmp", "kmp", "omp", "GOMP_"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* Whether the shim does not know this name; `data` is the runtime's load address. */
static bool is_unknown(const char *name, uintptr_t object, void *data)
{
    if (!is_runtimes(name))
        return false;
    for (size_t i = 0; i < SLOTS; i++)
        if (strcmp(slots[i]->name, name) == 0)
            return false;
    char plain[64];
    size_t length = strlen(name);
    if (length < sizeof plain) {
        memcpy(plain, name, length + 1);
        if (length > 2 && strcmp(plain + length - 3, "_8_") == 0)
            plain[length - 3] = 0;
        else if (plain[length - 1] == '_')
            plain[length - 1] = 0;
        if (is_harmless(plain))
            return false;
    }
    /* gcc's entries belong to libgomp as a rule, and then they do not matter here. */
    return strncmp(name, "GOMP_", 5) != 0 || nm_runtime_base(object) == (uintptr_t)data;
}

/* The user's settings may make the runtime keep more state of a region than the shim knows. */
static bool is_told_otherwise(void)
{
    static const char *const unusual[] = {
        "KMP_GTID_MODE", "KMP_INHERIT_FP_CONTROL", "KMP_CONSISTENCY_CHECK", "KMP_TASKING", "KMP_PAR_RANGE", "KMP_STORAGE_MAP",
        "KMP_ENABLE_TASK_THROTTLING", "KMP_LIBRARY", "OMP_DISPLAY_AFFINITY", "KMP_TEAMS_THREAD_LIMIT",
    };
    for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++)
        if (getenv(unusual[i]))
            return true;
    /* Members would get another answer than sequential code. */
    const char *list = getenv("OMP_NUM_THREADS");
    return list && strchr(list, ',');
}

/* A tool (OMPT) hears of each region, barrier and loop; so does a debugger (OMPD). libomp has
 * begun, and has found its tool by then: it says that there is none by -2. A tool that answers
 * questions of the program is not asked this one, if it can be seen otherwise. */
bool nm_kmp_is_watched(const struct nm_runtime *runtime)
{
    int (*control)(int, int, void *) = (int (*)(int, int, void *))nm_runtime_symbol(runtime, "omp_control_tool");
    const char *debug = getenv("OMP_DEBUG"), *tool = getenv("OMP_TOOL");
    if (debug && strcmp(debug, "enabled") == 0)
        return true;
    if (tool && strcmp(tool, "disabled") == 0)
        return false;
    void *start = dlsym(RTLD_DEFAULT, "ompt_start_tool"); /* libomp's own starts none */
    bool is_foreign = start && nm_object_of((uintptr_t)start, NULL) != runtime->base;
    return is_foreign || getenv("OMP_TOOL_LIBRARIES") || (control && control(0, 0, NULL) != -2);
}

static void before_fork(void)
{
    nm_whole_dissolve();
}

static _Atomic bool ends;

static void at_end(void)
{
    ends = true;
    nm_whole_dissolve();
}

static _Atomic bool more_loaded = true;

/* A new library's constructors may call the runtime by names that we do not know. */
void nm_kmp_more_loaded(void)
{
    more_loaded = true;
    if (nm_kmp_outside)
        nm_whole_dissolve();
}

bool nm_kmp_ready(struct nm_runtime *runtime)
{
    if (NM_UNLIKELY(ends))
        return false;
    if (NM_LIKELY(!more_loaded))
        return true;
    more_loaded = false;
    static bool first = true;
    if (first) {
        first = false;
        /* libomp holds its own locks while a process forks, and ends its threads at exit: the
         * shim's handlers come before its own. */
        pthread_atfork(before_fork, NULL, NULL);
        atexit(at_end);
        if (!HAS_STUBS || is_told_otherwise())
            runtime->whole = false;
    }
    for (struct nm_runtime *other = nm_runtime_next(NULL); other; other = nm_runtime_next(other))
        if (other != runtime && other->kmp)
            runtime->whole = other->whole = false;
    if (nm_imports_any(is_unknown, (void *)runtime->base))
        runtime->whole = false;
    return runtime->whole;
}
