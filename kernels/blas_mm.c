/* blas_mm.c - matrix products by the dgemm of the CBLAS it is linked with: a
 * library with threads of its own, which this program does not steer. The
 * threads reported are those of the process after each product.
 * Checksum: the accumulated product (of integers, so exact in any order). */
#define _DEFAULT_SOURCE
#include "product.h"

#include <cblas.h>
#include <dirent.h>

static const struct kernel_about about = {
    .name = "blas_mm", .what = "C += A*B by a library's dgemm.",
    .size_unit = "rows and columns", .size = 500, .size_min = 4, .size_max = 20000,
    .reps_unit = "products", .reps = 20,
};

/* Only OpenBLAS has this function; null with another library. */
extern void openblas_set_num_threads(int) __attribute__((weak));

static int threads_of_process(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL)
        return 1;
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

int main(int argc, char **argv)
{
    struct kernel_args args = kernel_open(&about, argc, argv);
    struct product m = product_new(args.size);
    int n = (int)m.n;
    long done = 0;
    if (args.threads > 0 && openblas_set_num_threads != NULL)
        openblas_set_num_threads(args.threads);

    kernel_begin();
    for (; kernel_more(done); done++) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, m.a, n, m.b, n, 1.0,
                    m.c, n);
        kernel_note_team(threads_of_process());
    }
    kernel_end();
    return kernel_report(done, product_checksum(&m), product_verify(&m, done));
}
