/* ndb_print_schema_file.c -- prints and verifies schema files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "formats/schema_format.h"
#include "tools/file_tool.h"

/* Words of an encoded definition: columns, then sizes of the names of database and table, then
 * these. */
#define DEF_COLUMNS 7u
#define DEF_SIZES   10u
#define DEF_NAMES   11u

struct schema {
    const char *name;
    const uint8_t *bytes;
    size_t size;
    struct image_head head;
    uint32_t *words; /* The stream. */
};

static bool fault(const struct schema *schema, uint64_t offset, const char *text)
{
    file_tool_fault(schema->name, offset, text);
    return false;
}

static bool head_good(struct schema *schema)
{
    struct file_header header;
    uint64_t hash;
    if (!file_tool_header(schema->name, schema->bytes, schema->size, FILE_KIND_SCHEMA, &header))
        return false;
    memcpy(&schema->head, schema->bytes, sizeof(schema->head));
    memcpy(&hash, schema->bytes + IMAGE_HEAD_HASH_AT, sizeof(hash));
    if (schema->size < IMAGE_HEAD_BYTES) return fault(schema, schema->size, "it ends too early");
    if (XXH3_64bits(schema->bytes, IMAGE_HEAD_HASH_AT) != hash)
        return fault(schema, FILE_HEADER_BYTES, "the head does not have its checksum");
    uint64_t bytes = image_bytes(&schema->head);
    if (bytes == 0) return fault(schema, FILE_HEADER_BYTES, "the head cannot be");
    if (schema->size < bytes) return fault(schema, schema->size, "it ends too early");
    return true;
}

/* Checks the pieces and puts their words together. */
static bool pieces_good(struct schema *schema)
{
    const struct image_head *head = &schema->head;
    uint64_t chain = head->header.sequence;
    uint64_t done = 0;
    for (uint32_t i = 0; i < head->pieces; i++) {
        uint64_t at = IMAGE_HEAD_BYTES + (uint64_t)i * IMAGE_PIECE_BYTES;
        const struct image_piece *piece =
            (const struct image_piece *)(const void *)(schema->bytes + at);
        uint64_t left = head->words - done;
        uint32_t words = left < IMAGE_PIECE_WORDS ? (uint32_t)left : IMAGE_PIECE_WORDS;
        if (piece->number != i || piece->words != words ||
            piece->sequence != head->header.sequence ||
            piece->hash != image_piece_hash(piece, image_piece_bytes(words), chain))
            return fault(schema, at, "a piece is damaged or of another image");
        memcpy(schema->words + done, piece + 1, (size_t)words * 4u);
        chain = piece->hash;
        done += words;
    }
    if (chain != head->chain)
        return fault(schema, FILE_HEADER_BYTES, "the pieces are of another image");
    return true;
}

/* What a definition says of its table; the rest is the dictionary's to check. */
static void print_table(const uint32_t *record)
{
    const uint32_t *def = record + IMAGE_RECORD_WORDS;
    uint32_t words = record[3];
    printf("  table %u version %u: ", record[0], record[1]);
    if (words == 0) {
        printf("dropped\n");
        return;
    }
    uint32_t database = words < DEF_NAMES ? 0 : def[DEF_SIZES] & 0xFFFFu;
    uint32_t table = words < DEF_NAMES ? 0 : def[DEF_SIZES] >> 16;
    uint32_t table_at = DEF_NAMES + (database + 3u) / 4u;
    if (words < DEF_NAMES || table_at + (table + 3u) / 4u > words) {
        printf("its definition cannot be\n");
        return;
    }
    const char *names = (const char *)(const void *)def;
    printf("%.*s.%.*s, %u columns, %u fragments, %u replicas\n", (int)database,
           names + (size_t)DEF_NAMES * 4u, (int)table, names + (size_t)table_at * 4u,
           def[DEF_COLUMNS], record[4] < 2u ? 0 : def[words], record[4] < 2u ? 0 : def[words + 1u]);
}

/* Walks the records; prints them when they are wanted. */
static bool records_good(const struct schema *schema, bool print)
{
    uint64_t at = 0;
    uint32_t count = 0;
    uint32_t last = 0;
    for (; at < schema->head.words; count++) {
        const uint32_t *record = schema->words + at;
        uint64_t left = schema->head.words - at;
        bool good = left >= IMAGE_RECORD_WORDS && record[0] > last &&
                    IMAGE_RECORD_WORDS + (uint64_t)record[3] + record[4] <= left;
        if (!good) return fault(schema, IMAGE_HEAD_BYTES, "a table's record cannot be");
        if (print) print_table(record);
        last = record[0];
        at += IMAGE_RECORD_WORDS + (uint64_t)record[3] + record[4];
    }
    if (count != schema->head.records)
        return fault(schema, FILE_HEADER_BYTES, "the head names another number of tables");
    return true;
}

static bool print_file(const char *name, bool check)
{
    struct schema schema = {.name = name};
    uint8_t *bytes = file_tool_read(name, IMAGE_HEAD_BYTES, &schema.size);
    schema.bytes = bytes;
    bool good = bytes != NULL && head_good(&schema);
    if (good) {
        schema.words = malloc((size_t)schema.head.words * 4u + 4u);
        good = schema.words != NULL && pieces_good(&schema) && records_good(&schema, false);
    }
    if (good && !check) {
        const struct file_header *header = &schema.head.header;
        printf("%s: schema file %u, cluster %016llx, node %u, sequence %llu, %u table numbers\n",
               name, header->instance, (unsigned long long)header->cluster_id, header->node,
               (unsigned long long)header->sequence, schema.head.records);
        (void)records_good(&schema, true);
    }
    free(schema.words);
    free(bytes);
    return good;
}

int main(int argc, char **argv)
{
    return file_tool_main(
        argc, argv,
        "Prints and verifies schema files (D1/schema.0 and .1 of a data node): the tables, and the "
        "versions of table numbers that were used before.\vExit code 0: all files are good; 1: a "
        "file is damaged or could not be read; 2: wrong arguments.",
        print_file);
}
