/* move_convert.h -- which columns ndb_move_data may copy into which, and how. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ndb/ndb.h"

/* What a pair of columns needs: nothing, or one of the tool's options, or it cannot be. */
enum move_need { MOVE_SAME, MOVE_PROMOTE, MOVE_LOSSY, MOVE_IMPOSSIBLE };

enum move_need move_need(const struct ndb_column_info *from, const struct ndb_column_info *to);

/* What move_value() works with. */
struct move_room {
    char *text;         /* For the greater ndb_value_print_size() of the two columns. */
    uint32_t text_size; /* Bytes there. */
    uint8_t *back;      /* from->size + 1 bytes. */
};

/* A stored value of `from` as one of `to` (not NULL). Room at `out`: to->size + 1. 0, or the error's
 * number: the value does not fit, or would be another one there. */
int move_value(const struct ndb_table *from_table, const struct ndb_column_info *from,
               const struct ndb_table *to_table, const struct ndb_column_info *to,
               const void *value, uint32_t size, const struct move_room *room, uint8_t *out,
               uint32_t *out_size);
