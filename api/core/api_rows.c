/* api_rows.c -- the room that rows under way need: so many of a batch are asked for at a time that
 * a data node can keep them all for a client. */
/* SPDX-License-Identifier: MIT */
/*
 * A data node that has no room left for what a client is to get ends the link, with everything that
 * the client's other threads have under way. It refuses new reads before that, but those that were
 * asked for together are on their way by then. So a batch waits here, and is slower, not refused.
 */
#include "api/core/api_table_state.h"
#include "api/core/api_tx_state.h"
#include "values/attr.h"

#define ROWS_WORDS (128u * 1024u) /* A quarter of SendBufferMemory's default. */
#define HEAD_WORDS 16u            /* What an answer has before its row, and its share of a frame. */

static uint32_t column_words(const struct table_column *column)
{
    return 1 + (column->size_max + 3u) / 4u;
}

uint32_t api_row_words(const struct table_def *def)
{
    uint32_t words = HEAD_WORDS;
    for (uint32_t i = 0; i < def->column_count; i++)
        words += column_words(&def->columns[i]);
    return words;
}

uint32_t api_op_row_words(const struct api_table *table, bool program, const uint32_t *attrs,
                          uint32_t count)
{
    uint32_t words = HEAD_WORDS;
    if (program) return table->row_words;
    for (uint32_t i = 0; i < count && words < table->row_words; i++) {
        uint32_t column = attr_column(attrs[i]);
        if (column == ATTR_READ_ALL) return table->row_words;
        words += column < table->def->column_count ? column_words(&table->def->columns[column]) : 4;
    }
    return words;
}

bool api_rows_fit(const struct api_tx *tx, uint64_t words)
{
    uint32_t most = tx->client->core->config.rows_words;
    return tx->rows_words + words <= (most == 0 ? ROWS_WORDS : most);
}

void api_row_ended(struct api_op *op)
{
    op->tx->rows_words -= op->row_words;
    op->row_words = 0;
}
