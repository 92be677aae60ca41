/* test_sysfile_format.c -- system files of one and of many blocks, of the former layout, damaged
 * ones; lists of where logs end. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <xxhash.h>
#include "formats/sysfile_format.h"

#define GCI 1234u

static uint8_t bytes[SYSFILE_BYTES_MAX + SYSFILE_BLOCK];
static struct sysfile content;
static struct sysfile back;
static uint32_t lsn[LOG_ENDS_PARTS][2];

static struct file_header header_of(uint32_t node)
{
    struct file_header header = {
        .kind = FILE_KIND_SYSTEM, .node = node, .cluster_id = 77, .sequence = 12};
    file_header_seal(&header);
    return header;
}

static void add(struct log_ends *ends, uint32_t node, uint32_t gci, uint32_t parts)
{
    uint32_t entry[LOG_ENDS_ENTRY_MAX];
    for (uint32_t i = 0; i < LOG_ENDS_PARTS; i++) {
        lsn[i][0] = 1000 * node + i;
        lsn[i][1] = node;
    }
    uint32_t words = log_ends_entry(entry, node, gci, (const uint32_t(*)[2])lsn, parts);
    assert_int_equal(words, 2 + 2 * parts);
    assert_true(log_ends_good(entry, words, gci));
    assert_true(log_ends_add(ends, entry, words));
    assert_false(log_ends_add(ends, entry, words)); /* It has one. */
}

static uint32_t make(uint32_t nodes, uint32_t parts)
{
    struct file_header header = header_of(1);
    memset(&content, 0, sizeof content);
    memset(bytes, 0xEE, sizeof bytes); /* What is left of a former, longer content. */
    content.layout = SYSFILE_LAYOUT;
    content.incarnation = 3;
    content.gci = GCI;
    content.ldm_count = parts;
    content.lists_known = 1;
    content.list[0] = (struct sysfile_list){4, 44};
    content.schema_lo = 7;
    content.schema_hi = 1;
    for (uint32_t node = 1; node <= nodes; node++)
        add(&content.ends, node, GCI, parts);
    return sysfile_seal(bytes, &header, &content);
}

static void test_lengths(void **state)
{
    static const struct {
        uint32_t nodes, parts, blocks;
    } cases[] = {{0, 1, 1}, {1, 1, 1}, {66, 4, 1}, {67, 4, 2}, {48, 32, 4}, {144, 64, 19}};
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t size = make(cases[i].nodes, cases[i].parts);
        assert_int_equal(size, cases[i].blocks * SYSFILE_BLOCK);
        assert_true(sysfile_content(bytes, size, &back));
        assert_memory_equal(&back, &content, sizeof back);
        assert_true(sysfile_content(bytes, sizeof bytes, &back));
        assert_true(log_ends_good(back.ends.words, back.ends.size, GCI));
        assert_false(sysfile_content(bytes, size - 1, &back)); /* Cut. */
        for (uint32_t at = 0; at < size; at += at < 1000 ? 7 : 511) {
            bytes[at] ^= 0x10;
            assert_false(sysfile_content(bytes, sizeof bytes, &back));
            bytes[at] ^= 0x10;
        }
    }
}

/* One block, and pairs of the own logs where the list is today. */
static void test_former_layout(void **state)
{
    (void)state;
    struct file_header header = header_of(3);
    uint32_t words[4] = {SYSFILE_LAYOUT_2, 5, GCI, 0};
    uint32_t ldm_count = 2;
    uint32_t pairs[2][2] = {{9, 0}, {1, 1}};
    size_t at = FILE_HEADER_BYTES + offsetof(struct sysfile, ldm_count);
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, words, sizeof words);
    memcpy(bytes + at, &ldm_count, 4);
    memcpy(bytes + at + 4, pairs, sizeof pairs);
    uint64_t hash = XXH3_64bits(bytes, SYSFILE_BLOCK - 8);
    memcpy(bytes + SYSFILE_BLOCK - 8, &hash, 8);
    assert_true(sysfile_content(bytes, SYSFILE_BLOCK, &back));
    assert_int_equal(back.layout, SYSFILE_LAYOUT);
    assert_int_equal(back.incarnation, 5);
    assert_int_equal(back.gci, GCI);
    assert_int_equal(back.ldm_count, 2);
    assert_true(log_ends_good(back.ends.words, back.ends.size, GCI));
    const uint32_t *entry = log_ends_find(back.ends.words, back.ends.size, 3);
    assert_non_null(entry);
    assert_int_equal(log_ends_parts(entry), 2);
    assert_memory_equal(entry + LOG_ENDS_ENTRY_HEAD, pairs, sizeof pairs);
    bytes[at + 4] ^= 1;
    assert_false(sysfile_content(bytes, SYSFILE_BLOCK, &back));
}

/* A copy of a layout that lacks what today's has from `gap_at` on. */
static void test_shorter(uint32_t layout, size_t gap_at)
{
    size_t gap = FILE_HEADER_BYTES + offsetof(struct sysfile, ends) - gap_at;
    uint32_t size = make(3, 4);
    assert_int_equal(size, SYSFILE_BLOCK);
    memmove(bytes + gap_at, bytes + gap_at + gap, size - 8u - gap_at - gap);
    memset(bytes + size - 8u - gap, 0, gap);
    memcpy(bytes + FILE_HEADER_BYTES, &layout, 4);
    uint64_t hash = XXH3_64bits(bytes, size - 8u);
    memcpy(bytes + size - 8u, &hash, 8);
    assert_true(sysfile_content(bytes, size, &back));
    assert_int_equal(back.layout, SYSFILE_LAYOUT);
    assert_int_equal(back.schema_lo, 0);
    assert_int_equal(back.schema_hi, 0);
    assert_int_equal(back.gci, GCI);
    assert_int_equal(back.ends.size, content.ends.size);
    assert_memory_equal(back.ends.words, content.ends.words, content.ends.size * 4u);
    bytes[gap_at] ^= 1;
    struct sysfile other;
    assert_false(sysfile_content(bytes, size, &other));
}

/* Layout 4 says nothing of the dictionary. */
static void test_layout_4(void **state)
{
    (void)state;
    test_shorter(SYSFILE_LAYOUT_4, FILE_HEADER_BYTES + offsetof(struct sysfile, schema_lo));
    assert_int_equal(back.lists_known, 1);
    assert_memory_equal(back.list, content.list, sizeof back.list);
}

/* Layout 3 knows of no lists of checkpoints either. */
static void test_layout_3(void **state)
{
    (void)state;
    const struct sysfile_list any = {17, 4711};
    test_shorter(SYSFILE_LAYOUT_3, FILE_HEADER_BYTES + offsetof(struct sysfile, lists_known));
    assert_int_equal(back.lists_known, 0);
    assert_int_equal(back.list[0].number, 0);
    assert_int_equal(sysfile_list_judge(&back, 0, &any, 0), SYSFILE_LIST_GOOD);
}

/* Which list of checkpoints must be there, and which is none of this life. */
static void test_judged_lists(void **state)
{
    (void)state;
    static const struct {
        struct sysfile_list named, found;
        uint32_t before;
        enum sysfile_list_verdict verdict;
    } cases[] = {
        {{0, 0}, {0, 0}, 0, SYSFILE_LIST_GOOD},   {{0, 0}, {1, 5}, 0, SYSFILE_LIST_GOOD},
        {{0, 0}, {2, 5}, 4, SYSFILE_LIST_GOOD},   {{0, 0}, {3, 5}, 4, SYSFILE_LIST_AHEAD},
        {{2, 9}, {0, 0}, 0, SYSFILE_LIST_STALE},  {{2, 9}, {1, 9}, 9, SYSFILE_LIST_STALE},
        {{2, 9}, {2, 9}, 1, SYSFILE_LIST_GOOD},   {{2, 9}, {2, 8}, 9, SYSFILE_LIST_STALE},
        {{2, 9}, {3, 1}, 9, SYSFILE_LIST_GOOD},   {{2, 9}, {3, 9}, 8, SYSFILE_LIST_STALE},
        {{2, 9}, {4, 9}, 9, SYSFILE_LIST_AHEAD},  {{7, 9}, {6, 9}, 9, SYSFILE_LIST_STALE},
        {{7, 9}, {90, 9}, 9, SYSFILE_LIST_AHEAD},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(&content, 0, sizeof content);
        content.lists_known = 1;
        content.list[3] = cases[i].named;
        assert_int_equal(sysfile_list_judge(&content, 3, &cases[i].found, cases[i].before),
                         cases[i].verdict);
    }
}

/* No word of a list can be changed, none left out, no list taken for another GCI. */
static void test_lists_are_checked(void **state)
{
    (void)state;
    static struct log_ends ends;
    struct node_mask gone = {0};
    memset(&ends, 0, sizeof ends);
    add(&ends, 4, GCI, 2);
    add(&ends, 144, GCI, 1);
    add(&ends, 7, GCI, 3);
    assert_true(log_ends_good(ends.words, ends.size, GCI));
    assert_false(log_ends_good(ends.words, ends.size, GCI - 1));
    for (uint32_t i = 0; i < ends.size; i++) {
        for (uint32_t bit = 0; bit < 32; bit++) {
            ends.words[i] ^= 1u << bit;
            assert_false(log_ends_good(ends.words, ends.size, GCI));
            ends.words[i] ^= 1u << bit;
        }
    }
    for (uint32_t size = 1; size < ends.size; size++) {
        bool whole = size == 6 || size == 10;
        assert_true(log_ends_good(ends.words, size, GCI) == whole);
    }
    assert_null(log_ends_find(ends.words, ends.size, 5));
    node_mask_add(&gone, 144);
    node_mask_add(&gone, 5);
    log_ends_cut(&ends, &gone);
    assert_int_equal(ends.size, 6 + 8);
    assert_true(log_ends_good(ends.words, ends.size, GCI));
    assert_null(log_ends_find(ends.words, ends.size, 144));
    assert_int_equal(log_ends_find(ends.words, ends.size, 7)[LOG_ENDS_ENTRY_HEAD + 2], 7001);
    memcpy(ends.words + ends.size, ends.words, 6 * 4); /* A node twice. */
    assert_false(log_ends_good(ends.words, ends.size + 6, GCI));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),      cmocka_unit_test(test_former_layout),
        cmocka_unit_test(test_layout_4),     cmocka_unit_test(test_layout_3),
        cmocka_unit_test(test_judged_lists), cmocka_unit_test(test_lists_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
