// Prints the number of processors that the standard library of C++ says.
#include <cstdio>
#include <thread>

int main()
{
    std::printf("%u\n", std::thread::hardware_concurrency());
}
