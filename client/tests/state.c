/* A library that keeps a number for each thread. */
long long *state_of_this_thread(void);

static __thread long long state;

long long *state_of_this_thread(void)
{
    return &state;
}
