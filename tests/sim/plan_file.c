/* plan_file.c -- plans as text files: the seed, what is left out of its run, and the faults. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/sim/plan_file.h"
#include <stdio.h>
#include <string.h>
#include "signals/gsn.h"
#include "tests/sim/failures.h"

static bool parse_without(struct sim_case *test, const char *name)
{
    for (uint32_t i = 0; i < WORK_COUNT; i++) {
        if (strcmp(works[i].name, name) != 0) continue;
        test->without |= 1u << i;
        return true;
    }
    return false;
}

/* Lines that are no events. */
static bool parse_setting(struct sim_case *test, const char *line, bool *good)
{
    unsigned long long number;
    char name[16];
    enum sim_mode mode;
    if (sscanf(line, " seed %llu", &number) == 1)
        test->seed = number;
    else if (sscanf(line, " jobs %llu", &number) == 1)
        test->jobs = (uint32_t)number;
    else if (sscanf(line, " %15s", name) == 1 && strcmp(name, "programs") == 0)
        test->programless = false;
    else if (sscanf(line, " %15s", name) == 1 && strcmp(name, "indexes") == 0)
        test->indexless = false;
    else if (sscanf(line, " %15s", name) == 1 && strcmp(name, "numbers") == 0)
        test->numberless = false;
    else if (sscanf(line, " %15s", name) == 1 && strcmp(name, "changes") == 0)
        test->changeless = false;
    else if (sscanf(line, " %15s", name) == 1 && strcmp(name, "drops") == 0)
        test->dropless = false;
    else if (sscanf(line, " %15s", name) == 1 && strcmp(name, "own") == 0)
        test->ownless = false;
    else if (sscanf(line, " %15s", name) == 1 && strcmp(name, "copies") == 0)
        test->copyless = false;
    else if (sscanf(line, " %15s", name) == 1 && strcmp(name, "counters") == 0)
        test->counters = true;
    else if (sscanf(line, " clients %llu", &number) == 1)
        test->clients = (uint32_t)number;
    else if (sscanf(line, " sessions %llu", &number) == 1)
        test->sessions = (uint32_t)number;
    else if (sscanf(line, " %15s", name) == 1 && mode_find(name, &mode))
        test->modes |= 1u << mode;
    else if (sscanf(line, " without %15s", name) == 1)
        *good = parse_without(test, name);
    else
        return false;
    return true;
}

bool plan_read(struct sim_case *test, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[200];
    bool good = true;
    if (file == NULL) {
        perror(path);
        return false;
    }
    test->planned = true;
    test->programless = true; /* Unless it says otherwise. */
    test->indexless = true;
    test->numberless = true;
    test->changeless = true;
    test->dropless = true;
    test->ownless = true;
    test->copyless = true;
    for (uint32_t number = 1; good && fgets(line, sizeof line, file) != NULL; number++) {
        struct sim_event event = {0};
        line[strcspn(line, "\n")] = '\0';
        if (!parse_setting(test, line, &good))
            good = sim_event_parse(&event, gsn_name, line) && test->plan.count < SIM_EVENTS_MAX;
        if (!good) fprintf(stderr, "%s:%u: cannot be read: %s\n", path, number, line);
        if (good && event.action != 0) test->plan.event[test->plan.count++] = event;
    }
    fclose(file);
    return good;
}

void plan_print(FILE *file, const struct sim_case *test)
{
    char text[200];
    fprintf(file, "seed %llu\n", (unsigned long long)test->seed);
    for (uint32_t i = 0; i < MODE_COUNT; i++) {
        if (case_has(test, (enum sim_mode)i)) fprintf(file, "%s\n", mode_name((enum sim_mode)i));
    }
    if (!test->programless) fprintf(file, "programs\n");
    if (!test->indexless) fprintf(file, "indexes\n");
    if (!test->numberless) fprintf(file, "numbers\n");
    if (!test->changeless) fprintf(file, "changes\n");
    if (!test->dropless) fprintf(file, "drops\n");
    if (!test->ownless) fprintf(file, "own\n");
    if (!test->copyless) fprintf(file, "copies\n");
    if (test->counters) fprintf(file, "counters\n");
    if (test->jobs != 0) fprintf(file, "jobs %u\n", test->jobs);
    if (test->clients != 0) fprintf(file, "clients %u\n", test->clients);
    if (test->sessions != 0) fprintf(file, "sessions %u\n", test->sessions);
    for (uint32_t i = 0; i < WORK_COUNT; i++) {
        if ((test->without & 1u << i) != 0) fprintf(file, "without %s\n", works[i].name);
    }
    for (uint32_t i = 0; i < test->plan.count; i++) {
        sim_event_print(&test->plan.event[i], gsn_name, text, sizeof text);
        fprintf(file, "%s\n", text);
    }
}

bool case_has(const struct sim_case *test, enum sim_mode mode)
{
    return (test->modes & 1u << mode) != 0;
}

void case_apply(const struct sim_case *test, struct run *run)
{
    struct swarm *swarm = &run->swarm;
    swarm_draw(swarm, test->seed);
    bool operated = case_has(test, MODE_OPERATOR);
    bool hostile = case_has(test, MODE_HOSTILE);
    bool starved = case_has(test, MODE_STARVED);
    swarm->spoil = case_has(test, MODE_SPOIL);
    swarm->rejoin = operated || swarm->spoil || case_has(test, MODE_REJOIN);
    bool failures = swarm->rejoin || hostile || starved || case_has(test, MODE_FAILURES);
    bool tamper = case_has(test, MODE_TAMPER);
    if (failures) swarm_draw_failures(swarm);
    if (starved) swarm_draw_starved(swarm);
    bool drawn = !failures && !case_has(test, MODE_DISKLESS) && swarm_has_files(test->seed);
    bool young = case_has(test, MODE_YOUNG);
    if (case_has(test, MODE_DISK) || tamper || operated || swarm->spoil || young || drawn)
        swarm_draw_disk(swarm);
    if (young) young_draw_swarm(swarm);
    if (operated) operator_draw_swarm(swarm);
    if (swarm->spoil) spoil_draw_faults(swarm);
    if (case_has(test, MODE_FULL)) swarm_draw_full(swarm);
    if (case_has(test, MODE_BATCHES)) swarm_draw_batches(swarm);
    if (test->jobs != 0) swarm->jobs = test->jobs;
    if (test->clients != 0 && test->clients <= CLIENTS_MAX) swarm->clients = test->clients;
    if (test->sessions != 0 && test->sessions <= SESSIONS_MAX) swarm->sessions = test->sessions;
    for (uint32_t i = 0; i < WORK_COUNT; i++) {
        if ((test->without & 1u << i) != 0) swarm->weight[i] = 0;
    }
    if (test->programless) {
        swarm->programs = swarm->counters = false;
        swarm->weight[WORK_PROGRAM] = 0;
    }
    if (test->indexless) {
        struct node_config plain;
        node_config_defaults(&plain);
        swarm->weight[WORK_INDEX] = 0;
        swarm->config.scan_step_rows = plain.scan_step_rows;
    }
    if (test->numberless) swarm->weight[WORK_NUMBER] = 0;
    if (test->changeless) swarm->weight[WORK_ALTER] = 0;
    if (test->dropless) swarm->weight[WORK_UNIQUE] = 0;
    if (test->ownless) swarm->weight[WORK_OWN] = 0;
    if (!test->copyless) swarm_draw_copies(swarm);
    if (test->counters) swarm->counters = true;
    if (hostile) tamper_alone(swarm);
    run->tamper.on = tamper || hostile;
    run->tamper.one = hostile;
    run->plan_given = test->planned || tamper || hostile;
    if (run->plan_given) run->plan = test->plan;
}
