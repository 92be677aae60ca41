/* test_index_oracle.c -- random ranges of random indexes, one or several in a scan: the same rows
 * in the same order as in SQLite. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* INDEX_CASES says how many, INDEX_SEED which ones. */
#define ROWS 500u /* Several leaves. */
#include "tests/unit/support/oracle_rows.h"
#include "values/table_index.h"

#define CASES_EACH 200u /* Ranges on one set of rows and indexes. */
#define INDEXES    8u
#define MEMBERS    4u /* Columns of an index, at most. */

#define ROW_IDS 8192u

static uint32_t key_of_row[ROW_IDS]; /* 1 + key. */

/* --- Indexes of one round. --- */

static void add_indexes(struct table_def *def)
{
    for (uint32_t i = 0; i < INDEXES; i++) {
        uint16_t member[MEMBERS];
        uint32_t wanted = 1 + oracle_below(MEMBERS);
        uint32_t count = 0;
        const char name[2] = {(char)('a' + i), 0};
        while (count < wanted) {
            uint16_t column = (uint16_t)oracle_below(COLUMNS);
            bool taken = oracle_columns[column].how == HOW_BITS;
            for (uint32_t m = 0; m < count; m++)
                taken = taken || member[m] == column;
            if (!taken) member[count++] = column;
        }
        index_add(def, name, member, count);
    }
}

/* SQLite knows the rows' ids, which decide among equal keys. */
static void tell_ids(void)
{
    oracle_execute("DELETE FROM ids");
    memset(key_of_row, 0, sizeof key_of_row);
    for (uint32_t r = 0; r < ROWS; r++) {
        char statement[80];
        snprintf(statement, sizeof statement, "INSERT INTO ids VALUES (%u, %u)", r,
                 oracle_row_id[r]);
        oracle_execute(statement);
        assert_true(oracle_row_id[r] < ROW_IDS);
        key_of_row[oracle_row_id[r]] = r + 1;
    }
}

static void begin_round(void)
{
    oracle_open(ROWS, add_indexes);
    oracle_execute("CREATE TABLE ids (idk INTEGER PRIMARY KEY, rid)");
    oracle_draw_rows();
    tell_ids();
}

/* --- A range: in our form and as a condition. --- */

static struct value bound_value[2][MEMBERS];

static void draw_bound(const struct table_index *index, struct scan_bound *bound,
                       struct value *values)
{
    bound->columns = oracle_below(index->column_count + 1u);
    bound->exclusive = bound->columns > 0 && oracle_below(2) == 0;
    for (uint32_t i = 0; i < bound->columns; i++) {
        uint32_t column = index->columns[i];
        if (oracle_below(8) == 0) /* Also where the column cannot be NULL. */
            values[i] = (struct value){.null = true};
        else
            values[i] = *oracle_some_value(column, &values[i]);
        bound->value[i] = (struct scan_value){values[i].bytes, values[i].null ? 0 : values[i].size};
    }
}

/* "column OP value" that is never unknown, with NULL before all values. */
static void add_order(uint32_t column, const char *order, const struct value *value)
{
    bool equal = *order == '=';
    bool less = *order == '<';
    if (value->null) {
        if (less) {
            oracle_add_sql("0");
            return;
        }
        oracle_add_sql(oracle_columns[column].name);
        oracle_add_sql(equal ? " IS NULL" : " IS NOT NULL");
        return;
    }
    oracle_add_sql("coalesce(");
    oracle_add_side(column, oracle_columns[column].name);
    oracle_add_sql(" ");
    oracle_add_sql(order);
    oracle_add_sql(" ");
    oracle_add_side(column, value->sql);
    oracle_add_sql(less ? ", 1)" : ", 0)");
}

/* (a > x OR (a = x AND (b > y OR (b = y AND ...)))): the row's values are on the bound's side. */
static void add_bound(const struct table_index *index, const struct scan_bound *bound,
                      const struct value *values, bool low)
{
    if (bound->columns == 0) {
        oracle_add_sql("1");
        return;
    }
    for (uint32_t i = 0; i < bound->columns; i++) {
        oracle_add_sql("(");
        add_order(index->columns[i], low ? ">" : "<", &values[i]);
        oracle_add_sql(" OR (");
        add_order(index->columns[i], "=", &values[i]);
        oracle_add_sql(" AND ");
    }
    oracle_add_sql(bound->exclusive ? "0" : "1");
    for (uint32_t i = 0; i < bound->columns; i++)
        oracle_add_sql("))");
}

/* Ranges of one scan: one, or several with any growing numbers. */
#define RANGES  12u
#define FOUND   (ROWS * RANGES)
#define SEVERAL (oracle_below(2) == 0 ? 1u : 1u + oracle_below(RANGES))

struct found {
    uint32_t range;
    uint32_t key;
};

/* A range and the rows that it has, with its number. */
static void draw_range(const struct table_index *index, struct scan_range *range)
{
    char number[24];
    draw_bound(index, &range->low, bound_value[0]);
    draw_bound(index, &range->high, bound_value[1]);
    if (oracle_below(4) == 0) { /* One key, or one beginning of a key. */
        range->high = range->low;
        range->low.exclusive = range->high.exclusive = false;
        memcpy(bound_value[1], bound_value[0], sizeof bound_value[1]);
    }
    snprintf(number, sizeof number, "SELECT %u AS n,", range->number);
    oracle_add_sql(number);
    oracle_add_sql(" * FROM t JOIN ids ON k = idk WHERE ");
    add_bound(index, &range->low, bound_value[0], true);
    oracle_add_sql(" AND ");
    add_bound(index, &range->high, bound_value[1], false);
}

/* As SCAN_TABREQ carries them, with the same question for SQLite; returns the words. */
static uint32_t draw_ranges(uint32_t number, const struct table_index *index, uint32_t *words)
{
    static struct scan_range range;
    uint32_t count = SEVERAL;
    uint32_t size = 0;
    range =
        (struct scan_range){.index = number, .flags = oracle_below(2) == 0 ? SCAN_DESCENDING : 0u};
    const char *direction = range.flags != 0 ? " DESC" : " ASC";
    oracle_sql_size = 0;
    oracle_add_sql("SELECT n, k FROM (");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) oracle_add_sql(" UNION ALL ");
        range.number = i * (SCAN_RANGES_MAX / RANGES) + oracle_below(SCAN_RANGES_MAX / RANGES);
        range.partition = (uint32_t)rng_next(&oracle_rng); /* Not for those who read. */
        if (oracle_below(3) == 0) range.flags ^= SCAN_ONE_PARTITION;
        draw_range(index, &range);
        uint32_t used = scan_range_encode(&range, words + size, SCAN_RANGES_WORDS_MAX - size);
        assert_true(used > 0);
        size += used;
    }
    oracle_add_sql(") ORDER BY n, ");
    for (uint32_t i = 0; i < index->column_count; i++) {
        oracle_add_side(index->columns[i], oracle_columns[index->columns[i]].name);
        oracle_add_sql(direction);
        oracle_add_sql(", ");
    }
    oracle_add_sql("rid");
    oracle_add_sql(direction);
    return size;
}

/* --- Comparing. --- */

static uint32_t oracle(struct found *rows)
{
    sqlite3_stmt *statement;
    uint32_t count = 0;
    if (sqlite3_prepare_v2(oracle_db, oracle_sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sqlite3_errmsg(oracle_db), oracle_sql);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        rows[count].range = (uint32_t)sqlite3_column_int(statement, 0);
        rows[count++].key = (uint32_t)sqlite3_column_int(statement, 1);
    }
    sqlite3_finalize(statement);
    return count;
}

static uint32_t key_of(uint32_t id)
{
    assert_true(id < ROW_IDS && key_of_row[id] != 0);
    return key_of_row[id] - 1;
}

/* In steps of any size, each of which takes only some of what it gets. */
static uint32_t ours(uint32_t number, const uint32_t *words, uint32_t size, struct found *rows)
{
    const struct tux_index *index = tup_frag_ordered(oracle_world.frag, number);
    static struct tux_position position;
    uint32_t found = 0;
    bool end = false;
    position = (struct tux_position){0};
    assert_int_equal(tux_ranges_check(tux_index_columns(index), words, size), 0);
    do {
        struct tux_entry entries[60];
        uint32_t max = 1 + oracle_below(oracle_below(2) == 0 ? 3 : 60);
        uint32_t count = tux_scan_next(index, words, size, &position, entries, max, &end);
        uint32_t taken = oracle_below(3) == 0 ? oracle_below(count + 1u) : count;
        assert_true(count <= max && (count == max || end));
        for (uint32_t i = 0; i < taken; i++) {
            assert_true(found < FOUND && !entries[i].copy);
            rows[found].range = scan_range_number(words + position.range_at);
            rows[found++].key = key_of(entries[i].row);
        }
        if (taken > 0) tux_scan_moved(index, &position, &entries[taken - 1u]);
        if (taken < count) end = false;
    } while (!end || tux_scan_next_range(words, size, &position));
    return found;
}

static void one_case(uint32_t number, uint64_t *fitting, uint64_t *ranges)
{
    static struct found expected[FOUND];
    static struct found got[FOUND];
    static uint32_t words[SCAN_RANGES_WORDS_MAX];
    struct table_index index;
    uint32_t i = oracle_below(INDEXES);
    assert_true(table_def_index(oracle_world.def, i, &index));
    uint32_t size = draw_ranges(i, &index, words);
    uint32_t count = oracle(expected);
    uint32_t found = ours(i, words, size, got);
    *fitting += found;
    *ranges += scan_ranges_count(words, size);
    if (found != count || memcmp(got, expected, found * sizeof got[0]) != 0)
        fail_msg("case %u: SQLite has %u rows, here are %u, or in another order: %s", number, count,
                 found, oracle_sql);
}

static void test_same_order(void **state)
{
    (void)state;
    uint32_t cases = oracle_number_of("INDEX_CASES", 6000);
    uint64_t fitting = 0;
    uint64_t ranges = 0;
    oracle_sql = malloc(SQL_MAX);
    assert_non_null(oracle_sql);
    rng_seed(&oracle_rng, oracle_number_of("INDEX_SEED", 1));
    for (uint32_t i = 0; i < cases; i++) {
        if (i % CASES_EACH == 0) begin_round();
        one_case(i, &fitting, &ranges);
        if (i + 1 == cases || (i + 1) % CASES_EACH == 0) oracle_close();
    }
    print_message("%u scans of %llu ranges of %u rows, %llu rows fitted\n", cases,
                  (unsigned long long)ranges, ROWS, (unsigned long long)fitting);
    assert_true(cases < 100 || (fitting > cases && fitting < ranges * (ROWS - 1)));
    free(oracle_sql);
}

/* All that a scan of accepted ranges gives; false when they were refused. */
static bool scan_damaged(const struct tux_index *tree, const uint32_t *words, uint32_t count)
{
    static struct tux_position position;
    uint32_t ranges = 1;
    if (tux_ranges_check(tux_index_columns(tree), words, count) != 0) return false;
    position = (struct tux_position){0};
    for (;; ranges++) {
        struct tux_entry entries[ROWS + 1];
        bool end;
        assert_true(tux_scan_next(tree, words, count, &position, entries, ROWS + 1, &end) <= ROWS);
        assert_true(end);
        if (!tux_scan_next_range(words, count, &position)) break;
    }
    assert_int_equal(ranges, scan_ranges_count(words, count));
    return true;
}

/* Bytes that are no range, and ranges of other columns: refused. */
static void test_nonsense_is_refused(void **state)
{
    (void)state;
    static uint32_t good[SCAN_RANGES_WORDS_MAX];
    struct table_index index;
    uint32_t accepted = 0;
    uint32_t several = 0;
    oracle_sql = malloc(SQL_MAX);
    assert_non_null(oracle_sql);
    rng_seed(&oracle_rng, 5);
    begin_round();
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t number = oracle_below(INDEXES);
        const struct tux_index *tree = tup_frag_ordered(oracle_world.frag, number);
        assert_true(table_def_index(oracle_world.def, number, &index));
        uint32_t size = draw_ranges(number, &index, good);
        uint32_t cut = oracle_below(3) == 0 ? oracle_below(size + 1u) : size;
        uint32_t *words = malloc(cut * 4u + 1u); /* Just so many, for sanitizers. */
        memcpy(words, good, cut * 4u);
        for (uint32_t n = oracle_below(4); n > 0 && cut > 0; n--)
            words[oracle_below(cut)] ^=
                oracle_below(2) == 0 ? 1u << oracle_below(32) : (uint32_t)rng_next(&oracle_rng);
        if (scan_damaged(tree, words, cut)) {
            accepted++;
            several += scan_ranges_count(words, cut) > 1;
        }
        free(words);
    }
    print_message("%u of 100000 damaged scans were scans, %u of several ranges\n", accepted,
                  several);
    assert_true(accepted > 1000 && accepted < 80000 && several > 500);
    oracle_close();
    free(oracle_sql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_order),
                                       cmocka_unit_test(test_nonsense_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
