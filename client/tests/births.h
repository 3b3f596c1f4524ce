/* births.h - for thread_state.c: each way to start a thread or a process. Who is born has the empty
 * mask of the program, and its maker's name.
 */

static int is_empty_mask(void)
{
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    return sigisemptyset(&now);
}

static void *in_thread(void *answer)
{
    *(int *)answer = truth(is_empty_mask());
    return NULL;
}

static int in_c11_thread(void *unused)
{
    (void)unused;
    return truth(is_empty_mask());
}

static int in_child(void *unused)
{
    (void)unused;
    _exit(truth(is_empty_mask()));
}

static int ended(pid_t child)
{
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
}

#define LOOK "SigBlk:.0000000000000000$"
static char *const look[] = {"grep", "-q", LOOK, "/proc/self/status", NULL}; /* a shell may clear its mask */

static int born_thread(int t)
{
    pthread_t thread;
    int answer = WRONG;
    (void)t;
    return pthread_create(&thread, NULL, in_thread, &answer) || pthread_join(thread, NULL) ? WRONG : answer;
}

static int born_c11(int t)
{
    thrd_t thread;
    int answer = WRONG;
    (void)t;
    return thrd_create(&thread, in_c11_thread, NULL) != thrd_success || thrd_join(thread, &answer) != thrd_success ? WRONG : answer;
}

static int born_fork(int t)
{
    pid_t child = fork();
    (void)t;
    return child == 0 ? in_child(NULL) : ended(child);
}

static int born_by_number(int t)
{
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    (void)t;
    return child == 0 ? in_child(NULL) : ended(child);
}

static int born_vfork(int t)
{
    pid_t child = vfork();
    (void)t;
    if (child == 0) {
        execvp("grep", look);
        _exit(WRONG);
    }
    return ended(child);
}

static int born_clone(int t)
{
    static char stacks[CHECK_SIZES][65536] __attribute__((aligned(64)));
    return ended(clone(in_child, stacks[t] + sizeof stacks[t], SIGCHLD, NULL));
}

static int born_spawn(int t)
{
    pid_t child = 0;
    return (t % 2 ? posix_spawn(&child, "/bin/grep", NULL, NULL, look, environ) : posix_spawnp(&child, "grep", NULL, NULL, look, environ))
               ? WRONG : ended(child);
}

static int born_shell(int t)
{
    FILE *pipe;
    if (t % 2)
        return truth(system("grep -q " LOOK " /proc/self/status") == 0);
    return truth((pipe = popen("grep -q " LOOK " /proc/self/status", "r")) && pclose(pipe) == 0);
}

/* While others wait for a lock that the member holds. */
static int born_locked(int t)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (double until = check_now() + 0.02; check_now() < until;)
        ;
    int answer = born_thread(t);
    pthread_mutex_unlock(&lock);
    return answer;
}
