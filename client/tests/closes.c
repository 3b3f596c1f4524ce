/* A program that closes every descriptor it did not open, and uses the numbers for files of its
 * own. With "daemon" it first becomes a daemon in the classical way (fork, setsid, fork); the
 * harness waits until the daemon's standard output ends. A descriptor of the shim would be closed
 * or overwritten here. */
#include "check.h"
#include <fcntl.h>
#include <omp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { FIRST = 3, LAST = 1024, FILES = 40, BLOCK = 4096, N = 5000 };
static int file[FILES];
static char block[BLOCK], back[BLOCK];

static void regions(int times)
{
    for (int r = 0; r < times; r++) {
        long long sum = 0;
        int members = 0;
#pragma omp parallel reduction(+ : sum, members)
        {
            members++;
#pragma omp for
            for (int i = 0; i < N; i++)
                sum += i;
        }
        check_saw(members);
        check_equal("sum", sum, (long long)N * (N - 1) / 2);
    }
}

static void open_files(void)
{
    for (int f = 0; f < FILES; f++) {
        char name[] = P_tmpdir "/closes-XXXXXX";
        file[f] = mkstemp(name);
        if (file[f] < 0)
            check_fail("mkstemp: %m");
        unlink(name);
        check_equal("lowest free descriptor", file[f], FIRST + f);
    }
}

static void check_files(int round)
{
    struct stat about;
    for (int f = 0; f < FILES; f++) {
        memset(block, 'a' + (round + f) % 26, BLOCK);
        if (pwrite(file[f], block, BLOCK, 0) != BLOCK)
            check_fail("pwrite to descriptor %d: %m", file[f]);
    }
    regions(5);
    for (int f = 0; f < FILES; f++) {
        memset(block, 'a' + (round + f) % 26, BLOCK);
        if (pread(file[f], back, BLOCK, 0) != BLOCK || memcmp(block, back, BLOCK))
            check_fail("descriptor %d holds something else", file[f]);
        if (fstat(file[f], &about) || about.st_size != BLOCK)
            check_fail("descriptor %d has %lld bytes", file[f], (long long)about.st_size);
        check_equal("offset", lseek(file[f], 0, SEEK_CUR), 0);
    }
}

static void become_daemon(void)
{
    pid_t child = fork();
    if (child > 0) {
        int status;
        if (waitpid(child, &status, 0) != child || status)
            check_fail("the daemon's parent ended with %d", status);
        _exit(0);
    }
    if (child < 0 || setsid() < 0)
        check_fail("daemon: %m");
    child = fork();
    if (child > 0)
        _exit(0);
    if (child < 0 || chdir("/"))
        check_fail("daemon: %m");
    umask(0);
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[2], "daemon"))
        become_daemon();
    else
        regions(20);
    for (int round = 0; check_going(argc, argv); round++) {
        for (int d = FIRST; d < LAST; d++)
            close(d);
        open_files();
        check_files(round);
        check_files(round + 1);
    }
    return check_end("closes", (long long)N * (N - 1) / 2);
}
