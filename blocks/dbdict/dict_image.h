/* dict_image.h -- the dictionary as words of a schema file and back. Private to blocks/dbdict. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "formats/schema_format.h"
#include "signals/fs.h"

static_assert(IMAGE_BLOCK_BYTES == FS_ALIGN, "written past the page cache");

/* Where a stream is that comes in by parts. */
struct image_reader {
    uint32_t head[IMAGE_RECORD_WORDS];
    uint32_t have; /* Words of the record so far. */
    uint32_t records;
    uint32_t last_id;
    uint32_t refused_id; /* The table that was refused, and why. */
    uint32_t refused;
};
struct image_writer {
    uint32_t id; /* Next table number. */
    uint32_t at; /* Words of its record that are out. */
    uint32_t records;
    uint32_t without; /* This table and its unique indexes count as not used. */
    bool as_is;       /* Of an altered table what it is still, not what it is going to be. */
};
