/* Each thread's state is in another object than the region: it must last from region to region.
 * Modes: "linked": in a linked library. "opened": in a library that dlopen loads. "key": by
 * pthread_getspecific. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

long long *state_of_this_thread(void);

static pthread_key_t key;

static long long *by_key(void)
{
    long long *mine = pthread_getspecific(key);
    if (!mine) {
        mine = calloc(1, sizeof *mine);
        pthread_setspecific(key, mine);
    }
    return mine;
}

static long long *(*opened(void))(void)
{
    void *library = dlopen("libstate-opened.so", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        check_fail("%s", dlerror());
    return (long long *(*)(void))(size_t)dlsym(library, "state_of_this_thread");
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "linked";
    long long *(*state)(void) = state_of_this_thread;
    int team = 0;
    long long total = 0;
    pthread_key_create(&key, free);
    if (!strcmp(how, "opened"))
        state = opened();
    else if (!strcmp(how, "key"))
        state = by_key;
#pragma omp parallel reduction(+ : team)
    {
        *state() = 0;
        team++;
    }
    while (check_going(argc, argv)) {
        int members = 0, lost = 0;
#pragma omp parallel reduction(+ : members, lost)
        {
            members++;
            lost += *state() != check_rounds;
            ++*state();
        }
        check_saw(members);
        check_equal("team", members, team);
        check_equal("threads that lost their number", lost, 0);
    }
#pragma omp parallel reduction(+ : total)
    total += *state();
    check_equal("total", total, (long long)team * check_rounds);
    return check_end("elsewhere", 1);
}
