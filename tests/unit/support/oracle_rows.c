/* oracle_rows.c -- the same random rows of all types in a fragment and in SQLite. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/oracle_rows.h"

const struct oracle_column oracle_columns[COLUMNS] = {
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

struct rows_world oracle_world;

sqlite3 *oracle_db;

struct rng oracle_rng;

struct value oracle_row[ORACLE_ROWS_MAX][COLUMNS];

uint32_t oracle_row_id[ORACLE_ROWS_MAX];

static uint32_t row_count;

char *oracle_sql;

uint32_t oracle_sql_size;

uint32_t oracle_below(uint32_t limit)
{
    return (uint32_t)rng_below(&oracle_rng, limit);
}

/* --- Values. --- */

static void from_text(uint32_t column, struct value *value, const char *text)
{
    assert_int_equal(column_parse(&oracle_columns[column].format, text, (uint32_t)strlen(text),
                                  value->bytes, VALUE_MAX, &value->size),
                     0);
}

/* Small numbers are frequent, so that values meet. */
static int64_t draw_number(uint32_t column)
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
    uint32_t type = oracle_columns[column].format.type;
    int64_t low = type < sizeof least / sizeof least[0] ? least[type] : 0;
    switch (oracle_below(8)) {
    case 0:
        return low;
    case 1:
        return most[type];
    case 2:
        return (int64_t)rng_below(&oracle_rng, (uint64_t)most[type]);
    case 3:
        return low == 0 ? 0 : -(int64_t)oracle_below(4);
    default:
        return oracle_below(6);
    }
}

static void draw_real(uint32_t column, struct value *value)
{
    static const double known[] = {0.0, -0.0, 0.5, -0.5, 1e10, -1e-7, 3.25, 1.0, 0.1};
    double number =
        oracle_below(3) == 0 ? (double)oracle_below(1000) / 7.0 - 40.0 : known[oracle_below(9)];
    char text[64];
    if (oracle_columns[column].format.type == COLUMN_FLOAT) {
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

void oracle_quote(char *to, const char *text)
{
    *to++ = '\'';
    for (; *text != 0; text++) {
        if (*text == '\'') *to++ = '\'';
        *to++ = *text;
    }
    *to++ = '\'';
    *to = 0;
}

void oracle_draw_text(char *to, bool ascii, bool pattern)
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
    uint32_t count = oracle_below(7);
    *to = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *item = items[oracle_below(oracle_below(2) == 0 ? 4 : 16)];
        if (ascii && (*item & 0x80) != 0) item = "c";
        if (pattern && oracle_below(3) == 0) item = oracle_below(3) > 0 ? "%" : "_";
        if (pattern && oracle_below(12) == 0) item = oracle_below(2) == 0 ? "\\%" : "\\_";
        if (!pattern && *item == '\\') item = "\\";
        strcat(to, item);
    }
}

static void draw_bytes(uint32_t column, struct value *value)
{
    uint32_t length = oracle_columns[column].format.type == COLUMN_BINARY ? 3 : oracle_below(6);
    uint32_t prefix = (uint32_t)column_array(&oracle_columns[column].format);
    char *to = value->sql + sprintf(value->sql, "X'");
    for (uint32_t i = 0; i < length; i++) {
        uint8_t byte = (uint8_t)(oracle_below(4) == 0 ? oracle_below(256) : 'a' + oracle_below(2));
        value->bytes[prefix + i] = byte;
        to += sprintf(to, "%02X", byte);
    }
    strcpy(to, "'");
    value->bytes[0] = prefix > 0 ? (uint8_t)length : value->bytes[0];
    if (prefix == 2) value->bytes[1] = 0;
    value->size = prefix + length;
}

static void draw_time(uint32_t column, struct value *value)
{
    char text[64];
    switch (oracle_columns[column].format.type) {
    case COLUMN_DATE:
        snprintf(text, sizeof text, "%04u-%02u-%02u", 1999 + oracle_below(4), 1 + oracle_below(12),
                 1 + oracle_below(28));
        break;
    case COLUMN_DATETIME2:
        snprintf(text, sizeof text, "2020-%02u-%02u %02u:%02u:%02u.%03u", 1 + oracle_below(2),
                 1 + oracle_below(3), oracle_below(24), oracle_below(60), oracle_below(2),
                 oracle_below(1000));
        break;
    case COLUMN_TIME2:
        snprintf(text, sizeof text, "%02u:%02u:%02u", oracle_below(24), oracle_below(3),
                 oracle_below(60));
        break;
    default:
        snprintf(text, sizeof text, "%u", 1999 + oracle_below(5));
        break;
    }
    from_text(column, value, text);
    oracle_quote(value->sql, text);
}

void oracle_draw_value(uint32_t column, struct value *value)
{
    char text[VALUE_MAX];
    *value = (struct value){0};
    switch (oracle_columns[column].how) {
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
        int32_t number = (int32_t)oracle_below(oracle_below(2) == 0 ? 10 : 2000000) - 5;
        snprintf(value->sql, sizeof value->sql, "%d", number);
        snprintf(text, sizeof text, "%s%d.%02d", number < 0 ? "-" : "", abs(number) / 100,
                 abs(number) % 100);
        from_text(column, value, text);
        return;
    }
    case HOW_TEXT:
    case HOW_UPPER:
        oracle_draw_text(text, oracle_columns[column].how == HOW_UPPER, false);
        if (oracle_columns[column].format.type == COLUMN_CHAR) { /* Its padding is no part of it. */
            while (*text != 0 && text[strlen(text) - 1] == ' ')
                text[strlen(text) - 1] = 0;
        }
        from_text(column, value, text);
        oracle_quote(value->sql, text);
        return;
    case HOW_BYTES:
        draw_bytes(column, value);
        return;
    case HOW_TIME:
        draw_time(column, value);
        return;
    case HOW_BITS:
        value->bytes[0] = (uint8_t)oracle_below(4);
        value->bytes[1] = (uint8_t)oracle_below(16);
        value->size = 4;
        snprintf(value->sql, sizeof value->sql, "%u", value->bytes[0] + 256u * value->bytes[1]);
        return;
    }
}

/* --- Rows. --- */

void oracle_execute(const char *statement)
{
    char *message = NULL;
    if (sqlite3_exec(oracle_db, statement, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", message, statement);
}

static uint32_t insert(uint32_t key, const uint32_t *attr, uint32_t words)
{
    struct tup_change_req req = request(&oracle_world, 1, &key, 1, attr, words);
    struct tup_changed changed = {0};
    assert_int_equal(tup_insert(oracle_world.tup, &req, &changed), 0);
    tup_commit(oracle_world.tup, changed.change, 1);
    acc_unlock(oracle_world.acc, changed.lock);
    return changed.row;
}

static void remove_rows(void)
{
    for (uint32_t key = 0; key < row_count; key++) {
        struct tup_change_req req = request(&oracle_world, 1, &key, 1, NULL, 0);
        struct tup_changed changed = {0};
        uint32_t lock;
        if (req.row == ROW_NONE) continue;
        assert_int_equal(lock_row(&oracle_world, .trans = 1, .op = 1, .row = req.row,
                                  .mode = LOCK_EXCLUSIVE, .nowait = true, .lock = &lock),
                         0);
        assert_int_equal(tup_delete(oracle_world.tup, &req, &changed), 0);
        tup_commit(oracle_world.tup, changed.change, 1);
        acc_unlock(oracle_world.acc, lock);
    }
    oracle_execute("DELETE FROM t");
}

void oracle_draw_rows(void)
{
    static uint32_t attr[COLUMNS * (1 + VALUE_MAX / 4)];
    remove_rows();
    for (uint32_t r = 0; r < row_count; r++) {
        uint32_t words = 0;
        char *to = oracle_sql + sprintf(oracle_sql, "INSERT INTO t VALUES (%u", r);
        sprintf(oracle_row[r][0].sql, "%u", r);
        memcpy(oracle_row[r][0].bytes, &r, 4);
        oracle_row[r][0].size = 4;
        for (uint32_t c = 1; c < COLUMNS; c++) {
            struct value *value = &oracle_row[r][c];
            oracle_draw_value(c, value);
            value->null = oracle_below(6) == 0;
            if (value->null) strcpy(value->sql, "NULL");
            to += sprintf(to, ", %s", value->sql);
            attr[words++] = attr_header(c, value->null ? 0 : value->size);
            if (value->null) continue;
            memcpy(attr + words, value->bytes, 4 * words_of(value->size));
            words += words_of(value->size);
        }
        strcpy(to, ")");
        oracle_execute(oracle_sql);
        oracle_row_id[r] = insert(r, attr, words);
    }
}

void oracle_open(uint32_t rows, void (*indexes)(struct table_def *def))
{
    assert_true(rows <= ORACLE_ROWS_MAX);
    row_count = rows;
    struct table_def *def = def_start();
    char *to = oracle_sql + sprintf(oracle_sql, "CREATE TABLE t (");
    for (uint32_t c = 0; c < COLUMNS; c++) {
        column_add(def, oracle_columns[c].name, oracle_columns[c].format,
                   c == 0 ? COLUMN_PRIMARY_KEY : COLUMN_NULLABLE, NULL, 0);
        to += sprintf(to, "%s%s", c == 0 ? "" : ", ", oracle_columns[c].name);
    }
    strcpy(to, ")");
    if (indexes != NULL) indexes(def);
    world_start(&oracle_world, 512, 256);
    world_table(&oracle_world, def);
    assert_int_equal(sqlite3_open(":memory:", &oracle_db), SQLITE_OK);
    oracle_execute(oracle_sql);
}

void oracle_close(void)
{
    sqlite3_close(oracle_db);
    world_check(&oracle_world);
    world_stop(&oracle_world);
}

/* --- The text of a statement. --- */

void oracle_add_sql(const char *text)
{
    uint32_t size = (uint32_t)strlen(text);
    assert_true(oracle_sql_size + size < SQL_MAX);
    memcpy(oracle_sql + oracle_sql_size, text, size + 1);
    oracle_sql_size += size;
}

void oracle_add_side(uint32_t column, const char *text)
{
    enum how how = oracle_columns[column].how;
    if (how == HOW_UPPER) oracle_add_sql("upper(");
    oracle_add_sql(text);
    if (how == HOW_UPPER) oracle_add_sql(")");
    if (how == HOW_TEXT || how == HOW_UPPER) oracle_add_sql(" COLLATE RTRIM");
}

const struct value *oracle_some_value(uint32_t column, struct value *drawn)
{
    const struct value *of_row = &oracle_row[oracle_below(row_count)][column];
    if (oracle_below(3) > 0 && !of_row->null) return of_row;
    oracle_draw_value(column, drawn);
    return drawn;
}

uint32_t oracle_number_of(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : (uint32_t)strtoul(text, NULL, 10);
}
