/* mc_store_commands.c -- part of mc_store_client: every command and every answer. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/cluster/mc_store_client.h"

#define NOW 1700000000u

static const struct view demo_view = {.table = "demo_table",
                                      .keys = "mkey",
                                      .values = "string_value",
                                      .flags = "flags",
                                      .increment = "math_value",
                                      .cas = "cas_value"};
static const struct view tabs_view = {.table = "demo_table_tabs",
                                      .keys = "mkey",
                                      .values = "val1,val2,val3",
                                      .flags = "flags",
                                      .expire = "expire_time"};

static void make_demo(struct client *client)
{
    make_table(client, "demo_table",
               "mkey VARCHAR(250) NOT NULL, math_value BIGINT UNSIGNED, flags INT UNSIGNED, "
               "cas_value BIGINT UNSIGNED, string_value VARBINARY(13500), "
               "PRIMARY KEY (mkey) USING HASH");
    make_table(client, "demo_table_tabs",
               "mkey INT NOT NULL PRIMARY KEY, val1 VARCHAR(60), val2 VARCHAR(10), val3 INT, "
               "flags INT UNSIGNED, expire_time TIMESTAMP NULL");
}

static uint64_t cas_of(struct client *client, const struct mc_container *c, const char *key)
{
    struct mc_request request = request_of(MC_GET, key);
    request.want_value = false;
    want("get without value", run(client, c, &request), MC_OK);
    want("no value", request.result.value == NULL, true);
    uint64_t cas = request.result.cas;
    mc_request_clear(&request);
    return cas;
}

static enum mc_status with_cas(struct client *client, const struct mc_container *c,
                               enum mc_command command, const char *key, const char *value,
                               uint64_t cas, uint64_t *made)
{
    struct mc_request request = request_of(command, key);
    give_value(&request, value, (uint32_t)strlen(value));
    request.cas_given = true;
    request.cas = cas;
    request.delta = 1;
    enum mc_status status = run(client, c, &request);
    *made = request.result.cas;
    mc_request_clear(&request);
    return status;
}

static void check_stores(struct client *client, const struct mc_container *c)
{
    want("get of none", run(client, c, &(struct mc_request){.command = MC_GET}), MC_NOT_FOUND);
    must_be(client, c, "a", NULL);
    want("replace of none", put(client, c, MC_REPLACE, "a", "x"), MC_NOT_STORED);
    want("append to none", put(client, c, MC_APPEND, "a", "x"), MC_NOT_STORED);
    want("prepend to none", put(client, c, MC_PREPEND, "a", "x"), MC_NOT_STORED);
    want("delete of none", drop(client, c, "a"), MC_NOT_FOUND);
    want("add", put(client, c, MC_ADD, "a", "one"), MC_OK);
    must_be(client, c, "a", "one");
    want("add again", put(client, c, MC_ADD, "a", "two"), MC_NOT_STORED);
    want("replace", put(client, c, MC_REPLACE, "a", "three"), MC_OK);
    want("append", put(client, c, MC_APPEND, "a", " four"), MC_OK);
    want("prepend", put(client, c, MC_PREPEND, "a", "two "), MC_OK);
    must_be(client, c, "a", "two three four");
    want("set", put(client, c, MC_SET, "a", ""), MC_OK);
    must_be(client, c, "a", "");
    want("delete", drop(client, c, "a"), MC_OK);
    must_be(client, c, "a", NULL);

    struct mc_request request = request_of(MC_ADD, "b");
    request.form.protocol = MC_BINARY;
    request.flags = 0xFFFFFFFFu;
    want("binary add", run(client, c, &request), MC_OK);
    want("binary add again", run(client, c, &request), MC_EXISTS);
    request = request_of(MC_GET, "b");
    want("get", run(client, c, &request), MC_OK);
    want("flags", request.result.flags, 0xFFFFFFFFu);
    mc_request_clear(&request);
    request = request_of(MC_APPEND, "v");
    request.meta.vivify_given = true;
    request.flags = 5;
    give_value(&request, "new", 3);
    want("append that creates", run(client, c, &request), MC_OK);
    want("is told", request.result.created, true);
    want("append to it", run(client, c, &request), MC_OK);
    want("is told", request.result.created, false);
    mc_request_clear(&request);
    must_be(client, c, "v", "newnew");
}

static void check_cas(struct client *client, const struct mc_container *c)
{
    uint64_t made;
    uint64_t again;
    want("cas of none", with_cas(client, c, MC_SET, "cas", "x", 1, &made), MC_NOT_FOUND);
    want("set", put(client, c, MC_SET, "cas", "1"), MC_OK);
    uint64_t cas = cas_of(client, c, "cas");
    want("the marker", cas >> 36 & 1, 1);
    want("the node", cas >> 28 & 0xFF, ndb_connection_node_id(connection));
    want("another cas", with_cas(client, c, MC_SET, "cas", "x", cas + 1, &made), MC_EXISTS);
    want("this cas", with_cas(client, c, MC_SET, "cas", "2", cas, &made), MC_OK);
    want("a new one", made != cas && made == cas_of(client, c, "cas"), true);
    want("the old one", with_cas(client, c, MC_REPLACE, "cas", "x", cas, &again), MC_EXISTS);
    want("replace", with_cas(client, c, MC_REPLACE, "cas", "3", made, &made), MC_OK);
    want("append of the old one", with_cas(client, c, MC_APPEND, "cas", "x", cas, &again),
         MC_EXISTS);
    want("append", with_cas(client, c, MC_APPEND, "cas", "4", made, &made), MC_OK);
    want("its cas", made, cas_of(client, c, "cas"));
    want("increment of the old one", with_cas(client, c, MC_INCREMENT, "cas", "", cas, &again),
         MC_EXISTS);
    want("increment", with_cas(client, c, MC_INCREMENT, "cas", "", made, &made), MC_OK);
    must_be(client, c, "cas", "35");
    want("delete of the old one", with_cas(client, c, MC_DELETE, "cas", "", cas, &again),
         MC_EXISTS);
    want("delete", with_cas(client, c, MC_DELETE, "cas", "", made, &again), MC_OK);
    must_be(client, c, "cas", NULL);

    struct mc_request request = request_of(MC_SET, "cas");
    request.meta.new_cas_given = true;
    request.meta.new_cas = 123456;
    want("a cas of the client's", run(client, c, &request), MC_OK);
    want("is told", request.result.cas, 123456);
    want("and stored", cas_of(client, c, "cas"), 123456);
}

/* A number is stored twice; text has no number; an increment leaves only the number. */
static void check_numbers(struct client *client, const struct mc_container *c)
{
    uint64_t n;
    want("increment of none", count(client, c, MC_INCREMENT, "n", 1, &n), MC_NOT_FOUND);
    want("set", put(client, c, MC_SET, "n", "10"), MC_OK);
    want("increment", count(client, c, MC_INCREMENT, "n", 5, &n), MC_OK);
    want("number", n, 15);
    must_be(client, c, "n", "15");
    want("decrement", count(client, c, MC_DECREMENT, "n", 6, &n), MC_OK);
    want("number", n, 9);
    want("decrement to the floor", count(client, c, MC_DECREMENT, "n", 10, &n), MC_OK);
    want("number", n, 0);
    want("append to a number", put(client, c, MC_APPEND, "n", "7"), MC_OK);
    want("that is one", count(client, c, MC_INCREMENT, "n", 0, &n), MC_OK);
    want("number", n, 7);
    want("set", put(client, c, MC_SET, "n", "18446744073709551615"), MC_OK);
    want("increment", count(client, c, MC_INCREMENT, "n", 1, &n), MC_OK);
    want("goes round", n, 0);
    want("decrement by all", count(client, c, MC_DECREMENT, "n", UINT64_MAX, &n), MC_OK);
    want("floor", n, 0);
    want("increment by all", count(client, c, MC_INCREMENT, "n", UINT64_MAX, &n), MC_OK);
    want("all", n, UINT64_MAX);
    want("increment by all", count(client, c, MC_INCREMENT, "n", UINT64_MAX, &n), MC_OK);
    want("goes round", n, UINT64_MAX - 1);
    const char *const texts[] = {
        "abc", "12a", "-1", "1.5", "", "18446744073709551616", "99999999999999999999999999999999"};
    for (uint32_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        want("set", put(client, c, MC_SET, "n", texts[i]), MC_OK);
        must_be(client, c, "n", texts[i]);
        want(texts[i], count(client, c, MC_INCREMENT, "n", 1, &n), MC_NON_NUMERIC);
    }
    want("zeros", put(client, c, MC_SET, "n", "007"), MC_OK);
    must_be(client, c, "n", "007");
    want("increment", count(client, c, MC_INCREMENT, "n", 1, &n), MC_OK);
    want("number", n, 8);
}

static void check_create(struct client *client, const struct mc_container *c)
{
    struct mc_request request = request_of(MC_DECREMENT, "made");
    request.create = true;
    request.delta = 3;
    request.initial = 100;
    want("create", run(client, c, &request), MC_OK);
    want("initial", request.result.number, 100);
    want("is told", request.result.created, true);
    want("decrement", run(client, c, &request), MC_OK);
    want("number", request.result.number, 97);
    want("is told", request.result.created, false);
    must_be(client, c, "made", "97");
    mc_request_clear(&request);
}

static enum mc_status set_field(struct client *client, const struct mc_container *c,
                                void (*change)(struct mc_request *))
{
    struct mc_request request = request_of(MC_SET, "m");
    change(&request);
    enum mc_status status = run(client, c, &request);
    want("says why", request.result.message != NULL, true);
    mc_request_clear(&request);
    return status;
}

static void invalidate(struct mc_request *request)
{
    request->meta.invalidate = true;
}

static void drop_value(struct mc_request *request)
{
    request->command = MC_DELETE;
    request->meta.drop_value = true;
}

static void vivify(struct mc_request *request)
{
    request->command = MC_GET;
    request->meta.vivify_given = true;
}

static void recache(struct mc_request *request)
{
    request->command = MC_GET;
    request->meta.recache_given = true;
}

static void other_command(struct mc_request *request)
{
    request->command = MC_STATS;
}

static void check_refusals(struct client *client, const struct mc_container *c)
{
    static char text[14000];
    want("I", set_field(client, c, invalidate), MC_NOT_SUPPORTED);
    want("x", set_field(client, c, drop_value), MC_NOT_SUPPORTED);
    want("N", set_field(client, c, vivify), MC_NOT_SUPPORTED);
    want("R", set_field(client, c, recache), MC_NOT_SUPPORTED);
    want("no command", set_field(client, c, other_command), MC_NOT_SUPPORTED);
    memset(text, 'x', 13501);
    want("too long", put(client, c, MC_SET, "long", text), MC_TOO_LARGE);
    text[13500] = '\0';
    want("just so long", put(client, c, MC_SET, "long", text), MC_OK);
    must_be(client, c, "long", text);
    want("append is too long", put(client, c, MC_APPEND, "long", "x"), MC_TOO_LARGE);
    must_be(client, c, "long", text);
    text[250] = '\0';
    want("the longest key", put(client, c, MC_SET, text, "v"), MC_OK);
    must_be(client, c, text, "v");
}

static void check_flush(struct client *client, const struct mc_container *c, uint32_t rows)
{
    bool done[500];
    static struct mc_request requests[500];
    for (uint32_t i = 0; i < rows; i++) {
        char key[20];
        snprintf(key, sizeof key, "%u", i + 100000);
        requests[i] = request_of(MC_SET, key);
        give_value(&requests[i], key, (uint32_t)strlen(key));
        begin(client, c, &requests[i], &done[i]);
    }
    for (uint32_t i = 0; i < rows; i++) {
        wait_for(client, &done[i]);
        want("one of many", requests[i].result.status, MC_OK);
        mc_request_clear(&requests[i]);
    }
    want("rows", rows_of(client, c->table) >= rows, true);
    struct mc_request request = request_of(MC_FLUSH_ALL, "");
    want("flush", run(client, c, &request), MC_OK);
    want("rows left", rows_of(client, c->table), 0);
    want("flush of none", run(client, c, &request), MC_OK);
}

static void check_tabs(struct client *client, const struct mc_container *c)
{
    uint64_t n;
    want("set", put(client, c, MC_SET, "1", "a\tb\t3"), MC_OK);
    must_be(client, c, "1", "a\tb\t3");
    want("set", put(client, c, MC_SET, "1", "a"), MC_OK);
    must_be(client, c, "1", "a\t\t");
    want("set", put(client, c, MC_SET, "-2147483648", "\t\t-7"), MC_OK);
    must_be(client, c, "-2147483648", "\t\t-7");
    want("replace", put(client, c, MC_REPLACE, "1", ""), MC_OK);
    must_be(client, c, "1", "\t\t");
    want("no number", put(client, c, MC_SET, "1", "a\tb\tc"), MC_INVALID);
    want("too many", put(client, c, MC_SET, "1", "a\tb\t3\t4"), MC_INVALID);
    want("too long", put(client, c, MC_SET, "1", "a\tb1234567890b1234567890b1234567890b1234567890"),
         MC_TOO_LARGE);
    want("no key", put(client, c, MC_SET, "one", "a"), MC_INVALID);
    want("no key", put(client, c, MC_SET, "2147483648", "a"), MC_INVALID);
    want("append", put(client, c, MC_APPEND, "1", "a"), MC_NOT_SUPPORTED);
    want("increment", count(client, c, MC_INCREMENT, "1", 1, &n), MC_NOT_SUPPORTED);
    want("cas", with_cas(client, c, MC_SET, "1", "a", 1, &n), MC_NOT_SUPPORTED);
}

static enum mc_status put_until(struct client *client, const struct mc_container *c,
                                enum mc_command command, const char *key, uint32_t expiry)
{
    struct mc_request request = request_of(command, key);
    give_value(&request, "e\te\t1", 5);
    request.expiry = expiry;
    enum mc_status status = run(client, c, &request);
    mc_request_clear(&request);
    return status;
}

static enum mc_status touch(struct client *client, const struct mc_container *c, const char *key,
                            uint32_t expiry, bool want_value)
{
    struct mc_request request = request_of(MC_GET, key);
    request.touch = true;
    request.expiry = expiry;
    request.want_value = want_value;
    enum mc_status status = run(client, c, &request);
    if (status == MC_OK) want("touched", request.result.expiry, expiry);
    if (status == MC_OK && want_value) want_text("touched", &request, "e\te\t1");
    mc_request_clear(&request);
    return status;
}

/* The container's value is "e\te\t1", and its keys are numbers. */
static void check_expiry(struct client *client, const struct mc_container *c)
{
    struct mc_request request = request_of(MC_GET, "5");
    client->now = NOW;
    want("set", put_until(client, c, MC_SET, "5", NOW + 10), MC_OK);
    want("get", run(client, c, &request), MC_OK);
    want("expiry", request.result.expiry, NOW + 10);
    mc_request_clear(&request);
    want("touch", touch(client, c, "5", NOW + 20, false), MC_OK);
    want("gat", touch(client, c, "5", NOW + 30, true), MC_OK);
    want("touch of none", touch(client, c, "6", NOW + 30, false), MC_NOT_FOUND);
    client->now = NOW + 29;
    must_be(client, c, "5", "e\te\t1");
    client->now = NOW + 30;
    want("touch of one that has expired", touch(client, c, "5", NOW + 40, true), MC_NOT_FOUND);
    want("replace", put_until(client, c, MC_REPLACE, "5", 0), MC_NOT_STORED);
    want("the row is there", rows_of(client, c->table) > 0, true);
    want("add over it", put_until(client, c, MC_ADD, "5", NOW + 50), MC_OK);
    want("add again", put_until(client, c, MC_ADD, "5", NOW + 50), MC_NOT_STORED);
    client->now = NOW + 60;
    uint64_t rows = rows_of(client, c->table);
    must_be(client, c, "5", NULL);
    want("it is gone", rows_of(client, c->table), rows - 1);
    want("set", put_until(client, c, MC_SET, "5", MC_EXPIRED), MC_OK);
    want("delete", drop(client, c, "5"), MC_NOT_FOUND);
    want("rows", rows_of(client, c->table), rows - 1);
    want("set", put_until(client, c, MC_SET, "5", 0), MC_OK);
    want("for ever", touch(client, c, "5", 0, true), MC_OK);
    client->now = UINT32_MAX;
    must_be(client, c, "5", "e\te\t1");
    want("delete", drop(client, c, "5"), MC_OK);
    client->now = 0;
}

/* Rows found by other keys than the primary one. */
static void check_indexes(struct client *client)
{
    struct mc_container unique;
    struct mc_container pair;
    struct mc_container ordered;
    struct mc_container primary;
    uint64_t n;
    uint64_t cas;
    make_table(client, "demo_index",
               "id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL, part INT NOT NULL, "
               "v VARBINARY(100), n BIGINT UNSIGNED, cas BIGINT UNSIGNED, e INT UNSIGNED, "
               "UNIQUE KEY by_name (name) USING HASH, INDEX by_part (part, name)");
    container_open(client, &pair,
                   &(struct view){.table = "demo_index", .keys = "id", .values = "name,part,v"});
    container_open(client, &unique,
                   &(struct view){.table = "demo_index",
                                  .keys = "name",
                                  .values = "v",
                                  .increment = "n",
                                  .cas = "cas",
                                  .expire = "e"});
    container_open(client, &primary,
                   &(struct view){.table = "demo_index",
                                  .keys = "id",
                                  .values = "v",
                                  .increment = "n",
                                  .cas = "cas",
                                  .expire = "e"});
    container_open(client, &ordered,
                   &(struct view){.table = "demo_index",
                                  .keys = "part,name",
                                  .values = "v",
                                  .expire = "e",
                                  .flags = "7"});
    want("unique", unique.access, MC_BY_UNIQUE_INDEX);
    want("ordered", ordered.access, MC_BY_ORDERED_INDEX);
    want("set", put(client, &pair, MC_SET, "1", "one\t11\t5"), MC_OK);
    want("another one's key", put(client, &pair, MC_SET, "2", "one\t11\t5"), MC_FAILED);
    must_be(client, &unique, "one", "5");
    must_be(client, &unique, "two", NULL);
    want("set", put(client, &unique, MC_SET, "one", "7"), MC_OK);
    want("set of none", put(client, &unique, MC_SET, "two", "7"), MC_FAILED);
    want("add", put(client, &unique, MC_ADD, "one", "7"), MC_NOT_STORED);
    want("replace", put(client, &unique, MC_REPLACE, "two", "7"), MC_NOT_STORED);
    want("append", put(client, &unique, MC_APPEND, "one", "0"), MC_OK);
    want("increment", count(client, &unique, MC_INCREMENT, "one", 2, &n), MC_OK);
    want("number", n, 72);
    want("increment of none", count(client, &unique, MC_INCREMENT, "two", 2, &n), MC_NOT_FOUND);
    must_be(client, &unique, "one", "72");
    cas = cas_of(client, &unique, "one");
    want("cas", with_cas(client, &unique, MC_SET, "one", "x", cas + 1, &n), MC_EXISTS);
    want("cas", with_cas(client, &unique, MC_SET, "one", "x", cas, &n), MC_OK);
    want("its cas", cas_of(client, &unique, "one"), n);
    want("no number", count(client, &unique, MC_INCREMENT, "one", 2, &n), MC_NON_NUMERIC);
    must_be(client, &ordered, "11\tone", "x");
    must_be(client, &ordered, "12\tone", NULL);
    want("a part is missing", put(client, &ordered, MC_SET, "12", "x"), MC_NOT_SUPPORTED);
    struct mc_request request = request_of(MC_GET, "11");
    want("a part is missing", run(client, &ordered, &request), MC_INVALID);
    request = request_of(MC_GET, "11\tone");
    want("get", run(client, &ordered, &request), MC_OK);
    want("flags", request.result.flags, 7);
    mc_request_clear(&request);
    client->now = NOW;
    request = request_of(MC_GET, "one");
    request.touch = true;
    request.expiry = NOW + 5;
    want("touch", run(client, &unique, &request), MC_OK);
    want_text("touch", &request, "x");
    mc_request_clear(&request);
    request = request_of(MC_INCREMENT, "one");
    request.create = true;
    request.initial = 3;
    request.expiry = NOW + 20;
    client->now = NOW + 6;
    want("increment of one that has expired", run(client, &unique, &request), MC_OK);
    want("begins anew", request.result.created && request.result.number == 3, true);
    must_be(client, &ordered, "11\tone", "");
    request = request_of(MC_INCREMENT, "one");
    request.delta = 4;
    request.touch = true;
    request.expiry = NOW + 30;
    want("increment with another expiry", run(client, &unique, &request), MC_OK);
    want("number", request.result.number, 7);
    want("expiry", request.result.expiry, NOW + 30);
    request = request_of(MC_DECREMENT, "1");
    request.delta = 1;
    request.touch = true;
    request.expiry = NOW + 40;
    want("decrement with another expiry", run(client, &primary, &request), MC_OK);
    want("number", request.result.number, 6);
    want("expiry", request.result.expiry, NOW + 40);
    client->now = NOW + 39;
    must_be(client, &primary, "1", "6");
    client->now = NOW + 41;
    must_be(client, &ordered, "11\tone", NULL);
    want("it is gone", rows_of(client, ordered.table), 0);
    client->now = 0;
    want("set", put(client, &pair, MC_SET, "1", "one\t11\t5"), MC_OK);
    want("delete", drop(client, &unique, "one"), MC_OK);
    want("delete", drop(client, &unique, "one"), MC_NOT_FOUND);
    container_close(&pair);
    container_close(&primary);
    container_close(&unique);
    container_close(&ordered);
}

/* Requests that are under way when the store is closed are dropped. */
static void check_close(const struct mc_container *c)
{
    struct client client;
    struct mc_request requests[20];
    bool done[20];
    struct mc_store_figures figures;
    int32_t code;
    uint64_t times;
    client_open(&client, 0, 0);
    must_be(&client, c, "none", NULL);
    must_be(&client, c, "none", NULL);
    want("add", put(&client, c, MC_ADD, "close", "1"), MC_OK);
    want("add", put(&client, c, MC_ADD, "close", "1"), MC_NOT_STORED);
    want("most frequent", mc_store_error(client.store, 0, &code, &times), true);
    want("is", (uint64_t)code, 626);
    want("times", times, 2);
    want("then", mc_store_error(client.store, 1, &code, &times), true);
    want("is", (uint64_t)code, 630);
    want("no more", mc_store_error(client.store, 2, &code, &times), false);
    mc_store_figures(client.store, &figures);
    want("operations", figures.operations, 4);
    want("batches", figures.batches >= 4 && figures.batches <= 100, true);
    for (uint32_t i = 0; i < 20; i++) {
        requests[i] = request_of(i % 3 == 0   ? MC_GET
                                 : i % 3 == 1 ? MC_APPEND
                                              : MC_FLUSH_ALL,
                                 "close");
        begin(&client, c, &requests[i], &done[i]);
        if (i == 10) (void)ndb_process(client.ndb);
    }
    client_close(&client);
    for (uint32_t i = 0; i < 20; i++)
        mc_request_clear(&requests[i]); /* Some were done before. */
}

void check_commands(struct client *client)
{
    struct mc_container demo;
    struct mc_container tabs;
    make_demo(client);
    container_open(client, &demo, &demo_view);
    container_open(client, &tabs, &tabs_view);
    check_stores(client, &demo);
    check_cas(client, &demo);
    check_numbers(client, &demo);
    check_create(client, &demo);
    check_refusals(client, &demo);
    check_flush(client, &demo, 500);
    check_tabs(client, &tabs);
    check_expiry(client, &tabs);
    check_flush(client, &tabs, 10);
    check_indexes(client);
    check_close(&demo);
    container_close(&demo);
    container_close(&tabs);
}
