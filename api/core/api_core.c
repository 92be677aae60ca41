/* api_core.c -- the node's part: links, registration with the data nodes, the border guard, routing
 * to clients. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_dict_state.h"
#include "api/core/api_state.h"
#include "signals/durable.h"
#include "signals/outcome.h"
#include "signals/scan.h"

#define REGISTER_STARTING_MS                                                                       \
    20u /* While the node is not started: transactions shall begin soon after it is. */
#define MISSED_MAX 4u /* Heartbeats without an answer until the link is closed. */

struct api_core *api_core_create(const struct api_config *config, const struct api_host *host)
{
    struct api_core *core = calloc(1, sizeof *core);
    if (core == NULL) return NULL;
    if (pthread_mutex_init(&core->lock, NULL) != 0) {
        free(core);
        return NULL;
    }
    core->config = *config;
    if (core->config.scan_buffer_words == 0) core->config.scan_buffer_words = 1u << 20;
    core->host = *host;
    atomic_init(&core->transid_next, config->transid_start);
    return core;
}

void api_core_destroy(struct api_core *core)
{
    if (core == NULL) return;
    for (uint32_t i = 1; i <= API_CLIENTS_MAX; i++) {
        struct api_client *client = atomic_load(&core->clients[i]);
        if (client == NULL) continue;
        for (uint32_t node = 1; node <= NODE_ID_MAX; node++)
            api_client_link_down(client, node, atomic_load(&core->node[node].epoch));
        api_client_close(client);
    }
    api_dict_drop_cache(core);
    pthread_mutex_destroy(&core->lock);
    free(core);
}

/* ---- The border guard. ---- */

struct answer_rule {
    uint32_t gsn;
    uint32_t words;
    uint32_t sections;
    bool node_part;
};
#define RULE(name, type, sections)                                                                 \
    {                                                                                              \
        GSN_##name, sizeof(struct type) / 4u, (sections), false                                    \
    }
static const struct answer_rule answer_rules[] = {
    {GSN_API_REGCONF, sizeof(struct api_regconf) / 4u, 0, true},
    {GSN_API_REGREF, sizeof(struct api_regref) / 4u, 0, true},
    {GSN_API_NODE_LOST_REP, sizeof(struct api_node_lost_rep) / 4u, 0, true},
    {GSN_TABLE_CHANGED_REP, sizeof(struct table_changed_rep) / 4u, 0, true},
    {GSN_ARBIT_START_REQ, sizeof(struct arbit_start_req) / 4u, 0, true},
    {GSN_ARBIT_CHOOSE_REQ, sizeof(struct arbit_choose_req) / 4u, 0, true},
    RULE(TRANSID_AI, transid_ai, 1),
    RULE(TCKEYCONF, tckeyconf, 0),
    RULE(TCKEYREF, tckeyref, 0),
    RULE(TC_COMMITCONF, tc_commitconf, 0),
    RULE(TC_COMMITREF, tc_commitref, 0),
    RULE(TCROLLBACKCONF, tcrollbackconf, 0),
    RULE(TCROLLBACKREF, tcrollbackref, 0),
    RULE(TCROLLBACKREP, tcrollbackrep, 0),
    RULE(TCKEY_FAILCONF, tckey_failconf, 0),
    RULE(TCKEY_FAILREF, tckey_failref, 0),
    RULE(OUTCOME_CONF, outcome_conf, 0),
    RULE(OUTCOME_REF, outcome_ref, 0),
    RULE(TCSEIZECONF, tcseizeconf, 0),
    RULE(TCSEIZEREF, tcseizeref, 0),
    RULE(TCRELEASECONF, tcreleaseconf, 0),
    RULE(TCRELEASEREF, tcreleaseref, 0),
    RULE(SCAN_TABCONF, scan_tabconf, 1),
    RULE(SCAN_TABREF, scan_tabref, 0),
    RULE(WAIT_DURABLE_CONF, wait_durable_conf, 0),
    RULE(WAIT_DURABLE_REF, wait_durable_ref, 0),
    RULE(CREATE_TABLE_CONF, create_table_conf, 0),
    RULE(CREATE_TABLE_REF, create_table_ref, 0),
    RULE(DROP_TABLE_CONF, drop_table_conf, 0),
    RULE(DROP_TABLE_REF, drop_table_ref, 0),
    RULE(ALTER_TABLE_CONF, alter_table_conf, 0),
    RULE(ALTER_TABLE_REF, alter_table_ref, 0),
    RULE(ALTER_TABLE_REP, alter_table_rep, 0),
    RULE(GET_TABINFO_CONF, get_tabinfo_conf, 2),
    RULE(GET_TABINFO_REF, get_tabinfo_ref, 0),
    RULE(LIST_TABLES_CONF, list_tables_conf, 1),
    RULE(LIST_TABLES_REF, list_tables_ref, 0),
};
#undef RULE

static const struct answer_rule *answer_rule(uint32_t gsn)
{
    for (uint32_t i = 0; i < sizeof answer_rules / sizeof answer_rules[0]; i++) {
        if (answer_rules[i].gsn == gsn) return &answer_rules[i];
    }
    return NULL;
}

uint32_t api_core_route(const struct api_core *core, uint32_t peer, const uint32_t *words)
{
    const struct answer_rule *rule = answer_rule(kind_gsn(words[0]));
    if (rule == NULL) return UINT32_MAX;
    if (kind_words(words[0]) < rule->words || kind_sections(words[0]) != rule->sections)
        return UINT32_MAX;
    if (ref_node(words[2]) != peer || !node_mask_has(&core->config.data_nodes, peer))
        return UINT32_MAX;
    if (ref_node(words[1]) != core->config.own_node || ref_block(words[1]) != BLOCK_API)
        return UINT32_MAX;
    if (rule->node_part) return 0;
    /* Answers for a client that has gone are late, not forged: instance 0 never is a client's. */
    uint32_t instance = ref_instance(words[1]);
    return instance == 0 || instance > API_CLIENTS_MAX ? UINT32_MAX : instance;
}

/* ---- The node's part. ---- */

static void register_at(struct api_core *core, uint32_t node)
{
    struct api_node *peer = &core->node[node];
    struct {
        struct signal_head head;
        struct api_regreq req;
    } out;
    uint32_t words = sizeof out.req / 4u;

    api_pack_head((uint32_t *)&out, GSN_API_REGREQ, block_ref(node, BLOCK_QMGR, 0),
                  block_ref(core->config.own_node, BLOCK_API, 0), words, 0);
    out.head.kind = signal_kind(GSN_API_REGREQ, words, 0, PRIO_A, 0);
    out.req = (struct api_regreq){.sender_data = atomic_load(&peer->epoch),
                                  .version = NDB_VERSION,
                                  .generation = core->config.generation};
    core->host.send(core->host.context, node, atomic_load(&peer->epoch), (const uint32_t *)&out,
                    sizeof out / 4u);
    bool started = atomic_load(&peer->level) == START_STARTED;
    uint32_t often =
        peer->heartbeat_ms -
        peer->heartbeat_ms / 4u; /* Earlier than asked for: a late one counts as missed. */
    peer->register_at_ms =
        core->now_ms + (started || often < REGISTER_STARTING_MS ? often : REGISTER_STARTING_MS);
}

/* Failures are counted from the cluster's start: a number is heard of in the next life too. */
static void forget_lost(struct api_core *core)
{
    const struct node_mask *all = &core->config.data_nodes;
    for (uint32_t node = node_mask_next(all, 0); node != 0; node = node_mask_next(all, node))
        core->node[node].lost_no = 0;
}

static void heard(const struct api_core *core, struct api_node *peer)
{
    uint64_t due = peer->heard_ms + peer->heartbeat_ms;
    beat_note(&peer->late, core->now_ms, core->now_ms > due ? core->now_ms - due : 0,
              peer->heartbeat_ms);
    peer->heard_ms = core->now_ms;
}

/* How long it may be silent: longer where its answers come late. */
static uint64_t silence_ms(const struct api_core *core, const struct api_node *peer)
{
    return (uint64_t)MISSED_MAX * peer->heartbeat_ms + peer->heartbeat_ms +
           beat_patience_ms(beat_figures(&peer->late, core->now_ms), peer->heartbeat_ms);
}

/* This process has not run for a while: it has asked nothing, so nobody owes it an answer. Each
 * tick counts one interval of silence at most, and one that comes late all the time finds out who
 * is silent all the same. */
static void forgive_own_stall(struct api_core *core, uint64_t now_ms)
{
    uint64_t passed = now_ms > core->now_ms ? now_ms - core->now_ms : 0;
    for (uint32_t node = node_mask_next(&core->config.data_nodes, 0); node != 0;
         node = node_mask_next(&core->config.data_nodes, node)) {
        struct api_node *peer = &core->node[node];
        if (passed > peer->heartbeat_ms) peer->heard_ms += passed - peer->heartbeat_ms;
    }
}

void api_core_node_up(struct api_core *core, uint32_t node, uint32_t epoch)
{
    if (node == 0 || node > NODE_ID_MAX || !node_mask_has(&core->config.data_nodes, node)) return;
    struct api_node *peer = &core->node[node];
    atomic_store(&peer->level, START_NOTHING);
    atomic_store(&peer->refused, 0);
    atomic_store(&peer->epoch, epoch);
    peer->heartbeat_ms = API_HEARTBEAT_MS;
    peer->heard_ms = core->now_ms;
    peer->late = (struct beat_window){0};
    register_at(core, node);
}

void api_core_node_down(struct api_core *core, uint32_t node, uint32_t epoch)
{
    if (node == 0 || node > NODE_ID_MAX || atomic_load(&core->node[node].epoch) != epoch) return;
    atomic_store(&core->node[node].level, START_NOTHING);
    atomic_store(&core->node[node].epoch, 0);
    atomic_store(&core->node[node].refused, 0);
    if (atomic_load(&core->president) == node) atomic_store(&core->president, 0);
    struct node_mask ready = api_core_ready(core);
    if (node_mask_empty(&ready)) forget_lost(core); /* Nobody is left who has lost it. */
}

static void arbit_answer(struct api_core *core, uint32_t node, uint32_t receiver, uint32_t gsn,
                         const void *payload, uint32_t words)
{
    uint32_t out[SIGNAL_HEAD_WORDS + SIGNAL_WORDS_MAX];
    uint32_t own = block_ref(core->config.own_node, BLOCK_API, 0);

    api_pack_head(out, gsn, receiver, own, words, 0);
    out[0] = signal_kind(gsn, words, 0, PRIO_A, 0);
    memcpy(out + SIGNAL_HEAD_WORDS, payload, words * 4u);
    core->host.send(core->host.context, node, atomic_load(&core->node[node].epoch), out,
                    SIGNAL_HEAD_WORDS + words);
}

/* This client is the cluster's arbitrator (docs/protocols/failure.md). */
static void arbitrate(struct api_core *core, uint32_t node, const struct signal *sig)
{
    if (sig->gsn == GSN_ARBIT_START_REQ) {
        const struct arbit_start_req *req = SIG_PAYLOAD(sig, arbit_start_req);
        struct arbit_start_conf conf = {{req->ticket[0], req->ticket[1]}};
        arbitrator_start(&core->arbitrator, req);
        arbit_answer(core, node, sig->sender, GSN_ARBIT_START_CONF, &conf, sizeof conf / 4u);
        return;
    }
    const struct arbit_choose_req *req = SIG_PAYLOAD(sig, arbit_choose_req);
    struct arbit_choose_conf answer = {req->attempt, {req->ticket[0], req->ticket[1]}};
    bool yes = arbitrator_choose(&core->arbitrator, req);
    _Static_assert(sizeof(struct arbit_choose_conf) == sizeof(struct arbit_choose_ref), "alike");
    struct api_late late = {.at_ms = core->now_ms + core->config.arbitration_delay_ms,
                            .node = node,
                            .receiver = sig->sender,
                            .gsn = yes ? GSN_ARBIT_CHOOSE_CONF : GSN_ARBIT_CHOOSE_REF,
                            .conf = answer};
    for (uint32_t i = 0; core->config.arbitration_delay_ms != 0 && i < API_LATE_MAX; i++) {
        if (core->late[i].at_ms != 0) continue;
        core->late[i] = late;
        return;
    }
    arbit_answer(core, node, late.receiver, late.gsn, &answer, sizeof answer / 4u);
}

static void send_late(struct api_core *core, uint64_t now_ms)
{
    for (uint32_t i = 0; i < API_LATE_MAX; i++) {
        struct api_late *late = &core->late[i];
        if (late->at_ms == 0 || now_ms < late->at_ms) continue;
        arbit_answer(core, late->node, late->receiver, late->gsn, &late->conf,
                     sizeof late->conf / 4u);
        late->at_ms = 0;
    }
}

/* ---- Whom to believe. ---- */

/* The others go on without it. Who hangs keeps its link, and would keep us waiting; and who lives
 * and does not know it yet says that it is started, and tells what was true before. So it counts as
 * not started until it says that it has lived through that failure: it has come back. */
static void lost(struct api_core *core, uint32_t node, uint32_t failure_no)
{
    struct api_node *peer = &core->node[node];
    uint32_t epoch = atomic_load(&peer->epoch);
    uint32_t level = epoch == 0 ? START_NOTHING : atomic_load(&peer->level);
    if (level >= START_STARTED && peer->failure_no >= failure_no) return; /* Its former life. */
    if (peer->lost_no < failure_no) peer->lost_no = failure_no;
    atomic_store(&peer->gone, 1);
    if (level < START_STARTED) return;
    atomic_store(&peer->level, START_NOTHING);
    if (core->host.close != NULL)
        core->host.close(core->host.context, node, epoch, "the other nodes have lost it");
}

static void close_lost(struct api_core *core, const struct api_node_lost_rep *rep)
{
    const struct node_mask *nodes = &rep->nodes;
    for (uint32_t node = node_mask_next(nodes, 0); node != 0; node = node_mask_next(nodes, node)) {
        if (node_mask_has(&core->config.data_nodes, node)) lost(core, node, rep->failure_no);
    }
}

/* May the node's word count? When its number is lower than it was it is the cluster's next life. */
static bool believed(struct api_core *core, uint32_t node, const struct api_regconf *conf)
{
    struct api_node *peer = &core->node[node];
    if (conf->failure_no < peer->lost_no) return false;
    if (conf->start_level < START_STARTED) return true;
    peer->lost_no = 0;
    if (conf->failure_no < peer->failure_no) forget_lost(core);
    peer->failure_no = conf->failure_no;
    return true;
}

/* Not by the lives seen so far: between two words of the same one another one may have been there.
 */
static void note_life(struct api_core *core, uint32_t life)
{
    if (core->life == life) return;
    core->life = life;
    /* It may have begun from older data, or anew: what was durable before is asked for again. */
    atomic_store(&core->epoch_durable, 0);
    atomic_fetch_add(&core->lives, 1);
}

/* What a started node knows of the others. One that it misses, and that is started but knows of
 * fewer failures, is lost: that was told before we were registered. */
static void note_started(struct api_core *core, const struct api_regconf *conf)
{
    const struct node_mask *all = &core->config.data_nodes;
    for (uint32_t node = node_mask_next(all, 0); node != 0; node = node_mask_next(all, node)) {
        struct api_node *peer = &core->node[node];
        bool there = node_mask_has(&conf->started, node) && peer->lost_no <= conf->failure_no;
        bool ready = api_core_node_ready(core, node);
        atomic_store(&peer->gone, there ? 0u : 1u);
        atomic_store(&peer->slow, node_mask_has(&conf->slow, node) ? 1u : 0u);
        if (!there && ready && peer->failure_no < conf->failure_no)
            lost(core, node, conf->failure_no);
    }
}

bool api_core_node_signal(struct api_core *core, uint32_t node, uint32_t epoch,
                          const uint32_t *words)
{
    struct signal sig;
    struct api_node *peer = &core->node[node];
    signal_open(&sig, words);
    if (atomic_load(&peer->epoch) != epoch) return true;
    if (sig.gsn == GSN_API_REGREF) { /* Not now, or not for us: asked again soon. */
        atomic_store(&peer->level, START_NOTHING);
        atomic_store(&peer->refused, SIG_PAYLOAD(&sig, api_regref)->error);
        peer->heard_ms = core->now_ms;
        return true;
    }
    if (sig.gsn == GSN_API_NODE_LOST_REP) {
        close_lost(core, SIG_PAYLOAD(&sig, api_node_lost_rep));
        return true;
    }
    if (sig.gsn == GSN_TABLE_CHANGED_REP) {
        const struct table_changed_rep *rep = SIG_PAYLOAD(&sig, table_changed_rep);
        api_dict_changed(core, rep->table_id, rep->version);
        return true;
    }
    if (sig.gsn == GSN_ARBIT_START_REQ || sig.gsn == GSN_ARBIT_CHOOSE_REQ) {
        arbitrate(core, node, &sig);
        return true;
    }
    const struct api_regconf *conf = SIG_PAYLOAD(&sig, api_regconf);
    if (conf->sender_data != epoch) return true;
    if (conf->heartbeat_ms >= 10 && conf->heartbeat_ms <= 3600000)
        peer->heartbeat_ms = conf->heartbeat_ms;
    heard(core, peer);
    atomic_store(&peer->refused, 0);
    if (!believed(core, node, conf)) return true;
    atomic_store(&peer->tc_count,
                 conf->tc_count == 0 || conf->tc_count > 1024 ? 1 : conf->tc_count);
    if (conf->president <= NODE_ID_MAX && node_mask_has(&core->config.data_nodes, conf->president))
        atomic_store(&core->president, conf->president);
    if (conf->start_level == START_STARTED && atomic_load(&peer->level) != START_STARTED) {
        peer->register_at_ms = core->now_ms + peer->heartbeat_ms - peer->heartbeat_ms / 4u;
        api_dict_drop_cache(core); /* Who was not registered has missed what it told. */
    }
    if (conf->start_level == START_STARTED) {
        note_life(core, conf->life);
        note_started(core, conf);
    }
    atomic_store(&peer->level, conf->start_level);
    return true;
}

void api_core_node_tick(struct api_core *core, uint64_t now_ms)
{
    forgive_own_stall(core, now_ms);
    core->now_ms = now_ms;
    if (core->config.arbitration_delay_ms != 0) send_late(core, now_ms);
    for (uint32_t node = node_mask_next(&core->config.data_nodes, 0); node != 0;
         node = node_mask_next(&core->config.data_nodes, node)) {
        struct api_node *peer = &core->node[node];
        uint32_t epoch = atomic_load(&peer->epoch);
        if (epoch == 0) continue;
        if (now_ms >= peer->heard_ms + silence_ms(core, peer)) {
            peer->heard_ms = now_ms; /* One more round for the host to close it. */
            atomic_store(&peer->level, START_NOTHING);
            if (core->host.close != NULL)
                core->host.close(core->host.context, node, epoch, "no answer to heartbeats");
            continue;
        }
        if (now_ms >= peer->register_at_ms) register_at(core, node);
    }
}

/* ---- All of it, for a host with one thread. ---- */

void api_core_link_up(struct api_core *core, uint32_t peer, uint32_t epoch)
{
    api_core_node_up(core, peer, epoch);
}

void api_core_link_down(struct api_core *core, uint32_t peer, uint32_t epoch)
{
    api_core_node_down(core, peer, epoch);
    for (uint32_t i = 1; i <= core->client_last; i++) {
        struct api_client *client = atomic_load(&core->clients[i]);
        if (client != NULL) api_client_link_down(client, peer, epoch);
    }
}

bool api_core_signals(struct api_core *core, uint32_t peer, uint32_t epoch, const uint32_t *words,
                      uint32_t count)
{
    uint32_t at = 0;
    bool fine = true;
    while (at < count && fine) {
        uint32_t extent = words[at + 3];
        uint32_t instance = api_core_route(core, peer, words + at);
        if (instance == UINT32_MAX) {
            fine = false;
        } else if (instance == 0) {
            fine = api_core_node_signal(core, peer, epoch, words + at);
        } else {
            struct api_client *client = atomic_load(&core->clients[instance]);
            if (client != NULL) api_client_signal(client, peer, epoch, words + at);
        }
        at += extent;
    }
    for (uint32_t i = 1; i <= core->client_last; i++) {
        struct api_client *client = atomic_load(&core->clients[i]);
        if (client != NULL) api_client_flush(client);
    }
    return fine;
}

void api_core_tick(struct api_core *core, uint64_t now_ms)
{
    api_core_node_tick(core, now_ms);
    for (uint32_t i = 1; i <= core->client_last; i++) {
        struct api_client *client = atomic_load(&core->clients[i]);
        if (client != NULL) api_client_tick(client, now_ms);
    }
}

bool api_core_node_ready(const struct api_core *core, uint32_t node)
{
    if (node == 0 || node > NODE_ID_MAX) return false;
    struct api_node *peer = (struct api_node *)&core->node[node]; /* Atomic loads want no const. */
    return atomic_load_explicit(&peer->level, memory_order_relaxed) == START_STARTED &&
           atomic_load_explicit(&peer->epoch, memory_order_relaxed) != 0;
}

uint32_t api_core_refusal(const struct api_core *core, uint32_t *node)
{
    for (uint32_t id = node_mask_next(&core->config.data_nodes, 0); id != 0;
         id = node_mask_next(&core->config.data_nodes, id)) {
        struct api_node *peer = (struct api_node *)&core->node[id];
        uint32_t error = atomic_load_explicit(&peer->refused, memory_order_relaxed);
        if (error == 0) continue;
        *node = id;
        return error;
    }
    return 0;
}

struct node_mask api_core_ready(const struct api_core *core)
{
    struct node_mask ready = {{0}};
    for (uint32_t node = node_mask_next(&core->config.data_nodes, 0); node != 0;
         node = node_mask_next(&core->config.data_nodes, node)) {
        if (api_core_node_ready(core, node)) node_mask_add(&ready, node);
    }
    return ready;
}

uint32_t api_core_lives(const struct api_core *core)
{
    return atomic_load((_Atomic uint32_t *)&core->lives);
}

uint32_t api_core_president(const struct api_core *core)
{
    return atomic_load((_Atomic uint32_t *)&core->president);
}

uint32_t api_core_own_node(const struct api_core *core)
{
    return core->config.own_node;
}

struct api_client *api_core_client(struct api_core *core, uint32_t instance)
{
    return instance == 0 || instance > API_CLIENTS_MAX ? NULL
                                                       : atomic_load(&core->clients[instance]);
}
