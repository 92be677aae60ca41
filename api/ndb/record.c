/* record.c -- moves values between the application's rows and the words of the wire. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_blame.h"
#include "api/ndb/ndb_private.h"
#include "api/ndb/record_member.h"
#include "api/ndb/record_state.h"
#include "values/table_index.h"

/* ---- Making records. ---- */

static uint32_t find_column(const struct table_def *def, const struct ndb_field *field,
                            uint32_t *id)
{
    if (field->column != NULL) {
        const struct table_column *column =
            table_def_find(def, field->column, (uint32_t)strlen(field->column));
        if (column == NULL) return ERR_NO_SUCH_COLUMN;
        *id = column->id;
        return 0;
    }
    if (field->column_id >= def->column_count) return ERR_NO_SUCH_COLUMN;
    *id = field->column_id;
    return 0;
}

static uint32_t compile_field(const struct table_column *column, const struct ndb_field *from,
                              uint32_t row_size, struct record_field *to)
{
    bool string = (from->flags & NDB_FIELD_CSTRING) != 0;
    uint32_t size = from->size == 0 && !string ? column->size_max : from->size;
    if (from->offset > row_size || size > row_size - from->offset) return ERR_RECORD_4291;
    if (from->null_offset != NDB_NOT_NULLABLE &&
        (from->null_offset >= row_size || from->null_bit > 7))
        return ERR_RECORD_4291;
    bool nullable = (column->flags & COLUMN_NULLABLE) != 0;
    *to = (struct record_field){
        .column = column,
        .id = column->id,
        .offset = from->offset,
        .size = size,
        .null_offset = nullable ? from->null_offset : NDB_NOT_NULLABLE,
        .size_max = column->size_max,
        .null_mask = (uint8_t)(1u << (from->null_bit & 7u)),
        .prefix = (uint8_t)column->array, /* enum column_array counts the length bytes. */
        .string = string,
        .pad = column->format.type == COLUMN_CHAR ? ' ' : 0,
    };
    to->fixed_words = !string && to->prefix == 0 && to->size_max % 4u == 0;
    return 0;
}

/* A column whose field shares bytes of the row with that of column `id`; NULL: there is none. */
static const struct table_column *find_overlap(const struct ndb_record *record,
                                               const struct table_def *def, uint32_t id)
{
    const struct record_field *own = &record->field[id];
    for (uint32_t other = 0; other < def->column_count; other++) {
        const struct record_field *field = &record->field[other];
        if (other == id || record->by_column[other] == RECORD_NO_FIELD) continue;
        if (field->offset < own->offset + own->size && own->offset < field->offset + field->size)
            return field->column;
    }
    return NULL;
}

/* The field of one more column. 0, or -1 with the ndb_t's error. */
static int add_field(ndb_t *ndb, struct ndb_record *record, const struct table_def *def,
                     const struct ndb_field *from)
{
    uint32_t id = 0;
    char text[NDB_DETAIL_SIZE];
    uint32_t code = find_column(def, from, &id);
    if (code != 0) {
        sql_column_text(def, NULL, text, sizeof text);
        if (from->column == NULL)
            return error_set(&ndb->error, code, "%s, column number %u", text, from->column_id);
        return error_set(&ndb->error, code, "%s, column %.64s", text, from->column);
    }
    const struct table_column *column = &def->columns[id];
    sql_column_text(def, column, text, sizeof text);
    if (record->by_column[id] != RECORD_NO_FIELD) code = ERR_RECORD_4289;
    if (code == 0) code = member_check(def, column, from, text, sizeof text);
    if (code == 0) code = compile_field(column, from, record->row_size, &record->field[id]);
    if (code != 0) return error_set(&ndb->error, code, "%s", text);
    record->by_column[id] = 0;
    const struct table_column *other = find_overlap(record, def, id);
    if (other == NULL) return 0;
    return error_set(&ndb->error, ERR_RECORD_4291, "%s shares bytes of the row with column %.64s",
                     text, table_column_name(def, other));
}

static void finish_record(struct ndb_record *record, const struct table_def *def)
{
    uint32_t at = 0;
    /* Fields stand at their column's place; now they move together. */
    for (uint32_t id = 0; id < def->column_count; id++) {
        if (record->by_column[id] == RECORD_NO_FIELD) continue;
        record->field[at] = record->field[id];
        record->by_column[id] = (uint16_t)at;
        record->read_attrs[at] = attr_header(id, 0);
        record->value_words_max += 1 + words_of(record->field[at].size_max);
        at++;
    }
    record->all_columns = at == def->column_count;
}

/* The fields of a key's columns: those of the primary key, or of a unique index. */
static void find_key(struct ndb_record *record, const struct table_def *def)
{
    struct table_index index;
    const uint16_t *columns = def->key_columns;
    record->key_count = def->key_count;
    if (record->unique != 0 && table_def_unique(def, record->unique - 1u, &index)) {
        columns = index.columns;
        record->key_count = index.column_count;
    }
    record->all_keys = true;
    for (uint32_t i = 0; i < record->key_count; i++) {
        record->key_field[i] = record->by_column[columns[i]];
        if (record->key_field[i] == RECORD_NO_FIELD) record->all_keys = false;
        record->key_words_max += words_of(def->columns[columns[i]].size_max);
    }
}

static struct ndb_record *create_record(ndb_t *ndb, struct ndb_table *table,
                                        const struct ndb_field *fields, uint32_t count,
                                        uint32_t row_size)
{
    if (table == NULL || fields == NULL || count == 0 || count > TABLE_COLUMNS_MAX) {
        error_set(&ndb->error, ERR_PARAMETER, "a record needs a table and 1 to %d fields",
                  TABLE_COLUMNS_MAX);
        return NULL;
    }
    const struct table_def *def = api_table_def(table_core(table));
    struct ndb_record *record =
        calloc(1, sizeof *record + def->column_count * sizeof record->field[0]);
    if (record == NULL) {
        error_set(&ndb->error, ERR_API_MEMORY, NULL);
        return NULL;
    }
    memset(record->by_column, 0xFF, sizeof record->by_column);
    atomic_init(&record->references, 1);
    record->count = count;
    record->row_size = row_size;
    for (uint32_t i = 0; i < count; i++) {
        if (add_field(ndb, record, def, &fields[i]) == 0) continue;
        free(record);
        return NULL;
    }
    record->table = api_table_hold(table_core(table));
    finish_record(record, def);
    return record;
}

struct ndb_record *ndb_record_create(ndb_t *ndb, struct ndb_table *table,
                                     const struct ndb_field *fields, uint32_t count,
                                     uint32_t row_size)
{
    if (ndb == NULL) return NULL;
    struct ndb_record *record = create_record(ndb, table, fields, count, row_size);
    if (record != NULL) find_key(record, api_table_def(record->table));
    return record;
}

struct ndb_record *ndb_record_create_unique(ndb_t *ndb, struct ndb_table *table, uint32_t unique,
                                            const struct ndb_field *fields, uint32_t count,
                                            uint32_t row_size)
{
    struct table_index index;
    if (ndb == NULL) return NULL;
    if (table != NULL && !table_def_unique(api_table_def(table_core(table)), unique, &index)) {
        char text[NDB_DETAIL_SIZE];
        sql_column_text(api_table_def(table_core(table)), NULL, text, sizeof text);
        error_set(&ndb->error, ERR_INDEX_MISSING, "%s: unique index number %u", text, unique);
        return NULL;
    }
    struct ndb_record *record = create_record(ndb, table, fields, count, row_size);
    if (record == NULL) return NULL;
    record->unique = unique + 1u;
    find_key(record, api_table_def(record->table));
    if (record->all_keys) return record;
    blame_record(&ndb->error, ERR_RECORD_NOT_KEY, record, NULL, false);
    ndb_record_release(record);
    return NULL;
}

/* Null bits first, then each column at an offset that suits its C type. */
struct ndb_record *ndb_record_create_default(ndb_t *ndb, struct ndb_table *table)
{
    if (ndb == NULL || table == NULL) return NULL;
    const struct table_def *def = api_table_def(table_core(table));
    struct ndb_field *fields = calloc(def->column_count, sizeof *fields);
    if (fields == NULL) {
        error_set(&ndb->error, ERR_API_MEMORY, NULL);
        return NULL;
    }
    uint32_t at = (def->null_count + 7u) / 8u;
    for (uint32_t i = 0; i < def->column_count; i++) {
        const struct table_column *column = &def->columns[i];
        uint32_t align = column->array != COLUMN_FIXED ? 1
                         : column->size_max % 8 == 0   ? 8
                         : column->size_max % 4 == 0   ? 4
                                                       : 1;
        at = (at + align - 1) & ~(align - 1);
        fields[i] =
            (struct ndb_field){.column_id = i, .offset = at, .null_offset = NDB_NOT_NULLABLE};
        if ((column->flags & COLUMN_NULLABLE) != 0) {
            fields[i].null_offset = column->null_index / 8u;
            fields[i].null_bit = column->null_index % 8u;
        }
        at += column->size_max;
    }
    struct ndb_record *record =
        ndb_record_create(ndb, table, fields, def->column_count, (at + 7u) & ~7u);
    free(fields);
    return record;
}

void ndb_record_release(struct ndb_record *record)
{
    if (record == NULL || atomic_fetch_sub(&record->references, 1) != 1) return;
    api_table_release(record->table);
    free(record);
}

uint32_t ndb_record_row_size(const struct ndb_record *record)
{
    return record == NULL ? 0 : record->row_size;
}

static const struct record_field *field_of(const struct ndb_record *record, uint32_t column)
{
    if (record == NULL || column >= TABLE_COLUMNS_MAX ||
        record->by_column[column] == RECORD_NO_FIELD)
        return NULL;
    return &record->field[record->by_column[column]];
}

int ndb_record_field(const struct ndb_record *record, uint32_t column, struct ndb_field *out)
{
    const struct record_field *field = field_of(record, column);
    if (field == NULL || out == NULL) return -1;
    *out = (struct ndb_field){.column_id = column,
                              .offset = field->offset,
                              .size = field->size,
                              .null_offset = field->null_offset,
                              .null_bit = (uint32_t)__builtin_ctz(field->null_mask),
                              .flags = field->string ? NDB_FIELD_CSTRING : 0};
    return 0;
}

/* ---- One value. ---- */

static uint32_t string_length(const struct record_field *field, const uint8_t *member)
{
    const uint8_t *end = memchr(member, 0, field->size);
    return end == NULL ? field->size : (uint32_t)(end - member);
}

/* Writes the stored form of a member and pads it with zero bytes to words. Returns its size, 0 =
 * does not fit. */
static uint32_t store_member(const struct record_field *field, const uint8_t *row, uint32_t *out)
{
    const uint8_t *member = row + field->offset;
    uint8_t *bytes = (uint8_t *)out;
    uint32_t size = field->size_max;

    if (field->fixed_words) {
        memcpy(out, member, size);
        return size;
    }
    if (field->string) {
        uint32_t length = string_length(field, member);
        if (length + field->prefix > field->size_max) return 0;
        if (field->prefix == 0) {
            out[words_of(size) - 1] = 0;
            memcpy(bytes, member, length);
            memset(bytes + length, field->pad, size - length);
            return size;
        }
        size = field->prefix + length;
        out[words_of(size) - 1] = 0;
        bytes[0] = (uint8_t)length;
        if (field->prefix == 2) bytes[1] = (uint8_t)(length >> 8);
        memcpy(bytes + field->prefix, member, length);
        return size;
    }
    if (field->prefix == 1) size = 1u + member[0];
    if (field->prefix == 2) size = 2u + member[0] + ((uint32_t)member[1] << 8);
    if (size > field->size_max) return 0;
    out[words_of(size) - 1] = 0;
    memcpy(out, member, size);
    return size;
}

static bool stored_size_is_right(const struct record_field *field, const uint8_t *value,
                                 uint32_t size)
{
    if (field->prefix == 0) return size == field->size_max;
    if (size < field->prefix || size > field->size_max) return false;
    uint32_t length = value[0] + (field->prefix == 2 ? (uint32_t)value[1] << 8 : 0);
    return size == field->prefix + length;
}

/* A stored value into its member. 0 or an error number. */
static uint32_t load_member(const struct record_field *field, const uint8_t *value, uint32_t size,
                            uint8_t *row)
{
    uint8_t *member = row + field->offset;
    if (!stored_size_is_right(field, value, size)) return ERR_REPLY_4212;
    if (!field->string) {
        memcpy(member, value, size);
        return 0;
    }
    value += field->prefix;
    size -= field->prefix;
    while (field->prefix == 0 && size > 0 && value[size - 1] == field->pad)
        size--;
    if (size >= field->size) return ERR_VALUE_TOO_LONG;
    memcpy(member, value, size);
    member[size] = 0;
    return 0;
}

static bool member_is_null(const struct record_field *field, const uint8_t *row)
{
    return field->null_offset != NDB_NOT_NULLABLE &&
           (row[field->null_offset] & field->null_mask) != 0;
}

bool record_is_null(const struct record_field *field, const void *row)
{
    return member_is_null(field, row);
}

bool record_fits(const struct record_field *field, const void *row)
{
    const uint8_t *member = (const uint8_t *)row + field->offset;
    if (member_is_null(field, row)) return true;
    if (field->string) return string_length(field, member) + field->prefix <= field->size_max;
    if (field->prefix == 1) return 1u + member[0] <= field->size_max;
    if (field->prefix == 2) return 2u + member[0] + ((uint32_t)member[1] << 8) <= field->size_max;
    return true;
}

uint32_t record_check(const struct record_field *field, const void *row)
{
    if (member_is_null(field, row)) return 0;
    uint32_t *stored = malloc((size_t)words_of(field->size_max) * 4u + 4u);
    if (stored == NULL) return 0; /* Nobody knows. */
    uint32_t size = store_member(field, row, stored);
    uint32_t error =
        size == 0 ? ERR_VALUE_TOO_LONG : column_check(&field->column->format, stored, size);
    free(stored);
    return error;
}

/* False: this row cannot say NULL. */
static bool set_null(const struct record_field *field, uint8_t *row, bool null)
{
    if (field->null_offset == NDB_NOT_NULLABLE) return !null;
    if (null) {
        row[field->null_offset] = (uint8_t)(row[field->null_offset] | field->null_mask);
    } else {
        row[field->null_offset] = (uint8_t)(row[field->null_offset] & (uint8_t)~field->null_mask);
    }
    return true;
}

/* ---- Sections. ---- */

uint32_t record_pack_key(const struct ndb_record *record, const void *row, uint32_t *out,
                         uint32_t *error)
{
    uint32_t at = 0;
    if (!record->all_keys) {
        *error = ERR_RECORD_NOT_KEY;
        return 0;
    }
    for (uint32_t i = 0; i < record->key_count; i++) {
        const struct record_field *field = &record->field[record->key_field[i]];
        if (member_is_null(field, row)) {
            *error = ERR_NULL_TO_NOT_NULL; /* NULLs are in no unique index. */
            return 0;
        }
        uint32_t size = store_member(field, row, out + at);
        if (size == 0) {
            *error = ERR_VALUE_TOO_LONG;
            return 0;
        }
        at += words_of(size);
    }
    return at;
}

static bool masked(const uint8_t *mask, uint32_t column)
{
    return mask == NULL || ((uint32_t)mask[column / 8u] >> (column % 8u) & 1u) != 0;
}

uint32_t record_pack_values(const struct ndb_record *record, const void *row, const uint8_t *mask,
                            uint32_t *out, uint32_t *error)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        const struct record_field *field = &record->field[i];
        if (field->column->key_index != COLUMN_NOT_IN_KEY || !masked(mask, field->id)) continue;
        if (member_is_null(field, row)) {
            out[at++] = attr_header(field->id, 0);
            continue;
        }
        uint32_t size = store_member(field, row, out + at + 1);
        if (size == 0) {
            *error = ERR_VALUE_TOO_LONG;
            return UINT32_MAX;
        }
        out[at] = attr_header(field->id, size);
        at += 1 + words_of(size);
    }
    return at;
}

uint32_t record_pack_read(const struct ndb_record *record, const uint8_t *mask, uint32_t *out)
{
    uint32_t at = 0;
    if (mask == NULL && record->all_columns) {
        out[0] = attr_header(ATTR_READ_ALL, 0);
        return 1;
    }
    if (mask == NULL) {
        memcpy(out, record->read_attrs, record->count * 4u);
        return record->count;
    }
    for (uint32_t i = 0; i < record->count; i++) {
        if (masked(mask, record->field[i].id)) out[at++] = record->read_attrs[i];
    }
    return at;
}

/* Answers come in the order asked for, which is field order: the next field nearly always is the
 * right one. */
uint32_t record_unpack(const struct ndb_record *record, const uint32_t *pairs, uint32_t words,
                       void *row)
{
    uint32_t known = api_table_def(record->table)->column_count;
    uint32_t at = 0;
    uint32_t next = 0;
    while (at < words) {
        uint32_t column = attr_column(pairs[at]);
        uint32_t size = attr_size(pairs[at]);
        uint32_t value_words = words_of(size);
        if (value_words > words - at - 1) return ERR_REPLY_4215;
        if (column >= known && column < TABLE_COLUMNS_MAX) {
            at += 1 + value_words; /* Added since the table was opened. */
            continue;
        }
        if (next >= record->count || record->field[next].id != column) {
            if (column >= TABLE_COLUMNS_MAX || record->by_column[column] == RECORD_NO_FIELD)
                return ERR_REPLY_4213;
            next = record->by_column[column];
        }
        const struct record_field *field = &record->field[next++];
        if (!set_null(field, row, size == 0)) return ERR_NULL_TO_NOT_NULL;
        if (size != 0) {
            uint32_t error = load_member(field, (const uint8_t *)(pairs + at + 1), size, row);
            if (error != 0) return error;
        }
        at += 1 + value_words;
    }
    return 0;
}

bool pairs_find(const uint32_t *pairs, uint32_t words, uint32_t column, const void **value,
                uint32_t *size)
{
    uint32_t at = 0;
    while (at < words) {
        uint32_t bytes = attr_size(pairs[at]);
        if (words_of(bytes) > words - at - 1) return false;
        if (attr_column(pairs[at]) == column) {
            *value = bytes == 0 ? NULL : pairs + at + 1;
            *size = bytes;
            return true;
        }
        at += 1 + words_of(bytes);
    }
    return false;
}

/* ---- Values in rows, for programs that learn the table at run time. ---- */

int ndb_row_set(const struct ndb_record *record, void *row, uint32_t column, const void *value,
                uint32_t size)
{
    const struct record_field *field = field_of(record, column);
    if (field == NULL) return ERR_NO_SUCH_COLUMN;
    if (row == NULL) return ERR_PARAMETER;
    if (!set_null(field, row, value == NULL)) return ERR_NULL_TO_NOT_NULL;
    if (value == NULL) return 0;
    uint32_t error = column_check(&field->column->format, value, size);
    return (int)(error != 0 ? error : load_member(field, value, size, row));
}

int ndb_row_parse(const struct ndb_record *record, void *row, uint32_t column, const char *text,
                  uint32_t text_size)
{
    const struct record_field *field = field_of(record, column);
    uint32_t size = 0;
    if (field == NULL) return ERR_NO_SUCH_COLUMN;
    if (row == NULL || text == NULL) return ERR_PARAMETER;
    if (!set_null(field, row, false)) return ERR_NULL_TO_NOT_NULL;
    if (!field->string) {
        uint8_t *member = (uint8_t *)row + field->offset;
        return (int)column_parse(&field->column->format, text, text_size, member, field->size,
                                 &size);
    }
    uint32_t stored[COLUMN_BYTES_MAX / 4 + 2];
    uint32_t error =
        column_parse(&field->column->format, text, text_size, stored, sizeof stored, &size);
    return (int)(error != 0 ? error : load_member(field, (const uint8_t *)stored, size, row));
}

int ndb_row_get(const struct ndb_record *record, const void *row, uint32_t column,
                const void **value, uint32_t *size)
{
    const struct record_field *field = field_of(record, column);
    if (field == NULL) return ERR_NO_SUCH_COLUMN;
    if (row == NULL || value == NULL || size == NULL || field->string) return ERR_PARAMETER;
    *value = NULL;
    *size = 0;
    if (member_is_null(field, row)) return 0;
    const uint8_t *member = (const uint8_t *)row + field->offset;
    uint32_t length = field->size_max;
    if (field->prefix == 1) length = 1u + member[0];
    if (field->prefix == 2) length = 2u + member[0] + ((uint32_t)member[1] << 8);
    if (length > field->size_max) return ERR_VALUE_LENGTH;
    *value = member;
    *size = length;
    return 0;
}
