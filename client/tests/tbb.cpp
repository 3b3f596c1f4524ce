// oneTBB: an integer parallel_reduce, an array in which each element is written once, and a task group.
//
//     tbb [SECONDS [THREADS]]
//
// With "-" for SECONDS it works until its standard input ends.
// At least THREADS threads are to take part: it waits a little before it starts any. At the end it
// waits for the end of all workers.
//
// Each of its threads must have the program's descriptors, signal mask and name.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_group.h>
#include <unistd.h>
#include <vector>

static char program[16];
static std::atomic<int> threads{0};

static void look()
{
    static thread_local bool looked = false;
    if (looked)
        return;
    looked = true;
    threads++;
    sigset_t mask;
    char name[16];
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    prctl(PR_GET_NAME, name);
    const char *strange = fcntl(STDOUT_FILENO, F_GETFD) < 0      ? "descriptors"
                          : sigismember(&mask, SIGTERM)          ? "signal mask"
                          : std::strcmp(name, program) != 0      ? "name"
                                                                 : nullptr;
    if (strange) {
        std::fprintf(stderr, "wrong: a thread with another %s\n", strange);
        _exit(1);
    }
}

static double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

static long long fib(int n)
{
    if (n < 8)
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    long long a = 0, b = 0;
    tbb::task_group group;
    group.run([&] { a = fib(n - 1); });
    group.run([&] { b = fib(n - 2); });
    group.wait();
    return a + b;
}

int main(int argc, char **argv)
{
    const int n = 100000, least = argc > 2 ? std::atoi(argv[2]) : 1;
    prctl(PR_GET_NAME, program);
    if (least > 1)
        usleep(700 * 1000);
    const bool told = argc > 1 && std::strcmp(argv[1], "-") == 0;
    const double until = now() + (argc > 1 ? std::strtod(argv[1], nullptr) : 1.0);
    std::vector<int> cell(n, 0);
    tbb::task_scheduler_handle handle{tbb::attach{}};
    int rounds = 0;
    bool over = false;
    do {
        rounds++;
        tbb::parallel_for(0, n, [&](int i) {
            look();
            cell[std::size_t(i)]++;
        });
        long long sum = tbb::parallel_reduce(
            tbb::blocked_range<int>(0, n), 0LL,
            [&](const tbb::blocked_range<int> &range, long long part) {
                for (int i = range.begin(); i < range.end(); i++)
                    part += cell[std::size_t(i)];
                return part;
            },
            [](long long x, long long y) { return x + y; });
        if (sum != (long long)n * rounds || fib(18) != 2584) {
            std::fprintf(stderr, "wrong: sum %lld in round %d\n", sum, rounds);
            return 1;
        }
        pollfd input = {STDIN_FILENO, POLLIN, 0};
        over = told ? poll(&input, 1, 0) > 0 : now() >= until;
    } while (!over);
    if (threads < least) {
        std::fprintf(stderr, "wrong: %d threads took part\n", threads.load());
        return 1;
    }
    if (!tbb::finalize(handle, std::nothrow)) {
        std::fprintf(stderr, "wrong: its workers do not end\n");
        return 1;
    }
    std::printf("tbb %d\n", n);
    return 0;
}
