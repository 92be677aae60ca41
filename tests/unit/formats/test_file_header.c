/* test_file_header.c -- the header of a node's files: each flipped bit, each wrong owner. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include <cmocka.h>
#include "formats/file_header.h"

static void test_file_header(void **state)
{
    (void)state;
    struct file_expected expected = {
        .kind = FILE_KIND_REDO, .node = 3, .cluster_id = 77, .instance = 2};
    struct file_header header = {
        .kind = FILE_KIND_REDO, .node = 3, .cluster_id = 77, .instance = 2, .sequence = 12};
    struct file_header found;
    char why[200];
    file_header_seal(&header);
    assert_int_equal(file_header_check(&header, sizeof header, &expected, &found, why, sizeof why),
                     FILE_GOOD);
    assert_int_equal(found.sequence, 12);
    assert_int_equal(file_header_check(&header, 63, &expected, &found, why, sizeof why),
                     FILE_DAMAGED);
    for (uint32_t bit = 0; bit < sizeof header * 8; bit++) { /* Each flipped bit is seen. */
        struct file_header bad = header;
        ((uint8_t *)&bad)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        enum file_verdict verdict =
            file_header_check(&bad, sizeof bad, &expected, &found, why, sizeof why);
        assert_int_equal(verdict, bit < 32 ? FILE_NOT_OURS : FILE_DAMAGED);
        assert_true(strlen(why) > 10);
    }
    static const struct {
        uint32_t field;
        enum file_verdict verdict;
        const char *says;
    } wrong[] = {{0, FILE_OTHER_CLUSTER, "another cluster"},
                 {1, FILE_OTHER_NODE, "node 4"},
                 {2, FILE_OTHER_KIND, "schema file"},
                 {3, FILE_OTHER_KIND, "expected was 2.0"}};
    for (uint32_t i = 0; i < 4; i++) {
        struct file_header other = header;
        if (wrong[i].field == 0) other.cluster_id = 78;
        if (wrong[i].field == 1) other.node = 4;
        if (wrong[i].field == 2) other.kind = FILE_KIND_SCHEMA;
        if (wrong[i].field == 3) other.instance = 5;
        file_header_seal(&other);
        assert_int_equal(
            file_header_check(&other, sizeof other, &expected, &found, why, sizeof why),
            wrong[i].verdict);
        assert_non_null(strstr(why, wrong[i].says));
        assert_int_equal(found.magic, 0);
    }
    uint8_t zeros[64] = {0};
    assert_int_equal(file_header_check(zeros, sizeof zeros, &expected, &found, why, sizeof why),
                     FILE_NOT_OURS);
}

/* A file of an older format is refused as one of a newer is, and told by both numbers. */
static void test_formats(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {FILE_KIND_SCHEMA, FILE_KIND_SYSTEM};
    for (uint32_t i = 0; i < 4; i++) {
        const struct file_expected expected = {.kind = kinds[i / 2], .node = 1};
        struct file_header header = {.kind = kinds[i / 2], .node = 1};
        struct file_header found;
        char why[200];
        char says[80];
        uint32_t own = file_kind_format(header.kind);
        file_header_seal(&header);
        assert_int_equal(header.version, own);
        assert_int_equal(own, header.kind == FILE_KIND_SCHEMA ? 2 : 1);
        header.version = i % 2 == 0 ? own + 1 : own - 1;
        header.checksum = XXH3_64bits(&header, offsetof(struct file_header, checksum));
        enum file_verdict verdict =
            file_header_check(&header, sizeof header, &expected, &found, why, sizeof why);
        if (header.version == 0) {
            assert_int_equal(verdict, FILE_DAMAGED);
            continue;
        }
        assert_int_equal(verdict, FILE_OTHER_FORMAT);
        snprintf(says, sizeof says, "format number %u, this program reads %u", header.version, own);
        assert_non_null(strstr(why, says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_file_header),
                                       cmocka_unit_test(test_formats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
