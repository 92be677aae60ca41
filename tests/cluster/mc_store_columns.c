/* mc_store_columns.c -- part of mc_store_client: columns of every type as keys and values. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_convert.h"
#include "tests/cluster/mc_store_client.h"

struct sample {
    const char *type;
    const char *in;  /* NULL: the last of its type. */
    const char *out; /* NULL: the same; "!": it is none; "+": it is too long. */
};

static const struct sample samples[] = {
    {"TINYINT", "-128", NULL},
    {"TINYINT", "127", NULL},
    {"TINYINT", "128", "!"},
    {"TINYINT", "", "!"},
    {"TINYINT", " 1", "!"},
    {"TINYINT UNSIGNED", "255", NULL},
    {"TINYINT UNSIGNED", "-1", "!"},
    {"SMALLINT", "-32768", NULL},
    {"SMALLINT UNSIGNED", "65535", NULL},
    {"MEDIUMINT", "-8388608", NULL},
    {"MEDIUMINT UNSIGNED", "16777215", NULL},
    {"INT", "-2147483648", NULL},
    {"INT", "1x", "!"},
    {"INT UNSIGNED", "4294967295", NULL},
    {"INT UNSIGNED", "4294967296", "!"},
    {"BIGINT", "-9223372036854775808", NULL},
    {"BIGINT UNSIGNED", "18446744073709551615", NULL},
    {"DECIMAL(10,3)", "-1234567.125", NULL},
    {"DECIMAL(10,3)", "12345678.125", "!"},
    {"DECIMAL(10,3)", "abc", "!"},
    {"FLOAT", "1.5", NULL},
    {"DOUBLE", "-0.25", NULL},
    {"DOUBLE", "nothing", "!"},
    {"CHAR(10)", "ab", NULL},
    {"CHAR(10)", "ab  ", "ab"},
    {"CHAR(10)", "", NULL},
    {"VARCHAR(10)", "ab  ", NULL},
    {"VARCHAR(10)", "", NULL},
    {"VARCHAR(300)", "long ones", NULL},
    {"BINARY(2)", "ab", NULL},
    {"BINARY(2)", "abc", "+"},
    {"VARBINARY(3)", "abc", NULL},
    {"VARBINARY(3)", "abcd", "+"},
    {"VARBINARY(300)", "\1\2\377", NULL},
    {"DATE", "2024-02-29", NULL},
    {"DATE", "2023-02-29", "!"},
    {"TIME", "-838:59:59", NULL},
    {"TIME", "+12:34:56", "12:34:56"},
    {"TIME", "12:60:00", "!"},
    {"DATETIME", "2024-02-29 23:59:59", NULL},
    {"DATETIME", "today", "!"},
    {"TIMESTAMP", "1700000000", NULL},
    {"TIMESTAMP", "2023-11-14 22:13:20", "1700000000"},
    {"TIMESTAMP", "4294967296", "!"},
    {"YEAR", "2024", NULL},
    {"YEAR", "1800", "!"},
};

static void check_sample(struct client *client, const struct sample *sample,
                         const struct mc_container *by_id, const struct mc_container *by_value)
{
    const char *out = sample->out == NULL ? sample->in : sample->out;
    enum mc_status status = *out == '!' ? MC_INVALID : *out == '+' ? MC_TOO_LARGE : MC_OK;
    printf("  %s '%s'\n", sample->type, sample->in);
    want("as value", put(client, by_id, MC_SET, "1", sample->in), status);
    want("as key", put(client, by_value, MC_SET, sample->in, "5"),
         status == MC_OK ? MC_OK : MC_INVALID);
    if (status != MC_OK) return;
    must_be(client, by_id, "1", out);
    must_be(client, by_value, sample->in, "5");
    must_be(client, by_value, out, "5");
    want("delete", drop(client, by_value, out), MC_OK);
}

static void check_types(struct client *client)
{
    for (uint32_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        char columns[200];
        struct mc_container by_id;
        struct mc_container by_value;
        if (i == 0 || strcmp(samples[i].type, samples[i - 1].type) != 0) {
            snprintf(columns, sizeof columns, "id INT NOT NULL PRIMARY KEY, v %s NULL",
                     samples[i].type);
            make_table(client, "type_value", columns);
            snprintf(columns, sizeof columns, "v %s NOT NULL PRIMARY KEY, id INT", samples[i].type);
            make_table(client, "type_key", columns);
        }
        container_open(
            client, &by_id,
            &(struct view){.table = "type_value", .keys = "id", .values = "v", .flags = "0"});
        container_open(
            client, &by_value,
            &(struct view){.table = "type_key", .keys = "v", .values = "id", .flags = "0"});
        check_sample(client, &samples[i], &by_id, &by_value);
        container_close(&by_id);
        container_close(&by_value);
    }
}

/* Expiries in columns of each type that can hold them; one where 0 stands for NULL. */
static void check_expiries(struct client *client)
{
    static const char *const types[] = {
        "TIMESTAMP NULL",       "DATETIME NULL",     "INT NULL",          "INT UNSIGNED NOT NULL",
        "BIGINT UNSIGNED NULL", "DATETIME NOT NULL", "TIMESTAMP NOT NULL"};
    for (uint32_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char columns[200];
        struct mc_container container;
        struct mc_request request;
        printf("  expiry in %s\n", types[i]);
        snprintf(columns, sizeof columns, "k VARCHAR(20) NOT NULL PRIMARY KEY, v INT, e %s",
                 types[i]);
        make_table(client, "expiring", columns);
        container_open(
            client, &container,
            &(struct view){.table = "expiring", .keys = "k", .values = "v", .expire = "e"});
        client->now = 1700000000;
        for (uint32_t expiry = 0; expiry <= 1700000010; expiry += 1700000010) {
            request = request_of(MC_SET, "k");
            give_value(&request, "1", 1);
            request.expiry = expiry;
            want("set", run(client, &container, &request), MC_OK);
            mc_request_clear(&request);
            request = request_of(MC_GET, "k");
            want("get", run(client, &container, &request), MC_OK);
            want("expiry", request.result.expiry, expiry);
            mc_request_clear(&request);
            request = request_of(MC_GET, "k");
            request.touch = true;
            request.expiry = expiry == 0 ? 0 : expiry + 10;
            want("touch", run(client, &container, &request), MC_OK);
            want("expiry", request.result.expiry, request.expiry);
            mc_request_clear(&request);
        }
        client->now = 1700000020;
        want("replace", put(client, &container, MC_REPLACE, "k", "2"), MC_NOT_STORED);
        want("add", put(client, &container, MC_ADD, "k", "2"), MC_OK);
        must_be(client, &container, "k", "2");
        client->now = 0;
        container_close(&container);
    }
}

/* Columns of counters that are narrow, or the only ones. */
static void check_counters(struct client *client)
{
    struct mc_container container;
    struct mc_request request = request_of(MC_INCREMENT, "1\tx");
    uint64_t n;
    make_table(client, "counter",
               "a INT NOT NULL, b VARCHAR(10) NOT NULL, n INT UNSIGNED, cas INT UNSIGNED, "
               "PRIMARY KEY (a, b)");
    container_open(
        client, &container,
        &(struct view){
            .table = "counter", .keys = "a,b", .increment = "n", .cas = "cas", .flags = "3"});
    request.create = true;
    request.initial = 7;
    want("create", run(client, &container, &request), MC_OK);
    want("is told", request.result.created, true);
    must_be(client, &container, "1\tx", "7");
    want("increment", count(client, &container, MC_INCREMENT, "1\tx", 3, &n), MC_OK);
    want("number", n, 10);
    want("of another key", count(client, &container, MC_INCREMENT, "1\ty", 3, &n), MC_NOT_FOUND);
    want("out of range", count(client, &container, MC_INCREMENT, "1\tx", UINT32_MAX, &n),
         MC_INVALID);
    request.initial = UINT64_MAX;
    want("initial out of range", run(client, &container, &request), MC_INVALID);
    want("set", put(client, &container, MC_SET, "1\tx", "99"), MC_OK);
    must_be(client, &container, "1\tx", "99");
    want("no number", put(client, &container, MC_SET, "1\tx", "x"), MC_INVALID);
    struct mc_request get = request_of(MC_GET, "1\tx");
    want("get", run(client, &container, &get), MC_OK);
    struct mc_request set = request_of(MC_SET, "1\tx");
    give_value(&set, "5", 1);
    set.cas_given = true;
    set.cas = get.result.cas;
    want("flags", get.result.flags, 3);
    want("cas of a narrow column", run(client, &container, &set), MC_OK);
    want("is no more", run(client, &container, &set), MC_EXISTS);
    mc_request_clear(&get);
    mc_request_clear(&set);
    container_close(&container);
}

/* ---- What a row is known by ---- */

#define SPELLINGS 18u
#define PIECES    4u

/* A key's columns, and pieces of which spellings are made by chance: alike ones are frequent. */
struct spelling {
    const char *columns, *keys;
    const char *piece[PIECES][12];
};

static const struct spelling spellings[] = {
    {"k INT NOT NULL PRIMARY KEY", "k", {{"", "", "+", "-"}, {"", "0", "00"}, {"0", "1", "10"}}},
    {"k BIGINT UNSIGNED NOT NULL PRIMARY KEY", "k", {{"", "+", "0"}, {"", "0"}, {"0", "7", "70"}}},
    {"k DECIMAL(8,3) NOT NULL PRIMARY KEY",
     "k",
     {{"", "", "+", "-"}, {"", "0"}, {"0", "1"}, {"", ".0", ".5", ".50", ".500", ".0004"}}},
    {"k DOUBLE NOT NULL PRIMARY KEY", "k", {{"", "-"}, {"0", "0.0", "1", "1.0", "10e-1", "0e5"}}},
    {"k FLOAT NOT NULL PRIMARY KEY", "k", {{"", "-"}, {"0", "0.0", "1.5", "15e-1", "1.50"}}},
    {"k VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL PRIMARY KEY",
     "k",
     {{"", "a", "A", "\xc3\xa4", "\xc3\x84"},
      {"", "s", "\xc3\x9f", "S"},
      {"b", "B", "\xd0\xb1", "\xd0\x91"},
      {"", "", " ", "  "}}},
    {"k CHAR(20) COLLATE utf8mb4_general_ci NOT NULL PRIMARY KEY",
     "k",
     {{"", "o", "O", "\xc3\xb6"}, {"", "", " "}, {"x", "X"}, {"", "", " ", "  "}}},
    {"k VARCHAR(20) COLLATE utf8mb4_bin NOT NULL PRIMARY KEY",
     "k",
     {{"a", "A", "\xc3\xa4"}, {"", " ", "  "}}},
    {"k CHAR(20) COLLATE utf8mb4_bin NOT NULL PRIMARY KEY",
     "k",
     {{"a", "A", "\xc3\xa4"}, {"", " ", "  "}}},
    {"k VARBINARY(20) NOT NULL PRIMARY KEY", "k", {{"a", "A"}, {"", " ", "  ", "\x01"}}},
    {"k BINARY(20) NOT NULL PRIMARY KEY", "k", {{"a", "A"}, {"", " ", "  ", "\x01"}}},
    {"k DATE NOT NULL PRIMARY KEY", "k", {{"2024-02-"}, {"28", "29", "1", "01"}}},
    {"k DATETIME NOT NULL PRIMARY KEY",
     "k",
     {{"2024-02-29"}, {" ", "T", "/"}, {"10:00:00", "10:00:01"}}},
    {"k TIME NOT NULL PRIMARY KEY", "k", {{"", "+", "-"}, {"", "0"}, {"0", "1"}, {":00:00"}}},
    {"k TIMESTAMP NOT NULL PRIMARY KEY",
     "k",
     {{"2023-11-14 22:13:20", "1700000000", "01700000000", "1700000001", "2023-11-14T22:13:20"}}},
    {"k YEAR NOT NULL PRIMARY KEY", "k", {{"2024", "02024", "2025"}}},
    {"a INT NOT NULL, k VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL, PRIMARY KEY (a, k)",
     "a,k",
     {{"", "0", "+"}, {"1", "7"}, {"\tb", "\tB", "\t1b", "\t"}, {"", " ", "\t", "b"}}},
    {"k INT NOT NULL, a VARCHAR(20) NOT NULL, PRIMARY KEY (a, k)",
     "a,k",
     {{"", "0"}, {"1", "7"}, {"\t", "\t0"}, {"1", "7"}}},
};

static uint32_t chance(uint32_t bound)
{
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 20) % bound);
}

static void spell(const struct spelling *spelling, char key[64])
{
    key[0] = '\0';
    for (uint32_t i = 0; i < PIECES; i++) {
        uint32_t count = 0;
        while (count < 12 && spelling->piece[i][count] != NULL)
            count++;
        if (count > 0) strcat(key, spelling->piece[i][chance(count)]);
    }
}

/* Two keys have the same name exactly if what is stored by one is found by the other. */
static void check_spellings(struct client *client, const struct mc_container *container,
                            char keys[SPELLINGS][64])
{
    static struct mc_naming one, two;
    uint32_t alike = 0;
    for (uint32_t i = 0; i < SPELLINGS; i++) {
        int size = mc_store_name(container, keys[i], (uint32_t)strlen(keys[i]), &one);
        enum mc_status status = put(client, container, MC_SET, keys[i], "5");
        want("is it a key?", status == MC_OK, size >= 0);
        for (uint32_t k = 0; k < SPELLINGS && status == MC_OK; k++) {
            struct mc_request get = request_of(MC_GET, keys[k]);
            int other = mc_store_name(container, keys[k], (uint32_t)strlen(keys[k]), &two);
            bool same = other == size && memcmp(one.name, two.name, (uint32_t)size) == 0;
            status = run(client, container, &get);
            if ((status == MC_OK) != same) printf("'%s' and '%s'\n", keys[i], keys[k]);
            want("is it found?", status == MC_OK, same);
            alike += same && k != i;
            mc_request_clear(&get);
            status = MC_OK;
        }
        (void)drop(client, container, keys[i]);
    }
    want("are some alike?", alike > 0, true);
}

static void check_names(struct client *client)
{
    for (uint32_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        struct mc_container container;
        char columns[300], keys[SPELLINGS][64];
        printf("  spellings of %s\n", spellings[i].columns);
        snprintf(columns, sizeof columns, "%s, v INT", spellings[i].columns);
        make_table(client, "spelled", columns);
        container_open(
            client, &container,
            &(struct view){.table = "spelled", .keys = spellings[i].keys, .values = "v"});
        for (uint32_t k = 0; k < SPELLINGS; k++)
            spell(&spellings[i], keys[k]);
        check_spellings(client, &container, keys);
        container_close(&container);
    }
}

void check_columns(struct client *client)
{
    want("bits have no text", mc_convert_knows(NDB_BIT), false);
    check_types(client);
    check_expiries(client);
    check_counters(client);
    check_names(client);
}
