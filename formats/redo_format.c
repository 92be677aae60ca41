/* redo_format.c -- seals and verifies redo pages, takes records out of them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "formats/redo_format.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define RECORD_TAG 0xD5u

static_assert(sizeof(struct redo_page_head) == REDO_PAGE_HEAD * 4u,
              "the page's head has no padding");

static const char *const fault_names[REDO_FAULT_COUNT] = {
    [REDO_GOOD] = "good",
    [REDO_EMPTY] = "nothing was written here",
    [REDO_NO_PAGE] = "no page begins here",
    [REDO_OTHER_VERSION] = "format of another number",
    [REDO_MALFORMED] = "page head is malformed",
    [REDO_CUT] = "page is cut off",
    [REDO_BAD_CHECK] = "checksum does not match",
    [REDO_OTHER_CLUSTER] = "belongs to another cluster",
    [REDO_OTHER_NODE] = "belongs to another node",
    [REDO_OTHER_PART] = "belongs to another log part",
    [REDO_OTHER_SHAPE] = "was written with another number or size of log files",
    [REDO_OTHER_PLACE] = "page belongs to another file or offset",
    [REDO_NOT_NEXT] = "page does not continue the log",
    [REDO_BAD_RECORD] = "record is malformed",
    [REDO_LOST_START] = "the log does not reach back to the checkpoints",
    [REDO_FORGOTTEN] = "the log is needed over more starts than are remembered",
    [REDO_AHEAD] = "the log is ahead of D1/sysfile.0 and D1/sysfile.1: they are of an earlier time",
    [REDO_BAD_SIZE] = "file has another size",
    [REDO_MISSING] = "file is missing",
    [REDO_OTHER_LIFE] = "belongs to a former life of this node",
};

const char *redo_fault_name(enum redo_fault fault)
{
    return fault < REDO_FAULT_COUNT ? fault_names[fault] : "unknown fault";
}

void redo_fault_say(enum redo_fault fault, uint32_t version, char text[REDO_FAULT_SIZE])
{
    if (fault == REDO_OTHER_VERSION && version != 0)
        snprintf(text, REDO_FAULT_SIZE, "format number %u, this program reads %u", version,
                 REDO_VERSION);
    else
        snprintf(text, REDO_FAULT_SIZE, "%s", redo_fault_name(fault));
}

static uint64_t page_check(const uint32_t *page, uint32_t blocks)
{
    struct redo_page_head head;
    memcpy(&head, page, sizeof head);
    head.check_lo = head.check_hi = 0;
    uint64_t seed = XXH3_64bits(&head, sizeof head);
    size_t size = (size_t)(blocks * REDO_BLOCK_WORDS - REDO_PAGE_HEAD) * 4u;
    return XXH3_64bits_withSeed(page + REDO_PAGE_HEAD, size, seed);
}

void redo_page_seal(uint32_t *page)
{
    struct redo_page_head *head = (struct redo_page_head *)(void *)page;
    uint32_t blocks = redo_blocks(head->words);
    memset(page + head->words, 0, (size_t)(blocks * REDO_BLOCK_WORDS - head->words) * 4u);
    head->magic = REDO_MAGIC;
    head->version = REDO_VERSION;
    uint64_t check = page_check(page, blocks);
    head->check_lo = (uint32_t)check;
    head->check_hi = (uint32_t)(check >> 32);
}

static enum redo_fault no_page(const uint32_t *page, uint32_t words)
{
    for (uint32_t i = 0; i < words && i < REDO_BLOCK_WORDS; i++) {
        if (page[i] != 0) return REDO_NO_PAGE;
    }
    return REDO_EMPTY;
}

static enum redo_fault place_check(const struct redo_page_head *head,
                                   const struct redo_place *place)
{
    if (place->node != 0) {
        if ((head->cluster_lo | (uint64_t)head->cluster_hi << 32) != place->cluster)
            return REDO_OTHER_CLUSTER;
        if (head->node != place->node) return REDO_OTHER_NODE;
        if (head->part != place->part) return REDO_OTHER_PART;
        if (head->files != place->files || head->file_blocks != place->file_blocks)
            return REDO_OTHER_SHAPE;
    }
    return head->file == place->file && head->block == place->block ? REDO_GOOD : REDO_OTHER_PLACE;
}

enum redo_fault redo_page_verify(const uint32_t *page, uint32_t words,
                                 const struct redo_place *place)
{
    struct redo_page_head head;
    if (words < REDO_BLOCK_WORDS) return REDO_CUT;
    memcpy(&head, page, sizeof head);
    if (head.magic != REDO_MAGIC) return no_page(page, words);
    if (head.words < REDO_PAGE_HEAD || head.words > REDO_PAGE_WORDS) return REDO_MALFORMED;
    if (head.first != 0 && (head.first < REDO_PAGE_HEAD || head.first >= head.words))
        return REDO_MALFORMED;
    uint32_t blocks = redo_blocks(head.words);
    if (blocks * REDO_BLOCK_WORDS > words) return REDO_CUT;
    if (page_check(page, blocks) != redo_check(&head)) return REDO_BAD_CHECK;
    if (head.version != REDO_VERSION) return REDO_OTHER_VERSION;
    if (redo_lsn(&head) == 0 || head.gci_before > head.gci_max) return REDO_MALFORMED;
    return place_check(&head, place);
}

struct redo_chain redo_chain_at(const struct redo_page_head *head)
{
    return (struct redo_chain){
        .lsn = redo_lsn(head), .check = redo_check(head), .incarnation = head->incarnation};
}

bool redo_chain_next(struct redo_chain *chain, const struct redo_page_head *head)
{
    if (redo_lsn(head) <= chain->lsn || head->incarnation < chain->incarnation) return false;
    if ((head->prev_lo | (uint64_t)head->prev_hi << 32) != chain->check) return false;
    *chain = redo_chain_at(head);
    return true;
}

void redo_record_head_put(const struct redo_record *record, uint32_t *out)
{
    out[0] = RECORD_TAG << 24 | record->kind << 16 | (REDO_RECORD_HEAD + record->pair_words);
    out[1] = record->table_id << 16 | record->fragment_id;
    out[2] = record->version;
    out[3] = record->gci_hi;
    out[4] = record->gci_lo;
    out[5] = record->row;
    out[6] = record->hash;
}

static bool pairs_valid(const uint32_t *pairs, uint32_t words)
{
    for (uint32_t at = 0; at < words;) {
        uint32_t value = ((pairs[at] & 0xFFFFu) + 3u) / 4u;
        if (value > words - at - 1u) return false;
        at += 1u + value;
    }
    return true;
}

/* The whole extent of a record by its first word, 0 when no record begins so. */
static uint32_t record_extent(uint32_t first)
{
    uint32_t kind = first >> 16 & 0xFFu;
    uint32_t words = first & 0xFFFFu;
    if (first >> 24 != RECORD_TAG || kind < REDO_INSERT || kind > REDO_DELETE) return 0;
    return words < REDO_RECORD_HEAD || words > REDO_RECORD_WORDS_MAX ? 0 : words;
}

static void record_head_get(const uint32_t *from, struct redo_record *record)
{
    *record = (struct redo_record){
        .kind = from[0] >> 16 & 0xFFu,
        .table_id = from[1] >> 16,
        .fragment_id = from[1] & 0xFFFFu,
        .version = from[2],
        .gci_hi = from[3],
        .gci_lo = from[4],
        .row = from[5],
        .hash = from[6],
        .pair_words = (from[0] & 0xFFFFu) - REDO_RECORD_HEAD,
        .pairs = from + REDO_RECORD_HEAD,
    };
}

bool redo_record_open(const uint32_t *from, uint32_t words, struct redo_record *record)
{
    if (words < REDO_RECORD_HEAD || record_extent(from[0]) != words) return false;
    record_head_get(from, record);
    if (record->kind == REDO_DELETE && record->pair_words != 0) return false;
    return pairs_valid(record->pairs, record->pair_words);
}

void redo_reader_init(struct redo_reader *reader)
{
    reader->page = NULL;
    reader->at = reader->end = reader->have = reader->started = reader->incarnation = 0;
}

bool redo_reader_page(struct redo_reader *reader, const uint32_t *page)
{
    struct redo_page_head head;
    memcpy(&head, page, sizeof head);
    /*
     * Where a log has gone on after a crash, the record before may never have been finished. A node
     * that comes back to a running cluster goes on in the same incarnation; then its first page
     * shows it: the rest of a record would stand in front of the others, and in a page that has
     * nothing there is no rest. Such a page is never written in the middle of a record: it is what
     * a save writes that finds nothing new.
     */
    if (head.incarnation != reader->incarnation || head.first == REDO_PAGE_HEAD ||
        head.words == REDO_PAGE_HEAD)
        reader->have = 0;
    bool skip = !reader->started;
    reader->started = reader->started || head.first != 0;
    reader->incarnation = head.incarnation;
    reader->page = page;
    reader->at = REDO_PAGE_HEAD;
    reader->end = head.words;
    if (skip) {
        reader->at = head.first != 0 ? head.first : head.words;
        return true;
    }
    uint32_t content = head.words - REDO_PAGE_HEAD;
    uint32_t rest = reader->have > 0 ? (reader->buffer[0] & 0xFFFFu) - reader->have : 0;
    uint32_t first = rest < content ? REDO_PAGE_HEAD + rest : 0;
    return head.first == first;
}

int redo_reader_next(struct redo_reader *reader, struct redo_record *record)
{
    uint32_t available = reader->end - reader->at;
    const uint32_t *from = reader->page + reader->at;
    if (available == 0) return 0;
    uint32_t extent = record_extent(reader->have > 0 ? reader->buffer[0] : from[0]);
    if (extent == 0) return -1;
    uint32_t take = extent - reader->have < available ? extent - reader->have : available;
    reader->at += take;
    if (reader->have == 0 && take == extent) return redo_record_open(from, extent, record) ? 1 : -1;
    memcpy(reader->buffer + reader->have, from, (size_t)take * 4u);
    reader->have += take;
    if (reader->have < extent) return 0;
    reader->have = 0;
    return redo_record_open(reader->buffer, extent, record) ? 1 : -1;
}

bool redo_reader_unfinished(const struct redo_reader *reader, struct redo_record *record)
{
    if (reader->have < REDO_RECORD_HEAD) return false;
    record_head_get(reader->buffer, record);
    return true;
}
