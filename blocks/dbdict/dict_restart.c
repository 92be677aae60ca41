/* dict_restart.c -- the schema that the cluster starts with: taken from the node that has the
 * newest, written, and made in all TC and LQH instances. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every node asks the source for one table number after the other and compares: a node that was
 * away has less, one that wrote a change which the others never heard of has another table under
 * the same sequence. What comes from a peer is checked like a client's definition.
 */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include "blocks/dbdict/dict_state.h"
#include "signals/schema_restart.h"

static void restart_move(struct dict_restart *restart, enum restart_state state)
{
    static const uint32_t edges[RESTART_STATES] = {
        [RESTART_IDLE] = 1u << RESTART_COPYING | 1u << RESTART_WRITING | 1u << RESTART_ADDING,
        [RESTART_COPYING] = 1u << RESTART_CHECKING,
        [RESTART_CHECKING] = 1u << RESTART_WRITING | 1u << RESTART_ADDING,
        [RESTART_WRITING] = 1u << RESTART_ADDING,
        [RESTART_ADDING] = 1u << RESTART_ADDED,
        [RESTART_ADDED] = 1u << RESTART_ONLINE_LQH,
        [RESTART_ONLINE_LQH] = 1u << RESTART_ONLINE_TC,
        [RESTART_ONLINE_TC] = 1u << RESTART_DONE,
    };
    ndbrequire((edges[restart->state] >> state & 1u) != 0); /* I-DICT-7 */
    jam_data(state);
    restart->state = state;
}

void dict_exec_SCHEMA_INFO_REQ(struct block *block, const struct signal *sig)
{
    const struct dict *dict = dict_of(block);
    struct schema_info_conf conf = {
        .sender_data = SIG_PAYLOAD(sig, schema_info_req)->sender_data,
        .has_data = dict->file.sequence != 0,
        .sequence_lo = (uint32_t)dict->file.sequence,
        .sequence_hi = (uint32_t)(dict->file.sequence >> 32),
    };
    jam();
    sig_send(&dict_of(block)->block, sig->sender, GSN_SCHEMA_INFO_CONF, PRIO_A, &conf);
}

/* --- The tables to TC and LQH. --- */

/* The next table from `id` on that is there; 0 = none. */
static uint32_t next_table(struct dict *dict, uint32_t id)
{
    for (; id < dict->table_count; id++) {
        if (dict_table_at(dict, id) != NULL) return id;
    }
    return 0;
}

static void add_next(struct dict *dict, uint32_t id)
{
    struct dict_restart *restart = &dict->restart;
    struct section sections[2];
    restart->table_id = next_table(dict, id);
    if (restart->table_id == 0) {
        struct schema_restart_conf conf = {.sender_data = restart->sender_data,
                                           .tables = dict->tables};
        restart_move(restart, RESTART_ADDED);
        sig_send(&dict->block, restart->sender, GSN_SCHEMA_RESTART_CONF, PRIO_A, &conf);
        return;
    }
    jam_data(restart->table_id);
    const struct dict_table *table = &dict->table[restart->table_id];
    if (!dict_store_read_places(dict, table, sections)) {
        char text[100];
        snprintf(text, sizeof(text), "no member of the cluster has a replica of table %u",
                 restart->table_id);
        node_fail(EXIT_SCHEMA_SOURCE, __FILE__, __LINE__, text);
    }
    struct local_table_add_req req = {.table_id = restart->table_id, .version = table->version};
    dict_add_to(dict, BLOCK_DBLQH, &restart->waiting_lqh, &req, sections);
    dict_add_to(dict, BLOCK_DBTC, &restart->waiting_tc, &req, sections);
}

static void add_all(struct dict *dict)
{
    restart_move(&dict->restart, RESTART_ADDING);
    dict_file_tell(dict, false);
    add_next(dict, 1);
}

void dict_restart_written(struct dict *dict)
{
    add_all(dict);
}

static void write_all(struct dict *dict, uint64_t sequence)
{
    restart_move(&dict->restart, RESTART_WRITING);
    dict_file_write(dict, sequence, 0, false);
}

/* --- Which schema. --- */

/* Nobody goes on with a part of the tables: the cluster would soon have no others. */
static _Noreturn void limit_reached(struct dict *dict, uint32_t table_id, uint32_t error)
{
    char text[160];
    uint32_t source = dict->restart.source;
    if (error == ERR_TABLE_RECORDS)
        snprintf(text, sizeof(text),
                 "node %u has had a table of number %u, and MaxNoOfTables is %u", source, table_id,
                 dict->table_count - 1u);
    else
        snprintf(text, sizeof(text), "node %u has table %u, and the schema memory is full", source,
                 table_id);
    node_fail(EXIT_SCHEMA_LIMIT, __FILE__, __LINE__, text);
}

static _Noreturn void source_failed(struct dict *dict, uint32_t table_id, uint32_t error)
{
    char text[160];
    if (error == ERR_TABLE_RECORDS || error == ERR_SCHEMA_MEMORY)
        limit_reached(dict, table_id, error);
    snprintf(text, sizeof(text), "node %u gave a schema that is refused: table %u, error %u",
             dict->restart.source, table_id, error);
    node_fail(EXIT_SCHEMA_SOURCE, __FILE__, __LINE__, text);
}

/* Check of an answer and of the number that was asked for. */
static uint32_t copy_check(const struct schema_copy_conf *conf, uint32_t asked,
                           const struct section *sections, uint32_t count)
{
    struct schema_copy_conf plain = *conf;
    plain.check = 0;
    uint64_t hash = XXH3_64bits_withSeed(&plain, sizeof(plain), asked);
    for (uint32_t i = 0; i < count; i++)
        hash = XXH3_64bits_withSeed(sections[i].words, (size_t)sections[i].size * 4u, hash);
    return (uint32_t)hash;
}

static void ask(struct dict *dict, uint32_t id)
{
    struct schema_copy_req req = {.table_id = id};
    dict->restart.table_id = id;
    sig_send(&dict->block, block_ref(dict->restart.source, BLOCK_DBDICT, 0), GSN_SCHEMA_COPY_REQ,
             PRIO_B, &req);
}

/* The numbers from..to-1 are not known to the source. */
static void forget(struct dict *dict, uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id < to; id++) {
        if (dict->table[id].version == 0) continue;
        jam_data(id);
        if (dict_table_at(dict, id) != NULL) dict_store_remove(dict, id);
        dict->table[id].version = 0;
        dict->restart.changed = true;
    }
}

static bool same(struct dict *dict, const uint32_t head[IMAGE_RECORD_WORDS],
                 const struct section sections[2])
{
    const struct dict_table *table = &dict->table[head[0]];
    struct section own[2];
    if (table->version != head[1]) return false;
    if (table->state == TABLE_UNDEFINED || head[2] == TABLE_UNDEFINED)
        return table->state == TABLE_UNDEFINED && head[2] == TABLE_UNDEFINED;
    dict_store_read(dict, table, own);
    for (uint32_t i = 0; i < 2; i++) {
        if (own[i].size != sections[i].size ||
            memcmp(own[i].words, sections[i].words, (size_t)own[i].size * 4u) != 0)
            return false;
    }
    return true;
}

/* All that the source has is here. */
static void copied(struct dict *dict)
{
    restart_move(&dict->restart, RESTART_CHECKING);
    dict_group_check(dict);
}

void dict_restart_checked(struct dict *dict, uint32_t wrong_id)
{
    struct dict_restart *restart = &dict->restart;
    if (wrong_id != 0) source_failed(dict, wrong_id, ERR_TABLE_FORMAT);
    if (restart->changed || restart->sequence != dict->file.sequence || !dict_file_equal(dict)) {
        log_info(&dict->block, "the schema number %llu with %u tables is taken from node %u",
                 (unsigned long long)restart->sequence, dict->tables, restart->source);
        dict->file.sequence = 0; /* A newer one that the cluster does not know is no more. */
        if (dict_diskless(dict))
            add_all(dict);
        else
            write_all(dict, restart->sequence);
        return;
    }
    jam();
    add_all(dict);
}

/* A table name may have another number at the source: ours goes first, before that one comes. */
static void make_room(struct dict *dict, const uint32_t head[IMAGE_RECORD_WORDS],
                      const struct section sections[2])
{
    char name[DICT_NAME_BYTES];
    struct table_def *def = NULL;
    if (dict_table_at(dict, head[0]) != NULL) dict_store_remove(dict, head[0]);
    if (head[2] != TABLE_ONLINE || dict_table_check(dict, head[0], head[1], sections, &def) != 0)
        return;
    table_def_internal_name(def, name, sizeof(name));
    uint32_t other = dict_table_by_name(dict, name, (uint32_t)strlen(name));
    if (other > head[0]) dict_store_remove(dict, other);
}

void dict_exec_SCHEMA_COPY_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_restart *restart = &dict->restart;
    const struct schema_copy_conf *conf = SIG_PAYLOAD(sig, schema_copy_conf);
    if (restart->state != RESTART_COPYING ||
        sig->sender != block_ref(restart->source, BLOCK_DBDICT, 0)) {
        jam();
        peer_refuse(block, ref_node(sig->sender), "schema that was not asked for");
        return;
    }
    if (conf->check != copy_check(conf, restart->table_id, sig->section, sig->section_count)) {
        jam();
        peer_refuse(block, ref_node(sig->sender), "schema that is not the one asked for");
        return;
    }
    uint64_t sequence = conf->sequence_lo | (uint64_t)conf->sequence_hi << 32;
    if (restart->running && restart->sequence == 0) restart->sequence = sequence;
    if (sequence != restart->sequence) source_failed(dict, 0, ERR_SCHEMA_VERSION);
    if (conf->table_id == 0) {
        forget(dict, restart->table_id, dict->table_count);
        copied(dict);
        return;
    }
    if (conf->table_id < restart->table_id) source_failed(dict, conf->table_id, ERR_TABLE_FORMAT);
    if (conf->table_id >= dict->table_count) source_failed(dict, conf->table_id, ERR_TABLE_RECORDS);
    const uint32_t head[IMAGE_RECORD_WORDS] = {conf->table_id, conf->version, conf->state};
    struct section sections[2] = {{.size = 0}, {.size = 0}};
    for (uint32_t i = 0; i < sig->section_count; i++)
        sections[i] = sig->section[i];
    forget(dict, restart->table_id, conf->table_id);
    if (!same(dict, head, sections)) {
        jam_data(conf->table_id);
        restart->changed = true;
        make_room(dict, head, sections);
        uint32_t error = dict_table_take(dict, head, sections);
        if (error != 0) source_failed(dict, conf->table_id, error);
    }
    ask(dict, conf->table_id + 1u); /* Behind our last number, too: the source may have more. */
}

/* Another node wants what this one has. Without a schema of its own the answer has sequence 0. */
void dict_exec_SCHEMA_COPY_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    uint32_t id = SIG_PAYLOAD(sig, schema_copy_req)->table_id;
    struct schema_copy_conf conf = {.sequence_lo = (uint32_t)dict->file.sequence,
                                    .sequence_hi = (uint32_t)(dict->file.sequence >> 32)};
    struct section sections[2];
    uint32_t count = 0;
    uint32_t asked = id;
    if (id == 0) id = 1;
    if (dict->file.sequence == 0 && !dict_diskless(dict)) id = UINT32_MAX;
    while (id < dict->table_count && dict->table[id].version == 0)
        id++;
    if (id < dict->table_count) {
        jam_data(id);
        conf.table_id = id;
        conf.version = dict->table[id].version;
        conf.state = TABLE_UNDEFINED;
        if (dict_table_at(dict, id) != NULL) {
            conf.state = TABLE_ONLINE;
            dict_store_read(dict, &dict->table[id], sections);
            count = 2;
        }
    }
    conf.check = copy_check(&conf, asked, sections, count);
    signal_send(block, sig->sender, GSN_SCHEMA_COPY_CONF, PRIO_B, &conf, sizeof(conf) / 4u,
                sections, count);
}

/* The cluster runs, and its schema is locked: all of it, whatever was here. */
static void node_restart(struct dict *dict)
{
    jam();
    dict_store_clear(dict);
    dict->file.sequence = 0;
    dict->restart.running = true;
    dict->restart.changed = true;
    dict->restart.sequence = 0;
    restart_move(&dict->restart, RESTART_COPYING);
    ask(dict, 1);
}

/* The whole cluster starts, and this node knows which dictionary counts. */
static void system_restart(struct dict *dict, const struct schema_restart_req *req)
{
    struct dict_restart *restart = &dict->restart;
    if (req->start_type == START_INITIAL) {
        jam();
        dict_store_clear(dict);
        dict->file.sequence = 0;
        write_all(dict, 1);
        return;
    }
    if (restart->sequence == 0) dict_file_fail(dict); /* The highest of all: nobody has one. */
    if (req->source_node != dict_own(dict)) {
        jam();
        restart_move(restart, RESTART_COPYING);
        ask(dict, 1);
        return;
    }
    if (dict->file.sequence != restart->sequence) dict_file_fail(dict);
    if (dict_file_equal(dict)) {
        add_all(dict);
        return;
    }
    jam(); /* A copy is older or damaged: it is made anew. */
    write_all(dict, restart->sequence);
}

void dict_exec_SCHEMA_RESTART_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_restart *restart = &dict->restart;
    const struct schema_restart_req *req = SIG_PAYLOAD(sig, schema_restart_req);
    bool running =
        req->start_type == START_NODE_RESTART || req->start_type == START_INITIAL_NODE_RESTART;
    if (dict_diskless(dict) && !running) {
        struct schema_restart_conf conf = {.sender_data = req->sender_data};
        jam();
        sig_send(block, sig->sender, GSN_SCHEMA_RESTART_CONF, PRIO_A, &conf);
        return;
    }
    ndbrequire(restart->state == RESTART_IDLE);
    ndbrequire(dict_diskless(dict) || dict->file.state == SCHEMA_FILE_READY);
    ndbrequire(dict->master.state == MASTER_IDLE && !dict->local.active);
    restart->sender = sig->sender;
    restart->sender_data = req->sender_data;
    restart->source = req->source_node;
    restart->sequence = req->sequence_lo | (uint64_t)req->sequence_hi << 32;
    if (running) {
        ndbrequire(restart->source != dict_own(dict));
        node_restart(dict);
        return;
    }
    system_restart(dict, req);
}

/* --- Usable. --- */

static void online_next(struct dict *dict, uint32_t id)
{
    struct dict_restart *restart = &dict->restart;
    restart->table_id = next_table(dict, id);
    if (restart->table_id == 0 && restart->state == RESTART_ONLINE_LQH) {
        restart_move(restart, RESTART_ONLINE_TC);
        restart->table_id = next_table(dict, 1);
    }
    if (restart->table_id == 0) {
        struct schema_online_conf conf = {.sender_data = restart->sender_data};
        restart_move(restart, RESTART_DONE);
        sig_send(&dict->block, restart->sender, GSN_SCHEMA_ONLINE_CONF, PRIO_A, &conf);
        return;
    }
    bool lqh = restart->state == RESTART_ONLINE_LQH;
    uint32_t block_no = lqh ? BLOCK_DBLQH : BLOCK_DBTC;
    struct node_mask *waiting = lqh ? &restart->waiting_lqh : &restart->waiting_tc;
    struct local_table_state_req req = {.table_id = restart->table_id, .order = LOCAL_TABLE_ONLINE};
    *waiting = dict_all_instances(dict, block_no);
    dict_order(dict, block_no, waiting, &req);
}

void dict_exec_SCHEMA_ONLINE_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_restart *restart = &dict->restart;
    uint32_t sender_data = SIG_PAYLOAD(sig, schema_online_req)->sender_data;
    if (dict_diskless(dict) && restart->state == RESTART_IDLE) {
        struct schema_online_conf conf = {.sender_data = sender_data};
        jam();
        sig_send(block, sig->sender, GSN_SCHEMA_ONLINE_CONF, PRIO_A, &conf);
        return;
    }
    restart->sender = sig->sender;
    restart->sender_data = sender_data;
    restart_move(restart, RESTART_ONLINE_LQH);
    online_next(dict, 1);
}

/* --- Answers of TC and LQH instances. --- */

bool dict_restart_runs(const struct dict *dict)
{
    return dict->restart.state != RESTART_IDLE && dict->restart.state != RESTART_DONE;
}

void dict_restart_answered(struct dict *dict, const struct signal *sig, uint32_t table_id,
                           uint32_t error)
{
    struct dict_restart *restart = &dict->restart;
    bool tc = ref_block(sig->sender) == BLOCK_DBTC;
    struct node_mask *waiting = tc ? &restart->waiting_tc : &restart->waiting_lqh;
    uint32_t instance = ref_instance(sig->sender);
    ndbrequire(table_id == restart->table_id && node_mask_has(waiting, instance)); /* I-DICT-4 */
    if (error != 0) {
        char text[120];
        snprintf(text, sizeof(text), "table %u cannot be made in %s %u: error %u", table_id,
                 tc ? "DBTC" : "DBLQH", instance, error);
        node_fail(EXIT_SCHEMA_LIMIT, __FILE__, __LINE__, text);
    }
    node_mask_remove(waiting, instance);
    if (!node_mask_empty(&restart->waiting_tc) || !node_mask_empty(&restart->waiting_lqh)) return;
    if (restart->state == RESTART_ADDING) {
        jam();
        add_next(dict, table_id + 1u);
        return;
    }
    ndbrequire(restart->state == RESTART_ONLINE_LQH || restart->state == RESTART_ONLINE_TC);
    if (restart->state == RESTART_ONLINE_TC) dict->table[table_id].state = TABLE_ONLINE;
    jam();
    online_next(dict, table_id + 1u);
}
