/* include_fixture.c -- nodes that are lost and come back, with the rows of an earlier time or
 * without, under clients' transactions; what must be equal in the end. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/include_fixture.h"
#include "blocks/dbtc/schema/tc_table.h"

#define TABLE_FLAGS (TABLE_ROW_GCI | TABLE_READ_BACKUP)
#define OPS_MAX     4u
static uint32_t rng_state;

uint32_t include_failures;

uint32_t include_ranks[W_NODES + 1];

static uint32_t rank_last;

uint32_t include_keys;

uint32_t include_fuse = NO_FUSE;

uint32_t include_dice(uint32_t sides)
{
    rng_state = rng_state * 1664525u + 1013904223u;
    return (rng_state >> 8) % sides;
}

/* --- Stands for NDBCNTR and DIH. --- */

struct include_got include_got;

static void cntr_exec_NODE_INCLUDE_CONF(struct block *block, const struct signal *sig)
{
    (void)block, (void)sig;
    include_got.included++;
}

static void cntr_exec_COPY_TABLE_CONF(struct block *block, const struct signal *sig)
{
    (void)block;
    include_got.copied++;
    include_got.rows = SIG_PAYLOAD(sig, copy_table_conf)->rows;
}

static void cntr_exec_COPY_TABLE_REF(struct block *block, const struct signal *sig)
{
    (void)block;
    fail_msg("the copy gives up: error %u", SIG_PAYLOAD(sig, copy_table_ref)->error);
}

static void cntr_exec_COPY_PART_REP(struct block *block, const struct signal *sig)
{
    (void)block, (void)sig;
}

static const struct handler cntr_handlers[] = {
    HANDLER(cntr, COPY_PART_REP, copy_part_rep),
    HANDLER(cntr, NODE_INCLUDE_CONF, node_include_conf),
    HANDLER(cntr, COPY_TABLE_CONF, copy_table_conf),
    HANDLER(cntr, COPY_TABLE_REF, copy_table_ref),
};

static const struct block_type cntr_type = {"NDBCNTR", BLOCK_NDBCNTR, cntr_handlers, 4, NULL};

static void dih_exec_TAKEOVER_END_REP(struct block *block, const struct signal *sig)
{
    include_got.ends[ref_node(block->ref)] = SIG_PAYLOAD(sig, takeover_end_rep)->failure_no;
}

static const struct handler dih_handlers[] = {
    HANDLER(dih, TAKEOVER_END_REP, takeover_end_rep),
};

static const struct block_type dih_type = {"DBDIH", BLOCK_DBDIH, dih_handlers, 1, NULL};

static void stubs(uint32_t node)
{
    struct thread *thread = node_thread(w.n[node].node, 0);
    include_got.cntr[node] = block_create(thread, &cntr_type, 0, sizeof(struct block));
    block_create(thread, &dih_type, 0, sizeof(struct block));
}

struct lqh *include_lqh_at(uint32_t node)
{
    return (struct lqh *)(void *)node_block(w.n[node].node, BLOCK_DBLQH, 1);
}

struct saved_row include_saved[SAVED_MAX];

uint32_t include_saved_count;

uint32_t include_saved_gci;

static uint32_t epoch;

bool include_with_files;

uint32_t include_own_gci;

static void tune(struct node_config *config)
{
    config->deadlock_timeout_ms = 100;
    config->survive = 1;
}

void include_begin(uint32_t nodes, uint32_t seed)
{
    w_start(&w, &(struct world_options){.nodes = nodes, .fragments = FRAGMENTS, .tune = tune});
    memset(&include_got, 0, sizeof include_got);
    memset(include_ranks, 0, sizeof include_ranks);
    include_failures = 0;
    rank_last = 100;
    rng_state = seed;
    include_fuse = NO_FUSE;
    epoch = 1;
    include_saved_count = include_saved_gci = 0;
    include_with_files = false;
    for (uint32_t i = 1; i <= nodes; i++)
        stubs(i);
    w_table(&w, 1, TABLE_FLAGS);
}

/* --- One signal at a time. --- */

uint32_t include_slow_from;

uint32_t include_slow_to;

bool include_deliver(uint32_t to, uint32_t from)
{
    if (to == include_slow_to && from == include_slow_from && include_dice(16) != 0) return false;
    uint32_t count = w.n[to].in_words[from];
    if (count == 0 || w.dead[to]) return false;
    w.n[to].in_words[from] = 0;
    assert_true(node_deliver(w.n[to].node, 0, from, EPOCH, w.n[to].in[from], count));
    return true;
}

static bool step(void)
{
    uint32_t first = include_dice(w.nodes);
    if (include_fuse != NO_FUSE && include_fuse > 0) include_fuse--;
    for (uint32_t k = 0; k < w.nodes; k++) {
        uint32_t i = 1 + (first + k) % w.nodes;
        if (include_deliver(i, 1 + include_dice(w.nodes))) return true;
        if (w.dead[i]) continue;
        bool any = thread_run_once(node_thread(w.n[i].node, 0), w.now, 1).executed > 0;
        node_check(w.n[i].node);
        if (any) return true;
    }
    return w_deliver(&w);
}

void include_step_n(uint32_t count)
{
    for (uint32_t i = 0; i < count && include_fuse != 0; i++) {
        if (!step()) w.now++;
    }
}

/* --- What a node that comes back has on its disk. --- */

static struct tup *tup_of(uint32_t node)
{
    return (struct tup *)(void *)node_block(w.n[node].node, BLOCK_DBTUP, 1);
}

static struct tup_frag *frag_of(uint32_t node, uint32_t fragment)
{
    struct lqh_frag frag;
    assert_true(lqh_frag_get(node_block(w.n[node].node, BLOCK_DBLQH, 1), 1, fragment, &frag));
    return tup_frag_get(tup_of(node), frag.tup_frag);
}

static uint32_t next_row(uint32_t node, struct tup_frag *frag, struct tup_scan_position *at)
{
    uint32_t row;
    bool end = false;
    while (!end) {
        if (tup_scan_next(tup_of(node), frag, at, 1, 1, &row, 1, 100, &end) == 1) return row;
    }
    return ROW_NONE;
}

struct tc *include_tc_at(uint32_t node)
{
    return (struct tc *)(void *)node_block(w.n[node].node, BLOCK_DBTC, 1);
}

static void epoch_set(uint32_t node)
{
    include_tc_at(node)->epoch_hi = epoch;
}

void include_save_rows(uint32_t node)
{
    include_saved_count = 0;
    for (uint32_t f = 0; f < w.fragments; f++) {
        struct tup_scan_position at = {0, 0};
        struct tup_frag *frag = frag_of(node, f);
        for (uint32_t row; (row = next_row(node, frag, &at)) != ROW_NONE;) {
            static uint32_t out[TUP_ROW_WORDS_MAX];
            struct saved_row *to = &include_saved[include_saved_count++];
            assert_true(include_saved_count <= SAVED_MAX);
            *to = (struct saved_row){.fragment = f, .row = row};
            to->words = tup_copy_row(frag, row, out, TUP_ROW_WORDS_MAX, &to->gci);
            assert_true(to->words > 0 && to->words <= 80);
            memcpy(to->pairs, out, to->words * 4u);
        }
    }
    include_saved_gci = epoch++;
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (!w.dead[i]) epoch_set(i);
    }
}

static void lcpr_rows(uint32_t node)
{
    include_own_gci = include_with_files && include_dice(4) != 0 ? include_saved_gci : 0;
    for (uint32_t i = 0; include_own_gci != 0 && i < include_saved_count; i++) {
        struct lqh_frag frag;
        assert_true(lqh_frag_get(node_block(w.n[node].node, BLOCK_DBLQH, 1), 1,
                                 include_saved[i].fragment, &frag));
        struct tup_restore_req req = {.frag = tup_frag_get(tup_of(node), frag.tup_frag),
                                      .key_def = frag.key_def,
                                      .row = include_saved[i].row,
                                      .gci = include_saved[i].gci,
                                      .attr = include_saved[i].pairs,
                                      .attr_words = include_saved[i].words};
        assert_int_equal(tup_restore_put(tup_of(node), &req), 0);
    }
}

/* --- Death and return. --- */

void include_tell(uint32_t node)
{
    struct node_lost_rep rep = {.failure_no = ++include_failures};
    node_mask_add(&rep.nodes, node);
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (!w.dead[i]) node_mask_add(&rep.alive, i);
    }
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (w.dead[i]) continue;
        uint32_t block[2] = {BLOCK_DBTC, BLOCK_DBLQH};
        uint32_t turn = include_dice(2);
        w_self(&w, i, block[turn], 1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u, NULL, 0);
        include_step_n(include_dice(6));
        w_self(&w, i, block[1 - turn], 1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u, NULL, 0);
        include_step_n(include_dice(6));
    }
}

void include_die(uint32_t node)
{
    include_fuse = NO_FUSE;
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i == node || w.dead[i]) continue;
        if (include_dice(2) == 0) include_deliver(i, node);
        w.n[i].in_words[node] = 0;
        include_slow_from = include_slow_to = 0;
        node_link_down(w.n[i].node, 0, node, EPOCH);
    }
    for (uint32_t i = 1; i <= w.nodes; i++)
        w.n[node].in_words[i] = 0;
    w.dead[node] = true;
    include_tell(node);
}

void include_table_again(uint32_t node)
{
    const struct section *sections = w_table_words(&w, 1, TABLE_FLAGS, true);
    struct local_table_add_req req = {.table_id = 1, .version = 1};
    w_driver(&w, node)->added = 0;
    w_self(&w, node, BLOCK_DBLQH, 1, GSN_LOCAL_TABLE_ADD_REQ, &req, 3, sections, 2);
    w_self(&w, node, BLOCK_DBTC, 1, GSN_LOCAL_TABLE_ADD_REQ, &req, 3, sections, 2);
    while (w_driver(&w, node)->added < 2)
        include_step_n(1);
    w_order(&w, node, BLOCK_DBLQH, 1, LOCAL_TABLE_ONLINE);
    w_order(&w, node, BLOCK_DBTC, 1, LOCAL_TABLE_ONLINE);
}

void include_process_again(uint32_t node)
{
    node_destroy(w.n[node].node);
    for (uint32_t i = 1; i <= W_NODES; i++)
        free(w.n[node].in[i]);
    memset(w.n[node].in_words, 0, sizeof w.n[node].in_words);
    w_node(&w, node);
    stubs(node);
    w.dead[node] = false;
    while (w_driver(&w, node)->confs < 4)
        include_step_n(1);
    for (uint32_t i = 1; i <= w.nodes; i++) { /* Nobody joins before all have heard of the loss. */
        while (i != node && !w.dead[i] && include_lqh_at(i)->fail.failure_no != include_failures)
            include_step_n(1);
    }
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i == node || w.dead[i]) continue;
        node_link_up(w.n[i].node, 0, node, FROM_DATA, EPOCH);
        node_link_up(w.n[node].node, 0, i, FROM_DATA, EPOCH);
    }
    node_link_up(w.n[node].node, 0, CLIENT, FROM_API, EPOCH);
    node_link_up(w.n[node].node, 0, CLIENT_TWO, FROM_API, EPOCH);
    include_table_again(node);
    epoch_set(node);
    lcpr_rows(node);
}

struct node_mask include_others_of(uint32_t node)
{
    struct node_mask mask = {{0}};
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i != node && !w.dead[i]) node_mask_add(&mask, i);
    }
    return mask;
}

void include_self(uint32_t node)
{
    uint32_t pairs[2 * W_NODES];
    struct section section = {pairs, 0};
    include_ranks[node] = ++rank_last;
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (include_ranks[i] == 0 || w.dead[i]) continue;
        pairs[section.size++] = i;
        pairs[section.size++] = include_ranks[i];
    }
    struct node_include_req req = {.node = node,
                                   .rank = include_ranks[node],
                                   .failure_no = include_failures,
                                   .president = 1,
                                   .alive = include_others_of(node),
                                   .gci = include_own_gci};
    include_got.included = include_got.copied = 0;
    for (uint32_t i = 0; i < 2; i++)
        signal_send(include_got.cntr[node], block_ref(node, i == 0 ? BLOCK_DBTC : BLOCK_DBLQH, 1),
                    GSN_NODE_INCLUDE_REQ, PRIO_B, &req, sizeof req / 4u, &section, 1);
    while (include_got.included < 2)
        include_step_n(1);
}

void include_at_others(uint32_t node)
{
    static const uint32_t blocks[2] = {BLOCK_DBTC, BLOCK_DBLQH};
    struct node_include_rep rep = {.node = node,
                                   .rank = include_ranks[node],
                                   .failure_no = include_failures,
                                   .alive = include_others_of(node)};
    uint32_t first = include_dice(w.nodes);
    node_mask_add(&rep.alive, node);
    for (uint32_t k = 0; k < w.nodes && include_fuse != 0; k++) {
        uint32_t i = 1 + (first + k) % w.nodes;
        uint32_t turn = include_dice(2);
        if (i == node || w.dead[i]) continue;
        w_self(&w, i, blocks[turn], 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
        include_step_n(include_dice(10));
        w_self(&w, i, blocks[1 - turn], 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
        include_step_n(include_dice(10));
    }
}

void include_copy_order(uint32_t node)
{
    uint32_t distribution[64] = {w.fragments, w.replicas};
    uint32_t *nodes = distribution + DISTRIBUTION_HEAD_WORDS;
    for (uint32_t f = 0; f < w.fragments; f++, nodes += w.replicas) {
        uint32_t left = 0;
        for (uint32_t r = 0; r < w.replicas; r++) {
            uint32_t other = 1 + (f + r) % w.nodes;
            uint32_t at = left;
            if (other == node || w.dead[other]) continue;
            for (; at > 0 && include_ranks[nodes[at - 1]] > include_ranks[other]; at--)
                nodes[at] = nodes[at - 1];
            nodes[at] = other;
            left++;
        }
    }
    const struct section section = {distribution,
                                    DISTRIBUTION_HEAD_WORDS + w.fragments * w.replicas};
    struct copy_table_req req = {.table_id = 1, .version = 1};
    signal_send(include_got.cntr[node], block_ref(node, BLOCK_DBLQH, 1), GSN_COPY_TABLE_REQ, PRIO_B,
                &req, 3, &section, 1);
}

/* --- Clients. --- */

struct actor include_actors[ACTORS];

uint32_t include_committed;

void include_actors_seat(uint32_t except)
{
    for (uint32_t i = 0; i < ACTORS; i++) {
        uint32_t node = include_actors[i].trx.node;
        if (node != 0 && !w.dead[node] && node != except) continue;
        for (node = 1 + include_dice(w.nodes); w.dead[node] || node == except;)
            node = 1 + node % w.nodes;
        include_actors[i] = (struct actor){.trx = t_new(&w, CLIENT, node)};
    }
}

static void actor_starts(struct actor *actor)
{
    static const enum key_operation kinds[] = {OP_INSERT, OP_UPDATE, OP_WRITE,
                                               OP_DELETE, OP_WRITE,  OP_READ};
    uint32_t count = 1 + include_dice(OPS_MAX);
    uint32_t key = 1 + include_dice(include_keys);
    t_next(&actor->trx);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t flags = (i == 0 ? KEY_START : 0);
        if (i + 1 == count) flags |= include_dice(2) == 0 ? KEY_EXECUTE : KEY_EXECUTE | KEY_COMMIT;
        if (include_dice(3) != 0) key = 1 + include_dice(include_keys); /* Or the same row again. */
        t_op(&actor->trx, .api_op = key, .info = INFO(kinds[include_dice(6)], flags), .key = key,
             .value = include_dice(1u << 20));
    }
    actor->state = ACTOR_EXECUTING;
}

/* Nothing of what a return can do is visible to a client. */
static void expect_harmless(uint32_t error)
{
    static const uint32_t allowed[] = {0, ERR_ROW_NOT_FOUND, ERR_ROW_EXISTS, ERR_LOCK_TIMEOUT,
                                       ERR_NODE_FAILURE};
    for (uint32_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (error == allowed[i]) return;
    }
    fail_msg("a client got error %u", error);
}

static void actor_hears(const struct signal *sig)
{
    for (uint32_t i = 0; i < ACTORS; i++) {
        struct actor *actor = &include_actors[i];
        if (actor->trx.transid1 != sig->payload[1] || actor->state == ACTOR_IDLE) continue;
        if (sig->gsn == GSN_TCKEYCONF) {
            bool done = (SIG_PAYLOAD(sig, tckeyconf)->flags & KEYCONF_COMMITTED) != 0;
            actor->state = done ? ACTOR_IDLE : ACTOR_HOLDS;
            include_committed += done;
        } else if (sig->gsn == GSN_TC_COMMITCONF) {
            actor->state = ACTOR_IDLE;
            include_committed++;
        } else if (sig->gsn == GSN_TCROLLBACKREP) {
            expect_harmless(SIG_PAYLOAD(sig, tcrollbackrep)->error);
            actor->state = ACTOR_IDLE;
        } else if (sig->gsn == GSN_TCROLLBACKCONF) {
            actor->state = ACTOR_IDLE;
        }
    }
}

static void actors_act(bool begin_new)
{
    for (uint32_t i = 0; i < w.rx_count; i++) {
        if (!w.rx[i].taken) actor_hears(&w.rx[i].sig);
        free(w.rx[i].words);
    }
    w.rx_count = 0;
    for (uint32_t i = 0; i < ACTORS; i++) {
        struct actor *actor = &include_actors[i];
        if (actor->state == ACTOR_IDLE && begin_new && include_dice(4) == 0) {
            actor_starts(actor);
        } else if (actor->state == ACTOR_HOLDS && include_dice(8) == 0) {
            if (include_dice(3) == 0)
                t_rollback(&actor->trx);
            else
                t_commit(&actor->trx);
            actor->state = ACTOR_ENDING;
        }
    }
}

void include_traffic(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds && include_fuse != 0; i++) {
        actors_act(true);
        include_step_n(include_dice(20));
        if (include_dice(20) == 0) w.now += include_dice(10);
    }
}

void include_actors_end(void)
{
    bool busy = true;
    for (uint32_t round = 0; busy; round++) {
        assert_true(round < 100000);
        actors_act(false);
        include_step_n(10);
        w.now++;
        busy = false;
        for (uint32_t i = 0; i < ACTORS; i++)
            busy = busy || include_actors[i].state != ACTOR_IDLE;
    }
    w_pass(&w, 300);
    actors_act(false);
}

/* --- What is there. --- */

/* The same rows in the same places. */
static void expect_equal(uint32_t one, uint32_t two)
{
    static uint32_t out[2][TUP_ROW_WORDS_MAX];
    const uint32_t all = attr_header(ATTR_READ_ALL, 0);
    for (uint32_t f = 0; f < w.fragments; f++) {
        const uint32_t node[2] = {one, two};
        struct tup_scan_position at[2] = {{0, 0}, {0, 0}};
        for (;;) {
            uint32_t row[2];
            uint32_t words[2] = {0, 0};
            for (uint32_t i = 0; i < 2; i++) {
                struct tup_frag *frag = frag_of(node[i], f);
                row[i] = next_row(node[i], frag, &at[i]);
                struct tup_read read = {.frag = frag, .row = row[i], .attr = &all, .attr_words = 1};
                if (row[i] != ROW_NONE)
                    assert_int_equal(
                        tup_read(tup_of(node[i]), &read, out[i], TUP_ROW_WORDS_MAX, &words[i]), 0);
            }
            assert_int_equal(row[0], row[1]);
            if (row[0] == ROW_NONE) break;
            assert_int_equal(words[0], words[1]);
            assert_memory_equal(out[0], out[1], words[0] * 4u);
            assert_int_equal(tup_row_gci(tup_of(one), frag_of(one, f), row[0]),
                             tup_row_gci(tup_of(two), frag_of(two, f), row[1]));
        }
    }
}

/* All TCs send in the same order, which is that of the ranks; nobody lost: the fast path. */
static void expect_same_chains(uint32_t model)
{
    bool any = false;
    for (uint32_t i = 1; i <= w.nodes; i++)
        any = any || w.dead[i];
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (w.dead[i]) continue;
        assert_int_equal(include_tc_at(i)->fail.any, any);
        for (uint32_t f = 0; f < w.fragments; f++) {
            uint32_t nodes = tc_live_nodes(include_tc_at(i),
                                           include_tc_at(i)->table[1]->nodes + f * REPLICAS_MAX);
            assert_int_equal(
                nodes, tc_live_nodes(include_tc_at(model),
                                     include_tc_at(model)->table[1]->nodes + f * REPLICAS_MAX));
            for (uint32_t r = 0; r < w.nodes; r++) {
                uint32_t node = replica_node(nodes, r);
                uint32_t next = replica_node(nodes, r + 1);
                if (node == 0) break;
                assert_false(w.dead[node]);
                if (next != 0) assert_true(include_ranks[node] <= include_ranks[next]);
            }
        }
    }
}

void include_expect_whole(void)
{
    uint32_t model = 1;
    while (w.dead[model])
        model++;
    w_expect_quiet(&w);
    expect_same_chains(model);
    for (uint32_t i = model + 1; i <= w.nodes; i++) {
        if (!w.dead[i]) expect_equal(model, i);
    }
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (w.dead[i]) continue;
        assert_int_equal(include_lqh_at(i)->include.copying, 0);
        if (include_failures > 0)
            assert_true(include_got.ends[i] == include_failures || include_ranks[i] != 0);
    }
}
