/* tc_fixture.c -- one or two data nodes with TC, LQH, ACC, TUP and TUX only, and clients made of
 * plain functions. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tc_fixture.h"
#include "values/table_index.h"

struct world w;

#define RX_MAX     65536u
#define PIPE_WORDS (1u << 20)

/* --- The host. --- */

static uint64_t w_realtime(struct host *host)
{
    (void)host;
    return 0;
}

static void w_wake(struct host *host, uint32_t thread_no)
{
    (void)host;
    (void)thread_no;
}

static void w_receive(struct world *world, uint32_t client, const uint32_t *words, uint32_t count)
{
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        assert_true(world->rx_count < RX_MAX);
        struct rx *rx = &world->rx[world->rx_count++];
        assert_int_not_equal(signal_extent_check(words + at, count - at), 0);
        rx->words = malloc(words[at + 3] * 4u);
        memcpy(rx->words, words + at, words[at + 3] * 4u);
        signal_open(&rx->sig, rx->words);
        rx->client = client;
        rx->taken = false;
    }
}

static void w_link_send(struct host *host, uint32_t thread_no, uint32_t peer, uint32_t epoch,
                        const uint32_t *words, uint32_t count)
{
    struct wnode *from = (struct wnode *)(void *)host;
    (void)thread_no;
    (void)epoch;
    if (peer > W_NODES) {
        w_receive(from->world, peer, words, count);
        return;
    }
    struct wnode *to = &from->world->n[peer];
    if (from->world->dead[peer]) return;
    assert_true(to->in_words[from->id] + count <= PIPE_WORDS);
    memcpy(to->in[from->id] + to->in_words[from->id], words, count * 4u);
    to->in_words[from->id] += count;
}

static void w_link_close(struct host *host, uint32_t peer, uint32_t epoch, const char *reason)
{
    (void)epoch;
    (void)reason;
    ((struct wnode *)(void *)host)->world->closed_peer = peer;
}

static void w_link_allow(struct host *host, uint32_t peer, uint32_t allowed)
{
    (void)host;
    (void)peer;
    (void)allowed;
}

static uint64_t w_seed(struct host *host)
{
    return ((struct wnode *)(void *)host)->id;
}

static void w_log(struct host *host, enum log_level level, const char *text)
{
    (void)host;
    if (level >= LOG_LEVEL_ERROR) print_message("%s\n", text);
}

static void __attribute__((noreturn)) w_fail(struct host *host, const struct node_failure *failure)
{
    print_error("node %u failed: %s:%u %s\n", ((struct wnode *)(void *)host)->id, failure->file,
                failure->line, failure->text);
    fail();
    abort();
}

static void w_stopped(struct host *host, uint32_t flags)
{
    (void)host;
    (void)flags;
}

static const char *w_gsn_name(uint32_t gsn)
{
    return gsn_name(gsn);
}

/* --- The driver block. --- */

static void driver_exec_READ_CONFIG_CONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    ((struct driver *)(void *)block)->confs++;
}

static void driver_exec_LOCAL_TABLE_ADD_CONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    ((struct driver *)(void *)block)->added++;
}

static void driver_exec_LOCAL_TABLE_ADD_REF(struct block *block, const struct signal *sig)
{
    ((struct driver *)(void *)block)->add_error = SIG_PAYLOAD(sig, local_table_add_ref)->error;
}

static void driver_exec_LOCAL_TABLE_STATE_CONF(struct block *block, const struct signal *sig)
{
    ((struct driver *)(void *)block)->states[SIG_PAYLOAD(sig, local_table_state_conf)->order]++;
}

static void driver_exec_API_FAILCONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    ((struct driver *)(void *)block)->api_failed++;
}

static void driver_exec_DRAIN_CLIENTS_CONF(struct block *block, const struct signal *sig)
{
    ((struct driver *)(void *)block)->drained = SIG_PAYLOAD(sig, drain_clients_conf)->sender_data;
}

static void driver_exec_ORDER_HOLD_CONF(struct block *block, const struct signal *sig)
{
    ((struct driver *)(void *)block)->holds = SIG_PAYLOAD(sig, order_hold_conf)->no.count;
}

static void driver_exec_LOCAL_UNIQUE_CONF(struct block *block, const struct signal *sig)
{
    (void)sig;
    ((struct driver *)(void *)block)->uniques++;
}

static void driver_exec_LOCAL_UNIQUE_REF(struct block *block, const struct signal *sig)
{
    ((struct driver *)(void *)block)->unique_error = SIG_PAYLOAD(sig, local_unique_ref)->error;
}

static void driver_exec_BUILD_INDX_CONF(struct block *block, const struct signal *sig)
{
    struct driver *driver = (struct driver *)(void *)block;
    driver->filled++;
    driver->filled_rows = SIG_PAYLOAD(sig, build_indx_conf)->rows_lo;
}

static void driver_exec_BUILD_INDX_REF(struct block *block, const struct signal *sig)
{
    ((struct driver *)(void *)block)->fill_error = SIG_PAYLOAD(sig, build_indx_ref)->error;
}

static void driver_exec_BUILD_INDX_REP(struct block *block, const struct signal *sig)
{
    struct driver *driver = (struct driver *)(void *)block;
    driver->filled_rows = SIG_PAYLOAD(sig, build_indx_rep)->rows_lo;
    driver->fill_total = SIG_PAYLOAD(sig, build_indx_rep)->total_lo;
}

static const struct handler driver_handlers[] = {
    HANDLER(driver, READ_CONFIG_CONF, read_config_conf),
    HANDLER(driver, LOCAL_TABLE_ADD_CONF, local_table_add_conf),
    HANDLER(driver, LOCAL_TABLE_ADD_REF, local_table_add_ref),
    HANDLER(driver, LOCAL_TABLE_STATE_CONF, local_table_state_conf),
    HANDLER(driver, API_FAILCONF, api_failconf),
    HANDLER(driver, DRAIN_CLIENTS_CONF, drain_clients_conf),
    HANDLER(driver, ORDER_HOLD_CONF, order_hold_conf),
    HANDLER(driver, LOCAL_UNIQUE_CONF, local_unique_conf),
    HANDLER(driver, LOCAL_UNIQUE_REF, local_unique_ref),
    HANDLER(driver, BUILD_INDX_CONF, build_indx_conf),
    HANDLER(driver, BUILD_INDX_REF, build_indx_ref),
    HANDLER(driver, BUILD_INDX_REP, build_indx_rep),
};

static const struct block_type driver_type = {"DRIVER", BLOCK_DBDICT, driver_handlers,
                                              sizeof driver_handlers / sizeof driver_handlers[0],
                                              NULL};

struct driver *w_driver(struct world *world, uint32_t node)
{
    return (struct driver *)(void *)world->n[node].driver;
}

/* --- Running. --- */

bool w_deliver(struct world *world)
{
    bool any = false;
    for (uint32_t to = 1; to <= world->nodes; to++) {
        for (uint32_t from = 1; from <= world->nodes; from++) {
            uint32_t count = world->n[to].in_words[from];
            if (count == 0) continue;
            world->n[to].in_words[from] = 0;
            assert_true(
                node_deliver(world->n[to].node, 0, from, EPOCH, world->n[to].in[from], count));
            any = true;
        }
    }
    return any;
}

void w_run(struct world *world)
{
    bool any = true;
    while (any) {
        any = w_deliver(world);
        for (uint32_t i = 1; i <= world->nodes; i++) {
            if (world->dead[i]) continue;
            struct thread *thread = node_thread(world->n[i].node, 0);
            if (thread_run_once(thread, world->now, 512).executed > 0 || thread_has_work(thread))
                any = true;
            node_check(world->n[i].node);
        }
    }
}

void w_pass(struct world *world, uint32_t ms)
{
    for (uint64_t end = world->now + ms; world->now < end; world->now += 5)
        w_run(world);
}

void w_self(struct world *world, uint32_t node, uint32_t block_no, uint32_t instance, uint32_t gsn,
            const void *payload, uint32_t words, const struct section *sections, uint32_t count)
{
    signal_send(world->n[node].driver, block_ref(node, block_no, instance), gsn, PRIO_B, payload,
                words, sections, count);
}

void w_tamper(struct world *world, uint32_t node, uint32_t block_no, uint32_t number,
              uint32_t extra)
{
    struct tamper_ord ord = {number, extra};
    w_self(world, node, block_no, 1, GSN_TAMPER_ORD, &ord, 2, NULL, 0);
    w_run(world);
}

void w_level(struct world *world, uint32_t node, uint32_t start_level)
{
    struct node_state_rep rep = {.start_level = start_level};
    w_self(world, node, BLOCK_DBTC, 1, GSN_NODE_STATE_REP, &rep, sizeof rep / 4u, NULL, 0);
    w_run(world);
}

struct tc_usage w_tc(struct world *world, uint32_t node)
{
    struct tc_usage usage;
    tc_usage_get(node_block(world->n[node].node, BLOCK_DBTC, 1), &usage);
    return usage;
}

struct lqh_usage w_lqh(struct world *world, uint32_t node)
{
    struct lqh_usage usage;
    lqh_usage_get(node_block(world->n[node].node, BLOCK_DBLQH, 1), &usage);
    return usage;
}

uint32_t w_locks(struct world *world, uint32_t node)
{
    return acc_locks_in_use((struct acc *)(void *)node_block(world->n[node].node, BLOCK_DBACC, 1));
}

void w_expect_quiet(struct world *world)
{
    for (uint32_t i = 1; i <= world->nodes; i++) {
        if (world->dead[i]) continue;
        assert_int_equal(w_tc(world, i).orphans, 0);
        assert_int_equal(w_tc(world, i).transactions, 0);
        assert_int_equal(w_tc(world, i).operations, 0);
        assert_int_equal(w_tc(world, i).scans, 0);
        assert_int_equal(w_tc(world, i).fragment_scans, 0);
        assert_int_equal(w_lqh(world, i).operations, 0);
        assert_int_equal(w_lqh(world, i).scans, 0);
        assert_int_equal(w_lqh(world, i).segments, 0);
        assert_int_equal(w_locks(world, i), 0);
        assert_int_equal(
            tup_changes_open((struct tup *)(void *)node_block(world->n[i].node, BLOCK_DBTUP, 1)),
            0);
    }
}

/* --- Building. --- */

void w_node(struct world *world, uint32_t id)
{
    struct wnode *n = &world->n[id];
    struct node_config config = {0};
    node_config_defaults(&config);
    config.own_node = id;
    config.replicas = world->replicas;
    config.operations_max = 4096;
    config.overflow_segments = 4;
    for (uint32_t i = 1; i <= world->nodes; i++)
        config.node[i].type = NODE_DATA;
    config.node[CLIENT].type = config.node[CLIENT_TWO].type = NODE_API;
    if (world->options.tune != NULL) world->options.tune(&config);
    n->host = (struct host){.realtime_us = w_realtime,
                            .wake = w_wake,
                            .link_send = w_link_send,
                            .link_close = w_link_close,
                            .link_allow = w_link_allow,
                            .seed = w_seed,
                            .log = w_log,
                            .fail = w_fail,
                            .stopped = w_stopped};
    n->world = world;
    n->id = id;
    for (uint32_t i = 1; i <= W_NODES; i++)
        n->in[i] = malloc(PIPE_WORDS * 4u);
    struct node_options options = {.host = &n->host, .gsn_name = w_gsn_name};
    n->node = node_create(&config, &options);
    assert_non_null(n->node);
    struct thread *thread = node_thread(n->node, 0);
    n->driver = block_create(thread, &driver_type, 0, sizeof(struct driver));
    acc_create(thread, 1);
    tup_create(thread, 1);
    tux_create(thread, 1);
    lqh_create(thread, 1);
    tc_create(thread, 1);
    if (world->options.more_blocks != NULL) world->options.more_blocks(thread);
    static const uint32_t blocks[] = {BLOCK_DBACC, BLOCK_DBTUP, BLOCK_DBTUX, BLOCK_DBLQH,
                                      BLOCK_DBTC};
    struct read_config_req req = {0};
    for (uint32_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        w_self(world, id, blocks[i], 1, GSN_READ_CONFIG_REQ, &req, 1, NULL, 0);
}

void w_start(struct world *world, const struct world_options *options)
{
    memset(world, 0, sizeof *world);
    world->options = *options;
    world->nodes = options->nodes;
    world->replicas = options->replicas != 0 ? options->replicas : options->nodes;
    world->fragments = options->fragments;
    world->rx = calloc(RX_MAX, sizeof *world->rx);
    world->now = 1000;
    for (uint32_t i = 1; i <= world->nodes; i++)
        w_node(world, i);
    w_run(world);
    for (uint32_t i = 1; i <= world->nodes; i++) {
        assert_int_equal(w_driver(world, i)->confs, 5);
        for (uint32_t peer = 1; peer <= world->nodes; peer++) {
            if (peer != i) node_link_up(world->n[i].node, 0, peer, FROM_DATA, EPOCH);
        }
        node_link_up(world->n[i].node, 0, CLIENT, FROM_API, EPOCH);
        node_link_up(world->n[i].node, 0, CLIENT_TWO, FROM_API, EPOCH);
        w_level(world, i, START_STARTED);
    }
}

void w_stop(struct world *world)
{
    for (uint32_t i = 1; i <= world->nodes; i++) {
        node_destroy(world->n[i].node);
        for (uint32_t k = 1; k <= W_NODES; k++)
            free(world->n[i].in[k]);
    }
    for (uint32_t i = 0; i < world->rx_count; i++)
        free(world->rx[i].words);
    free(world->rx);
}

void w_order(struct world *world, uint32_t node, uint32_t block_no, uint32_t table_id,
             uint32_t order)
{
    struct local_table_state_req req = {.table_id = table_id, .order = order};
    w_self(world, node, block_no, 1, GSN_LOCAL_TABLE_STATE_REQ, &req, 3, NULL, 0);
}

uint32_t w_node_of(const struct world *world, uint32_t fragment, uint32_t r)
{
    if (world->partitions == 0) return 1 + (fragment + r) % world->nodes;
    uint32_t partition = fragment % world->partitions;
    uint32_t group = (partition + fragment / world->partitions) % (world->nodes / world->replicas);
    return 1 + group * world->replicas + (partition + r) % world->replicas;
}

/* The table on all nodes, online. */

const struct section *w_table_words(struct world *world, uint32_t table_id, uint32_t flags,
                                    bool absent)
{
    struct table_def *def = kvt_table(table_id, 1, world->fragments, flags);
    static uint32_t words[4096];
    static uint32_t distribution[8192 + HASH_MAP_BUCKETS];
    static struct section sections[2];
    if (world->indexed) {
        static const uint16_t columns[2] = {1, 0};
        assert_int_equal(table_def_add_index(def, "by_v", 4, columns, 2), 0);
    }
    if (world->unique) {
        static const uint16_t column = 1;
        assert_int_equal(table_def_add_unique(def, "u_v", 3, &column, 1), 0);
        table_def_unique_set(def, 0, W_INDEX, 1);
    }
    uint32_t def_words = table_def_encode(def, words, 4096);
    assert_int_not_equal(def_words, 0);
    free(def);
    uint32_t at = 0;
    distribution[at++] = world->fragments;
    distribution[at++] = world->replicas;
    distribution[at++] = HASH_MAP_BUCKETS;
    for (uint32_t f = 0; f < world->fragments; f++) {
        for (uint32_t r = 0; r < world->replicas; r++) {
            uint32_t node = w_node_of(world, f, r);
            distribution[at++] = node | (absent && world->dead[node] ? DISTRIBUTION_ABSENT : 0);
        }
    }
    uint32_t mapped = world->partitions == 0 ? world->fragments : world->partitions;
    for (uint32_t b = 0; b < HASH_MAP_BUCKETS; b += 2)
        distribution[at++] = b % mapped | (b + 1) % mapped << 16;
    sections[0] = (struct section){words, def_words};
    sections[1] = (struct section){distribution, at};
    return sections;
}

void w_index_words(const struct section sections[2], struct section index[2])
{
    static uint32_t words[4096];
    struct table_def *def;
    struct table_def *index_def;
    void *memory = malloc(table_def_size_max());
    void *index_memory = malloc(table_def_size_max());
    assert_int_equal(
        table_def_decode(sections[0].words, sections[0].size, memory, table_def_size_max(), &def),
        0);
    assert_int_equal(table_def_of_unique(def, 0, index_memory, table_def_size_max(), &index_def),
                     0);
    index[0] = (struct section){words, table_def_encode(index_def, words, 4096)};
    index[1] = sections[1];
    free(memory);
    free(index_memory);
}

static void w_add(struct world *world, uint32_t table_id, const struct section *sections)
{
    struct local_table_add_req req = {.table_id = table_id, .version = 1};
    for (uint32_t i = 1; i <= world->nodes; i++) {
        w_driver(world, i)->added = 0;
        w_self(world, i, BLOCK_DBLQH, 1, GSN_LOCAL_TABLE_ADD_REQ, &req, 3, sections, 2);
        w_self(world, i, BLOCK_DBTC, 1, GSN_LOCAL_TABLE_ADD_REQ, &req, 3, sections, 2);
    }
    w_run(world);
    for (uint32_t i = 1; i <= world->nodes; i++) {
        assert_int_equal(w_driver(world, i)->added, 2);
        w_order(world, i, BLOCK_DBLQH, table_id, LOCAL_TABLE_ONLINE);
        w_order(world, i, BLOCK_DBTC, table_id, LOCAL_TABLE_ONLINE);
    }
    w_run(world);
}

void w_table(struct world *world, uint32_t table_id, uint32_t flags)
{
    const struct section *sections = w_table_words(world, table_id, flags, false);
    if (world->unique) {
        struct section index[2];
        w_index_words(sections, index);
        w_add(world, W_INDEX, index);
    }
    w_add(world, table_id, sections);
}

/* --- The client. --- */

bool c_send(struct world *world, uint32_t client, uint32_t node, uint32_t gsn, const void *payload,
            uint32_t words, const struct section *sections, uint32_t count)
{
    static uint32_t extent[SIGNAL_EXTENT_MAX];
    uint32_t at = SIGNAL_HEAD_WORDS;
    extent[0] = signal_kind(gsn, words, count, PRIO_B, 0);
    extent[1] = block_ref(node, BLOCK_DBTC, 1);
    extent[2] = block_ref(client, BLOCK_API, 1);
    memcpy(extent + at, payload, words * 4u);
    at += words;
    for (uint32_t i = 0; i < count; i++)
        extent[at++] = sections[i].size;
    for (uint32_t i = 0; i < count; i++) {
        if (sections[i].size > 0) memcpy(extent + at, sections[i].words, sections[i].size * 4u);
        at += sections[i].size;
    }
    extent[3] = at;
    return node_deliver(world->n[node].node, 0, client, EPOCH, extent, at);
}

const struct signal *c_take(struct world *world, uint32_t gsn)
{
    for (uint32_t i = 0; i < world->rx_count; i++) {
        struct rx *rx = &world->rx[i];
        if (rx->taken || rx->sig.gsn != gsn) continue;
        rx->taken = true;
        return &rx->sig;
    }
    return NULL;
}

uint32_t c_left(struct world *world)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < world->rx_count; i++) {
        if (world->rx[i].taken) continue;
        print_message("not expected: %s\n", gsn_name(world->rx[i].sig.gsn));
        left++;
    }
    return left;
}

uint32_t c_seize(struct world *world, uint32_t client, uint32_t node)
{
    struct tcseizereq req = {.sender_data = 77};
    c_send(world, client, node, GSN_TCSEIZEREQ, &req, 1, NULL, 0);
    w_run(world);
    const struct signal *sig = c_take(world, GSN_TCSEIZECONF);
    assert_non_null(sig);
    return SIG_PAYLOAD(sig, tcseizeconf)->tc_connect;
}

struct trx t_new(struct world *world, uint32_t client, uint32_t node)
{
    return (struct trx){world, client, node, c_seize(world, client, node), ++world->transid_next,
                        client};
}

void t_next(struct trx *trx)
{
    trx->transid1 = ++trx->world->transid_next;
}

void t_op_send(struct trx *trx, const struct t_step *step)
{
    struct tckeyreq req = {.tc_connect = trx->connect,
                           .api_op = step->api_op,
                           .table_id = 1,
                           .schema_version = 1,
                           .request_info = step->info,
                           .transid1 = trx->transid1,
                           .transid2 = trx->transid2};
    const uint32_t attr[2] = {attr_header(1, key_operation_of(step->info) == OP_READ ? 0 : 4),
                              step->value};
    uint32_t attr_words = key_operation_of(step->info) == OP_READ ? 1 : 2;
    const struct section sections[2] = {{&step->key, 1}, {attr, attr_words}};
    assert_true(c_send(trx->world, trx->client, trx->node, GSN_TCKEYREQ, &req, sizeof req / 4u,
                       sections, key_operation_of(step->info) == OP_DELETE ? 1 : 2));
}

void t_unique_send(struct trx *trx, const struct t_step *step)
{
    struct tckeyreq req = {.tc_connect = trx->connect,
                           .api_op = step->api_op,
                           .table_id = W_INDEX,
                           .schema_version = 1,
                           .request_info = step->info,
                           .transid1 = trx->transid1,
                           .transid2 = trx->transid2};
    bool read = key_operation_of(step->info) == OP_READ;
    const uint32_t attr[2] = {attr_header(1, read ? 0 : 4), step->value};
    const struct section sections[2] = {{&step->key, 1}, {attr, read ? 1 : 2}};
    assert_true(c_send(trx->world, trx->client, trx->node, GSN_TCKEYREQ, &req, sizeof req / 4u,
                       sections, key_operation_of(step->info) == OP_DELETE ? 1 : 2));
}

void t_commit(struct trx *trx)
{
    struct tc_commitreq req = {
        .tc_connect = trx->connect, .transid1 = trx->transid1, .transid2 = trx->transid2};
    c_send(trx->world, trx->client, trx->node, GSN_TC_COMMITREQ, &req, sizeof req / 4u, NULL, 0);
}

void t_rollback(struct trx *trx)
{
    struct tcrollbackreq req = {trx->connect, trx->transid1, trx->transid2};
    c_send(trx->world, trx->client, trx->node, GSN_TCROLLBACKREQ, &req, 3, NULL, 0);
}

void t_expect_keyconf(struct trx *trx, uint32_t flags)
{
    const struct signal *sig = c_take(trx->world, GSN_TCKEYCONF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, tckeyconf)->transid1, trx->transid1);
    assert_int_equal(SIG_PAYLOAD(sig, tckeyconf)->flags, flags);
    assert_int_equal(SIG_PAYLOAD(sig, tckeyconf)->api_connect, 77);
}

void t_expect_ref(struct world *world, uint32_t api_op, uint32_t error)
{
    const struct signal *sig = c_take(world, GSN_TCKEYREF);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, tckeyref)->error, error);
    assert_int_equal(SIG_PAYLOAD(sig, tckeyref)->api_op, api_op);
}

void t_expect_rolled_back(struct trx *trx, uint32_t error, uint32_t api_op)
{
    const struct signal *sig = c_take(trx->world, GSN_TCROLLBACKREP);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->error, error);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->api_op, api_op);
    assert_int_equal(SIG_PAYLOAD(sig, tcrollbackrep)->transid1, trx->transid1);
}

void t_expect_value(struct world *world, uint32_t api_op, uint32_t value)
{
    const struct signal *sig = c_take(world, GSN_TRANSID_AI);
    assert_non_null(sig);
    assert_int_equal(SIG_PAYLOAD(sig, transid_ai)->api_op, api_op);
    assert_int_equal(SIG_PAYLOAD(sig, transid_ai)->rows, 1);
    assert_int_equal(sig->section[0].size, 3);
    assert_int_equal(sig->section[0].words[0], 2);
    assert_int_equal(sig->section[0].words[1], attr_header(1, 4));
    assert_int_equal(sig->section[0].words[2], value);
}

void c_read(struct world *world, uint32_t node, uint32_t api_op, uint32_t key)
{
    struct trx trx = {world, CLIENT, node, 0, ++world->transid_next, CLIENT};
    t_op(&trx, .api_op = api_op, .info = key_request_info(OP_READ, LOCK_COMMITTED, 0), .key = key);
    w_run(world);
}

void c_expect_row(struct world *world, uint32_t key, uint32_t value)
{
    for (uint32_t node = 1; node <= world->nodes; node++) {
        c_read(world, node, 5000 + key, key);
        t_expect_value(world, 5000 + key, value);
    }
}

void c_expect_none(struct world *world, uint32_t key)
{
    for (uint32_t node = 1; node <= world->nodes; node++) {
        c_read(world, node, 5000 + key, key);
        t_expect_ref(world, 5000 + key, ERR_ROW_NOT_FOUND);
    }
}

void c_insert(struct world *world, struct trx *trx, uint32_t key, uint32_t value)
{
    t_next(trx);
    t_op(trx, .api_op = key, .info = INFO(OP_INSERT, WRITE_ALL), .key = key, .value = value);
    w_run(world);
    t_expect_keyconf(trx, KEYCONF_COMMITTED);
}
