/* check_unique.c -- when all is quiet: each unique index has an entry of each row, and no others.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "blocks/dblqh/key/lqh_op.h"
#include "tests/sim/place.h"
#include "values/table_index.h"

/* What rows say of an index, and what its entries do: sums over all of them, in any order. */
struct sums {
    uint64_t count;
    uint64_t hash;
};

static const struct table_def *key_def_of(const struct lqh_table *table)
{
    return (const struct table_def *)(const void *)table->key_def;
}

static void add(struct sums *sums, uint64_t unique, uint64_t row)
{
    uint64_t seed = unique ^ row * 0x9E3779B97F4A7C15u;
    sums->count++;
    sums->hash += rng_splitmix(&seed);
}

struct index_check {
    const struct table_def *index_key; /* Key of the index's table. */
    const struct table_def *base_key;
    uint32_t number;
    struct sums rows;
    struct sums entries;
};

static void visit_row(void *context, const struct place *place, uint32_t row)
{
    struct index_check *check = context;
    struct tup_read read = {.frag = place->frag, .row = row};
    uint32_t unique[LQH_KEY_WORDS_MAX];
    uint32_t key[LQH_KEY_WORDS_MAX];
    uint32_t unique_words = tup_unique_key(place->tup, &read, check->number, unique);
    uint32_t key_words = tup_read_key(place->tup, &read, key, LQH_KEY_WORDS_MAX);
    if (unique_words == 0) return;
    add(&check->rows, key_hash(check->index_key, unique, unique_words),
        key_hash(check->base_key, key, key_words));
}

static void visit_entry(void *context, const struct place *place, uint32_t row)
{
    struct index_check *check = context;
    uint32_t column = attr_header(check->index_key->key_count, 0);
    struct tup_read read = {.frag = place->frag, .row = row, .attr = &column, .attr_words = 1};
    uint32_t pair[LQH_KEY_WORDS_MAX + 2];
    uint32_t base[LQH_KEY_WORDS_MAX];
    uint32_t key[LQH_KEY_WORDS_MAX];
    uint32_t words = 0;
    uint32_t key_words = tup_read_key(place->tup, &read, key, LQH_KEY_WORDS_MAX);
    if (tup_read(place->tup, &read, pair, LQH_KEY_WORDS_MAX + 2, &words) != 0) return;
    uint32_t size = attr_size(pair[0]) - 2u;
    memcpy(base, (const uint8_t *)(pair + 1) + 2, size);
    add(&check->entries, key_hash(check->index_key, key, key_words),
        key_hash(check->base_key, base, size / 4u));
}

void uniques_note(struct run *run, uint32_t table, const struct table_def *def)
{
    run->base_id[table] = def->table_id;
}

/* Which one it is among those that this node fires for now. */
static bool number_of(const struct place *base, uint32_t index_id, uint32_t *number)
{
    uint32_t id;
    for (*number = 0; *number < tup_unique_count(base->frag); (*number)++) {
        if (tup_unique_fires_of(base->frag, *number, &id) == UNIQUE_FIRES_ALL && id == index_id)
            return true;
    }
    return false;
}

static void check_index(struct run *run, uint32_t base_id, uint32_t index_id)
{
    struct place base_place;
    struct place index_place;
    uint32_t number;
    if (!place_find(run, base_id, 0, &base_place)) return;
    if (!number_of(&base_place, index_id, &number)) {
        run_fail(run, SIM_CORRECTNESS, "nobody fires for unique index %u of table %u", index_id,
                 base_id);
        return;
    }
    if (!place_find(run, index_id, 0, &index_place)) {
        run_fail(run, SIM_CORRECTNESS, "unique index %u of table %u has no table", index_id,
                 base_id);
        return;
    }
    struct index_check check = {.index_key = key_def_of(index_place.table),
                                .base_key = key_def_of(base_place.table),
                                .number = number};
    place_visit_table(run, base_id, visit_row, &check);
    place_visit_table(run, index_id, visit_entry, &check);
    run->figures.entries += check.entries.count;
    if (check.rows.count == check.entries.count && check.rows.hash == check.entries.hash) return;
    run_fail(run, SIM_CORRECTNESS,
             "unique index %u of table %u: %llu rows should be in it (%016llx), it has %llu "
             "entries (%016llx)",
             index_id, base_id, (unsigned long long)check.rows.count,
             (unsigned long long)check.rows.hash, (unsigned long long)check.entries.count,
             (unsigned long long)check.entries.hash);
}

/* Those that the table has from the beginning: u_fs may have been dropped (work_unique.c). */
static void check_first_ones(struct run *run, uint32_t table, const struct table_def *def)
{
    enum unique_drop drop = run->model.unique_drop[table];
    uint32_t uniques = row_uniques(run, table);
    uint32_t number;
    bool there = table_def_unique_find(def, "u_fs", 4, &number);
    if (uniques > 0 && (there ? drop == UNIQUE_DROP_TOLD : drop == UNIQUE_DROP_NEVER))
        run_fail(run, SIM_CORRECTNESS, "unique index u_fs of table %u is %s", table,
                 there ? "still there" : "lost");
    if (uniques > UNIQUE_VALUE && !table_def_unique_find(def, "u_v", 3, &number))
        run_fail(run, SIM_CORRECTNESS, "unique index u_v of table %u is lost", table);
}

/* I-SIM-10. Keys of different rows differ because each is the primary key of an entry. */
void check_uniques(struct run *run)
{
    static uint8_t memory[1u << 20] __attribute__((aligned(8)));
    for (uint32_t table = 0; table < run->table_count; table++) {
        struct place base;
        struct table_index index;
        uint32_t base_id = run->base_id[table];
        const struct table_def *def = place_definition(run, base_id, memory, sizeof memory);
        if (def == NULL) continue;
        check_first_ones(run, table, def);
        for (uint32_t i = 0; table_def_unique(def, i, &index); i++)
            check_index(run, base_id, index.table_id);
        if (place_find(run, base_id, 0, &base) && tup_unique_count(base.frag) != def->unique_count)
            run_fail(run, SIM_CORRECTNESS, "table %u has %u unique indexes, a node fires for %u",
                     table, def->unique_count, tup_unique_count(base.frag));
    }
}
