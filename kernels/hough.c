/* hough.c - Hough transform of an image of which 90 % are edge points (HOUGH of
 * Brecht 1993 and 1997): long regions that read shared tables and one image.
 * A direction's votes belong to one iteration, so no two threads share one.
 * Checksum: the accumulator. */
#include "kernel.h"

#include <math.h>
#include <omp.h>

static const struct kernel_about about = {
    .name = "hough", .what = "Hough transform of a dense image, one region per transform.",
    .size_unit = "image points per side", .size = 192, .size_min = 8, .size_max = 8192,
    .reps_unit = "transforms", .reps = 15,
};

enum { DIRECTIONS = 180, DENSITY_PERCENT = 90 };

struct hough {
    long n, distances;     /* distances from the origin: -n*sqrt(2) to n*sqrt(2) */
    unsigned char *image;  /* n x n, 1 for an edge point */
    double *cosine, *sine;
    uint32_t *votes;       /* DIRECTIONS x distances */
};

static struct hough hough_new(long n)
{
    struct hough h = {.n = n, .distances = 2 * (long)ceil(1.5 * (double)n) + 1};
    h.image = kernel_alloc((size_t)(n * n), 1);
    h.cosine = kernel_alloc(DIRECTIONS, sizeof *h.cosine);
    h.sine = kernel_alloc(DIRECTIONS, sizeof *h.sine);
    h.votes = kernel_alloc((size_t)(DIRECTIONS * h.distances), sizeof *h.votes);
    for (long i = 0; i < n * n; i++)
        h.image[i] = kernel_hash((uint64_t)i) % 100 < DENSITY_PERCENT;
    for (int d = 0; d < DIRECTIONS; d++) {
        double angle = 3.14159265358979323846 * d / DIRECTIONS;
        h.cosine[d] = cos(angle);
        h.sine[d] = sin(angle);
    }
    return h;
}

static void vote(const struct hough *h)
{
    double middle = (double)(h->distances / 2) + 0.5;
#pragma omp parallel for schedule(static)
    for (int d = 0; d < DIRECTIONS; d++) {
        if (d == 0)
            kernel_note_team(omp_get_num_threads());
        uint32_t *votes = h->votes + d * h->distances;
        for (long y = 0; y < h->n; y++)
            for (long x = 0; x < h->n; x++)
                if (h->image[y * h->n + x])
                    votes[(long)((double)x * h->cosine[d] + (double)y * h->sine[d] + middle)]++;
    }
}

/* True if every edge point voted once per direction and transform, and
 * direction 0 counted the columns (compared modulo 2^32, as the votes are). */
static bool verify(const struct hough *h, long done)
{
    uint32_t points = 0;
    bool ok = true;
    for (long i = 0; i < h->n * h->n; i++)
        points += h->image[i];
    for (int d = 0; ok && d < DIRECTIONS; d++) {
        uint32_t sum = 0;
        for (long k = 0; k < h->distances; k++)
            sum += h->votes[d * h->distances + k];
        ok = kernel_expect(sum == points * (uint32_t)done, "every point voted in every direction");
    }
    for (long x = 0; ok && x < h->n; x++) {
        uint32_t column = 0;
        for (long y = 0; y < h->n; y++)
            column += h->image[y * h->n + x];
        ok = kernel_expect(h->votes[h->distances / 2 + x] == column * (uint32_t)done,
                           "direction 0 counts the columns");
    }
    return ok;
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct hough h = hough_new(args.size);
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++)
        vote(&h);
    kernel_end();
    uint64_t sum = kernel_checksum(0, h.votes, (size_t)(DIRECTIONS * h.distances) * sizeof *h.votes);
    return kernel_report(done, sum, verify(&h, done));
}
