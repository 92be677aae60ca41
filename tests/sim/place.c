/* place.c -- where a fragment's rows are, for the checkers; when all is quiet. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/sim/place.h"
#include <stdlib.h>
#include "blocks/dbdict/dict_state.h"

static struct lqh_table *table_at(struct lqh *lqh, uint32_t table_id)
{
    struct lqh_table *table = table_id < lqh->table_count ? lqh->table[table_id] : NULL;
    return table != NULL && table->state == TABLE_ONLINE ? table : NULL;
}

static bool find_at(struct run *run, uint32_t node_index, uint32_t table_id, uint32_t fragment,
                    struct place *place)
{
    struct node *node = sim_node(run->world, data_node_id(run, node_index));
    for (uint32_t i = 1; node != NULL && i <= ldm_of(run, node_index); i++) {
        place->lqh = (struct lqh *)(void *)node_block(node, BLOCK_DBLQH, i);
        if (place->lqh->table == NULL) continue;
        place->table = table_at(place->lqh, table_id);
        if (place->table == NULL || fragment >= place->table->fragment_count ||
            place->table->frags[fragment] == REF_NONE)
            continue;
        place->tup = place->lqh->tup;
        place->frag = tup_frag_get(place->tup, place->table->frags[fragment]);
        return true;
    }
    return false;
}

bool place_find(struct run *run, uint32_t table_id, uint32_t fragment, struct place *place)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        if (find_at(run, i, table_id, fragment, place)) return true;
    }
    return false;
}

void place_visit(const struct place *place, row_visit visit, void *context)
{
    struct tup_scan_position position = {0, 0};
    bool end = false;
    while (!end) {
        uint32_t rows[64];
        uint32_t count =
            tup_scan_next(place->tup, place->frag, &position, 0, 0, rows, 64, 1000, &end);
        for (uint32_t i = 0; i < count; i++)
            visit(context, place, rows[i]);
    }
}

const struct table_def *place_definition(struct run *run, uint32_t table_id, void *memory,
                                         size_t size)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        struct node *node = sim_node(run->world, data_node_id(run, i));
        if (node == NULL) continue;
        struct dict *dict = (struct dict *)(void *)node_block(node, BLOCK_DBDICT, 0);
        if (dict->start_level != START_STARTED) continue;
        if (dict->local.active || dict_table_at(dict, table_id) == NULL) return NULL;
        struct section sections[2];
        struct table_def *def;
        dict_store_read(dict, &dict->table[table_id], sections);
        if (table_def_decode(sections[0].words, sections[0].size, memory, size, &def) != 0) abort();
        return def;
    }
    return NULL;
}

bool place_partitions(struct run *run, uint32_t table_id, uint32_t *partitions, uint32_t *fragments)
{
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        struct node *node = sim_node(run->world, data_node_id(run, i));
        if (node == NULL) continue;
        struct dict *dict = (struct dict *)(void *)node_block(node, BLOCK_DBDICT, 0);
        if (dict->start_level != START_STARTED) continue;
        if (table_id >= dict->table_count || dict_table_at(dict, table_id) == NULL) return false;
        struct section sections[2];
        dict_store_read(dict, &dict->table[table_id], sections);
        const uint32_t *words = sections[1].words;
        const uint16_t *map = (const uint16_t *)(const void *)(words + DISTRIBUTION_HEAD_WORDS +
                                                               (size_t)words[0] * words[1]);
        *fragments = words[0];
        *partitions = distribution_partitions(map, words[2]);
        return true;
    }
    return false;
}

void place_visit_table(struct run *run, uint32_t table_id, row_visit visit, void *context)
{
    struct place place;
    uint32_t partitions, fragments;
    if (!place_partitions(run, table_id, &partitions, &fragments)) return;
    for (uint32_t i = 0; i < partitions; i++) {
        if (place_find(run, table_id, i, &place)) place_visit(&place, visit, context);
    }
}
