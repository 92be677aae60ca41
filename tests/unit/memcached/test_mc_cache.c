/* test_mc_cache.c -- each command of the local cache and each status that it may have. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "servers/memcached/mc_cache.h"

#define NOW 1000000u

static struct mc_cache *cache;
static uint32_t now;

static int open_cache(void **state)
{
    (void)state;
    const struct mc_cache_options options = {.bytes_max = 8u << 20, .value_max = 1000};
    cache = mc_cache_create(&options);
    now = NOW;
    return cache == NULL ? -1 : 0;
}

static int close_cache(void **state)
{
    (void)state;
    mc_cache_free(cache);
    return 0;
}

/* ---- Requests ---- */

static struct mc_request ask(enum mc_command command, const char *key)
{
    struct mc_request request = {.command = command, .key_size = (uint8_t)strlen(key)};
    memcpy(request.key, key, strlen(key));
    request.want_value = command == MC_GET;
    return request;
}

static void give(struct mc_request *request, const char *text)
{
    request->value = mc_value_create((uint32_t)strlen(text));
    assert_non_null(request->value);
    memcpy(request->value->bytes, text, strlen(text));
}

/* What came of it; the value is let go of. */
static struct mc_result run(struct mc_request request)
{
    mc_cache_execute(cache, &request, now);
    struct mc_result result = request.result;
    mc_value_release(request.value);
    mc_value_release(result.value);
    result.value = NULL;
    return result;
}

static struct mc_result put(enum mc_command command, const char *key, const char *text)
{
    struct mc_request request = ask(command, key);
    give(&request, text);
    return run(request);
}

static struct mc_result put_cas(enum mc_command command, const char *key, const char *text,
                                uint64_t cas)
{
    struct mc_request request = ask(command, key);
    give(&request, text);
    request.cas_given = true;
    request.cas = cas;
    return run(request);
}

static struct mc_result get(const char *key)
{
    return run(ask(MC_GET, key));
}

static struct mc_request meta_get(const char *key)
{
    struct mc_request request = ask(MC_GET, key);
    request.form.protocol = MC_META;
    return request;
}

/* As the parser notes the order of a meta command's flags. */
static void note_flags(struct mc_request *request, const char *flags)
{
    request->form.flag_count = (uint8_t)strlen(flags);
    memcpy(request->form.flag, flags, strlen(flags));
}

static void assert_value(const char *key, const char *text)
{
    struct mc_request request = ask(MC_GET, key);
    request.meta.no_bump = true;
    mc_cache_execute(cache, &request, now);
    assert_int_equal(request.result.status, MC_OK);
    assert_non_null(request.result.value);
    assert_int_equal(request.result.value->size, strlen(text));
    assert_memory_equal(request.result.value->bytes, text, strlen(text));
    mc_request_clear(&request);
}

static void assert_gone(const char *key)
{
    assert_int_equal(get(key).status, MC_NOT_FOUND);
}

/* ---- Tests ---- */

static void test_store(void **state)
{
    (void)state;
    assert_gone("a");
    assert_int_equal(put(MC_REPLACE, "a", "1").status, MC_NOT_STORED);
    assert_int_equal(put(MC_APPEND, "a", "1").status, MC_NOT_STORED);
    assert_int_equal(put(MC_PREPEND, "a", "1").status, MC_NOT_STORED);
    assert_int_equal(put(MC_ADD, "a", "one").status, MC_OK);
    assert_int_equal(put(MC_ADD, "a", "two").status, MC_NOT_STORED);
    assert_value("a", "one");
    assert_int_equal(put(MC_REPLACE, "a", "two").status, MC_OK);
    assert_int_equal(put(MC_APPEND, "a", "->").status, MC_OK);
    assert_int_equal(put(MC_PREPEND, "a", "<-").status, MC_OK);
    assert_value("a", "<-two->");
    struct mc_request request = ask(MC_SET, "a"); /* No value: an empty one. */
    request.flags = 77;
    assert_int_equal(run(request).status, MC_OK);
    assert_value("a", "");
    assert_int_equal(get("a").flags, 77);
    assert_int_equal(put(MC_APPEND, "a", "x").status, MC_OK);
    assert_int_equal(get("a").flags, 77);
    assert_int_equal(run(ask(MC_DELETE, "a")).status, MC_OK);
    assert_int_equal(run(ask(MC_DELETE, "a")).status, MC_NOT_FOUND);
    assert_int_equal(run(ask(MC_STATS, "a")).status, MC_NOT_SUPPORTED);
}

/* The stored value is the request's own. */
static void test_value_is_held(void **state)
{
    (void)state;
    struct mc_request set = ask(MC_SET, "a");
    give(&set, "bytes");
    mc_cache_execute(cache, &set, now);
    struct mc_request read = ask(MC_GET, "a");
    mc_cache_execute(cache, &read, now);
    assert_ptr_equal(read.result.value, set.value);
    assert_int_equal(set.value->references, 3);
    mc_request_clear(&set);
    assert_int_equal(put(MC_SET, "a", "others").status, MC_OK);
    assert_int_equal(read.result.value->references, 1); /* A reader keeps what it has. */
    assert_memory_equal(read.result.value->bytes, "bytes", 5);
    mc_request_clear(&read);
    struct mc_request figures_only = ask(MC_GET, "a");
    figures_only.want_value = false;
    mc_cache_execute(cache, &figures_only, now);
    assert_int_equal(figures_only.result.status, MC_OK);
    assert_null(figures_only.result.value);
}

static void test_cas(void **state)
{
    (void)state;
    assert_int_equal(put_cas(MC_SET, "a", "1", 5).status, MC_NOT_FOUND);
    assert_int_equal(put_cas(MC_REPLACE, "a", "1", 5).status, MC_NOT_FOUND);
    uint64_t first = put(MC_SET, "a", "1").cas;
    assert_int_not_equal(first, 0);
    assert_int_equal(get("a").cas, first);
    assert_int_equal(put_cas(MC_SET, "a", "2", first + 1).status, MC_EXISTS);
    assert_int_equal(put_cas(MC_SET, "a", "2", 0).status, MC_EXISTS);
    uint64_t second = put_cas(MC_SET, "a", "2", first).cas;
    assert_true(second > first);
    assert_int_equal(put_cas(MC_REPLACE, "a", "3", first).status, MC_EXISTS);
    assert_int_equal(put_cas(MC_APPEND, "a", "3", first).status, MC_EXISTS);
    assert_int_equal(put_cas(MC_ADD, "a", "3", second).status, MC_NOT_STORED);
    uint64_t third = put_cas(MC_APPEND, "a", "3", second).cas;
    assert_int_equal(put_cas(MC_REPLACE, "a", "4", third).status, MC_OK);
    struct mc_request wrong = ask(MC_DELETE, "a");
    wrong.cas_given = true;
    wrong.cas = third;
    assert_int_equal(run(wrong).status, MC_EXISTS);
    wrong.cas = get("a").cas;
    assert_int_equal(run(wrong).status, MC_OK);
    assert_int_equal(put_cas(MC_ADD, "a", "3", 9).status, MC_OK);
}

static void set_until(const char *key, uint32_t expiry)
{
    struct mc_request request = ask(MC_SET, key);
    give(&request, "v");
    request.expiry = expiry;
    assert_int_equal(run(request).status, MC_OK);
}

static void test_expiry(void **state)
{
    (void)state;
    set_until("a", NOW + 10);
    now = NOW + 9;
    assert_int_equal(get("a").expiry, NOW + 10);
    now = NOW + 10;
    assert_gone("a");
    set_until("a", 0);
    set_until("a", MC_EXPIRED);
    assert_gone("a");
    assert_int_equal(put(MC_ADD, "a", "v").status, MC_OK);
    struct mc_request touch = ask(MC_GET, "a");
    touch.touch = touch.form.touch_only = true;
    touch.want_value = false;
    touch.expiry = now + 5;
    assert_int_equal(run(touch).expiry, now + 5);
    assert_int_equal(get("a").expiry, now + 5);
    assert_int_equal(put(MC_APPEND, "a", "w").expiry, now + 5);
    now += 5;
    assert_int_equal(run(touch).status, MC_NOT_FOUND);
    struct mc_cache_figures figures;
    mc_cache_figures(cache, now, &figures);
    assert_int_equal(figures.expired, 3);
    assert_int_equal(figures.items, 0);
    assert_int_equal(figures.bytes, 0);
}

static void test_too_large(void **state)
{
    (void)state;
    char large[1002];
    memset(large, 'x', sizeof large - 1);
    large[1001] = '\0';
    assert_int_equal(put(MC_SET, "a", large + 1).status, MC_OK);
    assert_int_equal(put(MC_APPEND, "a", "y").status, MC_TOO_LARGE);
    assert_value("a", large + 1);
    assert_int_equal(put(MC_ADD, "b", large).status, MC_TOO_LARGE);
    assert_int_equal(put(MC_REPLACE, "a", large).status, MC_TOO_LARGE);
    assert_value("a", large + 1);
    assert_int_equal(put(MC_SET, "a", large).status, MC_TOO_LARGE);
    assert_gone("a"); /* A set that fails does not leave the old value. */
}

/* ---- Numbers ---- */

static struct mc_result count(enum mc_command command, const char *key, uint64_t delta)
{
    struct mc_request request = ask(command, key);
    request.delta = delta;
    return run(request);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        enum mc_command command;
        uint64_t delta;
        const char *after;
    } steps[] = {
        {"1", MC_INCREMENT, 2, "3"},
        {"9", MC_INCREMENT, 1, "10"},
        {"100", MC_DECREMENT, 1, "99 "},
        {"5", MC_DECREMENT, 6, "0"},
        {"05", MC_INCREMENT, 1, "6 "},
        {"18446744073709551615", MC_INCREMENT, 1, "0                   "},
        {"18446744073709551615", MC_INCREMENT, 11, "10                  "},
        {"0000000000000000000000009", MC_INCREMENT, 1, "10                       "},
        {"12 abc", MC_INCREMENT, 1, "13    "},
        {"+5", MC_INCREMENT, 1, "6 "},
        {"-0", MC_INCREMENT, 1, "1 "},
        {" 55", MC_INCREMENT, 1, "56 "},
        {"-18446744073709551615", MC_INCREMENT, 1, "2                    "},
        {"7", MC_DECREMENT, UINT64_MAX, "0"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        put(MC_SET, "n", steps[i].before);
        uint64_t cas = get("n").cas;
        struct mc_result result = count(steps[i].command, "n", steps[i].delta);
        assert_int_equal(result.status, MC_OK);
        assert_true(result.cas > cas);
        assert_value("n", steps[i].after);
        assert_int_equal(result.number, strtoull(steps[i].after, NULL, 10));
    }
}

static void test_not_numbers(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",  "   ", " -", "12a", "-5", "a", "18446744073709551616", "99999999999999999999999",
        "+", "--1"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put(MC_SET, "n", texts[i]);
        assert_int_equal(count(MC_INCREMENT, "n", 1).status, MC_NON_NUMERIC);
        assert_int_equal(count(MC_DECREMENT, "n", 1).status, MC_NON_NUMERIC);
        assert_value("n", texts[i]);
    }
}

static void test_number_options(void **state)
{
    (void)state;
    assert_int_equal(count(MC_INCREMENT, "n", 1).status, MC_NOT_FOUND);
    struct mc_request request = ask(MC_DECREMENT, "n");
    request.create = true;
    request.initial = 12345;
    request.delta = 5;
    request.expiry = NOW + 100;
    struct mc_result result = run(request);
    assert_int_equal(result.status, MC_OK);
    assert_true(result.created);
    assert_int_equal(result.number, 12345);
    assert_int_equal(result.expiry, NOW + 100);
    request.expiry = NOW + 200; /* Only with `touch` is it set on an old one. */
    result = run(request);
    assert_false(result.created);
    assert_int_equal(result.number, 12340);
    assert_int_equal(result.expiry, NOW + 100);
    request.touch = true;
    assert_int_equal(run(request).expiry, NOW + 200);
    request.cas_given = true;
    request.cas = 1;
    assert_int_equal(run(request).status, MC_EXISTS);
    request.cas = get("n").cas;
    assert_int_equal(run(request).status, MC_OK);
    request = ask(MC_INCREMENT, "m");
    request.create = request.meta.vivify_given = true;
    request.meta.vivify = NOW + 30;
    note_flags(&request, "N");
    assert_int_equal(run(request).expiry, NOW + 30);
    request.key[0] = 'o';
    request.touch = true;
    request.expiry = NOW + 40;
    note_flags(&request, "NT");
    assert_int_equal(run(request).expiry, NOW + 40);
    note_flags(&request, "tT"); /* The item is there: t tells its expiry before T. */
    request.expiry = NOW + 50;
    assert_int_equal(run(request).expiry, NOW + 40);
    assert_int_equal(get("o").expiry, NOW + 50);
    request.key[0] = 'p'; /* The last one counts. */
    note_flags(&request, "TN");
    assert_int_equal(run(request).expiry, NOW + 30);
    request.key[0] = 'q';
    note_flags(&request, "NtT");
    assert_int_equal(run(request).expiry, NOW + 30);
    assert_int_equal(get("q").expiry, NOW + 50);
}

/* Who has read a number keeps what it has read. */
static void test_number_in_use(void **state)
{
    (void)state;
    put(MC_SET, "n", "10");
    struct mc_request read = ask(MC_GET, "n");
    mc_cache_execute(cache, &read, now);
    assert_int_equal(count(MC_INCREMENT, "n", 1).number, 11);
    assert_memory_equal(read.result.value->bytes, "10", 2);
    mc_request_clear(&read);
    assert_value("n", "11");
}

/* ---- Meta ---- */

static void test_vivify(void **state)
{
    (void)state;
    struct mc_request request = meta_get("a");
    request.meta.vivify_given = true;
    request.meta.vivify = NOW + 30;
    note_flags(&request, "N");
    struct mc_result result = run(request);
    assert_int_equal(result.status, MC_OK);
    assert_true(result.won && !result.stale && !result.token_sent && !result.fetched);
    assert_int_equal(result.expiry, NOW + 30);
    assert_value("a", "");
    result = run(request);
    assert_true(!result.won && !result.stale && result.token_sent && result.fetched);
    assert_int_equal(put(MC_ADD, "a", "1").status, MC_NOT_STORED);
    assert_int_equal(put_cas(MC_SET, "a", "1", result.cas).status, MC_OK);
    result = run(request);
    assert_true(!result.won && !result.token_sent && !result.fetched);
    assert_value("a", "1");
    request = ask(MC_APPEND, "b");
    give(&request, "x");
    request.flags = 5;
    request.meta.vivify_given = true;
    request.meta.vivify = NOW + 40;
    result = run(request);
    assert_int_equal(result.status, MC_OK);
    assert_true(result.created);
    result = get("b");
    assert_int_equal(result.expiry, NOW + 40);
    assert_int_equal(result.flags, 5);
    request = meta_get("c");
    request.meta.vivify_given = true;
    request.meta.vivify = NOW + 30;
    note_flags(&request, "tN");
    assert_int_equal(run(request).expiry, 0);
    assert_int_equal(get("c").expiry, NOW + 30);
}

/* me looks at an item, and does not take what it tells for another one's turn. */
static void test_debug_does_not_win(void **state)
{
    (void)state;
    put(MC_SET, "a", "1");
    struct mc_request request = ask(MC_DELETE, "a");
    request.meta.invalidate = true;
    run(request);
    request = meta_get("a");
    request.form.opcode = 'e';
    request.meta.no_bump = true;
    assert_false(run(request).won);
    assert_true(run(meta_get("a")).won);
}

static void test_recache(void **state)
{
    (void)state;
    set_until("a", NOW + 20);
    struct mc_request request = meta_get("a");
    request.meta.recache_given = true;
    request.meta.recache = NOW + 20;
    assert_false(run(request).won); /* 20 seconds are left, not less. */
    request.meta.recache = 0;
    assert_false(run(request).won);
    request.meta.recache = NOW + 21;
    assert_true(run(request).won);
    struct mc_result result = run(request);
    assert_true(!result.won && result.token_sent);
    request.form.protocol = MC_TEXT; /* A get of another protocol cannot be told anything. */
    assert_false(run(request).token_sent);
    set_until("a", 0);
    request.form.protocol = MC_META;
    assert_false(run(request).won);
}

/* Flags are done in their order. */
static void test_touch_order(void **state)
{
    (void)state;
    static const struct {
        const char *flags;
        uint32_t told;
        bool won;
    } steps[] = {{"tTR", 20, false}, {"TRt", 100, false}, {"tRT", 20, true}, {"tT", 20, true},
                 {"Tt", 100, true},  {"RTt", 100, true},  {"t", 100, true},  {"", 100, true}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        set_until("a", NOW + 20);
        struct mc_request request = meta_get("a");
        request.meta.recache_given = request.touch = true;
        request.meta.recache = NOW + 30;
        request.expiry = NOW + 100;
        note_flags(&request, steps[i].flags);
        struct mc_result result = run(request);
        assert_int_equal(result.expiry, NOW + steps[i].told);
        assert_int_equal(result.won, steps[i].won);
        assert_int_equal(get("a").expiry, NOW + 100);
    }
}

static struct mc_result invalidate(const char *key, uint32_t expiry)
{
    struct mc_request request = ask(MC_DELETE, key);
    request.meta.invalidate = true;
    request.touch = expiry != 0;
    request.expiry = expiry;
    return run(request);
}

static void test_invalidate(void **state)
{
    (void)state;
    assert_int_equal(invalidate("a", 0).status, MC_NOT_FOUND);
    uint64_t cas = put(MC_SET, "a", "1").cas;
    struct mc_result result = invalidate("a", NOW + 30);
    assert_true(result.cas > cas);
    assert_int_equal(get("a").expiry, NOW + 30);
    result = run(meta_get("a"));
    assert_true(result.won && result.stale && !result.token_sent);
    result = run(meta_get("a"));
    assert_true(!result.won && result.stale && result.token_sent);
    invalidate("a", 0);
    assert_true(run(meta_get("a")).won);
    assert_int_equal(get("a").expiry, NOW + 30);
    put(MC_APPEND, "a", "2");
    result = run(meta_get("a"));
    assert_true(!result.won && !result.stale && !result.token_sent);
    invalidate("a", 0);
    assert_int_equal(count(MC_INCREMENT, "a", 1).number, 13);
    assert_true(run(meta_get("a")).stale);
    assert_int_equal(count(MC_INCREMENT, "a", 1000).number, 1013);
    assert_false(run(meta_get("a")).stale);
}

/* ms with I: an older CAS number stores, as stale. */
static void test_set_stale(void **state)
{
    (void)state;
    set_until("a", NOW + 100); /* Twice: its number of CAS is not 1, and there is an older one. */
    set_until("a", NOW + 100);
    struct mc_request request = ask(MC_SET, "a");
    give(&request, "new");
    request.flags = 9;
    request.expiry = NOW + 20;
    request.cas_given = request.meta.invalidate = true;
    request.cas = UINT64_MAX;
    mc_value_hold(request.value);
    assert_int_equal(run(request).status, MC_EXISTS);
    request.cas = 0; /* No item has it: it is not an older one. */
    mc_value_hold(request.value);
    assert_int_equal(run(request).status, MC_EXISTS);
    request.cas = get("a").cas - 1;
    mc_value_hold(request.value);
    assert_int_equal(run(request).status, MC_OK);
    struct mc_result result = run(meta_get("a"));
    assert_true(result.won && result.stale);
    assert_int_equal(result.expiry, NOW + 100);
    assert_int_equal(result.flags, 9);
    request.command = MC_REPLACE;
    assert_int_equal(run(request).status, MC_OK);
    result = run(meta_get("a"));
    assert_true(!result.won && result.stale && result.token_sent);
    assert_value("a", "new");
}

static void test_drop_value(void **state)
{
    (void)state;
    struct mc_request request = ask(MC_SET, "a");
    give(&request, "value");
    request.flags = 9;
    request.expiry = NOW + 50;
    uint64_t cas = run(request).cas;
    request = ask(MC_DELETE, "a");
    request.meta.drop_value = true;
    assert_true(run(request).cas > cas);
    assert_value("a", "");
    struct mc_result result = run(meta_get("a"));
    assert_int_equal(result.flags, 0);
    assert_int_equal(result.expiry, NOW + 50);
    assert_false(result.stale);
    request.meta.invalidate = true;
    assert_int_equal(run(request).status, MC_OK);
    assert_true(run(meta_get("a")).won);
}

static void test_new_cas(void **state)
{
    (void)state;
    static const enum mc_command commands[] = {MC_ADD,    MC_SET,       MC_REPLACE,   MC_APPEND,
                                               MC_DELETE, MC_INCREMENT, MC_DECREMENT, MC_GET};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct mc_request request = ask(commands[i], commands[i] == MC_GET ? "b" : "a");
        if (commands[i] <= MC_PREPEND && commands[i] != MC_GET) give(&request, "1");
        request.meta.new_cas_given = request.meta.vivify_given = true;
        request.meta.invalidate = commands[i] == MC_DELETE;
        request.meta.new_cas = 5000 + i;
        assert_int_equal(run(request).cas, 5000 + i);
        assert_int_equal(get(commands[i] == MC_GET ? "b" : "a").cas, 5000 + i);
    }
}

static void test_figures_of_an_item(void **state)
{
    (void)state;
    put(MC_SET, "a", "1");
    now = NOW + 5;
    struct mc_request request = meta_get("a");
    request.meta.no_bump = true;
    for (int i = 0; i < 2; i++) {
        struct mc_result result = run(request);
        assert_false(result.fetched);
        assert_int_equal(result.accessed, 5);
    }
    assert_int_equal(get("a").accessed, 5);
    now = NOW + 7;
    struct mc_result result = get("a");
    assert_true(result.fetched);
    assert_int_equal(result.accessed, 2);
    now = NOW + 6; /* A clock that was set back. */
    assert_int_equal(get("a").accessed, 0);
    put(MC_SET, "a", "1");
    assert_false(get("a").fetched);
}

/* ---- Flush and figures ---- */

static void flush(uint32_t at)
{
    struct mc_request request = ask(MC_FLUSH_ALL, "");
    request.expiry = at;
    assert_int_equal(run(request).status, MC_OK);
}

static void test_flush(void **state)
{
    (void)state;
    put(MC_SET, "a", "1");
    flush(0);
    assert_gone("a");
    put(MC_SET, "a", "1");
    flush(MC_EXPIRED);
    assert_gone("a");
    put(MC_SET, "a", "1");
    put(MC_SET, "b", "1");
    flush(NOW + 10);
    now = NOW + 9;
    assert_value("a", "1");
    now = NOW + 10;
    assert_gone("a");
    put(MC_SET, "a", "2");
    now = NOW + 20;
    assert_value("a", "2");
    assert_gone("b");
    flush(NOW + 30);
    flush(0); /* Takes the place of the one that is to come. */
    put(MC_SET, "a", "3");
    now = NOW + 31;
    assert_value("a", "3");
    struct mc_cache_figures figures;
    mc_cache_figures(cache, now, &figures);
    assert_int_equal(figures.flushes, 5);
    assert_int_equal(figures.items, 1);
    assert_int_equal(figures.oldest_age, 11);
}

static void test_figures(void **state)
{
    (void)state;
    struct mc_cache_figures figures;
    mc_cache_figures(cache, now, &figures);
    assert_int_equal(figures.oldest_age, 0);
    put(MC_SET, "a", "1");
    put(MC_SET, "b", "1");
    put_cas(MC_SET, "a", "1", 1000);
    put_cas(MC_SET, "a", "1", get("a").cas);
    put_cas(MC_SET, "c", "1", 1);
    get("c");
    struct mc_request touch = ask(MC_GET, "a");
    touch.touch = true; /* gat: both a get and a touch. */
    run(touch);
    touch.form.touch_only = true;
    run(touch);
    touch.key[0] = 'c';
    run(touch);
    count(MC_INCREMENT, "a", 1);
    count(MC_INCREMENT, "c", 1);
    count(MC_DECREMENT, "a", 1);
    count(MC_DECREMENT, "c", 1);
    run(ask(MC_DELETE, "a"));
    run(ask(MC_DELETE, "a"));
    now += 3;
    mc_cache_figures(cache, now, &figures);
    assert_int_equal(figures.items, 1);
    assert_int_equal(figures.items_total, 3);
    assert_int_equal(figures.gets, 3);
    assert_int_equal(figures.hits, 2);
    assert_int_equal(figures.misses, 1);
    assert_int_equal(figures.sets, 5);
    assert_int_equal(figures.touches, 3);
    assert_int_equal(figures.touch_hits, 2);
    assert_int_equal(figures.touch_misses, 1);
    assert_int_equal(figures.incr_hits + figures.decr_hits, 2);
    assert_int_equal(figures.incr_misses + figures.decr_misses, 2);
    assert_int_equal(figures.delete_hits, 1);
    assert_int_equal(figures.delete_misses, 1);
    assert_int_equal(figures.cas_hits, 1);
    assert_int_equal(figures.cas_misses, 1);
    assert_int_equal(figures.cas_badval, 1);
    assert_int_equal(figures.oldest_age, 3);
    assert_true(figures.bytes > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_cache, close_cache)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_store),
        TEST(test_value_is_held),
        TEST(test_cas),
        TEST(test_expiry),
        TEST(test_too_large),
        TEST(test_numbers),
        TEST(test_not_numbers),
        TEST(test_number_options),
        TEST(test_number_in_use),
        TEST(test_vivify),
        TEST(test_debug_does_not_win),
        TEST(test_recache),
        TEST(test_touch_order),
        TEST(test_invalidate),
        TEST(test_set_stale),
        TEST(test_drop_value),
        TEST(test_new_cas),
        TEST(test_figures_of_an_item),
        TEST(test_flush),
        TEST(test_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
