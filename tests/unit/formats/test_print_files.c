/* test_print_files.c -- ndb_print_sys_file and ndb_print_schema_file on good and damaged files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <cmocka.h>
#include "formats/schema_format.h"
#include "formats/sysfile_format.h"
#include "tests/unit/support/temp_directory.h"

static char directory[TEMP_DIRECTORY_SIZE];
static char name[64];
static char output[16384];
static _Alignas(8) uint8_t bytes[IMAGE_HEAD_BYTES + 2u * IMAGE_PIECE_BYTES];
static size_t size;

static int setup(void **state)
{
    (void)state;
    temp_directory_make(directory);
    snprintf(name, sizeof name, "%s/file", directory);
    return 0;
}
static int teardown(void **state)
{
    (void)state;
    temp_directory_remove(directory);
    return 0;
}

static int run(const char *tool, const char *option)
{
    char command[512];
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    snprintf(command, sizeof command, "%s %s %s", tool, option, name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    output[fread(output, 1, sizeof output - 1u, pipe)] = 0;
    return WEXITSTATUS(pclose(pipe));
}
static void assert_told(const char *text)
{
    if (strstr(output, text) == NULL) fail_msg("\"%s\" is not in: %s", text, output);
}

/* Every flipped bit, every cut and every byte too many (where none may be) is seen, and nothing of
 * the file printed. */
static void damage(const char *tool, const uint32_t *at, uint32_t count)
{
    assert_int_equal(run(tool, "--check"), 0);
    assert_string_equal(output, "");
    for (uint32_t i = 0; i < count; i++) {
        bytes[at[i]] ^= 4;
        assert_int_equal(run(tool, ""), 1);
        assert_told(": byte ");
        assert_null(strstr(output, "cluster 0"));
        bytes[at[i]] ^= 4;
    }
    size -= 100;
    assert_int_equal(run(tool, ""), 1);
    assert_told("it ends too early");
    size += 101;
    if (strcmp(tool, NDB_PRINT_SCHEMA_FILE) == 0) {
        assert_int_equal(run(tool, ""), 0); /* Room for a longer image. */
    } else {
        assert_int_equal(run(tool, ""), 1);
        assert_told("it is too long");
    }
    size = 0;
    assert_int_equal(run(tool, ""), 1);
}

static void test_system_file(void **state)
{
    static const uint32_t at[] = {0, 5, 13, 20, 30, 63, 64, 70, 900, 2000, 4087, 4088, 4095};
    (void)state;
    struct file_header header = {.kind = FILE_KIND_SYSTEM,
                                 .node = 3,
                                 .cluster_id = 77,
                                 .sequence = 12,
                                 .instance = 1,
                                 .page_bytes = SYSFILE_BLOCK};
    static const uint32_t lsn[][2] = {{9, 0}, {1, 1}};
    struct sysfile content = {.layout = SYSFILE_LAYOUT,
                              .incarnation = 5,
                              .gci = 1234,
                              .ended_count = 1,
                              .ended = {{4, 1000}},
                              .ldm_count = 2};
    content.ends.size = log_ends_entry(content.ends.words, 3, content.gci, lsn, 2);
    memset(content.nodegroup, SYSFILE_NO_GROUP, sizeof content.nodegroup);
    content.nodegroup[3] = 1;
    node_mask_add(&content.members, 3);
    node_mask_add(&content.members, 144);
    file_header_seal(&header);
    size = sysfile_seal(bytes, &header, &content);
    assert_int_equal(size, SYSFILE_BLOCK);
    assert_int_equal(run(NDB_PRINT_SYS_FILE, ""), 0);
    assert_told("node 3, write 12");
    assert_told("incarnation 5, restorable up to GCI 1234");
    assert_told("members of the incarnation: 3 144");
    assert_told("node groups: 3=1");
    assert_told("incarnations up to 4 ended at GCI 1000");
    assert_told("node 3, log part 1: durable up to page 4294967297");
    damage(NDB_PRINT_SYS_FILE, at, sizeof at / sizeof at[0]);
}

/* Table 2 "db.t" and a number that was used; `filler` words of definition make a second piece. */
static void make_schema(uint32_t filler)
{
    static uint32_t words[2u * IMAGE_PIECE_WORDS];
    uint32_t def = 13u + filler;
    const uint32_t record[] = {2, 7, 4, def, 3, 0, def, 2, 7, 0, 0, 0, 5, 0, 0, 2 | 1u << 16};
    uint32_t count = sizeof record / sizeof record[0];
    memset(bytes, 0, sizeof bytes);
    memset(words, 0, sizeof words);
    memcpy(words, record, sizeof record);
    memcpy(words + count, "db\0\0t", 5);
    const uint32_t rest[] = {8, 2, 3840, 9, 1u << 24 | 3u, 0, 0, 0};
    memcpy(words + 5u + def, rest, sizeof rest);
    count = 5u + def + 8u;
    struct image_head *head = (struct image_head *)(void *)bytes;
    *head = (struct image_head){.header = {.kind = FILE_KIND_SCHEMA,
                                           .node = 3,
                                           .cluster_id = 77,
                                           .sequence = 40,
                                           .page_bytes = IMAGE_BLOCK_BYTES},
                                .chain = 40,
                                .words = count,
                                .pieces = (count + IMAGE_PIECE_WORDS - 1u) / IMAGE_PIECE_WORDS,
                                .records = 2};
    file_header_seal(&head->header);
    for (uint32_t i = 0; i < head->pieces; i++) {
        struct image_piece *piece =
            (struct image_piece *)(void *)(bytes + IMAGE_HEAD_BYTES + i * IMAGE_PIECE_BYTES);
        uint32_t left = count - i * IMAGE_PIECE_WORDS;
        piece->sequence = 40;
        piece->number = i;
        piece->words = left < IMAGE_PIECE_WORDS ? left : IMAGE_PIECE_WORDS;
        memcpy(image_words(piece), words + i * IMAGE_PIECE_WORDS, piece->words * 4u);
        head->chain = piece->hash =
            image_piece_hash(piece, image_piece_bytes(piece->words), head->chain);
    }
    uint64_t hash = XXH3_64bits(bytes, IMAGE_HEAD_HASH_AT);
    memcpy(bytes + IMAGE_HEAD_HASH_AT, &hash, sizeof hash);
    size = (size_t)image_bytes(head);
}

static void test_schema_file(void **state)
{
    static const uint32_t at[] = {0, 13, 63, 64, 75, 90, 1000, 4095, 4096, 4105, 4115, 4200, 8000};
    (void)state;
    for (uint32_t filler = 0; filler <= 40000; filler += 40000) {
        make_schema(filler);
        assert_int_equal(run(NDB_PRINT_SCHEMA_FILE, ""), 0);
        assert_told("node 3, sequence 40, 2 table numbers");
        assert_told("table 2 version 7: db.t, 5 columns, 8 fragments, 2 replicas");
        assert_told("table 9 version 16777219: dropped");
        damage(NDB_PRINT_SCHEMA_FILE, at, sizeof at / sizeof at[0]);
    }
}

static void test_other_files(void **state)
{
    (void)state;
    make_schema(0);
    assert_int_equal(run(NDB_PRINT_SYS_FILE, ""), 1);
    assert_told("it is a schema file, expected was a system file");
    assert_int_equal(run(NDB_PRINT_SCHEMA_FILE, "/nowhere/at/all 2>&1"), 1);
    assert_told("No such file");
    assert_int_equal(run(NDB_PRINT_SCHEMA_FILE, "--nothing 2>/dev/null"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_system_file),
        cmocka_unit_test(test_schema_file),
        cmocka_unit_test(test_other_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
