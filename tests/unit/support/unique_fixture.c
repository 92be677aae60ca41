/* unique_fixture.c -- a table in use gets a unique index and loses it: DICT's orders, and clients
 * of the table. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/unique_fixture.h"

/* --- DICT's part. --- */

static void send_order(uint32_t node, uint32_t block_no, enum unique_state unique)
{
    struct local_unique_req req = {.table_id = 1, .index_id = W_INDEX, .state = unique};
    w.unique = true;
    const struct section *sections = w_table_words(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP, false);
    w_self(&w, node, block_no, 1, GSN_LOCAL_UNIQUE_REQ, &req, sizeof req / 4u, sections,
           unique == UNIQUE_KNOWN);
}

void unique_begin_order(uint32_t block_no, enum unique_state unique)
{
    for (uint32_t node = 1; node <= w.nodes; node++) {
        w_driver(&w, node)->uniques = 0;
        send_order(node, block_no, unique);
    }
    w_run(&w);
}

uint32_t unique_answered(void)
{
    uint32_t count = 0;
    for (uint32_t node = 1; node <= w.nodes; node++)
        count += w_driver(&w, node)->uniques;
    return count;
}

void unique_order(uint32_t block_no, enum unique_state unique)
{
    unique_begin_order(block_no, unique);
    assert_int_equal(unique_answered(), w.nodes);
}

void unique_make_known(void)
{
    struct local_table_add_req req = {.table_id = W_INDEX, .version = 1};
    struct section index[2];
    w.unique = true;
    w_index_words(w_table_words(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP, false), index);
    for (uint32_t node = 1; node <= w.nodes; node++) {
        w_self(&w, node, BLOCK_DBLQH, 1, GSN_LOCAL_TABLE_ADD_REQ, &req, 3, index, 2);
        w_self(&w, node, BLOCK_DBTC, 1, GSN_LOCAL_TABLE_ADD_REQ, &req, 3, index, 2);
    }
    w_run(&w);
    for (uint32_t node = 1; node <= w.nodes; node++)
        w_order(&w, node, BLOCK_DBLQH, W_INDEX, LOCAL_TABLE_ONLINE);
    unique_order(BLOCK_DBTC, UNIQUE_KNOWN);
    unique_order(BLOCK_DBLQH, UNIQUE_KNOWN);
}

void unique_make_firing(void)
{
    unique_make_known();
    unique_order(BLOCK_DBLQH, UNIQUE_DELETES);
    unique_order(BLOCK_DBLQH, UNIQUE_FIRES);
}

void unique_make_online(void)
{
    unique_order(BLOCK_DBTC, UNIQUE_STRICT);
    for (uint32_t node = 1; node <= w.nodes; node++)
        w_order(&w, node, BLOCK_DBTC, W_INDEX, LOCAL_TABLE_ONLINE);
    w_run(&w);
}

void unique_forget(void)
{
    unique_order(BLOCK_DBTC, UNIQUE_LOOSE);
    unique_order(BLOCK_DBLQH, UNIQUE_SILENT);
    unique_order(BLOCK_DBTC, UNIQUE_GONE);
    unique_order(BLOCK_DBLQH, UNIQUE_GONE);
    for (uint32_t node = 1; node <= w.nodes; node++) {
        w_order(&w, node, BLOCK_DBTC, W_INDEX, LOCAL_TABLE_DROPPING);
        w_order(&w, node, BLOCK_DBLQH, W_INDEX, LOCAL_TABLE_DROPPING);
        w_order(&w, node, BLOCK_DBTC, W_INDEX, LOCAL_TABLE_DROP);
        w_order(&w, node, BLOCK_DBLQH, W_INDEX, LOCAL_TABLE_DROP);
    }
    w_run(&w);
}

/* --- Clients. --- */

void unique_done(struct trx *t, enum key_operation operation, uint32_t key, uint32_t value)
{
    t_next(t);
    t_op(t, .api_op = key, .info = INFO(operation, WRITE_ALL), .key = key, .value = value);
    w_run(&w);
    t_expect_keyconf(t, KEYCONF_COMMITTED);
}

void unique_begun(struct trx *t, enum key_operation operation, uint32_t key, uint32_t value)
{
    t_next(t);
    t_op(t, .api_op = key, .info = INFO(operation, KEY_START | KEY_EXECUTE), .key = key,
         .value = value);
    w_run(&w);
    t_expect_keyconf(t, 0);
}

void unique_committed(struct trx *t)
{
    t_commit(t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
}

void unique_rolled_back(struct trx *t)
{
    t_rollback(t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
}

void unique_expect_entry(uint32_t value, bool there)
{
    struct trx t = t_new(&w, CLIENT, 2);
    t_unique(&t, .api_op = value, .info = UNIQUE(OP_READ, LOCK_SHARED, WRITE_ALL), .key = value);
    w_run(&w);
    if (there) {
        t_expect_value(&w, value, value);
        t_expect_keyconf(&t, KEYCONF_COMMITTED);
    } else {
        t_expect_rolled_back(&t, ERR_ROW_NOT_FOUND, value);
    }
}
