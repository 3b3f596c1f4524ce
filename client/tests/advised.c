/* Asks what a program would get now, without being attached itself. Prints "advised CODE COUNT
 * THREADS FLAGS POSITION" and the processors, one a word, then the reason on a line of its own.
 * Arguments: processors, minimum, bytes; 0 says nothing. If the library is not loaded it prints
 * "bare".
 */
#include "../include/numaestro.h"

#include <stdio.h>
#include <stdlib.h>

#pragma weak numaestro_advise

int main(int argc, char **argv)
{
    if (!numaestro_advise) {
        puts("bare");
        return 0;
    }
    struct numaestro_advice_query query = {.struct_size = sizeof query};
    query.processors = argc > 1 ? (uint32_t)atol(argv[1]) : 0;
    query.min = argc > 2 ? (uint32_t)atol(argv[2]) : 0;
    query.memory = argc > 3 ? (uint64_t)atoll(argv[3]) : 0;
    struct numaestro_advice advice = {.struct_size = sizeof advice};
    int code = numaestro_advise(&query, &advice);
    printf("advised %d %u %u %u %u", code, advice.count, advice.threads, advice.flags, advice.position);
    for (unsigned i = 0; i < NUMAESTRO_ADVICE_CPU_WORDS * 64; i++)
        if (advice.cpus[i / 64] >> i % 64 & 1)
            printf(" %u", i);
    printf("\n%s\n", advice.why);
    return 0;
}
