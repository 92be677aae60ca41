/* dict_master.c -- the master's side of a schema transaction: one at a time, on all nodes or on
 * none. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A client gets its answer when the change holds on all nodes; a client's death does not stop the
 * transaction, but for the building or filling of an index, which it cancels. Every round ends with
 * the answers of all members that are left.
 */
#include <string.h>
#include "blocks/dbdict/dict_state.h"
#include "kernel/base/rng.h"
#include "values/table_index.h"
#include "values/table_version.h"

static void master_move(struct dict_master *master, enum master_state state)
{
    static const uint32_t edges[MASTER_STATES] = {
        [MASTER_IDLE] = 1u << MASTER_PLACING | 1u << MASTER_PREPARING | 1u << MASTER_STEPPING,
        [MASTER_PLACING] = 1u << MASTER_PREPARING | 1u << MASTER_IDLE,
        [MASTER_PREPARING] = 1u << MASTER_STEPPING,
        [MASTER_STEPPING] = 1u << MASTER_IDLE | 1u << MASTER_FILLING | 1u << MASTER_SETTLING,
        [MASTER_FILLING] = 1u << MASTER_STEPPING,
        [MASTER_SETTLING] = 1u << MASTER_STEPPING,
    };
    ndbrequire((edges[master->state] >> state & 1u) != 0); /* I-DICT-3 */
    jam_data(state);
    master->state = state;
}

/* --- Answers to the client. --- */

static void refuse_create(struct dict *dict, uint32_t client, uint32_t sender_data, uint32_t error,
                          uint32_t column)
{
    struct create_table_ref ref = {.sender_data = sender_data,
                                   .error = error,
                                   .master_node = dict->master_node,
                                   .column = column};
    if (client != 0) sig_send(&dict->block, client, GSN_CREATE_TABLE_REF, PRIO_B, &ref);
}

static void refuse_drop(struct dict *dict, uint32_t client, uint32_t sender_data, uint32_t error)
{
    struct drop_table_ref ref = {
        .sender_data = sender_data, .error = error, .master_node = dict->master_node};
    if (client != 0) sig_send(&dict->block, client, GSN_DROP_TABLE_REF, PRIO_B, &ref);
}

static void answer_client(struct dict *dict)
{
    const struct dict_master *master = &dict->master;
    bool create = master->operation == SCHEMA_CREATE_TABLE;
    uint32_t client = master->client_ref;
    if (master->operation != SCHEMA_DROP_TABLE && !create) {
        dict_alter_answer(dict);
        return;
    }
    if (master->error != 0) {
        jam_data(master->error);
        if (create)
            refuse_create(dict, client, master->client_data, master->error, 0);
        else
            refuse_drop(dict, client, master->client_data, master->error);
        return;
    }
    event_send(&dict->block, create ? EVENT_CREATE_SCHEMA_OBJECT : EVENT_DROP_SCHEMA_OBJECT,
               master->table_id, master->version, 2u,
               ref_node(client)); /* Object type 2: user table. */
    if (client == 0) return;
    if (create) {
        jam();
        struct create_table_conf conf = {.sender_data = master->client_data,
                                         .table_id = master->table_id,
                                         .version = master->version};
        sig_send(&dict->block, client, GSN_CREATE_TABLE_CONF, PRIO_B, &conf);
        return;
    }
    jam();
    struct drop_table_conf conf = {.sender_data = master->client_data};
    sig_send(&dict->block, client, GSN_DROP_TABLE_CONF, PRIO_B, &conf);
}

void dict_master_client_gone(struct dict *dict, uint32_t node)
{
    if (ref_node(dict->master.client_ref) != node) return;
    jam();
    dict->master.client_ref = 0;
    dict_master_cancel(dict);
}

/* --- Rounds. --- */

void dict_begin_prepare(struct dict *dict, const struct section *sections, uint32_t section_count)
{
    struct dict_master *master = &dict->master;
    struct schema_prepare_req req = {
        .trans_id = master->trans_id,
        .operation = master->operation,
        .table_id = master->table_id,
        .version = master->version,
        .object = master->object,
    };
    master_move(master, MASTER_PREPARING);
    dict->trans_next = master->trans_id;
    master->error = master->taken = 0;
    master->waiting = dict->members;
    signal_broadcast(&dict->block, &dict->members, BLOCK_DBDICT, GSN_SCHEMA_PREPARE_REQ, PRIO_B,
                     &req, sizeof(req) / 4u, sections, section_count);
}

static void begin_step(struct dict *dict, enum schema_step step)
{
    struct schema_step_req req = {.trans_id = dict->master.trans_id, .step = step};
    jam_data(step);
    dict->master.step = step;
    dict->master.waiting = dict->members;
    signal_broadcast(&dict->block, &dict->members, BLOCK_DBDICT, GSN_SCHEMA_STEP_REQ, PRIO_B, &req,
                     sizeof(req) / 4u, NULL, 0);
}

/* Whoever still builds an index builds in vain. Other preparations are short. */
void dict_master_cancel(struct dict *dict)
{
    struct dict_master *master = &dict->master;
    struct schema_cancel_ord ord = {.trans_id = master->trans_id};
    if (master->state == MASTER_FILLING) dict_unique_cancel(dict);
    if (master->state != MASTER_PREPARING || master->operation != SCHEMA_CREATE_INDEX) return;
    jam();
    if (master->error == 0) master->error = ERR_SCHEMA_ABORTED;
    signal_broadcast(&dict->block, &master->waiting, BLOCK_DBDICT, GSN_SCHEMA_CANCEL_ORD, PRIO_B,
                     &ord, sizeof(ord) / 4u, NULL, 0);
}

static void prepared(struct dict *dict)
{
    struct dict_master *master = &dict->master;
    if (!node_mask_empty(&master->waiting)) return;
    master_move(master, MASTER_STEPPING);
    if (master->error != 0)
        begin_step(dict, (enum schema_step)schema_step_back(master->operation, 0));
    else
        begin_step(dict, (enum schema_step)schema_step_after(master->operation, 0));
}

/* Who owes an answer has given another one. Nobody else answers then, but for a lost master. */
static void odd_answer(struct dict *dict, const struct signal *sig)
{
    const struct dict_master *master = &dict->master;
    bool asks = master->state == MASTER_PREPARING || master->state == MASTER_STEPPING;
    uint32_t node = ref_node(sig->sender);
    if (!asks || master->taken || node == dict_own(dict) || !node_mask_has(&master->waiting, node))
        return;
    jam_data(node);
    peer_refuse(&dict->block, node, "answer of another schema transaction");
}

void dict_exec_SCHEMA_PREPARE_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    if (dict->master.state != MASTER_PREPARING ||
        SIG_PAYLOAD(sig, schema_prepare_conf)->trans_id != dict->master.trans_id) {
        jam();
        odd_answer(dict, sig);
        return;
    }
    node_mask_remove(&dict->master.waiting, ref_node(sig->sender));
    prepared(dict);
}

void dict_exec_SCHEMA_PREPARE_REF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct schema_prepare_ref *ref = SIG_PAYLOAD(sig, schema_prepare_ref);
    if (dict->master.state != MASTER_PREPARING || ref->trans_id != dict->master.trans_id ||
        !node_mask_has(&dict->master.waiting, ref_node(sig->sender))) {
        /* This is the refusal of a transaction that is over, or of a node that was not asked. */
        jam();
        odd_answer(dict, sig);
        return;
    }
    if (ref->error != 0 && error_find(ref->error) == NULL) {
        jam(); /* It would reach the client. */
        peer_refuse(block, ref_node(sig->sender), "a refusal for a reason that is none");
        return;
    }
    jam_data(ref->error);
    bool first = dict->master.error == 0;
    if (first) dict->master.error = ref->error != 0 ? ref->error : ERR_SCHEMA_ABORTED;
    node_mask_remove(&dict->master.waiting, ref_node(sig->sender));
    if (first) dict_master_cancel(dict);
    prepared(dict);
}

/* --- What was committed before a table goes is on disk before its end is. --- */

#define SETTLE_TICK_MS 10u

/* Nobody can use the table any more. Its rows may have been copied elsewhere by transactions that
 * are in memory only: lost with the cluster, they would be in neither table. */
static bool must_settle(const struct dict *dict, uint32_t next)
{
    uint32_t operation = dict->master.operation;
    bool takes_rows = operation == SCHEMA_DROP_TABLE || operation == SCHEMA_TRUNCATE;
    return takes_rows && next == SCHEMA_STEP_WRITE && block_config(&dict->block)->diskless == 0;
}

void dict_master_settle(struct dict *dict)
{
    struct wait_durable_req req = {.sender_data = dict->master.trans_id, .gci_hi = DURABLE_ALL};
    ndbrequire(dict->master.state == MASTER_SETTLING);
    jam();
    sig_send(&dict->block, block_ref(dict_own(dict), BLOCK_DBTC, 1), GSN_WAIT_DURABLE_REQ, PRIO_B,
             &req);
}

/* The own TC answers, and only what it was asked. */
static bool is_settling(struct dict *dict, const struct signal *sig, uint32_t sender_data)
{
    const struct dict_master *master = &dict->master;
    if (ref_node(sig->sender) != dict_own(dict)) {
        jam();
        peer_refuse(&dict->block, ref_node(sig->sender),
                    "an answer to DICT that only its own node gives");
        return false;
    }
    ndbrequire(master->state == MASTER_SETTLING && sender_data == master->trans_id);
    return true;
}

void dict_exec_WAIT_DURABLE_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_master *master = &dict->master;
    if (!is_settling(dict, sig, SIG_PAYLOAD(sig, wait_durable_conf)->sender_data)) return;
    jam();
    master_move(master, MASTER_STEPPING);
    begin_step(dict, (enum schema_step)schema_step_after(master->operation, master->step));
}

void dict_exec_WAIT_DURABLE_REF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct continueb work = {.work = DICT_WORK_SETTLE};
    if (!is_settling(dict, sig, SIG_PAYLOAD(sig, wait_durable_ref)->sender_data)) return;
    jam_data(SIG_PAYLOAD(sig, wait_durable_ref)->error);
    sig_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, &work, SETTLE_TICK_MS);
}

/* All have answered. */
static void stepped(struct dict *dict)
{
    struct dict_master *master = &dict->master;
    uint32_t next = schema_step_after(master->operation, master->step);
    if (must_settle(dict, next)) {
        master_move(master, MASTER_SETTLING);
        dict_master_settle(dict);
        return;
    }
    if (master->operation == SCHEMA_CREATE_UNIQUE && master->step == SCHEMA_STEP_FIRES) {
        master_move(master, MASTER_FILLING);
        dict_unique_fill(dict);
        return;
    }
    if (next != 0) {
        begin_step(dict, (enum schema_step)next);
        return;
    }
    answer_client(dict);
    master_move(master, MASTER_IDLE);
    master->client_ref = 0;
    dict_lock_try(dict);
}

void dict_master_filled(struct dict *dict, uint32_t error)
{
    struct dict_master *master = &dict->master;
    ndbrequire(master->state == MASTER_FILLING);
    jam_data(error);
    master_move(master, MASTER_STEPPING);
    master->error = error;
    if (error != 0)
        begin_step(dict, (enum schema_step)schema_step_back(master->operation, master->step));
    else
        begin_step(dict, (enum schema_step)schema_step_after(master->operation, master->step));
}

void dict_exec_SCHEMA_STEP_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct schema_step_conf *conf = SIG_PAYLOAD(sig, schema_step_conf);
    struct dict_master *master = &dict->master;
    if (master->state != MASTER_STEPPING || conf->trans_id != master->trans_id ||
        conf->step != master->step) {
        jam();
        odd_answer(dict, sig);
        return;
    }
    node_mask_remove(&master->waiting, ref_node(sig->sender));
    if (node_mask_empty(&master->waiting)) stepped(dict);
}

/* --- Lost members, a lost master. --- */

void dict_master_lost(struct dict *dict)
{
    struct dict_master *master = &dict->master;
    node_mask_keep(&master->waiting, &dict->members);
    jam_data(master->state);
    if (master->state == MASTER_PREPARING)
        prepared(dict);
    else if (master->state == MASTER_STEPPING && node_mask_empty(&master->waiting))
        stepped(dict);
}

void dict_master_take(struct dict *dict, const struct schema_takeover_conf *trans, bool forward)
{
    struct dict_master *master = &dict->master;
    ndbrequire(master->state == MASTER_IDLE);
    jam_data(forward);
    if (dict->trans_next < trans->trans_id) dict->trans_next = trans->trans_id;
    master->taken = 1;
    master->trans_id = trans->trans_id;
    master->operation = trans->operation;
    master->client_ref = 0; /* It knows only the former master. */
    master->object = 0;
    master->table_id = trans->table_id;
    master->version = 0;
    if (trans->table_id < dict->table_count) master->version = dict->table[trans->table_id].version;
    master->error = forward ? 0 : ERR_SCHEMA_ABORTED;
    log_info(&dict->block, "schema transaction %u of table %u goes %s", trans->trans_id,
             trans->table_id, forward ? "on" : "back");
    if (forward && trans->step == 0) {
        master_move(master, MASTER_PREPARING);
        memset(&master->waiting, 0, sizeof(master->waiting));
        prepared(dict); /* All have. */
        return;
    }
    bool begun = forward || trans->step != 0;
    uint32_t step = begun ? trans->step : schema_step_back(trans->operation, 0);
    master_move(master, MASTER_STEPPING);
    begin_step(dict, (enum schema_step)step);
}

/* --- Beginnings. --- */

uint32_t dict_not_possible(const struct dict *dict, uint32_t client)
{
    if (dict->start_level > START_SINGLEUSER) return dict_stopping_error(dict);
    if (dict->master_node != dict_own(dict)) return ERR_NOT_MASTER;
    if (dict->start_level != START_STARTED || dict->master.state != MASTER_IDLE ||
        dict->president != dict_own(dict) || !node_mask_empty(&dict->lost.waiting))
        return ERR_SCHEMA_BUSY;
    if (dict->single_user != 0 && ref_node(client) != dict->single_user)
        return ERR_SINGLE_USER_MODE;
    return dict_locked(dict) ? ERR_NODE_RESTART_BLOCKS_SCHEMA : 0;
}

void dict_begin(struct dict *dict, const struct signal *sig, uint32_t operation,
                uint32_t sender_data)
{
    if (dict->trans_next < dict->trans_seen) dict->trans_next = dict->trans_seen;
    dict->master.trans_id =
        dict->trans_next + 1u; /* The others see each one: no number is left out. */
    dict->master.operation = operation;
    dict->master.client_ref = sig->sender;
    dict->master.client_data = sender_data;
    dict->master.object = 0;
    dict->master.error = 0;
}

/* A cluster that begins anew gives the same numbers again, in any order. What a client has kept of
 * a table of the former one, over the loss, must not fit the table that has its number now. */
static uint32_t next_version(struct dict *dict, uint32_t table_id)
{
    uint32_t version = dict->table[table_id].version;
    if (version != 0) return table_version_reborn(version);
    return 1u + (uint32_t)(rng_next(block_rng(&dict->block)) % TABLE_VERSION_FIRST_MAX);
}

uint32_t dict_number_unique(struct dict *dict, struct table_def *def, uint32_t unique,
                            uint32_t above)
{
    char name[DICT_NAME_BYTES];
    struct table_def *index;
    uint32_t table_id = dict_table_unused(dict, above);
    if (table_id == 0) return ERR_TABLE_RECORDS;
    table_def_unique_set(def, unique, table_id, next_version(dict, table_id));
    uint32_t error =
        table_def_of_unique(def, unique, dict->master.index_memory, DICT_INDEX_DEF_BYTES, &index);
    if (error != 0) return error;
    table_def_internal_name(index, name, sizeof(name));
    return dict_table_by_name(dict, name, (uint32_t)strlen(name)) == 0 ? 0 : ERR_INDEX_EXISTS;
}

/* The numbers and versions of the tables that the unique indexes are. 0, or why they cannot be. */
static uint32_t number_uniques(struct dict *dict, struct table_def *def)
{
    struct table_index index = {.table_id = def->table_id};
    uint32_t error = 0;
    for (uint32_t i = 0; i < def->unique_count && error == 0; i++) {
        error = dict_number_unique(dict, def, i, index.table_id);
        table_def_unique(def, i, &index);
    }
    return error;
}

uint32_t dict_number_table(struct dict *dict)
{
    struct table_def *def = dict->master.def;
    def->table_id = dict_table_unused(dict, 0);
    if (def->table_id == 0) return ERR_TABLE_RECORDS;
    def->version = next_version(dict, def->table_id);
    jam_data(def->table_id);
    return number_uniques(dict, def);
}

/* Reads and checks the definition; fills in the numbers and versions that the table and its unique
 * indexes get. 0 or an error. */
static uint32_t parse_table(struct dict *dict, const struct section *words, uint32_t *column)
{
    struct dict_master *master = &dict->master;
    char name[DICT_NAME_BYTES];
    uint32_t error = table_def_decode(words->words, words->size, master->def_memory,
                                      table_def_size_max(), &master->def);
    if (error != 0) {
        jam_data(error);
        return error;
    }
    error = table_def_check_detail(master->def, column);
    if (error != 0) return error;
    if (master->def->base_id != 0) return ERR_TABLE_FORMAT; /* Those we make ourselves. */
    table_def_internal_name(master->def, name, sizeof(name));
    uint32_t size = 0;
    while (name[size] != 0)
        size++;
    if (dict_table_by_name(dict, name, size) != 0) return ERR_TABLE_EXISTS;
    error = dict_number_table(dict);
    master->table_id = master->def->table_id;
    master->version = master->def->version;
    return error;
}

void dict_exec_CREATE_TABLE_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    uint32_t sender_data = SIG_PAYLOAD(sig, create_table_req)->sender_data;
    uint32_t column = UINT32_MAX;
    uint32_t error = dict_not_possible(dict, sig->sender);
    if (error == 0) error = parse_table(dict, &sig->section[0], &column);
    if (error != 0) {
        jam_data(error);
        refuse_create(dict, sig->sender, sender_data, error, column == UINT32_MAX ? 0 : column + 1);
        return;
    }
    jam();
    dict_begin(dict, sig, SCHEMA_CREATE_TABLE, sender_data);
    master_move(&dict->master, MASTER_PLACING);
    const struct table_def *def = dict->master.def;
    struct create_frag_req req = {
        .sender_data = dict->master.trans_id,
        .balance = (uint32_t)def->balance,
        .fragment_count = def->fragment_count,
        .flags = def->flags,
    };
    sig_send(block, block_ref(dict_own(dict), BLOCK_DBDIH, 0), GSN_CREATE_FRAG_REQ, PRIO_B, &req);
}

static void give_up_placing(struct dict *dict, uint32_t error)
{
    jam_data(error);
    dict->master.error = error;
    answer_client(dict);
    master_move(&dict->master, MASTER_IDLE);
    dict->master.client_ref = 0;
    dict_lock_try(dict);
}

void dict_exec_CREATE_FRAG_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_master *master = &dict->master;
    ndbrequire(master->state == MASTER_PLACING);
    ndbrequire(SIG_PAYLOAD(sig, create_frag_conf)->sender_data == master->trans_id);
    master->def->fragment_count = SIG_PAYLOAD(sig, create_frag_conf)->fragment_count;
    uint32_t words = table_def_encode(master->def, master->words, DICT_WORDS_MAX);
    ndbrequire(words != 0);
    if (words + sig->section[0].size > DICT_WORDS_MAX - DICT_HEAD_WORDS) {
        jam();
        give_up_placing(dict, ERR_DEFINITION_TOO_BIG);
        return;
    }
    struct section sections[2] = {{.words = master->words, .size = words}, sig->section[0]};
    jam();
    dict_begin_prepare(dict, sections, 2);
}

void dict_exec_CREATE_FRAG_REF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    ndbrequire(dict->master.state == MASTER_PLACING);
    give_up_placing(dict, SIG_PAYLOAD(sig, create_frag_ref)->error);
}

void dict_exec_DROP_TABLE_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct drop_table_req *req = SIG_PAYLOAD(sig, drop_table_req);
    uint32_t error = dict_not_possible(dict, sig->sender);
    if (error == 0) {
        const struct dict_table *table = dict_table_at(dict, req->table_id);
        if (table == NULL || table->state != TABLE_ONLINE || table->base_id != 0)
            error = ERR_NO_SUCH_TABLE_ID; /* A unique index goes with its table. */
        else if (table->version != req->version)
            error = ERR_SCHEMA_VERSION;
    }
    if (error != 0) {
        jam_data(error);
        refuse_drop(dict, sig->sender, req->sender_data, error);
        return;
    }
    jam();
    dict_begin(dict, sig, SCHEMA_DROP_TABLE, req->sender_data);
    dict->master.table_id = req->table_id;
    dict->master.version = req->version;
    dict_begin_prepare(dict, NULL, 0);
}
