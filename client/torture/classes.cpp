/* What C++ adds: exceptions in regions, objects of each thread with constructors and destructors,
 * std::thread as an opener, statics of functions, reductions over classes, and loops over
 * iterators.
 */
#include "torture.h"
#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/* Thrown and caught in one member, through frames and over barriers. */
void thrown_in(int me, int round)
{
    if ((me + round) % 3 == 0)
        throw std::runtime_error("member " + std::to_string(me));
    if ((me + round) % 3 == 1)
        throw me;
}

void exceptions()
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int r = 0; r < 20; r++) {
            try {
#pragma omp barrier
                thrown_in(me, r);
                *slot(me) = mixed(*slot(me), 1);
            } catch (const std::exception &error) {
                *slot(me) = mixed(*slot(me), std::string(error.what()).size());
            } catch (int number) {
                *slot(me) = mixed(*slot(me), static_cast<uint64_t>(number));
            }
#pragma omp barrier
        }
    }
    note_slots(team_size());
}

/* Barriers inside handlers: each member has its own exception in flight meanwhile, and another one
 * nested in it. */
void exceptions_over_barriers()
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int r = 0; r < 12; r++) {
            try {
                throw std::vector<int>(static_cast<size_t>(me % 9 + 1), r);
            } catch (const std::vector<int> &kept) {
#pragma omp barrier
                try {
                    throw std::out_of_range(std::to_string(me * r));
                } catch (const std::exception &inner) {
#pragma omp barrier
                    *slot(me) = mixed(*slot(me), std::string(inner.what()).size() + static_cast<uint64_t>(std::uncaught_exceptions()));
                }
                *slot(me) = mixed(*slot(me), kept.size() * 100 + static_cast<uint64_t>(kept[0]));
            }
        }
    }
    note_slots(team_size());
}

/* An exception leaves a member for the sequential code as a pointer. */
void carried_out()
{
    for (int r = 0; r < 5; r++) {
        std::exception_ptr found;
#pragma omp parallel
        {
            try {
                if (omp_get_thread_num() == r % omp_get_num_threads())
                    throw std::runtime_error(std::string(static_cast<size_t>(r + 3), 'x'));
            } catch (...) {
                found = std::current_exception();
            }
        }
        try {
            std::rethrow_exception(found);
        } catch (const std::runtime_error &error) {
            note(std::string(error.what()).size());
        }
    }
}

std::atomic<int> made, gone;

struct counted {
    std::vector<uint64_t> kept;
    counted() : kept(10, 7) { made++; }
    ~counted() { gone++; }
};

thread_local counted own;

/* Each member's object is made once, and keeps what it holds from region to region. */
void thread_local_objects()
{
#pragma omp parallel
    own.kept.assign(10, static_cast<uint64_t>(omp_get_thread_num()));
    int before = made;
    for (int r = 0; r < 10; r++) {
#pragma omp parallel
        {
            own.kept[static_cast<size_t>(r)] += static_cast<uint64_t>(r);
#pragma omp barrier
            *slot(omp_get_thread_num()) = std::accumulate(own.kept.begin(), own.kept.end(), uint64_t{1}, mixed);
        }
    }
    note(static_cast<uint64_t>(made - before));
    note_slots(team_size());
}

/* Objects of a thread that ends are destroyed then. */
void destroyed_with_their_thread()
{
    for (int r = 0; r < 4; r++) {
        int before_made = made, before_gone = gone;
        std::thread([] { own.kept[0]++; }).join();
        note(static_cast<uint64_t>(made - before_made));
        note(static_cast<uint64_t>(gone - before_gone));
    }
}

uint64_t region_of(int size)
{
    uint64_t sum = 0;
#pragma omp parallel num_threads(size) reduction(+ : sum)
    {
        sum += static_cast<uint64_t>(omp_get_thread_num() + 100 * omp_get_num_threads());
#pragma omp barrier
#pragma omp for
        for (int i = 0; i < 20; i++)
            sum += static_cast<uint64_t>(i);
    }
    return sum;
}

/* Threads that open regions and end, one after the other and at the same time. */
void thread_openers()
{
    int size = team_size() > 8 ? 8 : team_size();
    for (int r = 0; r < 3; r++) {
        uint64_t sum = 0;
        std::thread([&] { sum = region_of(size); }).join();
        note(sum);
        auto one = std::async(std::launch::async, region_of, 2), other = std::async(std::launch::async, region_of, 3);
        note(region_of(team_size()));
        note(one.get());
        note(other.get());
    }
}

struct once {
    std::unique_ptr<std::vector<uint64_t>> data;
    once() : data(new std::vector<uint64_t>(100))
    {
        for (size_t i = 0; i < data->size(); i++)
            (*data)[i] = work(i, 100);
    }
};

const once &the_one()
{
    static once it;
    return it;
}

/* All members meet a static that has to be made, and a std::call_once. */
void made_once()
{
    std::once_flag flag;
    int calls = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        *slot(me) = (*the_one().data)[static_cast<size_t>(me % 100)];
        std::call_once(flag, [&] { calls++; });
    }
    note(static_cast<uint64_t>(calls));
    note_slots(team_size());
}

struct histogram {
    std::vector<uint64_t> bins = std::vector<uint64_t>(17);
    histogram &operator+=(const histogram &other)
    {
        for (size_t i = 0; i < bins.size(); i++)
            bins[i] += other.bins[i];
        return *this;
    }
};

#pragma omp declare reduction(merge : histogram : omp_out += omp_in) initializer(omp_priv = histogram())

void reductions_of_classes()
{
    for (int r = 0; r < 4; r++) {
        histogram all;
#pragma omp parallel for reduction(merge : all) schedule(dynamic, 9)
        for (int i = 0; i < 1000; i++)
            all.bins[work(static_cast<uint64_t>(i + r), 1) % 17]++;
        for (uint64_t bin : all.bins)
            note(bin);
    }
}

void iterators_and_strings()
{
    std::vector<std::string> word(200);
#pragma omp parallel for schedule(guided)
    for (auto it = word.begin(); it < word.end(); ++it) {
        std::ostringstream text;
        text << "word " << (it - word.begin()) << " " << 1.0 / static_cast<double>(1 + (it - word.begin()));
        *it = text.str();
    }
    for (const std::string &text : word)
        for (char c : text)
            note(static_cast<uint64_t>(c));
}

/* Members wait for each other with what the standard library has. */
void waiting()
{
    std::mutex mutex;
    std::condition_variable changed;
    int turn = 0;
    uint64_t order = 0;
    std::vector<std::mt19937_64> random;
    for (int i = 0; i < team_size(); i++)
        random.emplace_back(static_cast<unsigned>(i));
#pragma omp parallel
    for (int r = 0; r < fewer(60); r++) {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return turn == r * all + me; });
        order = mixed(order, random[static_cast<size_t>(me)]());
        turn++;
        changed.notify_all();
    }
    note(order);
}

} // namespace

int main(int argc, char **argv)
{
    static const part parts[] = {
        {"exceptions", exceptions}, {"in-handlers", exceptions_over_barriers}, {"carried", carried_out},
        {"thread-local", thread_local_objects}, {"destroyed", destroyed_with_their_thread}, {"openers", thread_openers},
        {"once", made_once}, {"classes", reductions_of_classes}, {"iterators", iterators_and_strings}, {"waiting", waiting},
    };
    return TORTURE(parts);
}
