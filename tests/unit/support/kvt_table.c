/* kvt_table.c -- the table of the tests below DICT: k Unsigned, v Unsigned, t Varbinary(200). */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/kvt_table.h"

struct table_def *kvt_table(uint32_t table_id, uint32_t version, uint32_t fragments, uint32_t flags)
{
    static const struct table_column_options columns[] = {
        {.name = "k",
         .name_size = 1,
         .format = {.type = COLUMN_UNSIGNED, .length = 1},
         .flags = COLUMN_PRIMARY_KEY},
        {.name = "v",
         .name_size = 1,
         .format = {.type = COLUMN_UNSIGNED, .length = 1},
         .flags = COLUMN_NULLABLE},
        {.name = "t",
         .name_size = 1,
         .format = {.type = COLUMN_VARBINARY, .length = 200},
         .flags = COLUMN_NULLABLE},
    };
    size_t size = table_def_size(4, 64);
    struct table_def *def = table_def_init(calloc(1, size), size, 4);
    assert_int_equal(table_def_set_name(def, "d", 1, "t", 1), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(table_def_add_column(def, &columns[i]), 0);
    def->table_id = table_id;
    def->version = version;
    def->flags = flags;
    def->fragment_count = fragments;
    assert_int_equal(table_def_check(def), 0);
    return def;
}
