/* create_options.c -- reads what stands behind the parentheses of a CREATE TABLE. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "api/sql/create_private.h"
#include "values/errors.h"

static bool is_option(const char *key, size_t size, const char *name)
{
    return strlen(name) == size && strncasecmp(key, name, size) == 0;
}

/* One NAME=value of an NDB_TABLE comment. */
static bool read_table_option(struct create_parser *p, const struct sql_token *token,
                              const char *key, size_t key_size, const char *value,
                              size_t value_size)
{
    uint32_t flag = is_option(key, key_size, "READ_BACKUP")        ? TABLE_READ_BACKUP
                    : is_option(key, key_size, "FULLY_REPLICATED") ? TABLE_FULLY_REPLICATED
                    : is_option(key, key_size, "NOLOGGING")        ? TABLE_NO_LOGGING
                                                                   : 0;

    if (is_option(key, key_size, "PARTITION_BALANCE")) {
        if (!table_balance_find(value, (uint32_t)value_size, &p->balance) ||
            p->balance == TABLE_BALANCE_SPECIFIC)
            return create_fail_at(p, token, ERR_BALANCE_BAD,
                                  "PARTITION_BALANCE must be FOR_RP_BY_LDM, FOR_RA_BY_LDM, "
                                  "FOR_RP_BY_NODE, FOR_RA_BY_NODE or FOR_RA_BY_LDM_X_2 to _4");
        p->balance_written = true;
        return true;
    }
    if (flag == 0)
        return create_fail_at(p, token, ERR_TABLE_FLAGS,
                              "NDB_TABLE knows READ_BACKUP, FULLY_REPLICATED, NOLOGGING and "
                              "PARTITION_BALANCE");
    if (value_size != 1 || (*value != '0' && *value != '1'))
        return create_fail_at(p, token, ERR_TABLE_FLAGS, "the option's value must be 0 or 1");
    p->table_flags = *value == '1' ? p->table_flags | flag : p->table_flags & ~flag;
    return true;
}

/* COMMENT 'text': only what follows NDB_TABLE= in it is for us. */
static bool read_comment(struct create_parser *p)
{
    create_accept_char(p, '=');
    if (p->token.kind != SQL_STRING && p->token.kind != SQL_DOUBLE)
        return create_expected(p, "the comment as a string");
    const struct sql_token string = p->token;
    create_next(p);
    size_t size = sql_token_text(&string, p->literal, sizeof(p->literal));
    if (size == SIZE_MAX)
        return create_fail_at(p, &string, ERR_DEFINITION_TOO_BIG, "the comment is too long");
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

static bool read_partitioning(struct create_parser *p)
{
    uint64_t count;

    if (!create_need_word(p, "BY") ||
        !(create_accept_word(p, "KEY") || create_expected(p, "KEY (columns)")) ||
        !create_read_key_list(p, COLUMN_PARTITION_KEY, true))
        return false;
    if (!create_accept_word(p, "PARTITIONS")) return true;
    const struct sql_token token = p->token;
    if (!create_need_number(p, TABLE_FRAGMENTS_MAX, &count)) return false;
    if (count == 0)
        return create_fail_at(p, &token, ERR_FRAGMENT_COUNT, "expected at least one partition");
    p->fragment_count = (uint32_t)count;
    return true;
}

bool create_read_option(struct create_parser *p, bool *done)
{
    *done = true;
    if (create_accept_word(p, "ENGINE")) {
        create_accept_char(p, '=');
        return create_accept_word(p, "NDB") || create_accept_word(p, "NDBCLUSTER") ||
               create_expected(p, "NDB or NDBCLUSTER");
    }
    if (create_accept_word(p, "MAX_ROWS")) {
        create_accept_char(p, '=');
        return create_need_number(p, UINT64_MAX, &p->max_rows);
    }
    if (create_accept_word(p, "AUTO_INCREMENT")) {
        create_accept_char(p, '=');
        return create_need_number(p, UINT64_MAX, &p->first_number);
    }
    if (create_accept_word(p, "COMMENT")) return read_comment(p);
    if (create_accept_word(p, "PARTITION")) return read_partitioning(p);
    bool was_default = create_accept_word(p, "DEFAULT");
    if (!create_read_character_set(p, &p->collation, done)) return false;
    return *done || !was_default || create_expected(p, "CHARSET, CHARACTER SET or COLLATE");
}
