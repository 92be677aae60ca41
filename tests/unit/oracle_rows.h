/* oracle_rows.h -- the same random rows of all types in a fragment and in SQLite. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SQLite gets the same values in its own types: decimals as whole numbers of their last digit,
 * dates as text that sorts. Characters are blanks and above, so that its RTRIM stands for comparing
 * with padding; upper() for the collation that ignores case, of ASCII letters.
 */
#pragma once
#include <sqlite3.h>
#include <stdio.h>
#include "tests/unit/tup_fixture.h"

#define ORACLE_ROWS_MAX 500u
#define COLUMNS         26u
#define VALUE_MAX       64u
#define SQL_MAX         (1u << 20)

enum how { HOW_NUMBER, HOW_REAL, HOW_DECIMAL, HOW_TEXT, HOW_UPPER, HOW_BYTES, HOW_TIME, HOW_BITS };

static const struct oracle_column {
    const char *name;
    struct column_format format;
    enum how how;
} columns[COLUMNS] = {
    {"k", {.type = COLUMN_UNSIGNED, .length = 1}, HOW_NUMBER},
    {"ti", {.type = COLUMN_TINYINT, .length = 1}, HOW_NUMBER},
    {"tu", {.type = COLUMN_TINYUNSIGNED, .length = 1}, HOW_NUMBER},
    {"si", {.type = COLUMN_SMALLINT, .length = 1}, HOW_NUMBER},
    {"su", {.type = COLUMN_SMALLUNSIGNED, .length = 1}, HOW_NUMBER},
    {"mi", {.type = COLUMN_MEDIUMINT, .length = 1}, HOW_NUMBER},
    {"mu", {.type = COLUMN_MEDIUMUNSIGNED, .length = 1}, HOW_NUMBER},
    {"ii", {.type = COLUMN_INT, .length = 1}, HOW_NUMBER},
    {"iu", {.type = COLUMN_UNSIGNED, .length = 1}, HOW_NUMBER},
    {"bi", {.type = COLUMN_BIGINT, .length = 1}, HOW_NUMBER},
    {"fl", {.type = COLUMN_FLOAT, .length = 1}, HOW_REAL},
    {"db", {.type = COLUMN_DOUBLE, .length = 1}, HOW_REAL},
    {"de", {.type = COLUMN_DECIMAL, .precision = 12, .scale = 2, .length = 1}, HOW_DECIMAL},
    {"ch", {.type = COLUMN_CHAR, .collation = COLLATION_UTF8MB4_BIN, .length = 32}, HOW_TEXT},
    {"vc", {.type = COLUMN_VARCHAR, .collation = COLLATION_UTF8MB4_BIN, .length = 40}, HOW_TEXT},
    {"lc",
     {.type = COLUMN_LONGVARCHAR, .collation = COLLATION_UTF8MB4_BIN, .length = 48},
     HOW_TEXT},
    {"ci",
     {.type = COLUMN_VARCHAR, .collation = COLLATION_UTF8MB4_GENERAL_CI, .length = 40},
     HOW_UPPER},
    {"cc",
     {.type = COLUMN_CHAR, .collation = COLLATION_UTF8MB4_GENERAL_CI, .length = 32},
     HOW_UPPER},
    {"bn", {.type = COLUMN_BINARY, .length = 3}, HOW_BYTES},
    {"vb", {.type = COLUMN_VARBINARY, .length = 12}, HOW_BYTES},
    {"lb", {.type = COLUMN_LONGVARBINARY, .length = 12}, HOW_BYTES},
    {"da", {.type = COLUMN_DATE, .length = 1}, HOW_TIME},
    {"d2", {.type = COLUMN_DATETIME2, .precision = 3, .length = 1}, HOW_TIME},
    {"t2", {.type = COLUMN_TIME2, .precision = 0, .length = 1}, HOW_TIME},
    {"ye", {.type = COLUMN_YEAR, .length = 1}, HOW_TIME},
    {"bt", {.type = COLUMN_BIT, .length = 12}, HOW_BITS},
};

struct value {
    bool null;
    uint32_t size;
    uint8_t bytes[VALUE_MAX];
    char sql[4 * VALUE_MAX]; /* The literal. */
};

static struct rows_world world;
static sqlite3 *db;
static struct rng rng;
static struct value row[ORACLE_ROWS_MAX][COLUMNS];
static uint32_t row_id[ORACLE_ROWS_MAX];
static uint32_t row_count;
static char *sql;
static uint32_t sql_size;

static inline uint32_t below(uint32_t limit)
{
    return (uint32_t)rng_below(&rng, limit);
}

/* --- Values. --- */

static inline void from_text(uint32_t column, struct value *value, const char *text)
{
    assert_int_equal(column_parse(&columns[column].format, text, (uint32_t)strlen(text),
                                  value->bytes, VALUE_MAX, &value->size),
                     0);
}

/* Small numbers are frequent, so that values meet. */
static inline int64_t draw_number(uint32_t column)
{
    static const int64_t least[] = {[COLUMN_TINYINT] = INT8_MIN,
                                    [COLUMN_SMALLINT] = INT16_MIN,
                                    [COLUMN_MEDIUMINT] = -8388608,
                                    [COLUMN_INT] = INT32_MIN,
                                    [COLUMN_BIGINT] = INT64_MIN};
    static const int64_t most[] = {
        [COLUMN_TINYINT] = INT8_MAX,   [COLUMN_TINYUNSIGNED] = UINT8_MAX,
        [COLUMN_SMALLINT] = INT16_MAX, [COLUMN_SMALLUNSIGNED] = UINT16_MAX,
        [COLUMN_MEDIUMINT] = 8388607,  [COLUMN_MEDIUMUNSIGNED] = 16777215,
        [COLUMN_INT] = INT32_MAX,      [COLUMN_UNSIGNED] = UINT32_MAX,
        [COLUMN_BIGINT] = INT64_MAX,
    };
    uint32_t type = columns[column].format.type;
    int64_t low = type < sizeof least / sizeof least[0] ? least[type] : 0;
    switch (below(8)) {
    case 0:
        return low;
    case 1:
        return most[type];
    case 2:
        return (int64_t)rng_below(&rng, (uint64_t)most[type]);
    case 3:
        return low == 0 ? 0 : -(int64_t)below(4);
    default:
        return below(6);
    }
}

static inline void draw_real(uint32_t column, struct value *value)
{
    static const double known[] = {0.0, -0.0, 0.5, -0.5, 1e10, -1e-7, 3.25, 1.0, 0.1};
    double number = below(3) == 0 ? (double)below(1000) / 7.0 - 40.0 : known[below(9)];
    char text[64];
    if (columns[column].format.type == COLUMN_FLOAT) {
        float small = (float)number;
        memcpy(value->bytes, &small, 4);
        number = (double)small;
        value->size = 4;
    } else {
        memcpy(value->bytes, &number, 8);
        value->size = 8;
    }
    snprintf(text, sizeof text, "%.17e", number);
    snprintf(value->sql, sizeof value->sql, "(%s)", text);
}

static inline void quote(char *to, const char *text)
{
    *to++ = '\'';
    for (; *text != 0; text++) {
        if (*text == '\'') *to++ = '\'';
        *to++ = *text;
    }
    *to++ = '\'';
    *to = 0;
}

/* Characters of text; patterns have more % and _. */
static inline void draw_text(char *to, bool ascii, bool pattern)
{
    static const char *const items[] = {"a",
                                        "b",
                                        "A",
                                        "B",
                                        " ",
                                        "%",
                                        "_",
                                        "\\\\",
                                        "z",
                                        "'",
                                        "[",
                                        "\xC3\xA9",
                                        "\xE2\x82\xAC",
                                        "\xF0\x9F\x98\x80",
                                        "`",
                                        "~"};
    uint32_t count = below(7);
    *to = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *item = items[below(below(2) == 0 ? 4 : 16)];
        if (ascii && (*item & 0x80) != 0) item = "c";
        if (pattern && below(3) == 0) item = below(3) > 0 ? "%" : "_";
        if (pattern && below(12) == 0) item = below(2) == 0 ? "\\%" : "\\_";
        if (!pattern && *item == '\\') item = "\\";
        strcat(to, item);
    }
}

static inline void draw_bytes(uint32_t column, struct value *value)
{
    uint32_t length = columns[column].format.type == COLUMN_BINARY ? 3 : below(6);
    uint32_t prefix = (uint32_t)column_array(&columns[column].format);
    char *to = value->sql + sprintf(value->sql, "X'");
    for (uint32_t i = 0; i < length; i++) {
        uint8_t byte = (uint8_t)(below(4) == 0 ? below(256) : 'a' + below(2));
        value->bytes[prefix + i] = byte;
        to += sprintf(to, "%02X", byte);
    }
    strcpy(to, "'");
    value->bytes[0] = prefix > 0 ? (uint8_t)length : value->bytes[0];
    if (prefix == 2) value->bytes[1] = 0;
    value->size = prefix + length;
}

static inline void draw_time(uint32_t column, struct value *value)
{
    char text[64];
    switch (columns[column].format.type) {
    case COLUMN_DATE:
        snprintf(text, sizeof text, "%04u-%02u-%02u", 1999 + below(4), 1 + below(12),
                 1 + below(28));
        break;
    case COLUMN_DATETIME2:
        snprintf(text, sizeof text, "2020-%02u-%02u %02u:%02u:%02u.%03u", 1 + below(2),
                 1 + below(3), below(24), below(60), below(2), below(1000));
        break;
    case COLUMN_TIME2:
        snprintf(text, sizeof text, "%02u:%02u:%02u", below(24), below(3), below(60));
        break;
    default:
        snprintf(text, sizeof text, "%u", 1999 + below(5));
        break;
    }
    from_text(column, value, text);
    quote(value->sql, text);
}

static inline void draw_value(uint32_t column, struct value *value)
{
    char text[VALUE_MAX];
    *value = (struct value){0};
    switch (columns[column].how) {
    case HOW_NUMBER:
        snprintf(value->sql, sizeof value->sql, "%lld", (long long)draw_number(column));
        from_text(column, value, value->sql);
        if (strcmp(value->sql, "-9223372036854775808") == 0) /* No literal of SQLite's. */
            strcpy(value->sql, "(-9223372036854775807-1)");
        return;
    case HOW_REAL:
        draw_real(column, value);
        return;
    case HOW_DECIMAL: {
        int32_t number = (int32_t)below(below(2) == 0 ? 10 : 2000000) - 5;
        snprintf(value->sql, sizeof value->sql, "%d", number);
        snprintf(text, sizeof text, "%s%d.%02d", number < 0 ? "-" : "", abs(number) / 100,
                 abs(number) % 100);
        from_text(column, value, text);
        return;
    }
    case HOW_TEXT:
    case HOW_UPPER:
        draw_text(text, columns[column].how == HOW_UPPER, false);
        if (columns[column].format.type == COLUMN_CHAR) { /* Its padding is no part of it. */
            while (*text != 0 && text[strlen(text) - 1] == ' ')
                text[strlen(text) - 1] = 0;
        }
        from_text(column, value, text);
        quote(value->sql, text);
        return;
    case HOW_BYTES:
        draw_bytes(column, value);
        return;
    case HOW_TIME:
        draw_time(column, value);
        return;
    case HOW_BITS:
        value->bytes[0] = (uint8_t)below(4);
        value->bytes[1] = (uint8_t)below(16);
        value->size = 4;
        snprintf(value->sql, sizeof value->sql, "%u", value->bytes[0] + 256u * value->bytes[1]);
        return;
    }
}

/* --- Rows. --- */

static inline void execute(const char *statement)
{
    char *message = NULL;
    if (sqlite3_exec(db, statement, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", message, statement);
}

static inline uint32_t insert(uint32_t key, const uint32_t *attr, uint32_t words)
{
    struct tup_change_req req = request(&world, 1, &key, 1, attr, words);
    struct tup_changed changed = {0};
    assert_int_equal(tup_insert(world.tup, &req, &changed), 0);
    tup_commit(world.tup, changed.change, 1);
    acc_unlock(world.acc, changed.lock);
    return changed.row;
}

static inline void remove_rows(void)
{
    for (uint32_t key = 0; key < row_count; key++) {
        struct tup_change_req req = request(&world, 1, &key, 1, NULL, 0);
        struct tup_changed changed = {0};
        uint32_t lock;
        if (req.row == ROW_NONE) continue;
        assert_int_equal(lock_row(&world, .trans = 1, .op = 1, .row = req.row,
                                  .mode = LOCK_EXCLUSIVE, .nowait = true, .lock = &lock),
                         0);
        assert_int_equal(tup_delete(world.tup, &req, &changed), 0);
        tup_commit(world.tup, changed.change, 1);
        acc_unlock(world.acc, lock);
    }
    execute("DELETE FROM t");
}

static inline void draw_rows(void)
{
    static uint32_t attr[COLUMNS * (1 + VALUE_MAX / 4)];
    remove_rows();
    for (uint32_t r = 0; r < row_count; r++) {
        uint32_t words = 0;
        char *to = sql + sprintf(sql, "INSERT INTO t VALUES (%u", r);
        sprintf(row[r][0].sql, "%u", r);
        memcpy(row[r][0].bytes, &r, 4);
        row[r][0].size = 4;
        for (uint32_t c = 1; c < COLUMNS; c++) {
            struct value *value = &row[r][c];
            draw_value(c, value);
            value->null = below(6) == 0;
            if (value->null) strcpy(value->sql, "NULL");
            to += sprintf(to, ", %s", value->sql);
            attr[words++] = attr_header(c, value->null ? 0 : value->size);
            if (value->null) continue;
            memcpy(attr + words, value->bytes, 4 * words_of(value->size));
            words += words_of(value->size);
        }
        strcpy(to, ")");
        execute(sql);
        row_id[r] = insert(r, attr, words);
    }
}

/* Both tables, empty; `indexes` adds them to the definition, or is NULL. */
static inline void oracle_open(uint32_t rows, void (*indexes)(struct table_def *def))
{
    assert_true(rows <= ORACLE_ROWS_MAX);
    row_count = rows;
    struct table_def *def = def_start();
    char *to = sql + sprintf(sql, "CREATE TABLE t (");
    for (uint32_t c = 0; c < COLUMNS; c++) {
        column_add(def, columns[c].name, columns[c].format,
                   c == 0 ? COLUMN_PRIMARY_KEY : COLUMN_NULLABLE, NULL, 0);
        to += sprintf(to, "%s%s", c == 0 ? "" : ", ", columns[c].name);
    }
    strcpy(to, ")");
    if (indexes != NULL) indexes(def);
    world_start(&world, 512, 256);
    world_table(&world, def);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    execute(sql);
}

static inline void oracle_close(void)
{
    sqlite3_close(db);
    world_check(&world);
    world_stop(&world);
}

/* --- The text of a statement. --- */

static inline void add_sql(const char *text)
{
    uint32_t size = (uint32_t)strlen(text);
    assert_true(sql_size + size < SQL_MAX);
    memcpy(sql + sql_size, text, size + 1);
    sql_size += size;
}

/* A column as its collation compares it, or a value. */
static inline void add_side(uint32_t column, const char *text)
{
    enum how how = columns[column].how;
    if (how == HOW_UPPER) add_sql("upper(");
    add_sql(text);
    if (how == HOW_UPPER) add_sql(")");
    if (how == HOW_TEXT || how == HOW_UPPER) add_sql(" COLLATE RTRIM");
}

/* One that a row has, or any. Not NULL. */
static inline const struct value *some_value(uint32_t column, struct value *drawn)
{
    const struct value *of_row = &row[below(row_count)][column];
    if (below(3) > 0 && !of_row->null) return of_row;
    draw_value(column, drawn);
    return drawn;
}

static inline uint32_t number_of(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : (uint32_t)strtoul(text, NULL, 10);
}
