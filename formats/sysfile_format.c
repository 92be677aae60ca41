/* sysfile_format.c -- seals and checks the block of a system file. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "formats/sysfile_format.h"
#include <string.h>
#include <xxhash.h>

bool sysfile_content(const uint8_t *block, struct sysfile *content)
{
    uint64_t hash;
    memcpy(&hash, block + SYSFILE_HASH_AT, sizeof(hash));
    memcpy(content, block + FILE_HEADER_BYTES, sizeof(*content));
    return XXH3_64bits(block, SYSFILE_HASH_AT) == hash;
}

void sysfile_seal(uint8_t *block, const struct file_header *header, const struct sysfile *content)
{
    memset(block, 0, SYSFILE_BYTES);
    memcpy(block, header, sizeof(*header));
    memcpy(block + FILE_HEADER_BYTES, content, sizeof(*content));
    uint64_t hash = XXH3_64bits(block, SYSFILE_HASH_AT);
    memcpy(block + SYSFILE_HASH_AT, &hash, sizeof(hash));
}
