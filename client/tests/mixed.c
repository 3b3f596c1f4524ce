/* A program that opens a library which another compiler may have built. The library's calls go to
 * this program's runtime where that has the same names, and to the library's own elsewhere.
 *
 *     mixed SECONDS LIBRARY
 */
#include <dlfcn.h>
#include <omp.h>

#include "check.h"

int main(int argc, char **argv)
{
    int team = 0, inside = -1;
    if (argc < 3)
        return 2;
    omp_set_num_threads(4);
#pragma omp parallel reduction(+ : team)
    {
        team++;
#pragma omp barrier
    }
    void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    long (*shares)(void) = library ? (long (*)(void))dlsym(library, "shares") : NULL;
    int (*members)(void) = library ? (int (*)(void))dlsym(library, "members") : NULL;
    if (!shares || !members)
        return 2;
    long first = shares();
    int who = members();
    for (double until = check_now() + atof(argv[1]); check_now() < until;) {
        int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
        {
            if (omp_get_thread_num() == 0) {
                int now = members();
                wrong += inside >= 0 && now != inside;
                inside = now;
            }
#pragma omp barrier
        }
        if (wrong || shares() != first || members() != who)
            first = -1;
    }
    omp_set_num_threads(2);
    printf("team %d, shares %ld, members %d, in a region %d, with a team of two %d\n", team, first, who, inside, members());
    return 0;
}
