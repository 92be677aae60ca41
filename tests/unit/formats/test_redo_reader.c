/* test_redo_reader.c -- ndb_redo_log_reader on a file of three pages: good, with a flipped bit, cut
 * off. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "formats/redo_format.h"
#include "tests/unit/support/temp_directory.h"

static uint32_t words[16u * REDO_BLOCK_WORDS];
static char directory[TEMP_DIRECTORY_SIZE];
static char name[64];
static char output[65536];

/* Three pages: 2 blocks, 1 block, 1 block; one record of each kind, the first one over a page's
 * end. */
static void make_file(void)
{
    static const uint32_t page_words[3] = {REDO_PAGE_HEAD + 1500u, REDO_PAGE_HEAD + 600u,
                                           REDO_PAGE_HEAD + 7u};
    static const uint32_t first[3] = {REDO_PAGE_HEAD, REDO_PAGE_HEAD + 593u, REDO_PAGE_HEAD};
    static uint32_t stream[3000];
    uint32_t at = 0;
    memset(words, 0, sizeof words);
    const struct redo_record records[3] = {
        {.kind = REDO_INSERT, .table_id = 7, .gci_hi = 41, .row = 1, .pair_words = 2086},
        {.kind = REDO_DELETE, .table_id = 7, .gci_hi = 42, .row = 2},
        {.kind = REDO_UPDATE, .table_id = 8, .gci_hi = 43, .row = 3},
    };
    for (uint32_t i = 0; i < 3; i++) {
        redo_record_head_put(&records[i], stream + at);
        at += REDO_RECORD_HEAD + records[i].pair_words;
    }
    uint32_t block = 0;
    uint32_t from = 0;
    const struct redo_page_head *before = NULL;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t *page = words + (size_t)block * REDO_BLOCK_WORDS;
        struct redo_page_head *head = (struct redo_page_head *)(void *)page;
        *head = (struct redo_page_head){.node = 1,
                                        .files = 3,
                                        .file_blocks = 16,
                                        .block = block,
                                        .incarnation = 1,
                                        .words = page_words[i],
                                        .first = first[i],
                                        .gci_max = 43,
                                        .lsn_lo = 1u + i};
        if (before != NULL) {
            head->prev_lo = before->check_lo;
            head->prev_hi = before->check_hi;
        }
        memcpy(page + REDO_PAGE_HEAD, stream + from, (page_words[i] - REDO_PAGE_HEAD) * 4u);
        from += page_words[i] - REDO_PAGE_HEAD;
        redo_page_seal(page);
        block += redo_blocks(page_words[i]);
        before = head;
    }
    assert_int_equal(from, at);
}

static int run(const char *arguments, uint32_t bytes)
{
    char command[256];
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(words, 1, bytes, file), bytes);
    fclose(file);
    snprintf(command, sizeof command, "%s %s %s", NDB_REDO_LOG_READER, arguments, name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    output[fread(output, 1, sizeof output - 1u, pipe)] = 0;
    return WEXITSTATUS(pclose(pipe));
}

static void test_reader(void **state)
{
    (void)state;
    make_file();
    assert_int_equal(run("--records", sizeof words), 0);
    assert_non_null(strstr(output, "insert table 7"));
    assert_non_null(
        strstr(output, "delete table 7 version 0 fragment 0, epoch 42/0 of life 0, row 2"));
    assert_non_null(strstr(output, "3 pages, 3 records, 0 damaged"));
    assert_int_equal(run("--records --format=json", sizeof words), 0);
    assert_non_null(strstr(output, "\"kind\":\"update\",\"table\":8"));
    assert_non_null(strstr(output, "{\"sum\":{\"pages\":3,\"records\":3,\"damaged\":0}}"));
    words[2u * REDO_BLOCK_WORDS + 100u] ^= 1u;
    assert_int_equal(run("--check", sizeof words), 1);
    assert_non_null(strstr(output, "offset 8192: checksum does not match"));
    assert_non_null(strstr(output, "2 pages, 1 records, 1 damaged"));
    assert_int_equal(run("--check", 3u * REDO_BLOCK_BYTES - 7u), 1);
    assert_non_null(strstr(output, "file is cut off"));
    assert_int_equal(run("--check --format=xml", 0), 2);
}

/* A file in which nothing was written yet is in order; one with anything else, or nothing at all,
 * was not meant. */
static void test_files_that_are_no_log(void **state)
{
    (void)state;
    memset(words, 0, sizeof words);
    assert_int_equal(run("--check", sizeof words), 0);
    assert_non_null(strstr(output, "0 pages, 0 records, 0 damaged"));
    memset(words, 'x', sizeof words);
    assert_int_equal(run("--check", sizeof words), 1);
    assert_non_null(strstr(output, "no file of a redo log"));
    assert_int_equal(run("--check", 77), 1);
    assert_non_null(strstr(output, "no file of a redo log"));
    assert_null(strstr(output, "cut off"));
    assert_int_equal(run("--check", 0), 1);
    assert_non_null(strstr(output, "no file of a redo log"));
}

static int setup(void **state)
{
    (void)state;
    temp_directory_make(directory);
    snprintf(name, sizeof name, "%s/file0", directory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    temp_directory_remove(directory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reader),
                                       cmocka_unit_test(test_files_that_are_no_log)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
