/* sql_index.c -- reads CREATE [UNIQUE] INDEX over the tokens of sql_lexer.c. */
/* SPDX-License-Identifier: MIT */
#include "api/sql/sql_index.h"

#include <string.h>

#include "api/sql/sql_parser.h"
#include "values/errors.h"

static bool read_kind(struct sql_parser *p, bool unique)
{
    if (!sql_accept_word(p, "USING")) return true;
    if (!unique) return sql_need_word(p, "BTREE");
    return sql_accept_word(p, "HASH") ||
           sql_fail(p, ERR_BAD_REQUEST, "expected HASH: a unique index has no order");
}

static bool read_head(struct sql_parser *p, struct sql_index *index)
{
    if (!sql_need_word(p, "CREATE")) return false;
    if (sql_token_is(&p->token, "FULLTEXT") || sql_token_is(&p->token, "SPATIAL"))
        return sql_fail(p, ERR_NOT_IMPLEMENTED,
                        "expected INDEX or UNIQUE INDEX: there are no others here");
    index->unique = sql_accept_word(p, "UNIQUE");
    if (!sql_need_word(p, "INDEX")) return false;
    if (sql_accept_word(p, "IF")) {
        if (!sql_need_word(p, "NOT") || !sql_need_word(p, "EXISTS")) return false;
        index->if_not_exists = true;
    }
    index->name_at = p->token;
    if (!sql_need_name(p, index->name, "expected the index's name")) return false;
    if (!read_kind(p, index->unique)) return false;
    if (!sql_need_word(p, "ON")) return false;
    return sql_need_table(p, index->database, index->table, &index->table_at);
}

static bool read_columns(struct sql_parser *p, struct sql_index *index)
{
    if (!sql_accept_char(p, '(')) return sql_fail(p, ERR_BAD_REQUEST, "expected '('");
    do {
        if (index->column_count == INDEX_COLUMNS_MAX)
            return sql_fail(p, ERR_INDEX_OBJECT, "an index has at most 32 columns");
        index->columns_at[index->column_count] = p->token;
        if (!sql_need_name(p, index->columns[index->column_count++], "expected a column name"))
            return false;
        sql_accept_word(p, "ASC");
    } while (sql_accept_char(p, ','));
    if (!sql_accept_char(p, ')')) return sql_fail(p, ERR_BAD_REQUEST, "expected ',' or ')'");
    return read_kind(p, index->unique) && sql_need_end(p);
}

uint32_t sql_index_parse(const char *text, size_t text_size, struct sql_index *index,
                         struct sql_create_error *error)
{
    struct sql_parser p;

    memset(index, 0, sizeof(*index));
    sql_begin(&p, text, text_size, error);
    if (!read_head(&p, index) || !read_columns(&p, index)) return error->code;
    return ERR_NONE;
}
