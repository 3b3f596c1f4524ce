/* refuses.c - programs whose team must not be folded in user space, and plain ones whose team is.
 *
 *     refuses WHY      a manager's part; starts itself as the program, on one processor
 *
 * WHY is what the program must report: enum nm_fold_why, 0 = it is folded in user space. Compiled
 * with NAMES_RSEQ it names the C library's area of restartable sequences, with FINDS_RSEQ it finds
 * that by dlsym, and with HAS_TOOL it has a tool of OMPT. With SETS_LONG it changes a setting by
 * libgomp's name for Fortran's integers of 8 bytes, and its members must see that. With SHOWS it
 * prints libgomp's settings between two regions. REFUSES_PRELOAD names the shim,
 * NUMAESTRO_ATTACH a path for the socket.
 */
#include "manager.h"

#include <dlfcn.h>
#include <omp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { MEMBERS = 4, REGIONS = 200 };

#ifdef NAMES_RSEQ
extern const ptrdiff_t __rseq_offset __attribute__((weak));
#endif

#if defined(FINDS_RSEQ) && defined(__x86_64__)
__asm__(".text\n .long 0x53053053\naborts:\n ud2\n ud2\n"); /* behind the signature that the kernel asks for */
extern const char aborts[];
#endif

/* Leaves in the root's area what a sequence leaves there. */
static void use_sequence(void)
{
#if defined(FINDS_RSEQ) && defined(__x86_64__)
    static struct {
        uint32_t version, flags;
        uint64_t start, length, abort;
    } sequence __attribute__((aligned(32)));
    sequence.start = (uintptr_t)aborts + 2;
    sequence.length = 1;
    sequence.abort = (uintptr_t)aborts;
    const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
    uintptr_t thread;
    __asm__("mov %%fs:0,%0" : "=r"(thread));
    if (offset)
        *(volatile uint64_t *)(thread + (uintptr_t)*offset + 8) = (uintptr_t)&sequence;
#endif
#ifdef NAMES_RSEQ
    static const ptrdiff_t *volatile named;
    named = &__rseq_offset;
    (void)named;
#endif
}

static long heard;

#ifdef HAS_TOOL
#include <omp-tools.h>

static void hear(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *parallel, ompt_data_t *task, const void *at)
{
    (void)kind, (void)parallel, (void)task, (void)at;
    if (end == ompt_scope_begin)
        __atomic_add_fetch(&heard, 1, __ATOMIC_RELAXED);
}

static int begin(ompt_function_lookup_t find, int device, ompt_data_t *data)
{
    (void)device, (void)data;
    ((ompt_set_callback_t)find("ompt_set_callback"))(ompt_callback_sync_region, (ompt_callback_t)hear);
    return 1;
}

static void end(ompt_data_t *data)
{
    (void)data;
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    (void)version, (void)runtime;
    static ompt_start_tool_result_t tool = {begin, end, {0}};
    return &tool;
}
#endif

#ifdef SETS_LONG
extern void omp_set_default_device_8_(const int64_t *number);

static void set(int r)
{
    int64_t number = r % 3;
    omp_set_default_device_8_(&number);
}

static bool is_set(int r)
{
    return omp_get_default_device() == r % 3;
}
#else
static void set(int r)
{
    (void)r;
}

static bool is_set(int r)
{
    (void)r;
    return true;
}
#endif

static volatile sig_atomic_t seen;

static void see(int number)
{
    (void)number;
    seen = true;
}

static int program(bool watched)
{
    long sum = 0, r;
    if (watched)
        signal(SIGUSR1, see);
    else
        seen = true;
    /* At least so many, and then until the page says what it should, see `decide` below. */
    for (r = 0; r < REGIONS || (!seen && r < REGIONS + 500); r++) {
        if (r >= REGIONS)
            usleep(10000);
        set((int)r);
#ifdef SHOWS
        if (r == REGIONS / 2)
            omp_display_env(1);
#endif
#pragma omp parallel num_threads(MEMBERS) reduction(+ : sum)
        {
            if (omp_get_thread_num() == 0)
                use_sequence();
#pragma omp barrier
            sum += is_set((int)r) ? omp_get_thread_num() : -1;
        }
    }
    /* Each member comes to one barrier inside and to one at the end. */
    bool hears = heard == 0 || heard >= 2L * MEMBERS * r;
    return sum == r * MEMBERS * (MEMBERS - 1) / 2 && hears ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *path = getenv("NUMAESTRO_ATTACH"), *preload = getenv("REFUSES_PRELOAD");
    if (argc != 2 || !path)
        return 2;
    if (!preload)
        return program(getenv("REFUSES_WATCHED"));
#if defined(FINDS_RSEQ) && !defined(__x86_64__)
    return 0; /* there is no code for it here */
#elif defined(FINDS_RSEQ)
    const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
    if (!size || *size == 0)
        return 0; /* nobody has registered an area */
#endif
    uint64_t set = processors(1);
    int listener = listen_at(path);
    if (listener < 0 || !set)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        unsetenv("REFUSES_PRELOAD");
        setenv("REFUSES_WATCHED", "1", 1);
        setenv("LD_PRELOAD", preload, 1);
        execv(argv[0], argv);
        _exit(127);
    }
    struct numaestro_page *page = NULL;
    uint32_t should = (uint32_t)atoi(argv[1]), should_mode = should ? NM_FOLD_KERNEL : NM_FOLD_USER;
    bool said = false;
    int status;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        union packet packet;
        if (poll(&ready, 1, 20) <= 0) {
            if (page && page->fold.why == should && page->fold.mode == should_mode) {
                said = true;
                kill(child, SIGUSR1);
            } else if (page) { /* its helper thread wakes, and writes into the page */
                decide(page, 0, set);
            }
            continue;
        }
        int connection = accept(listener, NULL, NULL);
        if (recv(connection, &packet, sizeof packet, 0) == (ssize_t)sizeof packet.hello)
            page = hand_out(connection, 0, set, 10000);
        close(connection);
    }
    unlink(path);
    uint32_t is = page ? page->fold.why : ~0u, mode = page ? page->fold.mode : ~0u;
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0 && said;
    const char *name = strrchr(argv[0], '/');
    printf("%s refuses: %s is folded in mode %u for reason %u, not %u (status %d)\n", good ? "ok" : "FAILED", name ? name + 1 : argv[0],
           mode, is, should, status);
    return good ? 0 : 1;
}
