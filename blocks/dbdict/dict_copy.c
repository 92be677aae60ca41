/* dict_copy.c -- a node that comes back: its LQHs get the rows of one table after the other. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "blocks/dbdict/dict_state.h"
#include "kernel/base/u64.h"

#define TICK_MS 1000u

static bool has_own_replica(const struct dict *dict, const struct section *distribution)
{
    uint32_t count = distribution->words[0] * distribution->words[1];
    for (uint32_t i = 0; i < count; i++) {
        if (distribution->words[DISTRIBUTION_HEAD_WORDS + i] == dict_own(dict)) return true;
    }
    return false;
}

static void ended(struct dict *dict)
{
    struct dict_copy *copy = &dict->copy;
    struct copy_start_conf conf = {
        .sender_data = copy->sender_data,
        .rows = copy_rows_of(copy->own, copy->rows, copy->kept, copy->removed),
        .bytes_lo = (uint32_t)copy->bytes,
        .bytes_hi = (uint32_t)(copy->bytes >> 32)};
    uint32_t receiver = copy->sender;
    jam();
    log_info(&dict->block, "%llu rows, %llu bytes copied in %llu ms",
             (unsigned long long)copy->rows, (unsigned long long)copy->bytes,
             (unsigned long long)(now_ms(&dict->block) - copy->begun_ms));
    copy->sender = 0;
    sig_send(&dict->block, receiver, GSN_COPY_START_CONF, PRIO_A, &conf);
}

/* The next table from `id` on of which this node has fragments. */
static void copy_from(struct dict *dict, uint32_t id)
{
    struct dict_copy *copy = &dict->copy;
    struct section sections[2];
    for (; id < dict->table_count; id++) {
        const struct dict_table *table = dict_table_at(dict, id);
        if (table == NULL) continue;
        dict_store_read(dict, table, sections);
        if (has_own_replica(dict, &sections[1])) break;
        copy->done += table->fragments;
    }
    if (id == dict->table_count) {
        ended(dict);
        return;
    }
    jam_data(id);
    const struct dict_table *table = &dict->table[id];
    struct copy_table_req req = {.table_id = id, .version = table->version};
    struct section distribution;
    dict_store_read_sources(dict, table, &distribution);
    copy->table_id = id;
    copy->waiting = dict_all_instances(dict, BLOCK_DBLQH);
    copy->instances = node_mask_count(&copy->waiting);
    ndbrequire(copy->instances <= DICT_LDMS_MAX);
    memset(copy->permille, 0, sizeof(copy->permille));
    for (uint32_t i = 1; i <= copy->instances; i++)
        signal_send(&dict->block, block_ref(dict_own(dict), BLOCK_DBLQH, i), GSN_COPY_TABLE_REQ,
                    PRIO_B, &req, sizeof(req) / 4u, &distribution, 1);
}

static void tick_later(struct dict *dict)
{
    struct continueb work = {.work = DICT_WORK_COPY_TICK};
    sig_send_delayed(&dict->block, dict->block.ref, GSN_CONTINUEB, PRIO_B, &work, TICK_MS);
}

void dict_copy_tick(struct dict *dict)
{
    const struct dict_copy *copy = &dict->copy;
    if (copy->sender == 0) return;
    uint64_t fragments = dict->table[copy->table_id].fragments;
    uint64_t parts = 0;
    for (uint32_t i = 1; i <= copy->instances; i++)
        parts += node_mask_has(&copy->waiting, i) ? copy->permille[i] : 1000u;
    uint64_t done = copy->done + fragments * parts / (copy->instances * 1000ull);
    uint64_t ms = now_ms(&dict->block) - copy->begun_ms;
    struct copy_progress_rep rep = {.percent = (uint32_t)(done * 100u / copy->fragments)};
    if (done > 0) rep.left_s = (uint32_t)(ms * (copy->fragments - done) / done / 1000u);
    jam_data(rep.percent);
    sig_send(&dict->block, copy->sender, GSN_COPY_PROGRESS_REP, PRIO_B, &rep);
    tick_later(dict);
}

/* Everything that the president knows is online there. */
void dict_exec_COPY_START_REQ(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    ndbrequire(dict->copy.sender == 0);
    jam();
    dict->copy = (struct dict_copy){.sender = sig->sender,
                                    .sender_data = SIG_PAYLOAD(sig, copy_start_req)->sender_data,
                                    .begun_ms = now_ms(block)};
    for (uint32_t id = 1; id < dict->table_count; id++) {
        if (dict_table_at(dict, id) != NULL) dict->copy.fragments += dict->table[id].fragments;
    }
    copy_from(dict, 1);
    if (dict->copy.sender != 0) tick_later(dict);
}

void dict_exec_COPY_TABLE_CONF(struct block *block, const struct signal *sig)
{
    struct dict *dict = dict_of(block);
    struct dict_copy *copy = &dict->copy;
    const struct copy_table_conf *conf = SIG_PAYLOAD(sig, copy_table_conf);
    uint32_t instance = ref_instance(sig->sender);
    ndbrequire(copy->sender != 0 && conf->table_id == copy->table_id);
    ndbrequire(node_mask_has(&copy->waiting, instance)); /* I-DICT-4 */
    node_mask_remove(&copy->waiting, instance);
    copy->rows += u64_of(conf->rows.copied_lo, conf->rows.copied_hi);
    copy->own += u64_of(conf->rows.own_lo, conf->rows.own_hi);
    copy->kept += u64_of(conf->rows.kept_lo, conf->rows.kept_hi);
    copy->removed += u64_of(conf->rows.removed_lo, conf->rows.removed_hi);
    copy->bytes += conf->bytes_lo | (uint64_t)conf->bytes_hi << 32;
    if (!node_mask_empty(&copy->waiting)) return;
    jam_data(conf->table_id);
    copy->done += dict->table[conf->table_id].fragments;
    copy_from(dict, conf->table_id + 1u);
}

void dict_exec_COPY_PART_REP(struct block *block, const struct signal *sig)
{
    struct dict_copy *copy = &dict_of(block)->copy;
    const struct copy_part_rep *rep = SIG_PAYLOAD(sig, copy_part_rep);
    uint32_t instance = ref_instance(sig->sender);
    ndbrequire(instance <= DICT_LDMS_MAX && rep->permille <= 1000u);
    if (copy->sender != 0 && rep->table_id == copy->table_id)
        copy->permille[instance] = rep->permille;
}

/* Half a replica is of no use: the node begins anew. */
void dict_exec_COPY_TABLE_REF(struct block *block, const struct signal *sig)
{
    const struct copy_table_ref *ref = SIG_PAYLOAD(sig, copy_table_ref);
    char text[100];
    uint32_t code = ref->error == ERR_NO_MEMORY_DATA || ref->error == ERR_INDEX_MEMORY ||
                            ref->error == ERR_INDEX_MEMORY_ORDERED
                        ? EXIT_RECOVER_MEMORY
                    : ref->error == ERR_ROW_ID_TAKEN ? EXIT_COPY_DIFFERS
                                                     : EXIT_OTHER_NODE_FAILED;
    (void)block;
    snprintf(text, sizeof(text), "the rows of table %u cannot be copied: error %u", ref->table_id,
             ref->error);
    node_fail(code, __FILE__, __LINE__, text);
}
