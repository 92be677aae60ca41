/* copy_fixture.c -- nodes that are lost and come back, clients that change rows meanwhile, and a
 * comparison of replicas row by row. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/copy_fixture.h"

#define TABLE_FLAGS (TABLE_ROW_GCI | TABLE_READ_BACKUP | TABLE_ROW_CHECKSUM)
#define ACTORS      16u
#define OPS_MAX     5u
static uint32_t rng_state;

static uint32_t failures;

uint32_t copy_life;

uint32_t copy_keys;

uint32_t copy_dice(uint32_t sides)
{
    rng_state = rng_state * 1664525u + 1013904223u;
    return (rng_state >> 8) % sides;
}

/* --- Stands for NDBCNTR and DIH. --- */

struct copy_got copy_got;

static void cntr_exec_NODE_INCLUDE_CONF(struct block *block, const struct signal *sig)
{
    (void)block, (void)sig;
    copy_got.included++;
}

static void cntr_exec_COPY_TABLE_CONF(struct block *block, const struct signal *sig)
{
    const struct copy_table_conf *conf = SIG_PAYLOAD(sig, copy_table_conf);
    (void)block;
    copy_got.copied++;
    copy_got.rows = (uint64_t)conf->rows.copied_hi << 32 | conf->rows.copied_lo;
    copy_got.bytes = (uint64_t)conf->bytes_hi << 32 | conf->bytes_lo;
}

static void cntr_exec_COPY_TABLE_REF(struct block *block, const struct signal *sig)
{
    (void)block;
    copy_got.error = SIG_PAYLOAD(sig, copy_table_ref)->error;
}

static void cntr_exec_COPY_PART_REP(struct block *block, const struct signal *sig)
{
    uint32_t permille = SIG_PAYLOAD(sig, copy_part_rep)->permille;
    (void)block;
    assert_true(permille <= 1000 && permille >= copy_got.permille);
    copy_got.permille = permille;
}

static const struct handler cntr_handlers[] = {
    HANDLER(cntr, NODE_INCLUDE_CONF, node_include_conf),
    HANDLER(cntr, COPY_TABLE_CONF, copy_table_conf),
    HANDLER(cntr, COPY_TABLE_REF, copy_table_ref),
    HANDLER(cntr, COPY_PART_REP, copy_part_rep),
};

static const struct block_type cntr_type = {"NDBCNTR", BLOCK_NDBCNTR, cntr_handlers, 4, NULL};

static void dih_exec_TAKEOVER_END_REP(struct block *block, const struct signal *sig)
{
    (void)block, (void)sig;
}

static const struct handler dih_handlers[] = {
    HANDLER(dih, TAKEOVER_END_REP, takeover_end_rep),
};

static const struct block_type dih_type = {"DBDIH", BLOCK_DBDIH, dih_handlers, 1, NULL};

struct block *copy_cntr[W_NODES + 1];

static void stubs(uint32_t node)
{
    struct thread *thread = node_thread(w.n[node].node, 0);
    copy_cntr[node] = block_create(thread, &cntr_type, 0, sizeof(struct block));
    block_create(thread, &dih_type, 0, sizeof(struct block));
}

void (*copy_tune_more)(struct node_config *config);

static void tune(struct node_config *config)
{
    config->deadlock_timeout_ms = 100;
    config->survive = 1;
    if (copy_tune_more != NULL) copy_tune_more(config);
}

void copy_begin(uint32_t nodes, uint32_t fragments, uint32_t seed)
{
    w_start(&w, &(struct world_options){.nodes = nodes, .fragments = fragments, .tune = tune});
    failures = 0;
    copy_life = 100;
    rng_state = seed;
    for (uint32_t i = 1; i <= nodes; i++)
        stubs(i);
    w_table(&w, 1, TABLE_FLAGS);
}

/* --- One signal at a time. --- */

static bool deliver(uint32_t to, uint32_t from)
{
    uint32_t count = w.n[to].in_words[from];
    if (count == 0 || w.dead[to]) return false;
    w.n[to].in_words[from] = 0;
    assert_true(node_deliver(w.n[to].node, 0, from, EPOCH, w.n[to].in[from], count));
    return true;
}

uint32_t copy_slow;

static bool step(void)
{
    uint32_t first = copy_dice(w.nodes);
    for (uint32_t k = 0; k < w.nodes; k++) {
        uint32_t i = 1 + (first + k) % w.nodes;
        if (i == copy_slow && copy_dice(4) != 0) continue;
        if (deliver(i, 1 + copy_dice(w.nodes))) return true;
        if (w.dead[i]) continue;
        bool any = thread_run_once(node_thread(w.n[i].node, 0), w.now, 1).executed > 0;
        node_check(w.n[i].node);
        if (any) return true;
    }
    return copy_slow != 0 ? copy_dice(4) != 0 : w_deliver(&w);
}

void copy_step_n(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!step()) w.now++;
    }
}

/* --- Death and return. --- */

static void tell(uint32_t node)
{
    struct node_lost_rep rep = {.failure_no = ++failures};
    node_mask_add(&rep.nodes, node);
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (!w.dead[i]) node_mask_add(&rep.alive, i);
    }
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (w.dead[i]) continue;
        uint32_t block[2] = {BLOCK_DBTC, BLOCK_DBLQH};
        uint32_t turn = copy_dice(2);
        w_self(&w, i, block[turn], 1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u, NULL, 0);
        copy_step_n(copy_dice(6));
        w_self(&w, i, block[1 - turn], 1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u, NULL, 0);
        copy_step_n(copy_dice(6));
    }
}

void copy_die(uint32_t node)
{
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i == node || w.dead[i]) continue;
        if (copy_dice(2) == 0) deliver(i, node);
        w.n[i].in_words[node] = 0;
        node_link_down(w.n[i].node, 0, node, EPOCH);
    }
    for (uint32_t i = 1; i <= w.nodes; i++)
        w.n[node].in_words[i] = 0;
    w.dead[node] = true;
    tell(node);
}

/* As DICT does it at a node that comes back. */
static void table_again(uint32_t node)
{
    const struct section *sections = w_table_words(&w, 1, TABLE_FLAGS, false);
    struct local_table_add_req req = {.table_id = 1, .version = 1};
    w_driver(&w, node)->added = 0;
    w_self(&w, node, BLOCK_DBLQH, 1, GSN_LOCAL_TABLE_ADD_REQ, &req, 3, sections, 2);
    w_self(&w, node, BLOCK_DBTC, 1, GSN_LOCAL_TABLE_ADD_REQ, &req, 3, sections, 2);
    while (w_driver(&w, node)->added < 2)
        copy_step_n(1);
    w_order(&w, node, BLOCK_DBLQH, 1, LOCAL_TABLE_ONLINE);
    w_order(&w, node, BLOCK_DBTC, 1, LOCAL_TABLE_ONLINE);
}

void copy_process_again(uint32_t node)
{
    node_destroy(w.n[node].node);
    for (uint32_t i = 1; i <= W_NODES; i++)
        free(w.n[node].in[i]);
    w_node(&w, node);
    stubs(node);
    w.dead[node] = false;
    while (w_driver(&w, node)->confs < 4)
        copy_step_n(1);
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i == node || w.dead[i]) continue;
        node_link_up(w.n[i].node, 0, node, FROM_DATA, EPOCH);
        node_link_up(w.n[node].node, 0, i, FROM_DATA, EPOCH);
    }
    node_link_up(w.n[node].node, 0, CLIENT, FROM_API, EPOCH);
    node_link_up(w.n[node].node, 0, CLIENT_TWO, FROM_API, EPOCH);
    table_again(node);
}

uint32_t copy_claimed_gci;

void copy_include(uint32_t node)
{
    static const uint32_t blocks[2] = {BLOCK_DBTC, BLOCK_DBLQH};
    const uint32_t ranks[2] = {node, ++copy_life};
    const struct section section = {ranks, 2};
    struct node_include_req req = {.node = node,
                                   .rank = copy_life,
                                   .failure_no = failures,
                                   .president = 1,
                                   .gci = copy_claimed_gci};
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i != node && !w.dead[i]) node_mask_add(&req.alive, i);
    }
    memset(&copy_got, 0, sizeof copy_got);
    for (uint32_t i = 0; i < 2; i++)
        signal_send(copy_cntr[node], block_ref(node, blocks[i], 1), GSN_NODE_INCLUDE_REQ, PRIO_B,
                    &req, sizeof req / 4u, &section, 1);
    while (copy_got.included < 2)
        copy_step_n(1);
    struct node_include_rep rep = {
        .node = node, .rank = copy_life, .failure_no = failures, .alive = req.alive};
    node_mask_add(&rep.alive, node);
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i == node || w.dead[i]) continue;
        uint32_t turn = copy_dice(2);
        w_self(&w, i, blocks[turn], 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
        copy_step_n(copy_dice(10));
        w_self(&w, i, blocks[1 - turn], 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
        copy_step_n(copy_dice(10));
    }
}

void copy_order(uint32_t node)
{
    uint32_t distribution[512];
    uint32_t at = DISTRIBUTION_HEAD_WORDS;
    memset(distribution, 0, sizeof distribution);
    distribution[0] = w.fragments;
    distribution[1] = w.replicas;
    for (uint32_t f = 0; f < w.fragments; f++) {
        uint32_t place = 0;
        for (uint32_t r = 0; r < w.replicas; r++) {
            uint32_t other = 1 + (f + r) % w.nodes;
            if (other != node) distribution[at + place++] = other;
        }
        at += w.replicas;
    }
    const struct section section = {distribution, at};
    struct copy_table_req req = {.sender_data = 5, .table_id = 1, .version = 1};
    signal_send(copy_cntr[node], block_ref(node, BLOCK_DBLQH, 1), GSN_COPY_TABLE_REQ, PRIO_B, &req,
                3, &section, 1);
}

/* --- Clients. --- */

enum actor_state { ACTOR_IDLE, ACTOR_EXECUTING, ACTOR_HOLDS, ACTOR_ENDING };

static struct actor {
    struct trx trx;
    enum actor_state state;
} actors[ACTORS];

uint32_t copy_committed;

uint32_t copy_aborted;

void copy_actors_begin(void)
{
    for (uint32_t i = 0; i < ACTORS; i++) {
        uint32_t node = 1 + i % w.nodes;
        while (w.dead[node])
            node = 1 + node % w.nodes;
        actors[i] = (struct actor){.trx = t_new(&w, CLIENT, node)};
    }
    copy_committed = copy_aborted = 0;
}

void copy_operation(const struct trx *trx, uint32_t info, uint32_t key)
{
    struct tckeyreq req = {.tc_connect = trx->connect,
                           .api_op = key,
                           .table_id = 1,
                           .schema_version = 1,
                           .request_info = info,
                           .transid1 = trx->transid1,
                           .transid2 = trx->transid2};
    uint32_t attr[64] = {attr_header(1, 4), copy_dice(1u << 20)};
    uint32_t words = 2;
    if (copy_dice(2) == 0) {
        uint32_t length = copy_dice(180);
        attr[words++] = attr_header(2, 1 + length);
        uint8_t *value = (uint8_t *)(attr + words);
        memset(value, (int)copy_dice(256), 1u + length);
        value[0] = (uint8_t)length;
        words += (1 + length + 3) / 4;
    }
    const struct section sections[2] = {{&key, 1}, {attr, words}};
    assert_true(c_send(&w, trx->client, trx->node, GSN_TCKEYREQ, &req, sizeof req / 4u, sections,
                       key_operation_of(info) == OP_DELETE ? 1 : 2));
}

static void actor_starts(struct actor *actor)
{
    static const enum key_operation kinds[] = {OP_INSERT, OP_INSERT, OP_UPDATE,
                                               OP_WRITE,  OP_WRITE,  OP_DELETE};
    uint32_t count = 1 + copy_dice(OPS_MAX);
    uint32_t key = 1 + copy_dice(copy_keys);
    t_next(&actor->trx);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t flags = (i == 0 ? KEY_START : 0);
        if (i + 1 == count) flags |= copy_dice(2) == 0 ? KEY_EXECUTE : KEY_EXECUTE | KEY_COMMIT;
        if (copy_dice(3) != 0) key = 1 + copy_dice(copy_keys); /* Or the same row again. */
        copy_operation(&actor->trx, INFO(kinds[copy_dice(6)], flags), key);
    }
    actor->state = ACTOR_EXECUTING;
}

static void actor_hears(const struct signal *sig)
{
    uint32_t transid1 = sig->payload[1];
    for (uint32_t i = 0; i < ACTORS; i++) {
        struct actor *actor = &actors[i];
        if (actor->trx.transid1 != transid1 || actor->state == ACTOR_IDLE) continue;
        if (sig->gsn == GSN_TCKEYCONF) {
            bool done = (SIG_PAYLOAD(sig, tckeyconf)->flags & KEYCONF_COMMITTED) != 0;
            actor->state = done ? ACTOR_IDLE : ACTOR_HOLDS;
            copy_committed += done;
        } else if (sig->gsn == GSN_TC_COMMITCONF) {
            actor->state = ACTOR_IDLE;
            copy_committed++;
        } else if (sig->gsn == GSN_TCROLLBACKREP || sig->gsn == GSN_TCROLLBACKCONF) {
            actor->state = ACTOR_IDLE;
            copy_aborted++;
        }
    }
}

void copy_actors_hear(void)
{
    for (uint32_t i = 0; i < w.rx_count; i++) {
        if (!w.rx[i].taken) actor_hears(&w.rx[i].sig);
        free(w.rx[i].words);
    }
    w.rx_count = 0;
}

void copy_actors_act(bool begin_new)
{
    copy_actors_hear();
    for (uint32_t i = 0; i < ACTORS; i++) {
        struct actor *actor = &actors[i];
        if (actor->state == ACTOR_IDLE && begin_new && copy_dice(4) == 0) {
            actor_starts(actor);
        } else if (actor->state == ACTOR_HOLDS && copy_dice(8) == 0) {
            if (copy_dice(3) == 0)
                t_rollback(&actor->trx);
            else
                t_commit(&actor->trx);
            actor->state = ACTOR_ENDING;
        }
    }
}

void copy_traffic(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++) {
        copy_actors_act(true);
        copy_step_n(copy_dice(20));
        if (copy_dice(20) == 0) w.now += copy_dice(10);
    }
}

void copy_actors_end(void)
{
    bool busy = true;
    for (uint32_t round = 0; busy; round++) {
        assert_true(round < 100000);
        copy_actors_act(false);
        copy_step_n(10);
        w.now++;
        busy = false;
        for (uint32_t i = 0; i < ACTORS; i++)
            busy = busy || actors[i].state != ACTOR_IDLE;
    }
    for (uint32_t i = 0; i < 60; i++) {
        w_run(&w);
        w.now += 5;
    }
    copy_actors_hear();
}

void copy_fill(void)
{
    struct trx trx = t_new(&w, CLIENT, 1);
    for (uint32_t key = 1; key <= copy_keys;) {
        t_next(&trx);
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t flags = i == 0 ? KEY_START : i == 31 ? KEY_EXECUTE | KEY_COMMIT : 0;
            copy_operation(&trx, INFO(OP_INSERT, flags), key);
            key += copy_dice(4) == 0 ? 2 : 1;
        }
        w_run(&w);
        copy_actors_hear();
    }
}

/* --- What is there in the end. --- */

struct tup *copy_tup_of(uint32_t node)
{
    return (struct tup *)(void *)node_block(w.n[node].node, BLOCK_DBTUP, 1);
}

struct tup_frag *copy_frag_of(uint32_t node, uint32_t fragment)
{
    struct lqh_frag frag;
    assert_true(lqh_frag_get(node_block(w.n[node].node, BLOCK_DBLQH, 1), 1, fragment, &frag));
    return tup_frag_get(copy_tup_of(node), frag.tup_frag);
}

static uint32_t row_words(uint32_t node, struct tup_frag *frag, uint32_t row, uint32_t *out)
{
    const uint32_t header = attr_header(ATTR_READ_ALL, 0);
    struct tup_read read = {.frag = frag, .row = row, .attr = &header, .attr_words = 1};
    uint32_t words = 0;
    assert_int_equal(tup_read(copy_tup_of(node), &read, out, TUP_ROW_WORDS_MAX, &words), 0);
    return words;
}

uint32_t copy_expect_equal(uint32_t one, uint32_t two)
{
    static uint32_t out[2][TUP_ROW_WORDS_MAX];
    uint32_t rows = 0;
    for (uint32_t f = 0; f < w.fragments; f++) {
        struct tup_frag *frag[2] = {copy_frag_of(one, f), copy_frag_of(two, f)};
        struct tup_scan_position at[2] = {{0, 0}, {0, 0}};
        for (;;) {
            uint32_t row[2] = {ROW_NONE, ROW_NONE};
            for (uint32_t i = 0; i < 2; i++) {
                bool end = false;
                while (!end && tup_scan_next(copy_tup_of(i == 0 ? one : two), frag[i], &at[i], 1, 1,
                                             &row[i], 1, 100, &end) == 0)
                    row[i] = ROW_NONE;
            }
            assert_int_equal(row[0], row[1]);
            if (row[0] == ROW_NONE) break;
            uint32_t words = row_words(one, frag[0], row[0], out[0]);
            assert_int_equal(words, row_words(two, frag[1], row[0], out[1]));
            assert_memory_equal(out[0], out[1], words * 4u);
            assert_int_equal(tup_row_gci(copy_tup_of(one), frag[0], row[0]),
                             tup_row_gci(copy_tup_of(two), frag[1], row[0]));
            rows++;
        }
        assert_int_equal(acc_frag_elements(tup_frag_index(frag[0])),
                         acc_frag_elements(tup_frag_index(frag[1])));
        assert_true(tup_checkpoint_gci(frag[1]) >= tup_checkpoint_gci(frag[0]) || two == 1);
    }
    return rows;
}

void copy_expect_all_equal(void)
{
    w_expect_quiet(&w);
    for (uint32_t i = 2; i <= w.nodes; i++) {
        if (!w.dead[i]) copy_expect_equal(1, i);
    }
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (!w.dead[i]) assert_int_equal(w_lqh(&w, i).copies, 0);
    }
}

void copy_finish(void)
{
    copy_actors_hear();
    w_stop(&w);
}
