/* sql_create.c -- reads CREATE TABLE: a parser without recursion over the tokens of sql_lexer.c. */
/* SPDX-License-Identifier: MIT */
/*
 * Columns are first collected as they are written and become a definition at the end, because the
 * table's character set and the PRIMARY KEY clause come after them. Every function that reads
 * returns false after having reported the first problem with `fail`; nobody goes on after that.
 */
#include "api/sql/sql_create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/sql/sql_error.h"
#include "api/sql/sql_lexer.h"
#include "api/sql/sql_types.h"
#include "values/errors.h"

enum { LITERAL_MAX = 2 * COLUMN_BYTES_MAX + 16, DECIMAL_DIGITS_DEFAULT = 10 };

struct column {
    struct sql_token name;
    struct sql_token default_value; /* kind SQL_END: none; the word NULL: NULL */
    struct column_format format;    /* length in characters until finish_format */
    uint32_t flags;
    bool null_written;
    bool negative; /* sign of a number in DEFAULT */
};

/* Columns are looked for at the end: an index may come before them. */
struct index {
    bool unique;
    struct sql_token name; /* kind SQL_END: the name of the first column */
    uint32_t column_count;
    struct sql_token columns[INDEX_COLUMNS_MAX];
};

struct parser {
    const struct sql_create_input *input;
    struct sql_create_error *error;
    struct sql_lexer lexer;
    struct sql_token token; /* the one to look at */
    struct sql_token database;
    struct sql_token table;
    uint8_t collation; /* collation of the table */
    uint32_t table_flags;
    int32_t balance;
    bool balance_written;
    bool key_written;
    uint32_t fragment_count;
    uint64_t max_rows;
    uint64_t first_number;
    uint32_t column_count;
    struct column columns[TABLE_COLUMNS_MAX];
    uint32_t index_count;
    uint32_t unique_count; /* unique indexes among them */
    struct index indexes[TABLE_INDEXES_MAX + TABLE_UNIQUE_MAX];
    char literal[LITERAL_MAX];
    uint8_t value[COLUMN_BYTES_MAX + 8];
};

static bool fail_at(struct parser *p, const struct sql_token *token, uint32_t code,
                    const char *what)
{
    sql_error_at(p->input->text, token, code, what, p->error);
    return false;
}

static bool expected(struct parser *p, const char *what)
{
    char text[200];

    snprintf(text, sizeof(text), "expected %s", what);
    return fail_at(p, &p->token, ERR_BAD_REQUEST, text);
}

static void next(struct parser *p)
{
    p->token = sql_lexer_next(&p->lexer);
}

static bool accept_word(struct parser *p, const char *word)
{
    if (!sql_token_is(&p->token, word)) return false;
    next(p);
    return true;
}

static bool at_char(const struct parser *p, char c)
{
    return p->token.kind == SQL_PUNCTUATION && *p->token.start == c;
}

static bool accept_char(struct parser *p, char c)
{
    if (!at_char(p, c)) return false;
    next(p);
    return true;
}

static bool need_word(struct parser *p, const char *word)
{
    return accept_word(p, word) || expected(p, word);
}

static bool need_char(struct parser *p, char c)
{
    const char what[4] = {'\'', c, '\'', 0};

    return accept_char(p, c) || expected(p, what);
}

static bool need_name(struct parser *p, struct sql_token *name, const char *what)
{
    if (p->token.kind != SQL_WORD && p->token.kind != SQL_NAME && p->token.kind != SQL_DOUBLE)
        return expected(p, what);
    if (p->token.body_size == 0)
        return fail_at(p, &p->token, ERR_BAD_REQUEST, "a name cannot be empty");
    *name = p->token;
    next(p);
    return true;
}

static bool need_number(struct parser *p, uint64_t max, uint64_t *number)
{
    char what[64];

    snprintf(what, sizeof(what), "a whole number up to %llu", (unsigned long long)max);
    *number = 0;
    if (p->token.kind != SQL_NUMBER) return expected(p, what);
    for (size_t i = 0; i < p->token.size; i++) {
        uint64_t digit = (uint64_t)(unsigned char)p->token.start[i] - '0';
        if (digit > 9 || *number > (max - digit) / 10 || digit > max) return expected(p, what);
        *number = *number * 10 + digit;
    }
    next(p);
    return true;
}

static bool same_text(const struct sql_token *token, const char *text, size_t size)
{
    char name[COLUMN_NAME_MAX * 2 + 2];
    size_t got = sql_token_text(token, name, sizeof(name));

    return got == size && strncasecmp(name, text, size) == 0;
}

static struct column *find_column(struct parser *p, const struct sql_token *name)
{
    char text[COLUMN_NAME_MAX * 2 + 2];
    size_t size = sql_token_text(name, text, sizeof(text));

    for (uint32_t i = 0; size != SIZE_MAX && i < p->column_count; i++) {
        if (same_text(&p->columns[i].name, text, size)) return &p->columns[i];
    }
    return NULL;
}

/* (a, b, ...): sets the flag on each column named. */
static bool read_key_list(struct parser *p, uint32_t flag, bool may_be_empty)
{
    struct sql_token name;

    if (!need_char(p, '(')) return false;
    if (may_be_empty && accept_char(p, ')')) return true;
    do {
        if (!need_name(p, &name, "a column name")) return false;
        struct column *column = find_column(p, &name);
        if (column == NULL) return fail_at(p, &name, ERR_NO_SUCH_COLUMN, "");
        if ((column->flags & flag) != 0)
            return fail_at(p, &name, ERR_KEY_TWICE, "the column is named twice in the key");
        column->flags |= flag;
    } while (accept_char(p, ','));
    return accept_char(p, ')') || expected(p, "',' or ')'");
}

static bool key_begins(struct parser *p, const struct sql_token *token)
{
    if (p->key_written) return fail_at(p, token, ERR_KEY_BAD, "a table has one primary key only");
    p->key_written = true;
    return true;
}

/* [=] name-of-set, for CHARACTER SET and COLLATE. */
static bool read_collation(struct parser *p, bool is_set, uint8_t *collation)
{
    struct sql_token name;
    char text[COLUMN_NAME_MAX * 2 + 2];

    accept_char(p, '=');
    if (p->token.kind == SQL_STRING) {
        name = p->token;
        next(p);
    } else if (!need_name(p, &name, is_set ? "a character set" : "a collation")) {
        return false;
    }
    size_t size = sql_token_text(&name, text, sizeof(text));
    if (is_set && size == 7 && strcasecmp(text, "utf8mb4") == 0) {
        if (*collation != COLLATION_UTF8MB4_BIN) /* COLLATE may have come first. */
            *collation = COLLATION_UTF8MB4_GENERAL_CI;
        return true;
    }
    enum collation found = size == SIZE_MAX ? COLLATION_NONE : collation_find(text, (uint32_t)size);
    if (found == COLLATION_NONE || (is_set && found != COLLATION_BINARY))
        return fail_at(p, &name, ERR_CHARSET_UNSUPPORTED,
                       is_set ? "expected character set utf8mb4 or binary"
                              : "expected collation utf8mb4_general_ci, utf8mb4_bin or binary");
    *collation = (uint8_t)found;
    return true;
}

/* CHARACTER SET x, CHARSET x, COLLATE x; *done tells whether it was one of these. */
static bool read_character_set(struct parser *p, uint8_t *collation, bool *done)
{
    *done = true;
    if (accept_word(p, "CHARSET")) return read_collation(p, true, collation);
    if (accept_word(p, "CHARACTER"))
        return need_word(p, "SET") && read_collation(p, true, collation);
    if (accept_word(p, "COLLATE")) return read_collation(p, false, collation);
    *done = false;
    return true;
}

/* The numbers after a type, in parentheses; which there may be depends on the type. */
static bool read_numbers(struct parser *p, const struct sql_type *type, struct column *column)
{
    struct column_format *format = &column->format;
    bool is_length = type->numbers == SQL_LENGTH || type->numbers == SQL_LENGTH_NEEDED;
    uint64_t number = 0;

    if (!at_char(p, '(') || type->numbers == SQL_NO_NUMBER)
        return type->numbers != SQL_LENGTH_NEEDED || expected(p, "'(' and a length");
    next(p);
    if (is_length) {
        if (!need_number(p, COLUMN_BYTES_MAX, &number)) return false;
        format->length = (uint32_t)number;
    } else if (type->numbers == SQL_FRACTION) {
        if (!need_number(p, COLUMN_FRACTION_DIGITS_MAX, &number)) return false;
        format->precision = (uint8_t)number;
    } else if (type->numbers == SQL_DECIMAL_DIGITS) {
        if (!need_number(p, COLUMN_DECIMAL_PRECISION_MAX, &number)) return false;
        format->precision = (uint8_t)number;
        if (accept_char(p, ',')) {
            if (!need_number(p, COLUMN_DECIMAL_SCALE_MAX, &number)) return false;
            format->scale = (uint8_t)number;
        }
    } else { /* A display width, or the digits of a float. */
        if (!need_number(p, 255, &number)) return false;
        if (type->numbers == SQL_FLOAT_DIGITS && number > 53)
            return expected(p, "at most 53 binary digits before it");
        if (type->numbers == SQL_FLOAT_DIGITS && number > 24) format->type = COLUMN_DOUBLE;
    }
    return need_char(p, ')');
}

static bool read_type(struct parser *p, struct column *column)
{
    const struct sql_token word = p->token;
    const struct sql_type *type = sql_type_find(&word);

    if (type == NULL) return expected(p, "a column type");
    if (type->type == COLUMN_UNDEFINED) return fail_at(p, &word, ERR_COLUMN_TYPE_UNSUPPORTED, "");
    next(p);
    column->format = (struct column_format){.type = type->type, .length = 1};
    if (type->type == COLUMN_DECIMAL) column->format.precision = DECIMAL_DIGITS_DEFAULT;
    if (sql_token_is(&word, "DOUBLE")) accept_word(p, "PRECISION");
    if (type->type == COLUMN_CHAR && accept_word(p, "VARYING")) {
        static const struct sql_token varchar = {
            .kind = SQL_WORD, .start = "VARCHAR", .size = 7, .body = "VARCHAR", .body_size = 7};
        type = sql_type_find(&varchar);
        column->format.type = type->type;
    }
    if (!read_numbers(p, type, column)) return false;
    if (sql_token_is(&p->token, "UNSIGNED")) {
        if (type->unsigned_type == COLUMN_UNDEFINED)
            return fail_at(p, &p->token, ERR_BAD_REQUEST, "this type cannot be UNSIGNED");
        column->format.type = type->unsigned_type;
        next(p);
    } else {
        accept_word(p, "SIGNED");
    }
    return true;
}

static bool read_default(struct parser *p, struct column *column)
{
    if (at_char(p, '-') || at_char(p, '+')) {
        column->negative = at_char(p, '-');
        next(p);
        if (p->token.kind != SQL_NUMBER) return expected(p, "a number after the sign");
    }
    bool word = sql_token_is(&p->token, "NULL") || sql_token_is(&p->token, "TRUE") ||
                sql_token_is(&p->token, "FALSE");
    if (!word && p->token.kind != SQL_NUMBER && p->token.kind != SQL_STRING &&
        p->token.kind != SQL_DOUBLE && p->token.kind != SQL_BITS && p->token.kind != SQL_HEX)
        return expected(p, "a literal: number, string, b'..', x'..', TRUE, FALSE or NULL");
    column->default_value = p->token;
    next(p);
    return true;
}

/* NULL: there are too many. */
static struct index *add_index(struct parser *p, const struct sql_token *word, bool unique)
{
    uint32_t ordered = p->index_count - p->unique_count;
    if (unique && p->unique_count == TABLE_UNIQUE_MAX) {
        fail_at(p, word, ERR_INDEXES_TOO_MANY, "a table has at most 32 unique indexes");
        return NULL;
    }
    if (!unique && ordered == TABLE_INDEXES_MAX) {
        fail_at(p, word, ERR_INDEXES_TOO_MANY, "a table has at most 32 indexes");
        return NULL;
    }
    if (unique) p->unique_count++;
    struct index *index = &p->indexes[p->index_count++];
    index->unique = unique;
    return index;
}

/* One property after the type; *done is false when there is no more. */
static bool read_property(struct parser *p, struct column *column, bool *done)
{
    const struct sql_token word = p->token;

    *done = true;
    if (accept_word(p, "NOT")) {
        if (!need_word(p, "NULL")) return false;
        column->flags &= ~(uint32_t)COLUMN_NULLABLE;
        return true;
    }
    if (accept_word(p, "NULL")) {
        column->flags |= COLUMN_NULLABLE;
        column->null_written = true;
        return true;
    }
    if (accept_word(p, "DEFAULT")) return read_default(p, column);
    if (accept_word(p, "PRIMARY")) {
        column->flags |= COLUMN_PRIMARY_KEY;
        return need_word(p, "KEY") && key_begins(p, &word);
    }
    if (accept_word(p, "COMMENT")) {
        if (p->token.kind != SQL_STRING && p->token.kind != SQL_DOUBLE)
            return expected(p, "the comment as a string");
        next(p);
        return true;
    }
    if (accept_word(p, "UNIQUE")) {
        struct index *index = add_index(p, &word, true);
        if (index == NULL) return false;
        index->columns[index->column_count++] = index->name = column->name;
        accept_word(p, "KEY");
        return true;
    }
    if (accept_word(p, "AUTO_INCREMENT")) {
        column->flags |= COLUMN_AUTO_INCREMENT;
        return true;
    }
    if (sql_token_is(&word, "REFERENCES") || sql_token_is(&word, "GENERATED"))
        return fail_at(p, &word, ERR_NOT_IMPLEMENTED, "this column property does not exist here");
    bool is_set;
    if (!read_character_set(p, &column->format.collation, &is_set)) return false;
    if (is_set && !column_is_char(column->format.type))
        return fail_at(p, &word, ERR_COLLATION_ON_NUMBER, "only char types have a character set");
    *done = is_set;
    return true;
}

static bool read_column(struct parser *p)
{
    struct sql_token name;
    bool more = true;

    if (!need_name(p, &name, "a column name or PRIMARY KEY")) return false;
    if (find_column(p, &name) != NULL) return fail_at(p, &name, ERR_COLUMN_REPEATED, "");
    if (p->column_count == TABLE_COLUMNS_MAX)
        return fail_at(p, &name, ERR_TOO_MANY_COLUMNS, "a table has at most 512 columns");
    struct column *column = &p->columns[p->column_count];
    memset(column, 0, sizeof(*column));
    column->name = name;
    column->flags = COLUMN_NULLABLE;
    if (!read_type(p, column)) return false;
    p->column_count++;
    while (more) {
        if (!read_property(p, column, &more)) return false;
    }
    return true;
}

static bool read_index_kind(struct parser *p, bool unique)
{
    return !accept_word(p, "USING") || need_word(p, unique ? "HASH" : "BTREE");
}

/* [name] [USING kind] (column [ASC], ...) [USING kind], behind INDEX or KEY. */
static bool read_index(struct parser *p, const struct sql_token *word, bool unique)
{
    struct index *index = add_index(p, word, unique);
    if (index == NULL) return false;
    if (!at_char(p, '(') && !sql_token_is(&p->token, "USING") &&
        !need_name(p, &index->name, "the index's name or its columns in parentheses"))
        return false;
    if (!read_index_kind(p, unique) || !need_char(p, '(')) return false;
    do {
        if (index->column_count == INDEX_COLUMNS_MAX)
            return fail_at(p, &p->token, ERR_INDEX_OBJECT, "an index has at most 32 columns");
        if (!need_name(p, &index->columns[index->column_count++], "a column name")) return false;
        accept_word(p, "ASC");
    } while (accept_char(p, ','));
    if (!accept_char(p, ')')) return expected(p, "',' or ')'");
    if (index->name.kind == SQL_END) index->name = index->columns[0];
    return read_index_kind(p, unique);
}

/* UNIQUE [INDEX | KEY] ..., perhaps behind CONSTRAINT [name], which names it if nothing else does.
 */
static bool read_unique(struct parser *p, const struct sql_token *word,
                        const struct sql_token *constraint)
{
    if (!need_word(p, "UNIQUE")) return false;
    if (!accept_word(p, "INDEX")) accept_word(p, "KEY");
    uint32_t number = p->index_count;
    bool named = !at_char(p, '(') && !sql_token_is(&p->token, "USING");
    if (!read_index(p, word, true)) return false;
    if (!named && constraint->kind != SQL_END) p->indexes[number].name = *constraint;
    return true;
}

static bool read_constraint(struct parser *p)
{
    const struct sql_token word = p->token;
    struct sql_token name = {0};

    next(p);
    if (!sql_token_is(&p->token, "UNIQUE") && !need_name(p, &name, "a name or UNIQUE"))
        return false;
    return read_unique(p, &word, &name);
}

static bool read_element(struct parser *p)
{
    const struct sql_token word = p->token;

    if (accept_word(p, "PRIMARY")) {
        if (!need_word(p, "KEY") || !key_begins(p, &word)) return false;
        if (accept_word(p, "USING") && !need_word(p, "HASH")) return false;
        if (!read_key_list(p, COLUMN_PRIMARY_KEY, false)) return false;
        return !accept_word(p, "USING") || need_word(p, "HASH");
    }
    if (accept_word(p, "INDEX") || accept_word(p, "KEY")) return read_index(p, &word, false);
    if (sql_token_is(&word, "UNIQUE")) return read_unique(p, &word, &(struct sql_token){0});
    if (sql_token_is(&word, "CONSTRAINT")) return read_constraint(p);
    if (sql_token_is(&word, "FOREIGN") || sql_token_is(&word, "FULLTEXT") ||
        sql_token_is(&word, "CHECK"))
        return fail_at(
            p, &word, ERR_NOT_IMPLEMENTED,
            "expected a column, PRIMARY KEY, INDEX or UNIQUE: there are no other keys here");
    return read_column(p);
}

static bool read_name(struct parser *p)
{
    if (!need_name(p, &p->table, "a table name")) return false;
    if (!accept_char(p, '.')) return true;
    p->database = p->table;
    return need_name(p, &p->table, "a table name after the dot");
}

static bool is_option(const char *key, size_t size, const char *name)
{
    return strlen(name) == size && strncasecmp(key, name, size) == 0;
}

/* One NAME=value of an NDB_TABLE comment. */
static bool read_table_option(struct parser *p, const struct sql_token *token, const char *key,
                              size_t key_size, const char *value, size_t value_size)
{
    uint32_t flag = is_option(key, key_size, "READ_BACKUP")        ? TABLE_READ_BACKUP
                    : is_option(key, key_size, "FULLY_REPLICATED") ? TABLE_FULLY_REPLICATED
                    : is_option(key, key_size, "NOLOGGING")        ? TABLE_NO_LOGGING
                                                                   : 0;

    if (is_option(key, key_size, "PARTITION_BALANCE")) {
        if (!table_balance_find(value, (uint32_t)value_size, &p->balance) ||
            p->balance == TABLE_BALANCE_SPECIFIC)
            return fail_at(p, token, ERR_BALANCE_BAD,
                           "PARTITION_BALANCE must be FOR_RP_BY_LDM, FOR_RA_BY_LDM, "
                           "FOR_RP_BY_NODE, FOR_RA_BY_NODE or FOR_RA_BY_LDM_X_2 to _4");
        p->balance_written = true;
        return true;
    }
    if (flag == 0)
        return fail_at(p, token, ERR_TABLE_FLAGS,
                       "NDB_TABLE knows READ_BACKUP, FULLY_REPLICATED, NOLOGGING and "
                       "PARTITION_BALANCE");
    if (value_size != 1 || (*value != '0' && *value != '1'))
        return fail_at(p, token, ERR_TABLE_FLAGS, "the option's value must be 0 or 1");
    p->table_flags = *value == '1' ? p->table_flags | flag : p->table_flags & ~flag;
    return true;
}

/* COMMENT 'text': only what follows NDB_TABLE= in it is for us. */
static bool read_comment(struct parser *p)
{
    accept_char(p, '=');
    if (p->token.kind != SQL_STRING && p->token.kind != SQL_DOUBLE)
        return expected(p, "the comment as a string");
    const struct sql_token string = p->token;
    next(p);
    size_t size = sql_token_text(&string, p->literal, sizeof(p->literal));
    if (size == SIZE_MAX)
        return fail_at(p, &string, ERR_DEFINITION_TOO_BIG, "the comment is too long");
    const char *at = strstr(p->literal, "NDB_TABLE=");
    if (at == NULL) return true;
    at += strlen("NDB_TABLE=");
    for (;;) {
        size_t length = strcspn(at, ", \n\t");
        const char *equals = memchr(at, '=', length);
        size_t key_size = equals != NULL ? (size_t)(equals - at) : length;
        const char *value = equals != NULL ? equals + 1 : at + length;
        if (!read_table_option(p, &string, at, key_size, value, length - (size_t)(value - at)))
            return false;
        at += length;
        if (*at != ',') return true;
        at++;
    }
}

static bool read_partitioning(struct parser *p)
{
    uint64_t count;

    if (!need_word(p, "BY") || !(accept_word(p, "KEY") || expected(p, "KEY (columns)")) ||
        !read_key_list(p, COLUMN_PARTITION_KEY, true))
        return false;
    if (!accept_word(p, "PARTITIONS")) return true;
    const struct sql_token token = p->token;
    if (!need_number(p, TABLE_FRAGMENTS_MAX, &count)) return false;
    if (count == 0)
        return fail_at(p, &token, ERR_FRAGMENT_COUNT, "expected at least one partition");
    p->fragment_count = (uint32_t)count;
    return true;
}

/* One table option; *done is false when there is no more. */
static bool read_option(struct parser *p, bool *done)
{
    *done = true;
    if (accept_word(p, "ENGINE")) {
        accept_char(p, '=');
        return accept_word(p, "NDB") || accept_word(p, "NDBCLUSTER") ||
               expected(p, "NDB or NDBCLUSTER");
    }
    if (accept_word(p, "MAX_ROWS")) {
        accept_char(p, '=');
        return need_number(p, UINT64_MAX, &p->max_rows);
    }
    if (accept_word(p, "AUTO_INCREMENT")) {
        accept_char(p, '=');
        return need_number(p, UINT64_MAX, &p->first_number);
    }
    if (accept_word(p, "COMMENT")) return read_comment(p);
    if (accept_word(p, "PARTITION")) return read_partitioning(p);
    bool was_default = accept_word(p, "DEFAULT");
    if (!read_character_set(p, &p->collation, done)) return false;
    return *done || !was_default || expected(p, "CHARSET, CHARACTER SET or COLLATE");
}

static bool read_statement(struct parser *p, bool *if_not_exists)
{
    bool more = true;

    next(p);
    if (!need_word(p, "CREATE") || !need_word(p, "TABLE")) return false;
    if (accept_word(p, "IF")) {
        if (!need_word(p, "NOT") || !need_word(p, "EXISTS")) return false;
        *if_not_exists = true;
    }
    if (!read_name(p) || !need_char(p, '(')) return false;
    do {
        if (!read_element(p)) return false;
    } while (accept_char(p, ','));
    if (!accept_char(p, ')')) return expected(p, "',' or ')' or a column property");
    while (more) {
        if (!read_option(p, &more)) return false;
        if (more) accept_char(p, ',');
    }
    return p->token.kind == SQL_END || at_char(p, ';') || expected(p, "a table option or ';'");
}

/* Characters become bytes, and the stored form is chosen. */
static void finish_format(const struct parser *p, struct column_format *format)
{
    if (column_is_char(format->type) && format->collation == COLLATION_NONE)
        format->collation = p->collation;
    format->length *= column_char_size(format);
    if (format->length > COLUMN_SHORT_VAR_BYTES_MAX) {
        if (format->type == COLUMN_VARCHAR)
            format->type = COLUMN_LONGVARCHAR;
        else if (format->type == COLUMN_VARBINARY)
            format->type = COLUMN_LONGVARBINARY;
    }
}

/* The default as text that column_parse understands. SIZE_MAX when it is too long. */
static size_t default_text(struct parser *p, const struct column *column)
{
    const struct sql_token *token = &column->default_value;
    size_t used = 0;

    if (sql_token_is(token, "TRUE") || sql_token_is(token, "FALSE")) {
        p->literal[0] = sql_token_is(token, "TRUE") ? '1' : '0';
        return 1;
    }
    if (column->negative) p->literal[used++] = '-';
    if (token->kind == SQL_HEX) {
        p->literal[used++] = '0';
        p->literal[used++] = 'x';
    }
    size_t size = sql_token_text(token, p->literal + used, sizeof(p->literal) - used);
    return size == SIZE_MAX ? SIZE_MAX : used + size;
}

static bool finish_default(struct parser *p, struct column *column, uint32_t *size)
{
    const struct sql_token *token = &column->default_value;
    char what[160];

    *size = 0;
    if (token->kind == SQL_END || sql_token_is(token, "NULL")) {
        if (token->kind != SQL_END && (column->flags & COLUMN_NULLABLE) == 0)
            return fail_at(p, token, ERR_NULL_FOR_NOT_NULL, "the column is NOT NULL");
        return true;
    }
    size_t length = default_text(p, column);
    uint32_t error = length == SIZE_MAX
                         ? ERR_VALUE_TOO_LONG
                         : column_parse(&column->format, p->literal, (uint32_t)length, p->value,
                                        sizeof(p->value), size);
    if (error == ERR_NONE) return true;
    snprintf(what, sizeof(what), "bad default: %s", error_get(error)->text);
    return fail_at(p, token, error, what);
}

static bool finish_column(struct parser *p, struct column *column, struct table_def *def)
{
    char name[COLUMN_NAME_MAX * 2 + 2];
    size_t name_size = sql_token_text(&column->name, name, sizeof(name));
    uint32_t size;

    finish_format(p, &column->format);
    uint32_t error = column_format_check(&column->format);
    if (error != ERR_NONE) return fail_at(p, &column->name, error, error_get(error)->text);
    bool counts = (column->flags & COLUMN_AUTO_INCREMENT) != 0;
    if (counts && column->default_value.kind != SQL_END)
        return fail_at(p, &column->default_value, ERR_BAD_REQUEST,
                       "an AUTO_INCREMENT column has no default");
    if (((column->flags & COLUMN_PRIMARY_KEY) != 0 || counts) && !column->null_written)
        column->flags &= ~(uint32_t)COLUMN_NULLABLE;
    if (!finish_default(p, column, &size)) return false;
    bool has_default =
        column->default_value.kind != SQL_END && !sql_token_is(&column->default_value, "NULL");
    const struct table_column_options options = {
        .name = name,
        .name_size = name_size > COLUMN_NAME_MAX ? COLUMN_NAME_MAX + 1 : (uint32_t)name_size,
        .format = column->format,
        .flags = column->flags,
        .default_value = has_default ? p->value : NULL,
        .default_size = size,
    };
    error = table_def_add_column(def, &options);
    return error == ERR_NONE || fail_at(p, &column->name, error, error_get(error)->text);
}

static bool finish_index(struct parser *p, const struct index *index, struct table_def *def)
{
    uint16_t columns[INDEX_COLUMNS_MAX];
    char name[INDEX_NAME_MAX * 2 + 2];
    size_t size = sql_token_text(&index->name, name, sizeof(name));
    uint32_t other;

    for (uint32_t i = 0; i < index->column_count; i++) {
        const struct column *column = find_column(p, &index->columns[i]);
        if (column == NULL) return fail_at(p, &index->columns[i], ERR_NO_SUCH_COLUMN, "");
        columns[i] = (uint16_t)(column - p->columns);
    }
    uint32_t name_size = size > INDEX_NAME_MAX ? INDEX_NAME_MAX + 1 : (uint32_t)size;
    if (table_def_index_find(def, name, name_size, &other) ||
        table_def_unique_find(def, name, name_size, &other))
        return fail_at(p, &index->name, ERR_INDEX_EXISTS, "this index exists already");
    uint32_t error = index->unique
                         ? table_def_add_unique(def, name, name_size, columns, index->column_count)
                         : table_def_add_index(def, name, name_size, columns, index->column_count);
    if (error == ERR_NONE) error = table_def_check(def);
    return error == ERR_NONE || fail_at(p, &index->name, error, error_get(error)->text);
}

static bool finish_name(struct parser *p, struct table_def *def)
{
    char database[TABLE_NAME_MAX * 2 + 2];
    char table[TABLE_NAME_MAX * 2 + 2];
    size_t database_size = 0;

    if (p->database.size > 0) {
        database_size = sql_token_text(&p->database, database, sizeof(database));
    } else if (p->input->database != NULL && strlen(p->input->database) < sizeof(database)) {
        database_size = strlen(p->input->database);
        memcpy(database, p->input->database, database_size);
    }
    if (database_size == 0)
        return fail_at(p, &p->table, ERR_TABLE_DATABASE, "name a database: database.table");
    size_t table_size = sql_token_text(&p->table, table, sizeof(table));
    uint32_t error = ERR_TABLE_NAME_TOO_LONG;
    if (database_size <= TABLE_NAME_MAX && table_size <= TABLE_NAME_MAX)
        error =
            table_def_set_name(def, database, (uint32_t)database_size, table, (uint32_t)table_size);
    return error == ERR_NONE || fail_at(p, &p->table, error, error_get(error)->text);
}

static bool finish(struct parser *p, struct table_def *def)
{
    uint32_t bad_column;

    if (!finish_name(p, def)) return false;
    if (!p->key_written)
        return fail_at(p, &p->table, ERR_PRIMARY_KEY_MISSING, "add PRIMARY KEY (column, ...)");
    if (p->fragment_count != 0 && p->balance_written)
        return fail_at(p, &p->table, ERR_FRAGMENT_COUNT,
                       "give either PARTITIONS or PARTITION_BALANCE");
    for (uint32_t i = 0; i < p->column_count; i++) {
        if (!finish_column(p, &p->columns[i], def)) return false;
    }
    def->flags = p->table_flags;
    def->balance = p->fragment_count != 0 ? TABLE_BALANCE_SPECIFIC : p->balance;
    def->fragment_count = p->fragment_count;
    def->max_rows = p->max_rows;
    uint32_t error = table_def_check_detail(def, &bad_column);
    if (error != ERR_NONE)
        return fail_at(p, bad_column < p->column_count ? &p->columns[bad_column].name : &p->table,
                       error, error_get(error)->text);
    for (uint32_t i = 0; i < p->index_count; i++) {
        if (!finish_index(p, &p->indexes[i], def)) return false;
    }
    return true;
}

static uint32_t simple_error(struct sql_create_error *error, uint32_t code)
{
    error->code = code;
    snprintf(error->text, sizeof(error->text), "%s", error_get(code)->text);
    return code;
}

/* A parser before its first token; NULL and the error when there is no memory. */
static struct parser *parser_new(const struct sql_create_input *input, const char *at,
                                 struct sql_create_error *error)
{
    struct parser *p = calloc(1, sizeof(*p)); /* Too large for a thread's stack. */

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
    struct parser *p = parser_new(input, input->text, error);
    if (p == NULL) return error->code;
    if (read_statement(p, &result->if_not_exists) && finish(p, def)) {
        result->def = def;
        result->first_number = p->first_number;
        result->consumed = (size_t)(p->lexer.at - input->text);
    }
    free(p);
    return error->code;
}

static bool read_only_column(struct parser *p, struct table_def *def)
{
    next(p);
    const struct sql_token name = p->token;
    if (!read_column(p)) return false;
    if (p->token.kind != SQL_END && !at_char(p, ';'))
        return expected(p, "a column property or ';'");
    if (p->index_count > 0 || p->key_written)
        return fail_at(p, &name, ERR_ALTER_IMPOSSIBLE, "a new column cannot have a key");
    return finish_column(p, &p->columns[0], def);
}

uint32_t sql_column_parse(const struct sql_create_input *input, const char *at, void *memory,
                          size_t memory_size, struct sql_create_result *result,
                          struct sql_create_error *error)
{
    memset(result, 0, sizeof(*result));
    memset(error, 0, sizeof(*error));
    struct table_def *def = table_def_init(memory, memory_size, 1);
    if (def == NULL) return simple_error(error, ERR_BUFFER_SMALL);
    struct parser *p = parser_new(input, at, error);
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
