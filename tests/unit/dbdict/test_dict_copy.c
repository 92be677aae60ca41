/* test_dict_copy.c -- the schema that a cluster starts with is copied from one node to the others.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/dict_fixture.h"

static bool start_both(bool initial, uint32_t source)
{
    for (uint32_t id = 1; id <= 2; id++) {
        if (!sim_alive(dw.world, id)) assert_true(sim_restart(dw.world, id));
    }
    for (uint32_t i = 0; i < 10000 && !sim_linked(dw.world, 1, 2); i++)
        dw_run_us(500);
    if (!dw_begin(1) || !dw_begin(2)) return false;
    uint64_t sequence = dw_sequence_of(source);
    for (uint32_t id = 1; id <= 2; id++)
        dw_send_restart(id, initial ? START_INITIAL : START_SYSTEM_RESTART, source, sequence);
    bool both = dw_online(1);
    return dw_online(2) && both;
}

static void kill_both(void)
{
    for (uint32_t id = 1; id <= 2; id++) {
        if (sim_alive(dw.world, id)) sim_kill(dw.world, id);
    }
}

/* One node's disk is full: none makes the table. */
static void test_full_disk_of_one_node(void **state)
{
    (void)state;
    dw_world_make(2);
    assert_true(start_both(true, 1));
    assert_true(dw_create(1, 500));
    uint64_t before = dw_digest(1);
    for (uint32_t id = 1; id <= 2; id++) {
        sim_disk_set_capacity(dw_disk_at(id), 1);
        assert_int_equal(dw_create_refused(2, 500), ERR_DISK_FULL);
        dw_run_us(10000);
        assert_true(dw_digest(1) == before && dw_digest(2) == before);
        dw_assert_workers(1);
        dw_assert_workers(2);
        sim_disk_set_capacity(dw_disk_at(id), 0);
        assert_true(dw_create(2 + id, 500)); /* The other node has got its room already. */
        before = dw_digest(1);
    }
    kill_both();
    assert_true(start_both(false, 1));
    assert_true(dw_digest(1) == dw_digest(2) && dw_digest(1) == before);
    dw_world_drop();
}

/* A node that has room for fewer tables takes none of them, instead of those that fit: in a start
 * of all and in its return. A number without a table counts, since its version does. */
static void test_fewer_tables_than_the_source(void **state)
{
    (void)state;
    for (uint32_t room = 0; room <= 4; room++) {
        dw_world_make(2);
        assert_true(start_both(true, 1));
        for (uint32_t i = 1; i <= 4; i++)
            assert_true(dw_create(i, 3));
        if (room == 3) assert_true(dw_drop(4));
        kill_both();
        for (uint32_t id = 1; id <= 2; id++)
            assert_true(sim_restart(dw.world, id));
        for (uint32_t i = 0; i < 10000 && !sim_linked(dw.world, 1, 2); i++)
            dw_run_us(500);
        assert_true(dw_begin(1) && dw_begin(2));
        uint64_t sequence = dw_sequence_of(1);
        dict_store_clear(dw_dict_at(2)); /* It has begun anew, with another configuration. */
        dw_dict_at(2)->table_count = 1u + room;
        for (uint32_t id = 1; id <= 2; id++)
            dw_send_restart(id, START_SYSTEM_RESTART, 1, sequence);
        assert_true(dw_online(1));
        assert_int_equal(dw_online(2), room == 4);
        if (room == 4) {
            assert_true(dw_digest(1) == dw_digest(2));
        } else {
            char text[80];
            snprintf(text, sizeof text, "has had a table of number %u, and MaxNoOfTables is %u",
                     room + 1u, room);
            dw_assert_ended(2, EXIT_SCHEMA_LIMIT, text);
        }
        kill_both();
        assert_true(start_both(false, 2)); /* Its files have all of them still. */
        assert_int_equal(dw_dict_at(1)->tables, room == 3 ? 3 : 4);
        dw_world_drop();
    }
}

static void test_copy_from_the_source(void **state)
{
    (void)state;
    dw_world_make(2);
    assert_true(start_both(true, 1));
    for (uint32_t i = 1; i <= 4; i++)
        assert_true(dw_create(i, i == 3 ? 400 : 3));
    assert_true(dw_digest(1) == dw_digest(2));
    assert_true(dw_drop(2));
    /* The first node alone changes the schema: what a partial start does. */
    kill_both();
    dw.members = 2;
    assert_true(dw_restart_alone());
    assert_int_equal(dw_actor_of(dw_block_at(1, BLOCK_DBTC, 1))->nodes,
                     3); /* Node 1, and 0 = none. */
    assert_true(dw_create(5, 3));
    assert_int_equal(dw_actor_of(dw_block_at(1, BLOCK_DBLQH, 1))->nodes, 3);
    assert_true(dw_drop(1));
    assert_true(dw_create(6, 3));
    uint64_t newest = dw_digest(1);
    kill_both();
    dw.members = 6;
    assert_true(start_both(false, 1));
    assert_true(dw_sequence_of(2) < dw_sequence_of(1));
    assert_true(dw_digest(2) == newest && dw_digest(1) == newest);
    assert_int_equal(dw_actor_of(dw_block_at(2, BLOCK_DBTC, 1))->nodes,
                     6); /* All places are kept. */
    dw_assert_workers(2);
    kill_both();
    assert_true(start_both(false, 2)); /* It was written there. */
    assert_true(dw_digest(1) == newest);
    /* Another table under the same sequence; and a newer one that the source does not know. */
    for (uint32_t extra = 0; extra < 2; extra++) {
        kill_both();
        dw.members = 2;
        assert_true(dw_restart_alone());
        assert_true(dw_create(10, 3));
        for (uint32_t i = 0; i < extra; i++)
            assert_true(dw_create(20 + i, 3));
        sim_kill(dw.world, 1);
        dw.members = 6;
        assert_true(start_both(false, 2));
        assert_true(dw_digest(1) == newest && dw_digest(2) == newest);
        dw_assert_workers(1);
        assert_true(dw_dict_at(1)->file.sequence == dw_dict_at(2)->file.sequence);
    }
    assert_true(dw_create(30, 3));
    assert_true(dw_digest(1) == dw_digest(2));
    dw_world_drop();
}

/* Both nodes are up to the point where the schema of the first one counts. */
static void begin_both(void)
{
    for (uint32_t id = 1; id <= 2; id++)
        assert_true(sim_restart(dw.world, id));
    for (uint32_t i = 0; i < 10000 && !sim_linked(dw.world, 1, 2); i++)
        dw_run_us(500);
    assert_true(dw_begin(1) && dw_begin(2));
}

/* Numbers that only this node knows, a name under another number, a damaged copy. */
static void test_copy_of_another_history(void **state)
{
    (void)state;
    for (uint32_t what = 0; what < 3; what++) {
        dw_world_make(2);
        assert_true(start_both(true, 1));
        for (uint32_t i = 1; i <= 4; i++)
            assert_true(dw_create(i, 3));
        kill_both();
        if (what == 2) assert_true(sim_disk_rot(dw_disk_at(2), dw_files[0], 5000));
        begin_both();
        struct dict *source = dw_dict_at(1);
        for (uint32_t id = 2; id <= 4 && what < 2; id += 2) {
            dict_store_remove(source, id);
            source->table[id].version = 0;
        }
        if (what == 1)
            dw_put(.node = 1, .id = 2, .version = 7, .name = 4,
                   .columns = 3); /* The name of number 4 of the other node. */
        dw_send_restart(2, START_SYSTEM_RESTART, 1, dw_sequence_of(1));
        assert_true(dw_online(2));
        assert_true(dw_digest(1) == dw_digest(2));
        dw_assert_workers(2);
        assert_true(dict_file_equal(dw_dict_at(2)));
        dw_world_drop();
    }
}

/* The source's memory is changed: whatever comes, the node takes a table that can be, or stops. */
static void test_forged_source(void **state)
{
    (void)state;
    uint32_t refused = 0;
    struct rng rng;
    rng_seed(&rng, 5);
    for (uint32_t i = 0; i < 40; i++) {
        dw_world_make(2);
        assert_true(start_both(true, 1));
        assert_true(dw_create(1, 3));
        kill_both();
        begin_both();
        struct dict *source = dw_dict_at(1);
        struct dict_chunk *chunk = pool_find(&source->chunks, source->table[1].first_chunk);
        uint32_t words = source->table[1].def_words + source->table[1].distribution_words;
        chunk->words[rng_below(&rng, words)] ^= 1u << rng_below(&rng, 32);
        if (i % 4 == 0) source->table[1].version ^= 2u + i / 4;
        dw_send_restart(2, START_SYSTEM_RESTART, 1, dw_sequence_of(1));
        if (dw_online(2)) {
            dw_assert_workers(2);
        } else {
            dw_assert_ended(2, EXIT_SCHEMA_SOURCE, "node 1 gave a schema that is refused: table 1");
            refused++;
        }
        dw_world_drop();
    }
    assert_true(refused > 15);
    dw_world_make(2); /* A source that has none. */
    assert_true(start_both(true, 1));
    kill_both();
    assert_true(sim_restart(dw.world, 1));
    assert_true(sim_restart(dw.world, 2));
    for (uint32_t n = 0; n < 10000 && !sim_linked(dw.world, 1, 2); n++)
        dw_run_us(500);
    assert_true(dw_begin(2));
    assert_true(dw_wait_for(1, GSN_READ_CONFIG_CONF, 2));
    dw_send_restart(2, START_SYSTEM_RESTART, 1, 1);
    assert_false(dw_online(2));
    dw_assert_ended(2, EXIT_SCHEMA_SOURCE, "node 1");
    assert_true(sim_restart(dw.world, 2)); /* Nobody has one, though there is data. */
    assert_true(dw_begin(2));
    dw_send_restart(2, START_SYSTEM_RESTART, 1, 0);
    assert_false(dw_online(2));
    dw_assert_ended(2, EXIT_SCHEMA_DAMAGED, "missing");
    dw_world_drop();
}

/* Each table of the source can be, but they do not fit each other. */
static void test_forged_indexes(void **state)
{
    (void)state;
    for (enum misfit misfit = 0; misfit <= MISFITS; misfit++) {
        dw_world_make(2);
        assert_true(start_both(true, 1));
        assert_true(dw_create_unique(1));
        assert_true(dw_create(4, 3));
        kill_both();
        begin_both();
        if (misfit != MISFITS) {
            struct dict *source = dw_dict_at(1);
            const struct dict_table *table = &source->table[dw_misfit_id(misfit)];
            struct dict_chunk *chunk = pool_find(&source->chunks, table->first_chunk);
            assert_true(table->def_words < DICT_CHUNK_WORDS);
            struct table_def *def = dw_read_def(chunk->words, table->def_words);
            dw_misfit_make(misfit, def);
            assert_int_equal(table_def_encode(def, chunk->words, table->def_words),
                             table->def_words);
        }
        dw_send_restart(2, START_SYSTEM_RESTART, 1, dw_sequence_of(1));
        assert_int_equal(dw_online(2), misfit == MISFITS);
        if (misfit != MISFITS)
            dw_assert_ended(2, EXIT_SCHEMA_SOURCE, "node 1 gave a schema that is refused: table");
        dw_world_drop();
    }
}

/* --- A lost node comes back while the other one runs. --- */

static void tell_dict(uint32_t node, uint32_t gsn, const void *payload, uint32_t words)
{
    signal_send(&dw_cntr(node)->block, block_ref(node, BLOCK_DBDICT, 0), gsn, PRIO_A, payload,
                words, NULL, 0);
    dw_run_us(50000); /* It has arrived. */
}

static void lose_node_two(uint32_t failure_no)
{
    struct node_lost_rep rep = {.failure_no = failure_no, .president = 1};
    if (sim_alive(dw.world, 2)) sim_kill(dw.world, 2);
    node_mask_add(&rep.nodes, 2);
    node_mask_add(&rep.alive, 1);
    tell_dict(1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u);
}

static void lock(uint32_t node)
{
    struct schema_lock_req req = {.sender_data = 9, .node = node};
    tell_dict(1, GSN_SCHEMA_LOCK_REQ, &req, 2);
}

static void include_node_two(uint32_t failure_no, uint32_t rank)
{
    struct node_include_req req = {
        .node = 2, .rank = rank, .failure_no = failure_no, .president = 1};
    struct node_include_rep rep = {.node = 2, .rank = rank, .failure_no = failure_no};
    const uint32_t pairs[2] = {2, rank};
    const struct section ranks = {pairs, 2};
    node_mask_add(&req.alive, 1);
    node_mask_add(&rep.alive, 1);
    node_mask_add(&rep.alive, 2);
    signal_send(&dw_cntr(2)->block, block_ref(2, BLOCK_DBDICT, 0), GSN_NODE_INCLUDE_REQ, PRIO_A,
                &req, sizeof req / 4u, &ranks, 1);
    assert_true(dw_wait_for(2, GSN_NODE_INCLUDE_CONF, 1));
    tell_dict(1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u);
}

static void start_surviving(void)
{
    struct node_config config = dw_config_of(2);
    config.survive = 1;
    dw_world_make_with(2, &config);
    assert_true(start_both(true, 1));
}

static void come_back(uint32_t failure_no, uint32_t tables)
{
    assert_true(sim_restart(dw.world, 2));
    for (uint32_t i = 0; i < 10000 && !sim_linked(dw.world, 1, 2); i++)
        dw_run_us(500);
    assert_true(dw_begin(2));
    uint32_t locks = dw_cntr(1)->answers[GSN_SCHEMA_LOCK_CONF];
    lock(2);
    assert_true(dw_wait_for(1, GSN_SCHEMA_LOCK_CONF, locks + 1));
    assert_int_equal(dw_create_refused(99, 3), ERR_NODE_RESTART_BLOCKS_SCHEMA);
    dw_send_restart(2, START_INITIAL_NODE_RESTART, 1, dw_dict_at(1)->file.sequence);
    assert_true(dw_online(2));
    include_node_two(failure_no, 40 + failure_no);
    assert_true(dw_digest(1) == dw_digest(2));
    dw_assert_workers(2);
    struct copy_start_req copy = {.sender_data = 1};
    tell_dict(2, GSN_COPY_START_REQ, &copy, 1);
    assert_true(dw_wait_for(2, GSN_COPY_START_CONF, 1));
    assert_true(dw_cntr(2)->answers[GSN_COPY_PROGRESS_REP] > 0);
    for (uint32_t i = 1; i <= FACTORY; i++) {
        assert_int_equal(dw_actor_of(dw_block_at(2, BLOCK_DBLQH, i))->copied, tables);
        assert_int_equal(dw_actor_of(dw_block_at(2, BLOCK_DBLQH, i))->sources, 1u << 1);
    }
    struct schema_unlock_ord unlock = {.node = 2};
    tell_dict(1, GSN_SCHEMA_UNLOCK_ORD, &unlock, 1);
}

static void test_copy_from_a_running_node(void **state)
{
    (void)state;
    start_surviving();
    for (uint32_t i = 1; i <= 3; i++)
        assert_true(dw_create(i, i == 3 ? 400 : 3));
    for (uint32_t failure_no = 1; failure_no <= 2; failure_no++) {
        lose_node_two(failure_no);
        assert_true(dw_create(10 + failure_no, 3));
        assert_int_equal(dw_actor_of(dw_block_at(1, BLOCK_DBTC, 1))->nodes, 1u << 1);
        assert_int_equal(dw_actor_of(dw_block_at(1, BLOCK_DBTC, 1))->absent, 1u << 2);
        assert_true(dw_drop(failure_no));
        come_back(failure_no, 3);
        assert_true(dw_create(20 + failure_no, 3)); /* On both again. */
        assert_int_equal(dw_actor_of(dw_block_at(1, BLOCK_DBTC, 1))->nodes, 6);
        assert_true(dw_digest(1) == dw_digest(2));
        assert_true(dw_drop(20 + failure_no));
    }
    uint64_t before = dw_digest(1);
    kill_both();
    assert_true(start_both(false, 2)); /* It was written there. */
    assert_true(dw_digest(1) == before);
    dw_assert_workers(1);
    dw_world_drop();
}

/* The lock waits for the transaction under way, and goes with the node. */
static void test_lock(void **state)
{
    (void)state;
    start_surviving();
    dw_begin_create(1, 3);
    struct schema_lock_req req = {.sender_data = 9, .node = 2};
    sig_send(&dw_cntr(1)->block, block_ref(1, BLOCK_DBDICT, 0), GSN_SCHEMA_LOCK_REQ, PRIO_A, &req);
    for (uint32_t i = 0; dw_cntr(1)->answers[GSN_CREATE_TABLE_CONF] == 0; i++) {
        assert_true(i < 10000);
        assert_int_equal(dw_cntr(1)->answers[GSN_SCHEMA_LOCK_CONF], 0);
        dw_run_us(100);
    }
    dw_run_us(1000);
    assert_int_equal(dw_cntr(1)->answers[GSN_SCHEMA_LOCK_CONF], 1);
    assert_int_equal(dw_create_refused(2, 3), ERR_NODE_RESTART_BLOCKS_SCHEMA);
    uint32_t refused = dw_cntr(1)->answers[GSN_DROP_TABLE_REF];
    dw_begin_drop(1);
    assert_true(dw_wait_for(1, GSN_DROP_TABLE_REF, refused + 1));
    struct schema_unlock_ord other = {.node = 3};
    tell_dict(1, GSN_SCHEMA_UNLOCK_ORD, &other, 1);
    assert_int_equal(dw_create_refused(2, 3), ERR_NODE_RESTART_BLOCKS_SCHEMA);
    req = (struct schema_lock_req){.sender_data = 10, .node = 3}; /* It shares the lock. */
    tell_dict(1, GSN_SCHEMA_LOCK_REQ, &req, 2);
    dw_run_us(1000);
    assert_int_equal(dw_cntr(1)->answers[GSN_SCHEMA_LOCK_CONF], 2);
    lose_node_two(1);
    assert_int_equal(dw_create_refused(2, 3), ERR_NODE_RESTART_BLOCKS_SCHEMA);
    tell_dict(1, GSN_SCHEMA_UNLOCK_ORD, &other, 1);
    assert_true(dw_create(2, 3));
    dw_world_drop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fewer_tables_than_the_source),
        cmocka_unit_test(test_copy_from_the_source),
        cmocka_unit_test(test_full_disk_of_one_node),
        cmocka_unit_test(test_copy_of_another_history),
        cmocka_unit_test(test_forged_source),
        cmocka_unit_test(test_forged_indexes),
        cmocka_unit_test(test_copy_from_a_running_node),
        cmocka_unit_test(test_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
