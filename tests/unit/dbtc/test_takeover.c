/* test_takeover.c -- a data node dies after every single signal of a commit, an abort, a prepare, a
 * scan; the survivors end what was under way, and the client's answer is true. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/key/lqh_op.h"
#include "signals/takeover.h"
#include "tests/unit/support/sparse.h"
#include "tests/unit/support/tc_fixture.h"

#define FRAGMENTS  4u
#define KEYS       6u
#define OLD_VALUE  10u
#define NEW_VALUE  20u
#define STEPS_MAX  4000u
#define EVER_AFTER 100000u

static uint32_t ends[W_NODES + 1]; /* Newest TAKEOVER_END_REP. */
static uint32_t failures;
static uint32_t rng_state;

static uint32_t dice(uint32_t sides)
{
    rng_state = rng_state * 1664525u + 1013904223u;
    return (rng_state >> 8) % sides;
}

/* --- Stands for DIH. --- */

static void stub_exec_TAKEOVER_END_REP(struct block *block, const struct signal *sig)
{
    uint32_t no = SIG_PAYLOAD(sig, takeover_end_rep)->failure_no;
    assert_true(no > ends[ref_node(block->ref)]);
    ends[ref_node(block->ref)] = no;
}
static const struct handler stub_handlers[] = {
    HANDLER(stub, TAKEOVER_END_REP, takeover_end_rep),
};
static const struct block_type stub_type = {"DBDIH", BLOCK_DBDIH, stub_handlers, 1, NULL};

static void small(struct node_config *config)
{
    config->deadlock_timeout_ms = 200;
}

/* Memory is used up: so many records, and there will be no more. */
static void leave(uint32_t node, const char *name, uint32_t count)
{
    struct block *tc = node_block(w.n[node].node, BLOCK_DBTC, 1);
    struct pool *pool = NULL;
    for (uint32_t i = 0; (pool = block_pool_at(tc, i)) != NULL; i++) {
        if (strcmp(tc->pools[i].name, name) != 0) continue;
        uint32_t index = pool->free;
        for (uint32_t left = 1; left < count; left++)
            index = pool_record_at(pool, index)->next_free & POOL_INDEX_MAX;
        pool_record_at(pool, index)->next_free &= ~POOL_INDEX_MAX;
        pool->max = pool->carved;
    }
}

static uint32_t orphan_ops; /* So many for a take-over; 0 = no limit. */
static bool unique;         /* The table has a unique index. */

static void begin(uint32_t nodes, uint32_t replicas, void (*tune)(struct node_config *))
{
    w_start(&w, &(struct world_options){
                    .nodes = nodes, .replicas = replicas, .fragments = FRAGMENTS, .tune = tune});
    memset(ends, 0, sizeof ends);
    failures = 0;
    for (uint32_t i = 1; i <= nodes; i++)
        block_create(node_thread(w.n[i].node, 0), &stub_type, 0, sizeof(struct block));
    w.unique = unique;
    w_table(&w, 1, TABLE_ROW_GCI | TABLE_READ_BACKUP);
    for (uint32_t i = 1; orphan_ops != 0 && i <= nodes; i++) {
        leave(i, "orphans", 1);
        leave(i, "orphan_ops", orphan_ops);
    }
}

/* --- One signal at a time. --- */

static bool run_node(uint32_t i, uint32_t budget)
{
    if (w.dead[i]) return false;
    struct thread *thread = node_thread(w.n[i].node, 0);
    bool any = thread_run_once(thread, w.now, budget).executed > 0;
    node_check(w.n[i].node);
    return any;
}

/* One link between two nodes delays what it carries, until little else happens. */
static uint32_t slow_from;
static uint32_t slow_to;

static bool deliver(uint32_t to, uint32_t from)
{
    uint32_t count = w.n[to].in_words[from];
    if (count == 0 || w.dead[to]) return false;
    w.n[to].in_words[from] = 0;
    assert_true(node_deliver(w.n[to].node, 0, from, EPOCH, w.n[to].in[from], count));
    return true;
}

/* Something of somebody, by the dice; false when nothing moves. */
static bool step(void)
{
    uint32_t first = dice(w.nodes);
    for (uint32_t k = 0; k < w.nodes; k++) {
        uint32_t i = 1 + (first + k) % w.nodes;
        uint32_t from = 1 + dice(w.nodes);
        bool slow = i == slow_to && from == slow_from && dice(100) != 0;
        if (!slow && deliver(i, from)) return true;
        if (run_node(i, 1)) return true;
    }
    return w_deliver(&w);
}

static uint32_t step_n(uint32_t count)
{
    uint32_t done = 0;
    while (done < count && step())
        done++;
    return done;
}

/* --- Death. --- */

static void die(uint32_t node)
{
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i == node || w.dead[i]) continue;
        /* A prefix of what was sent arrives: here all or nothing. */
        if (dice(2) == 0) deliver(i, node);
        w.n[i].in_words[node] = 0;
        node_link_down(w.n[i].node, 0, node, EPOCH);
    }
    for (uint32_t i = 1; i <= w.nodes; i++)
        w.n[node].in_words[i] = 0;
    w.dead[node] = true;
}

/* The survivors hear of it at different times. */
static void tell(uint32_t node)
{
    struct node_lost_rep rep = {.failure_no = ++failures};
    node_mask_add(&rep.nodes, node);
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (!w.dead[i]) node_mask_add(&rep.alive, i);
    }
    uint32_t first = dice(w.nodes);
    for (uint32_t k = 0; k < w.nodes; k++) {
        uint32_t i = 1 + (first + k) % w.nodes;
        if (w.dead[i]) continue;
        uint32_t block[2] = {BLOCK_DBTC, BLOCK_DBLQH};
        uint32_t turn = dice(2);
        w_self(&w, i, block[turn], 1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u, NULL, 0);
        step_n(dice(6));
        w_self(&w, i, block[1 - turn], 1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u, NULL, 0);
        step_n(dice(6));
    }
}

/* --- What is left. --- */

enum told { TOLD_NOTHING, TOLD_COMMITTED, TOLD_ABORTED };

/* What the client has heard of this transaction; no two answers differ. */
static enum told answer_of(const struct trx *trx)
{
    enum told told = TOLD_NOTHING;
    for (uint32_t i = 0; i < w.rx_count; i++) {
        const struct signal *sig = &w.rx[i].sig;
        enum told now = TOLD_NOTHING;
        uint32_t transid1 = sig->payload[1];
        if (w.rx[i].taken) continue;
        if (sig->gsn == GSN_TCKEYCONF &&
            (SIG_PAYLOAD(sig, tckeyconf)->flags & KEYCONF_COMMITTED) != 0)
            now = TOLD_COMMITTED;
        else if (sig->gsn == GSN_TC_COMMITCONF)
            now = TOLD_COMMITTED;
        else if (sig->gsn == GSN_TCROLLBACKREP || sig->gsn == GSN_TCROLLBACKCONF)
            now = TOLD_ABORTED;
        if (sig->gsn == GSN_TCKEY_FAILCONF || sig->gsn == GSN_TCKEY_FAILREF) {
            now = sig->gsn == GSN_TCKEY_FAILCONF ? TOLD_COMMITTED : TOLD_ABORTED;
            transid1 = sig->payload[0];
        }
        if (now == TOLD_NOTHING || transid1 != trx->transid1) continue;
        assert_true(told == TOLD_NOTHING || told == now);
        told = now;
    }
    return told;
}

static void take_all(void)
{
    for (uint32_t i = 0; i < w.rx_count; i++)
        w.rx[i].taken = true;
}

static uint32_t a_survivor(void)
{
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (!w.dead[i]) return i;
    }
    fail();
    return 0;
}

/* Until nothing happens any more; timers included. */
static void settle(void)
{
    step_n(STEPS_MAX);
    for (uint32_t i = 0; i < 120; i++) {
        w_run(&w);
        w.now += 5;
    }
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (!w.dead[i] && failures > 0) assert_int_equal(ends[i], failures);
    }
}

/* The value of a row, the same at all survivors' replicas. */
static uint32_t value_everywhere(uint32_t key)
{
    uint32_t value = 0;
    bool first = true;
    for (uint32_t node = 1; node <= w.nodes; node++) {
        if (w.dead[node]) continue;
        c_read(&w, node, 7000 + key, key);
        const struct signal *sig = c_take(&w, GSN_TRANSID_AI);
        assert_non_null(sig);
        assert_true(first || value == sig->section[0].words[2]);
        value = sig->section[0].words[2];
        first = false;
    }
    return value;
}

/* All keys have the same value, which is what the client was told. */
static void expect_true_answer(const struct trx *trx, const char *what, uint32_t at, uint32_t seed)
{
    enum told told = answer_of(trx);
    take_all();
    uint32_t value = value_everywhere(1);
    for (uint32_t key = 2; key <= KEYS; key++) {
        if (value_everywhere(key) != value)
            fail_msg("%s, step %u, seed %u: half a transaction", what, at, seed);
    }
    if (told == TOLD_COMMITTED && value != NEW_VALUE)
        fail_msg("%s, step %u, seed %u: committed, but is not there", what, at, seed);
    if (told == TOLD_ABORTED && value != OLD_VALUE)
        fail_msg("%s, step %u, seed %u: aborted, but is there", what, at, seed);
}

/* No lock is left, routes avoid the dead: a transaction on all rows through each survivor. */
static void expect_usable(void)
{
    for (uint32_t node = 1; node <= w.nodes; node++) {
        if (w.dead[node]) continue;
        struct trx t = t_new(&w, CLIENT, node);
        for (uint32_t key = 1; key <= KEYS; key++)
            t_op(&t, .api_op = key,
                 .info = INFO(OP_UPDATE, key == 1      ? KEY_START
                                         : key == KEYS ? WRITE_ALL & ~KEY_START
                                                       : 0),
                 .key = key, .value = 100 + node);
        w_run(&w);
        t_expect_keyconf(&t, KEYCONF_COMMITTED);
        for (uint32_t key = 1; key <= KEYS; key++)
            assert_int_equal(value_everywhere(key), 100 + node);
    }
    w_run(&w);
}

static void finish(void)
{
    expect_usable();
    settle();
    w_expect_quiet(&w);
    take_all();
    w_stop(&w);
}

/* --- Scenarios: what the client does before and while somebody dies. --- */

static void fill(uint32_t node)
{
    struct trx t = t_new(&w, CLIENT, node);
    for (uint32_t key = 1; key <= KEYS; key++)
        c_insert(&w, &t, key, OLD_VALUE);
    w_run(&w);
}

typedef void scenario(struct trx *trx);

static void updates(struct trx *trx, uint32_t last)
{
    for (uint32_t key = 1; key <= KEYS; key++)
        t_op(trx, .api_op = key,
             .info = INFO(OP_UPDATE, (key == 1 ? KEY_START : 0) | (key == KEYS ? last : 0)),
             .key = key, .value = NEW_VALUE);
}

static void scenario_commit(struct trx *trx)
{
    updates(trx, KEY_EXECUTE | KEY_COMMIT);
}

static void scenario_prepared_commit(struct trx *trx)
{
    updates(trx, KEY_EXECUTE);
    w_run(&w);
    t_commit(trx);
}

static void scenario_prepared_rollback(struct trx *trx)
{
    updates(trx, KEY_EXECUTE);
    w_run(&w);
    t_rollback(trx);
}

static void scenario_idle(struct trx *trx)
{
    updates(trx, KEY_EXECUTE);
}

static void scenario_read_and_write(struct trx *trx)
{
    t_op(trx, .api_op = 99, .info = key_request_info(OP_READ, LOCK_EXCLUSIVE, KEY_START), .key = 1);
    t_op(trx, .api_op = 98, .info = key_request_info(OP_READ, LOCK_SHARED, 0), .key = 2);
    for (uint32_t key = 1; key <= KEYS; key++)
        t_op(trx, .api_op = key,
             .info = INFO(OP_UPDATE, key == KEYS ? KEY_EXECUTE | KEY_COMMIT : 0), .key = key,
             .value = NEW_VALUE);
}

/* Others have locks that this transaction waits for, and wait for each other. */
static void scenario_waiters(struct trx *trx)
{
    struct trx other[W_NODES + 1];
    for (uint32_t node = 1; node <= w.nodes; node++)
        other[node] = t_new(&w, CLIENT_TWO, node);
    for (uint32_t node = 1; node <= w.nodes; node++) {
        for (uint32_t key = 1; key <= 3; key++)
            t_op(&other[node], .api_op = key,
                 .info =
                     key_request_info(OP_READ, LOCK_EXCLUSIVE,
                                      (key == 1 ? KEY_START : 0) | (key == 3 ? KEY_EXECUTE : 0)),
                 .key = 1 + (key + node) % KEYS);
    }
    step_n(20);
    updates(trx, KEY_EXECUTE | KEY_COMMIT);
    for (uint32_t node = 1; node <= w.nodes; node++)
        t_rollback(&other[node]);
}

static const struct {
    const char *name;
    scenario *run;
} scenarios[] = {
    {"commit", scenario_commit},
    {"commit of what is prepared", scenario_prepared_commit},
    {"rollback", scenario_prepared_rollback},
    {"idle", scenario_idle},
    {"reads and writes", scenario_read_and_write},
    {"waiters", scenario_waiters},
};

/* A client whose coordinator lives goes on until it has an answer; that of a dead one is told. */
static void client_goes_on(const struct trx *trx)
{
    if (w.dead[trx->node] || answer_of(trx) != TOLD_NOTHING) return;
    struct trx copy = *trx;
    t_rollback(&copy);
    w_run(&w);
}

/* How many steps it takes undisturbed. */
static uint32_t length_of(scenario *run, uint32_t nodes, uint32_t replicas, uint32_t tc,
                          uint32_t seed)
{
    begin(nodes, replicas, small);
    fill(a_survivor());
    struct trx t = t_new(&w, CLIENT, tc);
    rng_state = seed;
    run(&t);
    uint32_t steps = step_n(STEPS_MAX);
    client_goes_on(&t);
    take_all();
    finish();
    return steps;
}

static void one_death(uint32_t scenario_no, uint32_t nodes, uint32_t replicas, uint32_t tc,
                      uint32_t victim, uint32_t at, uint32_t seed)
{
    if (getenv("TAKEOVER_VERBOSE") != NULL)
        print_message("%s: tc %u, %u dies at %u, seed %u\n", scenarios[scenario_no].name, tc,
                      victim, at, seed);
    begin(nodes, replicas, small);
    fill(a_survivor());
    struct trx t = t_new(&w, CLIENT, tc);
    rng_state = seed;
    slow_from = 1 + dice(nodes);
    slow_to = 1 + dice(nodes);
    scenarios[scenario_no].run(&t);
    step_n(at);
    die(victim);
    step_n(dice(10));
    tell(victim);
    settle();
    client_goes_on(&t);
    settle();
    expect_true_answer(&t, scenarios[scenario_no].name, at, seed);
    finish();
}

static void every_death(uint32_t scenario_no, uint32_t nodes, uint32_t replicas, uint32_t stride)
{
    uint32_t runs = 0;
    for (uint32_t tc = 1; tc <= nodes; tc += nodes - 1) {
        uint32_t length =
            length_of(scenarios[scenario_no].run, nodes, replicas, tc, EVER_AFTER + tc);
        for (uint32_t victim = 1; victim <= nodes; victim++) {
            for (uint32_t at = 0; at <= length; at += stride)
                one_death(scenario_no, nodes, replicas, tc, victim, at,
                          EVER_AFTER + tc + (runs++ % 7) * 1000);
        }
    }
    print_message("%s: %u nodes, %u replicas, %u deaths\n", scenarios[scenario_no].name, nodes,
                  replicas, runs);
}

static uint32_t stride(uint32_t quick)
{
    return getenv("TAKEOVER_EVERY_STEP") != NULL
               ? 1
               : quick * sparse(); /* The night: each single step. */
}

static void test_deaths_two_replicas(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        every_death(i, 2, 2, stride(5));
}

static void test_deaths_three_replicas(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        every_death(i, 3, 3, stride(11));
}

/* Two nodes one after the other: the second while the first one's loss is dealt with. */
static void two_deaths(uint32_t scenario_no, uint32_t tc, uint32_t one, uint32_t two, uint32_t at,
                       uint32_t later, uint32_t seed)
{
    if (getenv("TAKEOVER_VERBOSE") != NULL)
        print_message("%s: tc %u, %u dies at %u, %u dies %u later, seed %u\n",
                      scenarios[scenario_no].name, tc, one, at, two, later, seed);
    begin(4, 4, small);
    fill(1);
    struct trx t = t_new(&w, CLIENT, tc);
    rng_state = seed;
    slow_from = 1 + dice(4);
    slow_to = 1 + dice(4);
    scenarios[scenario_no].run(&t);
    step_n(at);
    die(one);
    step_n(dice(5));
    tell(one);
    step_n(later);
    die(two);
    step_n(dice(5));
    tell(two);
    settle();
    client_goes_on(&t);
    settle();
    expect_true_answer(&t, scenarios[scenario_no].name, at, seed);
    finish();
}

static void test_pairs(void **state)
{
    uint32_t runs = 0;
    (void)state;
    for (uint32_t scenario_no = 0; scenario_no < 5; scenario_no++) {
        for (uint32_t pair = 0; pair < 200 / stride(10); pair++) {
            rng_state = 77 * pair + scenario_no;
            uint32_t tc = 1 + dice(4);
            uint32_t one = dice(2) == 0 ? tc : 1 + dice(4);
            uint32_t two = 1 + (one + dice(3)) % 4;
            uint32_t at = dice(120);
            uint32_t later = dice(80);
            two_deaths(scenario_no, tc, one, two, at, later, 5000 + pair);
            runs++;
        }
    }
    print_message("pairs: %u\n", runs);
}

/* --- Scans. --- */

static void scan_send(const struct trx *trx, enum lock_mode mode)
{
    struct scan_tabreq req = {.tc_connect = trx->connect,
                              .api_scan = 55,
                              .table_id = 1,
                              .schema_version = 1,
                              .request_info = key_request_info(OP_READ, mode, 0),
                              .batch_rows = 1,
                              .transid1 = trx->transid1,
                              .transid2 = trx->transid2};
    const uint32_t attr[1] = {attr_header(1, 0)};
    const struct section section = {attr, 1};
    c_send(&w, trx->client, trx->node, GSN_SCAN_TABREQ, &req, sizeof req / 4u, &section, 1);
}

static void scan_close(const struct trx *trx)
{
    struct scan_nextreq req = {.tc_connect = trx->connect,
                               .api_scan = 55,
                               .transid1 = trx->transid1,
                               .transid2 = trx->transid2,
                               .flags = SCAN_CLOSE};
    c_send(&w, trx->client, trx->node, GSN_SCAN_NEXTREQ, &req, sizeof req / 4u, NULL, 0);
}

/* The scan of a living TC ends with an answer; nothing of any scan is left, no lock either. */
static void one_scan(enum lock_mode mode, uint32_t tc, uint32_t victim, uint32_t at)
{
    begin(3, 3, small);
    fill(1);
    struct trx t = t_new(&w, CLIENT, tc);
    rng_state = 9 * at + victim;
    slow_from = slow_to = 0;
    scan_send(&t, mode);
    step_n(at);
    die(victim);
    tell(victim);
    settle();
    if (victim != tc) {
        bool ended = false;
        scan_close(&t);
        settle();
        for (const struct signal *sig = c_take(&w, GSN_SCAN_TABREF); sig != NULL;
             sig = c_take(&w, GSN_SCAN_TABREF)) {
            uint32_t error = SIG_PAYLOAD(sig, scan_tabref)->error;
            /* The second: before anybody knows more than that the link is down. */
            assert_true(error == ERR_NODE_FAILED_4028 || error == ERR_NODE_FAILURE);
            ended = true;
        }
        for (const struct signal *sig = c_take(&w, GSN_SCAN_TABCONF); sig != NULL;
             sig = c_take(&w, GSN_SCAN_TABCONF))
            ended |= SIG_PAYLOAD(sig, scan_tabconf)->flags == SCAN_END;
        assert_true(ended);
    }
    take_all();
    finish();
}

static void test_scans(void **state)
{
    (void)state;
    for (uint32_t victim = 1; victim <= 3; victim++) {
        for (uint32_t at = 0; at < 40; at += stride(3)) {
            one_scan(LOCK_COMMITTED, 1, victim, at);
            one_scan(LOCK_EXCLUSIVE, 1, victim, at);
        }
    }
}

/* --- Little memory. --- */

static void tiny(struct node_config *config)
{
    small(config);
    config->transactions_max = 8;
}

/* The dead TC had more transactions than the take-over has records: several passes. */
static void test_many_orphans(void **state)
{
    struct trx t[8];
    (void)state;
    begin(2, 2, tiny);
    for (uint32_t i = 0; i < 8; i++) {
        t[i] = t_new(&w, CLIENT, 1);
        for (uint32_t k = 0; k < 4; k++)
            t_op(&t[i], .api_op = k,
                 .info = INFO(OP_INSERT, (k == 0 ? KEY_START : 0) | (k == 3 ? KEY_EXECUTE : 0)),
                 .key = 100 + 4 * i + k, .value = NEW_VALUE);
    }
    w_run(&w);
    leave(2, "orphans", 5); /* Too few for half of them. */
    leave(2, "orphan_ops", 9);
    rng_state = 1;
    slow_from = slow_to = 0;
    die(1);
    tell(1);
    settle();
    assert_int_equal(ends[2], 1);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(answer_of(&t[i]), TOLD_ABORTED);
    take_all();
    fill(2);
    finish();
}

/* Not one transaction fits into the memory: it is ended in parts. */
static void test_in_parts(void **state)
{
    (void)state;
    for (orphan_ops = 1; orphan_ops <= 5; orphan_ops += 2) {
        for (uint32_t i = 0; i < 5; i++)
            every_death(i, 3, 3, stride(23));
        for (uint32_t i = 0; i < 200 / stride(10); i++) {
            rng_state = 99 * i + orphan_ops;
            uint32_t tc = 1 + dice(4);
            uint32_t two = 1 + (tc + dice(3)) % 4;
            two_deaths(i % 5, tc, tc, two, dice(120), 20 + dice(400), 9000 + i);
        }
    }
    orphan_ops = 0;
}

/* What has used up the memory before does not keep a take-over from its end. */
static void test_memory_was_used_up(void **state)
{
    (void)state;
    begin(2, 2, small);
    struct trx t = t_new(&w, CLIENT, 1);
    for (uint32_t k = 0; k < 40; k++)
        t_op(&t, .api_op = k,
             .info = INFO(OP_INSERT, (k == 0 ? KEY_START : 0) | (k == 39 ? KEY_EXECUTE : 0)),
             .key = 100 + k, .value = NEW_VALUE);
    w_run(&w);
    struct arena *arena = block_arena(node_block(w.n[2].node, BLOCK_DBTC, 1));
    while (arena_page(arena, RG_TRANSACTION) != NULL)
        continue;
    rng_state = 1;
    slow_from = slow_to = 0;
    die(1);
    tell(1);
    settle();
    assert_int_equal(answer_of(&t), TOLD_ABORTED);
    take_all();
    w_expect_quiet(&w);
    w_stop(&w);
}

/* --- By unique key. --- */

#define BY_KEY    8u
#define FIRST_ROW 8u /* Some from here on have their entries at another node. */

/* How many operations on the table this transaction has at a survivor. */
static uint32_t prepared_at(uint32_t node, const struct trx *trx, uint32_t table_id)
{
    struct lqh *lqh = (struct lqh *)(void *)node_block(w.n[node].node, BLOCK_DBLQH, 1);
    uint32_t count = 0;
    uint32_t index = 0;
    for (struct lqh_op *op = NULL; (op = pool_next(&lqh->operations, index)) != NULL;) {
        index = pool_index(op->pool.ref);
        count += op->transid1 == trx->transid1 && op->table_id == table_id;
    }
    return count;
}

/* One transaction for each row has done something by its unique key; then TC dies with node 1.
 * Returns how many of them have left no more than the entry's read. */
static uint32_t by_unique_key(uint32_t info)
{
    struct trx t[BY_KEY];
    uint32_t alone = 0;
    begin(2, 2, small);
    for (uint32_t i = 0; i < BY_KEY; i++) {
        t[i] = t_new(&w, CLIENT, 1);
        t_op(&t[i], .api_op = 1, .info = INFO(OP_INSERT, WRITE_ALL), .key = FIRST_ROW + i,
             .value = 100 + FIRST_ROW + i);
        w_run(&w);
        t_next(&t[i]);
        t_unique(&t[i], .api_op = 2, .info = info, .key = 100 + FIRST_ROW + i, .value = 200 + i);
        w_run(&w);
    }
    take_all();
    bool left[BY_KEY];
    for (uint32_t i = 0; i < BY_KEY; i++) {
        bool entry = prepared_at(2, &t[i], W_INDEX) > 0;
        bool row = prepared_at(2, &t[i], 1) > 0;
        left[i] = entry || row;
        alone += entry && !row;
    }
    rng_state = 1;
    slow_from = slow_to = 0;
    die(1);
    tell(1);
    settle();
    for (uint32_t i = 0; i < BY_KEY; i++)
        assert_int_equal(answer_of(&t[i]), left[i] ? TOLD_ABORTED : TOLD_NOTHING);
    take_all();
    for (uint32_t i = 0; i < BY_KEY; i++)
        assert_int_equal(value_everywhere(FIRST_ROW + i), 100 + FIRST_ROW + i);
    take_all();
    w_expect_quiet(&w);
    w_stop(&w);
    return alone;
}

/* TC reads the entries of unique indexes for itself: the client is told all the same, whichever
 * report of its transaction comes first or is the only one, in one go and in parts. */
static void test_by_unique_key(void **state)
{
    (void)state;
    unique = true;
    for (orphan_ops = 0; orphan_ops <= 1; orphan_ops++) {
        by_unique_key(UNIQUE(OP_UPDATE, 0, KEY_START | KEY_EXECUTE));
        assert_true(by_unique_key(UNIQUE(OP_READ, LOCK_EXCLUSIVE, KEY_START | KEY_EXECUTE)) > 0);
    }
    unique = false;
    orphan_ops = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deaths_two_replicas),
        cmocka_unit_test(test_deaths_three_replicas),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_scans),
        cmocka_unit_test(test_many_orphans),
        cmocka_unit_test(test_in_parts),
        cmocka_unit_test(test_memory_was_used_up),
        cmocka_unit_test(test_by_unique_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
