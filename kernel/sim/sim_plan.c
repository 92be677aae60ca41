/* sim_plan.c -- events of a fault plan: making, printing, reading. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "kernel/sim/sim_plan.h"
#include <stdio.h>
#include <string.h>
#include "kernel/block.h"

static const struct {
    const char *name;
    uint32_t args;
} actions[SIM_ACTION_COUNT] = {
    [SIM_CUT] = {"cut", 2},
    [SIM_STALL] = {"stall", 3},
    [SIM_SLOW] = {"slow", 4},
    [SIM_KILL] = {"kill", 1},
    [SIM_START] = {"start", 1},
    [SIM_INSERT] = {"insert", 4},
    [SIM_POWER] = {"power", 2},
    [SIM_POWER_OP] = {"powerop", 3},
    [SIM_HALT] = {"halt", 2},
    [SIM_DISK_FULL] = {"full", 2},
    [SIM_DISK_ERROR] = {"ioerror", 4},
    [SIM_DISK_ROT] = {"rot", 2},
    [SIM_DISK_MISDIRECT] = {"misdirect", 1},
    [SIM_DISK_STALL] = {"diskstall", 2},
    [SIM_DISK_LIE] = {"lie", 1},
    [SIM_STOP] = {"stop", 2},
    [SIM_HANG] = {"hang", 2},
    [SIM_LEAVE] = {"leave", 1},
    [SIM_SINGLE] = {"single", 1},
    [SIM_PACE] = {"pace", 2},
    [SIM_SLOW_NODE] = {"slownode", 3},
    [SIM_SLOW_LINK] = {"slowlink", 5},
    [SIM_FORCE] = {"force", 1},
    [SIM_OPTIONS] = {"options", 3},
    [SIM_KEEP] = {"keep", 1},
    [SIM_SPOIL] = {"spoil", 4},
    [SIM_STARVE] = {"starve", 3},
    [SIM_LULL] = {"lull", 1},
};

struct sim_event *sim_plan_at(struct sim_plan *plan, uint64_t at_us, enum sim_action action)
{
    if (plan->count == SIM_EVENTS_MAX) return NULL;
    struct sim_event *event = &plan->event[plan->count++];
    *event = (struct sim_event){.at_us = at_us, .action = action};
    return event;
}

uint32_t sim_event_print(const struct sim_event *event, const char *(*gsn_name)(uint32_t),
                         char *text, uint32_t size)
{
    int used;
    if (event->gsn != 0) {
        used =
            snprintf(text, size, "before %u %s %u ", event->nth, gsn_name(event->gsn), event->node);
    } else {
        used = snprintf(text, size, "at %u.%06u ", (uint32_t)(event->at_us / 1000000u),
                        (uint32_t)(event->at_us % 1000000u));
    }
    used += snprintf(text + used, size - (uint32_t)used, "%s", actions[event->action].name);
    for (uint32_t i = 0; i < actions[event->action].args; i++)
        used += snprintf(text + used, size - (uint32_t)used, " %u", event->arg[i]);
    return (uint32_t)used;
}

static uint32_t gsn_of(const char *(*gsn_name)(uint32_t), const char *name)
{
    for (uint32_t gsn = 1; gsn < GSN_TABLE; gsn++) {
        if (strcmp(gsn_name(gsn), name) == 0) return gsn;
    }
    return 0;
}

/* "12.407" as microseconds, exactly. */
static bool parse_seconds(const char *text, uint64_t *us)
{
    uint64_t value = 0;
    uint32_t decimals = 0;
    bool point = false;
    for (; *text != '\0'; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (*text < '0' || *text > '9' || decimals == 6 || value > UINT64_MAX / 100u) return false;
        value = value * 10 + (uint64_t)(*text - '0');
        decimals += point;
    }
    for (; decimals < 6; decimals++)
        value *= 10;
    *us = value;
    return true;
}

static bool parse_action(struct sim_event *event, const char *text)
{
    char name[16];
    int used = 0;
    if (sscanf(text, " %15s%n", name, &used) != 1) return false;
    for (uint32_t action = 1; action < SIM_ACTION_COUNT; action++) {
        if (strcmp(name, actions[action].name) != 0) continue;
        event->action = (enum sim_action)action;
        for (uint32_t i = 0; i < actions[action].args; i++) {
            int more = 0;
            text += used;
            if (sscanf(text, " %u%n", &event->arg[i], &more) != 1) return false;
            used = more;
        }
        char rest[2];
        return sscanf(text + used, " %1s", rest) != 1 || rest[0] == '#';
    }
    return false;
}

bool sim_event_parse(struct sim_event *event, const char *(*gsn_name)(uint32_t), const char *line)
{
    char word[32];
    char name[64];
    int used = 0;
    memset(event, 0, sizeof *event);
    if (sscanf(line, " %31s%n", word, &used) != 1 || word[0] == '#') return true;
    line += used;
    if (strcmp(word, "at") == 0) {
        if (sscanf(line, " %31s%n", word, &used) != 1 || !parse_seconds(word, &event->at_us))
            return false;
    } else if (strcmp(word, "before") == 0) {
        if (sscanf(line, " %u %63s %u%n", &event->nth, name, &event->node, &used) != 3)
            return false;
        event->gsn = gsn_of(gsn_name, name);
        if (event->gsn == 0 || event->nth == 0) return false;
    } else {
        return false;
    }
    return parse_action(event, line + used);
}
