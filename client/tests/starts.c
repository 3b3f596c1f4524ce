/* Starts another program in every way that the C library knows, or is the program that is started.
 *
 * starts tell says what is in this process, and what numaestro has told it starts line WORD...
 * says how it was started: words, names, descriptors; ends with 7
 *   starts late FILE SECONDS            opens a library that brings OpenMP, and uses it
 *   starts together THREADS             in which each thread asks for the version of numaestro.h
 *   starts WAY WITH PROGRAM WORD...     starts the program and ends as it ends
 *
 * WAY is one of the names in `ways` below, or "thread:" and one of them: in a thread with the least
 * stack there may be; or "handler:" and one of them: in a handler of a signal, on a stack of its
 * own. WITH is what becomes of the environment: "kept", "empty" (the functions that take one get an
 * empty one, for the others `environ` is empty), "clear" (clearenv() first), "preload" (LD_PRELOAD
 * is another library), "off" (NUMAESTRO_OFF=1), "many" (10000 variables more). */
#include "check.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#ifdef _OPENMP
#include <omp.h>
#endif

extern char **environ;

/* What is here */

static int order_of_shim, order_of_runtime, objects;

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    objects++;
    if (strstr(info->dlpi_name, "libnumaestro_shim"))
        order_of_shim = objects;
    if (strstr(info->dlpi_name, "libgomp") || strstr(info->dlpi_name, "libomp"))
        order_of_runtime = objects;
    return 0;
}

static int is_mapped(const char *name)
{
    char line[8192];
    FILE *maps = fopen("/proc/self/maps", "r");
    int found = 0;
    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, name) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int tell(void)
{
    char *names[64];
    int count = 0;
    printf("stub:%s shim:%s told:", is_mapped("libnumaestro_preload") ? "yes" : "no", is_mapped("libnumaestro_shim") ? "yes" : "no");
    for (char **entry = environ; *entry && count < 64; entry++)
        if (!strncmp(*entry, "NUMAESTRO_", 10) && strncmp(*entry, "NUMAESTRO_CPUS_NOW=", 19) &&
            strncmp(*entry, "NUMAESTRO_OFF=", 14) && strncmp(*entry, "NUMAESTRO_DIR=", 14))
            names[count++] = strndup(*entry + 10, strcspn(*entry + 10, "="));
    qsort(names, (size_t)count, sizeof *names, compare);
    for (int i = 0; i < count; i++)
        printf("%s%s", i ? "," : "", names[i]);
    puts(count ? "" : "nothing");
    return fflush(stdout) != 0;
}

/* Runs before everything else of a program. */
static void at_first(int argc, char **argv, char **envp)
{
    static const char begun[] = "begun\n";
    (void)envp;
    if (argc > 1 && !strcmp(argv[1], "line") && write(1, begun, sizeof begun - 1) < 0)
        _exit(125);
}
__attribute__((section(".preinit_array"), used)) static void (*first)(int, char **, char **) = at_first;

/* Descriptors, arguments, names. */
static int line(int argc, char **argv)
{
    char name[32] = "", path[PATH_MAX] = "";
    for (int i = 0; i < argc; i++)
        printf("word %d <%s>\n", i, argv[i]);
    FILE *comm = fopen("/proc/self/comm", "r");
    if (!comm || !fgets(name, sizeof name, comm) || readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        check_fail("/proc/self: %m");
    fclose(comm);
    printf("comm %sexe %s\ninvoked %s\n", name, path, program_invocation_name);
    for (int fd = 0; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("descriptor %d\n", fd);
    printf("shim:%s\n", is_mapped("libnumaestro_shim") ? "yes" : "no");
    return fflush(stdout) ? 1 : 7;
}

#ifdef WITHOUT_LATE /* a static program opens none */
static int late(const char *file, int argc, char **argv)
{
    (void)argc, (void)argv, (void)look_at;
    check_fail("%s: not in this program", file);
    return 1;
}
#else
static __thread bool opens_regions;
static volatile sig_atomic_t strays; /* handlers that ran in another thread */

static void at_clock(int number)
{
    (void)number;
    strays += !opens_regions;
}

static void handle_clock(void)
{
    const struct itimerval often = {{0, 700}, {0, 700}};
    opens_regions = true;
    signal(SIGALRM, at_clock);
    setitimer(ITIMER_REAL, &often, NULL);
}

static int late(const char *file, int argc, char **argv)
{
    enum { N = 5000 };
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        check_fail("%s", dlerror());
    dl_iterate_phdr(look_at, NULL);
    printf("runtime:%s shim first:%s\n", order_of_runtime ? "yes" : "no",
           order_of_shim && order_of_shim < order_of_runtime ? "yes" : "no");
    fflush(stdout);
    long long (*sum)(int, int *) = (long long (*)(int, int *))(size_t)dlsym(library, "plugin_sum");
    int team = 0;
    sum(N, &team);
    handle_clock();
    while (check_going(argc - 2, argv + 2)) {
        check_equal("sum", sum(N, &team), (long long)N * (N - 1) / 2);
        check_saw(team);
        if (strays)
            check_fail("%ld signals came to another thread's data", (long)strays);
    }
    return check_end("late", (long long)N * (N - 1) / 2);
}
#endif

/* Ways */

static const char *program;
static char **words;
static char **passed;

static char *command_line(void)
{
    static char text[16384];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", program);
    for (char **word = words + 1; *word && used < sizeof text; word++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s", *word);
    return text;
}

static void by_execve(void) { execve(program, words, passed); }
static void by_execv(void) { execv(program, words); }
static void by_execvp(void) { execvp(program, words); }
static void by_execvpe(void) { execvpe(program, words, passed); }
static void by_execl(void) { execl(program, words[0], words[1], words[1] ? words[2] : NULL, (char *)NULL); }
static void by_execlp(void) { execlp(program, words[0], words[1], words[1] ? words[2] : NULL, (char *)NULL); }

static void by_execle(void)
{
    if (words[1] && words[2])
        execle(program, words[0], words[1], words[2], (char *)NULL, passed);
    else
        execle(program, words[0], words[1], (char *)NULL, passed);
}

static void by_fexecve(void)
{
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    fexecve(fd, words, passed);
}

static void by_execveat(void)
{
    int fd = open(program, O_PATH | O_CLOEXEC);
    execveat(fd, "", words, passed, AT_EMPTY_PATH);
}

static int await(pid_t child)
{
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int by_spawn(void)
{
    pid_t child = -1;
    errno = posix_spawn(&child, program, NULL, NULL, words, passed);
    return await(child);
}

static int by_spawnp(void)
{
    pid_t child = -1;
    errno = posix_spawnp(&child, program, NULL, NULL, words, passed);
    return await(child);
}

static int by_system(void)
{
    return system(command_line());
}

static int by_popen(void)
{
    char text[4096];
    FILE *pipe = popen(command_line(), "r");
    while (pipe && fgets(text, sizeof text, pipe))
        fputs(text, stdout);
    fflush(stdout);
    return pipe ? pclose(pipe) : -1;
}

static const struct way {
    const char *name;
    void (*exec)(void);  /* replaces this process: done in a child */
    int (*start)(void);
} ways[] = {
    {"execve", by_execve, NULL},     {"execv", by_execv, NULL},       {"execvp", by_execvp, NULL},
    {"execvpe", by_execvpe, NULL},   {"execl", by_execl, NULL},       {"execlp", by_execlp, NULL},
    {"execle", by_execle, NULL},     {"fexecve", by_fexecve, NULL},   {"execveat", by_execveat, NULL},
    {"posix_spawn", NULL, by_spawn}, {"posix_spawnp", NULL, by_spawnp}, {"system", NULL, by_system},
    {"popen", NULL, by_popen},
};

static int start_by(const struct way *way, int with_vfork)
{
    if (way->start)
        return way->start();
    pid_t child = with_vfork ? vfork() : fork();
    if (child == 0) {
        way->exec();
        _exit(126);
    }
    return await(child);
}

static const struct way *chosen;
static int with_vfork, result;

static void *in_thread(void *unused)
{
    (void)unused;
    result = start_by(chosen, with_vfork);
    return NULL;
}

static void in_handler(int signal)
{
    (void)signal;
    result = start_by(chosen, with_vfork);
}

static int start_in_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    if (pthread_create(&thread, &attributes, in_thread, NULL) || pthread_join(thread, NULL))
        check_fail("no thread: %m");
    return result;
}

/* What programs used to have before registers grew. */
static int start_in_handler(void)
{
    static char room[8192 + 4096];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1))
        check_fail("no handler: %m");
    return result;
}

static void surround(const char *with)
{
    static char *none[] = {NULL};
    passed = environ;
    if (!strcmp(with, "empty")) {
        environ = passed = none;
    } else if (!strcmp(with, "clear")) {
        clearenv();
        passed = environ ? environ : none;
    } else if (!strcmp(with, "preload")) {
        setenv("LD_PRELOAD", "libm.so.6", 1);
        passed = environ;
    } else if (!strcmp(with, "off")) {
        setenv("NUMAESTRO_OFF", "1", 1);
        passed = environ;
    } else if (!strcmp(with, "many")) {
        for (int i = 0; i < 10000; i++) {
            char name[32];
            snprintf(name, sizeof name, "VARIABLE_%d", i);
            setenv(name, "x", 1);
        }
        passed = environ;
    } else if (strcmp(with, "kept")) {
        check_fail("unknown surroundings %s", with);
    }
}

static int (*after(const char **way))(void)
{
    if (!strncmp(*way, "thread:", 7)) {
        *way += 7;
        return start_in_thread;
    }
    if (!strncmp(*way, "handler:", 8)) {
        *way += 8;
        return start_in_handler;
    }
    return NULL;
}

/* Many threads that ask at once, the first time */

#pragma weak numaestro_api_version
unsigned numaestro_api_version(void);

enum { TOGETHER_MOST = 64 };
static pthread_barrier_t all_here;
static unsigned answers[TOGETHER_MOST];

static void *ask(void *number)
{
    pthread_barrier_wait(&all_here);
    answers[(long)number] = numaestro_api_version ? numaestro_api_version() : 0;
    return NULL;
}

static int together(int threads)
{
    pthread_t asking[TOGETHER_MOST];
    if (threads < 1 || threads > TOGETHER_MOST)
        check_fail("1 to %d threads", TOGETHER_MOST);
    pthread_barrier_init(&all_here, NULL, (unsigned)threads);
    for (long i = 0; i < threads; i++)
        pthread_create(&asking[i], NULL, ask, (void *)i);
    for (long i = 0; i < threads; i++)
        pthread_join(asking[i], NULL);
    for (long i = 0; i < threads; i++)
        check_equal("answer to a thread", answers[i], answers[0]);
    printf("each heard %u\n", answers[0]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "together"))
        return together(atoi(argv[2]));
    if (argc == 2 && !strcmp(argv[1], "tell"))
        return tell();
    if (argc > 1 && !strcmp(argv[1], "line"))
        return line(argc, argv);
    if (argc > 3 && !strcmp(argv[1], "late"))
        return late(argv[2], argc, argv);
    if (argc < 4)
        check_fail("a way, the surroundings, a program");
    const char *way = argv[1];
    int (*start)(void) = after(&way);
    with_vfork = !strncmp(way, "vfork:", 6);
    way += 6 * with_vfork;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(ways[i].name, way))
            chosen = &ways[i];
    if (!chosen)
        check_fail("unknown way %s", way);
    program = argv[3];
    words = argv + 3;
    surround(argv[2]);
    dup2(0, 5);
    int status = start ? start() : start_by(chosen, with_vfork);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
