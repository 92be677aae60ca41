/* dict_local.c -- a node's part in a schema transaction: brings its TC and LQH instances through
 * each round. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbdict/dict_state.h"
#include <string.h>

static uint32_t instance_ref(const struct dict *dict, uint32_t block_no, uint32_t instance)
{
    return block_ref(dict_own(dict), block_no, instance);
}

static struct node_mask *waiting_of(struct dict_local *local, uint32_t ref)
{
    ndbrequire(ref_block(ref) == BLOCK_DBTC || ref_block(ref) == BLOCK_DBLQH);
    return ref_block(ref) == BLOCK_DBTC ? &local->waiting_tc : &local->waiting_lqh;
}

/* --- Answers to the master. --- */

static void refuse_prepare(struct dict *dict, const struct signal *sig, uint32_t error)
{
    struct schema_prepare_ref ref = {.trans_id = SIG_PAYLOAD(sig, schema_prepare_req)->trans_id,
                                     .error = error};
    jam_data(error);
    dict->refused_id = ref.trans_id;
    sig_send(&dict->block, sig->sender, GSN_SCHEMA_PREPARE_REF, PRIO_B, &ref);
}

static void begin_step(struct dict *dict, uint32_t step);

static void prepare_done(struct dict *dict)
{
    struct dict_local *local = &dict->local;
    if (local->then != 0) {
        jam();
        begin_step(dict, local->then);
        return;
    }
    if (local->master_ref == 0) {
        jam(); /* The new master has been told that this was under way. */
        return;
    }
    if (local->error != 0) {
        jam_data(local->error);
        struct schema_prepare_ref ref = {.trans_id = local->trans_id, .error = local->error};
        sig_send(&dict->block, local->master_ref, GSN_SCHEMA_PREPARE_REF, PRIO_B, &ref);
        return;
    }
    jam();
    struct schema_prepare_conf conf = {.trans_id = local->trans_id};
    sig_send(&dict->block, local->master_ref, GSN_SCHEMA_PREPARE_CONF, PRIO_B, &conf);
}

static void send_step_conf(struct dict *dict, uint32_t master_ref, uint32_t trans_id, uint32_t step)
{
    struct schema_step_conf conf = {.trans_id = trans_id, .step = step};
    sig_send(&dict->block, master_ref, GSN_SCHEMA_STEP_CONF, PRIO_B, &conf);
}

/* All instances have done the round: what it means for the dictionary, and the answer. */
static void step_done(struct dict *dict)
{
    struct dict_local *local = &dict->local;
    if (schema_alters(local->operation)) dict_alter_step_done(dict);
    switch ((enum schema_step)local->step) {
    case SCHEMA_STEP_REMOVE:
        jam();
        for (uint32_t i = 0; i < local->gone.count; i++)
            dict_store_remove(dict, local->gone.table[i]);
        break;
    case SCHEMA_STEP_ABORT:
        jam();
        dict_forget_made(dict);
        local->active = 0;
        break;
    case SCHEMA_STEP_COMPLETE:
        jam();
        local->active = 0;
        break;
    case SCHEMA_STEP_ONLINE_LQH:
    case SCHEMA_STEP_ONLINE_TC:
    case SCHEMA_STEP_DROPPING_TC:
    case SCHEMA_STEP_DROPPING_LQH:
    case SCHEMA_STEP_WRITE:
    case SCHEMA_STEP_LOOSE:
    case SCHEMA_STEP_FORGET:
    case SCHEMA_STEP_RESERVE:
    case SCHEMA_STEP_DELETES:
    case SCHEMA_STEP_FIRES:
    case SCHEMA_STEP_STRICT:
    default:
        jam();
        break;
    }
    local->waits = 0;
    if (local->master_ref != 0)
        send_step_conf(dict, local->master_ref, local->trans_id, local->step);
}

/* After PREPARE nothing can be refused any more, a full disk neither. A node without files has
 * never read one. */
static bool needs_room(const struct dict *dict)
{
    const struct dict_local *local = &dict->local;
    return local->step == 0 && local->error == 0 && schema_grows(local->operation) &&
           local->has_room == 0 && dict->file.state != SCHEMA_FILE_CLOSED;
}

/* All instances have the table of a unique index, and its own table does not know it yet. */
static bool needs_index(const struct dict_local *local)
{
    return local->step == 0 && local->error == 0 && local->operation == SCHEMA_CREATE_UNIQUE &&
           local->has_index == 0;
}

static void add_to_instances(struct dict *dict);
static void order_instances(struct dict *dict);

/* The instances go on with the next table of the group. False: they are done. */
static bool next_of_group(struct dict *dict)
{
    struct dict_local *local = &dict->local;
    if (local->at + 1u >= dict_set_of_step(local)->count) return false;
    if (local->step == 0 && local->error != 0) return false;
    jam();
    local->at++;
    if (local->step == 0)
        add_to_instances(dict);
    else
        order_instances(dict);
    return true;
}

void dict_local_check(struct dict *dict)
{
    struct dict_local *local = &dict->local;
    do {
        if (!node_mask_empty(&local->waiting_tc) || !node_mask_empty(&local->waiting_lqh)) return;
    } while (next_of_group(dict)); /* Perhaps no instance has that table. */
    if (needs_index(local)) {
        jam();
        dict_unique_known(dict);
        return;
    }
    if (needs_room(dict)) {
        jam();
        dict_file_make_room(dict);
        return;
    }
    local->waits = 0;
    if (local->step == 0)
        prepare_done(dict);
    else
        step_done(dict);
}

void dict_local_room(struct dict *dict, uint32_t error)
{
    ndbrequire(dict->local.active && dict->local.waits && dict->local.step == 0);
    jam_data(error);
    dict->local.has_room = 1;
    dict->local.error = error;
    dict_local_check(dict);
}

/* --- PREPARE. --- */

void dict_add_to(struct dict *dict, uint32_t block_no, struct node_mask *waiting,
                 const struct local_table_add_req *req, const struct section sections[2])
{
    uint32_t count = block_instances(&dict->block, block_no);
    for (uint32_t i = 1; i <= count; i++) {
        node_mask_add(waiting, i);
        signal_send(&dict->block, instance_ref(dict, block_no, i), GSN_LOCAL_TABLE_ADD_REQ, PRIO_B,
                    req, sizeof(*req) / 4u, sections, 2);
    }
}

static void add_to_instances(struct dict *dict)
{
    struct dict_local *local = &dict->local;
    uint32_t table_id = local->made.table[local->at];
    local->adding = local->at;
    local->added_tc = local->added_lqh = (struct node_mask){{0}};
    struct local_table_add_req add = {.sender_data = local->trans_id,
                                      .table_id = table_id,
                                      .version = dict->table[table_id].version};
    struct section sections[2];
    dict_store_read_places(dict, &dict->table[table_id], sections);
    dict_add_to(dict, BLOCK_DBLQH, &local->waiting_lqh, &add, sections);
    dict_add_to(dict, BLOCK_DBTC, &local->waiting_tc, &add, sections);
}

/*
 * The master has looked at the same dictionary: a request that does not fit it is no client's
 * mistake, and a refusal would reach the client as if it had asked for something else.
 */
static bool fits_dictionary(struct dict *dict, const struct signal *sig)
{
    const struct schema_prepare_req *req = SIG_PAYLOAD(sig, schema_prepare_req);
    const struct dict_table *table = dict_table_at(dict, req->table_id);
    if (table != NULL && table->base_id != 0) return false; /* It goes with its table. */
    if (schema_alters(req->operation)) return dict_alter_fits(dict, sig);
    if (req->operation == SCHEMA_TRUNCATE) return table == NULL && dict_truncate_fits(dict, sig);
    if (req->operation == SCHEMA_CREATE_TABLE) return sig->section_count == 2 && table == NULL;
    return req->operation == SCHEMA_DROP_TABLE && table != NULL && table->state == TABLE_ONLINE &&
           table->version == req->version;
}

static uint32_t prepare_drop(struct dict *dict)
{
    if (ERROR_INSERTED(&dict->block, 6002)) {
        ERROR_INSERT_CLEAR(&dict->block);
        return ERR_SCHEMA_OBJECT_BUSY;
    }
    return 0;
}

bool dict_from_master(struct dict *dict, const struct signal *sig)
{
    if (sig->sender == block_ref(dict->master_node, BLOCK_DBDICT, 0)) return true;
    jam();
    ndbrequire(ref_node(sig->sender) != dict_own(dict));
    peer_refuse(&dict->block, ref_node(sig->sender),
                "schema transaction of a node that is not the master");
    return false;
}

/* False: the master has sent a definition that it cannot have read itself, and is cut off. */
static bool begin_create(struct dict *dict, const struct signal *sig)
{
    struct dict_local *local = &dict->local;
    jam();
    local->error = dict_prepare_create(dict, sig);
    if (local->error != 0) dict_forget_made(dict);
    if (local->error == ERR_TABLE_FORMAT && ref_node(sig->sender) != dict_own(dict)) {
        jam();
        local->active = 0;
        peer_refuse(&dict->block, ref_node(sig->sender), "a table that cannot be");
        return false;
    }
    if (local->error == 0)
        add_to_instances(dict);
    else
        local->table_id = 0; /* Nothing is kept, so nothing is to be removed. */
    return true;
}

void dict_exec_SCHEMA_PREPARE_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_local *local = &dict->local;
    const struct schema_prepare_req *req = SIG_PAYLOAD(sig, schema_prepare_req);
    if (!dict_from_master(dict, sig)) return;
    if (dict->trans_seen != 0 && dict->lost.failure_no == 0 &&
        req->trans_id != dict->trans_seen + 1u) {
        jam();
        peer_refuse(block, ref_node(sig->sender), "schema transaction out of its order");
        return;
    }
    dict->trans_seen = req->trans_id;
    if (local->active || dict->table == NULL) {
        refuse_prepare(dict, sig, ERR_SCHEMA_BUSY);
        return;
    }
    if (!fits_dictionary(dict, sig)) {
        jam();
        peer_refuse(block, ref_node(sig->sender), "a schema transaction that cannot be");
        return;
    }
    void *def_memory = local->def_memory;
    void *index_memory = local->index_memory;
    *local = (struct dict_local){
        .active = 1,
        .trans_id = req->trans_id,
        .master_ref = sig->sender,
        .operation = req->operation,
        .table_id = req->table_id,
        .object = req->object,
        .def_memory = def_memory,
        .index_memory = index_memory,
    };
    if (req->operation == SCHEMA_CREATE_TABLE || req->operation == SCHEMA_TRUNCATE) {
        if (!begin_create(dict, sig)) return;
        if (local->error == 0 && req->operation == SCHEMA_TRUNCATE)
            dict_set_of_drop(dict, req->object);
    } else if (schema_alters(req->operation)) {
        jam();
        local->error = dict_alter_prepare(dict, sig);
        if (local->error == 0 && req->operation == SCHEMA_DROP_UNIQUE)
            dict_set_of_drop(dict, req->object);
        if (local->error == 0 && req->operation == SCHEMA_CREATE_UNIQUE) add_to_instances(dict);
    } else {
        jam();
        local->error = prepare_drop(dict);
        if (local->error == 0) dict_set_of_drop(dict, req->table_id);
    }
    local->waits = 1;
    dict_local_check(dict);
}

static void added(struct dict *dict, const struct signal *sig, uint32_t table_id, uint32_t error)
{
    struct dict_local *local = &dict->local;
    uint32_t instance = ref_instance(sig->sender);
    if (dict_restart_runs(dict)) {
        dict_restart_answered(dict, sig, table_id, error);
        return;
    }
    struct node_mask *waiting = waiting_of(local, sig->sender);
    ndbrequire(local->active && local->waits && local->step == 0);
    ndbrequire(local->at < local->made.count && table_id == local->made.table[local->at]);
    ndbrequire(node_mask_has(waiting, instance)); /* I-DICT-4 */
    node_mask_remove(waiting, instance);
    if (error == 0) {
        jam();
        node_mask_add(ref_block(sig->sender) == BLOCK_DBTC ? &local->added_tc : &local->added_lqh,
                      instance);
    } else {
        jam_data(error);
        local->error = error;
    }
    dict_local_check(dict);
}

void dict_exec_LOCAL_TABLE_ADD_CONF(struct block *block, const struct signal *sig)
{
    added(dict_of(block), sig, SIG_PAYLOAD(sig, local_table_add_conf)->table_id, 0);
}

void dict_exec_LOCAL_TABLE_ADD_REF(struct block *block, const struct signal *sig)
{
    const struct local_table_add_ref *ref = SIG_PAYLOAD(sig, local_table_add_ref);
    added(dict_of(block), sig, ref->table_id, ref->error != 0 ? ref->error : ERR_SCHEMA_MEMORY);
}

/* --- The other rounds. --- */

void dict_order(struct dict *dict, uint32_t block_no, const struct node_mask *instances,
                const struct local_table_state_req *req)
{
    for (uint32_t i = node_mask_next(instances, 0); i != 0; i = node_mask_next(instances, i))
        sig_send(&dict->block, instance_ref(dict, block_no, i), GSN_LOCAL_TABLE_STATE_REQ, PRIO_B,
                 req);
}

/* Who has the table that is to be dropped, when it was not made after all. */
static struct node_mask who_added(const struct dict *dict, uint32_t block_no)
{
    const struct dict_local *local = &dict->local;
    if (local->at < local->adding) return dict_all_instances(dict, block_no);
    if (local->at > local->adding) return (struct node_mask){{0}};
    return block_no == BLOCK_DBTC ? local->added_tc : local->added_lqh;
}

static void order(struct dict *dict, uint32_t block_no, uint32_t local_order)
{
    struct dict_local *local = &dict->local;
    struct local_table_state_req req = {.sender_data = local->trans_id,
                                        .table_id = dict_set_of_step(local)->table[local->at],
                                        .order = local_order};
    struct node_mask instances = dict_all_instances(dict, block_no);
    if (local->step == SCHEMA_STEP_ABORT) instances = who_added(dict, block_no);
    *(block_no == BLOCK_DBTC ? &local->waiting_tc : &local->waiting_lqh) = instances;
    dict_order(dict, block_no, &instances, &req);
}

struct node_mask dict_all_instances(const struct dict *dict, uint32_t block_no)
{
    struct node_mask mask = {{0}};
    uint32_t count = block_instances(&dict->block, block_no);
    for (uint32_t i = 1; i <= count; i++)
        node_mask_add(&mask, i);
    return mask;
}

/* The image with the new table, or without the dropped one; or as it is, but that the version of
 * what is made is used up. A node without files has never read one. */
static void write_image(struct dict *dict)
{
    struct dict_local *local = &dict->local;
    if (dict->file.state == SCHEMA_FILE_CLOSED) {
        jam();
        dict_local_check(dict);
        return;
    }
    if (ERROR_INSERTED(&dict->block, 6004)) {
        node_fail(EXIT_ERROR_INSERT, __FILE__, __LINE__,
                  "error insert 6004: the schema file is about to be written");
    }
    jam();
    bool reserve = local->step == SCHEMA_STEP_RESERVE;
    const struct dict_set *without = reserve ? &local->made : &local->gone;
    dict_file_write(dict, dict->file.sequence + 1u,
                    without->count == 0 ? 0 : without->table[without->count - 1u], reserve);
}

void dict_local_written(struct dict *dict)
{
    ndbrequire(dict->local.active && schema_step_writes(dict->local.step));
    if (ERROR_INSERTED(&dict->block, 6003)) {
        node_fail(EXIT_ERROR_INSERT, __FILE__, __LINE__,
                  "error insert 6003: the schema file has been written");
    }
    jam();
    dict_file_tell(dict, true);
    dict_local_check(dict);
}

/* What a step means for the instances and one table. */
static void order_instances(struct dict *dict)
{
    switch ((enum schema_step)dict->local.step) {
    case SCHEMA_STEP_ONLINE_LQH:
        order(dict, BLOCK_DBLQH, LOCAL_TABLE_ONLINE);
        break;
    case SCHEMA_STEP_ONLINE_TC:
        order(dict, BLOCK_DBTC, LOCAL_TABLE_ONLINE);
        break;
    case SCHEMA_STEP_DROPPING_TC:
        order(dict, BLOCK_DBTC, LOCAL_TABLE_DROPPING);
        break;
    case SCHEMA_STEP_DROPPING_LQH:
        order(dict, BLOCK_DBLQH, LOCAL_TABLE_DROPPING);
        break;
    case SCHEMA_STEP_REMOVE:
    case SCHEMA_STEP_ABORT:
        order(dict, BLOCK_DBTC, LOCAL_TABLE_DROP);
        order(dict, BLOCK_DBLQH, LOCAL_TABLE_DROP);
        break;
    case SCHEMA_STEP_WRITE:
    case SCHEMA_STEP_COMPLETE:
    case SCHEMA_STEP_LOOSE:
    case SCHEMA_STEP_FORGET:
    case SCHEMA_STEP_RESERVE:
    case SCHEMA_STEP_DELETES:
    case SCHEMA_STEP_FIRES:
    case SCHEMA_STEP_STRICT:
    default:
        break;
    }
}

static void begin_step(struct dict *dict, uint32_t step)
{
    struct dict_local *local = &dict->local;
    local->step = step;
    local->waits = 1;
    local->at = 0;
    /* Only now: who finds the table here may ask any node's TC. */
    if (step == schema_step_after(local->operation, SCHEMA_STEP_ONLINE_TC)) {
        jam();
        dict_made_online(dict);
    }
    if (step == SCHEMA_STEP_RESERVE) local->reserved = 1;
    if (schema_step_writes(step)) {
        write_image(dict);
        return;
    }
    if (schema_alters(local->operation)) {
        jam();
        dict_alter_order(dict);
    }
    for (uint32_t i = 0; step == SCHEMA_STEP_DROPPING_TC && i < local->gone.count; i++)
        dict->table[local->gone.table[i]].state = TABLE_DROPPING;
    if (dict_set_of_step(local)->count > 0) {
        jam();
        order_instances(dict);
    }
    dict_local_check(dict);
}

/* What was refused here can only go back. */
static bool step_follows(const struct dict_local *local, uint32_t step)
{
    bool back = schema_step_rank(local->operation, local->step) >= SCHEMA_RANK_BACK;
    if (step == 0) return false;
    if (step == schema_step_back(local->operation, local->step)) return true;
    return (local->error == 0 || back) && step == schema_step_after(local->operation, local->step);
}

/* Only a preparation can be told to go back before it has ended. */
static bool may_wait(const struct dict_local *local, uint32_t step)
{
    return local->step == 0 && step == schema_step_back(local->operation, 0);
}

/* The first order of a new master: some have done it before, some have come right before it. An
 * abort may come while the table is being added. */
static void taken_on(struct dict *dict, const struct signal *sig)
{
    struct dict_local *local = &dict->local;
    uint32_t step = SIG_PAYLOAD(sig, schema_step_req)->step;
    local->master_ref = sig->sender;
    jam_data(step);
    if (local->step == step && step != 0) {
        if (!local->waits) send_step_conf(dict, sig->sender, local->trans_id, step);
        return;
    }
    if (!step_follows(local, step) || (local->waits && !may_wait(local, step))) {
        jam();
        peer_refuse(&dict->block, ref_node(sig->sender), "schema transaction out of order");
        return;
    }
    if (local->waits) {
        local->then = step;
        dict_alter_cancel(dict);
    } else {
        begin_step(dict, step);
    }
}

void dict_exec_SCHEMA_STEP_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct schema_step_req *req = SIG_PAYLOAD(sig, schema_step_req);
    if (!dict_from_master(dict, sig)) return;
    if (dict->local.active && dict->local.master_ref == 0 &&
        req->trans_id == dict->local.trans_id) {
        taken_on(dict, sig);
        return;
    }
    if (!dict->local.active || req->trans_id != dict->local.trans_id ||
        sig->sender != dict->local.master_ref) {
        if (dict->lost.failure_no == 0 &&
            (req->trans_id == 0 || req->trans_id != dict->refused_id)) {
            jam();
            peer_refuse(block, ref_node(sig->sender), "step of no schema transaction");
            return;
        }
        jam(); /* It was refused here, or never came, so there is nothing to do. */
        send_step_conf(dict, sig->sender, req->trans_id, req->step);
        return;
    }
    if (dict->local.waits || !step_follows(&dict->local, req->step)) {
        jam();
        peer_refuse(block, ref_node(sig->sender), "schema transaction out of order");
        return;
    }
    begin_step(dict, req->step);
}

void dict_exec_LOCAL_TABLE_STATE_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    const struct local_table_state_conf *conf = SIG_PAYLOAD(sig, local_table_state_conf);
    uint32_t instance = ref_instance(sig->sender);
    if (dict_restart_runs(dict)) {
        dict_restart_answered(dict, sig, conf->table_id, 0);
        return;
    }
    struct node_mask *waiting = waiting_of(&dict->local, sig->sender);
    const struct dict_set *group = dict_set_of_step(&dict->local);
    ndbrequire(dict->local.active && dict->local.waits && dict->local.at < group->count);
    ndbrequire(conf->table_id == group->table[dict->local.at]);
    ndbrequire(node_mask_has(waiting, instance));
    node_mask_remove(waiting, instance);
    dict_local_check(dict);
}
