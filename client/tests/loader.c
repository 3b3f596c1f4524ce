/* Loads libraries with OpenMP inside, uses them and unloads them, again and again; it has no OpenMP
 * itself. Arguments after the seconds: the libraries. They are local (RTLD_LOCAL), as in Python's
 * modules. A library given as "keep:NAME" stays loaded: it brings a libgomp of its own, and
 * libgomp's waiting threads do not survive its unloading. */
#include "check.h"
#include <dlfcn.h>
#include <string.h>

enum { N = 5000, CALLS = 20 };

int main(int argc, char **argv)
{
    while (check_going(argc, argv)) {
        for (int p = 2; p < argc; p++) {
            int keep = !strncmp(argv[p], "keep:", 5);
            void *library = dlopen(argv[p] + 5 * keep, RTLD_NOW | RTLD_LOCAL | (keep ? RTLD_NODELETE : 0));
            if (!library)
                check_fail("%s", dlerror());
            long long (*sum)(int, int *) = (long long (*)(int, int *))(size_t)dlsym(library, "plugin_sum");
            for (int i = 0; i < CALLS; i++) {
                int team = 0;
                check_equal("sum", sum(N, &team), (long long)N * (N - 1) / 2);
                check_saw(team);
            }
            dlclose(library);
        }
    }
    return check_end("loader", (long long)N * (N - 1) / 2);
}
