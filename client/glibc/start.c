/* start.c - Since glibc 2.34 the start object of a program leaves its constructors to the C
 * library. An older one runs only those that it is told of: so it is told. A newer one takes
 * that for a program that was linked long ago, and runs them in the same way.
 */
#include "old.h"

#include <stddef.h>

typedef int main_fn(int, char **, char **);
typedef void init_fn(int, char **, char **);

int nm_start_main(main_fn *, int, char **, init_fn *, void (*)(void), void (*)(void), void *);
OLD(nm_start_main, __libc_start_main, "GLIBC_2.2.5");

OLD_INSIDE extern init_fn *__init_array_start[], *__init_array_end[];
OLD_INSIDE void _init(void);

static void construct(int count, char **words, char **environment)
{
    _init();
    for (init_fn **each = __init_array_start; each < __init_array_end; each++)
        (*each)(count, words, environment);
}

OLD_INSIDE int __libc_start_main(main_fn *program, int count, char **words, init_fn *init, void (*fini)(void), void (*loader)(void),
                                 void *stack)
{
    return nm_start_main(program, count, words, init ? init : construct, fini, loader, stack);
}
