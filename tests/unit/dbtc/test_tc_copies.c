/* test_tc_copies.c -- fully replicated tables through TC and LQH: copies follow their partitions,
 * reads and scans use those that are near, what is refused, forged messages. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "tests/unit/support/tc_fixture.h"

#define GROUPS     2u
#define PARTITIONS 4u
#define FRAGMENTS  (GROUPS * PARTITIONS)
#define KEYS       40u

static void few_operations(struct node_config *config)
{
    config->operations_max = 200;
    config->deadlock_timeout_ms = 200;
}

static void start_with(bool unique, uint32_t flags)
{
    w_start(&w, &(struct world_options){.nodes = GROUPS * 2u,
                                        .replicas = 2,
                                        .fragments = FRAGMENTS,
                                        .tune = few_operations});
    w.partitions = PARTITIONS;
    w.unique = unique;
    w.indexed = !unique;
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_FULLY_REPLICATED | flags);
}

static int start(void **state)
{
    (void)state;
    start_with(false, TABLE_READ_BACKUP);
    return 0;
}

static int start_primaries(void **state)
{
    (void)state;
    start_with(false, 0);
    return 0;
}

static int start_plain(void **state)
{
    (void)state;
    w_start(&w, &(struct world_options){.nodes = GROUPS * 2u,
                                        .replicas = 2,
                                        .fragments = PARTITIONS,
                                        .tune = few_operations});
    w.partitions = PARTITIONS;
    w_table(&w, 1, TABLE_ROW_GCI);
    return 0;
}

static int start_unique(void **state)
{
    (void)state;
    start_with(true, TABLE_READ_BACKUP);
    return 0;
}

/* --- What the fragments have. --- */

struct sum {
    uint32_t rows;
    uint64_t hash;
};

static struct sum sum_of(uint32_t node, uint32_t table, uint32_t fragment)
{
    static const uint32_t all = (uint32_t)ATTR_READ_ALL << 16;
    struct lqh *lqh = (struct lqh *)(void *)node_block(w.n[node].node, BLOCK_DBLQH, 1);
    struct tup_frag *frag = tup_frag_get(lqh->tup, lqh->table[table]->frags[fragment]);
    struct tup_scan_position position = {0, 0};
    struct sum sum = {0, 0};
    uint32_t rows[64];
    for (bool end = false; !end;) {
        uint32_t count = tup_scan_next(lqh->tup, frag, &position, 0, 0, rows, 64, 1000, &end);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t out[64];
            uint32_t words = 0;
            uint64_t hash = 14695981039346656037u;
            struct tup_read read = {.frag = frag, .row = rows[i], .attr = &all, .attr_words = 1};
            assert_int_equal(tup_read(lqh->tup, &read, out, 64, &words), 0);
            for (uint32_t k = 0; k < words; k++)
                hash = (hash ^ out[k]) * 1099511628211u;
            sum.hash += hash;
            sum.rows++;
        }
    }
    return sum;
}

/* All replicas of a partition and of its copies have the same rows; `rows` in all. */
static void expect_equal(uint32_t table, uint32_t rows)
{
    uint32_t all = 0;
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        struct sum first = sum_of(w_node_of(&w, p, 0), table, p);
        all += first.rows;
        for (uint32_t f = p; f < FRAGMENTS; f += PARTITIONS) {
            for (uint32_t r = 0; r < 2; r++) {
                struct sum sum = sum_of(w_node_of(&w, f, r), table, f);
                assert_int_equal(sum.rows, first.rows);
                assert_true(sum.hash == first.hash);
            }
        }
    }
    assert_int_equal(all, rows);
}

static int stop(void **state)
{
    (void)state;
    assert_int_equal(c_left(&w), 0);
    w_expect_quiet(&w);
    w_stop(&w);
    return 0;
}

/* Requests that the LQH of a node has seen. */
static uint32_t requests(uint32_t node)
{
    return (uint32_t)((struct lqh *)(void *)node_block(w.n[node].node, BLOCK_DBLQH, 1))->requests;
}

/* One committed operation on one row. */
static void done(struct trx *t, enum key_operation operation, uint32_t key, uint32_t value)
{
    t_next(t);
    t_op(t, .api_op = key, .info = INFO(operation, WRITE_ALL), .key = key, .value = value);
    w_run(&w);
    t_expect_keyconf(t, KEYCONF_COMMITTED);
}

static void fill(struct trx *t)
{
    for (uint32_t key = 0; key < KEYS; key++)
        done(t, OP_INSERT, key, 100 + key);
}

/* --- Writes. --- */

static void test_copies_follow(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx other = t_new(&w, CLIENT_TWO, 4);
    fill(&t);
    expect_equal(1, KEYS);
    done(&other, OP_UPDATE, 3, 2003);
    done(&t, OP_WRITE, 4, 2004);
    done(&other, OP_WRITE, KEYS, 2005); /* An insert. */
    done(&t, OP_DELETE, 5, 0);
    done(&other, OP_INSERT, 5, 2006);
    done(&t, OP_DELETE, 6, 0);
    expect_equal(1, KEYS);
    c_expect_row(&w, 3, 2003);
    c_expect_row(&w, 4, 2004);
    c_expect_row(&w, KEYS, 2005);
    c_expect_row(&w, 5, 2006);
    c_expect_none(&w, 6);
}

/* Several operations on a row, in one batch and in several; what is rolled back leaves nothing; the
 * transaction itself sees what it has changed, wherever it reads. */
static void test_one_transaction(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 3);
    done(&t, OP_INSERT, 1, 10);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START), .key = 1, .value = 11);
    t_op(&t, .api_op = 2, .info = INFO(OP_DELETE, 0), .key = 1);
    t_op(&t, .api_op = 3, .info = INFO(OP_INSERT, KEY_EXECUTE), .key = 1, .value = 13);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    t_op(&t, .api_op = 4, .info = key_request_info(OP_READ, LOCK_COMMITTED, 0), .key = 1);
    w_run(&w);
    t_expect_value(&w, 4, 13);
    t_rollback(&t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
    expect_equal(1, 1);
    c_expect_row(&w, 1, 10);
    t_next(&t);
    t_op(&t, .api_op = 5, .info = INFO(OP_INSERT, KEY_START | KEY_IGNORE_ERROR), .key = 1,
         .value = 11);
    t_op(&t, .api_op = 6, .info = INFO(OP_UPDATE, KEY_EXECUTE | KEY_COMMIT), .key = 1, .value = 12);
    w_run(&w);
    t_expect_ref(&w, 5, ERR_ROW_EXISTS);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    expect_equal(1, 1);
    c_expect_row(&w, 1, 12);
}

/* Who changes a row waits for the others at the partition: the copies never meet two at odds. */
static void test_waits(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx other = t_new(&w, CLIENT_TWO, 3);
    for (uint32_t key = 0; key < 8; key++) { /* The keys are of all partitions. */
        done(&t, OP_INSERT, key, 10);
        t_next(&t);
        t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = key,
             .value = 11);
        w_run(&w);
        t_expect_keyconf(&t, 0);
        t_next(&other);
        t_op(&other, .api_op = 2, .info = INFO(OP_UPDATE, WRITE_ALL), .key = key, .value = 12);
        w_run(&w);
        c_expect_row(&w, key, 10);
        t_commit(&t);
        w_run(&w);
        assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
        t_expect_keyconf(&other, KEYCONF_COMMITTED);
        c_expect_row(&w, key, 12);
        t_next(&t);
        t_op(&t, .api_op = 3, .info = INFO(OP_READ, KEY_START | KEY_EXECUTE),
             .key = key); /* Locks the partition's row. */
        w_run(&w);
        t_expect_value(&w, 3, 12);
        t_expect_keyconf(&t, 0);
        t_next(&other);
        t_op(&other, .api_op = 4, .info = INFO(OP_DELETE, KEY_NOWAIT | WRITE_ALL), .key = key);
        w_run(&w);
        t_expect_rolled_back(&other, ERR_NOWAIT_LOCK, 4);
        t_rollback(&t);
        w_run(&w);
        assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
    }
    expect_equal(1, 8);
}

/* The entries of a unique index have copies, too; an index is changed by the partition's row only.
 */
static void test_unique(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 2);
    struct trx other = t_new(&w, CLIENT_TWO, 4);
    fill(&t);
    expect_equal(W_INDEX, KEYS);
    t_next(&t);
    t_unique(&t, .api_op = 1, .info = UNIQUE(OP_UPDATE, 0, KEY_START), .key = 101, .value = 201);
    t_unique(&t, .api_op = 2, .info = UNIQUE(OP_DELETE, 0, KEY_EXECUTE | KEY_COMMIT), .key = 102);
    w_run(&w);
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    expect_equal(1, KEYS - 1);
    expect_equal(W_INDEX, KEYS - 1);
    t_next(&other);
    t_op(&other, .api_op = 3, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 3, .value = 104);
    w_run(&w);
    const struct signal *sig = c_take(&w, GSN_TCROLLBACKREP);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->error, ERR_UNIQUE_DUPLICATE);
    expect_equal(1, KEYS - 1);
    expect_equal(W_INDEX, KEYS - 1);
    c_expect_row(&w, 1, 201);
    c_expect_none(&w, 2);
}

/* --- Reads. --- */

/* Each node answers for itself: only its own LQH is asked. */
static void test_reads_are_local(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    fill(&t);
    for (uint32_t node = 1; node <= w.nodes; node++) {
        uint32_t before[W_NODES + 1];
        for (uint32_t i = 1; i <= w.nodes; i++)
            before[i] = requests(i);
        for (uint32_t key = 0; key < KEYS; key++) {
            c_read(&w, node, key, key);
            t_expect_value(&w, key, 100 + key);
        }
        for (uint32_t i = 1; i <= w.nodes; i++)
            assert_int_equal(requests(i) - before[i], i == node ? KEYS : 0);
    }
}

/* Without READ_BACKUP the primary of the group's copy is asked. */
static void test_reads_of_primaries(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    fill(&t);
    for (uint32_t node = 1; node <= w.nodes; node++) {
        uint32_t before[W_NODES + 1];
        uint32_t group = (node - 1) / 2;
        for (uint32_t i = 1; i <= w.nodes; i++)
            before[i] = requests(i);
        for (uint32_t key = 0; key < KEYS; key++) {
            c_read(&w, node, key, key);
            t_expect_value(&w, key, 100 + key);
        }
        uint32_t here = 0;
        for (uint32_t i = 1; i <= w.nodes; i++) {
            uint32_t more = requests(i) - before[i];
            if ((i - 1) / 2 == group) assert_in_range(more, 1, KEYS - 1);
            if ((i - 1) / 2 == group) here += more;
        }
        assert_int_equal(here, KEYS);
    }
}

struct seen {
    uint32_t rows;
    uint32_t announced;
    uint32_t times[KEYS];
    uint32_t fragment[FRAGMENTS];
};

/* Everything that a scan gives, to its end. */
static uint32_t take_scan(const struct scan_tabreq *req, uint32_t node, struct seen *seen)
{
    for (;;) {
        w_run(&w);
        for (const struct signal *sig; (sig = c_take(&w, GSN_TRANSID_AI)) != NULL;) {
            const uint32_t *row = sig->section[0].words;
            for (uint32_t at = 0; at < sig->section[0].size; at += 1 + row[at]) {
                assert_int_equal(row[at], 2);
                assert_in_range(row[at + 2], 0, KEYS - 1);
                seen->times[row[at + 2]]++;
                seen->rows++;
            }
            seen->fragment[SIG_PAYLOAD(sig, transid_ai)->fragment_id]++;
        }
        const struct signal *sig = c_take(&w, GSN_SCAN_TABREF);
        if (sig != NULL) return SIG_PAYLOAD(sig, scan_tabref)->error;
        uint32_t more[FRAGMENTS];
        uint32_t count = 0;
        while ((sig = c_take(&w, GSN_SCAN_TABCONF)) != NULL) {
            const uint32_t *entry = sig->section[0].words;
            for (uint32_t i = 0; i < sig->section[0].size; i += SCAN_FRAG_ENTRY_WORDS) {
                seen->announced += entry[i + 1];
                if ((entry[i + 2] & SCAN_FRAG_DONE) == 0) more[count++] = entry[i];
            }
            if ((SIG_PAYLOAD(sig, scan_tabconf)->flags & SCAN_END) != 0) return 0;
        }
        assert_int_not_equal(count, 0);
        /* A partition is known by any of its fragments. */
        bool copies = (req->request_info & SCAN_COPIES) != 0;
        for (uint32_t i = 0; i < count && !copies; i++)
            more[i] = more[i] % PARTITIONS + PARTITIONS * (i % GROUPS);
        struct scan_nextreq next = {.tc_connect = req->tc_connect,
                                    .api_scan = req->api_scan,
                                    .transid1 = req->transid1,
                                    .transid2 = req->transid2};
        const struct section section = {more, count};
        c_send(&w, CLIENT, node, GSN_SCAN_NEXTREQ, &next, sizeof next / 4u, &section, 1);
    }
}

static uint32_t scan(uint32_t node, uint32_t info, uint32_t range_words, const uint32_t *range,
                     struct seen *seen)
{
    const uint32_t attr = attr_header(0, 0);
    memset(seen, 0, sizeof *seen);
    struct scan_tabreq req = {.tc_connect = c_seize(&w, CLIENT, node),
                              .api_scan = 5,
                              .table_id = 1,
                              .schema_version = 1,
                              .request_info = info,
                              .batch_rows = 3,
                              .transid1 = ++w.transid_next,
                              .transid2 = CLIENT};
    const struct section sections[3] = {{&attr, 1}, {&attr, 0}, {range, range_words}};
    c_send(&w, CLIENT, node, GSN_SCAN_TABREQ, &req, sizeof req / 4u, sections,
           range_words > 0 ? 3 : 1);
    return take_scan(&req, node, seen);
}

static void expect_each(const struct seen *seen, uint32_t times)
{
    for (uint32_t key = 0; key < KEYS; key++)
        assert_int_equal(seen->times[key], times);
    assert_int_equal(seen->rows, KEYS * times);
    assert_int_equal(seen->announced, seen->rows);
}

/* One whole set of fragments: of the own group without locks, with locks the partitions. */
static void test_scans(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct seen seen;
    fill(&t);
    uint32_t range[SCAN_RANGE_HEAD + 1];
    const struct scan_range whole = {.index = 0};
    uint32_t range_words = scan_range_encode(&whole, range, SCAN_RANGE_HEAD + 1);
    for (uint32_t node = 1; node <= w.nodes; node++) {
        for (uint32_t ranges = 0; ranges < 2; ranges++) {
            uint32_t words = ranges == 0 ? 0 : range_words;
            assert_int_equal(
                scan(node, key_request_info(OP_READ, LOCK_COMMITTED, 0), words, range, &seen), 0);
            expect_each(&seen, 1);
            for (uint32_t f = 0; f < FRAGMENTS; f++)
                assert_int_equal(seen.fragment[f] != 0,
                                 (w_node_of(&w, f, 0) - 1) / 2 == (node - 1) / 2);
            assert_int_equal(
                scan(node, key_request_info(OP_READ, LOCK_EXCLUSIVE, 0), words, range, &seen), 0);
            expect_each(&seen, 1);
            for (uint32_t f = 0; f < FRAGMENTS; f++)
                assert_int_equal(seen.fragment[f] != 0, f < PARTITIONS);
        }
        assert_int_equal(
            scan(node, key_request_info(OP_READ, LOCK_COMMITTED, SCAN_COPIES), 0, NULL, &seen), 0);
        expect_each(&seen, GROUPS);
        assert_int_equal(scan(node, key_request_info(OP_READ, LOCK_COMMITTED, SCAN_COPIES),
                              range_words, range, &seen),
                         ERR_TC_INTERNAL_203);
    }
}

/* --- What is refused. --- */

enum { POOL_OPERATIONS = 3 }; /* By its place in TC's list. */

/* No memory for the operation of a copy: nothing is left anywhere. */
static void test_no_memory(void **state)
{
    (void)state;
    static const uint32_t flags[] = {0, KEY_IGNORE_ERROR};
    struct trx t = t_new(&w, CLIENT, 1);
    done(&t, OP_INSERT, 1, 10);
    for (uint32_t i = 0; i < 2; i++) {
        w_tamper(&w, 1, BLOCK_DBTC, 9997, POOL_OPERATIONS << 16 | 2); /* The second one. */
        t_next(&t);
        t_op(&t, .api_op = 2, .info = INFO(OP_UPDATE, WRITE_ALL | flags[i]), .key = 1, .value = 11);
        w_run(&w);
        t_expect_rolled_back(&t, ERR_TC_OPERATIONS, 2);
    }
    expect_equal(1, 1);
    c_expect_row(&w, 1, 10);
}

/* The table is to go: what has begun ends, in the copies too. */
static void test_drop(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx holder = t_new(&w, CLIENT_TWO, 2);
    done(&t, OP_INSERT, 1, 10);
    t_next(&holder);
    t_op(&holder, .api_op = 1, .info = INFO(OP_READ, KEY_START | KEY_EXECUTE), .key = 1);
    w_run(&w);
    t_expect_value(&w, 1, 10);
    t_expect_keyconf(&holder, 0);
    t_next(&t);
    t_op(&t, .api_op = 2, .info = INFO(OP_UPDATE, WRITE_ALL), .key = 1, .value = 11); /* Waits. */
    w_run(&w);
    w_order(&w, 1, BLOCK_DBTC, 1, LOCAL_TABLE_DROPPING);
    w_run(&w);
    t_commit(&holder);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    t_expect_keyconf(&t, KEYCONF_COMMITTED);
    expect_equal(1, 1);
}

/* --- Words that no data node of ours sends. --- */

static uint32_t the_operation(uint32_t node)
{
    struct block *tc = node_block(w.n[node].node, BLOCK_DBTC, 1);
    const struct pool_record *record = pool_next(block_pool_at(tc, POOL_OPERATIONS), 0);
    assert_non_null(record);
    return record->ref;
}

/* As an LQH of node `from` would send it to the TC of node 1. True: the link was cut. */
static bool fire(const struct trx *t, uint32_t from, uint32_t key, uint32_t operation)
{
    const uint32_t attr[2] = {attr_header(1, 4), 77};
    const struct section sections[2] = {{&key, 1}, {attr, 2}};
    struct fire_copy_ord ord = {.tc_op = the_operation(1),
                                .transid1 = t->transid1,
                                .transid2 = t->transid2,
                                .operation = operation};
    w.closed_peer = 0;
    signal_send(w.n[from].driver, block_ref(1, BLOCK_DBTC, 1), GSN_FIRE_COPY_ORD, PRIO_B, &ord,
                sizeof ord / 4u, sections, 2);
    w_run(&w);
    w_run(&w);
    return w.closed_peer == from;
}

static void give_up(struct trx *t)
{
    t_rollback(t);
    w_run(&w);
    assert_non_null(c_take(&w, GSN_TCROLLBACKCONF));
}

/* Not for a read, not of a read, not from a backup or another group, not more than one. */
static void test_forged(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t key = 0; key < 8; key++) { /* Primaries are on all nodes. */
        done(&t, OP_INSERT, key, 10);
        t_next(&t);
        t_op(&t, .api_op = 1, .info = INFO(OP_READ, KEY_START | KEY_EXECUTE), .key = key);
        w_run(&w);
        t_expect_value(&w, 1, 10);
        t_expect_keyconf(&t, 0);
        for (uint32_t from = 2; from <= w.nodes; from++)
            assert_true(fire(&t, from, key, OP_UPDATE));
        give_up(&t);
        t_next(&t);
        t_op(&t, .api_op = 1, .info = INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), .key = key,
             .value = 11);
        w_run(&w);
        t_expect_keyconf(&t, 0); /* Its FIRE_COPY_ORD has come: none is due. */
        for (uint32_t from = 2; from <= w.nodes; from++) {
            assert_true(fire(&t, from, key, OP_UPDATE));
            assert_true(fire(&t, from, key, OP_READ));
            assert_true(fire(&t, from, key, OP_WRITE + 1u));
        }
        give_up(&t);
        c_expect_row(&w, key, 10);
    }
    expect_equal(1, 8);
}

/* Nor of a table without copies; what is for another transaction is ignored. */
static void test_forged_without_copies(void **state)
{
    (void)state;
    struct trx t = t_new(&w, CLIENT, 1);
    struct trx other = t_new(&w, CLIENT_TWO, 1);
    t_next(&t);
    t_op(&t, .api_op = 1, .info = INFO(OP_INSERT, KEY_START | KEY_EXECUTE), .key = 1, .value = 11);
    w_run(&w);
    t_expect_keyconf(&t, 0);
    assert_true(fire(&t, 2, 1, OP_INSERT));
    assert_false(fire(&other, 2, 1, OP_INSERT));
    give_up(&t);
}

/* A count that cannot be does not pass a backup. */
static void test_fired_count_at_backup(void **state)
{
    (void)state;
    static const struct {
        uint32_t flags, fired;
    } wrong[] = {{0, 1}, {KEY_COPIED, 2}, {KEY_COPY, 1}};
    struct block *lqh = node_block(w.n[1].node, BLOCK_DBLQH, 1);
    uint32_t key = 3;
    const uint32_t attr[2] = {attr_header(1, 4), 5};
    const struct section sections[2] = {{&key, 1}, {attr, 2}};
    assert_int_equal(w_node_of(&w, 0, 1), 2);
    for (uint32_t i = 0; i < 3; i++) {
        struct lqhkeyreq req = {.tc_op = 77,
                                .request_info = INFO(OP_INSERT, wrong[i].flags),
                                .table_id = 1,
                                .schema_version = 1,
                                .tc_ref = block_ref(1, BLOCK_DBTC, 1),
                                .api_ref = block_ref(CLIENT, BLOCK_API, 1),
                                .prev_ref = lqh->ref,
                                .prev_op = 77,
                                .tc_trans = 77,
                                .nodes = 1 | 2 << 8,
                                .fired = wrong[i].fired};
        w.closed_peer = 0;
        signal_send(lqh, block_ref(2, BLOCK_DBLQH, 1), GSN_LQHKEYREQ, PRIO_B, &req, sizeof req / 4u,
                    sections, 2);
        w_run(&w);
        w_run(&w);
        assert_int_equal(w.closed_peer, 1);
    }
}

#define TEST(test, start) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_copies_follow, start),
        TEST(test_one_transaction, start),
        TEST(test_waits, start),
        TEST(test_unique, start_unique),
        TEST(test_reads_are_local, start),
        TEST(test_reads_of_primaries, start_primaries),
        TEST(test_scans, start),
        TEST(test_no_memory, start),
        TEST(test_drop, start),
        TEST(test_forged, start),
        TEST(test_forged_without_copies, start_plain),
        TEST(test_fired_count_at_backup, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
