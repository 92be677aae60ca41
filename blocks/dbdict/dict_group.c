/* dict_group.c -- a schema that was read or copied: tables and their unique indexes name each
 * other.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each table can be for itself, but a drop takes all that say they are its indexes, and whoever
 * looks for a row by its unique key goes where the table says. So both must be the same, and an
 * index's definition what each DICT would have made of its table's. A table in a step.
 */
#include <string.h>
#include "blocks/dbdict/dict_state.h"
#include "values/table_index.h"
#include "values/table_version.h"

#define NUMBERS_STEP 256u /* Looked at for the next table. */

static struct table_def *decode(const struct section *words, void *memory)
{
    struct table_def *def;
    uint32_t error =
        table_def_decode(words->words, words->size, memory, table_def_size_max(), &def);
    ndbrequire(error == 0); /* It was checked when it was kept. */
    return def;
}

static bool same(const struct section *a, const struct section *b)
{
    return a->size == b->size && memcmp(a->words, b->words, (size_t)a->size * 4u) == 0;
}

/* Its fragments are where the table's are. No transaction needs the master's memory yet. */
static bool same_places(struct dict *dict, const struct dict_table *index, uint32_t base_id)
{
    struct section sections[2];
    dict_store_read(dict, index, sections);
    struct section kept = {dict->master.words, sections[1].size};
    memcpy(dict->master.words, sections[1].words, (size_t)kept.size * 4u);
    dict_store_read(dict, &dict->table[base_id], sections);
    return same(&kept, &sections[1]);
}

/* The table that the index of this number is said to be is there, and is what it is to be. */
static bool index_fits(struct dict *dict, const struct table_def *base, uint32_t number)
{
    struct table_index index;
    struct table_def *made;
    struct section sections[2];
    ndbrequire(table_def_unique(base, number, &index));
    const struct dict_table *table = dict_table_at(dict, index.table_id);
    if (table == NULL || table->base_id != base->table_id) return false;
    if (table_def_of_unique(base, number, dict->local.index_memory, DICT_INDEX_DEF_BYTES, &made) !=
        0)
        return false;
    dict_store_read(dict, table, sections);
    const struct table_def *own = decode(&sections[0], dict->master.def_memory);
    if (table_version_major(own->base_version) != table_version_major(base->version)) return false;
    made->base_version = own->base_version; /* The table may have been altered since. */
    struct section words = {dict->master.words,
                            table_def_encode(made, dict->master.words, DICT_WORDS_MAX)};
    return same(&words, &sections[0]) && same_places(dict, table, base->table_id);
}

static bool names(const struct table_def *base, uint32_t table_id)
{
    struct table_index index;
    for (uint32_t i = 0; table_def_unique(base, i, &index); i++) {
        if (index.table_id == table_id) return true;
    }
    return false;
}

static bool table_fits(struct dict *dict, uint32_t table_id)
{
    const struct dict_table *table = &dict->table[table_id];
    const struct dict_table *base =
        table->base_id == 0 ? table : dict_table_at(dict, table->base_id);
    struct section sections[2];
    if (base == NULL) return false;
    dict_store_read(dict, base, sections);
    const struct table_def *def = decode(&sections[0], dict->local.def_memory);
    if (base != table) {
        jam();
        return names(def, table_id);
    }
    for (uint32_t i = 0; i < def->unique_count; i++) {
        jam();
        if (!index_fits(dict, def, i)) return false;
    }
    return true;
}

static void ended(struct dict *dict, uint32_t wrong_id)
{
    jam_data(wrong_id);
    if (dict->restart.state == RESTART_CHECKING)
        dict_restart_checked(dict, wrong_id);
    else
        dict_file_checked(dict, wrong_id);
}

void dict_group_step(struct dict *dict)
{
    struct dict_group *group = &dict->group;
    struct continueb work = {.work = DICT_WORK_GROUPS};
    for (uint32_t i = 0; i < NUMBERS_STEP && group->table_id < dict->table_count; i++) {
        uint32_t id = group->table_id++;
        if (dict_table_at(dict, id) == NULL) continue;
        if (!table_fits(dict, id)) {
            ended(dict, id);
            return;
        }
        break;
    }
    if (group->table_id >= dict->table_count)
        ended(dict, 0);
    else
        sig_send(&dict->block, dict->block.ref, GSN_CONTINUEB, PRIO_B, &work);
}

void dict_group_check(struct dict *dict)
{
    dict->group.table_id = 1;
    dict_group_step(dict);
}
