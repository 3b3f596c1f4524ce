/* later.h - for thread_state.c: what a thread sets once and uses in later regions, without another
 * call about itself.
 */
/* For as long as it runs, in every region. */
static int set_own_timer(int t)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    (void)t;
    event._sigev_un._tid = gettid();
    return timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL) ? CANNOT : RIGHT;
}

static int get_own_timer(int t)
{
    int before = *(volatile int *)&heard;
    (void)t;
    for (double until = check_now() + 5; *(volatile int *)&heard == before && check_now() < until;)
        ;
    return truth(*(volatile int *)&heard > before);
}

static __thread clockid_t own_clock;

static int set_own_clock(int t)
{
    (void)t;
    return pthread_getcpuclockid(pthread_self(), &own_clock) ? CANNOT : RIGHT;
}

static int get_own_clock(int t)
{
    long long before = ns(own_clock);
    (void)t;
    for (double until = check_now() + 5; ns(own_clock) < before + 1000000 && check_now() < until;)
        ;
    return truth(ns(own_clock) >= before + 1000000);
}

static __thread char *own_stack;
static __thread volatile int on_own_stack;
static __thread sigjmp_buf back;
#define STACK_BYTES 65536

static void fault(int number)
{
    char here;
    (void)number;
    on_own_stack = (uintptr_t)&here - (uintptr_t)own_stack < STACK_BYTES;
    siglongjmp(back, 1);
}

static int set_stack(int t)
{
    struct sigaction action = {.sa_handler = fault, .sa_flags = SA_ONSTACK};
    own_stack = malloc(STACK_BYTES);
    stack_t stack = {.ss_sp = own_stack, .ss_size = STACK_BYTES};
    (void)t;
    return !own_stack || sigaction(SIGSEGV, &action, NULL) || sigaltstack(&stack, NULL) ? CANNOT : RIGHT;
}

static int get_stack(int t)
{
    on_own_stack = 0;
    if (sigsetjmp(back, 1) == 0)
        *(volatile char *)(uintptr_t)(1 + t) = 1;
    return truth(on_own_stack);
}
