/* environment.c - the entries of an environment, and the room that a start needs for them.
 */
#include "change.h"

extern char **environ __attribute__((weak));

size_t nm_entries(char *const envp[])
{
    size_t count = 0;
    while (envp && envp[count])
        count++;
    return count;
}

size_t nm_plan_bytes(char *const envp[])
{
    return sizeof(struct nm_plan) + (nm_entries(envp) + NM_ADDED_MAX + 1) * sizeof(char *);
}

char *const *nm_own_environment(void)
{
    static char *const none[] = {NULL};
    return &environ && environ ? environ : none;
}

int nm_fail(int error)
{
    extern int *__errno_location(void) __attribute__((weak, const));
    if (__errno_location)
        *__errno_location() = error;
    return -1;
}

bool nm_has_name_of(char *const envp[], size_t count, const char *entry)
{
    size_t length = 0;
    while (entry[length] && entry[length] != '=')
        length++;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < length && envp[i][at] == entry[at])
            at++;
        if (at == length && envp[i][at] == '=')
            return true;
    }
    return false;
}
