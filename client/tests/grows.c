/* Runs a small team now and then, and after SIGUSR1 a larger one: the runtime makes new threads
 * long after the start, and they stay. First the program asks for its places, so that libomp reads
 * its mask then. It sleeps between its regions, so that hundreds of such programs can run at once.
 * Writes "small" and "large" when the first team of each size has been there. Never ends by
 * itself. */
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t large;

static void grow(int signal)
{
    (void)signal;
    large = 1;
}

static void say(const char *word, size_t bytes)
{
    if (write(STDOUT_FILENO, word, bytes) < 0)
        _exit(1);
}

int main(int argc, char **argv)
{
    int small = argc > 1 ? atoi(argv[1]) : 2, most = argc > 2 ? atoi(argv[2]) : 5, said = 0;
    struct timespec pause = {3, 0};
    struct sigaction action = {.sa_handler = grow};
    sigaction(SIGUSR1, &action, NULL);
    static long sum;
    sum = omp_get_num_places();
    for (;;) {
        int team = large ? most : small;
#pragma omp parallel num_threads(team) reduction(+ : sum)
        sum += omp_get_thread_num();
        if (!said)
            say("small\n", 6);
        if (large && said < 2)
            say("large\n", 6);
        said = large ? 2 : 1;
        if (!large || said == 2)
            nanosleep(&pause, NULL);
    }
}
