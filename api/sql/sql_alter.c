/* sql_alter.c -- reads the statements that change a table in use. */
/* SPDX-License-Identifier: MIT */
#include "api/sql/sql_alter.h"

#include <stdlib.h>
#include <string.h>

#include "values/errors.h"

static bool read_new_table(struct sql_parser *p, struct sql_alter *alter)
{
    alter->kind = SQL_RENAME_TABLE;
    return sql_need_table(p, alter->new_database, alter->new_name, &alter->new_at);
}

static bool read_rename(struct sql_parser *p, struct sql_alter *alter)
{
    if (sql_accept_word(p, "COLUMN")) {
        alter->kind = SQL_RENAME_COLUMN;
        alter->column_at = p->token;
        if (!sql_need_name(p, alter->column, "expected a column name") || !sql_need_word(p, "TO"))
            return false;
        alter->new_at = p->token;
        return sql_need_name(p, alter->new_name, "expected the column's new name");
    }
    if (!sql_accept_word(p, "TO")) sql_accept_word(p, "AS");
    return read_new_table(p, alter);
}

/* The rest of the text. */
static bool read_column(struct sql_parser *p, struct sql_alter *alter)
{
    const struct sql_create_input input = {.text = p->text,
                                           .text_size = (size_t)(p->lexer.end - p->text)};
    size_t size = table_def_size(1, COLUMN_NAME_MAX + 1u + COLUMN_BYTES_MAX + 8u);
    struct sql_create_result result;
    void *memory = malloc(size);

    alter->kind = SQL_ADD_COLUMN;
    alter->new_at = p->token;
    if (memory == NULL) return sql_fail(p, ERR_API_MEMORY, "no memory");
    if (sql_column_parse(&input, p->token.start, memory, size, &result, p->error) == 0) {
        alter->word_count = table_column_encode(result.def, &result.def->columns[0], alter->words,
                                                SQL_COLUMN_WORDS_MAX);
        p->lexer.at = p->text + result.consumed;
        sql_next(p);
    }
    free(memory);
    return p->error->code == 0;
}

static bool read_table(struct sql_parser *p, struct sql_alter *alter)
{
    return sql_need_table(p, alter->database, alter->table, &alter->table_at);
}

static bool read_alter(struct sql_parser *p, struct sql_alter *alter)
{
    if (!sql_need_word(p, "TABLE") || !read_table(p, alter)) return false;
    if (sql_accept_word(p, "RENAME")) return read_rename(p, alter);
    if (sql_accept_word(p, "ADD")) {
        sql_accept_word(p, "COLUMN");
        return read_column(p, alter);
    }
    return sql_fail(p, ERR_NOT_IMPLEMENTED, "expected ADD or RENAME");
}

static bool read_statement(struct sql_parser *p, struct sql_alter *alter)
{
    if (sql_accept_word(p, "ALTER")) return read_alter(p, alter);
    if (sql_accept_word(p, "TRUNCATE")) {
        alter->kind = SQL_TRUNCATE;
        sql_accept_word(p, "TABLE");
        return read_table(p, alter);
    }
    if (!sql_accept_word(p, "RENAME"))
        return sql_fail(p, ERR_BAD_REQUEST, "expected ALTER, RENAME or TRUNCATE TABLE");
    return sql_need_word(p, "TABLE") && read_table(p, alter) && sql_need_word(p, "TO") &&
           read_new_table(p, alter);
}

uint32_t sql_alter_parse(const char *text, size_t text_size, struct sql_alter *alter,
                         struct sql_create_error *error)
{
    struct sql_parser p;

    memset(alter, 0, sizeof(*alter));
    sql_begin(&p, text, text_size, error);
    if (!read_statement(&p, alter) || !sql_need_end(&p)) return error->code;
    return ERR_NONE;
}
