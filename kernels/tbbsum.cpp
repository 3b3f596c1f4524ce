// tbbsum.cpp - a oneTBB parallel_reduce in a loop: a program without OpenMP
// regions whose pool follows the library's own limits. The threads reported
// are the largest number seen inside one reduction at the same time.
// Checksum: the array that the reduction fills.
#include "kernel.h"

#include <atomic>
#include <memory>
#include <oneapi/tbb.h>
#include <vector>

static kernel_about describe()
{
    kernel_about about{};
    about.name = "tbbsum";
    about.what = "oneTBB's parallel_reduce in a loop; reports the concurrency seen.";
    about.size_unit = "elements";
    about.size = 1 << 19;
    about.size_min = 1;
    about.size_max = 1L << 32;
    about.reps_unit = "reductions";
    about.reps = 300;
    return about;
}

// How many threads are inside the body, and the most there were.
struct Presence {
    std::atomic<int> now{0}, most{0};
    void enter()
    {
        int here = ++now, seen = most.load();
        while (seen < here && !most.compare_exchange_weak(seen, here)) {}
    }
    void leave() { --now; }
};

static uint64_t sum_once(std::vector<uint64_t> &data, Presence &presence)
{
    using Range = tbb::blocked_range<size_t>;
    return tbb::parallel_reduce(
        Range(0, data.size(), 4096), uint64_t{0},
        [&](const Range &range, uint64_t sum) {
            presence.enter();
            for (size_t i = range.begin(); i != range.end(); i++) {
                data[i] += kernel_hash(i);
                sum += data[i];
            }
            presence.leave();
            return sum;
        },
        [](uint64_t a, uint64_t b) { return a + b; });
}

int main(int argc, char **argv)
{
    kernel_about about = describe();
    kernel_args args = kernel_open(&about, argc, argv);
    std::unique_ptr<tbb::global_control> limit;
    if (args.threads > 0)
        limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                      static_cast<size_t>(args.threads));
    std::vector<uint64_t> data(static_cast<size_t>(args.size));
    uint64_t expected = 0, wrong = 0;
    for (size_t i = 0; i < data.size(); i++)
        expected += kernel_hash(i);
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++) {
        Presence presence;
        uint64_t sum = sum_once(data, presence);
        wrong += sum != expected * static_cast<uint64_t>(done + 1);
        kernel_note_team(presence.most);
    }
    kernel_end();
    bool ok = kernel_expect(wrong == 0, "every sum was right");
    return kernel_report(done, kernel_checksum(0, data.data(), data.size() * sizeof data[0]), ok);
}
