/* test_what_survives.c -- the table of docs/what_survives.md, how many nodes may be lost, says what
 * the partition rule does. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "blocks/qmgr/partition_rule.h"

#define NODES_MAX 8u
#define CELLS     7u

struct line {
    uint32_t nodes, replicas, lost;
    enum { ANY, DIFFERENT, ONE } of; /* Node groups of those that are lost. */
    char cell[CELLS][80];
};

static struct node_config config_of(const struct line *line)
{
    struct node_config config;
    memset(&config, 0, sizeof config);
    config.replicas = line->replicas;
    for (uint32_t id = 1; id <= line->nodes; id++)
        config.node[id] =
            (struct config_node){.type = NODE_DATA, .nodegroup = (id - 1) / line->replicas};
    return config;
}

static struct node_mask nodes_of(uint32_t bits)
{
    struct node_mask mask = {{0}};
    mask.word[0] = bits << 1; /* Node 1 is bit 1. */
    return mask;
}

static bool goes_on(const struct node_config *config, uint32_t before, uint32_t left,
                    bool arbitrator)
{
    struct node_mask were = nodes_of(before);
    struct node_mask alive = nodes_of(left);
    enum arbit_code code = partition_rule(config, &were, &alive);
    return code == ARBIT_WIN_GROUPS || code == ARBIT_WIN_NODES ||
           (code == ARBIT_PARTITIONING && arbitrator);
}

/* In the order of their ids; others are other sets, as the groups are alike. */
static bool in_turn(const struct node_config *config, uint32_t all, uint32_t lost, bool arbitrator)
{
    uint32_t before = all;
    for (uint32_t bit = 0; bit < NODES_MAX; bit++) {
        if ((lost >> bit & 1u) == 0) continue;
        uint32_t left = before & ~(1u << bit);
        if (left == 0 || !goes_on(config, before, left, arbitrator)) return false;
        before = left;
    }
    return true;
}

static bool is_such(const struct line *line, uint32_t lost)
{
    uint32_t groups = 0;
    if ((uint32_t)__builtin_popcount(lost) != line->lost) return false;
    for (uint32_t at = 0; at < line->nodes; at += line->replicas)
        groups += (lost >> at & ((1u << line->replicas) - 1u)) != 0;
    if (line->of == DIFFERENT) return groups == line->lost;
    return line->of == ANY || groups == 1;
}

/* What all losses of this kind come to; they must come to the same. */
static const char *outcome(const struct line *line, uint32_t cell)
{
    struct node_config config = config_of(line);
    uint32_t all = (1u << line->nodes) - 1u;
    bool arbitrator = cell % 2 == 1;
    uint32_t seen[2] = {0};
    for (uint32_t lost = 1; lost <= all; lost++) {
        if (!is_such(line, lost)) continue;
        bool on = cell < 5 ? goes_on(&config, all, all & ~lost, arbitrator)
                           : in_turn(&config, all, lost, arbitrator);
        seen[on]++;
    }
    if (seen[0] != 0 && seen[1] != 0) return "depends on which";
    return seen[1] != 0 ? "goes on" : "stops";
}

/* Cells without the blanks around them; false: not a line of that table. */
static bool read_line(const char *text, struct line *line)
{
    uint32_t count = 0;
    if (*text++ != '|') return false;
    while (count < CELLS) {
        const char *end = strchr(text, '|');
        if (end == NULL) return false;
        while (*text == ' ')
            text++;
        size_t size = (size_t)(end - text);
        while (size > 0 && text[size - 1] == ' ')
            size--;
        if (size >= sizeof line->cell[0]) return false;
        memcpy(line->cell[count], text, size);
        line->cell[count++][size] = '\0';
        text = end + 1;
    }
    if (sscanf(line->cell[0], "%u", &line->nodes) != 1 ||
        sscanf(line->cell[1], "%u", &line->replicas) != 1 ||
        sscanf(line->cell[2], "%u", &line->lost) != 1)
        return false;
    line->of = strstr(line->cell[2], "different") != NULL   ? DIFFERENT
               : strstr(line->cell[2], "one group") != NULL ? ONE
                                                            : ANY;
    return true;
}

static void test_table_of_losses(void **state)
{
    (void)state;
    char text[1024];
    uint32_t lines = 0;
    uint32_t wrong = 0;
    bool replicas[5] = {false};
    FILE *page = fopen(WHAT_SURVIVES, "r");
    assert_non_null(page);
    while (fgets(text, sizeof text, page) != NULL) {
        struct line line;
        if (!read_line(text, &line)) continue;
        assert_in_range(line.nodes, 1, NODES_MAX);
        assert_in_range(line.replicas, 1, 4);
        assert_int_equal(line.nodes % line.replicas, 0);
        lines++;
        replicas[line.replicas] = true;
        bool good = true;
        for (uint32_t cell = 3; cell < CELLS; cell++)
            good = good && strcmp(line.cell[cell], outcome(&line, cell)) == 0;
        if (good) continue;
        wrong++;
        print_message("| %s | %s | %s | %s | %s | %s | %s |\n", line.cell[0], line.cell[1],
                      line.cell[2], outcome(&line, 3), outcome(&line, 4), outcome(&line, 5),
                      outcome(&line, 6));
    }
    (void)fclose(page);
    assert_int_equal(wrong, 0); /* The lines above are what the rule does. */
    assert_true(lines >= 10 && replicas[2] && replicas[3] && replicas[4]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table_of_losses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
