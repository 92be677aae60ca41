/* test_mc_cache_share.c -- the cache's limit, its tokens, and many threads at once. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "servers/memcached/mc_cache.h"

#define LIMIT    (1u << 20)
#define NOW      1000000u
#define THREADS  4u
#define ROUNDS   20000u
#define KEYS_ALL 400u

#define NAME(text) (&(const struct mc_name){.bytes = (text), .size = sizeof(text) - 1})

/* ---- Memory that runs out ---- */

static uint32_t calls_until_failure; /* 0: never. */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
struct mc_value *__real_mc_value_create(uint32_t size);
struct mc_value *__wrap_mc_value_create(uint32_t size);

static bool fails(void)
{
    return calls_until_failure > 0 && --calls_until_failure == 0;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

struct mc_value *__wrap_mc_value_create(uint32_t size)
{
    return fails() ? NULL : __real_mc_value_create(size);
}

/* Those that begin so; context: the prefix. */
static bool begins(void *context, const struct mc_name *name)
{
    const char *prefix = context;
    return name->size >= strlen(prefix) && memcmp(name->bytes, prefix, strlen(prefix)) == 0;
}

static struct mc_cache *open_cache(bool no_eviction)
{
    const struct mc_cache_options options = {
        .bytes_max = LIMIT, .value_max = LIMIT, .no_eviction = no_eviction};
    struct mc_cache *cache = mc_cache_create(&options);
    assert_non_null(cache);
    return cache;
}

struct cache_step {
    enum mc_command command;
    uint32_t key;
    uint32_t size;
    uint32_t now;
};

static enum mc_status execute_step(struct mc_cache *cache, const struct cache_step *step)
{
    struct mc_request request = {.command = step->command, .want_value = true};
    request.key_size = (uint8_t)snprintf(request.key, sizeof request.key, "key:%u", step->key);
    if (step->command != MC_GET && step->command != MC_DELETE) {
        request.value = mc_value_create(step->size);
        assert_non_null(request.value);
        memset(request.value->bytes, 'v', step->size);
    }
    mc_cache_execute(cache, &request, step->now);
    enum mc_status status = request.result.status;
    mc_request_clear(&request);
    return status;
}
#define execute(cache, ...) execute_step((cache), &(struct cache_step){__VA_ARGS__})

static bool is_there(struct mc_cache *cache, uint32_t key, uint32_t now)
{
    return execute(cache, .command = MC_GET, .key = key, .now = now) == MC_OK;
}

static struct mc_cache_figures figures_of(struct mc_cache *cache)
{
    struct mc_cache_figures figures;
    mc_cache_figures(cache, NOW, &figures);
    return figures;
}

/* ---- The limit ---- */

static void test_limit_is_kept(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    for (uint32_t i = 0; i < 50000; i++) {
        assert_int_equal(
            execute(cache, .command = MC_SET, .key = i, .size = i % 3000, .now = NOW + i / 1000),
            MC_OK);
        if (i % 100 == 0) assert_true(figures_of(cache).bytes <= LIMIT);
    }
    struct mc_cache_figures figures = figures_of(cache);
    assert_int_equal(figures.items + figures.evictions, 50000);
    assert_true(figures.bytes > LIMIT - 4000);
    for (uint32_t i = 0; i < 100; i++) /* Many small ones need larger tables. */
        assert_int_equal(execute(cache, .command = MC_SET, .key = 100 + i, .now = NOW), MC_OK);
    mc_cache_free(cache);
}

/* One access a second: then the order is exact over all shards. */
static void test_least_recently_used_goes(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    uint32_t now = NOW;
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(
            execute(cache, .command = MC_SET, .key = i, .size = LIMIT / 11, .now = now++), MC_OK);
    assert_true(is_there(cache, 0, now++));
    assert_int_equal(execute(cache, .command = MC_ADD, .key = 1, .size = 1, .now = now++),
                     MC_NOT_STORED);
    for (uint32_t i = 10; i < 18; i++)
        assert_int_equal(
            execute(cache, .command = MC_SET, .key = i, .size = LIMIT / 11, .now = now++), MC_OK);
    for (uint32_t i = 0; i < 18; i++)
        assert_int_equal(is_there(cache, i, now), i < 2 || i >= 10);
    assert_int_equal(figures_of(cache).evictions, 8);
    mc_cache_free(cache);
}

/* All in one second: the order is exact over all shards all the same. */
static void test_order_within_a_second(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(
            execute(cache, .command = MC_SET, .key = i, .size = LIMIT / 11, .now = NOW), MC_OK);
    for (uint32_t i = 0; i < 10; i++) /* 0, 3, 6, 9, 2, ... */
        assert_true(is_there(cache, i * 3 % 10, NOW));
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(
            execute(cache, .command = MC_SET, .key = 10 + i, .size = LIMIT / 11, .now = NOW),
            MC_OK);
        assert_int_equal(figures_of(cache).evictions, i + 1);
        assert_false(is_there(cache, i * 3 % 10, NOW));
    }
    mc_cache_free(cache);
}

/* Small ones: who was used last stays. */
static void test_newest_stays(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(execute(cache, .command = MC_SET, .key = i, .size = 1000, .now = NOW),
                         MC_OK);
        assert_true(is_there(cache, i, NOW));
    }
    mc_cache_free(cache);
}

static void test_large_values(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    for (uint32_t i = 0; i < 100; i++)
        execute(cache, .command = MC_SET, .key = i, .size = 100, .now = NOW);
    assert_int_equal(
        execute(cache, .command = MC_SET, .key = 200, .size = LIMIT - 1000, .now = NOW), MC_OK);
    assert_true(is_there(cache, 200, NOW));
    assert_int_equal(execute(cache, .command = MC_SET, .key = 201, .size = LIMIT, .now = NOW),
                     MC_NO_MEMORY);
    assert_true(is_there(cache, 200, NOW));
    assert_int_equal(execute(cache, .command = MC_APPEND, .key = 200, .size = 1000, .now = NOW),
                     MC_NO_MEMORY);
    assert_true(is_there(cache, 200, NOW));
    assert_int_equal(execute(cache, .command = MC_SET, .key = 200, .size = LIMIT, .now = NOW),
                     MC_NO_MEMORY);
    assert_false(is_there(cache, 200, NOW)); /* Not the value that was to be replaced. */
    mc_cache_free(cache);
}

static void test_expired_are_reclaimed(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    for (uint32_t i = 0; i < 10; i++) {
        struct mc_request request = {.command = MC_SET, .key_size = 1, .expiry = NOW + 1};
        request.key[0] = (char)('a' + i);
        request.value = mc_value_create(LIMIT / 11);
        assert_non_null(request.value);
        memset(request.value->bytes, 'v', request.value->size);
        mc_cache_execute(cache, &request, NOW);
        mc_request_clear(&request);
    }
    assert_int_equal(execute(cache, .command = MC_SET, .key = 1, .size = LIMIT / 2, .now = NOW + 1),
                     MC_OK);
    struct mc_cache_figures figures = figures_of(cache);
    assert_int_equal(figures.evictions, 0);
    assert_true(figures.reclaimed >= 5);
    mc_cache_free(cache);
}

static void test_no_eviction(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(true);
    uint32_t stored = 0;
    while (execute(cache, .command = MC_ADD, .key = stored, .size = 5000, .now = NOW) == MC_OK)
        stored++;
    assert_true(stored > 150);
    assert_int_equal(execute(cache, .command = MC_ADD, .key = stored, .size = 5000, .now = NOW),
                     MC_NO_MEMORY);
    assert_int_equal(execute(cache, .command = MC_REPLACE, .size = 50000, .now = NOW),
                     MC_NO_MEMORY);
    assert_int_equal(execute(cache, .command = MC_APPEND, .size = 50000, .now = NOW), MC_NO_MEMORY);
    assert_int_equal(execute(cache, .command = MC_REPLACE, .size = 4000, .now = NOW), MC_OK);
    for (uint32_t i = 0; i < stored; i++)
        assert_true(is_there(cache, i, NOW));
    struct mc_request create = {.command = MC_INCREMENT, .key_size = 250, .create = true};
    while (mc_cache_execute(cache, &create, NOW), create.result.status == MC_OK)
        create.key[create.result.cas % 250]++;
    assert_int_equal(create.result.status, MC_NO_MEMORY);
    struct mc_request vivify = {.command = MC_GET, .key_size = 250};
    vivify.meta.vivify_given = true;
    memset(vivify.key, 'y', sizeof vivify.key);
    mc_cache_execute(cache, &vivify, NOW);
    assert_int_equal(vivify.result.status, MC_NO_MEMORY);
    assert_int_equal(figures_of(cache).evictions, 0);
    assert_true(figures_of(cache).bytes <= LIMIT);
    mc_cache_free(cache);
}

static void test_no_memory_to_open(void **state)
{
    (void)state;
    const struct mc_cache_options options = {.bytes_max = LIMIT, .value_max = LIMIT};
    struct mc_cache *cache = NULL;
    uint32_t failures = 0;
    while (cache == NULL) {
        calls_until_failure = ++failures;
        cache = mc_cache_create(&options);
    }
    calls_until_failure = 0;
    assert_true(failures > 60);
    mc_cache_free(cache);
    mc_cache_free(NULL);
}

/* Each command, when its n-th piece of memory is not there: it fails and nothing has changed. */
static void test_no_memory(void **state)
{
    (void)state;
    static const enum mc_command commands[] = {MC_ADD, MC_APPEND, MC_INCREMENT, MC_DECREMENT};
    struct mc_cache *cache = open_cache(false);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct mc_request request = {.command = commands[i], .key = "n", .key_size = 1};
        struct mc_value *value = mc_value_create(1);
        assert_non_null(value);
        value->bytes[0] = '9';
        request.value = value;
        request.delta = 1;
        request.create = true;
        request.initial = 100;
        if (commands[i] == MC_DECREMENT) mc_cache_forget(cache, NAME("n"));
        uint32_t failures = 0;
        do {
            uint64_t bytes = figures_of(cache).bytes;
            calls_until_failure = ++failures;
            mc_cache_execute(cache, &request, NOW);
            calls_until_failure = 0;
            if (request.result.status == MC_OK) break;
            assert_int_equal(request.result.status, MC_NO_MEMORY);
            assert_int_equal(figures_of(cache).bytes, bytes);
        } while (failures < 10);
        assert_int_equal(request.result.status, MC_OK);
        assert_true(failures > 1);
        mc_value_release(value);
    }
    mc_cache_free(cache);
}

/* A table that cannot grow has longer chains. */
static void test_no_memory_for_table(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    for (uint32_t i = 0; i < 6000; i++) {
        struct mc_request request = {.command = MC_ADD};
        request.key_size = (uint8_t)snprintf(request.key, sizeof request.key, "key:%u", i);
        calls_until_failure = 2; /* The first one is the item. */
        mc_cache_execute(cache, &request, NOW);
        calls_until_failure = 0;
        assert_int_equal(request.result.status, MC_OK);
    }
    for (uint32_t i = 0; i < 6000; i++)
        assert_true(is_there(cache, i, NOW));
    mc_cache_free(cache);
}

/* ---- Copies of rows ---- */

static struct mc_copy copy_of(const char *text)
{
    struct mc_copy copy = {.value = mc_value_create((uint32_t)strlen(text))};
    assert_non_null(copy.value);
    memcpy(copy.value->bytes, text, strlen(text));
    return copy;
}

static void assert_copy(struct mc_cache *cache, const char *text)
{
    struct mc_request request = {.command = MC_GET, .key = "k", .key_size = 1, .want_value = true};
    mc_cache_execute(cache, &request, NOW);
    assert_int_equal(request.result.status, text != NULL ? MC_OK : MC_NOT_FOUND);
    if (text != NULL) assert_memory_equal(request.result.value->bytes, text, strlen(text));
    mc_request_clear(&request);
}

/* A write that nothing comes in between of. */
static uint64_t write_copy(struct mc_cache *cache, const struct mc_copy *copy)
{
    uint64_t cas = 0;
    uint64_t token = mc_cache_write_begin(cache, NAME("k"), NOW);
    assert_true(mc_cache_write_end(cache, NAME("k"), token, copy, NOW, &cas));
    return cas;
}

static void test_tokens(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    struct mc_copy old = copy_of("old"), new = copy_of("new");
    uint64_t cas, again, token = mc_cache_token(cache, NAME("k"));
    assert_true(mc_cache_fill(cache, NAME("k"), token, &old, NOW, &cas));
    assert_true(mc_cache_fill(cache, NAME("k"), token, &old, NOW, &again)); /* Two readers. */
    assert_int_equal(cas, again);
    assert_copy(cache, "old");
    assert_true(mc_cache_fill(cache, NAME("k"), token, &new, NOW, &again));
    assert_int_not_equal(cas, again);
    new.cas = 4711;
    assert_int_equal(write_copy(cache, &new), 4711);
    assert_false(mc_cache_fill(cache, NAME("k"), token, &old, NOW, NULL));
    assert_copy(cache, "new");
    token = mc_cache_token(cache, NAME("k"));
    mc_cache_forget(cache, NAME("k"));
    assert_copy(cache, NULL);
    assert_false(mc_cache_fill(cache, NAME("k"), token, &old, NOW, NULL));
    token = mc_cache_token(cache, NAME("k"));
    mc_cache_forget_if(cache, begins, "other");
    assert_false(mc_cache_fill(cache, NAME("k"), token, &old, NOW, NULL));
    token = mc_cache_token(cache, NAME("k"));
    struct mc_request flush = {.command = MC_FLUSH_ALL};
    mc_cache_execute(cache, &flush, NOW);
    assert_false(mc_cache_fill(cache, NAME("k"), token, &old, NOW, NULL));
    mc_value_release(old.value);
    mc_value_release(new.value);
    mc_cache_free(cache);
}

/* Nobody knows which one of writes that were under way at the same time the database did last. */
static void test_writes(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    struct mc_copy one = copy_of("one"), two = copy_of("two");
    uint64_t first = mc_cache_write_begin(cache, NAME("k"), NOW);
    uint64_t read = mc_cache_token(cache, NAME("k"));
    assert_true(
        mc_cache_fill(cache, NAME("k"), read, &two, NOW, NULL)); /* Before it or after it. */
    assert_true(mc_cache_write_end(cache, NAME("k"), first, &one, NOW, NULL));
    assert_copy(cache, "one");
    assert_false(mc_cache_fill(cache, NAME("k"), read, &two, NOW, NULL));
    first = mc_cache_write_begin(cache, NAME("k"), NOW);
    assert_copy(cache, NULL);
    uint64_t second = mc_cache_write_begin(cache, NAME("k"), NOW);
    assert_false(mc_cache_write_end(cache, NAME("k"), first, &one, NOW, NULL));
    assert_copy(cache, NULL);
    assert_false(mc_cache_write_end(cache, NAME("k"), second, &two, NOW, NULL));
    assert_copy(cache, NULL);
    first = mc_cache_write_begin(cache, NAME("k"), NOW);
    second = mc_cache_write_begin(cache, NAME("k"), NOW);
    assert_true(mc_cache_write_end(cache, NAME("k"), second, &two, NOW, NULL));
    assert_copy(cache, "two"); /* Not yet older than the first one, which nobody was answered. */
    assert_false(mc_cache_write_end(cache, NAME("k"), first, &one, NOW, NULL));
    assert_copy(cache, NULL);
    first = mc_cache_write_begin(cache, NAME("k"), NOW);
    assert_false(mc_cache_write_end(cache, NAME("k"), first, NULL, NOW, NULL)); /* It failed. */
    assert_copy(cache, NULL);
    mc_value_release(one.value);
    mc_value_release(two.value);
    mc_cache_free(cache);
}

/* A get that makes the place of a value to come does so only where nothing has been written. */
static void test_execute_if(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    struct mc_copy copy = copy_of("x");
    struct mc_request get = {.command = MC_GET, .key = "k", .key_size = 1};
    uint64_t token = mc_cache_token(cache, NAME("k"));
    get.form.protocol = MC_META;
    get.meta.vivify_given = true;
    get.meta.vivify = NOW + 30;
    assert_true(mc_cache_execute_if(cache, NAME("k"), &get, token, NOW));
    assert_int_equal(get.result.status, MC_OK);
    assert_true(get.result.won && get.result.created);
    assert_true(
        mc_cache_execute_if(cache, NAME("k"), &get, token, NOW)); /* Another one who has missed. */
    assert_true(get.result.token_sent && !get.result.won && !get.result.created);
    write_copy(cache, &copy);
    assert_false(mc_cache_execute_if(cache, NAME("k"), &get, token, NOW));
    assert_copy(cache, "x");
    get.meta.recache_given = true;
    get.meta.recache = NOW + 20;
    copy.expiry = NOW + 10;
    write_copy(cache, &copy);
    token = mc_cache_token(cache, NAME("k"));
    assert_true(mc_cache_execute_if(cache, NAME("k"), &get, token, NOW));
    assert_true(get.result.won);
    assert_true(mc_cache_fill(cache, NAME("k"), token, &copy, NOW, NULL)); /* The same row again. */
    assert_true(mc_cache_execute_if(cache, NAME("k"), &get, token, NOW));
    assert_true(get.result.token_sent && !get.result.won);
    mc_value_release(copy.value);
    mc_cache_free(cache);
}

static void test_peek(void **state)
{
    (void)state;
    const struct mc_cache_options options = {.bytes_max = LIMIT, .value_max = LIMIT, .cas = 1000};
    struct mc_cache *cache = mc_cache_create(&options);
    struct mc_copy copy = copy_of("x"), seen;
    assert_non_null(cache);
    assert_false(mc_cache_peek(cache, NAME("k"), NOW, &seen));
    copy.flags = 7;
    copy.expiry = NOW + 5;
    assert_int_equal(write_copy(cache, &copy), 1001);
    assert_true(mc_cache_peek(cache, NAME("k"), NOW, &seen));
    assert_ptr_equal(seen.value, copy.value);
    assert_int_equal(seen.flags, 7);
    assert_int_equal(seen.expiry, NOW + 5);
    assert_int_equal(seen.cas, 1001);
    mc_value_release(seen.value);
    assert_false(mc_cache_peek(cache, NAME("k"), NOW + 5, &seen));
    assert_int_equal(figures_of(cache).gets, 0);
    struct mc_request get = {.command = MC_GET, .key = "k", .key_size = 1};
    for (uint32_t i = 0; i < 2; i++) { /* Somebody had read the second copy. */
        uint64_t token = mc_cache_token(cache, NAME("k"));
        copy.fetched = i == 1;
        copy.flags++;
        copy.expiry = 0;
        assert_true(mc_cache_fill(cache, NAME("k"), token, &copy, NOW, NULL));
        mc_cache_execute(cache, &get, NOW);
        assert_int_equal(get.result.fetched, i == 1);
    }
    mc_value_release(copy.value);
    mc_cache_free(cache);
}

/* The same bytes in another space are another item; longer names than a key can be. */
static void test_names(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    char bytes[1000];
    memset(bytes, 'n', sizeof bytes);
    for (uint32_t space = 0; space < 100; space++)
        for (uint32_t size = 1; size <= sizeof bytes; size += 333) {
            const struct mc_name name = {.bytes = bytes, .size = size, .space = space};
            struct mc_request set = {.command = MC_SET, .flags = space * 1000 + size};
            mc_cache_execute_as(cache, &name, &set, NOW);
            assert_int_equal(set.result.status, MC_OK);
        }
    for (uint32_t space = 0; space < 100; space++)
        for (uint32_t size = 1; size <= sizeof bytes; size += 333) {
            const struct mc_name name = {.bytes = bytes, .size = size, .space = space};
            struct mc_request get = {.command = MC_GET};
            mc_cache_execute_as(cache, &name, &get, NOW);
            assert_int_equal(get.result.flags, space * 1000 + size);
            if (space % 2 == 0) mc_cache_forget(cache, &name);
        }
    assert_int_equal(figures_of(cache).items, 200);
    struct mc_request get = {.command = MC_GET, .key = "n", .key_size = 1};
    mc_cache_execute(cache, &get, NOW);
    assert_int_equal(get.result.status, MC_NOT_FOUND);
    mc_cache_free(cache);
}

static bool has_copy(struct mc_cache *cache, const struct mc_name *name)
{
    struct mc_copy copy;
    bool there = mc_cache_peek(cache, name, NOW, &copy);
    mc_value_release(copy.value);
    return there;
}

/* Each shape of a row is an item of its own, and none of them outlives a write by another one. */
static void test_shapes(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    struct mc_copy copies[2] = {copy_of("one"), copy_of("other")}, copy;
    struct mc_name shapes[2];
    for (uint32_t i = 0; i < 2; i++) {
        shapes[i] = (struct mc_name){.bytes = "row", .size = 3, .space = 7, .shape = i + 1};
        uint64_t token = mc_cache_token(cache, &shapes[i]);
        assert_true(mc_cache_fill(cache, &shapes[i], token, &copies[i], NOW, NULL));
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(mc_cache_peek(cache, &shapes[i], NOW, &copy));
        assert_ptr_equal(copy.value, copies[i].value);
        mc_value_release(copy.value);
    }
    uint64_t read = mc_cache_token(cache, &shapes[1]);
    uint64_t write = mc_cache_write_begin(cache, &shapes[0], NOW);
    assert_false(has_copy(cache, &shapes[0]));
    assert_false(has_copy(cache, &shapes[1]));
    assert_false(mc_cache_fill(cache, &shapes[1], read, &copies[1], NOW, NULL));
    read = mc_cache_token(cache, &shapes[1]);
    assert_true(mc_cache_fill(cache, &shapes[1], read, &copies[1], NOW, NULL));
    assert_true(mc_cache_write_end(cache, &shapes[0], write, &copies[0], NOW, NULL));
    assert_true(has_copy(cache, &shapes[0]));
    assert_false(has_copy(cache, &shapes[1])); /* It may be what was before the write. */
    mc_value_release(copies[0].value);
    mc_value_release(copies[1].value);
    mc_cache_free(cache);
}

/* A space is forgotten as a whole, with what is being read of it; clients' keys never are. */
static void test_forget_space(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    struct mc_copy copy = copy_of("old");
    const struct mc_name row = {.bytes = "row", .size = 3, .space = 7, .shape = 1};
    const struct mc_name other = {.bytes = "row", .size = 3, .space = 8, .shape = 1};
    uint64_t read = mc_cache_token(cache, &row);
    assert_true(mc_cache_fill(cache, &row, read, &copy, NOW, NULL));
    assert_true(mc_cache_fill(cache, &other, mc_cache_token(cache, &other), &copy, NOW, NULL));
    write_copy(cache, &copy);
    for (uint32_t round = 0; round < 1000; round++)
        mc_cache_forget_space(cache, 7);
    mc_cache_forget_space(cache, 1u << 31); /* May share what the space of clients' keys had. */
    assert_false(has_copy(cache, &row));
    assert_false(mc_cache_fill(cache, &row, read, &copy, NOW, NULL));
    uint64_t write = mc_cache_write_begin(cache, &row, NOW);
    mc_cache_forget_space(cache, 7);
    assert_false(mc_cache_write_end(cache, &row, write, &copy, NOW, NULL));
    assert_false(has_copy(cache, &row));
    assert_true(mc_cache_fill(cache, &row, mc_cache_token(cache, &row), &copy, NOW, NULL));
    assert_true(has_copy(cache, &row));
    assert_true(has_copy(cache, &other));
    assert_copy(cache, "old");
    mc_value_release(copy.value);
    mc_cache_free(cache);
}

/* Commands of clients that change the key make tokens void, too; those that read do not. */
static void test_tokens_of_commands(void **state)
{
    (void)state;
    static const struct {
        enum mc_command command;
        bool fills;
    } steps[] = {{MC_GET, true},     {MC_SET, false},       {MC_ADD, true},
                 {MC_APPEND, false}, {MC_INCREMENT, false}, {MC_DELETE, false}};
    struct mc_cache *cache = open_cache(false);
    struct mc_copy copy = copy_of("7");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        write_copy(cache, &copy);
        uint64_t token = mc_cache_token(cache, NAME("k"));
        struct mc_request request = {.command = steps[i].command, .key = "k", .key_size = 1};
        mc_cache_execute(cache, &request, NOW);
        assert_int_equal(mc_cache_fill(cache, NAME("k"), token, &copy, NOW, NULL), steps[i].fills);
    }
    mc_value_release(copy.value);
    mc_cache_free(cache);
}

/* A copy that finds no room is none, and is not in the way. */
static void test_copy_too_large(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    struct mc_copy small = copy_of("small"), large = {.value = mc_value_create(LIMIT)};
    struct mc_copy larger = {.value = mc_value_create(LIMIT + 1)};
    memset(large.value->bytes, 'x', LIMIT);
    memset(larger.value->bytes, 'x', LIMIT + 1);
    write_copy(cache, &small);
    write_copy(cache, &large);
    assert_copy(cache, NULL);
    write_copy(cache, &large);
    assert_copy(cache, NULL);
    write_copy(cache, &small);
    write_copy(cache, &larger);
    assert_copy(cache, NULL);
    assert_int_equal(figures_of(cache).bytes, 0);
    mc_value_release(small.value);
    mc_value_release(large.value);
    mc_value_release(larger.value);
    mc_cache_free(cache);
}

/* ---- Threads ---- */

struct worker {
    struct mc_cache *cache;
    uint64_t random;
    uint32_t counted; /* Successful increments of the common counter. */
    pthread_t thread;
};

static uint32_t draw(struct worker *worker, uint32_t below)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return (uint32_t)((worker->random >> 20) % below);
}

static void work_once(struct worker *worker, uint32_t now)
{
    struct mc_request request = {.command = (enum mc_command)draw(worker, MC_FLUSH_ALL)};
    uint32_t key = draw(worker, KEYS_ALL), size = draw(worker, 8000);
    request.key_size = (uint8_t)snprintf(request.key, sizeof request.key, "key:%u", key);
    request.want_value = true;
    request.delta = 1;
    request.create = draw(worker, 2) == 0;
    request.touch = draw(worker, 4) == 0;
    request.expiry = draw(worker, 4) == 0 ? now + draw(worker, 3) : 0;
    if (draw(worker, 2) == 0) size = draw(worker, 4);
    if (request.command >= MC_SET && request.command <= MC_PREPEND) {
        request.value = mc_value_create(size);
        if (request.value == NULL) abort();
        memset(request.value->bytes, '1', size);
    }
    mc_cache_execute(worker->cache, &request, now);
    const struct mc_value *value = request.result.value;
    if (value != NULL && value->size > 0 && value->bytes[value->size - 1] == 'x') abort();
    mc_request_clear(&request);
}

/* The copy of a row that only grows: never may an older one be seen after a write was answered. */
static uint64_t row;

static struct mc_copy copy_of_row(uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%020llu", (unsigned long long)number);
    return copy_of(text);
}

static void work_on_row(struct worker *worker, uint32_t now)
{
    char text[24];
    uint64_t least = 0;
    struct mc_request read = {.command = MC_GET, .key = "row", .key_size = 3, .want_value = true};
    struct mc_copy copy;
    if (draw(worker, 3) == 0) {
        uint64_t token = mc_cache_write_begin(worker->cache, NAME("row"), now);
        least = __atomic_add_fetch(&row, 1, __ATOMIC_SEQ_CST);
        copy = copy_of_row(least);
        bool known = draw(worker, 4) != 0;
        (void)mc_cache_write_end(worker->cache, NAME("row"), token, known ? &copy : NULL, now,
                                 NULL);
    } else {
        uint64_t token = mc_cache_token(worker->cache, NAME("row"));
        copy = copy_of_row(__atomic_load_n(&row, __ATOMIC_SEQ_CST));
        (void)mc_cache_fill(worker->cache, NAME("row"), token, &copy, now, NULL);
    }
    mc_value_release(copy.value);
    mc_cache_execute(worker->cache, &read, now);
    if (read.result.status == MC_OK) {
        memcpy(text, read.result.value->bytes, 20);
        text[20] = '\0';
        if (strtoull(text, NULL, 10) < least) abort();
    }
    mc_request_clear(&read);
}

static void *work(void *context)
{
    struct worker *worker = context;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t now = NOW + i / 1000;
        work_once(worker, now);
        if (i % 4 == 0) work_on_row(worker, now);
        if (i % 5000 == 4999) mc_cache_forget_if(worker->cache, begins, "key:1");
        if (i % 7000 == 6999) {
            struct mc_cache_figures figures;
            struct mc_request flush = {.command = MC_FLUSH_ALL, .expiry = now + draw(worker, 3)};
            mc_cache_execute(worker->cache, &flush, now);
            mc_cache_figures(worker->cache, now, &figures);
        }
    }
    return NULL;
}

static void *count_up(void *context)
{
    struct worker *worker = context;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct mc_request request = {.command = MC_INCREMENT, .key = "n", .key_size = 1};
        request.create = true;
        request.initial = request.delta = 1;
        mc_cache_execute(worker->cache, &request, NOW);
        if (request.result.status == MC_OK) worker->counted++;
    }
    return NULL;
}

static void run_threads(struct mc_cache *cache, void *(*body)(void *), uint32_t *counted)
{
    struct worker workers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.cache = cache, .random = 88172645463325252u + i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, body, &workers[i]), 0);
    }
    *counted = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        *counted += workers[i].counted;
    }
}

static void test_threads(void **state)
{
    (void)state;
    struct mc_cache *cache = open_cache(false);
    uint32_t counted;
    row = 0;
    run_threads(cache, work, &counted);
    struct mc_cache_figures figures = figures_of(cache);
    assert_true(figures.bytes <= LIMIT);
    mc_cache_forget_if(cache, begins, "");
    figures = figures_of(cache);
    assert_int_equal(figures.bytes, 0);
    assert_int_equal(figures.items, 0);
    run_threads(cache, count_up, &counted);
    assert_int_equal(counted, THREADS * ROUNDS);
    struct mc_request request = {.command = MC_INCREMENT, .key = "n", .key_size = 1};
    mc_cache_execute(cache, &request, NOW);
    assert_int_equal(request.result.number, THREADS * ROUNDS);
    mc_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit_is_kept),
        cmocka_unit_test(test_least_recently_used_goes),
        cmocka_unit_test(test_order_within_a_second),
        cmocka_unit_test(test_newest_stays),
        cmocka_unit_test(test_large_values),
        cmocka_unit_test(test_expired_are_reclaimed),
        cmocka_unit_test(test_no_eviction),
        cmocka_unit_test(test_no_memory_to_open),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_memory_for_table),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_execute_if),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_forget_space),
        cmocka_unit_test(test_tokens_of_commands),
        cmocka_unit_test(test_copy_too_large),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
