/* test_api_stale.c -- whom the client core believes: data nodes that the others have lost. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/api_fake.h"

static void tell_lost(struct fake *fake, uint32_t by, uint32_t node, uint32_t failure_no)
{
    struct api_node_lost_rep rep = {.failure_no = failure_no};
    node_mask_add(&rep.nodes, node);
    fake->closed = 0;
    assert_true(fake_answer_to(fake, block_ref(OWN_NODE, BLOCK_API, 0),
                               block_ref(by, BLOCK_QMGR, 0), GSN_API_NODE_LOST_REP, &rep,
                               sizeof rep / 4u, 0, NULL, NULL));
}

/* The node says that it is started, since this failure, with those of the mask. */
static void says(struct fake *fake, uint32_t node, uint32_t failure_no, uint32_t started)
{
    struct api_regconf conf = {.sender_data = fake->epoch[node],
                               .version = NDB_VERSION,
                               .heartbeat_ms = 1000,
                               .start_level = START_STARTED,
                               .president = node,
                               .tc_count = 1,
                               .failure_no = failure_no,
                               .started = {{started}}};
    fake->closed = 0;
    assert_true(fake_answer_to(fake, block_ref(OWN_NODE, BLOCK_API, 0),
                               block_ref(node, BLOCK_QMGR, 0), GSN_API_REGCONF, &conf,
                               sizeof conf / 4u, 0, NULL, NULL));
}

static void refuses(struct fake *fake, uint32_t node, uint32_t error)
{
    struct api_regref ref = {.sender_data = fake->epoch[node], .error = error};
    assert_true(fake_answer_to(fake, block_ref(OWN_NODE, BLOCK_API, 0),
                               block_ref(node, BLOCK_QMGR, 0), GSN_API_REGREF, &ref,
                               sizeof ref / 4u, 0, NULL, NULL));
}

#define ALL     0xEu /* Nodes 1 to 3. */
#define NOT_TWO 0xAu

/* A word of the former life's end that comes late does not cost the node its new link. */
static void lost_and_back(void **state)
{
    (void)state;
    struct fake *fake = fake_create(3);
    tell_lost(fake, 1, 2, 4);
    assert_int_equal(fake->closed, 2);
    assert_false(api_core_node_ready(fake->core, 2));
    fake_link_down(fake, 2);
    fake_link_up(fake, 2, 77);
    tell_lost(fake, 3, 2, 4); /* It is only starting. */
    assert_int_equal(fake->closed, 0);
    says(fake, 2, 4, ALL);
    tell_lost(fake, 3, 2, 4);
    assert_int_equal(fake->closed, 0);
    assert_true(api_core_node_ready(fake->core, 2));
    tell_lost(fake, 3, 2, 5);
    assert_int_equal(fake->closed, 2);
    assert_false(api_core_node_ready(fake->core, 2));
    fake_destroy(fake);
}

/* Whom the others have lost is not believed when it says itself that it is started, until it has
 * lived through that failure. */
static void a_lost_node_speaks_for_itself(void **state)
{
    (void)state;
    struct fake *fake = fake_create(3);
    tell_lost(fake, 1, 2, 4);
    says(fake, 2, 3, ALL); /* Before its link is closed. */
    assert_false(api_core_node_ready(fake->core, 2));
    assert_int_equal(api_core_president(fake->core), 1);
    fake_link_down(fake, 2);
    fake_link_up(fake, 2, 77); /* It lives, and does not know. */
    says(fake, 2, 3, ALL);
    assert_false(api_core_node_ready(fake->core, 2));
    says(fake, 3, 3, ALL); /* One that hears of the failure a moment later. */
    says(fake, 2, 3, ALL);
    assert_false(api_core_node_ready(fake->core, 2));
    says(fake, 2, 4, ALL);
    assert_true(api_core_node_ready(fake->core, 2));
    fake_destroy(fake);
}

/* A node that takes no word says why; another link, or its agreement, makes that old. */
static void why_a_node_refuses(void **state)
{
    uint32_t node = 0;
    (void)state;
    struct fake *fake = fake_create(3);
    assert_int_equal(api_core_refusal(fake->core, &node), 0);
    refuses(fake, 3, ERR_NODE_FAILURE_HANDLING);
    refuses(fake, 2, ERR_QMGR_UNDEFINED);
    assert_false(api_core_node_ready(fake->core, 2));
    assert_int_equal(api_core_refusal(fake->core, &node), ERR_QMGR_UNDEFINED);
    assert_int_equal(node, 2);
    says(fake, 2, 0, ALL);
    assert_int_equal(api_core_refusal(fake->core, &node), ERR_NODE_FAILURE_HANDLING);
    assert_int_equal(node, 3);
    fake_link_down(fake, 3);
    fake_link_up(fake, 3, 77);
    assert_int_equal(api_core_refusal(fake->core, &node), 0);
    fake_destroy(fake);
}

/* Who has registered after the failure was not told: it learns from those that are there. */
static void a_lost_node_is_missing_elsewhere(void **state)
{
    (void)state;
    struct fake *fake = fake_create(3);
    says(fake, 2, 3, ALL);
    says(fake, 1, 4, NOT_TWO);
    assert_int_equal(fake->closed, 2);
    assert_false(api_core_node_ready(fake->core, 2));
    says(fake, 2, 3, ALL);
    assert_false(api_core_node_ready(fake->core, 2));
    says(fake, 2, 4, ALL);
    says(fake, 1, 4, NOT_TWO); /* It has not heard yet that 2 is back. */
    assert_int_equal(fake->closed, 0);
    assert_true(api_core_node_ready(fake->core, 2));
    fake_destroy(fake);
}

/* The numbers of a cluster's next life begin anew. */
static void a_new_life(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        struct fake *fake = fake_create(3);
        says(fake, 1, 4, NOT_TWO);
        tell_lost(fake, 1, 2, 4);
        fake_link_down(fake, 2);
        fake_link_down(fake, 1);
        if (way == 0) { /* Nobody is left who has lost it. */
            fake_link_down(fake, 3);
            fake_link_up(fake, 2, 77);
        } else { /* Node 3 has lost its power: its link seems to be there. */
            fake_link_up(fake, 2, 77);
            fake_link_up(fake, 1, 78);
            says(fake, 1, 0, 6);
        }
        says(fake, 2, 0, 6);
        assert_true(api_core_node_ready(fake->core, 2));
        fake_destroy(fake);
    }
}

static void says_life(struct fake *fake, uint32_t node, uint32_t level, uint32_t life)
{
    struct api_regconf conf = {.sender_data = fake->epoch[node],
                               .version = NDB_VERSION,
                               .heartbeat_ms = 1000,
                               .start_level = level,
                               .president = node,
                               .tc_count = 1,
                               .life = life,
                               .started = {{ALL}}};
    assert_true(fake_answer_to(fake, block_ref(OWN_NODE, BLOCK_API, 0),
                               block_ref(node, BLOCK_QMGR, 0), GSN_API_REGCONF, &conf,
                               sizeof conf / 4u, 0, NULL, NULL));
}

/* Another life is noticed, also when one node's old link seems to be there; a node that comes back
 * in the same one, or that is not started, makes none. */
static void lives_are_counted(void **state)
{
    (void)state;
    struct fake *fake = fake_create(3);
    for (uint32_t node = 1; node <= 3; node++)
        says_life(fake, node, START_STARTED, 5);
    uint32_t lives = api_core_lives(fake->core);
    fake_link_down(fake, 2);
    fake_link_up(fake, 2, 77);
    says_life(fake, 2, START_STARTING, 0);
    says_life(fake, 2, START_STARTED, 5);
    says_life(fake, 1, START_STARTED, 5);
    assert_int_equal(api_core_lives(fake->core), lives);
    fake_link_down(fake, 1);
    fake_link_down(fake, 2);
    assert_int_equal(api_core_lives(fake->core), lives);
    fake_link_up(fake, 1, 78);
    says_life(fake, 1, START_STARTED, 9);
    assert_int_equal(api_core_lives(fake->core), lives + 1);
    says_life(fake, 3, START_STARTED, 5);
    says_life(fake, 1, START_STARTED, 9);
    assert_int_equal(api_core_lives(fake->core), lives + 3);
    fake_destroy(fake);
}

/* ---- The dictionary: two nodes have to say the same. ---- */

static void open_table(struct fake *fake, struct fake_dict *dict)
{
    *dict = (struct fake_dict){0};
    assert_int_equal(api_dict_get(fake->client, "test/def/t", 1000, fake_dict_done, dict), 0);
}

static const uint32_t *asked(struct fake *fake, uint32_t *peer)
{
    return fake_next(fake, GSN_GET_TABINFO_REQ, peer);
}

static uint32_t denied(struct fake *fake)
{
    uint32_t peer;
    const uint32_t *request = asked(fake, &peer);
    fake_no_table(fake, peer, request);
    return peer;
}

/* Node 1 has the table, node 2 has not: they are asked until they agree. */
static void nodes_that_differ(void **state)
{
    (void)state;
    for (uint32_t there = 0; there < 2; there++) {
        struct fake *fake = fake_create(2);
        struct fake_dict dict;
        uint32_t nodes = 0;
        open_table(fake, &dict);
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t peer;
            const uint32_t *request = asked(fake, &peer);
            if (peer == 1) {
                assert_true(fake_answer_table(fake, peer, request, 2));
            } else {
                fake_no_table(fake, peer, request);
            }
            nodes |= peer;
            assert_int_equal(dict.calls, 0);
            assert_null(api_dict_cached(fake->core, "test/def/t"));
        }
        assert_int_equal(nodes, 3);
        fake_expect_nothing(fake);
        if (there == 1) fake_link_down(fake, 2); /* The one that was behind is gone. */
        while (dict.calls == 0) {
            uint32_t peer;
            fake_sleep(fake, 100);
            if (dict.calls > 0) break;
            if (there == 0) {
                denied(fake);
                continue;
            }
            const uint32_t *request = asked(fake, &peer);
            assert_int_equal(peer, 1);
            assert_true(fake_answer_table(fake, peer, request, 2));
        }
        assert_int_equal(dict.result.error, there == 0 ? ERR_NO_SUCH_TABLE : 0);
        api_table_release(dict.result.table);
        assert_int_equal(dict.calls, 1);
        assert_int_equal(api_client_pending(fake->client), 0);
        fake_destroy(fake);
    }
}

/* The president is asked, by which all changes go, and somebody else. */
static void the_president_is_asked(void **state)
{
    (void)state;
    struct fake *fake = fake_create(3);
    for (uint32_t i = 0; i < 6; i++) {
        struct fake_dict dict;
        uint32_t first;
        uint32_t second;
        open_table(fake, &dict);
        first = denied(fake);
        second = denied(fake);
        assert_int_not_equal(first, second);
        assert_true(first == 1 || second == 1);
        assert_int_equal(dict.calls, 1);
        assert_int_equal(dict.result.error, ERR_NO_SUCH_TABLE);
        fake_expect_nothing(fake);
    }
    fake_destroy(fake);
}

/* Where nobody else is left one word has to do, and a word that nobody can repeat is asked again.
 */
static void nobody_else_is_left(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct fake_dict dict;
    uint32_t first;
    uint32_t second;
    open_table(fake, &dict);
    first = denied(fake);
    asked(fake, &second);
    fake_link_down(fake, second);
    assert_int_equal(dict.calls, 1);
    assert_int_equal(dict.result.error, ERR_NO_SUCH_TABLE);
    open_table(fake, &dict);
    assert_int_equal(denied(fake), first);
    assert_int_equal(dict.calls, 1);
    fake_link_up(fake, 3 - first, 77);
    fake_register(fake, 3 - first, START_STARTED, 1);
    open_table(fake, &dict);
    first = denied(fake);
    asked(fake, &second);
    fake_link_down(fake, first); /* What it said it may have said behind the others' back. */
    assert_int_equal(dict.calls, 0);
    fake_link_down(fake, second);
    fake_expect_nothing(fake);
    fake_link_up(fake, second, 78);
    fake_register(fake, second, START_STARTED, second);
    fake_sleep(fake, 100);
    const uint32_t *request = asked(fake, &second);
    assert_true(fake_answer_table(fake, second, request, 2));
    assert_int_equal(dict.calls, 1);
    assert_int_equal(dict.result.error, 0);
    api_table_release(dict.result.table);
    fake_destroy(fake);
}

/* A request that ends while its first answer waits for another one gives everything back (the
 * sanitizer builds see it). */
static void ends_between_two_answers(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        struct fake *fake = fake_create(2);
        struct fake_dict dict;
        uint32_t peer;
        open_table(fake, &dict);
        const uint32_t *request = asked(fake, &peer);
        assert_true(fake_answer_table(fake, peer, request, 2));
        assert_int_equal(dict.calls, 0);
        if (way == 0) {
            fake_sleep(fake, 1000);
            assert_int_equal(dict.calls, 1);
            assert_int_equal(dict.result.error, ERR_REQUEST_TIMEOUT);
        }
        fake_destroy(fake);
    }
}

static void list_says(struct fake *fake, const uint32_t *entry, uint32_t count)
{
    uint32_t peer;
    const uint32_t *request = fake_next(fake, GSN_LIST_TABLES_REQ, &peer);
    assert_int_equal(request[SIGNAL_HEAD_WORDS + 1], 0); /* From the beginning. */
    struct list_tables_conf conf = {.sender_data = request[SIGNAL_HEAD_WORDS], .count = count};
    fake_answer_section(fake, block_ref(peer, BLOCK_DBDICT, 0), GSN_LIST_TABLES_CONF, &conf, 3,
                        entry, 6 * count);
}

static void lists_that_differ(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct fake_dict dict = {0};
    uint32_t entry[6] = {7, 3, TABLE_ONLINE, 2, 3, 0x632F62u};
    assert_int_equal(api_dict_list(fake->client, 1000, fake_dict_done, &dict), 0);
    list_says(fake, entry, 1);
    list_says(fake, entry, 0);
    assert_int_equal(dict.calls, 0);
    fake_sleep(fake, 100);
    list_says(fake, entry, 1);
    entry[1] = 4; /* Another version. */
    fake_sleep(fake, 100);
    list_says(fake, entry, 1);
    assert_int_equal(dict.calls, 0);
    fake_sleep(fake, 100);
    list_says(fake, entry, 1);
    assert_int_equal(dict.calls, 1);
    assert_int_equal(dict.result.error, 0);
    assert_int_equal(dict.result.list_count, 1);
    fake_destroy(fake);
}

/* ---- Silence. ---- */

/* Ticks 100 ms apart until a link is closed; node 1 answers if it is to. Returns how many. */
static uint32_t ticks_until_closed(struct fake *fake, bool answers)
{
    uint32_t ticks = 0;
    for (fake->closed = 0; fake->closed == 0 && ticks < 100; ticks++) {
        fake_sleep(fake, 100);
        uint32_t closed = fake->closed;
        if (answers && closed == 0) says(fake, 1, 0, ALL);
        fake->closed = closed;
        fake->sent_count = fake->sent_read = 0;
    }
    return ticks;
}

/* A client that was not run asks nobody: it finds no node silent for it. */
static void a_client_that_was_starved(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    fake->closed = 0;
    for (uint32_t stall = 0; stall < 5; stall++) {
        fake_sleep(fake, 20000);
        assert_int_equal(fake->closed, 0);
        assert_true(api_core_node_ready(fake->core, 1));
        assert_true(api_core_node_ready(fake->core, 2));
        for (uint32_t node = 1; node <= 2; node++)
            says(fake, node, 0, ALL);
        fake->sent_count = fake->sent_read = 0;
    }
    assert_in_range(ticks_until_closed(fake, true), 49, 50); /* Five intervals of a second. */
    assert_int_equal(fake->closed, 2);
    fake_destroy(fake);
}

/* One that stalls all the time finds a silent node all the same. */
static void a_client_that_is_always_starved(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    uint32_t stalls = 0;
    for (fake->closed = 0; fake->closed == 0 && stalls < 20; stalls++)
        fake_sleep(fake, 3000);
    assert_in_range(stalls, 4, 6);
    fake_destroy(fake);
}

/* A node whose answers come late may be silent for longer. */
static void a_node_that_is_starved(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t ms = 0; ms < 3000; ms += 100)
            fake_sleep(fake, 100);
        for (uint32_t node = 1; node <= 2; node++)
            says(fake, node, 0, ALL);
        fake->sent_count = fake->sent_read = 0;
    }
    assert_in_range(ticks_until_closed(fake, true), 59, 60); /* A second more. */
    assert_int_equal(fake->closed, 2);
    fake_destroy(fake);
}

/* ---- The cache: what may be older than a change is not kept. ---- */

#define BEFORE 3u
#define AFTER  (BEFORE | 1u << 24) /* The same table with one more index. */

static void tell_changed(struct fake *fake, uint32_t by)
{
    struct table_changed_rep rep = {.table_id = 7, .version = AFTER};
    assert_true(fake_answer_to(fake, block_ref(OWN_NODE, BLOCK_API, 0),
                               block_ref(by, BLOCK_QMGR, 0), GSN_TABLE_CHANGED_REP, &rep,
                               sizeof rep / 4u, 0, NULL, NULL));
}

static void answered(struct fake *fake, uint32_t version)
{
    uint32_t peer;
    const uint32_t *request = asked(fake, &peer);
    assert_true(fake_answer_version(fake, peer, request, 2, version));
}

/* The caller has this version of the table, whatever is kept. */
static void has(const struct fake_dict *dict, uint32_t version)
{
    assert_int_equal(dict->calls, 1);
    assert_int_equal(dict->result.error, 0);
    assert_int_equal(api_table_def(dict->result.table)->version, version);
    api_table_release(dict->result.table);
}

static void kept(struct fake *fake, uint32_t version) /* 0: nothing is. */
{
    struct api_table *table = api_dict_cached(fake->core, "test/def/t");
    assert_int_equal(table == NULL ? 0 : api_table_def(table)->version, version);
    api_table_release(table);
}

static void read_table(struct fake *fake, uint32_t version)
{
    struct fake_dict dict;
    open_table(fake, &dict);
    answered(fake, version);
    answered(fake, version);
    has(&dict, version);
}

static void a_change_is_told(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    read_table(fake, BEFORE);
    kept(fake, BEFORE);
    tell_changed(fake, 1);
    kept(fake, 0);
    read_table(fake, AFTER);
    tell_changed(fake, 2);
    kept(fake, AFTER);
    fake_destroy(fake);
}

/* The answer waits for its thread, while the poller hears of the change that came behind it. */
static void an_answer_behind_its_change(void **state)
{
    (void)state;
    struct fake *fake = fake_create(2);
    struct fake_dict dict;
    open_table(fake, &dict);
    answered(fake, BEFORE);
    tell_changed(fake, 1);
    answered(fake, BEFORE);
    has(&dict, BEFORE);
    kept(fake, 0);
    read_table(fake, AFTER);
    kept(fake, AFTER);
    fake_destroy(fake);
}

/* What was asked for before the change does not replace what another has read since; nor what was
 * asked for before the application itself has said that it is old. */
static void a_late_answer(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        struct fake *fake = fake_create(2);
        struct fake_dict dict;
        uint32_t peer;
        open_table(fake, &dict);
        answered(fake, BEFORE);
        const uint32_t *late = asked(fake, &peer);
        if (way == 0) tell_changed(fake, 2);
        if (way == 1) api_dict_invalidate(fake->core, "test/def/t");
        read_table(fake, AFTER);
        kept(fake, AFTER);
        assert_true(fake_answer_version(fake, peer, late, 2, BEFORE));
        has(&dict, BEFORE);
        kept(fake, AFTER);
        fake_destroy(fake);
    }
}

/* Only who is registered is told of changes: a node that confirms tells of what it did not. Others
 * that seem to be there all the time may have been cut off as well. */
static void cut_off_from_changes(void **state)
{
    (void)state;
    for (uint32_t way = 0; way < 2; way++) {
        struct fake *fake = fake_create(2);
        struct fake_dict dict;
        read_table(fake, BEFORE);
        open_table(fake, &dict);
        answered(fake, BEFORE);
        uint32_t peer;
        const uint32_t *late = asked(fake, &peer);
        fake_link_down(fake, 3 - peer);
        if (way == 0) fake_link_down(fake, peer);
        fake_link_up(fake, 3 - peer, 77);
        if (way == 0) fake_link_up(fake, peer, 78);
        kept(fake, BEFORE);
        fake_register(fake, 3 - peer, START_STARTED, 1);
        kept(fake, 0);
        if (way == 0) {
            fake_register(fake, peer, START_STARTED, 1);
            fake_sleep(fake, 100);
            late = asked(fake, &peer);
        }
        assert_true(fake_answer_version(fake, peer, late, 2, BEFORE));
        while (dict.calls == 0)
            answered(fake, BEFORE);
        has(&dict, BEFORE);
        kept(fake, 0);
        read_table(fake, AFTER);
        fake_register(fake, 1, START_STARTED, 1); /* A heartbeat. */
        kept(fake, AFTER);
        fake_destroy(fake);
    }
}

/* A list of several batches comes from one node, or begins again with another one. */
static void a_list_of_batches(void **state)
{
    (void)state;
    struct fake *fake = fake_create(3);
    struct fake_dict dict = {0};
    uint32_t entry[6] = {7, 3, TABLE_ONLINE, 2, 3, 0x632F62u};
    assert_int_equal(api_dict_list(fake->client, 1000, fake_dict_done, &dict), 0);
    uint32_t peer;
    uint32_t again;
    uint32_t ref = fake_next(fake, GSN_LIST_TABLES_REQ, &peer)[SIGNAL_HEAD_WORDS];
    struct list_tables_conf conf = {.sender_data = ref, .count = 1, .next_id = 8};
    fake_answer_section(fake, block_ref(peer, BLOCK_DBDICT, 0), GSN_LIST_TABLES_CONF, &conf, 3,
                        entry, 6);
    assert_int_equal(fake_next(fake, GSN_LIST_TABLES_REQ, &again)[SIGNAL_HEAD_WORDS + 1], 8);
    assert_int_equal(again, peer);
    fake_link_down(fake, peer);
    list_says(fake, entry, 1);
    assert_int_equal(dict.calls, 0);
    list_says(fake, entry, 1);
    assert_int_equal(dict.calls, 1);
    assert_int_equal(dict.result.list_count, 1);
    fake_destroy(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_and_back),
        cmocka_unit_test(a_lost_node_speaks_for_itself),
        cmocka_unit_test(why_a_node_refuses),
        cmocka_unit_test(a_lost_node_is_missing_elsewhere),
        cmocka_unit_test(a_new_life),
        cmocka_unit_test(lives_are_counted),
        cmocka_unit_test(nodes_that_differ),
        cmocka_unit_test(the_president_is_asked),
        cmocka_unit_test(nobody_else_is_left),
        cmocka_unit_test(ends_between_two_answers),
        cmocka_unit_test(a_client_that_was_starved),
        cmocka_unit_test(a_client_that_is_always_starved),
        cmocka_unit_test(a_node_that_is_starved),
        cmocka_unit_test(a_change_is_told),
        cmocka_unit_test(an_answer_behind_its_change),
        cmocka_unit_test(a_late_answer),
        cmocka_unit_test(cut_off_from_changes),
        cmocka_unit_test(lists_that_differ),
        cmocka_unit_test(a_list_of_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
