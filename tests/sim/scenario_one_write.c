/* scenario_one_write.c -- the messages of one replicated write are those that
 * docs/protocols/transaction.md shows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/sim/scenario.h"

struct lines {
    bool on;
    uint32_t count;
    char text[64][80];
    uint64_t at_us[64];
};

static const char *who(const struct run *run, uint32_t ref, char *text)
{
    static const char *const blocks[] = {[BLOCK_DBTC] = "TC", [BLOCK_DBLQH] = "LQH"};
    uint32_t block = ref_block(ref);
    (void)run;
    if (block == BLOCK_API) return "client";
    if (block != BLOCK_DBTC && block != BLOCK_DBLQH) return NULL;
    snprintf(text, 16, "%s@%u", blocks[block], ref_node(ref));
    return text;
}

static void note(struct run *run, const uint32_t *words)
{
    struct lines *lines = run->hook_context;
    char from[16];
    char to[16];
    uint32_t gsn = kind_gsn(words[0]);
    if (!lines->on || lines->count == 64 || gsn == GSN_API_REGREQ || gsn == GSN_API_REGCONF ||
        gsn == GSN_CONTINUEB)
        return;
    const char *sender = who(run, words[2], from);
    const char *receiver = who(run, words[1], to);
    if (sender == NULL || receiver == NULL) return;
    /* What reaches two nodes at the same moment has no order; the client's answer is shown first.
     */
    uint32_t at = lines->count++;
    for (; ref_block(words[1]) == BLOCK_API && at > 0 &&
           lines->at_us[at - 1] == sim_now_us(run->world);
         at--) {
        memcpy(lines->text[at], lines->text[at - 1], sizeof lines->text[at]);
        lines->at_us[at] = lines->at_us[at - 1];
    }
    lines->at_us[at] = sim_now_us(run->world);
    snprintf(lines->text[at], 80, "%s -> %s: %s", sender, receiver, gsn_name(gsn));
}

/* The block ```one_write of the page. */
static uint32_t read_page(struct lines *lines)
{
    char path[500];
    char line[200];
    const char *source = getenv("NDB_SOURCE");
    snprintf(path, sizeof path, "%s/docs/protocols/transaction.md", source == NULL ? "." : source);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    bool inside = false;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "```", 3) == 0) {
            inside = strcmp(line, "```one_write") == 0;
            continue;
        }
        if (inside && lines->count < 64) snprintf(lines->text[lines->count++], 80, "%.79s", line);
    }
    fclose(file);
    return lines->count;
}

#define ROW 3u /* Its primary is on node 1. */

static void test_one_write(void **state)
{
    (void)state;
    struct run *run = scenario_new(1);
    run->swarm.options.latency_min_us = run->swarm.options.latency_max_us = 100;
    run->swarm.options.lazy_percent = run->swarm.options.chunk_percent = 0;
    struct lines seen = {0};
    struct lines page = {0};
    run->hook = note;
    run->hook_context = &seen;
    run->swarm.key_kind[TABLE_STATIC] = 3; /* Without unique indexes, whose entries change too. */
    assert_int_equal(row_uniques(run, TABLE_STATIC), 0);
    assert_true(run_start(run));
    struct session *session = &run->client[0].session[0];
    enum api_outcome outcome;
    session->count = 0;
    session_add(session, TABLE_STATIC, ROW, OP_UPDATE)->value = 4711;
    assert_int_equal(run_try(run, session, LOCK_EXCLUSIVE, &outcome),
                     0); /* Seizes the connect record. */
    sim_run_until(run->world, NULL, NULL, sim_now_us(run->world) + 20000);
    session->count = 0;
    session_add(session, TABLE_STATIC, ROW, OP_UPDATE)->value = 4712;
    seen.on = true;
    assert_int_equal(run_try(run, session, LOCK_EXCLUSIVE, &outcome), 0);
    sim_run_until(run->world, NULL, NULL, sim_now_us(run->world) + 20000);
    seen.on = false;
    assert_int_equal(outcome, API_COMMITTED);
    read_page(&page);
    for (uint32_t i = 0; i < seen.count; i++)
        print_message("%s\n", seen.text[i]);
    assert_int_equal(seen.count, page.count);
    for (uint32_t i = 0; i < seen.count; i++)
        assert_string_equal(seen.text[i], page.text[i]);
    scenario_end(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
