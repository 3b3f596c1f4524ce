/* plugin.c - numaestro in Slurm: `srun --numaestro[=POLICY|off][,malleable:MIN-MAX]`, as well for
 * sbatch and salloc.
 *
 *     where a command of Slurm runs             on each node, in the job's slurmstepd
 *     take_option: refuses mistakes             take_option: takes the option again
 *                                               init_post_opt (root): tells the manager of the step
 *                                               task_init (the user): gives the task the variables
 *                                                 with which programs come to the manager
 *
 * The manager sees the end of a step by the end of its slurmstepd, so nothing has to be told then,
 * and a slurmstepd that is killed leaves nothing behind.
 *
 * No job waits or fails because of this plugin: the plugin says its trouble, and the job runs as it
 * would without. */
#include "choice.h"
#include "manager.h"

/* Slurm looks for what this header declares; everything else stays inside. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>
SPANK_PLUGIN(numaestro, 1);
#pragma GCC visibility pop

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAID_MAX 65536      /* bytes that the prolog says, at most */
#define PROLOG_MS 2000      /* longest time that it takes */
#define CHECK_MS 5000       /* the same for the check of a policy */
#define STEP_BATCH 0xfffffffbu
#define STEP_EXTERN 0xfffffffcu
#define STEP_INTERACTIVE 0xfffffffau

/* What the administrator says in plugstack.conf. */
static char command[PATH_MAX] = "numaestro";
static char directory[PATH_MAX] = "/run/numaestro";

static struct choice choice;
/* Why the step runs without the manager, for its user; empty: it does not. */
static char trouble[512];

/* The node's manager knows the step. */
static bool registered;

/* Runs the command with words and an environment, its output in a pipe if `out` is given. Gives
 * the child; -1: there is none. */
static pid_t start(char *const words[], char *const environment[], int *out)
{
    int ends[2] = {-1, -1};
    if (out && pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(out ? ends[1] : null, STDOUT_FILENO);
        signal(SIGPIPE, SIG_DFL);
        execvpe(words[0], words, environment);
        _exit(127);
    }
    if (out) {
        close(ends[1]);
        *out = ends[0];
        if (child < 0)
            close(ends[0]);
    }
    return child;
}

/* The exit code of a child. One that has not ended in time is killed, and gives -1; where even that
 * takes long, because its files are on a server that hangs, nobody waits for it. */
static int status_of(pid_t child, int patience_ms)
{
    for (int round = 0; round < 2; round++) {
        for (int waited = 0; waited <= patience_ms; waited++) {
            int status = 0;
            pid_t ended = waitpid(child, &status, WNOHANG);
            if (ended == child)
                return round == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
            if (ended < 0 && errno != EINTR)
                return -1;
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        kill(child, SIGKILL);
    }
    return -1;
}

/* The command says what is wrong with a policy, where it is installed. Whether a node can follow
 * the policy shows only there. */
static bool is_policy(const char *policy)
{
    extern char **environ;
    char *words[] = {command, "policy", "check", "--", (char *)policy, NULL};
    pid_t child = start(words, environ, NULL);
    return child < 0 || status_of(child, CHECK_MS) != 64;
}

/* Whether srun has the value from the job around it: there it was accepted, and a step does not
 * fail because this machine knows fewer policies. */
static bool is_of_job(const char *text)
{
    const char *outer = getenv("SLURM_SPANK__SLURM_SPANK_OPTION_numaestro_numaestro");
    return outer && !strcmp(outer, text ? text : "(null)");
}

static int take_option(int value, const char *text, int remote)
{
    (void)value;
    const char *problem = choice_read(text, &choice);
    if (problem && (remote || is_of_job(text))) {
        choice.managed = false;
        choice.asked = true;
        snprintf(trouble, sizeof trouble, "--numaestro=%s: %s", text ? text : "", problem);
        return ESPANK_SUCCESS;
    }
    if (problem) {
        slurm_error("--numaestro=%s: %s", text ? text : "", problem);
        return ESPANK_BAD_ARG;
    }
    bool unchecked = remote || !choice.policy[0] || is_of_job(text);
    return unchecked || is_policy(choice.policy) ? ESPANK_SUCCESS : ESPANK_BAD_ARG;
}

static struct spank_option option = {
    .name = "numaestro",
    .arginfo = "POLICY|off",
    .usage = "run under numaestro, which gives each program of the job processors of its own; `off`: without; "
             "`malleable:MIN-MAX`: on so many processors of each node",
    .has_arg = 2,
    .cb = take_option,
};

/* The administrator's words. */
static int read_words(int count, char *const words[])
{
    for (int i = 0; i < count; i++) {
        const char *value = strchr(words[i], '=');
        size_t key = value ? (size_t)(value++ - words[i]) : 0;
        if (key == 7 && !strncmp(words[i], "command", key) && strlen(value) < sizeof command) {
            strcpy(command, value);
        } else if (key == 3 && !strncmp(words[i], "dir", key) && strlen(value) < sizeof directory) {
            strcpy(directory, value);
        } else if (key == 7 && !strncmp(words[i], "default", key) && (!strcmp(value, "on") || !strcmp(value, "off"))) {
            choice.managed = value[1] == 'n';
        } else {
            slurm_error("numaestro: `%s' in plugstack.conf is none of command=, dir=, default=on, default=off",
                        words[i]);
            return -1;
        }
    }
    return 0;
}

int slurm_spank_init(spank_t spank, int count, char *words[])
{
    enum spank_context context = spank_context();
    if (context != S_CTX_LOCAL && context != S_CTX_REMOTE && context != S_CTX_ALLOCATOR)
        return ESPANK_SUCCESS;
    if (read_words(count, words) != 0) {
        choice.managed = false;
        return ESPANK_ERROR;
    }
    return spank_option_register(spank, &option);
}

/* Processors in a list such as 0-3,8. */
static uint32_t count_of(const char *list)
{
    uint32_t count = 0;
    while (list && *list) {
        char *end = NULL;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (end == list)
            break;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        count += last >= first && last - first < CHOICE_CPUS_MAX ? (uint32_t)(last - first) + 1 : 0;
        list = *end == ',' ? end + 1 : end;
    }
    return count;
}

static void name_step(uint32_t number, char *name, size_t size)
{
    switch (number) {
    case STEP_BATCH: snprintf(name, size, "batch"); break;
    case STEP_INTERACTIVE: snprintf(name, size, "interactive"); break;
    default: snprintf(name, size, "%u", number);
    }
}

/* Tells the manager of the step, in slurmstepd as root. */
int slurm_spank_init_post_opt(spank_t spank, int count, char *words[])
{
    (void)count;
    (void)words;
    if (spank_context() != S_CTX_REMOTE || !choice.managed)
        return ESPANK_SUCCESS;
    struct step step = {0};
    uint32_t number = 0;
    uint16_t cpus = 0;
    uid_t uid = 0;
    char *cores = NULL;
    if (spank_get_item(spank, S_JOB_ID, &step.job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_STEPID, &number) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_NCPUS, &cpus) != ESPANK_SUCCESS) {
        snprintf(trouble, sizeof trouble, "Slurm does not say which job this is");
        return ESPANK_SUCCESS;
    }
    /* Slurm does not tell this step what its user has asked for. */
    if (number == STEP_EXTERN)
        return ESPANK_SUCCESS;
    step.uid = uid;
    step.cpus = cpus;
    /* A step may have fewer processors than its job, and cores several. The manager takes the most
     * that any step of the job has said. */
    if (spank_get_item(spank, S_JOB_ALLOC_CORES, &cores) == ESPANK_SUCCESS && count_of(cores) > step.cpus)
        step.cpus = count_of(cores);
    name_step(number, step.name, sizeof step.name);
    char line[1024];
    size_t length = choice_request(&choice, &step, line, sizeof line);
    registered = length && manager_ask(directory, line, length, trouble, sizeof trouble) == ANSWER_DONE;
    if (!registered)
        slurm_info("numaestro: step %u.%s runs without a manager: %s", step.job, step.name, trouble);
    return ESPANK_SUCCESS;
}

/* Carries out one line of the prolog: export NAME=VALUE, or unset NAME. */
static void obey(spank_t spank, char *line)
{
    char *value = strchr(line, '=');
    if (!strncmp(line, "export ", 7) && value) {
        *value = 0;
        spank_setenv(spank, line + 7, value + 1, 1);
    } else if (!strncmp(line, "unset ", 6)) {
        spank_unsetenv(spank, line + 6);
    }
}

/* All that the child says, as a text; false: too much, or too late. */
static bool hear(int fd, char *said, size_t size)
{
    size_t have = 0;
    int left = PROLOG_MS;
    while (have + 1 < size && left > 0) {
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        struct pollfd one = {.fd = fd, .events = POLLIN};
        int found = poll(&one, 1, left);
        clock_gettime(CLOCK_MONOTONIC, &after);
        left -= (int)((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000);
        ssize_t got = found > 0 ? read(fd, said + have, size - 1 - have) : found < 0 && errno == EINTR ? 1 : -1;
        if (found <= 0 && got > 0)
            continue;
        if (got <= 0) {
            said[have] = 0;
            return got == 0;
        }
        have += (size_t)got;
    }
    return false;
}

/* One line for the user of a job that was to be managed, from the first task on each node. */
static void complain(spank_t spank)
{
    int task = 0;
    if (choice.asked && spank_get_item(spank, S_TASK_ID, &task) == ESPANK_SUCCESS && task == 0)
        dprintf(STDERR_FILENO, "numaestro: this job runs without numaestro here: %s\n", trouble);
}

/* Gives a task its variables, in the task, as its user. The command knows which. */
int slurm_spank_task_init(spank_t spank, int count, char *words[])
{
    (void)count;
    (void)words;
    if (!registered && trouble[0])
        complain(spank);
    /* A step without the manager may have the variables of a managed script around it. */
    char outer[2];
    spank_err_t has_outer = spank_getenv(spank, "NUMAESTRO_ATTACH", outer, sizeof outer);
    bool undo = !registered && (has_outer == ESPANK_SUCCESS || has_outer == ESPANK_NOSPACE);
    char **environment = NULL;
    if ((!registered && !undo) || spank_get_item(spank, S_JOB_ENV, &environment) != ESPANK_SUCCESS)
        return ESPANK_SUCCESS;
    char *prolog[] = {command, "--dir", directory, "shell", "--task-prolog", undo ? "--undo" : NULL, NULL};
    int out = -1;
    char *said = malloc(SAID_MAX);
    pid_t child = said ? start(prolog, environment, &out) : -1;
    if (child > 0) {
        bool whole = hear(out, said, SAID_MAX);
        close(out);
        if (!whole)
            kill(child, SIGKILL);
        int status = status_of(child, PROLOG_MS);
        if (whole && status == 0) {
            char *rest = said;
            for (char *line; (line = strsep(&rest, "\n")) != NULL;)
                obey(spank, line);
        } else {
            snprintf(trouble, sizeof trouble, status == 127 ? "there is no command %s" : "%s did not say its variables",
                     command);
            complain(spank);
        }
    }
    free(said);
    return ESPANK_SUCCESS;
}
