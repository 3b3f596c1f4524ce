/* Memory and streams that members share: blocks that one allocates and another frees, and output
 * from all of them. */
#include "torture.h"
#include <malloc.h>

/* Blocks of all sizes go to the next member, which checks and frees them. */
static void handed_on(void)
{
    static unsigned char *block[TORTURE_THREADS][16];
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int r = 0; r < 10; r++) {
            for (int i = 0; i < 16; i++) {
                size_t size = 1 + work((uint64_t)(me * 1000 + r * 16 + i), 1) % (i == 15 ? 200000 : 3000);
                block[me][i] = malloc(size);
                memset(block[me][i], me + i, size);
            }
#pragma omp barrier
            int from = (me + 1) % all;
            for (int i = 0; i < 16; i++) {
                *slot(me) = mixed(*slot(me), block[from][i][0]);
                block[from][i] = i % 4 == 2 ? realloc(block[from][i], 5000) : block[from][i];
                *slot(me) = mixed(*slot(me), block[from][i][0]);
                free(block[from][i]);
            }
#pragma omp barrier
        }
    }
    note_slots(team_size());
}

static void storms(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        void *kept[32] = {NULL};
        for (int r = 0; r < fewer(20000) + 50; r++) {
            int at = (int)(work((uint64_t)(r + me), 1) % 32);
            free(kept[at]);
            kept[at] = r % 5 ? malloc((size_t)(1 + r % 700)) : aligned_alloc(64, 64 * (size_t)(1 + r % 9));
            *(char *)kept[at] = (char)r;
            if (r % 50 == 0) {
#pragma omp barrier
            }
        }
        for (int i = 0; i < 32; i++) {
            *slot(me) += kept[i] != NULL;
            free(kept[i]);
        }
#pragma omp barrier
#pragma omp single
        malloc_trim(0);
    }
    note_slots(team_size());
}

/* Lines of all members in one stream: their order does not matter, but each is whole. */
static void streams(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        wrong("no stream");
#pragma omp parallel
    for (int r = 0; r < 12; r++) {
        fprintf(stream, "member %d says %llu\n", omp_get_thread_num(), (unsigned long long)work((uint64_t)r, 1));
        if (r % 4 == 0) {
#pragma omp barrier
            flockfile(stream);
            fputs("two ", stream);
            fputs("parts\n", stream);
            funlockfile(stream);
        }
    }
    fclose(stream);
    uint64_t sum = 0, lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        uint64_t one = 0;
        for (char *c = line; *c; c++)
            one = mixed(one, (uint64_t)*c);
        sum += one;
        lines++;
    }
    free(text);
    note(sum);
    note(lines);
}

static void files(void)
{
    FILE *file = tmpfile();
    uint64_t bytes = 0, sum = 0;
    if (!file)
        wrong("no file");
#pragma omp parallel
    {
        char text[100];
        for (int r = 0; r < 10; r++) {
            int length = snprintf(text, sizeof text, "%d %.17g %s\n", omp_get_thread_num(), 1.0 / (r + 3), strerror(r));
            fwrite(text, 1, (size_t)length, file);
#pragma omp barrier
        }
    }
    rewind(file);
    for (int c; (c = getc(file)) != EOF; bytes++)
        sum += (uint64_t)c * (uint64_t)c;
    fclose(file);
    note(bytes);
    note(sum);
}

/* Functions of the library with a state for each thread. */
static void library_state(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        unsigned seed = (unsigned)me;
        char text[64], *rest = NULL;
        time_t when = 86400 * (me + 1);
        struct tm parts;
        snprintf(text, sizeof text, "a%d b%d c%d", me, me + 1, me + 2);
        char *word = strtok_r(text, " ", &rest);
        for (int r = 0; r < 3; r++) {
#pragma omp barrier
            *slot(me) = mixed(*slot(me), (uint64_t)rand_r(&seed));
            *slot(me) = mixed(*slot(me), word ? (uint64_t)word[1] : 0);
            word = strtok_r(NULL, " ", &rest);
            gmtime_r(&when, &parts);
            *slot(me) = mixed(*slot(me), (uint64_t)parts.tm_mday);
        }
    }
    note_slots(team_size());
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"handed-on", handed_on}, {"storms", storms}, {"streams", streams}, {"files", files}, {"library", library_state},
    };
    return TORTURE(parts);
}
