/* test_lcp_delta.c -- delta pages by hand: what a checkpoint writes of a page, and which files
 * LCPREADER's rules do not allow. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <xxhash.h>
#include "tests/unit/support/tup_fixture.h"
#include "blocks/lcpwriter/lcpw_rows.h"
#include "blocks/lcpreader/lcpr_rows.h"

#define OUT_MAX (1u << 20)
#define ROWS    200u

struct file {
    uint8_t *bytes;
    uint32_t size;
    struct lcp_ctl_file result;
};

/* A page as a test wants it: rows and kept slots by bits of the first 64 slots. */
struct page {
    uint32_t number;
    uint64_t rows;
    bool delta;
    uint64_t kept;
};

static struct rows_world world;
static struct lcp_writer writer;
static struct lcp_reader reader;
static uint8_t *out;
static void *zip_memory;
static void *unzip_memory;

static void world_open(void)
{
    world_start(&world, 256, 64);
    world.tup->checkpoints = true;
    struct table_def *def = def_start();
    column_add(def, "k", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1},
               COLUMN_PRIMARY_KEY, NULL, 0);
    column_add(def, "v", (struct column_format){.type = COLUMN_UNSIGNED, .length = 1}, 0, NULL, 0);
    column_add(def, "b", (struct column_format){.type = COLUMN_BINARY, .length = 32},
               COLUMN_NULLABLE, NULL, 0);
    world_table(&world, def);
}

static void change(uint32_t key, bool remove, uint32_t gci)
{
    uint32_t pairs[3] = {attr_header(1, 4), gci};
    struct tup_changed changed;
    uint32_t lock = REF_NONE;
    struct tup_change_req req = request(&world, 1, &key, 1, pairs, 2);
    if (req.row != ROW_NONE)
        assert_int_equal(lock_row(&world, .trans = 1, .op = 1, .row = req.row,
                                  .mode = LOCK_EXCLUSIVE, .nowait = true, .lock = &lock),
                         0);
    assert_int_equal(
        remove ? tup_delete(world.tup, &req, &changed) : tup_write(world.tup, &req, &changed), 0);
    tup_commit(world.tup, changed.change, gci);
    acc_unlock(world.acc, lock != REF_NONE ? lock : changed.lock);
}

/* --- Writing. --- */

static struct file file_end(struct lcp_data_head *head)
{
    lcp_writer_flush(&writer);
    lcp_writer_end(&writer);
    struct file file = {.bytes = malloc(writer.out_size), .size = writer.out_size};
    memcpy(file.bytes, out, writer.out_size);
    file.result = lcp_writer_result(&writer, head);
    return file;
}

static struct file checkpoint(uint32_t seq, uint32_t which)
{
    struct lcp_data_head head = {.seq = seq, .which = which};
    struct lcpw_rows rows;
    enum lcpw_rows_step step;
    lcp_writer_begin(&writer, &head);
    lcpw_rows_begin(&rows, world.frag, which);
    while ((step = lcpw_rows_step(world.tup, world.frag, &rows, &writer, 5)) != LCPW_ROWS_END) {
        if (step == LCPW_ROWS_FULL) lcp_writer_flush(&writer);
    }
    return file_end(&head);
}

static struct file by_hand(uint32_t seq, const struct page *pages, uint32_t count)
{
    struct lcp_data_head head = {.seq = seq};
    lcp_writer_begin(&writer, &head);
    for (uint32_t i = 0; i < count; i++) {
        const struct page *page = &pages[i];
        lcp_writer_page(&writer, page->number, page->delta);
        for (uint32_t slot = 0; slot < 64u; slot++) {
            if ((page->rows >> slot & 1u) == 0) continue;
            uint32_t *room = lcp_writer_room(&writer);
            room[0] = attr_header(0, 4);
            room[1] = page->number * 64u + slot; /* The key. */
            room[2] = attr_header(1, 4);
            room[3] = seq;
            room[4] = attr_header(2, 0);
            lcp_writer_row(&writer, slot, seq, 5);
        }
        const uint32_t kept[2] = {(uint32_t)page->kept, (uint32_t)(page->kept >> 32)};
        if (page->delta) lcp_writer_kept(&writer, kept, 2);
    }
    return file_end(&head);
}

/* --- Reading. --- */

/* Takes the file's rows; frees it. */
static enum lcp_fault file_read(struct lcpr_rows *rows, struct file *file)
{
    const uint8_t *from = file->bytes;
    uint32_t left = file->size;
    enum lcp_fault fault = LCP_GOOD;
    enum lcp_read_event event = LCP_READ_MORE;
    reader.expect = &file->result;
    lcp_reader_begin(&reader);
    while (fault == LCP_GOOD && (event = lcp_reader_next(&reader, &from, &left)) == LCP_READ_ROWS) {
        bool done = false;
        while (!done && fault == LCP_GOOD)
            fault = lcpr_rows_step(rows, &reader.cursor, 3, &done);
        world_check(&world);
    }
    if (fault == LCP_GOOD && event == LCP_READ_FAULT) fault = reader.fault;
    if (fault == LCP_GOOD) fault = lcpr_rows_file_end(rows);
    free(file->bytes);
    return fault;
}

/* Newest first; what the last one gave that was read, or the end. */
static enum lcp_fault files_read(struct file *files, uint32_t count, uint32_t pages)
{
    struct lcpr_rows rows = {
        .tup = world.tup, .frag = world.frag, .key_def = world.def, .pages = pages};
    enum lcp_fault fault = LCP_GOOD;
    for (uint32_t i = 0; i < count; i++) {
        if (fault == LCP_GOOD)
            fault = file_read(&rows, &files[i]);
        else
            free(files[i].bytes);
    }
    return fault == LCP_GOOD ? lcpr_rows_end(&rows) : fault;
}

static enum lcp_fault hand_read(const struct page *pages, uint32_t count)
{
    struct file files[8];
    world_open();
    for (uint32_t i = 0; i < count; i++)
        files[i] = by_hand(9u - i, &pages[i], 1);
    return files_read(files, count, 4);
}

static uint64_t rows_now(void)
{
    struct tup_frag_figures figures;
    tup_frag_figures_get(world.frag, &figures);
    return figures.rows;
}

static uint32_t gci_of(uint32_t page, uint32_t slot)
{
    return tup_row_gci(world.tup, world.frag, tup_row_id(world.frag, page, slot));
}

static void world_close(void)
{
    world_check(&world);
    world_stop(&world);
}

/* --- Tests. --- */

/* A page of which one row is changed costs one row; a change of nearly all, the page. */
static void test_what_is_written(void **state)
{
    (void)state;
    world_open();
    for (uint32_t key = 0; key < ROWS; key++)
        change(key, false, 10);
    struct file first = checkpoint(1, TUP_CHECKPOINT_ALL);
    assert_int_equal(first.result.deltas, 0);
    assert_int_equal(first.result.rows_lo, ROWS);
    change(7, false, 11);
    change(8, true, 11);
    struct file second = checkpoint(2, 2);
    assert_int_equal(second.result.pages, 1);
    assert_int_equal(second.result.deltas, 1);
    assert_int_equal(second.result.rows_lo, 1);
    for (uint32_t key = 0; key < ROWS - 10u; key++)
        change(key, false, 12);
    struct file third = checkpoint(3, 3);
    assert_int_equal(third.result.deltas, 0);
    assert_int_equal(third.result.rows_lo, ROWS);
    struct file eighth = checkpoint(8, 0); /* Its class, though nothing has changed. */
    assert_int_equal(eighth.result.pages, 1);
    assert_int_equal(eighth.result.deltas, 0);
    for (uint32_t key = 0; key < ROWS; key++)
        change(key, key != 5, 13);
    struct file last = checkpoint(9, 1);
    assert_int_equal(last.result.deltas, 0);
    assert_int_equal(last.result.rows_lo, 1);
    world_close();
    world_open();
    struct file files[] = {second, first};
    assert_int_equal(files_read(files, 2, 1), LCP_GOOD);
    assert_int_equal(rows_now(), ROWS - 1u);
    world_close();
    free(third.bytes);
    free(eighth.bytes);
    free(last.bytes);
}

/* Rows of an earlier GCI than all others of the round's that come by a copy are written. */
static void test_copied_rows(void **state)
{
    (void)state;
    world_open();
    for (uint32_t key = 0; key < ROWS; key++)
        change(key, false, 10);
    struct file first = checkpoint(1, TUP_CHECKPOINT_ALL);
    change(1, false, 50);
    struct file second = checkpoint(2, 2);
    change(2, false, 20); /* As a copy brings it: the round began with GCI 50. */
    struct file third = checkpoint(3, 3);
    assert_int_equal(third.result.deltas, 1);
    uint32_t kept = world_find(&world, (const uint32_t[]){2}, 1);
    world_close();
    world_open();
    struct file files[] = {third, second, first};
    assert_int_equal(files_read(files, 3, 1), LCP_GOOD);
    assert_int_equal(rows_now(), ROWS);
    assert_int_equal(tup_row_gci(world.tup, world.frag, kept), 20);
    world_close();
}

/* Each slot comes from the newest file that has it, from a delta page or a whole one. */
static void test_each_from_its_file(void **state)
{
    (void)state;
    const struct page pages[] = {{2, 0x01, true, 0x70E},
                                 {2, 0x03, true, 0xF0C},
                                 {1, 0x01, false, 0},
                                 {2, 0x7FF, false, 0},
                                 {2, 0xFFF, false, 0}};
    assert_int_equal(hand_read(pages, 5), LCP_GOOD);
    assert_int_equal(gci_of(2, 0), 9);
    assert_int_equal(gci_of(2, 1), 8);
    assert_int_equal(gci_of(2, 2), 6);
    assert_int_equal(gci_of(2, 3), 6);
    assert_int_equal(gci_of(2, 10), 6);
    assert_int_equal(rows_now(), 8u);
    world_close();
}

static void test_what_is_lacking(void **state)
{
    (void)state;
    static const struct {
        struct page page[3];
        uint32_t count;
        enum lcp_fault fault;
    } cases[] = {
        {{{2, 0x1, true, 0x6}}, 1, LCP_LACKING},                     /* No other file. */
        {{{2, 0x1, true, 0x6}, {3, 0xF, false, 0}}, 2, LCP_LACKING}, /* Nor one with the page. */
        /* A whole page without the row. */
        {{{2, 0x1, true, 0x6}, {2, 0x3, false, 0}}, 2, LCP_LACKING},
        {{{2, 0x1, true, 0x6}, {2, 0x2, true, 0x9}, {2, 0x7, false, 0}}, 3, LCP_LACKING},
        {{{2, 0x1, true, 0x6}, {2, 0x2, true, 0x4}, {2, 0x3, false, 0}}, 3, LCP_LACKING},
        {{{2, 0x1, true, 0x6}, {2, 0x2, true, 0x4}, {2, 0x4, false, 0}}, 3, LCP_GOOD},
        {{{2, 0x1, true, 0x3}}, 1, LCP_ROW},  /* Written and kept. */
        {{{9, 0x1, true, 0x6}}, 1, LCP_GOOD}, /* Not in the state. */
        {{{2, 0x0, true, 0x0}}, 1, LCP_GOOD},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(hand_read(cases[i].page, cases[i].count), cases[i].fault);
        world_close();
    }
}

/* Kept slots that the table has not. */
static void test_slots_that_are_none(void **state)
{
    (void)state;
    struct lcp_data_head head = {.seq = 1};
    uint32_t bits[TUP_KEPT_WORDS + 1u] = {0};
    bits[TUP_KEPT_WORDS] = 1;
    world_open();
    lcp_writer_begin(&writer, &head);
    lcp_writer_page(&writer, 1, true);
    lcp_writer_kept(&writer, bits, TUP_KEPT_WORDS + 1u);
    struct file file = file_end(&head);
    assert_int_equal(files_read(&file, 1, 4), LCP_ROW);
    world_close();
}

/* The words of a delta page in an order that is none. */
static void test_order(void **state)
{
    (void)state;
    const uint32_t page = lcp_page_word(1, false, true), next = lcp_page_word(2, false, false);
    const uint32_t kept = lcp_kept_word(1), row = lcp_row_word(3, 0);
    const struct {
        uint32_t word[8];
        uint32_t count;
        enum lcp_fault fault;
    } cases[] = {
        {{page, row, 1, kept, 5, next}, 6, LCP_GOOD},
        {{page, kept, 5, row, 1}, 5, LCP_ORDER},
        {{page, kept, 5, kept, 5}, 5, LCP_ORDER},
        {{page, row, 1, next}, 4, LCP_ORDER},
        {{next, kept, 5}, 3, LCP_ORDER},
        {{kept, 5}, 2, LCP_ORDER},
        {{page, kept}, 2, LCP_SIZE},
        {{page, kept | 1u, 5}, 3, LCP_SIZE},
        {{page, lcp_page_word(1, true, false)}, 2, LCP_ORDER},
        {{page, lcp_page_word(1, true, true), kept, 0}, 4, LCP_GOOD},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lcp_cursor cursor = {
            .at = cases[i].word, .end = cases[i].word + cases[i].count, .page = -1};
        struct lcp_item item;
        enum lcp_fault fault;
        while (lcp_cursor_next(&cursor, &item, &fault)) {
        }
        assert_int_equal(fault, cases[i].fault);
    }
    struct lcp_data_head head = {.seq = 1}; /* A file that ends in a delta page. */
    world_open();
    lcp_writer_begin(&writer, &head);
    lcp_writer_page(&writer, 1, true);
    struct file file = file_end(&head);
    assert_int_equal(files_read(&file, 1, 4), LCP_ORDER);
    world_close();
}

/* A file of the former format, whole in itself. */
static void test_former_format(void **state)
{
    (void)state;
    struct lcp_data_head head = {.seq = 1};
    lcp_data_head_seal(&head);
    head.format = 2;
    uint64_t sum = XXH3_64bits((const uint8_t *)&head + 12, sizeof head - 12u);
    head.sum_lo = (uint32_t)sum;
    head.sum_hi = (uint32_t)(sum >> 32);
    assert_int_equal(lcp_data_head_check(&head, NULL, 1), LCP_OTHER_FORMAT);
    static const struct lcp_ident any = {.node = 1};
    static struct lcp_ctl ctl = {.number = 2, .file_count = 1, .seq = 1, .file = {{.seq = 1}}};
    ctl.ident = any;
    lcp_ctl_seal(&ctl);
    assert_int_equal(lcp_ctl_check(&ctl, &any, 0), LCP_GOOD);
    assert_int_equal(ctl.format, 3);
    char text[LCP_FAULT_SIZE];
    lcp_fault_say(LCP_OTHER_FORMAT, head.format, text);
    assert_string_equal(text, "format number 2, this program reads 3, of lists also 4");
    lcp_fault_say(LCP_CHECKSUM, head.format, text);
    assert_string_equal(text, lcp_fault_text(LCP_CHECKSUM));
    assert_string_equal(lcp_fault_text(LCP_LACKING),
                        "rows are not there that a newer file counts on");
}

static int setup(void **state)
{
    (void)state;
    out = malloc(OUT_MAX);
    zip_memory = malloc(lcp_zip_size());
    unzip_memory = malloc(lcp_unzip_size());
    writer = (struct lcp_writer){
        .zip = lcp_zip_init(zip_memory, lcp_zip_size()), .raw = malloc(LCP_RAW_MAX), .out = out};
    reader = (struct lcp_reader){.unzip = lcp_unzip_init(unzip_memory, lcp_unzip_size()),
                                 .part = malloc(LCP_PART_MAX),
                                 .raw = malloc(LCP_RAW_MAX)};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(out);
    free(zip_memory);
    free(unzip_memory);
    free(writer.raw);
    free(reader.part);
    free(reader.raw);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written),     cmocka_unit_test(test_copied_rows),
        cmocka_unit_test(test_each_from_its_file),  cmocka_unit_test(test_what_is_lacking),
        cmocka_unit_test(test_slots_that_are_none), cmocka_unit_test(test_order),
        cmocka_unit_test(test_former_format),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
