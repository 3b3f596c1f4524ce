/* recall.h - for fold.c: meetings that are recalled.
 */
/* Some members recall a meeting, also the one at the end, and all meet in the kernel instead: those
 * that wait, those that come later, and those that recall. */
static _Atomic uint32_t recalled_by; /* 0 = nobody so far, else the meeting's number */
static struct recalls {
    uint32_t meetings, at, first, second;
} recalls;

static void in_kernel(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&kernel);
    recalled_by = 0;
    pthread_barrier_wait(&kernel);
}

static bool recall_one(void *argument, struct nm_context *me)
{
    const struct recalls *draws = argument;
    bool folds = true;
    for (uint32_t i = 1; i <= draws->meetings; i++) {
        mine++;
        if (i == draws->at && (me->number == draws->first || me->number == draws->second)) {
            uint32_t nobody = 0;
            if (atomic_compare_exchange_strong(&recalled_by, &nobody, i)) {
                nm_fold_roam(true);
                nm_fold_limit(members);
                nm_fold_recall();
            }
            folds = false;
            if (i == draws->meetings)
                return true;
            in_kernel(NULL);
        } else if (i == draws->meetings) {
            return folds;
        } else if (!folds) {
            pthread_barrier_wait(&kernel);
        } else if (!nm_fold_barrier(me)) {
            if (i != draws->at)
                fail("a meeting that nobody recalled", i, draws->at);
            folds = false;
            in_kernel(NULL);
        }
        if (i == draws->at && folds)
            fail("a meeting that was recalled, and took place", i, 0);
    }
    return folds;
}

static void recalled(double seconds, uint64_t seed)
{
    state = seed;
    long regions = 0;
    for (double until = now() + seconds; now() < until;) {
        members = 2 + draw(7);
        pthread_barrier_init(&kernel, NULL, members);
        if (!nm_fold_open(members, 1 + draw(members), region, NULL))
            fail("a team", 0, 1);
        for (uint32_t i = 0; i < 20; i++, regions++) {
            nm_fold_roam(false);
            nm_fold_limit(1 + draw(members));
            uint32_t count = 1 + draw(5);
            recalls = (struct recalls){count, 1 + draw(count), draw(members), draw(members)};
            nm_fold_run(recall_one, in_kernel, &recalls);
            if (syscall(SYS_gettid) != root_tid)
                fail("the root's kernel thread after a recall", syscall(SYS_gettid), root_tid);
        }
        nm_fold_dissolve();
        pthread_barrier_destroy(&kernel);
    }
    printf("ok fold: seed %llu, %ld regions in which a meeting was recalled\n", (unsigned long long)seed, regions);
}
