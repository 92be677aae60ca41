/* test_include.c -- data nodes are lost and come back, again and again, under transactions: chains
 * agree everywhere, replicas are equal, and a death at any point of a return harms nobody else. */
/* SPDX-License-Identifier: GPL-2.0-only */
#define W_NODES 4u
#include "blocks/dblqh/lqh_frags.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dbtc/tc_state.h"
#include "signals/copy.h"
#include "tests/unit/tc_fixture.h"

#define TABLE_FLAGS (TABLE_ROW_GCI | TABLE_READ_BACKUP)
#define FRAGMENTS   4u
#define ACTORS      6u
#define OPS_MAX     4u
#define NO_FUSE     UINT32_MAX

static struct world w;
static uint32_t rng_state;
static uint32_t failures;
static uint32_t ranks[W_NODES + 1];
static uint32_t rank_last;
static uint32_t keys;
static uint32_t fuse = NO_FUSE; /* So many signals until something is to happen. */

static uint32_t dice(uint32_t sides)
{
    rng_state = rng_state * 1664525u + 1013904223u;
    return (rng_state >> 8) % sides;
}

/* --- Stands for NDBCNTR and DIH. --- */

static struct {
    uint32_t included;          /* NODE_INCLUDE_CONF */
    uint32_t copied;            /* COPY_TABLE_CONF */
    uint32_t ends[W_NODES + 1]; /* Newest TAKEOVER_END_REP. */
    struct block *cntr[W_NODES + 1];
} got;

static void cntr_exec_NODE_INCLUDE_CONF(struct block *block, const struct signal *sig)
{
    (void)block, (void)sig;
    got.included++;
}
static void cntr_exec_COPY_TABLE_CONF(struct block *block, const struct signal *sig)
{
    (void)block, (void)sig;
    got.copied++;
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
    got.ends[ref_node(block->ref)] = SIG_PAYLOAD(sig, takeover_end_rep)->failure_no;
}
static const struct handler dih_handlers[] = {
    HANDLER(dih, TAKEOVER_END_REP, takeover_end_rep),
};
static const struct block_type dih_type = {"DBDIH", BLOCK_DBDIH, dih_handlers, 1, NULL};

static void stubs(uint32_t node)
{
    struct thread *thread = node_thread(w.n[node].node, 0);
    got.cntr[node] = block_create(thread, &cntr_type, 0, sizeof(struct block));
    block_create(thread, &dih_type, 0, sizeof(struct block));
}

static void tune(struct node_config *config)
{
    config->deadlock_timeout_ms = 100;
    config->survive = 1;
}

static void begin(uint32_t nodes, uint32_t seed)
{
    w_start_replicas(&w, nodes, nodes, FRAGMENTS, tune);
    memset(&got, 0, sizeof got);
    memset(ranks, 0, sizeof ranks);
    failures = 0;
    rank_last = 100;
    rng_state = seed;
    fuse = NO_FUSE;
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

static bool step(void)
{
    uint32_t first = dice(w.nodes);
    if (fuse != NO_FUSE && fuse > 0) fuse--;
    for (uint32_t k = 0; k < w.nodes; k++) {
        uint32_t i = 1 + (first + k) % w.nodes;
        if (deliver(i, 1 + dice(w.nodes))) return true;
        if (w.dead[i]) continue;
        bool any = thread_run_once(node_thread(w.n[i].node, 0), w.now, 1).executed > 0;
        node_check(w.n[i].node);
        if (any) return true;
    }
    return w_deliver(&w);
}

static void step_n(uint32_t count)
{
    for (uint32_t i = 0; i < count && fuse != 0; i++) {
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
        uint32_t turn = dice(2);
        w_self(&w, i, block[turn], 1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u, NULL, 0);
        step_n(dice(6));
        w_self(&w, i, block[1 - turn], 1, GSN_NODE_LOST_REP, &rep, sizeof rep / 4u, NULL, 0);
        step_n(dice(6));
    }
}

static void die(uint32_t node)
{
    fuse = NO_FUSE;
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i == node || w.dead[i]) continue;
        if (dice(2) == 0) deliver(i, node);
        w.n[i].in_words[node] = 0;
        node_link_down(w.n[i].node, 0, node, EPOCH);
    }
    for (uint32_t i = 1; i <= w.nodes; i++)
        w.n[node].in_words[i] = 0;
    w.dead[node] = true;
    tell(node);
}

/* As DICT does it at a node that comes back: all places, those of lost nodes marked. */
static void table_again(uint32_t node)
{
    struct table_def *def = kvt_table(1, 1, w.fragments, TABLE_FLAGS);
    uint32_t words[256];
    uint32_t distribution[512 + HASH_MAP_BUCKETS / 2];
    uint32_t def_words = table_def_encode(def, words, 256);
    uint32_t at = DISTRIBUTION_HEAD_WORDS;
    free(def);
    distribution[0] = w.fragments;
    distribution[1] = w.replicas;
    distribution[2] = HASH_MAP_BUCKETS;
    for (uint32_t f = 0; f < w.fragments; f++) {
        for (uint32_t r = 0; r < w.replicas; r++) {
            uint32_t replica = 1 + (f + r) % w.nodes;
            distribution[at++] = replica | (w.dead[replica] ? DISTRIBUTION_ABSENT : 0);
        }
    }
    for (uint32_t b = 0; b < HASH_MAP_BUCKETS; b += 2)
        distribution[at++] = b % w.fragments | (b + 1) % w.fragments << 16;
    const struct section sections[2] = {{words, def_words}, {distribution, at}};
    struct local_table_add_req req = {.table_id = 1, .version = 1};
    w_driver(&w, node)->added = 0;
    w_self(&w, node, BLOCK_DBLQH, 1, GSN_LOCAL_TABLE_ADD_REQ, &req, 3, sections, 2);
    w_self(&w, node, BLOCK_DBTC, 1, GSN_LOCAL_TABLE_ADD_REQ, &req, 3, sections, 2);
    while (w_driver(&w, node)->added < 2)
        step_n(1);
    w_order(&w, node, BLOCK_DBLQH, 1, LOCAL_TABLE_ONLINE);
    w_order(&w, node, BLOCK_DBTC, 1, LOCAL_TABLE_ONLINE);
}

/* A new process, which the others have links to; nobody sends to it yet. */
static void process_again(uint32_t node)
{
    node_destroy(w.n[node].node);
    for (uint32_t i = 1; i <= W_NODES; i++)
        free(w.n[node].in[i]);
    memset(w.n[node].in_words, 0, sizeof w.n[node].in_words);
    w_node(&w, node, tune);
    stubs(node);
    w.dead[node] = false;
    while (w_driver(&w, node)->confs < 4)
        step_n(1);
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i == node || w.dead[i]) continue;
        node_link_up(w.n[i].node, 0, node, FROM_DATA, EPOCH);
        node_link_up(w.n[node].node, 0, i, FROM_DATA, EPOCH);
    }
    node_link_up(w.n[node].node, 0, CLIENT, FROM_API, EPOCH);
    node_link_up(w.n[node].node, 0, CLIENT_TWO, FROM_API, EPOCH);
    table_again(node);
}

static struct node_mask others_of(uint32_t node)
{
    struct node_mask mask = {{0}};
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (i != node && !w.dead[i]) node_mask_add(&mask, i);
    }
    return mask;
}

static void include_self(uint32_t node)
{
    uint32_t pairs[2 * W_NODES];
    struct section section = {pairs, 0};
    ranks[node] = ++rank_last;
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (ranks[i] == 0 || w.dead[i]) continue;
        pairs[section.size++] = i;
        pairs[section.size++] = ranks[i];
    }
    struct node_include_req req = {.node = node,
                                   .rank = ranks[node],
                                   .failure_no = failures,
                                   .president = 1,
                                   .alive = others_of(node)};
    got.included = got.copied = 0;
    for (uint32_t i = 0; i < 2; i++)
        signal_send(got.cntr[node], block_ref(node, i == 0 ? BLOCK_DBTC : BLOCK_DBLQH, 1),
                    GSN_NODE_INCLUDE_REQ, PRIO_B, &req, sizeof req / 4u, &section, 1);
    while (got.included < 2)
        step_n(1);
}

/* The others hear of it at different times; some never, when it dies before. */
static void include_at_others(uint32_t node)
{
    static const uint32_t blocks[2] = {BLOCK_DBTC, BLOCK_DBLQH};
    struct node_include_rep rep = {
        .node = node, .rank = ranks[node], .failure_no = failures, .alive = others_of(node)};
    uint32_t first = dice(w.nodes);
    node_mask_add(&rep.alive, node);
    for (uint32_t k = 0; k < w.nodes && fuse != 0; k++) {
        uint32_t i = 1 + (first + k) % w.nodes;
        uint32_t turn = dice(2);
        if (i == node || w.dead[i]) continue;
        w_self(&w, i, blocks[turn], 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
        step_n(dice(10));
        w_self(&w, i, blocks[1 - turn], 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
        step_n(dice(10));
    }
}

static void copy_order(uint32_t node)
{
    uint32_t distribution[64] = {w.fragments, w.replicas};
    uint32_t *nodes = distribution + DISTRIBUTION_HEAD_WORDS;
    for (uint32_t f = 0; f < w.fragments; f++, nodes += w.replicas) {
        uint32_t left = 0;
        for (uint32_t r = 0; r < w.replicas; r++) {
            uint32_t other = 1 + (f + r) % w.nodes;
            uint32_t at = left;
            if (other == node || w.dead[other]) continue;
            for (; at > 0 && ranks[nodes[at - 1]] > ranks[other]; at--)
                nodes[at] = nodes[at - 1];
            nodes[at] = other;
            left++;
        }
    }
    const struct section section = {distribution,
                                    DISTRIBUTION_HEAD_WORDS + w.fragments * w.replicas};
    struct copy_table_req req = {.table_id = 1, .version = 1};
    signal_send(got.cntr[node], block_ref(node, BLOCK_DBLQH, 1), GSN_COPY_TABLE_REQ, PRIO_B, &req,
                3, &section, 1);
}

/* --- Clients. --- */

enum actor_state { ACTOR_IDLE, ACTOR_EXECUTING, ACTOR_HOLDS, ACTOR_ENDING };

static struct actor {
    struct trx trx;
    enum actor_state state;
} actors[ACTORS];
static uint32_t committed;

/* At nodes that are started. */
static void actors_seat(uint32_t except)
{
    for (uint32_t i = 0; i < ACTORS; i++) {
        uint32_t node = actors[i].trx.node;
        if (node != 0 && !w.dead[node] && node != except) continue;
        for (node = 1 + dice(w.nodes); w.dead[node] || node == except;)
            node = 1 + node % w.nodes;
        actors[i] = (struct actor){.trx = t_new(&w, CLIENT, node)};
    }
}

static void actor_starts(struct actor *actor)
{
    static const enum key_operation kinds[] = {OP_INSERT, OP_UPDATE, OP_WRITE,
                                               OP_DELETE, OP_WRITE,  OP_READ};
    uint32_t count = 1 + dice(OPS_MAX);
    uint32_t key = 1 + dice(keys);
    t_next(&actor->trx);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t flags = (i == 0 ? KEY_START : 0);
        if (i + 1 == count) flags |= dice(2) == 0 ? KEY_EXECUTE : KEY_EXECUTE | KEY_COMMIT;
        if (dice(3) != 0) key = 1 + dice(keys); /* Or the same row again. */
        t_op(&actor->trx, key, INFO(kinds[dice(6)], flags), key, dice(1u << 20));
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
        struct actor *actor = &actors[i];
        if (actor->trx.transid1 != sig->payload[1] || actor->state == ACTOR_IDLE) continue;
        if (sig->gsn == GSN_TCKEYCONF) {
            bool done = (SIG_PAYLOAD(sig, tckeyconf)->flags & KEYCONF_COMMITTED) != 0;
            actor->state = done ? ACTOR_IDLE : ACTOR_HOLDS;
            committed += done;
        } else if (sig->gsn == GSN_TC_COMMITCONF) {
            actor->state = ACTOR_IDLE;
            committed++;
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
        struct actor *actor = &actors[i];
        if (actor->state == ACTOR_IDLE && begin_new && dice(4) == 0) {
            actor_starts(actor);
        } else if (actor->state == ACTOR_HOLDS && dice(8) == 0) {
            if (dice(3) == 0)
                t_rollback(&actor->trx);
            else
                t_commit(&actor->trx);
            actor->state = ACTOR_ENDING;
        }
    }
}

static void traffic(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds && fuse != 0; i++) {
        actors_act(true);
        step_n(dice(20));
        if (dice(20) == 0) w.now += dice(10);
    }
}

static void actors_end(void)
{
    bool busy = true;
    for (uint32_t round = 0; busy; round++) {
        assert_true(round < 100000);
        actors_act(false);
        step_n(10);
        w.now++;
        busy = false;
        for (uint32_t i = 0; i < ACTORS; i++)
            busy = busy || actors[i].state != ACTOR_IDLE;
    }
    w_pass(&w, 300);
    actors_act(false);
}

/* --- What is there. --- */

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
        }
    }
}

static struct tc *tc_at(uint32_t node)
{
    return (struct tc *)(void *)node_block(w.n[node].node, BLOCK_DBTC, 1);
}
static struct lqh *lqh_at(uint32_t node)
{
    return (struct lqh *)(void *)node_block(w.n[node].node, BLOCK_DBLQH, 1);
}

/* All TCs send in the same order, which is that of the ranks; nobody lost: the fast path. */
static void expect_same_chains(uint32_t model)
{
    bool any = false;
    for (uint32_t i = 1; i <= w.nodes; i++)
        any = any || w.dead[i];
    for (uint32_t i = 1; i <= w.nodes; i++) {
        if (w.dead[i]) continue;
        assert_int_equal(tc_at(i)->fail.any, any);
        for (uint32_t f = 0; f < w.fragments; f++) {
            uint32_t nodes = tc_live_nodes(tc_at(i), tc_at(i)->table[1]->nodes + f * REPLICAS_MAX);
            assert_int_equal(nodes, tc_live_nodes(tc_at(model), tc_at(model)->table[1]->nodes +
                                                                    f * REPLICAS_MAX));
            for (uint32_t r = 0; r < w.nodes; r++) {
                uint32_t node = replica_node(nodes, r);
                uint32_t next = replica_node(nodes, r + 1);
                if (node == 0) break;
                assert_false(w.dead[node]);
                if (next != 0) assert_true(ranks[node] <= ranks[next]);
            }
        }
    }
}

static void expect_whole(void)
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
        assert_int_equal(lqh_at(i)->include.copying, 0);
        if (failures > 0) assert_true(got.ends[i] == failures || ranks[i] != 0);
    }
}

/* --- Tests. --- */

/* The copy begins when all have heard; then the node is started. */
static void copy_whole(uint32_t node)
{
    copy_order(node);
    for (uint32_t i = 0; got.copied == 0 && fuse != 0; i++) {
        assert_true(i < 200000);
        traffic(1);
    }
    if (fuse == 0) return;
    struct node_state_rep rep = {.start_level = START_STARTED};
    w_self(&w, node, BLOCK_DBTC, 1, GSN_NODE_STATE_REP, &rep, sizeof rep / 4u, NULL, 0);
}

static void come_back(uint32_t node)
{
    process_again(node);
    traffic(dice(30));
    include_self(node);
    include_at_others(node);
    copy_whole(node);
}

static uint32_t victim_of(uint32_t at_least_alive)
{
    uint32_t alive = 0;
    for (uint32_t i = 1; i <= w.nodes; i++)
        alive += !w.dead[i];
    if (alive <= at_least_alive) return 0;
    uint32_t node = 1 + dice(w.nodes);
    while (w.dead[node])
        node = 1 + node % w.nodes;
    return node;
}

static uint32_t a_dead_one(void)
{
    for (uint32_t i = 1, first = dice(w.nodes); i <= w.nodes; i++) {
        uint32_t node = 1 + (first + i) % w.nodes;
        if (w.dead[node]) return node;
    }
    return 0;
}

static void start_actors(void)
{
    memset(actors, 0, sizeof actors);
    committed = 0;
    actors_seat(0);
}

/* Every node is lost and comes back several times: each has been the first replica and the last. */
static void rolling(uint32_t nodes, uint32_t rounds, uint32_t seed)
{
    begin(nodes, seed);
    keys = 4 + dice(40);
    start_actors();
    traffic(100);
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t victim = victim_of(1);
        if (victim != 0) {
            die(victim);
            actors_seat(0);
        }
        traffic(dice(3) == 0 ? 0 : dice(60));
        if (dice(3) == 0) continue;
        uint32_t node = a_dead_one();
        if (node != 0) come_back(node);
        traffic(dice(60));
        if (dice(3) != 0) continue;
        actors_end();
        expect_whole();
    }
    for (uint32_t node = a_dead_one(); node != 0; node = a_dead_one())
        come_back(node);
    traffic(100);
    actors_end();
    expect_whole();
    assert_true(committed > rounds);
    w_stop(&w);
}

static uint32_t times(uint32_t quick)
{
    return getenv("INCLUDE_TIMES") != NULL ? (uint32_t)atoi(getenv("INCLUDE_TIMES")) : quick;
}

static void test_rolling(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= times(4); seed++) {
        rolling(2, 12, seed);
        rolling(3, 12, seed);
        rolling(4, 10, seed);
    }
}

/* It dies after so many signals of its return; sometimes one of the others did, and it follows. */
static void death_at(uint32_t nodes, uint32_t at, uint32_t seed)
{
    begin(nodes, seed);
    keys = 30;
    start_actors();
    traffic(60);
    uint32_t node = 1 + dice(nodes);
    die(node);
    actors_seat(0);
    traffic(dice(40));
    process_again(node);
    include_self(node);
    fuse = at;
    include_at_others(node);
    if (fuse != 0) copy_whole(node);
    fuse = NO_FUSE;
    uint32_t other = nodes > 2 && dice(3) == 0 ? 1 + node % nodes : 0;
    if (other != 0) die(other);
    die(node);
    actors_seat(0);
    traffic(40);
    actors_end();
    expect_whole();
    for (uint32_t dead = a_dead_one(); dead != 0; dead = a_dead_one())
        come_back(dead);
    traffic(40);
    actors_end();
    expect_whole();
    w_stop(&w);
}

static void test_death_after_each_signal(void **state)
{
    uint32_t stride = getenv("INCLUDE_TIMES") != NULL ? 1 : 19;
    (void)state;
    for (uint32_t at = 1; at < 400; at += stride) {
        death_at(2, at, 100 + at);
        death_at(3, at, 9000 + at);
    }
}

/* The losses are not dealt with yet when it is back. */
static void test_before_the_end_of_the_takeover(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= times(10); seed++) {
        begin(3, seed);
        keys = 10;
        start_actors();
        traffic(60);
        uint32_t node = 1 + dice(3);
        struct trx idle = t_new(&w, CLIENT_TWO, 1 + node % 3);
        t_op(&idle, 1, INFO(OP_WRITE, KEY_START | KEY_EXECUTE), 100, 7);
        step_n(40);
        die(node);
        actors_seat(0);
        process_again(node);
        include_self(node);
        include_at_others(node);
        copy_whole(node);
        traffic(50);
        actors_end();
        expect_whole();
        w_stop(&w);
    }
}

/* A transaction that began before is under way without the node: the copy waits for its end. */
static void test_the_copy_waits(void **state)
{
    (void)state;
    begin(2, 5);
    keys = 10;
    struct trx old = t_new(&w, CLIENT, 1);
    struct trx late = t_new(&w, CLIENT, 1);
    memset(actors, 0, sizeof actors);
    c_insert(&w, &late, 1, 10);
    die(2);
    w_pass(&w, 50);
    t_op(&old, 1, INFO(OP_UPDATE, KEY_START | KEY_EXECUTE), 1, 20);
    w_run(&w);
    t_expect_keyconf(&old, 0);
    process_again(2);
    include_self(2);
    include_at_others(2);
    w_pass(&w, 50);
    t_next(&late);
    t_op(&late, 2, INFO(OP_INSERT, WRITE_ALL), 2, 30); /* At node 2 it is nothing. */
    w_pass(&w, 20);
    t_expect_keyconf(&late, KEYCONF_COMMITTED);
    copy_order(2);
    w_pass(&w, 500);
    assert_int_equal(got.copied, 0);
    t_commit(&old);
    w_pass(&w, 200);
    assert_non_null(c_take(&w, GSN_TC_COMMITCONF));
    assert_int_equal(got.copied, 1);
    expect_whole();
    w_level(&w, 2, START_STARTED);
    c_expect_row(&w, 1, 20);
    c_expect_row(&w, 2, 30);
    w_stop(&w);
}

/* The copy stands still at a locked row; what is behind it is changed, deleted, written. */
static void test_rows_that_are_not_there_yet(void **state)
{
    (void)state;
    begin(2, 6);
    keys = 10;
    struct trx reader[FRAGMENTS * 4];
    struct trx t = t_new(&w, CLIENT, 1);
    memset(actors, 0, sizeof actors);
    for (uint32_t key = 1; key <= 64; key++)
        c_insert(&w, &t, key, key);
    die(2);
    w_pass(&w, 50);
    for (uint32_t i = 0; i < FRAGMENTS * 4; i++) { /* The first rows of each fragment among them. */
        reader[i] = t_new(&w, CLIENT_TWO, 1);
        t_op(&reader[i], 1, INFO(OP_READ, KEY_START | KEY_EXECUTE), 1 + i, 0);
    }
    w_run(&w);
    process_again(2);
    include_self(2);
    include_at_others(2);
    copy_order(2);
    w_pass(&w, 50);
    assert_int_equal(got.copied, 0);
    static const enum key_operation kinds[] = {OP_UPDATE, OP_DELETE, OP_WRITE};
    for (uint32_t key = FRAGMENTS * 4 + 1; key <= 64; key++) {
        for (uint32_t again = 0; again < 2; again++) { /* A deleted one is written anew. */
            bool gone = again == 1 && key % 3 == 1;
            t_next(&t);
            t_op(&t, key, INFO(gone ? OP_INSERT : kinds[key % 3], WRITE_ALL), key, 1000 + key);
            w_run(&w);
            while (c_take(&w, GSN_TRANSID_AI) != NULL)
                continue;
            const struct signal *sig = c_take(&w, GSN_TCROLLBACKREP);
            if (sig != NULL) fail_msg("error %u", SIG_PAYLOAD(sig, tcrollbackrep)->error);
        }
    }
    assert_int_equal(got.copied, 0);
    for (uint32_t i = 0; i < FRAGMENTS * 4; i++)
        t_commit(&reader[i]);
    w_pass(&w, 200);
    assert_int_equal(got.copied, 1);
    expect_whole();
    w_stop(&w);
}

/* A node that was not there when the cluster started has its place, and takes it. */
static void test_never_here_before(void **state)
{
    (void)state;
    begin(2, 3);
    memset(actors, 0, sizeof actors);
    /* As if only node 1 had started: it knows of node 2 what the dictionary says. */
    for (uint32_t k = 1; k <= 2; k++)
        node_link_down(w.n[3 - k].node, 0, k, EPOCH);
    w.dead[2] = true;
    w_order(&w, 1, BLOCK_DBTC, 1, LOCAL_TABLE_DROPPING);
    w_run(&w);
    w_order(&w, 1, BLOCK_DBLQH, 1, LOCAL_TABLE_DROPPING);
    w_run(&w);
    w_order(&w, 1, BLOCK_DBTC, 1, LOCAL_TABLE_DROP);
    w_order(&w, 1, BLOCK_DBLQH, 1, LOCAL_TABLE_DROP);
    w_run(&w);
    table_again(1);
    w_run(&w);
    struct trx t = t_new(&w, CLIENT, 1);
    c_insert(&w, &t, 1, 10);
    process_again(2);
    include_self(2);
    include_at_others(2);
    copy_order(2);
    w_pass(&w, 100);
    assert_int_equal(got.copied, 1);
    w_level(&w, 2, START_STARTED);
    c_insert(&w, &t, 2, 20);
    w_pass(&w, 20);
    c_expect_row(&w, 1, 10);
    c_expect_row(&w, 2, 20);
    expect_whole();
    w_stop(&w);
}

/* --- Two come back at the same time. --- */

static void two_are_lost(void)
{
    begin(3, 11);
    keys = 10;
    memset(actors, 0, sizeof actors);
    struct trx t = t_new(&w, CLIENT, 1);
    c_insert(&w, &t, 1, 10);
    die(2);
    w_pass(&w, 50);
    die(3);
    w_pass(&w, 50);
}

/* Node 3's tables are made while node 2 is absent; it is included before node 3 asks. */
static void test_one_came_back_before_the_other(void **state)
{
    (void)state;
    two_are_lost();
    process_again(3);
    w.dead[3] = true; /* For those who tell of node 2. */
    process_again(2);
    include_self(2);
    include_at_others(2);
    w_pass(&w, 20);
    w.dead[3] = false;
    include_self(3);
    const struct tc *tc = (const struct tc *)(void *)node_block(w.n[3].node, BLOCK_DBTC, 1);
    assert_true(node_mask_has(&tc->fail.alive, 2));
    assert_true(node_mask_empty(&tc->fail.lost));
    assert_true(node_mask_empty(&lqh_at(3)->fail.lost));
    assert_int_equal(tc->fail.ended[2].rank, ranks[2]);
    w_stop(&w);
}

/* Node 3 joined first, node 2 is included first: what TC says of node 2 says nothing of node 3. */
static void test_included_in_another_order(void **state)
{
    (void)state;
    two_are_lost();
    process_again(3);
    include_self(3);
    process_again(2);
    w.dead[3] = true; /* It is not included. */
    include_self(2);
    w.dead[3] = false;
    assert_true(ranks[2] > ranks[3]);
    include_at_others(2);
    w_pass(&w, 20);
    struct node_include_rep rep = {
        .node = 3, .rank = ranks[3], .failure_no = failures, .alive = others_of(0)};
    w_self(&w, 1, BLOCK_DBLQH, 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_self(&w, 2, BLOCK_DBTC, 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_pass(&w, 50);
    assert_true(lqh_at(1)->include.back[3].taken && lqh_at(1)->include.back[3].told);
    assert_false(lqh_included(lqh_at(1), 3, ranks[3]));
    assert_int_equal(lqh_at(1)->include.back[3].state, INCLUDE_WAITING);
    w_self(&w, 1, BLOCK_DBTC, 1, GSN_NODE_INCLUDE_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_pass(&w, 20);
    assert_false(lqh_included(lqh_at(1), 3, ranks[3])); /* The walks. */
    w_pass(&w, 50);
    assert_true(lqh_included(lqh_at(1), 3, ranks[3]));
    w_stop(&w);
}

static void lost_and_back(uint32_t node)
{
    die(node);
    w_pass(&w, 50);
    process_again(node);
    include_self(node);
    include_at_others(node);
    copy_order(node);
    w_pass(&w, 300);
    assert_int_equal(got.copied, 1);
    w_level(&w, node, START_STARTED);
}

/* Three replicas, in the order 3, 2, 1 everywhere: node 1 has copied from node 3 alone, so node 2
 * has not heard of the end of its return. Then node 3 comes back and copies from node 2. */
static void test_one_after_the_other(void **state)
{
    (void)state;
    begin(3, 12);
    keys = 10;
    memset(actors, 0, sizeof actors);
    struct trx t = t_new(&w, CLIENT_TWO, 2);
    c_insert(&w, &t, 1, 10);
    lost_and_back(1);
    lost_and_back(2);
    lost_and_back(1);
    die(3);
    w_pass(&w, 50);
    process_again(3);
    include_self(3);
    include_at_others(3);
    for (uint32_t i = 0; i < 50 && !lqh_included(lqh_at(2), 3, ranks[3]); i++)
        w_pass(&w, 10);
    assert_true(lqh_included(lqh_at(2), 3, ranks[3]));
    assert_false(lqh_at(2)->include.skips); /* Else node 3 would not execute what comes now. */
    copy_order(3);
    w_pass(&w, 300);
    assert_int_equal(got.copied, 1);
    expect_whole();
    w_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_one_came_back_before_the_other),
        cmocka_unit_test(test_included_in_another_order),
        cmocka_unit_test(test_the_copy_waits),
        cmocka_unit_test(test_rows_that_are_not_there_yet),
        cmocka_unit_test(test_never_here_before),
        cmocka_unit_test(test_before_the_end_of_the_takeover),
        cmocka_unit_test(test_death_after_each_signal),
        cmocka_unit_test(test_rolling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
