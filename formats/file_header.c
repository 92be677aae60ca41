/* file_header.c -- seals and checks the header of a data node's files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "formats/file_header.h"
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

const char *file_kind_name(uint32_t kind)
{
    static const char *const names[FILE_KIND_COUNT] = {
        "unknown file", "system file", "redo log",   "checkpoint control file",
        "checkpoint",   "schema file", "schema log", "data file",
        "undo log",     "backup",
    };
    return kind < FILE_KIND_COUNT ? names[kind] : names[0];
}

uint32_t file_kind_format(uint32_t kind)
{
    static const uint8_t formats[FILE_KIND_COUNT] = {
        [FILE_KIND_SCHEMA] = 2, /* Columns that were added, and what that does to all rows. */
    };
    return kind < FILE_KIND_COUNT && formats[kind] != 0 ? formats[kind] : 1u;
}

static uint64_t checksum_of(const struct file_header *header)
{
    return XXH3_64bits(header, offsetof(struct file_header, checksum));
}

void file_header_seal(struct file_header *header)
{
    header->magic = FILE_HEADER_MAGIC;
    header->version = file_kind_format(header->kind);
    memset(header->reserved, 0, sizeof(header->reserved));
    header->checksum = checksum_of(header);
}

static enum file_verdict compare(const struct file_header *header,
                                 const struct file_expected *expected, char *why, size_t why_size)
{
    if (header->cluster_id != expected->cluster_id) {
        snprintf(why, why_size,
                 "it belongs to another cluster (node %u of %llu, this is node %u of %llu)",
                 header->node, (unsigned long long)header->cluster_id, expected->node,
                 (unsigned long long)expected->cluster_id);
        return FILE_OTHER_CLUSTER;
    }
    if (header->node != expected->node) {
        snprintf(why, why_size, "it belongs to node %u, this is node %u", header->node,
                 expected->node);
        return FILE_OTHER_NODE;
    }
    if (header->kind != expected->kind) {
        snprintf(why, why_size, "it is a %s, expected was a %s", file_kind_name(header->kind),
                 file_kind_name(expected->kind));
        return FILE_OTHER_KIND;
    }
    if (header->instance != expected->instance || header->instance2 != expected->instance2) {
        snprintf(why, why_size, "it is %s %u.%u, expected was %u.%u", file_kind_name(header->kind),
                 header->instance, header->instance2, expected->instance, expected->instance2);
        return FILE_OTHER_KIND;
    }
    return FILE_GOOD;
}

const char *file_foreign_advice(enum file_verdict verdict)
{
    if (verdict != FILE_OTHER_CLUSTER && verdict != FILE_OTHER_NODE) return "";
    if (verdict == FILE_OTHER_CLUSTER)
        return ". The cluster's id comes from the management server: if its directory was lost or "
               "is another one, start ndb_mgmd with --initial --cluster-id and the id of the file; "
               "else correct DataDir or FileSystemPath, or remove the directory by hand (--initial "
               "does not)";
    return ". So the directory is taken for somebody else's, and --initial does not remove it "
           "either: correct DataDir or FileSystemPath, or remove the directory by hand";
}

/*
 * Magic and checksum come before the fields: damage must not be told as "another cluster". They
 * keep their place in every later format, so that a file of another one is known as such.
 */
enum file_verdict file_header_check(const void *bytes, size_t size,
                                    const struct file_expected *expected,
                                    struct file_header *header, char *why, size_t why_size)
{
    struct file_header found;
    memset(header, 0, sizeof(*header));
    if (why_size > 0) why[0] = 0;
    if (size < sizeof(found)) {
        snprintf(why, why_size, "it is damaged: %zu bytes are too short for a header", size);
        return FILE_DAMAGED;
    }
    memcpy(&found, bytes, sizeof(found));
    if (found.magic != FILE_HEADER_MAGIC) {
        snprintf(why, why_size, "it does not begin as a file of a data node (first word 0x%08x)",
                 found.magic);
        return FILE_NOT_OURS;
    }
    if (found.checksum != checksum_of(&found) || found.version == 0) {
        snprintf(why, why_size, "its header is damaged (checksum %016llx, computed %016llx)",
                 (unsigned long long)found.checksum, (unsigned long long)checksum_of(&found));
        return FILE_DAMAGED;
    }
    if (found.version != file_kind_format(found.kind)) {
        snprintf(why, why_size, "it has format number %u, this program reads %u", found.version,
                 file_kind_format(found.kind));
        return FILE_OTHER_FORMAT;
    }
    enum file_verdict verdict = compare(&found, expected, why, why_size);
    if (verdict == FILE_GOOD) *header = found;
    return verdict;
}
