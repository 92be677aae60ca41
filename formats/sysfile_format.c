/* sysfile_format.c -- seals and checks a copy of a system file. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "formats/sysfile_format.h"
#include <string.h>
#include <xxhash.h>

#define ENDS_AT (FILE_HEADER_BYTES + offsetof(struct sysfile, ends.words))

/* Layout 2, behind ldm_count: pairs { low, high } of the node's own logs. */
#define LAYOUT_2_LSN_AT (FILE_HEADER_BYTES + offsetof(struct sysfile, bytes))

static uint32_t bytes_for(uint32_t words)
{
    uint32_t bytes = (uint32_t)ENDS_AT + words * 4u + 8u;
    return (bytes + SYSFILE_BLOCK - 1u) / SYSFILE_BLOCK * SYSFILE_BLOCK;
}

static bool hash_good(const uint8_t *bytes, uint32_t size)
{
    uint64_t hash;
    memcpy(&hash, bytes + size - 8u, sizeof(hash));
    return XXH3_64bits(bytes, size - 8u) == hash;
}

static bool content_2(const uint8_t *bytes, struct sysfile *content)
{
    uint32_t lsn[SYSFILE_LDM_MAX][2];
    struct file_header header;
    memcpy(lsn, bytes + LAYOUT_2_LSN_AT, sizeof(lsn));
    memcpy(&header, bytes, sizeof(header));
    content->layout = SYSFILE_LAYOUT;
    content->bytes = SYSFILE_BLOCK;
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
    uint32_t all = content->layout < SYSFILE_LAYOUT_2 ? SYSFILE_BLOCK : content->bytes;
    uint32_t words = content->ends.size;
    if (all < SYSFILE_BLOCK || all % SYSFILE_BLOCK != 0 || all > size || !hash_good(bytes, all))
        return false;
    if (content->layout != SYSFILE_LAYOUT) return true; /* The rest may mean anything. */
    if (words > LOG_ENDS_WORDS || bytes_for(words) != all) return false;
    memcpy(content->ends.words, bytes + ENDS_AT, (size_t)words * 4u);
    return true;
}

uint32_t sysfile_seal(uint8_t *bytes, const struct file_header *header, struct sysfile *content)
{
    content->bytes = bytes_for(content->ends.size);
    memset(bytes, 0, content->bytes);
    memcpy(bytes, header, sizeof(*header));
    memcpy(bytes + FILE_HEADER_BYTES, content,
           ENDS_AT - FILE_HEADER_BYTES + (size_t)content->ends.size * 4u);
    uint64_t hash = XXH3_64bits(bytes, content->bytes - 8u);
    memcpy(bytes + content->bytes - 8u, &hash, sizeof(hash));
    return content->bytes;
}
