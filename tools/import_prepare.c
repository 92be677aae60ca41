/* import_prepare.c -- what a load needs before its first row: the format, the table, a record of
 * the file's columns, the file, slots. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/import_load.h"

void import_complete_format(struct import_settings *import, const char *path)
{
    struct csv_format *format = &import->format;
    const char *dot = strrchr(path, '.');
    bool csv = import->input_type != NULL ? strcmp(import->input_type, "csv") == 0
                                          : dot != NULL && strcmp(dot, ".csv") == 0;

    if (!import->field_end_set) {
        format->field_end[0] = csv ? ',' : '\t';
        format->field_end_size = 1;
    }
    if (!import->line_end_set) {
        format->line_end[0] = '\n';
        format->line_end_size = 1;
    }
    format->cr_optional = csv && !import->line_end_set;
    if (!import->quote_set) format->quote = csv ? '"' : '\0';
    if (!import->escape_set) format->escape = '\\';
    csv_format_prepare(format);
}

/* For `return`: false. */
static bool out_of_memory(const struct load *load)
{
    (void)fprintf(stderr, "%s: out of memory\n", load->path);
    return false;
}

static bool make_slots(struct load *load)
{
    uint32_t count = load->settings->outstanding;
    uint32_t row_size = ndb_record_row_size(load->record);

    load->slots = calloc(count, sizeof(*load->slots));
    load->rows = calloc(count, row_size);
    if (load->slots == NULL || load->rows == NULL) return false;
    for (uint32_t i = 0; i < count; i++) {
        load->slots[i] = (struct slot){
            .load = load, .row = load->rows + (size_t)i * row_size, .next = load->free};
        load->free = &load->slots[i];
    }
    return true;
}

static bool add_column(struct load *load, const char *name)
{
    uint32_t column = SKIPPED;

    if (load->column_count == CSV_FIELDS_MAX) {
        (void)fprintf(stderr, "More than %u columns\n", CSV_FIELDS_MAX);
        return false;
    }
    if (name[0] != '@') {
        int found = ndb_table_find_column(load->table, name);
        if (found < 0) {
            (void)fprintf(stderr, "--columns: No column %s in the table; ndb_desc lists them\n",
                          name);
            return false;
        }
        column = (uint32_t)found;
    }
    load->columns[load->column_count++] = column;
    return true;
}

/* With --missing-ai-column: the column that gets numbers. */
static bool choose_number_column(struct load *load)
{
    struct ndb_column_info column;

    load->number_column = SKIPPED;
    if (!load->settings->missing_ai) return true;
    for (uint32_t i = 0; ndb_table_column(load->table, i, &column) == 0; i++) {
        if (column.auto_increment) load->number_column = i;
    }
    if (load->number_column != SKIPPED) return true;
    (void)fprintf(stderr, "The table has no AUTO_INCREMENT column\n");
    return false;
}

/* Which field goes into which column. */
static bool choose_columns(struct load *load)
{
    struct ndb_table_info info;
    char *rest = NULL;
    bool ok = true;

    if (!choose_number_column(load)) return false;
    ndb_table_describe(load->table, &info);
    if (load->settings->columns == NULL) {
        for (uint32_t i = 0; i < info.columns; i++) {
            if (i != load->number_column) load->columns[load->column_count++] = i;
        }
        return true;
    }
    char *list = strdup(load->settings->columns);
    if (list == NULL) return out_of_memory(load);
    for (char *name = strtok_r(list, ", ", &rest); name != NULL && ok;
         name = strtok_r(NULL, ", ", &rest))
        ok = add_column(load, name);
    free(list);
    for (uint32_t i = 0; ok && i < load->column_count && load->number_column != SKIPPED; i++) {
        if (load->columns[i] != load->number_column) continue;
        (void)fprintf(stderr, "--missing-ai-column, but --columns has it\n");
        ok = false;
    }
    return ok;
}

/* A row of the chosen columns: first the null bits, then the values one after the other. */
static bool make_record(struct load *load)
{
    struct ndb_field *fields = calloc(load->column_count + 2, sizeof(*fields));
    uint32_t offset = (load->column_count + 1 + 7) / 8;
    uint32_t count = 0;

    if (fields == NULL) return out_of_memory(load);
    for (uint32_t i = 0; i <= load->column_count; i++) {
        struct ndb_column_info column;
        uint32_t id = i < load->column_count ? load->columns[i] : load->number_column;
        if (id == SKIPPED || ndb_table_column(load->table, id, &column) != 0) continue;
        fields[count++] =
            (struct ndb_field){.column_id = column.id,
                               .offset = offset,
                               .size = column.size,
                               .null_offset = column.nullable ? i / 8 : NDB_NOT_NULLABLE,
                               .null_bit = i % 8};
        offset += column.size;
    }
    load->record = ndb_record_create(load->settings->tool.ndb, load->table, fields, count, offset);
    free(fields);
    if (load->record == NULL) tool_print_error(ndb_error(load->settings->tool.ndb));
    return load->record != NULL;
}

bool import_prepare(struct load *load, const char *table_name)
{
    load->table = ndb_table_open(load->settings->tool.ndb, table_name, 0);
    if (load->table == NULL) {
        (void)fprintf(stderr, "%s: ", table_name);
        tool_print_error(ndb_error(load->settings->tool.ndb));
        return false;
    }
    if (!choose_columns(load) || !make_record(load)) return false;
    if (!load->settings->missing_ai) number_seen_begin(&load->seen, load->table);
    if (!import_input_open(&load->input, load->path)) {
        (void)fprintf(stderr, "%s: %s\n", load->path, strerror(errno));
        return false;
    }
    return make_slots(load) || out_of_memory(load);
}
