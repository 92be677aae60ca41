/* test_redo_format.c -- redo pages and records: every flipped bit, every cut, records over the ends
 * of pages. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <cmocka.h>
#include "formats/redo_format.h"
#include "kernel/base/rng.h"

#define PAGES 12u

static uint32_t pages[PAGES][REDO_PAGE_WORDS];
static const struct redo_place place0 = {.cluster = 0x1234567890u,
                                         .node = 3,
                                         .part = 2,
                                         .files = 4,
                                         .file_blocks = 512,
                                         .file = 1,
                                         .block = 8};

static struct redo_page_head *head_of(uint32_t page)
{
    return (struct redo_page_head *)(void *)pages[page];
}

static void page_begin(uint32_t page)
{
    memset(pages[page], 0xA5, sizeof pages[page]);
    *head_of(page) = (struct redo_page_head){.cluster_lo = 0x34567890u,
                                             .cluster_hi = 0x12,
                                             .node = 3,
                                             .part = 2,
                                             .files = 4,
                                             .file_blocks = 512,
                                             .file = 1,
                                             .block = 8u + page * 8u,
                                             .incarnation = 5,
                                             .words = REDO_PAGE_HEAD,
                                             .lsn_lo = 100u + page,
                                             .gci_max = 7};
}

static struct redo_place place_of(uint32_t page)
{
    struct redo_place place = place0;
    place.block += page * 8u;
    return place;
}

static void page_close(uint32_t page)
{
    if (page > 0) {
        head_of(page)->prev_lo = head_of(page - 1)->check_lo;
        head_of(page)->prev_hi = head_of(page - 1)->check_hi;
    }
    redo_page_seal(pages[page]);
}

static void test_every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    const struct redo_place place = place_of(0);
    page_begin(0);
    const struct redo_record record = {.kind = REDO_DELETE, .table_id = 1, .gci_hi = 7, .row = 9};
    redo_record_head_put(&record, pages[0] + REDO_PAGE_HEAD);
    head_of(0)->words += REDO_RECORD_HEAD;
    head_of(0)->first = REDO_PAGE_HEAD;
    page_close(0);
    assert_int_equal(redo_page_verify(pages[0], REDO_PAGE_WORDS, &place), REDO_GOOD);
    for (uint32_t bit = 0; bit < REDO_BLOCK_BYTES * 8u; bit++) {
        pages[0][bit / 32u] ^= 1u << bit % 32u;
        assert_int_not_equal(redo_page_verify(pages[0], REDO_PAGE_WORDS, &place), REDO_GOOD);
        pages[0][bit / 32u] ^= 1u << bit % 32u;
    }
    for (uint32_t words = 0; words < REDO_BLOCK_WORDS; words++)
        assert_int_equal(redo_page_verify(pages[0], words, &place), REDO_CUT);
    assert_int_equal(redo_page_verify(pages[0], REDO_BLOCK_WORDS, &place), REDO_GOOD);
}

static void test_every_zeroed_sector_of_a_long_page_is_noticed(void **state)
{
    (void)state;
    static uint32_t copy[REDO_PAGE_WORDS];
    const struct redo_place place = place_of(0);
    page_begin(0);
    head_of(0)->words = REDO_PAGE_WORDS;
    page_close(0);
    assert_int_equal(redo_page_verify(pages[0], REDO_PAGE_WORDS, &place), REDO_GOOD);
    for (uint32_t at = 0; at < REDO_PAGE_WORDS; at += 128u) {
        memcpy(copy, pages[0], sizeof copy);
        memset(copy + at, 0, 512);
        assert_int_not_equal(redo_page_verify(copy, REDO_PAGE_WORDS, &place), REDO_GOOD);
    }
    memset(copy, 0, sizeof copy);
    assert_int_equal(redo_page_verify(copy, REDO_PAGE_WORDS, &place), REDO_EMPTY);
    copy[1000] = 1;
    assert_int_equal(redo_page_verify(copy, REDO_PAGE_WORDS, &place), REDO_NO_PAGE);
}

static void expect_fault(struct redo_place place, enum redo_fault fault)
{
    assert_int_equal(redo_page_verify(pages[0], REDO_PAGE_WORDS, &place), fault);
}

static void test_foreign_pages(void **state)
{
    (void)state;
    struct redo_place place = place_of(0);
    page_begin(0);
    page_close(0);
    place.cluster++;
    expect_fault(place, REDO_OTHER_CLUSTER);
    place = place_of(0);
    place.node++;
    expect_fault(place, REDO_OTHER_NODE);
    place = place_of(0);
    place.part++;
    expect_fault(place, REDO_OTHER_PART);
    place = place_of(0);
    place.files++;
    expect_fault(place, REDO_OTHER_SHAPE);
    place = place_of(0);
    place.block++;
    expect_fault(place, REDO_OTHER_PLACE);
    place = place_of(0);
    place.node = 0;
    place.cluster = 0;
    expect_fault(place, REDO_GOOD);
}

/* A whole page of the former format. */
static void test_former_format(void **state)
{
    (void)state;
    char text[REDO_FAULT_SIZE];
    page_begin(0);
    page_close(0);
    struct redo_page_head *head = head_of(0);
    uint32_t blocks = redo_blocks(head->words);
    assert_int_equal(head->version, 2);
    head->version = 1;
    head->check_lo = head->check_hi = 0;
    uint64_t check = XXH3_64bits_withSeed(pages[0] + REDO_PAGE_HEAD,
                                          (size_t)(blocks * REDO_BLOCK_WORDS - REDO_PAGE_HEAD) * 4u,
                                          XXH3_64bits(head, sizeof *head));
    head->check_lo = (uint32_t)check;
    head->check_hi = (uint32_t)(check >> 32);
    assert_int_equal(redo_page_verify(pages[0], REDO_PAGE_WORDS, &place0), REDO_OTHER_VERSION);
    redo_fault_say(REDO_OTHER_VERSION, head->version, text);
    assert_string_equal(text, "format number 1, this program reads 2");
    redo_fault_say(REDO_CUT, head->version, text);
    assert_string_equal(text, redo_fault_name(REDO_CUT));
}

static void test_chain(void **state)
{
    (void)state;
    for (uint32_t page = 0; page < 3; page++) {
        page_begin(page);
        page_close(page);
    }
    struct redo_chain chain = redo_chain_at(head_of(0));
    assert_false(redo_chain_next(&chain, head_of(2)));
    assert_true(redo_chain_next(&chain, head_of(1)));
    head_of(2)->incarnation = 4; /* Left behind by a former incarnation. */
    assert_false(redo_chain_next(&chain, head_of(2)));
    head_of(2)->incarnation = 6;
    assert_true(redo_chain_next(&chain, head_of(2)));
}

/* Records of random lengths into pages of random lengths, and back. */
static void test_records_over_pages(void **state)
{
    (void)state;
    static struct redo_reader reader;
    static uint32_t words[REDO_RECORD_WORDS_MAX];
    for (uint32_t seed = 0; seed < 300; seed++) {
        struct rng rng;
        uint32_t lengths[4096];
        uint32_t written = 0;
        uint32_t page = 0;
        rng_seed(&rng, seed);
        uint32_t size =
            REDO_PAGE_HEAD + 1u + (uint32_t)rng_below(&rng, REDO_PAGE_WORDS - REDO_PAGE_HEAD);
        page_begin(0);
        while (page < PAGES && written < 4096) {
            uint32_t pairs = rng_below(&rng, 4) == 0 ? (uint32_t)rng_below(&rng, 9200)
                                                     : (uint32_t)rng_below(&rng, 30);
            const struct redo_record record = {.kind = REDO_INSERT,
                                               .table_id = 65535,
                                               .fragment_id = 8159,
                                               .gci_hi = written,
                                               .row = ~written,
                                               .pair_words = pairs};
            redo_record_head_put(&record, words);
            memset(words + REDO_RECORD_HEAD, 0, pairs * 4u); /* Pairs of NULLs. */
            uint32_t all = REDO_RECORD_HEAD + pairs;
            for (uint32_t at = 0; at < all && page < PAGES; at++) {
                if (at == 0 && head_of(page)->first == 0)
                    head_of(page)->first = head_of(page)->words;
                pages[page][head_of(page)->words++] = words[at];
                if (head_of(page)->words < size) continue;
                page_close(page++);
                size = REDO_PAGE_HEAD + 1u +
                       (uint32_t)rng_below(&rng, REDO_PAGE_WORDS - REDO_PAGE_HEAD);
                if (page < PAGES) page_begin(page);
            }
            if (page < PAGES) lengths[written++] = all;
        }
        if (page < PAGES) page_close(page++);
        uint32_t from = (uint32_t)rng_below(&rng, 3);
        uint32_t found = UINT32_MAX;
        redo_reader_init(&reader);
        for (uint32_t i = from; i < page; i++) {
            struct redo_record record;
            int more;
            assert_true(redo_reader_page(&reader, pages[i]));
            while ((more = redo_reader_next(&reader, &record)) == 1) {
                if (found == UINT32_MAX) found = record.gci_hi;
                assert_int_equal(record.gci_hi, found);
                if (found < written)
                    assert_int_equal(record.pair_words + REDO_RECORD_HEAD, lengths[found]);
                assert_int_equal(record.row, ~found);
                found++;
            }
            assert_int_equal(more, 0);
        }
        if (from == 0 && found != UINT32_MAX) assert_true(found >= written);
    }
}

/* The end of a record was lost, and the log goes on behind its first page: in another incarnation,
 * or in the same one. The record behind it is found; and a page that should go on is not. */
static void test_unfinished_record(void **state)
{
    (void)state;
    static struct redo_reader reader;
    struct redo_record record = {.kind = REDO_INSERT, .table_id = 1, .gci_hi = 7, .row = 9};
    for (uint32_t other = 0; other < 2; other++) {
        page_begin(0);
        record.pair_words = REDO_PAGE_WORDS;
        redo_record_head_put(&record, pages[0] + REDO_PAGE_HEAD);
        head_of(0)->first = REDO_PAGE_HEAD;
        head_of(0)->words = REDO_PAGE_WORDS;
        page_close(0);
        page_begin(1); /* Says only that what was before is durable. */
        head_of(1)->incarnation += other;
        page_close(1);
        page_begin(2);
        head_of(2)->incarnation += other;
        record.pair_words = 0;
        redo_record_head_put(&record, pages[2] + REDO_PAGE_HEAD);
        head_of(2)->first = REDO_PAGE_HEAD;
        head_of(2)->words += REDO_RECORD_HEAD;
        page_close(2);
        redo_reader_init(&reader);
        assert_true(redo_reader_page(&reader, pages[0]));
        assert_int_equal(redo_reader_next(&reader, &record), 0);
        assert_true(redo_reader_unfinished(&reader, &record));
        assert_true(redo_reader_page(&reader, pages[1]));
        assert_int_equal(redo_reader_next(&reader, &record), 0);
        assert_false(redo_reader_unfinished(&reader, &record)); /* Also if nothing follows. */
        assert_true(redo_reader_page(&reader, pages[2]));
        assert_int_equal(redo_reader_next(&reader, &record), 1);
        assert_int_equal(record.row, 9);
        assert_int_equal(redo_reader_next(&reader, &record), 0);
    }
    head_of(2)->first = REDO_PAGE_HEAD + 1u; /* The rest of something else. */
    page_close(2);
    redo_reader_init(&reader);
    head_of(1)->incarnation = head_of(2)->incarnation = head_of(0)->incarnation;
    assert_true(redo_reader_page(&reader, pages[0]));
    assert_int_equal(redo_reader_next(&reader, &record), 0);
    assert_false(redo_reader_page(&reader, pages[2]));
}

static void test_garbage_records(void **state)
{
    (void)state;
    static struct redo_reader reader;
    struct rng rng;
    rng_seed(&rng, 1);
    for (uint32_t round = 0; round < 20000; round++) {
        uint32_t count = 1u + (uint32_t)rng_below(&rng, 3);
        redo_reader_init(&reader);
        for (uint32_t page = 0; page < count; page++) {
            struct redo_record record;
            int more;
            page_begin(page);
            head_of(page)->words = REDO_PAGE_HEAD + (uint32_t)rng_below(&rng, 200);
            for (uint32_t at = REDO_PAGE_HEAD; at < head_of(page)->words; at++)
                pages[page][at] = rng_below(&rng, 3) == 0
                                      ? 0xD5010000u | (uint32_t)rng_below(&rng, 40)
                                      : (uint32_t)rng_below(&rng, 8);
            head_of(page)->first =
                rng_below(&rng, 2) != 0 ? REDO_PAGE_HEAD : (uint32_t)rng_below(&rng, 200);
            page_close(page);
            struct redo_place place = place_of(page);
            if (redo_page_verify(pages[page], REDO_PAGE_WORDS, &place) != REDO_GOOD) break;
            if (!redo_reader_page(&reader, pages[page])) break;
            while ((more = redo_reader_next(&reader, &record)) == 1)
                assert_true(record.pair_words <= REDO_RECORD_WORDS_MAX);
            if (more < 0) break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_flipped_bit_is_noticed),
        cmocka_unit_test(test_every_zeroed_sector_of_a_long_page_is_noticed),
        cmocka_unit_test(test_foreign_pages),
        cmocka_unit_test(test_former_format),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_records_over_pages),
        cmocka_unit_test(test_unfinished_record),
        cmocka_unit_test(test_garbage_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
