/* A member asks for something of its own kernel thread while others wait for it, and for each
 * other, without a barrier. Each region is a function of its own, because the shim remembers what a
 * function did.
 */
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <signal.h>

#define PATIENCE_S 20

static int come[CHECK_SIZES];

static void wait_for(int member)
{
    for (double until = check_now() + PATIENCE_S; !__atomic_load_n(&come[member], __ATOMIC_ACQUIRE);)
        if (check_now() > until)
            check_fail("member %d does not come, in round %ld", member, check_rounds);
}

static inline __attribute__((always_inline)) void body(int asks)
{
    int me = omp_get_thread_num(), team = omp_get_num_threads();
    sigset_t mask;
#pragma omp barrier
#pragma omp barrier
    if (me == asks % team)
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
    __atomic_store_n(&come[me], 1, __ATOMIC_RELEASE);
    for (int i = 1; i < team; i++)
        wait_for((me + i) % team);
#pragma omp barrier
    come[me] = 0;
    if (me == 0)
        check_saw(team);
}

#define REGION(asks)                                                                                                    \
    _Pragma("omp parallel num_threads(4)") body(asks);
#define FOUR(from) REGION(from) REGION(from + 1) REGION(from + 2) REGION(from + 3)

int main(int argc, char **argv)
{
    while (check_going(argc, argv)) {
        FOUR(0)
        FOUR(4)
        FOUR(8)
    }
    return check_end("stranded", 0);
}
