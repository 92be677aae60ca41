/* scenario_checker.c -- the checker of restarts can fail: broken logs and lying disks are found. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/sim/plan_file.h"
#include "tests/sim/scenario.h"

#define SEEDS 20u

struct mutation {
    const char *name;
    const char *lines[4]; /* Lines of a plan; %u is the node. */
};

static const struct mutation mutations[] = {
    {"none", {"at 0.3 power 0 20", NULL}},
    {"a row without a log record",
     {"at 0.0 insert %u 7 5020 0", "at 0.1 insert %u 7 0 0", "at 0.3 power 0 20", NULL}},
    {"a save that is not made", {"at 0.0 insert %u 7 5021 0", "at 0.3 power 0 20", NULL}},
    {"a disk that lies", {"at 0.0 lie %u", "at 0.3 power 0 20", NULL}},
};

/* The lines for every data node. */
static void make_plan(struct sim_case *test, const struct mutation *mutation)
{
    static struct run drawn;
    char line[100];
    memset(&drawn, 0, sizeof drawn);
    case_apply(test, &drawn);
    test->planned = true;
    for (uint32_t i = 0; mutation->lines[i] != NULL; i++) {
        bool each = strchr(mutation->lines[i], '%') != NULL;
        for (uint32_t node = 0; node < (each ? drawn.swarm.data_nodes : 1u); node++) {
            const char *format = mutation->lines[i];
            char id[12];
            size_t used = 0;
            snprintf(id, sizeof id, "%u", data_node_id(&drawn, node));
            for (; *format != '\0' && used + sizeof id < sizeof line; format++) {
                if (*format != '%') {
                    line[used++] = *format;
                    continue;
                }
                memcpy(line + used, id, strlen(id));
                used += strlen(id);
                format++;
            }
            line[used] = '\0';
            assert_true(sim_event_parse(&test->plan.event[test->plan.count++], gsn_name, line));
        }
    }
}

/* How many of the seeds fail, and what the first of them says. */
static uint32_t failures(const struct mutation *mutation)
{
    uint32_t failed = 0;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        struct sim_case test = {.seed = seed, .modes = 1u << MODE_DISK, .jobs = 25};
        struct run *run = calloc(1, sizeof *run);
        assert_non_null(run);
        make_plan(&test, mutation);
        case_apply(&test, run);
        run_seed(run);
        if (sim_verdict_of(run->world) != SIM_OK && failed++ == 0)
            print_message("%s: seed %u: %s\n", mutation->name, seed, sim_failure_text(run->world));
        run_free(run);
        free(run);
    }
    print_message("%s: %u of %u seeds fail\n", mutation->name, failed, SEEDS);
    return failed;
}

static void test_mutations(void **state)
{
    (void)state;
    assert_int_equal(failures(&mutations[0]), 0);
    for (uint32_t i = 1; i < sizeof mutations / sizeof mutations[0]; i++)
        assert_true(failures(&mutations[i]) >= SEEDS / 4u); /* No matter of luck. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
