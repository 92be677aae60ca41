/* sysfile_format.c -- seals and checks a copy of a system file. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "formats/sysfile_format.h"
#include <string.h>
#include <xxhash.h>

#define ENDS_AT (FILE_HEADER_BYTES + offsetof(struct sysfile, ends.words))

/* Layout 4, behind `list`, and layout 3, behind `bytes`: the ends of all logs. */
#define LAYOUT_4_ENDS_AT (FILE_HEADER_BYTES + offsetof(struct sysfile, schema_lo) + 4u)
#define LAYOUT_3_ENDS_AT (FILE_HEADER_BYTES + offsetof(struct sysfile, lists_known) + 4u)
/* Layout 2, behind ldm_count: pairs { low, high } of the node's own logs. */
#define LAYOUT_2_LSN_AT (FILE_HEADER_BYTES + offsetof(struct sysfile, bytes))

static uint32_t bytes_for(size_t ends_at, uint32_t words)
{
    uint32_t bytes = (uint32_t)ends_at + words * 4u + 8u;
    return (bytes + SYSFILE_BLOCK - 1u) / SYSFILE_BLOCK * SYSFILE_BLOCK;
}

static bool hash_good(const uint8_t *bytes, uint32_t size)
{
    uint64_t hash;
    memcpy(&hash, bytes + size - 8u, sizeof(hash));
    return XXH3_64bits(bytes, size - 8u) == hash;
}

/* What a former layout does not say. */
static void schema_forget(struct sysfile *content)
{
    content->schema_lo = 0;
    content->schema_hi = 0;
}

static void lists_forget(struct sysfile *content)
{
    schema_forget(content);
    content->lists_known = 0;
    memset(content->list, 0, sizeof(content->list));
}

/* Where the list of the logs' ends begins; 0: in a layout that this program does not know. */
static size_t ends_of(uint32_t layout)
{
    switch (layout) {
    case SYSFILE_LAYOUT:
        return ENDS_AT;
    case SYSFILE_LAYOUT_4:
        return LAYOUT_4_ENDS_AT;
    case SYSFILE_LAYOUT_3:
        return LAYOUT_3_ENDS_AT;
    default:
        return 0;
    }
}

static bool content_2(const uint8_t *bytes, struct sysfile *content)
{
    uint32_t lsn[SYSFILE_LDM_MAX][2];
    struct file_header header;
    memcpy(lsn, bytes + LAYOUT_2_LSN_AT, sizeof(lsn));
    memcpy(&header, bytes, sizeof(header));
    content->layout = SYSFILE_LAYOUT;
    content->bytes = SYSFILE_BLOCK;
    lists_forget(content);
    content->ends.size = log_ends_entry(content->ends.words, header.node, content->gci,
                                        (const uint32_t(*)[2])lsn, content->ldm_count);
    return hash_good(bytes, SYSFILE_BLOCK);
}

bool sysfile_content(const uint8_t *bytes, size_t size, struct sysfile *content)
{
    memset(content, 0, sizeof(*content));
    if (size < SYSFILE_BLOCK) return false;
    memcpy(content, bytes + FILE_HEADER_BYTES, ENDS_AT - FILE_HEADER_BYTES);
    if (content->layout == SYSFILE_LAYOUT_2) return content_2(bytes, content);
    size_t ends_at = ends_of(content->layout);
    uint32_t all = content->layout < SYSFILE_LAYOUT_2 ? SYSFILE_BLOCK : content->bytes;
    uint32_t words;
    if (all < SYSFILE_BLOCK || all % SYSFILE_BLOCK != 0 || all > size || !hash_good(bytes, all))
        return false;
    if (ends_at == 0) return true; /* The rest may mean anything. */
    memcpy(&words, bytes + ends_at - 4u, 4u);
    if (words > LOG_ENDS_WORDS || bytes_for(ends_at, words) != all) return false;
    if (content->layout == SYSFILE_LAYOUT_3) lists_forget(content);
    if (content->layout == SYSFILE_LAYOUT_4) schema_forget(content);
    content->layout = SYSFILE_LAYOUT;
    content->ends.size = words;
    memcpy(content->ends.words, bytes + ends_at, (size_t)words * 4u);
    return true;
}

/* Who has never had a list writes two at once (lcpw_part.c). */
#define LISTS_AT_FIRST 2u

enum sysfile_list_verdict sysfile_list_judge(const struct sysfile *content, uint32_t ldm,
                                             const struct sysfile_list *found, uint32_t before)
{
    const struct sysfile_list *named = &content->list[ldm];
    if (content->lists_known == 0) return SYSFILE_LIST_GOOD;
    if (named->number == 0) /* LCPREADER has seen of which life they are. */
        return found->number <= LISTS_AT_FIRST ? SYSFILE_LIST_GOOD : SYSFILE_LIST_AHEAD;
    if (found->number < named->number) return SYSFILE_LIST_STALE;
    if (found->number > named->number + 1u) return SYSFILE_LIST_AHEAD;
    uint32_t check = found->number == named->number ? found->check : before;
    return check == named->check ? SYSFILE_LIST_GOOD : SYSFILE_LIST_STALE;
}

uint32_t sysfile_seal(uint8_t *bytes, const struct file_header *header, struct sysfile *content)
{
    content->bytes = bytes_for(ENDS_AT, content->ends.size);
    memset(bytes, 0, content->bytes);
    memcpy(bytes, header, sizeof(*header));
    memcpy(bytes + FILE_HEADER_BYTES, content,
           ENDS_AT - FILE_HEADER_BYTES + (size_t)content->ends.size * 4u);
    uint64_t hash = XXH3_64bits(bytes, content->bytes - 8u);
    memcpy(bytes + content->bytes - 8u, &hash, sizeof(hash));
    return content->bytes;
}
