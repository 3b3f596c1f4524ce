/* neural.c - back-propagation in a network of three layers of 511 units and a
 * bias (NEURAL of Brecht 1993 and 1997), single precision: five synchronous
 * phases per pattern, each a region of 110 to 170 us.
 * The original's many system calls are not imitated.
 * Checksum: all weights. */
#include "kernel.h"

#include <math.h>
#include <omp.h>

static const struct kernel_about about = {
    .name = "neural", .what = "Back-propagation in a three-layer network, five regions per pattern.",
    .size_unit = "units per layer", .size = 511, .size_min = 15, .size_max = 8191,
    .reps_unit = "presentations of 4 patterns", .reps = 40,
};

enum { PATTERNS = 4, BLOCK = 16 };
static const float rate = 0.05F;

/* Vectors and rows have size + 1 entries; the last input of each is the bias, 1. */
struct network {
    long units, width;
    float *input[PATTERNS], *target[PATTERNS];
    float *first, *second;              /* weights, units x width: row = unit */
    float *hidden, *output;             /* activations */
    float *hidden_delta, *output_delta;
    long *visits;                       /* per unit: regions, so that a lost one shows */
};

static struct network network_new(long units)
{
    struct network net = {.units = units, .width = units + 1};
    size_t width = (size_t)net.width, weights = (size_t)units * width;
    float **vector[] = {&net.hidden, &net.output, &net.hidden_delta, &net.output_delta};
    for (int v = 0; v < 4; v++)
        *vector[v] = kernel_alloc(width, sizeof **vector[v]);
    net.visits = kernel_alloc(width, sizeof *net.visits);
    net.first = kernel_alloc(weights, sizeof *net.first);
    net.second = kernel_alloc(weights, sizeof *net.second);
    float spread = 1.0F / sqrtf((float)net.width);
    for (size_t i = 0; i < weights; i++) {
        net.first[i] = spread * ((float)kernel_uniform(2 * i) - 0.5F);
        net.second[i] = spread * ((float)kernel_uniform(2 * i + 1) - 0.5F);
    }
    for (int p = 0; p < PATTERNS; p++) {
        net.input[p] = kernel_alloc(width, sizeof *net.input[p]);
        net.target[p] = kernel_alloc(width, sizeof *net.target[p]);
        for (long i = 0; i < units; i++) {
            uint64_t bits = kernel_hash((uint64_t)(p * net.width + i) + 1000003);
            net.input[p][i] = (float)(bits & 1);
            net.target[p][i] = bits & 2 ? 0.9F : 0.1F;
        }
        net.input[p][units] = 1;
    }
    net.hidden[units] = 1;
    return net;
}

static float activation(const float *weights, const float *in, long width)
{
    float sum = 0;
    for (long i = 0; i < width; i++)
        sum += weights[i] * in[i];
    return 1.0F / (1.0F + expf(-sum));
}

static void forward(const struct network *net, const float *weights, const float *in, float *out)
{
#pragma omp parallel for schedule(static)
    for (long u = 0; u < net->units; u++) {
        if (u == 0)
            kernel_note_team(omp_get_num_threads());
        out[u] = activation(weights + u * net->width, in, net->width);
        net->visits[u]++;
    }
}

/* Errors at the output, weighted back to the hidden layer block by block of its
 * units, so that the weights are read along their rows. */
static void back(const struct network *net, const float *target)
{
    for (long u = 0; u < net->units; u++)
        net->output_delta[u] = (target[u] - net->output[u]) * net->output[u] * (1 - net->output[u]);
#pragma omp parallel for schedule(static)
    for (long block = 0; block < net->units; block += BLOCK) {
        if (block == 0)
            kernel_note_team(omp_get_num_threads());
        float sum[BLOCK] = {0};
        long count = net->units - block < BLOCK ? net->units - block : BLOCK;
        for (long u = 0; u < net->units; u++)
            for (long j = 0; j < count; j++)
                sum[j] += net->second[u * net->width + block + j] * net->output_delta[u];
        for (long j = 0; j < count; j++) {
            float h = net->hidden[block + j];
            net->hidden_delta[block + j] = h * (1 - h) * sum[j];
            net->visits[block + j]++;
        }
    }
}

static void learn(const struct network *net, float *weights, const float *delta, const float *in)
{
#pragma omp parallel for schedule(static)
    for (long u = 0; u < net->units; u++) {
        if (u == 0)
            kernel_note_team(omp_get_num_threads());
        float step = rate * delta[u];
        for (long i = 0; i < net->width; i++)
            weights[u * net->width + i] += step * in[i];
        net->visits[u]++;
    }
}

static void present(const struct network *net, int p)
{
    forward(net, net->first, net->input[p], net->hidden);
    forward(net, net->second, net->hidden, net->output);
    back(net, net->target[p]);
    learn(net, net->second, net->output_delta, net->hidden);
    learn(net, net->first, net->hidden_delta, net->input[p]);
}

/* The squared error over all patterns, computed by one thread. */
static double squared_error(const struct network *net)
{
    double error = 0;
    for (int p = 0; p < PATTERNS; p++) {
        for (long u = 0; u < net->units; u++)
            net->hidden[u] = activation(net->first + u * net->width, net->input[p], net->width);
        for (long u = 0; u < net->units; u++) {
            double out = (double)activation(net->second + u * net->width, net->hidden, net->width);
            error += (out - (double)net->target[p][u]) * (out - (double)net->target[p][u]);
        }
    }
    return error;
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct network net = network_new(args.size);
    double before = squared_error(&net);
    long done = 0;

    kernel_begin();
    for (; kernel_more(done); done++)
        for (int p = 0; p < PATTERNS; p++)
            present(&net, p);
    kernel_end();

    bool ok = true;
    for (long u = 0; ok && u < net.units; u++)
        ok = kernel_expect(net.visits[u] == 5 * PATTERNS * done, "every unit was in every region");
    ok &= kernel_expect(squared_error(&net) < before, "the error fell");
    size_t bytes = (size_t)(net.units * net.width) * sizeof *net.first;
    uint64_t sum = kernel_checksum(kernel_checksum(0, net.first, bytes), net.second, bytes);
    return kernel_report(done, sum, ok);
}
