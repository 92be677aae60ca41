/* test_tup_restore.c -- changes as the redo log sees them, replayed over a fuzzy picture of the
 * rows: equal afterwards. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tup_fixture.h"

#define KEYS    120u
#define ROUNDS  400u
#define OPS     600u
#define ROW_MAX 512u

struct log_entry {
    enum tup_change_kind kind;
    uint32_t row;
    uint32_t gci;
    uint32_t words;
    uint32_t pairs[96];
};

static struct rows_world from;
static struct rows_world to;
static struct log_entry entries[OPS];
static uint32_t entry_count;
static struct rng rng;

/* k Char key of a collation that takes 'a' and 'A' for equal, a Int null, v Varbinary default, w
 * Varbinary null. */
static struct table_def *def_here(void)
{
    static const uint8_t default_v[] = {2, 'x', 'y'};
    struct table_def *def = def_start();
    column_add(def, "a", (struct column_format){.type = COLUMN_INT, .length = 1}, COLUMN_NULLABLE,
               NULL, 0);
    const struct column_format key = {
        .type = COLUMN_CHAR, .collation = COLLATION_UTF8MB4_GENERAL_CI, .length = 16};
    column_add(def, "k", key, COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "v", (struct column_format){.type = COLUMN_VARBINARY, .length = 10}, 0,
               default_v, 3);
    column_add(def, "w", (struct column_format){.type = COLUMN_VARBINARY, .length = 200},
               COLUMN_NULLABLE, NULL, 0);
    index_add(def, "aw", (const uint16_t[]){0, 3}, 2);
    index_add(def, "kv", (const uint16_t[]){1, 2}, 2);
    return def;
}

static uint32_t make_key(uint32_t number, uint32_t *key)
{
    uint8_t text[16];
    memset(text, ' ', sizeof text);
    text[0] = (uint8_t)((rng_below(&rng, 2) != 0 ? 'a' : 'A') + number % 20u);
    text[1] = (uint8_t)('a' + number / 20u);
    memcpy(key, text, 16);
    return 4;
}

static uint32_t make_pairs(uint32_t *out)
{
    uint32_t at = 0;
    if (rng_below(&rng, 2) != 0) {
        bool null = rng_below(&rng, 3) == 0;
        out[at++] = attr_header(0, null ? 0 : 4);
        if (!null) out[at++] = (uint32_t)rng_below(&rng, 3);
    }
    if (rng_below(&rng, 3) == 0) {
        out[at++] = attr_header(2, 3);
        out[at++] = 2u | (uint32_t)rng_below(&rng, 2) << 8;
    }
    if (rng_below(&rng, 2) != 0) {
        uint32_t size = (uint32_t)rng_below(&rng, 4) == 0 ? 0 : 1u + (uint32_t)rng_below(&rng, 150);
        out[at++] = attr_header(3, size);
        if (size > 0) {
            memset(out + at, (int)rng_below(&rng, 256), words_of(size) * 4u);
            uint8_t *bytes = (uint8_t *)(out + at);
            bytes[0] = (uint8_t)(size - 1u);
            if (size % 4u != 0) memset(bytes + size, 0, 4u - size % 4u);
            at += words_of(size);
        }
    }
    return at;
}

/* One to three operations on one key in one transaction. */
static void transaction(uint32_t gci)
{
    uint32_t key[4];
    uint32_t attr[96];
    uint32_t locks[3];
    uint32_t changes[3];
    uint32_t count = 0;
    uint32_t number = (uint32_t)rng_below(&rng, KEYS);
    for (uint32_t i = 1u + (uint32_t)rng_below(&rng, 3); i > 0; i--) {
        struct tup_changed changed;
        uint32_t lock = REF_NONE;
        uint32_t words = make_key(number, key);
        struct tup_change_req req = request(&from, 1, key, words, attr, make_pairs(attr));
        if (req.row != ROW_NONE)
            assert_int_equal(lock_row(&from, .trans = 1, .op = 1, .row = req.row,
                                      .mode = LOCK_EXCLUSIVE, .nowait = true, .lock = &lock),
                             0);
        uint32_t error = rng_below(&rng, 3) == 0 ? tup_delete(from.tup, &req, &changed)
                                                 : tup_write(from.tup, &req, &changed);
        if (error != 0) {
            assert_int_equal(error, ERR_ROW_NOT_FOUND);
            if (lock != REF_NONE) acc_unlock(from.acc, lock);
            continue;
        }
        changes[count] = changed.change;
        locks[count++] = lock != REF_NONE ? lock : changed.lock;
    }
    bool abort_it = rng_below(&rng, 8) == 0;
    for (uint32_t i = 0; i < count; i++) {
        struct tup_change_pairs pairs;
        uint32_t out[TUP_ROW_WORDS_MAX];
        enum tup_change_kind kind =
            tup_change_pairs(from.tup, changes[i], out, TUP_ROW_WORDS_MAX, &pairs);
        if (abort_it) {
            tup_abort(from.tup, changes[i]);
        } else {
            if (kind != TUP_NOTHING) {
                struct log_entry *entry = &entries[entry_count++];
                *entry = (struct log_entry){
                    .kind = kind, .row = pairs.row, .gci = gci, .words = pairs.words};
                assert_true(pairs.words <= tup_change_words_max(from.frag, 4, 0) + 96u);
                memcpy(entry->pairs, out, pairs.words * 4u);
            }
            tup_commit(from.tup, changes[i], gci);
        }
        acc_unlock(from.acc, locks[i]);
    }
}

static uint32_t read_row(struct rows_world *world, uint32_t row, uint32_t *out)
{
    static const uint32_t all = (uint32_t)ATTR_READ_ALL << 16;
    struct tup_read read = {.frag = world->frag, .row = row, .attr = &all, .attr_words = 1};
    uint32_t words;
    if (!tup_row_alive(world->tup, world->frag, row, 0, 0)) return 0;
    assert_int_equal(tup_read(world->tup, &read, out + 1, 95, &words), 0);
    out[0] = tup_row_gci(world->tup, world->frag, row);
    return words + 1u;
}

static void copy_row(uint32_t row)
{
    uint32_t out[96];
    uint32_t words = read_row(&from, row, out);
    if (words == 0) return;
    struct tup_restore_req req = {.frag = to.frag,
                                  .key_def = to.def,
                                  .row = row,
                                  .gci = out[0],
                                  .attr = out + 1,
                                  .attr_words = words - 1u};
    assert_int_equal(tup_restore_put(to.tup, &req), 0);
}

static void replay(const struct log_entry *entry)
{
    struct tup_restore_req req = {.frag = to.frag,
                                  .key_def = to.def,
                                  .row = entry->row,
                                  .gci = entry->gci,
                                  .attr = entry->pairs,
                                  .attr_words = entry->words};
    if (entry->kind == TUP_INSERTED)
        assert_int_equal(tup_restore_put(to.tup, &req), 0);
    else if (entry->kind == TUP_UPDATED)
        assert_int_equal(tup_restore_update(to.tup, &req), 0);
    else
        assert_int_equal(tup_restore_delete(to.tup, &req), 0);
}

static void compare(void)
{
    struct tup_frag_figures a;
    struct tup_frag_figures b;
    uint32_t key[4];
    for (uint32_t row = 0; row < ROW_MAX; row++) {
        uint32_t left[96];
        uint32_t right[96];
        uint32_t words = read_row(&from, row, left);
        assert_int_equal(words, read_row(&to, row, right));
        assert_memory_equal(left, right, words * 4u);
    }
    for (uint32_t number = 0; number < KEYS; number++) {
        uint32_t words = make_key(number, key);
        assert_int_equal(world_find(&from, key, words), world_find(&to, key, words));
    }
    tup_frag_figures_get(from.frag, &a);
    tup_frag_figures_get(to.frag, &b);
    assert_int_equal(a.rows, b.rows);
    assert_int_equal(a.var_bytes, b.var_bytes);
    world_check(&to);
}

static void test_replay_over_fuzzy_picture(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        rng_seed(&rng, round);
        world_start(&from, 512, 256);
        world_start(&to, 512, 256);
        world_table(&from, def_here());
        world_table(&to, def_here());
        uint32_t before = (uint32_t)rng_below(&rng, 100);
        for (uint32_t i = 0; i < before; i++)
            transaction(1);
        entry_count = 0; /* The picture begins here: what was before is in no log. */
        for (uint32_t row = 0, i = 0; i < OPS / 4u; i++) {
            transaction(2u + i);
            for (uint32_t n = (uint32_t)rng_below(&rng, 12); n > 0 && row < ROW_MAX; n--)
                copy_row(row++);
            if (i + 1u == OPS / 4u) {
                while (row < ROW_MAX)
                    copy_row(row++);
            }
        }
        for (uint32_t i = 0; i < entry_count; i++)
            replay(&entries[i]);
        compare();
        for (uint32_t i = 0; i < entry_count; i++)
            replay(&entries[i]); /* As after a crash in the middle of a restart. */
        compare();
        world_drop(&to);
        assert_int_equal(world_data_pages(&to), 0);
        world_stop(&from);
        world_stop(&to);
    }
}

static void test_nonsense_is_refused(void **state)
{
    (void)state;
    rng_seed(&rng, 1);
    world_start(&to, 512, 256);
    world_table(&to, def_here());
    for (uint32_t i = 0; i < 200000u; i++) {
        uint32_t attr[24];
        uint32_t words = 1u + (uint32_t)rng_below(&rng, 24);
        for (uint32_t at = 0; at < words; at++)
            attr[at] = rng_below(&rng, 2) != 0 ? attr_header((uint32_t)rng_below(&rng, 5),
                                                             (uint32_t)rng_below(&rng, 20))
                                               : (uint32_t)rng_below(&rng, UINT32_MAX);
        struct tup_restore_req req = {
            .frag = to.frag,
            .key_def = to.def,
            .gci = 1,
            .attr = attr,
            .attr_words = words,
            .row = (uint32_t)rng_below(&rng, 2) != 0 ? (uint32_t)rng_below(&rng, UINT32_MAX) : 3};
        tup_restore_update(to.tup, &req);
        tup_restore_put(to.tup, &req);
        if (i % 1000u == 0) tup_restore_delete(to.tup, &req);
    }
    world_check(&to);
    world_stop(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay_over_fuzzy_picture),
        cmocka_unit_test(test_nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
