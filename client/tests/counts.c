/* A short computation that says what it was told: its result, and the size of its teams, on which
 * the result depends in the last digits. Built with OpenMP and without.
 *
 * Arguments: the number of rounds; "seal" for a program that forbids itself all system calls but a
 * few before it computes, as programs in sandboxes do. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { N = 20000, TEAM_MAX = 1024 };
static double values[N], part[TEAM_MAX];

static const int allowed[] = {
    SYS_read,   SYS_write,      SYS_close,        SYS_fstat,        SYS_newfstatat, SYS_lseek,  SYS_mmap,
    SYS_munmap, SYS_mprotect,   SYS_brk,          SYS_rt_sigreturn, SYS_rt_sigprocmask,         SYS_rt_sigaction,
    SYS_exit,   SYS_exit_group, SYS_clock_gettime, SYS_getrandom,   SYS_madvise,    SYS_mremap, SYS_futex,
    SYS_clone,  SYS_clone3,     SYS_set_robust_list, SYS_rseq,      SYS_sched_yield, SYS_gettid, SYS_getpid,
    SYS_sched_getaffinity,      SYS_clock_nanosleep, SYS_nanosleep, SYS_tgkill,     SYS_prlimit64,
    SYS_set_tid_address,        SYS_getrusage,
};

static void seal(void)
{
    enum { COUNT = sizeof allowed / sizeof *allowed };
    struct sock_filter filter[2 * COUNT + 2];
    unsigned short n = 0;
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < COUNT; i++) {
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        fprintf(stderr, "no filter: %s\n", strerror(errno));
        exit(2);
    }
}

static void round_of(int round)
{
#ifdef _OPENMP
#pragma omp parallel
    {
        double sum = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            sum += values[i] = values[i] * 0.999999 + 1e-9 * round;
        part[omp_get_thread_num()] += sum;
    }
#else
    for (int i = 0; i < N; i++)
        part[0] += values[i] = values[i] * 0.999999 + 1e-9 * round;
#endif
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100, team = 1;
    double sum = 0;
    if (argc > 2 && !strcmp(argv[2], "seal"))
        seal();
    for (int i = 0; i < N; i++)
        values[i] = 1.0 / (i + 1);
    for (int r = 0; r < rounds; r++)
        round_of(r);
    for (int t = 0; t < TEAM_MAX; t++)
        sum += part[t];
#ifdef _OPENMP
    team = omp_get_max_threads();
#endif
    printf("%.17g by %d\n", sum, team);
    fflush(stdout);
    return 3;
}
