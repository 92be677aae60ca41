/* sql_create.c -- reads CREATE TABLE: a parser without recursion over the tokens of sql_lexer.c. */
/* SPDX-License-Identifier: MIT */
#include "api/sql/sql_create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/sql/create_private.h"
#include "values/errors.h"

static bool read_name(struct create_parser *p)
{
    if (!create_need_name(p, &p->table, "a table name")) return false;
    if (!create_accept_char(p, '.')) return true;
    p->database = p->table;
    return create_need_name(p, &p->table, "a table name after the dot");
}

static bool read_statement(struct create_parser *p, bool *if_not_exists)
{
    bool more = true;

    create_next(p);
    if (!create_need_word(p, "CREATE") || !create_need_word(p, "TABLE")) return false;
    if (create_accept_word(p, "IF")) {
        if (!create_need_word(p, "NOT") || !create_need_word(p, "EXISTS")) return false;
        *if_not_exists = true;
    }
    if (!read_name(p) || !create_need_char(p, '(')) return false;
    do {
        if (!create_read_element(p)) return false;
    } while (create_accept_char(p, ','));
    if (!create_accept_char(p, ')')) return create_expected(p, "',' or ')' or a column property");
    while (more) {
        if (!create_read_option(p, &more)) return false;
        if (more) create_accept_char(p, ',');
    }
    return p->token.kind == SQL_END || create_at_char(p, ';') ||
           create_expected(p, "a table option or ';'");
}

static uint32_t simple_error(struct sql_create_error *error, uint32_t code)
{
    error->code = code;
    snprintf(error->text, sizeof(error->text), "%s", error_get(code)->text);
    return code;
}

/* A parser before its first token; NULL and the error when there is no memory. */
static struct create_parser *parser_new(const struct sql_create_input *input, const char *at,
                                        struct sql_create_error *error)
{
    struct create_parser *p = calloc(1, sizeof(*p)); /* Too large for a thread's stack. */

    if (p == NULL) {
        simple_error(error, ERR_API_MEMORY);
        return NULL;
    }
    p->input = input;
    p->error = error;
    p->lexer = (struct sql_lexer){at, input->text + input->text_size};
    p->collation = COLLATION_UTF8MB4_GENERAL_CI;
    p->table_flags = TABLE_FLAGS_DEFAULT;
    p->balance = TABLE_BALANCE_FOR_RP_BY_LDM;
    return p;
}

uint32_t sql_create_parse(const struct sql_create_input *input, void *memory, size_t memory_size,
                          struct sql_create_result *result, struct sql_create_error *error)
{
    memset(result, 0, sizeof(*result));
    memset(error, 0, sizeof(*error));
    struct table_def *def = table_def_init(memory, memory_size, TABLE_COLUMNS_MAX);
    if (def == NULL) return simple_error(error, ERR_BUFFER_SMALL);
    struct create_parser *p = parser_new(input, input->text, error);
    if (p == NULL) return error->code;
    if (read_statement(p, &result->if_not_exists) && create_finish(p, def)) {
        result->def = def;
        result->table_at = p->table;
        result->first_number = p->first_number;
        result->consumed = (size_t)(p->lexer.at - input->text);
    }
    free(p);
    return error->code;
}

static bool read_only_column(struct create_parser *p, struct table_def *def)
{
    create_next(p);
    const struct sql_token name = p->token;
    if (!create_read_column(p)) return false;
    if (p->token.kind != SQL_END && !create_at_char(p, ';'))
        return create_expected(p, "a column property or ';'");
    if (p->index_count > 0 || p->key_written)
        return create_fail_at(p, &name, ERR_ALTER_IMPOSSIBLE, "a new column cannot have a key");
    return create_finish_column(p, &p->columns[0], def);
}

uint32_t sql_column_parse(const struct sql_create_input *input, const char *at, void *memory,
                          size_t memory_size, struct sql_create_result *result,
                          struct sql_create_error *error)
{
    memset(result, 0, sizeof(*result));
    memset(error, 0, sizeof(*error));
    struct table_def *def = table_def_init(memory, memory_size, 1);
    if (def == NULL) return simple_error(error, ERR_BUFFER_SMALL);
    struct create_parser *p = parser_new(input, at, error);
    if (p == NULL) return error->code;
    if (read_only_column(p, def)) {
        result->def = def;
        result->consumed = (size_t)(p->lexer.at - input->text);
    }
    free(p);
    return error->code;
}

bool sql_create_at_end(const char *text, size_t text_size)
{
    struct sql_lexer lexer = {text, text + text_size};

    return sql_lexer_next(&lexer).kind == SQL_END;
}
