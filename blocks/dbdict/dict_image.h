/* dict_image.h -- the dictionary as words of a schema file and back. Private to blocks/dbdict. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "formats/schema_format.h"
#include "signals/fs.h"

static_assert(IMAGE_BLOCK_BYTES == FS_ALIGN, "written past the page cache");

/* How far a stream has been read that comes in by parts. */
struct image_reader {
    uint32_t head[IMAGE_RECORD_WORDS];
    uint32_t have; /* Words of the record so far. */
    uint32_t records;
    uint32_t last_id;
    uint32_t refused_id; /* Table that was refused, when `refused` is not 0. */
    uint32_t refused;    /* Error for which it was refused; 0 = none was. */
};
/* How far the image has been written that goes out by parts. */
struct image_writer {
    uint32_t id; /* Table that is written next. */
    uint32_t at; /* Words of its record that are written. */
    uint32_t records;
    uint32_t without; /* This table and its unique indexes count as not used. */
    bool as_is;       /* An altered table is written as it is still, not as it is going to be. */
};
