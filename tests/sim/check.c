/* check.c -- when all is quiet: no record is left anywhere, and all replicas are equal. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>
#include "blocks/dbdict/dict_state.h"
#include "blocks/dblqh/lqh_state.h"
#include "blocks/dblqh/schema/lqh_table.h"
#include "blocks/dbtc/tc.h"
#include "blocks/dbtup/tup_state.h"
#include "tests/sim/run.h"
#include "values/table_index.h"

static bool tc_quiet(struct node *node, uint32_t id, uint32_t instance, char *text, uint32_t size)
{
    const struct block *block = node_block(node, BLOCK_DBTC, instance);
    struct tc_usage usage;
    tc_usage_get(block, &usage);
    if (usage.connects + usage.transactions + usage.operations + usage.scans +
            usage.fragment_scans ==
        0)
        return true;
    snprintf(text, size,
             "node %u TC %u still has %u connects, %u transactions, %u operations, %u scans, %u "
             "fragment scans",
             id, instance, usage.connects, usage.transactions, usage.operations, usage.scans,
             usage.fragment_scans);
    return false;
}

static bool ldm_quiet(struct node *node, uint32_t id, uint32_t instance, char *text, uint32_t size)
{
    struct lqh_usage usage;
    lqh_usage_get(node_block(node, BLOCK_DBLQH, instance), &usage);
    const struct acc *acc =
        (const struct acc *)(const void *)node_block(node, BLOCK_DBACC, instance);
    const struct tup *tup =
        (const struct tup *)(const void *)node_block(node, BLOCK_DBTUP, instance);
    uint32_t locks = acc_locks_in_use(acc);
    uint32_t changes = tup_changes_open(tup);
    if (usage.operations + usage.scans + usage.segments + locks + changes == 0) return true;
    snprintf(text, size,
             "node %u LDM %u still has %u operations, %u scans, %u segments, %u locks, %u changes",
             id, instance, usage.operations, usage.scans, usage.segments, locks, changes);
    return false;
}

bool pools_quiet(struct run *run, char *text, uint32_t size)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        struct node *node = sim_node(run->world, id);
        if (node == NULL) continue;
        for (uint32_t instance = 1; instance <= run->swarm.tc; instance++) {
            if (!tc_quiet(node, id, instance, text, size)) return false;
        }
        for (uint32_t instance = 1; instance <= ldm_of(run, i); instance++) {
            if (!ldm_quiet(node, id, instance, text, size)) return false;
        }
    }
    return true;
}

/* I-SIM-5 */
void check_pools(struct run *run)
{
    char text[300];
    if (!pools_quiet(run, text, sizeof text)) run_fail(run, SIM_CORRECTNESS, "%s", text);
}

/* --- Replicas. --- */

/* What a fragment holds: rows with their ids and contents. */
struct image {
    uint32_t node;
    uint32_t rows;
    uint64_t hash;
};

static bool image_row(struct tup *tup, struct tup_frag *frag, uint32_t row, struct image *image)
{
    static const uint32_t all[1] = {ATTR_READ_ALL << 16};
    static uint32_t out[TUP_ROW_WORDS_MAX + 2];
    struct tup_read read = {.frag = frag, .row = row, .attr = all, .attr_words = 1};
    uint32_t words = 0;
    if (tup_read(tup, &read, out + 2, TUP_ROW_WORDS_MAX, &words) != 0) return false;
    out[0] = tup_row_page(frag, row);
    out[1] = tup_row_slot(frag, row);
    image->hash = XXH3_64bits_withSeed(out, (words + 2u) * 4u, image->hash);
    image->rows++;
    return true;
}

static bool image_of(struct run *run, struct lqh *lqh, uint32_t frag_ref, struct image *image)
{
    struct tup *tup = (struct tup *)(void *)block_neighbour(&lqh->block, BLOCK_DBTUP);
    struct tup_frag *frag = tup_frag_get(tup, frag_ref);
    struct tup_scan_position position = {0, 0};
    bool end = false;
    while (!end) {
        uint32_t rows[64];
        uint32_t count = tup_scan_next(tup, frag, &position, 0, 0, rows, 64, 1000, &end);
        for (uint32_t i = 0; i < count; i++) {
            if (image_row(tup, frag, rows[i], image)) continue;
            run_fail(run, SIM_CORRECTNESS, "node %u: a row of a fragment cannot be read",
                     image->node);
            return false;
        }
    }
    return true;
}

/* The fragment's image at one node; false when it is not there. */
static bool find_image(struct run *run, uint32_t id, uint32_t table, uint32_t fragment,
                       struct image *image)
{
    struct node *node = sim_node(run->world, id);
    if (node == NULL) return false;
    uint32_t index = (id - run->swarm.id_first) / run->swarm.id_step;
    for (uint32_t instance = 1; instance <= ldm_of(run, index); instance++) {
        struct lqh *lqh = (struct lqh *)(void *)node_block(node, BLOCK_DBLQH, instance);
        if (table >= lqh->table_count || lqh->table[table] == NULL) continue;
        const struct lqh_table *record = lqh->table[table];
        if (record->state != TABLE_ONLINE || fragment >= record->fragment_count) continue;
        if (record->frags[fragment] == REF_NONE) continue;
        *image = (struct image){.node = id};
        return image_of(run, lqh, record->frags[fragment], image);
    }
    return false;
}

static uint32_t check_fragment(struct run *run, uint32_t table, uint32_t fragment)
{
    struct image first = {0};
    uint32_t copies = 0;
    uint32_t group = UINT32_MAX;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        struct image image;
        if (!find_image(run, data_node_id(run, i), table, fragment, &image)) continue;
        if (copies++ == 0) first = image;
        group = i / run->swarm.replicas;
        if (image.rows == first.rows && image.hash == first.hash) continue;
        run_fail(run, SIM_CORRECTNESS,
                 "table %u fragment %u: node %u has %u rows (%016llx), node %u has %u (%016llx)",
                 table, fragment, first.node, first.rows, (unsigned long long)first.hash,
                 image.node, image.rows, (unsigned long long)image.hash);
    }
    for (uint32_t i = 0; copies > 0 && i < run->swarm.replicas; i++) { /* Those that are lost. */
        uint32_t id = data_node_id(run, group * run->swarm.replicas + i);
        if (run->swarm.failures && !sim_alive(run->world, id)) copies++;
    }
    return copies;
}

/* --- Dictionaries and the indexes that they name. --- */

static bool started(struct node *node)
{
    const struct dict *dict = (const struct dict *)(const void *)node_block(node, BLOCK_DBDICT, 0);
    return dict->start_level == START_STARTED;
}

static uint64_t dictionary_hash(struct node *node)
{
    struct dict *dict = (struct dict *)(void *)node_block(node, BLOCK_DBDICT, 0);
    uint64_t hash = 0;
    for (uint32_t id = 1; id < dict->table_count; id++) {
        struct section sections[2];
        if (dict_table_at(dict, id) == NULL) continue;
        dict_store_read(dict, &dict->table[id], sections);
        hash = XXH3_64bits_withSeed(sections[0].words, sections[0].size * 4u, hash + id);
    }
    return hash;
}

/* The LDM has exactly the indexes of the definition, and they may be scanned. */
static bool same_indexes(struct lqh *lqh, uint32_t table, const struct table_def *def)
{
    struct table_index index;
    uint32_t tup_table = lqh->table[table]->tup_table;
    const struct tup_table *of = pool_find(&lqh->tup->tables, tup_table);
    uint32_t count = 0;
    for (const struct tup_index *at = of->index; at != NULL; at = at->next)
        count++;
    for (uint32_t i = 0; table_def_index(def, i, &index); i++) {
        if (tup_index_state_of(lqh->tup, tup_table, index.id) != TUP_INDEX_USABLE) return false;
    }
    return count == def->index_count;
}

static void check_indexes(struct run *run, struct node *node, uint32_t id, uint32_t table)
{
    static uint8_t memory[1u << 20] __attribute__((aligned(8)));
    struct dict *dict = (struct dict *)(void *)node_block(node, BLOCK_DBDICT, 0);
    uint32_t position = (id - run->swarm.id_first) / run->swarm.id_step;
    struct section sections[2];
    struct table_def *def = NULL;
    dict_store_read(dict, &dict->table[table], sections);
    if (table_def_decode(sections[0].words, sections[0].size, memory, sizeof memory, &def) != 0)
        abort();
    for (uint32_t instance = 1; instance <= ldm_of(run, position); instance++) {
        struct lqh *lqh = (struct lqh *)(void *)node_block(node, BLOCK_DBLQH, instance);
        if (lqh->table[table] != NULL && !same_indexes(lqh, table, def))
            run_fail(run, SIM_CORRECTNESS, "node %u LDM %u: table %u has not its %u indexes", id,
                     instance, table, def->index_count);
    }
}

/* I-SIM-10 */
void check_dictionaries(struct run *run)
{
    uint64_t first = 0;
    uint32_t first_id = 0;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        struct node *node = sim_node(run->world, id);
        if (node == NULL || !started(node)) continue;
        struct dict *dict = (struct dict *)(void *)node_block(node, BLOCK_DBDICT, 0);
        if (dict->local.active || dict->master.state != MASTER_IDLE) return; /* Not quiet. */
        uint64_t hash = dictionary_hash(node);
        if (first_id == 0) first = hash;
        if (first_id == 0) first_id = id;
        if (hash != first)
            run_fail(run, SIM_CORRECTNESS, "nodes %u and %u have other dictionaries", first_id, id);
        for (uint32_t table = 1; table < dict->table_count; table++) {
            if (dict_table_at(dict, table) != NULL) check_indexes(run, node, id, table);
        }
    }
}

/* I-SIM-4 */
void check_replicas(struct run *run)
{
    for (uint32_t table = 0; table < run->swarm.config.tables_max; table++) {
        for (uint32_t fragment = 0;; fragment++) {
            uint32_t copies = check_fragment(run, table, fragment);
            if (copies == 0) break;
            if (copies != run->swarm.replicas)
                run_fail(run, SIM_CORRECTNESS, "table %u fragment %u has %u replicas instead of %u",
                         table, fragment, copies, run->swarm.replicas);
        }
    }
    check_dictionaries(run);
}
