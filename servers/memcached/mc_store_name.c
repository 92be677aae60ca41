/* mc_store_name.c -- what a row is known by outside of its table: the form that all spellings of
 * its key have. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * 5, 05 and +5 are one number, and Bob and bob are one row where the collation says so. Whoever
 * keeps something of a row by its key, or has requests for it wait for each other, must not tell
 * them apart. Which values are equal only the client library knows: it has a form that is the same
 * for all of them. Here the forms of a key's columns stand one after the other, each behind its
 * size.
 */
#include <string.h>
#include "servers/memcached/mc_convert.h"
#include "servers/memcached/mc_store_private.h"

_Static_assert(sizeof(((struct mc_naming *)0)->stored) >= MC_VALUE_BYTES, "a column's value fits");

/* What fills a column up to its size says nothing. */
static uint32_t without_padding(enum ndb_column_type type, const uint8_t *form, uint32_t size)
{
    uint8_t padding = type == NDB_CHAR ? ' ' : 0;
    while ((type == NDB_CHAR || type == NDB_BINARY) && size > 0 && form[size - 1] == padding)
        size--;
    return size;
}

/* Appends a column's form at `at`; -1: the text is no value of it. */
static int put_column(const struct ndb_table *table, uint32_t column, const char *text,
                      uint32_t size, struct mc_naming *naming, uint32_t at)
{
    struct ndb_column_info info;
    bool too_long;
    uint32_t form;
    int stored =
        mc_convert_in(table, column, text, size, naming->stored, sizeof naming->stored, &too_long);
    if (stored < 0 || ndb_table_column(table, column, &info) != 0 ||
        ndb_value_form(table, column, naming->stored, (uint32_t)stored, naming->form,
                       sizeof naming->form, &form) != 0)
        return -1;
    form = without_padding(info.type, naming->form, form);
    if (at + 2 + form > sizeof naming->name) return -1;
    naming->name[at] = (char)(uint8_t)form;
    naming->name[at + 1] = (char)(uint8_t)(form >> 8);
    memcpy(naming->name + at + 2, naming->form, form);
    return (int)(at + 2 + form);
}

int mc_store_name(const struct mc_container *container, const char *key, uint32_t key_size,
                  struct mc_naming *naming)
{
    int at = 0;
    for (uint32_t i = 0; i < container->key_count && at >= 0; i++) {
        bool last = i + 1 == container->key_count;
        uint32_t field = mc_field_size(key, key_size, last);
        if (!last && field == key_size) return -1;
        at = put_column(container->table, container->key[i], key, field, naming, (uint32_t)at);
        key += last ? field : field + 1;
        key_size -= last ? field : field + 1;
    }
    return at;
}
