/* Threads and processes that are born in regions, by each call there is, have what their makers
 * had: signal mask, name, floating-point modes; and their ends are seen where they were asked for.
 */
#include "torture.h"
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <threads.h>

extern char **environ;

/* The first eight bytes of the mask of the calling thread. */
static uint64_t mask(void)
{
    sigset_t set;
    uint64_t bits = 0;
    sigemptyset(&set);
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    for (int number = 1; number < 32; number++)
        bits |= (uint64_t)(sigismember(&set, number) == 1) << number;
    return bits;
}

static uint64_t name(void)
{
    char text[16] = "";
    prctl(PR_GET_NAME, text);
    return mixed(0, (uint64_t)(unsigned char)text[0] << 8 | (unsigned char)text[1]);
}

static void block_own(int me, sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, me % 2 ? SIGUSR1 : SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

static void *tell(void *result)
{
    *(uint64_t *)result = mixed(mixed(mask(), name()), (uint64_t)fegetround());
    return NULL;
}

static int tell_thrd(void *result)
{
    tell(result);
    return 5;
}

/* Every second member makes threads, the others meet meanwhile. */
static void by_threads(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        sigset_t before;
        char old[16];
        prctl(PR_GET_NAME, old);
        block_own(me, &before);
        prctl(PR_SET_NAME, me % 2 ? "odd" : "even");
        fesetround(me % 2 ? FE_UPWARD : FE_DOWNWARD);
        for (int r = 0; r < 3; r++) {
            uint64_t one = 0, two = 0;
            int code = 0;
            if (me % 3 == r) {
                pthread_t thread;
                thrd_t other;
                if (pthread_create(&thread, NULL, tell, &one) || thrd_create(&other, tell_thrd, &two) != thrd_success)
                    wrong("no thread");
                pthread_join(thread, NULL);
                thrd_join(other, &code);
            }
#pragma omp barrier
            *slot(me) = mixed(mixed(mixed(*slot(me), one), two), (uint64_t)code);
        }
        fesetround(FE_TONEAREST);
        prctl(PR_SET_NAME, old);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    note_slots(team_size());
}

static uint64_t code_of(pid_t child)
{
    int status = -1;
    if (child <= 0 || waitpid(child, &status, 0) != child)
        return 1000;
    return WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 2000 + (uint64_t)WTERMSIG(status);
}

/* The child says its mask by its exit code; the shell says the one that it was started with. */
static void by_processes(void)
{
    static const char script[] = "while read -r key value; do case $key in SigBlk:) exit $((0x$value >> 9 & 7));; esac; "
                                 "done </proc/self/status; exit 99";
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        sigset_t before;
        block_own(me, &before);
        uint64_t codes = 0;
        if (me < 4) {
            pid_t child = fork();
            if (child == 0)
                _exit((int)(mask() >> 10 & 7));
            codes = mixed(codes, code_of(child));
            char *arguments[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
            child = -1;
            if (posix_spawnp(&child, "sh", NULL, NULL, arguments, environ))
                child = -1;
            codes = mixed(codes, code_of(child));
        }
#pragma omp barrier
        *slot(me) = codes;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    note_slots(team_size());
}

/* A thread that was born in a region opens one of its own. */
static void *opens(void *result)
{
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += 1 + omp_get_thread_num();
    *(uint64_t *)result = (uint64_t)sum;
    return NULL;
}

static void that_open(void)
{
    uint64_t result = 0;
#pragma omp parallel
    {
        for (int r = 0; r < 2; r++) {
#pragma omp barrier
            if (omp_get_thread_num() == omp_get_num_threads() - 1) {
                pthread_t thread;
                if (pthread_create(&thread, NULL, opens, &result))
                    wrong("no thread");
                pthread_join(thread, NULL);
            }
#pragma omp barrier
            *slot(omp_get_thread_num()) += result;
        }
    }
    note_slots(team_size());
}

/* A child opens regions, and so does its child. LLVM's runtime can do that; libgomp's threads are
 * not there after a fork, and it waits for them. */
static void children(void)
{
    uint64_t sum = 0;
    for (int r = 0; r < 2; r++) {
#pragma omp parallel
        {
#pragma omp barrier
        }
        pid_t child = fork();
        if (child == 0) {
            pid_t grandchild = fork();
            int count = 0;
#ifdef __clang__
#pragma omp parallel num_threads(3) reduction(+ : count)
            {
#pragma omp barrier
                count++;
            }
#endif
            if (grandchild == 0)
                _exit(count);
            _exit(count + 10 * (int)code_of(grandchild));
        }
        sum = mixed(sum, code_of(child));
    }
    note(sum);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"threads", by_threads}, {"processes", by_processes}, {"that-open", that_open}, {"children", children},
    };
    return TORTURE(parts);
}
