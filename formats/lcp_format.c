/* lcp_format.c -- makes and checks heads, blocks, rows, control files and names of checkpoints. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "formats/lcp_ctl.h"
#include "formats/lcp_data.h"
#include "formats/lcp_format.h"
#include "formats/lcp_list.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define SUM_FROM 12u /* Behind magic and sum, in everything that has a sum. */

const char *lcp_fault_text(enum lcp_fault fault)
{
    static const char *const texts[LCP_FAULT_COUNT] = {
        [LCP_GOOD] = "good",
        [LCP_NO_MAGIC] = "not a checkpoint file",
        [LCP_OTHER_FORMAT] = "format of another version",
        [LCP_CHECKSUM] = "checksum does not match",
        [LCP_OTHER_CLUSTER] = "of another cluster",
        [LCP_OTHER_NODE] = "of another node",
        [LCP_OTHER_TABLE] = "of another table, version or fragment",
        [LCP_OTHER_FILE] = "another file's content",
        [LCP_ORDER] = "parts in wrong order",
        [LCP_SIZE] = "impossible size",
        [LCP_TRUNCATED] = "ends too early",
        [LCP_TAIL] = "continues behind its end",
        [LCP_COMPRESSION] = "cannot be decompressed",
        [LCP_COUNTS] = "counts do not match",
        [LCP_ROW] = "row does not fit its table",
        [LCP_LACKING] = "rows are not there that a newer file counts on",
        [LCP_MISSING] = "missing",
        [LCP_STALE] = "not the one that D1/sysfile.0 and .1 name: of an earlier time, or life",
        [LCP_AHEAD] = "newer than D1/sysfile.0 and .1, which are of an earlier time",
        [LCP_OTHER_LIFE] = "belongs to a former life of this node",
    };
    return (uint32_t)fault < LCP_FAULT_COUNT ? texts[fault] : "unknown";
}

void lcp_fault_say(enum lcp_fault fault, uint32_t format, char text[LCP_FAULT_SIZE])
{
    if (fault == LCP_OTHER_FORMAT)
        snprintf(text, LCP_FAULT_SIZE, "format number %u, this program reads %u, of lists also %u",
                 format, LCP_FORMAT, LCP_LIST_FORMAT);
    else
        snprintf(text, LCP_FAULT_SIZE, "%s", lcp_fault_text(fault));
}

static uint64_t sum_of(const void *part, uint32_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed((const uint8_t *)part + SUM_FROM, size - SUM_FROM, seed);
}

static enum lcp_fault ident_check(const struct lcp_ident *have, const struct lcp_ident *want)
{
    if (want == NULL) return LCP_GOOD;
    if (have->cluster_lo != want->cluster_lo || have->cluster_hi != want->cluster_hi)
        return LCP_OTHER_CLUSTER;
    if (have->node != want->node) return LCP_OTHER_NODE;
    if (have->table != want->table || have->version != want->version ||
        have->fragment != want->fragment)
        return LCP_OTHER_TABLE;
    return LCP_GOOD;
}

/* --- Data files. --- */

uint64_t lcp_data_head_seal(struct lcp_data_head *head)
{
    head->magic = LCP_DATA_MAGIC;
    head->format = LCP_FORMAT;
    uint64_t sum = sum_of(head, sizeof *head, 0);
    head->sum_lo = (uint32_t)sum;
    head->sum_hi = (uint32_t)(sum >> 32);
    return sum;
}

uint64_t lcp_data_head_sum(const struct lcp_data_head *head)
{
    return u64_of(head->sum_lo, head->sum_hi);
}

enum lcp_fault lcp_data_head_check(const struct lcp_data_head *head, const struct lcp_ident *ident,
                                   uint32_t seq)
{
    if (head->magic != LCP_DATA_MAGIC) return LCP_NO_MAGIC;
    if (sum_of(head, sizeof *head, 0) != lcp_data_head_sum(head)) return LCP_CHECKSUM;
    if (head->format != LCP_FORMAT) return LCP_OTHER_FORMAT;
    enum lcp_fault fault = ident_check(&head->ident, ident);
    if (fault != LCP_GOOD) return fault;
    return seq != 0 && head->seq != seq ? LCP_OTHER_FILE : LCP_GOOD;
}

uint64_t lcp_block_seal(struct lcp_block_head *head, uint64_t seed)
{
    head->magic = LCP_BLOCK_MAGIC;
    uint64_t sum = sum_of(head, LCP_BLOCK_HEAD + head->size, seed);
    head->sum_lo = (uint32_t)sum;
    head->sum_hi = (uint32_t)(sum >> 32);
    return sum;
}

enum lcp_fault lcp_block_head_check(const struct lcp_block_head *head, uint32_t number)
{
    if (head->magic != LCP_BLOCK_MAGIC) return LCP_NO_MAGIC;
    if (head->size > LCP_RAW_MAX || head->raw > LCP_RAW_MAX || head->size == 0 ||
        head->raw % 4u != 0)
        return LCP_SIZE;
    if (head->number != number) return LCP_ORDER;
    switch (head->kind) {
    case LCP_BLOCK_PLAIN:
        return head->size == head->raw ? LCP_GOOD : LCP_SIZE;
    case LCP_BLOCK_ZSTD:
        return head->size < head->raw ? LCP_GOOD : LCP_SIZE;
    case LCP_BLOCK_END:
        return head->size == LCP_TOTALS && head->raw == LCP_TOTALS ? LCP_GOOD : LCP_SIZE;
    default:
        return LCP_SIZE;
    }
}

enum lcp_fault lcp_block_check(const struct lcp_block_head *head, uint64_t seed, uint64_t *sum)
{
    *sum = sum_of(head, LCP_BLOCK_HEAD + head->size, seed);
    return *sum == u64_of(head->sum_lo, head->sum_hi) ? LCP_GOOD : LCP_CHECKSUM;
}

uint64_t lcp_digest(uint64_t digest, uint64_t sum)
{
    return XXH3_64bits_withSeed(&sum, sizeof sum, digest);
}

static bool cursor_page(struct lcp_cursor *cursor, uint32_t word, struct lcp_item *item)
{
    uint32_t page = word & 0xFFFFFFu;
    bool more = (word >> 29 & 1u) != 0;
    bool delta = (word >> 28 & 1u) != 0;
    if ((word >> 24 & 0xFu) != 0) return false;
    if (more ? page != cursor->page || delta != cursor->delta : (int64_t)page <= cursor->page)
        return false;
    if (!more) {
        if (!lcp_cursor_page_whole(cursor)) return false;
        cursor->page = page;
        cursor->slot_next = 0;
        cursor->delta = delta;
        cursor->kept = false;
        cursor->pages++;
        cursor->deltas += delta ? 1u : 0u;
    }
    *item = (struct lcp_item){.is_page = true, .more = more, .delta = delta, .page = page};
    return true;
}

static enum lcp_fault cursor_kept(struct lcp_cursor *cursor, uint32_t word, struct lcp_item *item)
{
    *item = (struct lcp_item){.is_kept = true, .words = word >> 16 & 0x3FFFu};
    if ((word & 0xFFFFu) != 0 || item->words > (uint64_t)(cursor->end - cursor->at))
        return LCP_SIZE;
    if (cursor->page < 0 || !cursor->delta || cursor->kept) return LCP_ORDER;
    item->page = (uint32_t)cursor->page;
    item->pairs = cursor->at;
    cursor->at += item->words;
    cursor->kept = true;
    return LCP_GOOD;
}

bool lcp_cursor_next(struct lcp_cursor *cursor, struct lcp_item *item, enum lcp_fault *fault)
{
    *fault = LCP_GOOD;
    if (cursor->at == cursor->end) return false;
    uint32_t word = *cursor->at++;
    if (word >> 30 == 1) {
        if (!cursor_page(cursor, word, item)) *fault = LCP_ORDER;
        return *fault == LCP_GOOD;
    }
    if (word >> 30 == 3) {
        *fault = cursor_kept(cursor, word, item);
        return *fault == LCP_GOOD;
    }
    *fault = LCP_SIZE;
    if (word >> 30 != 2 || cursor->at == cursor->end) return false;
    *item = (struct lcp_item){
        .slot = word & 0xFFFFu, .words = word >> 16 & 0x3FFFu, .gci = *cursor->at++};
    if (item->words > (uint64_t)(cursor->end - cursor->at)) return false;
    *fault = LCP_ORDER;
    if (cursor->page < 0 || item->slot < cursor->slot_next || cursor->kept) return false;
    item->page = (uint32_t)cursor->page;
    item->pairs = cursor->at;
    cursor->at += item->words;
    cursor->slot_next = item->slot + 1u;
    cursor->rows++;
    *fault = LCP_GOOD;
    return true;
}

/* --- Control files. --- */

void lcp_ctl_seal(struct lcp_ctl *ctl)
{
    ctl->magic = LCP_CTL_MAGIC;
    ctl->format = LCP_FORMAT;
    uint64_t sum = sum_of(ctl, sizeof *ctl, 0);
    ctl->sum_lo = (uint32_t)sum;
    ctl->sum_hi = (uint32_t)(sum >> 32);
}

enum lcp_fault lcp_ctl_check(const struct lcp_ctl *ctl, const struct lcp_ident *ident,
                             uint32_t slot)
{
    if (ctl->magic != LCP_CTL_MAGIC) return LCP_NO_MAGIC;
    if (sum_of(ctl, sizeof *ctl, 0) != u64_of(ctl->sum_lo, ctl->sum_hi)) return LCP_CHECKSUM;
    if (ctl->format != LCP_FORMAT) return LCP_OTHER_FORMAT;
    enum lcp_fault fault = ident_check(&ctl->ident, ident);
    if (fault != LCP_GOOD) return fault;
    if (ctl->slot != slot || ctl->number % 2u != slot) return LCP_OTHER_FILE;
    if (ctl->file_count == 0 || ctl->file_count > LCP_FILES_MAX) return LCP_SIZE;
    for (uint32_t i = 0; i < ctl->file_count; i++) {
        if (ctl->file[i].seq != ctl->seq - (ctl->file_count - 1u - i)) return LCP_ORDER;
    }
    return LCP_GOOD;
}

/* --- Lists. --- */

void lcp_part_seal(struct lcp_part *part)
{
    part->magic = LCP_PART_MAGIC;
    part->format = LCP_LIST_FORMAT;
    uint64_t sum = sum_of(part, sizeof *part, 0);
    part->sum_lo = (uint32_t)sum;
    part->sum_hi = (uint32_t)(sum >> 32);
}

enum lcp_fault lcp_part_check(const struct lcp_part *part, const struct lcp_ident *ident,
                              uint32_t instance, uint32_t slot, uint32_t block)
{
    if (part->magic != LCP_PART_MAGIC) return LCP_NO_MAGIC;
    if (sum_of(part, sizeof *part, 0) != u64_of(part->sum_lo, part->sum_hi)) return LCP_CHECKSUM;
    if (part->format != LCP_FORMAT && part->format != LCP_LIST_FORMAT) return LCP_OTHER_FORMAT;
    if (ident != NULL &&
        (part->cluster_lo != ident->cluster_lo || part->cluster_hi != ident->cluster_hi))
        return LCP_OTHER_CLUSTER;
    if (ident != NULL && part->node != ident->node) return LCP_OTHER_NODE;
    if (instance != 0 && part->instance != instance) return LCP_OTHER_FILE;
    if (lcp_part_slot(part) != slot || part->number % 2u != slot) return LCP_OTHER_FILE;
    if (part->block != block) return LCP_ORDER;
    if (part->blocks <= block || part->count > LCP_PART_ENTRIES) return LCP_SIZE;
    return LCP_GOOD;
}

uint32_t lcp_part_chain(uint32_t check, const struct lcp_part *block)
{
    uint32_t next = (uint32_t)lcp_digest(check, u64_of(block->sum_lo, block->sum_hi));
    return next != 0 ? next : 1u;
}

/* --- Names: LCP/T<table>F<fragment>.<seq>.data, LCP/T<table>F<fragment>.ctl<slot>. --- */

static char *put_text(char *at, const char *text)
{
    size_t size = strlen(text);
    memcpy(at, text, size);
    return at + size;
}

static char *put_number(char *at, uint32_t number)
{
    char digits[10];
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10u);
        number /= 10u;
    } while (number > 0);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

static char *put_fragment(char *at, uint32_t table, uint32_t fragment)
{
    at = put_number(put_text(at, LCP_DIRECTORY "/T"), table);
    return put_number(put_text(at, "F"), fragment);
}

void lcp_data_name(char name[LCP_NAME_MAX], uint32_t table, uint32_t fragment, uint32_t seq)
{
    char *at = put_number(put_text(put_fragment(name, table, fragment), "."), seq);
    *put_text(at, ".data") = '\0';
}

void lcp_ctl_name(char name[LCP_NAME_MAX], uint32_t table, uint32_t fragment, uint32_t slot)
{
    *put_number(put_text(put_fragment(name, table, fragment), ".ctl"), slot) = '\0';
}

void lcp_part_name(char name[LCP_NAME_MAX], uint32_t instance, uint32_t slot)
{
    char *at = put_number(put_text(name, LCP_DIRECTORY "/part"), instance - 1u);
    *put_number(put_text(at, ".ctl"), slot) = '\0';
}

static bool take_text(const char **at, const char *text)
{
    size_t size = strlen(text);
    if (strncmp(*at, text, size) != 0) return false;
    *at += size;
    return true;
}

static bool take_number(const char **at, uint32_t *number)
{
    uint64_t value = 0;
    const char *begin = *at;
    for (; **at >= '0' && **at <= '9' && value <= UINT32_MAX; (*at)++)
        value = value * 10u + (uint64_t)(**at - '0');
    *number = (uint32_t)value;
    return *at > begin && value <= UINT32_MAX;
}

bool lcp_name_parse(const char *name, uint32_t *table, uint32_t *fragment, uint32_t *seq,
                    bool *is_ctl)
{
    if (!take_text(&name, "T") || !take_number(&name, table)) return false;
    if (!take_text(&name, "F") || !take_number(&name, fragment) || !take_text(&name, "."))
        return false;
    *is_ctl = take_text(&name, "ctl");
    if (!take_number(&name, seq)) return false;
    if (!*is_ctl && !take_text(&name, ".data")) return false;
    return *name == '\0' && (!*is_ctl || *seq <= 1u);
}
