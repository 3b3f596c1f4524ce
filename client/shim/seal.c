/* seal.c - a program that is about to forbid itself system calls (seccomp) is left alone from then
 * on.
 *
 * Each call of ours that its filter does not know would kill it. So our threads end, its teams run
 * as without us, and it attaches to nobody any more. The manager still moves its threads from
 * outside.
 */
#include "own.h"

#include <stdarg.h>
#include <sys/prctl.h>

static atomic_bool sealed;

/* Of the stub; a shim that is preloaded alone has none. */
extern void numaestro_seal(void) __attribute__((weak));

bool nm_is_sealed(void)
{
    return atomic_load_explicit(&sealed, memory_order_relaxed);
}

void nm_seal(void)
{
    if (atomic_exchange(&sealed, true))
        return;
    if (numaestro_seal)
        numaestro_seal();
    nm_whole_dissolve();
    nm_caller_step_aside();
    nm_helper_step_aside();
    nm_forget();
    nm_client.tried = true;
    nm_plans_change();
}

SHIM_EXPORT int prctl(int option, ...)
{
    static int (*_Atomic real)(int, unsigned long, unsigned long, unsigned long, unsigned long);
    va_list list;
    unsigned long words[4];
    va_start(list, option);
    for (unsigned i = 0; i < 4; i++)
        words[i] = va_arg(list, unsigned long);
    va_end(list);
    if (!real)
        real = (int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long))nm_next_symbol("prctl");
    if (option == PR_SET_SECCOMP)
        nm_seal();
    int result;
    if (NM_UNLIKELY(nm_own_prctl(option, words[0], &result)))
        return result;
    return real(option, words[0], words[1], words[2], words[3]);
}
