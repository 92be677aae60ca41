/* create_element.c -- reads what stands between the parentheses of a CREATE TABLE: keys, indexes,
 * columns. */
/* SPDX-License-Identifier: MIT */
#include "api/sql/create_private.h"
#include "values/errors.h"

bool create_read_key_list(struct create_parser *p, uint32_t flag, bool may_be_empty)
{
    struct sql_token name;

    if (!create_need_char(p, '(')) return false;
    if (may_be_empty && create_accept_char(p, ')')) return true;
    do {
        if (!create_need_name(p, &name, "a column name")) return false;
        struct create_column *column = create_find_column(p, &name);
        if (column == NULL) return create_fail_at(p, &name, ERR_NO_SUCH_COLUMN, "");
        if ((column->flags & flag) != 0)
            return create_fail_at(p, &name, ERR_KEY_TWICE, "the column is named twice in the key");
        column->flags |= flag;
    } while (create_accept_char(p, ','));
    return create_accept_char(p, ')') || create_expected(p, "',' or ')'");
}

bool create_key_begins(struct create_parser *p, const struct sql_token *token)
{
    if (p->key_written)
        return create_fail_at(p, token, ERR_KEY_BAD, "a table has one primary key only");
    p->key_written = true;
    return true;
}

struct create_index *create_add_index(struct create_parser *p, const struct sql_token *word,
                                      bool unique)
{
    uint32_t ordered = p->index_count - p->unique_count;
    if (unique && p->unique_count == TABLE_UNIQUE_MAX) {
        create_fail_at(p, word, ERR_INDEXES_TOO_MANY, "a table has at most 32 unique indexes");
        return NULL;
    }
    if (!unique && ordered == TABLE_INDEXES_MAX) {
        create_fail_at(p, word, ERR_INDEXES_TOO_MANY, "a table has at most 32 indexes");
        return NULL;
    }
    if (unique) p->unique_count++;
    struct create_index *index = &p->indexes[p->index_count++];
    index->unique = unique;
    return index;
}

static bool read_index_kind(struct create_parser *p, bool unique)
{
    return !create_accept_word(p, "USING") || create_need_word(p, unique ? "HASH" : "BTREE");
}

/* [name] [USING kind] (column [ASC], ...) [USING kind], behind INDEX or KEY. */
static bool read_index(struct create_parser *p, const struct sql_token *word, bool unique)
{
    struct create_index *index = create_add_index(p, word, unique);
    if (index == NULL) return false;
    if (!create_at_char(p, '(') && !sql_token_is(&p->token, "USING") &&
        !create_need_name(p, &index->name, "the index's name or its columns in parentheses"))
        return false;
    if (!read_index_kind(p, unique) || !create_need_char(p, '(')) return false;
    do {
        if (index->column_count == INDEX_COLUMNS_MAX)
            return create_fail_at(p, &p->token, ERR_INDEX_OBJECT,
                                  "an index has at most 32 columns");
        if (!create_need_name(p, &index->columns[index->column_count++], "a column name"))
            return false;
        create_accept_word(p, "ASC");
    } while (create_accept_char(p, ','));
    if (!create_accept_char(p, ')')) return create_expected(p, "',' or ')'");
    if (index->name.kind == SQL_END) index->name = index->columns[0];
    return read_index_kind(p, unique);
}

/* UNIQUE [INDEX | KEY] ..., perhaps behind CONSTRAINT [name], which names it if nothing else does.
 */
static bool read_unique(struct create_parser *p, const struct sql_token *word,
                        const struct sql_token *constraint)
{
    if (!create_need_word(p, "UNIQUE")) return false;
    if (!create_accept_word(p, "INDEX")) create_accept_word(p, "KEY");
    uint32_t number = p->index_count;
    bool named = !create_at_char(p, '(') && !sql_token_is(&p->token, "USING");
    if (!read_index(p, word, true)) return false;
    if (!named && constraint->kind != SQL_END) p->indexes[number].name = *constraint;
    return true;
}

static bool read_constraint(struct create_parser *p)
{
    const struct sql_token word = p->token;
    struct sql_token name = {0};

    create_next(p);
    if (!sql_token_is(&p->token, "UNIQUE") && !create_need_name(p, &name, "a name or UNIQUE"))
        return false;
    return read_unique(p, &word, &name);
}

bool create_read_element(struct create_parser *p)
{
    const struct sql_token word = p->token;

    if (create_accept_word(p, "PRIMARY")) {
        if (!create_need_word(p, "KEY") || !create_key_begins(p, &word)) return false;
        if (create_accept_word(p, "USING") && !create_need_word(p, "HASH")) return false;
        if (!create_read_key_list(p, COLUMN_PRIMARY_KEY, false)) return false;
        return !create_accept_word(p, "USING") || create_need_word(p, "HASH");
    }
    if (create_accept_word(p, "INDEX") || create_accept_word(p, "KEY"))
        return read_index(p, &word, false);
    if (sql_token_is(&word, "UNIQUE")) return read_unique(p, &word, &(struct sql_token){0});
    if (sql_token_is(&word, "CONSTRAINT")) return read_constraint(p);
    if (sql_token_is(&word, "FOREIGN") || sql_token_is(&word, "FULLTEXT") ||
        sql_token_is(&word, "CHECK"))
        return create_fail_at(
            p, &word, ERR_NOT_IMPLEMENTED,
            "expected a column, PRIMARY KEY, INDEX or UNIQUE: there are no other keys here");
    return create_read_column(p);
}
