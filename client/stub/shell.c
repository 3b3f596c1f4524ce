/* shell.c - system() and popen().
 */
#include "change.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

extern char **environ __attribute__((weak));

typedef int system_fn(const char *);
typedef FILE *popen_fn(const char *, const char *);
NM_NEXT(system, system_fn)
NM_NEXT(popen, popen_fn)

/* Of a shell that the C library starts: no affinity is set. */
static void fit_shell(void *of)
{
    static char *const words[] = {"sh", NULL};
    struct nm_plan *plan = of;
    nm_change_begin(&plan->change);
    nm_change_choose(&plan->change, "/bin/sh", words, plan->envp);
    if (!plan->change.needed)
        return;
    nm_change_compose(&plan->change, plan->envp, plan->entries);
    unsigned n = 0;
    for (size_t i = 0; plan->envp[i] && n < NM_REPLACED_MAX; i++)
        if (nm_change_replaces(&plan->change, plan->envp[i]))
            plan->replaced[n++] = plan->envp[i];
}

/* The C library starts the shell with the variable `environ`. Where that lacks what this process
 * was told, another list of the same entries stands in for the time of the call. Whoever changes
 * the environment meanwhile changes that list or a copy of it. So a list that has been used is
 * never given back, but used again where the same one is needed. */

struct stand_in {
    struct nm_plan *plan; /* NULL: none is needed */
    char **before;
};
static struct nm_plan *_Atomic last_stand_in;

static bool is_ours_text(const struct nm_plan *plan, const char *entry)
{
    const char *begin = (const char *)&plan->change, *end = begin + sizeof plan->change;
    for (char *const *saved = nm_stub_start()->saved; plan->change.restore && *saved; saved++)
        if (entry == *saved)
            return true;
    return entry >= begin && entry < end;
}

/* Two lists of the same entries; texts of ours are equal. */
static bool same_entries(const struct nm_plan *a, const struct nm_plan *b)
{
    size_t i = 0;
    for (; a->entries[i] && b->entries[i]; i++)
        if (a->entries[i] != b->entries[i] &&
            !(is_ours_text(a, a->entries[i]) && is_ours_text(b, b->entries[i]) && nm_equal(a->entries[i], b->entries[i])))
            return false;
    return a->entries[i] == b->entries[i];
}

static void stand_in(struct stand_in *in)
{
    char *const *present = nm_own_environment();
    size_t bytes = nm_plan_bytes(present);
    struct nm_room room;
    in->plan = NULL;
    long at = nm_system(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at < 0 && at > -4096)
        return;
    struct nm_plan *plan = (struct nm_plan *)at, *last = last_stand_in;
    plan->start = NULL;
    plan->envp = present;
    if (nm_room_take(&room, 0)) {
        nm_room_run(&room, fit_shell, plan);
        nm_room_leave(&room);
    } else {
        plan->change.needed = false;
    }
    if (!plan->change.needed || (last && same_entries(plan, last))) {
        in->plan = plan->change.needed ? last : NULL;
        nm_system3(SYS_munmap, at, bytes, 0);
    } else {
        last_stand_in = plan;
        in->plan = plan;
    }
    if (!in->plan)
        return;
    in->before = environ;
    environ = (char **)in->plan->entries;
}

static char *stood_for(const struct nm_plan *plan, const char *entry)
{
    for (unsigned i = 0; i < NM_REPLACED_MAX && plan->replaced[i]; i++)
        if (nm_has_name_of((char *const *)&plan->replaced[i], 1, entry))
            return (char *)plan->replaced[i];
    return NULL;
}

/* Another thread has changed the environment meanwhile, and the C library may have freed the list
 * from before, or made the new one in its place: that stays, without our entries. */
static void take_out(const struct nm_plan *plan, char **list)
{
    char **to = list;
    for (char **from = list; list && *from; from++) {
        char *entry = is_ours_text(plan, *from) ? stood_for(plan, *from) : *from;
        if (entry)
            *to++ = entry;
    }
    if (list)
        *to = NULL;
}

static bool is_unchanged(const struct stand_in *in)
{
    size_t n = 0, i = 0;
    for (; in->before && in->before[i]; i++)
        if (!nm_change_replaces(&in->plan->change, in->before[i]) && in->plan->entries[n++] != in->before[i])
            return false;
    while (in->plan->entries[n] && is_ours_text(in->plan, in->plan->entries[n]))
        n++;
    return !in->plan->entries[n];
}

static void step_back(const struct stand_in *in)
{
    if (!in->plan)
        return;
    if (environ == (char **)in->plan->entries && is_unchanged(in)) {
        environ = in->before;
    } else {
        last_stand_in = NULL;
        take_out(in->plan, environ);
    }
}

STUB_EXPORT int system(const char *command)
{
    struct stand_in in = {NULL, NULL};
    if (!system_next())
        return nm_fail(ENOSYS);
    nm_stub_at_birth(true);
    if (command)
        stand_in(&in);
    int result = system_next()(command);
    nm_stub_at_birth(false);
    step_back(&in);
    return result;
}

STUB_EXPORT FILE *popen(const char *command, const char *type)
{
    struct stand_in in;
    if (!popen_next())
        return NULL;
    nm_stub_at_birth(true);
    stand_in(&in);
    FILE *result = popen_next()(command, type);
    nm_stub_at_birth(false);
    step_back(&in);
    return result;
}
