/* test_lcp_rows.c -- chains of checkpoints taken while rows change, read back, the log replayed:
 * equal to the rows; also of a replica that has come back by a copy. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/tup_fixture.h"
#include "blocks/lcpwriter/lcpw_rows.h"
#include "blocks/lcpreader/lcpr_rows.h"

#define KEYS       900u
#define WIDE       1500u /* Bytes that make a row so large that there are many pages. */
#define NARROW     40u   /* Bytes with which there are some hundred rows in each page. */
#define ROUNDS     40u
#define LCPS       14u
#define FILE_MAX   (16u << 20)
#define ROW_BUFFER 1024u

struct log_entry {
    enum tup_change_kind kind;
    uint32_t row;
    uint32_t gci;
    uint32_t words;
    uint32_t *pairs;
};

/* The files of one state, as a control file names them. */
struct chain {
    uint32_t count;
    uint32_t seq;
    uint32_t start_gci;
    uint32_t pages;
    struct lcp_ctl_file file[LCP_FILES_MAX];
    uint8_t *bytes[LCP_FILES_MAX];
    uint32_t size[LCP_FILES_MAX];
};

/* A change that is neither committed nor aborted yet. */
struct held {
    bool open;
    uint32_t key;
    uint32_t change;
    uint32_t lock;
};

static struct rows_world live;
static uint32_t wide = WIDE;
static struct held held;
/* A replica that rows of `live` are being copied to: what is done to places that it has been told
 * of is done there too. */
static struct rows_world *copy;
static struct tup_copy_old old;
static struct tup_scan_position walk;
static bool walked;
static uint64_t deltas;
static uint64_t delta_rows;
static struct log_entry *entries;
static uint32_t entry_count;
static uint32_t entry_max;
static struct rng rng;
static uint32_t gci;
static struct chain chain;
static void *zip;
static void *unzip;
static uint32_t *raw_write;
static uint32_t *raw_read;
static uint8_t *out;
static uint8_t *part;

static void world_open(struct rows_world *world)
{
    world_start(world, 2048, 256);
    world->tup->checkpoints = true;
    struct table_def *def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "a", (struct column_format){.type = COLUMN_INT, .length = 1}, COLUMN_NULLABLE,
               NULL, 0);
    column_add(def, "b", (struct column_format){.type = COLUMN_BINARY, .length = wide}, 0, NULL, 0);
    column_add(def, "w", (struct column_format){.type = COLUMN_VARBINARY, .length = 200},
               COLUMN_NULLABLE, NULL, 0);
    index_add(def, "aw", (const uint16_t[]){1, 3}, 2);
    world_table(world, def);
}

static uint32_t make_pairs(uint32_t *to)
{
    uint32_t at = 0;
    to[at++] = attr_header(1, 4);
    to[at++] = (uint32_t)rng_below(&rng, 5);
    to[at++] = attr_header(2, wide);
    memset(to + at, (int)rng_below(&rng, 256), wide);
    at += wide / 4u;
    uint32_t size = rng_chance(&rng, 1, 3) ? 0 : 1u + (uint32_t)rng_below(&rng, 200);
    to[at++] = attr_header(3, size);
    if (size == 0) return at;
    memset(to + at, 0, words_of(size) * 4u);
    memset(to + at, (int)rng_below(&rng, 256), size);
    ((uint8_t *)(to + at))[0] = (uint8_t)(size - 1u);
    return at + words_of(size);
}

static void apply(struct rows_world *world, const struct log_entry *entry)
{
    struct tup_restore_req req = {.frag = world->frag,
                                  .key_def = world->def,
                                  .row = entry->row,
                                  .gci = entry->gci,
                                  .attr = entry->pairs,
                                  .attr_words = entry->words};
    if (entry->kind == TUP_INSERTED)
        assert_int_equal(tup_restore_put(world->tup, &req), 0);
    else if (entry->kind == TUP_UPDATED)
        assert_int_equal(tup_restore_update(world->tup, &req), 0);
    else
        assert_int_equal(tup_restore_delete(world->tup, &req), 0);
}

/* As LQH does it: nothing in a place that the walk has not told of; an old row with the key of an
 * inserted one goes first. */
static void copy_change(const struct log_entry *entry)
{
    const struct tup_scan_position at = {tup_row_page(live.frag, entry->row),
                                         tup_row_slot(live.frag, entry->row)};
    if (!tup_position_below(&at, &old.told)) return;
    if (entry->kind == TUP_INSERTED) {
        uint32_t row = world_find(copy, &entry->pairs[1], 1);
        if (row != ROW_NONE && row != entry->row) tup_copy_drop(copy->tup, &old, row);
    }
    apply(copy, entry);
}

static void log_change(uint32_t change)
{
    uint32_t pairs[TUP_ROW_WORDS_MAX];
    struct tup_change_pairs found;
    enum tup_change_kind kind =
        tup_change_pairs(live.tup, change, pairs, TUP_ROW_WORDS_MAX, &found);
    if (kind == TUP_NOTHING) return;
    if (entry_count == entry_max) {
        entry_max = entry_max == 0 ? 1024 : entry_max * 2u;
        entries = realloc(entries, entry_max * sizeof *entries);
        assert_non_null(entries);
    }
    struct log_entry *entry = &entries[entry_count++];
    *entry = (struct log_entry){.kind = kind,
                                .row = found.row,
                                .gci = gci,
                                .words = found.words,
                                .pairs = malloc(found.words * 4u + 4u)};
    memcpy(entry->pairs, pairs, found.words * 4u);
    if (copy != NULL) copy_change(entry);
}

static void log_forget(void)
{
    for (uint32_t i = 0; i < entry_count; i++)
        free(entries[i].pairs);
    entry_count = 0;
}

static struct held change_begin(uint32_t trans, uint32_t key, bool remove)
{
    uint32_t pairs[ROW_BUFFER];
    struct tup_changed changed;
    uint32_t lock = REF_NONE;
    struct tup_change_req req = request(&live, trans, &key, 1, pairs, make_pairs(pairs));
    if (req.row != ROW_NONE)
        assert_int_equal(lock_row(&live, .trans = trans, .op = 1, .row = req.row,
                                  .mode = LOCK_EXCLUSIVE, .nowait = true, .lock = &lock),
                         0);
    uint32_t error =
        remove ? tup_delete(live.tup, &req, &changed) : tup_write(live.tup, &req, &changed);
    if (error != 0) {
        assert_int_equal(error, ERR_ROW_NOT_FOUND);
        return (struct held){.open = false};
    }
    return (struct held){.open = true,
                         .key = key,
                         .change = changed.change,
                         .lock = lock != REF_NONE ? lock : changed.lock};
}

static void change_end(struct held *change, bool commit)
{
    if (!change->open) return;
    change->open = false;
    if (commit) {
        log_change(change->change);
        tup_commit(live.tup, change->change, gci);
    } else {
        tup_abort(live.tup, change->change);
    }
    acc_unlock(live.acc, change->lock);
}

static void change_key(uint32_t key, bool remove, bool commit)
{
    if (held.open && held.key == key) return;
    struct held change = change_begin(1, key, remove);
    change_end(&change, commit);
}

/* One change stays open over many others. */
static void hold_something(void)
{
    if (held.open)
        change_end(&held, rng_chance(&rng, 2, 3));
    else
        held = change_begin(2, (uint32_t)rng_below(&rng, KEYS), rng_chance(&rng, 1, 3));
}

/* Single changes, and now and then a run of keys is written or deleted, so that pages come and go.
 */
static void change_something(void)
{
    uint32_t key = (uint32_t)rng_below(&rng, KEYS);
    if (rng_chance(&rng, 1, 5)) gci++;
    if (rng_chance(&rng, 1, 10)) hold_something();
    if (rng_chance(&rng, 1, 25)) {
        bool remove = rng_chance(&rng, 1, 2);
        uint32_t run = (uint32_t)rng_below(&rng, 120);
        for (uint32_t i = 0; i < run; i++)
            change_key((key + i) % KEYS, remove, true);
        return;
    }
    change_key(key, rng_chance(&rng, 1, 3), !rng_chance(&rng, 1, 8));
}

static void chain_cut(uint32_t keep)
{
    uint32_t drop = chain.count - keep;
    for (uint32_t i = 0; i < drop; i++)
        free(chain.bytes[i]);
    memmove(chain.file, chain.file + drop, keep * sizeof chain.file[0]);
    memmove(chain.bytes, chain.bytes + drop, keep * sizeof chain.bytes[0]);
    memmove(chain.size, chain.size + drop, keep * sizeof chain.size[0]);
    chain.count = keep;
}

/* One batch of the walk. */
static void copy_batch(void)
{
    uint32_t budget = 1u + (uint32_t)rng_below(&rng, 200);
    uint32_t words[4096];
    uint32_t rows[64];
    uint32_t count = 0;
    struct tup_copy_swept swept;
    struct tup_copy_map map = {.gci = old.gci, .pages = tup_copy_pages(copy->frag), .words = words};
    bool end = false;
    change_end(&held, true); /* The walk would wait for its lock. */
    while (count < 64u) {
        uint32_t row = tup_copy_next(live.frag, &walk, &map, &budget, &end);
        if (row == ROW_NONE) break;
        rows[count++] = row;
        walk.slot++;
    }
    assert_int_equal(tup_copy_sweep(copy->tup, &old, &walk, words, map.used, &swept), 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pairs[TUP_ROW_WORDS_MAX];
        struct tup_restore_req req = {.frag = copy->frag, .key_def = copy->def, .row = rows[i]};
        req.attr = pairs;
        req.attr_words = tup_copy_row(live.frag, rows[i], pairs, TUP_ROW_WORDS_MAX, &req.gci);
        assert_int_not_equal(req.attr_words, 0);
        assert_int_equal(tup_copy_put(copy->tup, &req, &old), 0);
    }
    if (!end) return;
    walked = true;
    old.told.page = UINT32_MAX; /* All that comes is done there too. */
}

/* A checkpoint of `world` with changes between its steps. False: given up in the middle, as after a
 * crash or a full disk. */
static bool checkpoint(struct rows_world *world, bool full)
{
    struct lcp_writer writer = {.zip = zip, .raw = raw_write, .out = out};
    struct lcpw_rows rows;
    full = full || chain.count == 0;
    struct lcp_data_head head = {.seq = chain.seq + 1u,
                                 .start_gci = gci,
                                 .which = full ? TUP_CHECKPOINT_ALL
                                               : (chain.seq + 1u) % TUP_CHECKPOINT_CLASSES};
    lcp_writer_begin(&writer, &head);
    lcpw_rows_begin(&rows, world->frag, head.which);
    bool copying = copy != NULL && rng_chance(&rng, 1, 2);
    bool give_up = rng_chance(&rng, 1, 6);
    for (;;) {
        enum lcpw_rows_step step = lcpw_rows_step(world->tup, world->frag, &rows, &writer,
                                                  1u + (uint32_t)rng_below(&rng, 60));
        assert_int_not_equal(step, LCPW_ROWS_DAMAGED);
        if (step == LCPW_ROWS_FULL) lcp_writer_flush(&writer);
        if (step == LCPW_ROWS_END) break;
        if (give_up && rng_chance(&rng, 1, 10)) return false;
        for (uint32_t n = (uint32_t)rng_below(&rng, 4); n > 0; n--)
            change_something();
        if (copying && !walked && rng_chance(&rng, 1, 4)) copy_batch();
        assert_true(writer.out_size < FILE_MAX - LCP_OUT_ROOM);
    }
    lcp_writer_flush(&writer);
    lcp_writer_end(&writer);
    if (full)
        chain_cut(0);
    else if (chain.count == LCP_FILES_MAX)
        chain_cut(LCP_FILES_MAX - 1u);
    deltas += writer.deltas;
    delta_rows += rows.delta_rows;
    chain.file[chain.count] = lcp_writer_result(&writer, &head);
    chain.bytes[chain.count] = malloc(writer.out_size);
    memcpy(chain.bytes[chain.count], out, writer.out_size);
    chain.size[chain.count++] = writer.out_size;
    chain.seq++;
    chain.start_gci = head.start_gci;
    chain.pages = rows.at.pages;
    return true;
}

static void restore_file(const struct rows_world *world, struct lcpr_rows *rows, uint32_t index)
{
    struct lcp_reader reader = {
        .unzip = unzip, .part = part, .raw = raw_read, .expect = &chain.file[index]};
    const uint8_t *from = chain.bytes[index];
    uint32_t left = chain.size[index];
    enum lcp_read_event event;
    lcp_reader_begin(&reader);
    while ((event = lcp_reader_next(&reader, &from, &left)) == LCP_READ_ROWS) {
        bool done = false;
        while (!done)
            assert_int_equal(lcpr_rows_step(rows, &reader.cursor, 7, &done), LCP_GOOD);
        world_check(world);
    }
    assert_int_equal(lcpr_rows_file_end(rows), LCP_GOOD);
    assert_int_equal(event, LCP_READ_END);
    assert_int_equal(lcp_reader_next(&reader, &from, &left), LCP_READ_MORE);
    assert_int_equal(lcp_reader_finish(&reader), LCP_GOOD);
}

static void replay(struct rows_world *world)
{
    for (uint32_t i = 0; i < entry_count; i++) {
        if (entries[i].gci >= chain.start_gci) apply(world, &entries[i]);
    }
}

static uint32_t read_row(struct rows_world *world, uint32_t row, uint32_t *to)
{
    static const uint32_t all = (uint32_t)ATTR_READ_ALL << 16;
    struct tup_read read = {.frag = world->frag, .row = row, .attr = &all, .attr_words = 1};
    uint32_t words;
    if (!tup_row_alive(world->tup, world->frag, row, 0, 0)) return 0;
    assert_int_equal(tup_read(world->tup, &read, to + 1, ROW_BUFFER - 1u, &words), 0);
    to[0] = tup_row_gci(world->tup, world->frag, row);
    return words + 1u;
}

static void compare(struct rows_world *world)
{
    uint32_t left[ROW_BUFFER];
    uint32_t right[ROW_BUFFER];
    struct tup_frag_figures a;
    struct tup_frag_figures b;
    for (uint32_t key = 0; key < KEYS; key++) {
        uint32_t row = world_find(&live, &key, 1);
        assert_int_equal(row, world_find(world, &key, 1));
        if (row == ROW_NONE) continue;
        uint32_t words = read_row(&live, row, left);
        assert_int_equal(words, read_row(world, row, right));
        assert_memory_equal(left, right, words * 4u);
    }
    tup_frag_figures_get(live.frag, &a);
    tup_frag_figures_get(world->frag, &b);
    assert_int_equal(a.rows, b.rows);
    assert_int_equal(a.fixed_pages, b.fixed_pages);
    assert_int_equal(a.var_bytes, b.var_bytes);
    world_check(world);
}

/* The rows come back from the chain and the log. */
static struct rows_world read_back(void)
{
    struct rows_world again;
    world_open(&again);
    struct lcpr_rows rows = {
        .tup = again.tup, .frag = again.frag, .key_def = again.def, .pages = chain.pages};
    change_end(&held, true);
    for (uint32_t i = chain.count; i-- > 0;)
        restore_file(&again, &rows, i);
    assert_int_equal(lcpr_rows_end(&rows), LCP_GOOD);
    replay(&again);
    compare(&again);
    return again;
}

/* The node goes on with what came back. */
static void restart(void)
{
    struct rows_world again = read_back();
    world_stop(&live);
    live = again;
}

/*
 * A replica has been away: it comes back with what the chain and the log say of it, rows that have
 * changed meanwhile are copied to it, in any order of their GCIs, beside changes and beside rounds
 * of its own that do not count; then comes the one that does. The node goes on as that replica.
 */
static void come_back(void)
{
    struct rows_world again = read_back();
    bool full = false;
    walk = (struct tup_scan_position){0};
    walked = false;
    old = (struct tup_copy_old){.frag = again.frag, .key_def = again.def, .gci = gci++};
    for (uint32_t n = (uint32_t)rng_below(&rng, 300); n > 0; n--)
        change_something();
    change_end(&held, true);
    copy = &again;
    while (!walked) {
        copy_batch();
        for (uint32_t n = (uint32_t)rng_below(&rng, 4); n > 0; n--)
            change_something();
        for (uint32_t n = (uint32_t)rng_below(&rng, 4); n > 1; n--)
            full = !checkpoint(&again, full);
    }
    tup_copy_end(again.frag, tup_checkpoint_gci(live.frag));
    change_end(&held, true);
    compare(&again);
    gci++;
    while (!checkpoint(&again, full))
        full = true;
    change_end(&held, true);
    compare(&again);
    copy = NULL;
    world_stop(&live);
    live = again;
}

static void test_chains(void **state)
{
    (void)state;
    uint32_t restarts = 0;
    uint32_t returns = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool full = false;
        rng_seed(&rng, round);
        wide = round % 2u == 0 ? WIDE : NARROW;
        world_open(&live);
        gci = 1;
        for (uint32_t n = (uint32_t)rng_below(&rng, 1500); n > 0; n--)
            change_something();
        for (uint32_t i = 0; i < LCPS; i++) {
            bool good = checkpoint(&live, full);
            full = !good; /* A node that lives on has lost the marks. */
            if (rng_chance(&rng, 1, 3)) {
                restart();
                full = false;
                restarts++;
            } else if (rng_chance(&rng, 1, 4)) {
                come_back();
                full = false;
                returns++;
            }
            struct rows_world again = read_back();
            world_stop(&again);
            for (uint32_t n = rng_chance(&rng, 1, 3) ? 400 : 20; n > 0; n--)
                change_something();
        }
        restart();
        world_drop(&live);
        assert_int_equal(world_data_pages(&live), 0);
        world_stop(&live);
        log_forget();
        chain_cut(0);
        chain = (struct chain){.count = 0};
    }
    assert_true(restarts > ROUNDS);
    assert_true(returns > ROUNDS);
    assert_true(deltas > 10u * ROUNDS);
    assert_true(delta_rows > 10u * ROUNDS);
}

/* More pages than have their marks in the fragment: none is forgotten, an unchanged table writes an
 * eighth. */
static void test_many_pages(void **state)
{
    (void)state;
    rng_seed(&rng, 77);
    wide = WIDE;
    world_open(&live);
    gci = 1;
    for (uint32_t key = 0; key < 4000; key++) {
        change_key(key, false, true);
        log_forget();
    }
    struct tup_checkpoint at;
    uint32_t pages = 0;
    tup_checkpoint_begin(live.frag, &at, TUP_CHECKPOINT_ALL);
    assert_true(at.pages > 2u * MARKS_INLINE - 70u);
    for (enum tup_checkpoint_step step;
         (step = tup_checkpoint_page(live.tup, live.frag, &at)) != TUP_CHECKPOINT_END;)
        pages += step == TUP_CHECKPOINT_PAGE;
    assert_int_equal(pages, at.pages);
    uint32_t key = 3990;
    change_key(key, false, true);
    uint32_t changed = tup_row_page(live.frag, world_find(&live, &key, 1));
    bool seen = false;
    uint32_t all = at.pages;
    pages = 0;
    tup_checkpoint_begin(live.frag, &at, (changed + 1u) % TUP_CHECKPOINT_CLASSES);
    for (enum tup_checkpoint_step step;
         (step = tup_checkpoint_page(live.tup, live.frag, &at)) != TUP_CHECKPOINT_END;) {
        if (step != TUP_CHECKPOINT_PAGE) continue;
        pages++;
        seen = seen || at.page == changed;
    }
    assert_true(seen);
    assert_in_range(pages, all / 8u, all / 8u + 2u);
    assert_int_equal(tup_checkpoint_gci(live.frag), 1);
    world_drop(&live);
    assert_int_equal(world_data_pages(&live), 0);
    world_stop(&live);
    log_forget();
}

static int setup(void **state)
{
    (void)state;
    raw_write = malloc(LCP_RAW_MAX);
    raw_read = malloc(LCP_RAW_MAX);
    out = malloc(FILE_MAX);
    part = malloc(LCP_PART_MAX);
    void *zip_memory = malloc(lcp_zip_size());
    void *unzip_memory = malloc(lcp_unzip_size());
    zip = lcp_zip_init(zip_memory, lcp_zip_size());
    unzip = lcp_unzip_init(unzip_memory, lcp_unzip_size());
    assert_true(zip == zip_memory && unzip == unzip_memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(raw_write);
    free(raw_read);
    free(out);
    free(part);
    free(zip);
    free(unzip);
    free(entries);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chains),
                                       cmocka_unit_test(test_many_pages)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
