/* choice.c - reads the value of --numaestro, and writes the request that follows from it. Knows
 * nothing of Slurm. */
#include "choice.h"

#include <stdio.h>
#include <string.h>

/* Managers refuse another version: the plugin and the manager may be of different releases. */
#define REQUEST_VERSION 1

/* A number of processors without sign or blanks; 0 if it is none. `end`: the first byte behind. */
static uint32_t cpus_at(const char *text, const char **end)
{
    uint32_t value = 0;
    while (*text >= '0' && *text <= '9') {
        value = value * 10 + (uint32_t)(*text++ - '0');
        if (value > CHOICE_CPUS_MAX)
            return 0;
    }
    *end = text;
    return value;
}

static const char *range(const char *text, struct choice *choice)
{
    static const char form[] = "malleable: needs MIN-MAX, two numbers of processors from 1 on: malleable:2-8";
    const char *at = text;
    choice->min = cpus_at(at, &at);
    if (!choice->min || *at != '-')
        return form;
    choice->max = cpus_at(at + 1, &at);
    if (!choice->max || *at)
        return form;
    if (choice->min > choice->max)
        return "malleable: its minimum is above its maximum";
    choice->malleable = true;
    return NULL;
}

/* Policies are words of these bytes. None of them means anything in JSON or to a shell. */
static bool may_be_policy(const char *text)
{
    for (; *text; text++) {
        bool letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
        if (!letter && !(*text >= '0' && *text <= '9') && !strchr("=-_., ", *text))
            return false;
    }
    return true;
}

const char *choice_read(const char *text, struct choice *choice)
{
    static const char malleable[] = "malleable:";
    struct choice read = {.managed = true, .asked = true};
    /* Slurm hands an option without a value on to the steps of a job as this text. */
    if (text && !strcmp(text, "(null)"))
        text = NULL;
    const char *terms = NULL;
    size_t first = text ? strlen(text) : 0;
    if (text && !strncmp(text, malleable, sizeof malleable - 1)) {
        terms = text;
        first = 0;
    } else if (text && (terms = strstr(text, ",malleable:")) != NULL) {
        first = (size_t)(terms - text);
        terms++;
    }
    if (terms) {
        const char *problem = range(terms + sizeof malleable - 1, &read);
        if (problem)
            return problem;
    }
    if (first >= sizeof read.policy)
        return "that is too long for a policy";
    if (first)
        memcpy(read.policy, text, first);
    if (!strcmp(read.policy, "off")) {
        if (terms)
            return "`off` stands alone";
        read.managed = false;
        read.policy[0] = 0;
    } else if (!strcmp(read.policy, "on")) {
        read.policy[0] = 0;
    } else if (!may_be_policy(read.policy)) {
        return "that is no policy; `numaestro policy list` shows those that there are";
    }
    *choice = read;
    return NULL;
}

size_t choice_request(const struct choice *choice, const struct step *step, char *line, size_t size)
{
    char policy[CHOICE_POLICY_MAX + 16] = "", malleable[64] = "";
    if (choice->policy[0])
        snprintf(policy, sizeof policy, ",\"policy\":\"%s\"", choice->policy);
    if (choice->malleable)
        snprintf(malleable, sizeof malleable, ",\"malleable\":{\"min\":%u,\"max\":%u}", choice->min, choice->max);
    int length = snprintf(line, size,
                          "{\"ask\":\"begin-step\",\"version\":%d,\"job\":%u,\"step\":\"%s\",\"uid\":%u,\"cpus\":%u%s%s}\n",
                          REQUEST_VERSION, step->job, step->name, step->uid, step->cpus, policy, malleable);
    return length > 0 && (size_t)length < size ? (size_t)length : 0;
}
