/* node_harness.c -- hosts one data node: its time, its links and its end. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/fuzz/node_harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "blocks/dbacc/acc.h"
#include "blocks/dbdict/dict_block.h"
#include "blocks/dblqh/lqh.h"
#include "blocks/dbtc/tc.h"
#include "blocks/dbtup/tup.h"
#include "ndbmtd/layout.h"
#include "ndbmtd/node_blocks.h"
#include "signals/api_reg.h"
#include "signals/print.h"

#define START_MS       3000u
#define UP_MS          2000u
#define HEARTBEAT_MS   100u
#define ROUNDS_MAX     200000u
#define SEND_WORDS_MAX (SIGNAL_EXTENT_MAX + 64u)

struct harness_peer {
    uint32_t type;
    uint32_t epoch;
    bool up;
    bool allowed;
    bool closing; /* The node wants it closed. */
    bool started; /* The node has told a client that it is started. */
    char reason[200];
    uint32_t *words; /* Words from the node. */
    uint32_t used;
    uint32_t size;
};

struct harness {
    struct host host; /* First. */
    struct harness_options options;
    struct node *node;
    uint64_t now;
    uint64_t seed_next;
    uint32_t epoch_next;
    uint32_t link_thread;
    bool stopped;
    struct harness_failure failure;
    jmp_buf on_fail;
    struct harness_peer peer[HARNESS_PEERS];
    uint32_t scratch[SEND_WORDS_MAX];
};

/* --- What the node asks of its host. --- */

static uint64_t host_realtime(struct host *host)
{
    (void)host;
    return 0;
}

static void host_wake(struct host *host, uint32_t thread_no)
{
    (void)host;
    (void)thread_no;
}

static void host_link_send(struct host *host, uint32_t thread_no, uint32_t peer_no, uint32_t epoch,
                           const uint32_t *words, uint32_t count)
{
    struct harness *harness = (struct harness *)(void *)host;
    (void)thread_no;
    if (peer_no >= HARNESS_PEERS) return;
    struct harness_peer *peer = &harness->peer[peer_no];
    if (!peer->up || peer->epoch != epoch) return;
    if (peer->used + count > peer->size) {
        peer->size = (peer->used + count) * 2u;
        peer->words = realloc(peer->words, (size_t)peer->size * 4u);
        if (peer->words == NULL) abort();
    }
    memcpy(peer->words + peer->used, words, (size_t)count * 4u);
    peer->used += count;
}

static void host_link_close(struct host *host, uint32_t peer_no, uint32_t epoch, const char *reason)
{
    struct harness *harness = (struct harness *)(void *)host;
    if (peer_no >= HARNESS_PEERS) return;
    struct harness_peer *peer = &harness->peer[peer_no];
    if (!peer->up || peer->epoch != epoch) return;
    peer->closing = true;
    snprintf(peer->reason, sizeof peer->reason, "%s", reason);
}

static void host_link_allow(struct host *host, uint32_t peer_no, uint32_t allowed)
{
    struct harness *harness = (struct harness *)(void *)host;
    if (peer_no >= HARNESS_PEERS) return;
    struct harness_peer *peer = &harness->peer[peer_no];
    peer->allowed = allowed != 0;
    if (allowed == 0 && peer->up) peer->closing = true;
}

static uint64_t host_seed(struct host *host)
{
    return ((struct harness *)(void *)host)->seed_next++;
}

static void host_log(struct host *host, enum log_level level, const char *text)
{
    struct harness *harness = (struct harness *)(void *)host;
    if (harness->options.verbose != 0)
        fprintf(stderr, "%8llu [%d] %s\n", (unsigned long long)harness->now, (int)level, text);
}

static void put_trace(void *context, const char *text, uint32_t size)
{
    size_t *left = context;
    if (*left < size) return;
    fwrite(text, 1, size, stderr);
    *left -= size;
}

static void __attribute__((noreturn))
host_fail(struct host *host, const struct node_failure *failure)
{
    struct harness *harness = (struct harness *)(void *)host;
    harness->failure.failed = true;
    harness->failure.exit_code = failure->exit_code;
    snprintf(harness->failure.text, sizeof harness->failure.text, "%s:%u: %s", failure->file,
             failure->line, failure->text);
    if (harness->options.keep_quiet == 0) {
        size_t left = 6000;
        fprintf(stderr, "node failed, exit code %u: %s\n", failure->exit_code,
                harness->failure.text);
        thread_trace(node_thread(harness->node, failure->thread_no), put_trace, &left);
    }
    longjmp(harness->on_fail, 1);
}

static void host_stopped(struct host *host, uint32_t restart_flags)
{
    (void)restart_flags;
    ((struct harness *)(void *)host)->stopped = true;
}

/* --- Links. --- */

bool harness_is_up(const struct harness *harness, uint32_t peer)
{
    return harness->peer[peer].up && !harness->peer[peer].closing;
}

const char *harness_close_reason(const struct harness *harness, uint32_t peer)
{
    return harness->peer[peer].reason;
}

bool harness_alive(const struct harness *harness)
{
    return !harness->failure.failed && !harness->stopped;
}

bool harness_stopped(const struct harness *harness)
{
    return harness->stopped;
}

const struct harness_failure *harness_failure_of(const struct harness *harness)
{
    return &harness->failure;
}

void harness_down(struct harness *harness, uint32_t peer_no)
{
    struct harness_peer *peer = &harness->peer[peer_no];
    if (!peer->up) return;
    peer->up = peer->closing = peer->started = false;
    peer->used = 0;
    if (peer->type != NODE_DATA) peer->allowed = false;
    if (!harness_alive(harness) || setjmp(harness->on_fail) != 0) return;
    node_link_down(harness->node, harness->link_thread, peer_no, peer->epoch);
}

static void close_links(struct harness *harness)
{
    for (uint32_t i = 0; i < HARNESS_PEERS; i++) {
        if (harness->peer[i].closing) harness_down(harness, i);
    }
}

bool harness_up(struct harness *harness, uint32_t peer_no)
{
    struct harness_peer *peer = &harness->peer[peer_no];
    uint64_t end = harness->now + UP_MS;
    close_links(harness);
    if (peer->up) return true;
    /* What the node has to end first (a former link's clean-up) it does before it allows the next
     * one. */
    do {
        harness_run(harness, 1);
    } while (harness_alive(harness) && !peer->allowed && harness->now < end);
    if (!harness_alive(harness) || !peer->allowed || setjmp(harness->on_fail) != 0) return false;
    uint32_t sender_class = peer->type == NODE_DATA  ? FROM_DATA
                            : peer->type == NODE_MGM ? FROM_MGM
                                                     : FROM_API;
    peer->epoch = ++harness->epoch_next;
    peer->up = true;
    node_link_up(harness->node, harness->link_thread, peer_no, sender_class, peer->epoch);
    return true;
}

static bool well_formed(const uint32_t *words, uint32_t count)
{
    for (uint32_t at = 0; at < count;) {
        uint32_t extent = signal_extent_check(words + at, count - at);
        if (extent == 0) return false;
        at += extent;
    }
    return true;
}

bool harness_words(struct harness *harness, uint32_t peer_no, const uint32_t *words, uint32_t count)
{
    struct harness_peer *peer = &harness->peer[peer_no];
    if (!harness_alive(harness) || !harness_is_up(harness, peer_no)) return false;
    if (!well_formed(words, count)) {
        snprintf(peer->reason, sizeof peer->reason, "words that are not signals");
        peer->closing = true;
        return false;
    }
    if (setjmp(harness->on_fail) != 0) return false;
    return node_deliver(harness->node, harness->link_thread, peer_no, peer->epoch, words, count);
}

bool harness_send(struct harness *harness, uint32_t peer, uint32_t receiver, uint32_t gsn,
                  const void *payload, uint32_t words, const struct section *sections,
                  uint32_t section_count)
{
    uint32_t *to = harness->scratch;
    uint32_t extent = SIGNAL_HEAD_WORDS + words + section_count;
    memcpy(to + SIGNAL_HEAD_WORDS, payload, (size_t)words * 4u);
    for (uint32_t i = 0; i < section_count; i++)
        to[SIGNAL_HEAD_WORDS + words + i] = sections[i].size;
    for (uint32_t i = 0; i < section_count; i++) {
        if (extent + sections[i].size > SIGNAL_EXTENT_MAX) return false;
        memcpy(to + extent, sections[i].words, (size_t)sections[i].size * 4u);
        extent += sections[i].size;
    }
    to[0] = signal_kind(gsn, words, section_count, PRIO_B, 0);
    to[1] = receiver;
    to[2] = block_ref(peer, BLOCK_API, 1);
    to[3] = extent;
    return harness_words(harness, peer, to, extent);
}

/* Hands what the node has sent to the test. */
static bool take_answers(struct harness *harness)
{
    bool any = false;
    for (uint32_t i = 0; i < HARNESS_PEERS; i++) {
        struct harness_peer *peer = &harness->peer[i];
        if (peer->used == 0) continue;
        uint32_t *words = peer->words;
        uint32_t used = peer->used;
        peer->words = NULL;
        peer->used = peer->size = 0;
        any = true;
        for (uint32_t at = 0; at < used; at += words[at + 3]) {
            struct signal sig;
            signal_open(&sig, words + at);
            if (sig.gsn == GSN_API_REGCONF)
                peer->started = SIG_PAYLOAD(&sig, api_regconf)->start_level == START_STARTED;
            if (harness->options.received != NULL)
                harness->options.received(harness->options.context, i, &sig);
        }
        free(words);
    }
    return any;
}

/* --- Running. --- */

static bool run_threads(struct harness *harness)
{
    volatile bool worked = false;
    if (setjmp(harness->on_fail) != 0) return false;
    for (uint32_t i = 0; i < node_config_of(harness->node)->thread_count; i++) {
        struct thread *thread = node_thread(harness->node, i);
        if (thread_run_once(thread, harness->now, 128).executed > 0 || thread_has_work(thread))
            worked = true;
    }
    return worked;
}

void harness_run(struct harness *harness, uint32_t ms)
{
    for (uint32_t passed = 0; harness_alive(harness); passed++) {
        bool worked = true;
        for (uint32_t rounds = 0; worked && harness_alive(harness); rounds++) {
            worked = run_threads(harness);
            worked |= take_answers(harness);
            close_links(harness);
            if (rounds < ROUNDS_MAX) continue;
            harness->failure.failed = true;
            snprintf(harness->failure.text, sizeof harness->failure.text,
                     "the node never comes to rest");
            return;
        }
        if (passed >= ms) return;
        harness->now++;
    }
}

/* --- Making the node. --- */

static void fill_config(struct node_config *config, const struct harness_options *options)
{
    node_config_defaults(config);
    config->own_node = HARNESS_NODE;
    config->replicas = 1;
    config->cluster_id = 1;
    config->generation = 1;
    config->ldm_count = options->ldm_count == 0 ? 1 : options->ldm_count;
    config->tc_count = options->tc_count == 0 ? 1 : options->tc_count;
    if (options->split_threads != 0)
        config->thread_count = layout_split_threads(config->ldm_count, config->tc_count);
    config->heartbeat_db_db_ms = HEARTBEAT_MS;
    config->heartbeat_db_api_ms = HEARTBEAT_MS;
    config->deadlock_timeout_ms = 100;
    config->inactive_timeout_ms = 400;
    config->start_partial_timeout_ms = 50;
    config->tables_max = 24;
    config->operations_max = 20000;
    config->memory.pages_max[RG_DATA] = 2000;
    config->job_queue_words = 1u << 17;
    config->overflow_segments = 8;
    if (options->tiny != 0) {
        config->transactions_max = 3;
        config->operations_max = 8;
        config->scans_max = 2;
        config->frag_scans_max = 3;
        config->tables_max = 5;
        config->batch_rows = 2;
        config->batch_bytes = 200;
        config->scan_step_rows = 2;
        config->memory.pages_max[RG_DATA] = 60;
    }
    config->node[HARNESS_NODE].type = NODE_DATA;
    if (options->data_peer != 0) /* Spare: the node may start without it. */
        config->node[HARNESS_DATA] =
            (struct config_node){.type = NODE_DATA, .nodegroup = NODEGROUP_NONE};
    for (uint32_t id = HARNESS_API; id <= HARNESS_GOOD; id++)
        config->node[id].type = NODE_API;
    config->node[HARNESS_MGM].type = NODE_MGM;
}

static bool start(struct harness *harness)
{
    struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
    if (!harness_up(harness, HARNESS_GOOD)) return false;
    for (uint32_t ms = 0; ms < START_MS && harness_alive(harness); ms += 10) {
        harness_sig(harness, HARNESS_GOOD, block_ref(HARNESS_NODE, BLOCK_QMGR, 0), GSN_API_REGREQ,
                    &req);
        harness_run(harness, 10);
        if (harness->peer[HARNESS_GOOD].started) return true;
    }
    return false;
}

struct harness *harness_create(const struct harness_options *options)
{
    struct harness *harness = calloc(1, sizeof *harness);
    if (harness == NULL) return NULL;
    harness->options = *options;
    harness->seed_next = options->seed * 1000u + 1u;
    harness->host = (struct host){
        .realtime_us = host_realtime,
        .wake = host_wake,
        .link_send = host_link_send,
        .link_close = host_link_close,
        .link_allow = host_link_allow,
        .seed = host_seed,
        .log = host_log,
        .fail = host_fail,
        .stopped = host_stopped,
    };
    static struct node_config config; /* Large; only copied from. */
    memset(&config, 0, sizeof config);
    fill_config(&config, options);
    for (uint32_t i = 0; i < HARNESS_PEERS; i++)
        harness->peer[i].type = config.node[i].type;
    harness->link_thread = layout_socket_thread(&config);
    struct node_options node_options = {
        .host = &harness->host, .gsn_name = gsn_name, .describe = signal_describe};
    harness->node = node_create(&config, &node_options);
    if (harness->node == NULL) {
        free(harness);
        return NULL;
    }
    node_blocks_create(harness->node);
    if (start(harness)) return harness;
    fprintf(stderr, "the node does not start: %s\n", harness->failure.text);
    harness_destroy(harness);
    return NULL;
}

void harness_destroy(struct harness *harness)
{
    if (harness == NULL) return;
    node_destroy(harness->node);
    for (uint32_t i = 0; i < HARNESS_PEERS; i++)
        free(harness->peer[i].words);
    free(harness);
}

/* --- Looking at it. --- */

bool harness_check(struct harness *harness)
{
    if (!harness_alive(harness)) return false;
    if (setjmp(harness->on_fail) != 0) return false;
    node_check(harness->node);
    return true;
}

void harness_usage_get(struct harness *harness, struct harness_usage *usage)
{
    const struct node_config *config = node_config_of(harness->node);
    memset(usage, 0, sizeof *usage);
    for (uint32_t i = 1; i <= config->tc_count; i++) {
        struct tc_usage tc;
        tc_usage_get(node_block(harness->node, BLOCK_DBTC, i), &tc);
        usage->connects += tc.connects;
        usage->transactions += tc.transactions;
        usage->operations += tc.operations;
        usage->scans += tc.scans + tc.fragment_scans;
    }
    for (uint32_t i = 1; i <= config->ldm_count; i++) {
        struct lqh_usage lqh;
        lqh_usage_get(node_block(harness->node, BLOCK_DBLQH, i), &lqh);
        usage->operations += lqh.operations;
        usage->scans += lqh.scans;
        usage->segments += lqh.segments;
        usage->locks += acc_locks_in_use(
            (const struct acc *)(const void *)node_block(harness->node, BLOCK_DBACC, i));
        usage->changes += tup_changes_open(
            (const struct tup *)(const void *)node_block(harness->node, BLOCK_DBTUP, i));
    }
    struct dict_usage dict;
    dict_usage_get(node_block(harness->node, BLOCK_DBDICT, 0), &dict);
    usage->schema_busy = dict.busy;
}

struct node *harness_node(struct harness *harness)
{
    return harness->node;
}

uint64_t harness_now(const struct harness *harness)
{
    return harness->now;
}
