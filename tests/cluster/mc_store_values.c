/* mc_store_values.c -- part of mc_store_client: large values, full memory, and no cluster. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/cluster/mc_store_client.h"

const struct view race_view = {.table = "race_table",
                               .keys = "mkey",
                               .values = "string_value",
                               .flags = "flags",
                               .increment = "math_value",
                               .cas = "cas_value"};
const struct view large_view = {.table = "demo_table_large",
                                .keys = "mkey",
                                .values = "string_value",
                                .flags = "flags",
                                .cas = "cas_value",
                                .large = "external_values"};

void make_tables(struct client *client)
{
    make_table(client, "race_table",
               "mkey VARCHAR(250) NOT NULL, math_value BIGINT UNSIGNED, flags INT UNSIGNED, "
               "cas_value BIGINT UNSIGNED, string_value VARBINARY(13500), "
               "PRIMARY KEY (mkey) USING HASH");
    make_table(client, "demo_table_large",
               "mkey VARCHAR(250) NOT NULL, flags INT UNSIGNED, cas_value BIGINT UNSIGNED, "
               "string_value VARBINARY(2000), ext_id INT UNSIGNED, ext_size INT UNSIGNED, "
               "PRIMARY KEY (mkey) USING HASH");
    make_table(client, "external_values",
               "id INT UNSIGNED NOT NULL AUTO_INCREMENT, part SMALLINT NOT NULL, "
               "content VARBINARY(13950) NOT NULL, PRIMARY KEY (id, part) USING HASH");
}

/* ---- Large values ---- */

/* A value tells from its first bytes what all of it must be. */
struct mc_value *pattern(uint32_t size, uint32_t seed)
{
    struct mc_value *value = mc_value_create(size);
    uint32_t word = seed * 2654435761u + size;
    for (uint32_t i = 0; i < size; i++) {
        if (i < 4)
            value->bytes[i] = (char)(seed >> (8 * i));
        else
            value->bytes[i] = (char)((word = word * 1664525u + 1013904223u) >> 24);
    }
    return value;
}

bool is_pattern(const struct mc_value *value)
{
    uint32_t seed = 0;
    if (value == NULL) return false;
    if (value->size < 4) return true;
    for (uint32_t i = 0; i < 4; i++)
        seed |= (uint32_t)(unsigned char)value->bytes[i] << (8 * i);
    struct mc_value *should = pattern(value->size, seed);
    bool same = memcmp(should->bytes, value->bytes, value->size) == 0;
    mc_value_release(should);
    return same;
}

enum mc_status put_pattern(struct client *client, const struct mc_container *c,
                           enum mc_command command, const char *key, uint32_t size, uint32_t seed)
{
    struct mc_request request = request_of(command, key);
    request.value = pattern(size, seed);
    enum mc_status status = run(client, c, &request);
    mc_request_clear(&request);
    return status;
}

static void must_have_size(struct client *client, const struct mc_container *c, const char *key,
                           uint32_t size)
{
    struct mc_request request = request_of(MC_GET, key);
    want(key, run(client, c, &request), MC_OK);
    want("its size", request.result.value->size, size);
    want("its bytes", is_pattern(request.result.value), true);
    mc_request_clear(&request);
}

static void check_sizes(struct client *client, const struct mc_container *c)
{
    static const uint32_t sizes[] = {0,        1,     1999,       2000,     2001,   13949, 13950,
                                     13951,    27900, 27901,      1u << 20, 100,    5000,  27900,
                                     3u << 20, 2000,  200 * 1000, 3571199,  4464000};
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint32_t parts = sizes[i] <= 2000 ? 0 : (sizes[i] + 13949) / 13950;
        want("set", put_pattern(client, c, MC_SET, "l", sizes[i], i), MC_OK);
        must_have_size(client, c, "l", sizes[i]);
        want("parts", rows_of(client, c->parts), parts);
    }
    want("too large", put_pattern(client, c, MC_SET, "l", 4464001, 1), MC_TOO_LARGE);
    want("too large", put_pattern(client, c, MC_ADD, "m", 5u << 20, 1), MC_TOO_LARGE);
    want("append", put(client, c, MC_APPEND, "l", "x"), MC_TOO_LARGE);
    must_have_size(client, c, "l", 4464000);
    want("add", put_pattern(client, c, MC_ADD, "l", 10000, 1), MC_NOT_STORED);
    want("replace", put_pattern(client, c, MC_REPLACE, "l", 10000, 1), MC_OK);
    want("replace of none", put_pattern(client, c, MC_REPLACE, "m", 10000, 1), MC_NOT_STORED);
    must_have_size(client, c, "l", 10000);
    want("delete", drop(client, c, "l"), MC_OK);
    want("parts", rows_of(client, c->parts), 0);
    want("delete", drop(client, c, "l"), MC_NOT_FOUND);
}

/* Begins with nothing and grows at both ends across all borders. */
static void check_growth(struct client *client, const struct mc_container *c)
{
    static char whole[600000];
    static const uint32_t steps[] = {1, 1998, 1, 1, 11949, 1, 0, 13949, 1, 27900, 100000, 13950};
    uint32_t size = 0;
    want("set", put(client, c, MC_SET, "grow", ""), MC_OK);
    for (uint32_t i = 0; i < 2 * sizeof steps / sizeof steps[0]; i++) {
        uint32_t step = steps[i / 2];
        struct mc_request request = request_of(i % 2 == 0 ? MC_APPEND : MC_PREPEND, "grow");
        request.value = pattern(step, i);
        if (i % 2 == 1) memmove(whole + step, whole, size);
        memcpy(whole + (i % 2 == 0 ? size : 0), request.value->bytes, step);
        size += step;
        want("grow", run(client, c, &request), MC_OK);
        mc_request_clear(&request);
        request = request_of(MC_GET, "grow");
        want("get", run(client, c, &request), MC_OK);
        want("size", request.result.value->size, size);
        want("bytes", memcmp(request.result.value->bytes, whole, size) == 0, true);
        want("parts", rows_of(client, c->parts), size <= 2000 ? 0 : (size + 13949) / 13950);
        mc_request_clear(&request);
    }
}

static void check_limit(const struct mc_container *c)
{
    struct client client;
    client_open(&client, 0, 50000);
    want("as large as -I", put_pattern(&client, c, MC_SET, "limit", 50000, 1), MC_OK);
    want("larger", put_pattern(&client, c, MC_SET, "limit", 50001, 1), MC_TOO_LARGE);
    want("append", put(&client, c, MC_APPEND, "limit", "x"), MC_TOO_LARGE);
    must_have_size(&client, c, "limit", 50000);
    want("delete", drop(&client, c, "limit"), MC_OK);
    client_close(&client);
}

/* Whoever else writes a part: the next id is taken. A part that is gone: an error. */
static void check_damage(struct client *client, const struct mc_container *c)
{
    struct mc_container row;
    struct mc_request request = request_of(MC_GET, "d");
    char key[40];
    container_open(
        client, &row,
        &(struct view){.table = "demo_table_large", .keys = "mkey", .values = "ext_id,ext_size"});
    want("set", put_pattern(client, c, MC_SET, "d", 60000, 1), MC_OK);
    want("get", run(client, &row, &request), MC_OK);
    snprintf(key, sizeof key, "%.*s", (int)request.result.value->size, request.result.value->bytes);
    strcpy(strchr(key, '\t'), "\t2");
    mc_request_clear(&request);
    container_close(&row);
    container_open(
        client, &row,
        &(struct view){.table = "external_values", .keys = "id,part", .values = "content"});
    want("delete a part", drop(client, &row, key), MC_OK);
    request = request_of(MC_GET, "d");
    want("get", run(client, c, &request), MC_FAILED);
    want("says why", request.result.message != NULL, true);
    mc_request_clear(&request);
    want("delete", drop(client, c, "d"), MC_OK);
    want("parts", rows_of(client, c->parts), rows_of(client, row.table));
    container_close(&row);
}

static void check_large_expiry(struct client *client)
{
    struct mc_container c;
    struct mc_request request;
    make_table(client, "large_expiring",
               "mkey VARCHAR(250) NOT NULL, string_value VARBINARY(2000), ext_id INT UNSIGNED, "
               "ext_size INT UNSIGNED, e DATETIME, PRIMARY KEY (mkey)");
    container_open(client, &c,
                   &(struct view){.table = "large_expiring",
                                  .keys = "mkey",
                                  .values = "string_value",
                                  .expire = "e",
                                  .large = "external_values"});
    for (uint32_t size = 100; size <= 100000; size += 99900) {
        uint64_t parts = rows_of(client, c.parts);
        client->now = 1000000;
        request = request_of(MC_SET, "x");
        request.value = pattern(size, 3);
        request.expiry = 1000010;
        want("set", run(client, &c, &request), MC_OK);
        mc_request_clear(&request);
        request = request_of(MC_GET, "x");
        request.touch = true;
        request.expiry = 1000020;
        want("gat", run(client, &c, &request), MC_OK);
        want("its value", is_pattern(request.result.value), true);
        want("its size", request.result.value->size, size);
        mc_request_clear(&request);
        client->now = 1000019;
        must_have_size(client, &c, "x", size);
        client->now = 1000020;
        must_be(client, &c, "x", NULL);
        want("parts are gone", rows_of(client, c.parts), parts);
        want("the row is gone", rows_of(client, c.table), 0);
    }
    client->now = 0;
    container_close(&c);
}

/* A number in the place of a large value that has expired: nothing of that is left. */
static void check_large_numbers(struct client *client)
{
    struct mc_container c;
    struct mc_request request;
    uint64_t n;
    make_table(client, "large_counter",
               "mkey VARCHAR(250) NOT NULL, string_value VARBINARY(2000), ext_id INT UNSIGNED, "
               "ext_size INT UNSIGNED, n BIGINT UNSIGNED, e DATETIME, PRIMARY KEY (mkey)");
    container_open(client, &c,
                   &(struct view){.table = "large_counter",
                                  .keys = "mkey",
                                  .values = "string_value",
                                  .increment = "n",
                                  .expire = "e",
                                  .large = "external_values"});
    uint64_t parts = rows_of(client, c.parts);
    client->now = 1000000;
    request = request_of(MC_SET, "x");
    request.value = pattern(100000, 3);
    request.expiry = 1000010;
    want("set", run(client, &c, &request), MC_OK);
    mc_request_clear(&request);
    want("no number", count(client, &c, MC_INCREMENT, "x", 1, &n), MC_NON_NUMERIC);
    client->now = 1000020;
    want("expired", count(client, &c, MC_INCREMENT, "x", 1, &n), MC_NOT_FOUND);
    request = request_of(MC_INCREMENT, "x");
    request.create = true;
    request.initial = 7;
    want("create", run(client, &c, &request), MC_OK);
    want("is told", request.result.created, true);
    mc_request_clear(&request);
    want("parts are gone", rows_of(client, c.parts), parts);
    must_be(client, &c, "x", "7");
    want("increment", count(client, &c, MC_INCREMENT, "x", 3, &n), MC_OK);
    want("number", n, 10);
    want("delete", drop(client, &c, "x"), MC_OK);
    client->now = 0;
    container_close(&c);
}

void check_large(struct client *client)
{
    struct mc_container c;
    make_tables(client);
    container_open(client, &c, &large_view);
    check_sizes(client, &c);
    check_growth(client, &c);
    check_limit(&c);
    check_damage(client, &c);
    check_large_expiry(client);
    check_large_numbers(client);
    for (uint32_t i = 0; i < 30; i++) {
        char key[20];
        snprintf(key, sizeof key, "f%u", i);
        want("set", put_pattern(client, &c, MC_SET, key, i * 3000, i), MC_OK);
    }
    struct mc_request request = request_of(MC_FLUSH_ALL, "");
    want("flush", run(client, &c, &request), MC_OK);
    want("rows left", rows_of(client, c.table), 0);
    want("parts left", rows_of(client, c.parts), 0);
    container_close(&c);
}

/* ---- No memory, no cluster ---- */

int fill(void)
{
    struct client client;
    struct mc_container c;
    enum mc_status status = MC_OK;
    uint32_t rows = 0;
    client_open(&client, 10000, 0);
    make_tables(&client);
    container_open(&client, &c, &large_view);
    for (; status == MC_OK && rows < 1000; rows++) {
        char key[20];
        snprintf(key, sizeof key, "fill%u", rows);
        status = put_pattern(&client, &c, MC_SET, key, 3u << 20, rows);
    }
    printf("%u rows\n", rows);
    want("the memory is full", status, MC_NO_MEMORY);
    must_have_size(&client, &c, "fill0", 3u << 20);
    struct mc_request request = request_of(MC_FLUSH_ALL, "");
    want("flush", run(&client, &c, &request), MC_OK);
    want("rows left", rows_of(&client, c.table), 0);
    want("parts left", rows_of(&client, c.parts), 0);
    container_close(&c);
    client_close(&client);
    printf("memory was full, and is not\n");
    return 0;
}

static void must_be_lost(struct client *client, const struct mc_container *c)
{
    for (enum mc_command command = MC_GET; command < MC_ENGINE_COMMANDS; command++) {
        struct mc_request request = request_of(command, "k");
        bool counts = command == MC_INCREMENT || command == MC_DECREMENT;
        bool refused = counts && c->increment_column == MC_NO_COLUMN;
        give_value(&request, "1", 1);
        want("without a cluster", run(client, c, &request),
             refused ? MC_NOT_SUPPORTED : MC_TEMPORARY);
        want("says why", request.result.message != NULL, true);
        mc_request_clear(&request);
    }
}

int lose(void)
{
    struct client client;
    struct mc_container demo;
    struct mc_container large;
    struct mc_store_figures figures;
    struct mc_request request = request_of(MC_INCREMENT, "k");
    bool done;
    client_open(&client, 1000, 0);
    make_tables(&client);
    container_open(&client, &demo, &race_view);
    container_open(&client, &large, &large_view);
    want("set", put(&client, &demo, MC_SET, "k", "1"), MC_OK);
    printf("ready\n");
    (void)fflush(stdout);
    if (getchar() == EOF) return 1;
    must_be_lost(&client, &demo);
    must_be_lost(&client, &large);
    mc_store_figures(client.store, &figures);
    printf("%llu retries\n", (unsigned long long)figures.retries);
    want("tried again", figures.retries > 0, true);
    want("temporary", figures.temporary, 2u * MC_ENGINE_COMMANDS - 2u);
    begin(&client, &demo, &request, &done); /* It waits when the store is closed. */
    container_close(&demo);
    container_close(&large);
    client_close(&client);
    printf("all were told\n");
    return 0;
}
