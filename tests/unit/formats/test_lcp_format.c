/* test_lcp_format.c -- checkpoint files: written and read back; every flipped bit and every cut is
 * noticed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <unistd.h>
#include <cmocka.h>
#include "formats/lcp_list.h"
#include "formats/lcp_stream.h"
#include "kernel/base/rng.h"
#include "tests/unit/support/temp_directory.h"

#define FILE_MAX (4u << 20)

struct lcp_file {
    uint8_t *bytes;
    uint32_t size;
    struct lcp_data_head head;
    struct lcp_ctl_file result;
};

struct machine {
    struct lcp_writer writer;
    struct lcp_reader reader;
    void *zip_memory;
    void *unzip_memory;
    uint8_t *out;
};

static const struct lcp_ident ident = {
    .cluster_lo = 11, .cluster_hi = 12, .node = 3, .table = 7, .version = 1, .fragment = 4};

static int setup(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    m->zip_memory = malloc(lcp_zip_size());
    m->unzip_memory = malloc(lcp_unzip_size());
    m->out = malloc(FILE_MAX);
    m->writer.zip = lcp_zip_init(m->zip_memory, lcp_zip_size());
    m->writer.raw = malloc(LCP_RAW_MAX);
    m->reader.unzip = lcp_unzip_init(m->unzip_memory, lcp_unzip_size());
    m->reader.part = malloc(LCP_PART_MAX);
    m->reader.raw = malloc(LCP_RAW_MAX);
    assert_non_null(m->writer.zip);
    assert_non_null(m->reader.unzip);
    *state = m;
    return 0;
}

static int teardown(void **state)
{
    struct machine *m = *state;
    free(m->zip_memory);
    free(m->unzip_memory);
    free(m->out);
    free(m->writer.raw);
    free(m->reader.part);
    free(m->reader.raw);
    free(m);
    return 0;
}

/* Pages 0, 3, 6, ..., every second one a delta page; slots 0, 2, 4, ... */
static uint32_t row_words(uint32_t page, uint32_t row, uint32_t longest)
{
    return (page * 31u + row * 7u) % longest;
}

struct written_file {
    uint32_t seq;
    uint32_t pages;
    uint32_t rows;
    uint32_t longest;
    uint64_t noise;
};

static void write_file_step(struct machine *m, struct lcp_file *file,
                            const struct written_file *step)
{
    struct rng rng;
    rng_seed(&rng, step->noise);
    file->head = (struct lcp_data_head){
        .ident = ident, .seq = step->seq, .which = 255, .start_gci = 9, .lcp_id = step->seq};
    m->writer.out = m->out;
    lcp_writer_begin(&m->writer, &file->head);
    for (uint32_t p = 0; p < step->pages; p++) {
        lcp_writer_page(&m->writer, p * 3u, p % 2u != 0);
        for (uint32_t r = 0; r < step->rows; r++) {
            uint32_t *room = lcp_writer_room(&m->writer);
            uint32_t words = row_words(p, r, step->longest);
            for (uint32_t w = 0; w < words; w++)
                room[w] = step->noise != 0 ? (uint32_t)rng_next(&rng) : p * 1000u + r;
            lcp_writer_row(&m->writer, r * 2u, 100u + p, words);
            if (lcp_writer_full(&m->writer)) lcp_writer_flush(&m->writer);
        }
        const uint32_t kept[3] = {p, 7, 1};
        if (p % 2u != 0) lcp_writer_kept(&m->writer, kept, 3);
        if (lcp_writer_full(&m->writer)) lcp_writer_flush(&m->writer);
    }
    lcp_writer_flush(&m->writer);
    lcp_writer_end(&m->writer);
    file->result = lcp_writer_result(&m->writer, &file->head);
    file->size = m->writer.out_size;
    file->bytes = malloc(file->size);
    memcpy(file->bytes, m->out, file->size);
    assert_int_equal(file->size % LCP_ALIGN, 0);
    assert_true(file->size < FILE_MAX - LCP_OUT_ROOM);
}
#define write_file(m, file, ...) write_file_step((m), (file), &(struct written_file){__VA_ARGS__})

/* Reads `size` bytes in pieces; LCP_GOOD and how many rows, or what is wrong. */
static enum lcp_fault read_file(struct machine *m, const uint8_t *bytes, uint32_t size,
                                uint32_t piece, const struct lcp_ctl_file *expect, uint64_t *rows)
{
    struct lcp_item item;
    enum lcp_fault fault;
    m->reader.ident = &ident;
    m->reader.expect = expect;
    *rows = 0;
    lcp_reader_begin(&m->reader);
    for (uint32_t at = 0; at < size; at += piece) {
        const uint8_t *from = bytes + at;
        uint32_t left = size - at < piece ? size - at : piece;
        for (;;) {
            enum lcp_read_event event = lcp_reader_next(&m->reader, &from, &left);
            if (event == LCP_READ_FAULT) return m->reader.fault;
            if (event == LCP_READ_MORE) break;
            if (event == LCP_READ_END) continue;
            while (lcp_cursor_next(&m->reader.cursor, &item, &fault))
                *rows += !item.is_page && !item.is_kept;
            if (fault != LCP_GOOD) return fault;
        }
    }
    return lcp_reader_finish(&m->reader);
}

static void test_round_trip(void **state)
{
    struct machine *m = *state;
    static const struct {
        uint32_t pages, rows, longest;
        uint64_t noise;
    } cases[] = {{0, 0, 1, 0},    {1, 0, 1, 0},     {5, 100, 20, 0}, {40, 200, 60, 0},
                 {40, 60, 60, 5}, {2, 20, 9216, 0}, {2, 10, 9216, 7}};
    for (uint32_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct lcp_file file;
        uint64_t rows;
        write_file(m, &file, .seq = 5, .pages = cases[c].pages, .rows = cases[c].rows,
                   .longest = cases[c].longest, .noise = cases[c].noise);
        for (uint32_t piece = 1; piece <= file.size; piece = piece * 37u + 1u) {
            assert_int_equal(read_file(m, file.bytes, file.size, piece, &file.result, &rows),
                             LCP_GOOD);
            assert_int_equal(rows, (uint64_t)cases[c].pages * cases[c].rows);
        }
        free(file.bytes);
    }
}

/* Behind values that do not compress blocks are not even tried; but one in 32 is, so a file gets
 * small again where its rows do. */
static void test_compression_is_tried_again(void **state)
{
    struct machine *m = *state;
    struct lcp_data_head head = {.ident = ident, .seq = 5, .which = 255};
    struct rng rng;
    uint32_t size[3];
    rng_seed(&rng, 5);
    m->writer.out = m->out;
    lcp_writer_begin(&m->writer, &head);
    lcp_writer_page(&m->writer, 0, false);
    for (uint32_t block = 0; block < 34; block++) {
        uint32_t *room = lcp_writer_room(&m->writer);
        for (uint32_t w = 0; w < 9000; w++)
            room[w] = block == 0 ? (uint32_t)rng_next(&rng) : 7u;
        lcp_writer_row(&m->writer, block, 1, 9000);
        m->writer.out_size = 0; /* As if written: only what a block takes is looked at. */
        lcp_writer_flush(&m->writer);
        if (block < 2) size[block] = m->writer.out_size;
        size[2] = m->writer.out_size;
    }
    assert_true(size[0] > 36000);
    assert_true(size[1] > 36000);
    assert_true(size[2] < 3600);
}

static void test_rows_come_back(void **state)
{
    struct machine *m = *state;
    struct lcp_file file;
    struct lcp_item item;
    enum lcp_fault fault;
    uint32_t page = 0;
    uint32_t row = 0;
    write_file(m, &file, .seq = 5, .pages = 30, .rows = 100, .longest = 50);
    m->reader.ident = &ident;
    m->reader.expect = &file.result;
    lcp_reader_begin(&m->reader);
    const uint8_t *from = file.bytes;
    uint32_t left = file.size;
    while (lcp_reader_next(&m->reader, &from, &left) == LCP_READ_ROWS) {
        while (lcp_cursor_next(&m->reader.cursor, &item, &fault)) {
            if (item.is_kept) assert_int_equal(item.pairs[0], item.page / 3u);
            if (item.is_page || item.is_kept) continue;
            assert_int_equal(item.page, page * 3u);
            assert_int_equal(item.slot, row * 2u);
            assert_int_equal(item.gci, 100u + page);
            assert_int_equal(item.words, row_words(page, row, 50));
            for (uint32_t w = 0; w < item.words; w++)
                assert_int_equal(item.pairs[w], page * 1000u + row);
            if (++row == 100) {
                row = 0;
                page++;
            }
        }
        assert_int_equal(fault, LCP_GOOD);
    }
    assert_int_equal(page, 30);
    free(file.bytes);
}

/* Each byte of a file of several blocks, each with another bit; the padding too. */
static void test_every_flip_is_noticed(void **state)
{
    struct machine *m = *state;
    struct lcp_file file;
    uint64_t rows;
    write_file(m, &file, .seq = 5, .pages = 12, .rows = 100, .longest = 30);
    assert_true(file.result.blocks > 2);
    for (uint32_t at = 0; at < file.size; at++) {
        uint8_t bit = (uint8_t)(1u << (at * 5u + at / 8u) % 8u);
        file.bytes[at] ^= bit;
        assert_int_not_equal(read_file(m, file.bytes, file.size, 65536, &file.result, &rows),
                             LCP_GOOD);
        file.bytes[at] ^= bit;
    }
    assert_int_equal(read_file(m, file.bytes, file.size, 65536, &file.result, &rows), LCP_GOOD);
    free(file.bytes);
}

static void test_every_cut_is_noticed(void **state)
{
    struct machine *m = *state;
    struct lcp_file file;
    uint64_t rows;
    write_file(m, &file, .seq = 5, .pages = 12, .rows = 100, .longest = 30);
    for (uint32_t size = 0; size < file.size; size++)
        assert_int_not_equal(read_file(m, file.bytes, size, 65536, &file.result, &rows), LCP_GOOD);
    uint8_t *longer = calloc(1, file.size + LCP_ALIGN);
    memcpy(longer, file.bytes, file.size);
    assert_int_equal(read_file(m, longer, file.size + 1u, 65536, &file.result, &rows), LCP_TAIL);
    assert_int_equal(read_file(m, longer, file.size + LCP_ALIGN, 65536, &file.result, &rows),
                     LCP_TAIL);
    free(longer);
    free(file.bytes);
}

/* Blocks, heads and whole files in places where others belong, all with right checksums of their
 * own. */
static void test_swaps_are_noticed(void **state)
{
    struct machine *m = *state;
    struct lcp_file a;
    struct lcp_file b;
    struct lcp_file c;
    uint64_t rows;
    write_file(m, &a, .seq = 5, .pages = 12, .rows = 100, .longest = 30);
    write_file(m, &b, .seq = 6, .pages = 12, .rows = 100, .longest = 30);
    write_file(m, &c, .seq = 5, .pages = 11, .rows = 100,
               .longest = 30); /* The same name from a former life. */
    assert_int_equal(read_file(m, b.bytes, b.size, 65536, &a.result, &rows), LCP_OTHER_FILE);
    assert_int_equal(read_file(m, c.bytes, c.size, 65536, &a.result, &rows), LCP_OTHER_FILE);
    assert_int_equal(a.size, b.size);
    memcpy(a.bytes + LCP_DATA_HEAD, b.bytes + LCP_DATA_HEAD, a.size - LCP_DATA_HEAD);
    assert_int_equal(read_file(m, a.bytes, a.size, 65536, &a.result, &rows), LCP_CHECKSUM);
    for (uint32_t field = 0; field < 6; field++) {
        struct lcp_data_head head = b.head;
        ((uint32_t *)(void *)&head.ident)[field]++;
        lcp_data_head_seal(&head);
        enum lcp_fault expect = field < 2    ? LCP_OTHER_CLUSTER
                                : field == 2 ? LCP_OTHER_NODE
                                             : LCP_OTHER_TABLE;
        assert_int_equal(lcp_data_head_check(&head, &ident, 6), expect);
    }
    free(a.bytes);
    free(b.bytes);
    free(c.bytes);
}

static void ctl_fill(struct lcp_ctl *ctl)
{
    memset(ctl, 0, sizeof *ctl);
    ctl->ident = ident;
    ctl->slot = 1;
    ctl->seq = 9;
    ctl->number = 5;
    ctl->file_count = 3;
    for (uint32_t i = 0; i < 3; i++)
        ctl->file[i].seq = 7 + i;
    lcp_ctl_seal(ctl);
}

static void test_ctl(void **state)
{
    (void)state;
    struct lcp_ctl ctl;
    ctl_fill(&ctl);
    assert_int_equal(lcp_ctl_check(&ctl, &ident, 1), LCP_GOOD);
    assert_int_equal(lcp_ctl_check(&ctl, &ident, 0), LCP_OTHER_FILE);
    for (uint32_t bit = 0; bit < sizeof ctl * 8u; bit++) {
        ((uint8_t *)&ctl)[bit / 8u] ^= (uint8_t)(1u << bit % 8u);
        assert_int_not_equal(lcp_ctl_check(&ctl, &ident, 1), LCP_GOOD);
        ((uint8_t *)&ctl)[bit / 8u] ^= (uint8_t)(1u << bit % 8u);
    }
    ctl.file_count = LCP_FILES_MAX + 1u;
    lcp_ctl_seal(&ctl);
    assert_int_equal(lcp_ctl_check(&ctl, &ident, 1), LCP_SIZE);
    ctl_fill(&ctl);
    ctl.file[1].seq = 7;
    lcp_ctl_seal(&ctl);
    assert_int_equal(lcp_ctl_check(&ctl, &ident, 1), LCP_ORDER);
}

/* A list has slot and life of the log in one word; one of the format before has the slot alone. */
static void test_list(void **state)
{
    (void)state;
    struct lcp_part part = {.cluster_lo = ident.cluster_lo,
                            .cluster_hi = ident.cluster_hi,
                            .node = ident.node,
                            .instance = 2,
                            .slot_life = lcp_part_slot_life(1, 0xFEDCBAu),
                            .number = 7,
                            .blocks = 1,
                            .count = LCP_PART_ENTRIES};
    lcp_part_seal(&part);
    assert_int_equal(lcp_part_check(&part, &ident, 2, 1, 0), LCP_GOOD);
    assert_int_equal(lcp_part_check(&part, &ident, 2, 0, 0), LCP_OTHER_FILE);
    assert_int_equal(lcp_part_life(&part), 0xFEDCBAu);
    for (uint32_t format = 2; format <= 5u; format++) {
        part.format = format;
        part.slot_life = 1;
        uint64_t sum = XXH3_64bits(&part.format, sizeof part - offsetof(struct lcp_part, format));
        part.sum_lo = (uint32_t)sum;
        part.sum_hi = (uint32_t)(sum >> 32);
        bool good = format == 3 || format == 4;
        assert_int_equal(lcp_part_check(&part, &ident, 2, 1, 0),
                         good ? LCP_GOOD : LCP_OTHER_FORMAT);
        assert_int_equal(lcp_part_life(&part), 0);
    }
}

/* Words of rows that a correct checksum does not make right. */
static void test_random_rows(void **state)
{
    (void)state;
    struct rng rng;
    uint32_t words[64];
    rng_seed(&rng, 3);
    for (uint32_t round = 0; round < 100000; round++) {
        struct lcp_cursor cursor = {.at = words, .page = -1};
        struct lcp_item item;
        enum lcp_fault fault;
        uint32_t count = (uint32_t)rng_below(&rng, 64);
        cursor.end = words + count;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t word = (uint32_t)rng_next(&rng);
            words[i] = rng_chance(&rng, 1, 2) ? word & 0xC003000Fu : word;
        }
        while (lcp_cursor_next(&cursor, &item, &fault)) {
            assert_true(cursor.at <= cursor.end);
            if (!item.is_page) assert_true(item.pairs + item.words <= cursor.end);
        }
    }
}

static int run_tool(const char *path)
{
    char command[1024];
    snprintf(command, sizeof command, "%s --rows %s >/dev/null", NDB_LCP_READER, path);
    return system(command);
}

static void put_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void test_tool(void **state)
{
    struct machine *m = *state;
    struct lcp_file file;
    struct lcp_ctl ctl;
    char directory[TEMP_DIRECTORY_SIZE];
    char path[128];
    temp_directory_make(directory);
    snprintf(path, sizeof path, "%s/T7F4.5.data", directory);
    assert_int_not_equal(run_tool(path), 0);
    write_file(m, &file, .seq = 5, .pages = 12, .rows = 100, .longest = 30);
    put_file(path, file.bytes, file.size);
    assert_int_equal(run_tool(path), 0);
    file.bytes[file.size / 2u] ^= 4;
    put_file(path, file.bytes, file.size);
    assert_int_not_equal(run_tool(path), 0);
    ctl_fill(&ctl);
    put_file(path, &ctl, sizeof ctl);
    assert_int_equal(run_tool(path), 0);
    put_file(path, &ctl, sizeof ctl - 1u);
    assert_int_not_equal(run_tool(path), 0);
    temp_directory_remove(directory);
    free(file.bytes);
}

static void test_names(void **state)
{
    (void)state;
    char name[LCP_NAME_MAX];
    uint32_t table;
    uint32_t fragment;
    uint32_t seq;
    bool is_ctl;
    lcp_data_name(name, 20319, 0, 4294967295u);
    assert_string_equal(name, "LCP/T20319F0.4294967295.data");
    assert_true(lcp_name_parse(name + 4, &table, &fragment, &seq, &is_ctl));
    assert_int_equal(table, 20319);
    assert_int_equal(seq, 4294967295u);
    assert_false(is_ctl);
    lcp_ctl_name(name, 3, 17, 1);
    assert_string_equal(name, "LCP/T3F17.ctl1");
    assert_true(lcp_name_parse(name + 4, &table, &fragment, &seq, &is_ctl));
    assert_int_equal(fragment, 17);
    assert_int_equal(seq, 1);
    assert_true(is_ctl);
    static const char *const others[] = {"",
                                         "T",
                                         "T1",
                                         "T1F",
                                         "T1F2",
                                         "T1F2.",
                                         "T1F2.3",
                                         "T1F2.3.dat",
                                         "T1F2.3.datax",
                                         "T1F2.ctl",
                                         "T1F2.ctl2",
                                         "T1F2.ctl0x",
                                         "T4294967296F1.ctl0",
                                         "X1F2.ctl0"};
    for (uint32_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(lcp_name_parse(others[i], &table, &fragment, &seq, &is_ctl));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_compression_is_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_flip_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_cut_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_swaps_are_noticed, setup, teardown),
        cmocka_unit_test(test_ctl),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_random_rows),
        cmocka_unit_test_setup_teardown(test_tool, setup, teardown),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
