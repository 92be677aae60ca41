/* test_mc_cache_model.c -- random operations on the cache do what they do on an array of keys. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "servers/memcached/mc_cache.h"

#define OPERATIONS 200000u
#define KEYS       300u
#define VALUE_MAX  60u

/* What the cache should know of a key. */
struct entry {
    bool there, fetched, stale, token_sent;
    uint32_t flags, expiry, accessed, size;
    uint64_t cas;
    char text[VALUE_MAX];
};

static struct entry model[KEYS];
static uint64_t random_state;
static uint32_t now;
static uint32_t flush_at;

/* Those that begin so; context: the prefix. */
static bool begins(void *context, const struct mc_name *name)
{
    const char *prefix = context;
    return name->size >= strlen(prefix) && memcmp(name->bytes, prefix, strlen(prefix)) == 0;
}

static uint32_t draw(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 20) % below);
}

static uint32_t draw_expiry(void)
{
    uint32_t kind = draw(10);
    if (kind == 0) return MC_EXPIRED;
    return kind < 5 ? 0 : now + 1 + draw(40);
}

static void draw_value(struct mc_request *request)
{
    uint32_t kind = draw(10);
    char text[VALUE_MAX + 10];
    uint32_t size = kind == 0 ? draw(VALUE_MAX + 6) : draw(12);
    for (uint32_t i = 0; i < size; i++)
        text[i] = (char)(kind < 3 ? ' ' + (int)draw(90) : '0' + (int)draw(10));
    if (kind == 9) size = 0;
    if (size == 0 && draw(2) == 0) return;
    request->value = mc_value_create(size);
    assert_non_null(request->value);
    memcpy(request->value->bytes, text, size);
}

/* N and T in one order or the other. */
static void draw_flags(struct mc_request *request)
{
    bool first = draw(2) == 0;
    struct mc_form *form = &request->form;
    if (request->meta.vivify_given && first) form->flag[form->flag_count++] = 'N';
    if (request->touch) form->flag[form->flag_count++] = 'T';
    if (request->meta.vivify_given && !first) form->flag[form->flag_count++] = 'N';
}

static struct mc_request draw_request(uint32_t key)
{
    struct mc_request request = {.command = (enum mc_command)draw(MC_FLUSH_ALL)};
    const struct entry *entry = &model[key];
    request.key_size = (uint8_t)snprintf(request.key, sizeof request.key, "key:%u", key);
    if (request.command >= MC_SET && request.command <= MC_PREPEND) draw_value(&request);
    request.form.protocol = draw(2) == 0 ? MC_META : MC_TEXT;
    request.flags = draw(100);
    request.expiry = draw_expiry();
    request.want_value = draw(4) != 0;
    request.touch = draw(4) == 0;
    request.cas_given = draw(4) == 0;
    request.cas = draw(2) == 0 ? entry->cas : entry->cas + 2 - draw(4);
    request.create = draw(3) == 0;
    request.delta = draw(3) == 0 ? UINT64_MAX - draw(3) : draw(1000);
    request.initial = draw(10000);
    request.meta.no_bump = draw(4) == 0;
    request.meta.vivify_given = draw(4) == 0;
    request.meta.vivify = draw_expiry();
    request.meta.recache_given = draw(3) == 0;
    request.meta.recache = draw(8) == 0 ? 0 : now + draw(30);
    request.meta.invalidate = draw(4) == 0;
    request.meta.drop_value = draw(6) == 0;
    request.meta.new_cas_given = draw(20) == 0;
    request.meta.new_cas = 1 + draw(1000000);
    draw_flags(&request);
    return request;
}

#define NAME(text) (&(const struct mc_name){.bytes = (text), .size = sizeof(text) - 1})

/* ---- The model: what a command does, as simply as it can be said. ---- */

static void model_written(struct entry *entry)
{
    entry->there = true;
    entry->fetched = entry->stale = entry->token_sent = false;
    entry->accessed = now;
}

static enum mc_status model_set(struct entry *entry, const struct mc_request *request,
                                uint32_t expiry)
{
    uint32_t size = request->value != NULL ? request->value->size : 0;
    if (size > VALUE_MAX) return MC_TOO_LARGE;
    model_written(entry);
    entry->size = size;
    if (size > 0) memcpy(entry->text, request->value->bytes, size);
    entry->flags = request->flags;
    entry->expiry = expiry;
    return MC_OK;
}

static enum mc_status model_compared(struct entry *entry, const struct mc_request *request)
{
    if (!entry->there) return MC_NOT_FOUND;
    if (request->cas == entry->cas) return model_set(entry, request, request->expiry);
    if (!request->meta.invalidate || request->cas == 0 || request->cas > entry->cas)
        return MC_EXISTS;
    bool token_sent = entry->token_sent;
    enum mc_status status = model_set(entry, request, entry->expiry);
    if (status != MC_OK) return status;
    entry->token_sent = token_sent;
    entry->stale = true;
    return MC_OK;
}

static enum mc_status model_extend(struct entry *entry, const struct mc_request *request)
{
    uint32_t size = request->value != NULL ? request->value->size : 0;
    if (!entry->there)
        return request->meta.vivify_given ? model_set(entry, request, request->meta.vivify)
                                          : MC_NOT_STORED;
    if (request->cas_given && request->cas != entry->cas) return MC_EXISTS;
    if (entry->size + size > VALUE_MAX) return MC_TOO_LARGE;
    char text[VALUE_MAX];
    bool behind = request->command == MC_APPEND;
    memcpy(text + (behind ? 0 : size), entry->text, entry->size);
    if (size > 0) memcpy(text + (behind ? entry->size : 0), request->value->bytes, size);
    memcpy(entry->text, text, entry->size + size);
    entry->size += size;
    model_written(entry);
    return MC_OK;
}

static enum mc_status model_store(struct entry *entry, const struct mc_request *request)
{
    enum mc_status status;
    bool compared = request->cas_given && request->command != MC_ADD;
    if (request->command >= MC_APPEND) return model_extend(entry, request);
    if (compared) return model_compared(entry, request);
    if (request->command == MC_ADD && entry->there) {
        entry->accessed = now;
        return MC_NOT_STORED;
    }
    if (request->command == MC_REPLACE && !entry->there) return MC_NOT_STORED;
    status = model_set(entry, request, request->expiry);
    if (request->command == MC_SET && status != MC_OK) entry->there = false;
    return status;
}

static enum mc_status model_delete(struct entry *entry, const struct mc_request *request)
{
    if (!entry->there) return MC_NOT_FOUND;
    if (request->cas_given && request->cas != entry->cas) return MC_EXISTS;
    if (request->meta.drop_value) {
        entry->size = entry->flags = 0;
        entry->fetched = entry->stale = entry->token_sent = false;
    }
    if (request->meta.invalidate) {
        entry->stale = true;
        entry->token_sent = false;
    }
    entry->there = request->meta.invalidate || request->meta.drop_value;
    if (request->touch) entry->expiry = request->expiry;
    return MC_OK;
}

/* The library's word on what a number is. */
static bool model_number(const struct entry *entry, uint64_t *number)
{
    char text[VALUE_MAX + 1];
    char *end;
    memcpy(text, entry->text, entry->size);
    text[entry->size] = '\0';
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (end == text || errno == ERANGE) return false;
    if (text[strspn(text, " ")] == '-' && *number >> 63 != 0) return false;
    return *end == '\0' || *end == ' ';
}

/* The expiry of an item that is made: that of the later one of N and T. */
static uint32_t model_vivify_expiry(const struct mc_request *request)
{
    if (!request->meta.vivify_given) return request->expiry;
    bool last = request->form.flag[request->form.flag_count - 1] == 'N';
    return last ? request->meta.vivify : request->expiry;
}

static enum mc_status model_count(struct entry *entry, const struct mc_request *request,
                                  uint64_t *number)
{
    if (!entry->there) {
        if (!request->create) return MC_NOT_FOUND;
        *number = request->initial;
        entry->size = 0;
        entry->flags = 0;
        entry->expiry = model_vivify_expiry(request);
        model_written(entry);
    } else {
        if (entry->size == 0) return MC_NON_NUMERIC;
        if (request->cas_given && request->cas != entry->cas) return MC_EXISTS;
        if (!model_number(entry, number)) return MC_NON_NUMERIC;
        bool more = request->command == MC_INCREMENT;
        uint64_t less = *number > request->delta ? *number - request->delta : 0;
        *number = more ? *number + request->delta : less;
        if (request->touch) entry->expiry = request->expiry;
        entry->accessed = now;
    }
    char text[40];
    uint32_t size = (uint32_t)snprintf(text, sizeof text, "%" PRIu64, *number);
    if (size > entry->size) model_written(entry);
    if (size < entry->size) memset(entry->text + size, ' ', entry->size - size);
    if (size > entry->size) entry->size = size;
    memcpy(entry->text, text, size);
    return MC_OK;
}

static enum mc_status model_get(struct entry *entry, const struct mc_request *request,
                                struct mc_result *expected)
{
    bool miss = !entry->there;
    if (miss && !request->meta.vivify_given) return MC_NOT_FOUND;
    if (miss) {
        struct mc_request empty = {.flags = 0};
        (void)model_set(entry, &empty, model_vivify_expiry(request));
    }
    bool soon =
        entry->expiry != 0 && request->meta.recache_given && entry->expiry < request->meta.recache;
    bool meta = request->form.protocol == MC_META;
    expected->fetched = entry->fetched;
    expected->accessed = now - entry->accessed;
    expected->won = miss || (meta && !entry->token_sent && (entry->stale || soon));
    expected->stale = meta && entry->stale;
    expected->token_sent = meta && entry->token_sent;
    if (expected->won) entry->token_sent = true;
    if (request->touch && !miss) entry->expiry = request->expiry;
    if (request->meta.no_bump) return MC_OK;
    entry->fetched = true;
    entry->accessed = now;
    return MC_OK;
}

static struct mc_result model_execute(struct entry *entry, const struct mc_request *request)
{
    struct mc_result expected = {0};
    if (entry->there && entry->expiry != 0 && entry->expiry <= now) entry->there = false;
    switch ((int)request->command) {
    case MC_GET:
        expected.status = model_get(entry, request, &expected);
        break;
    case MC_DELETE:
        expected.status = model_delete(entry, request);
        break;
    case MC_INCREMENT:
    case MC_DECREMENT:
        expected.status = model_count(entry, request, &expected.number);
        break;
    default:
        expected.status = model_store(entry, request);
        break;
    }
    return expected;
}

/* ---- Comparing ---- */

static void compare(const struct mc_request *request, const struct mc_result *expected,
                    struct entry *entry, bool was_there)
{
    const struct mc_result *result = &request->result;
    assert_int_equal(result->status, expected->status);
    if (result->status != MC_OK || !entry->there) return;
    bool made = request->command != MC_GET || !was_there;
    if (made && request->meta.new_cas_given)
        assert_int_equal(result->cas, request->meta.new_cas);
    else if (made)
        assert_int_not_equal(result->cas, entry->cas);
    else
        assert_int_equal(result->cas, entry->cas);
    entry->cas = result->cas;
    assert_int_equal(result->expiry, entry->expiry);
    assert_int_equal(result->flags, entry->flags);
    assert_int_equal(result->number, expected->number);
    assert_int_equal(result->fetched, expected->fetched);
    assert_int_equal(result->accessed, expected->accessed);
    assert_int_equal(result->won, expected->won);
    assert_int_equal(result->stale, expected->stale);
    assert_int_equal(result->token_sent, expected->token_sent);
    if (request->command != MC_GET || !request->want_value) {
        assert_null(result->value);
        return;
    }
    assert_int_equal(result->value->size, entry->size);
    assert_memory_equal(result->value->bytes, entry->text, entry->size);
}

static void step(struct mc_cache *cache)
{
    uint32_t key = draw(KEYS);
    struct mc_request request = draw_request(key);
    struct entry *entry = &model[key];
    bool was_there = entry->there && (entry->expiry == 0 || entry->expiry > now);
    struct mc_result expected = model_execute(entry, &request);
    mc_cache_execute(cache, &request, now);
    compare(&request, &expected, entry, was_there);
    mc_request_clear(&request);
}

/* What is not a client's command. */
static void step_aside(struct mc_cache *cache)
{
    char key[20];
    uint32_t index = draw(KEYS);
    struct entry *entry = &model[index];
    const struct mc_name name = {.bytes = key,
                                 .size = (uint32_t)snprintf(key, sizeof key, "key:%u", index)};
    uint32_t kind = draw(4);
    if (kind < 2) {
        struct mc_request put = {.flags = draw(100)};
        draw_value(&put);
        struct mc_copy copy = {put.value, put.flags, draw_expiry(), draw(2) * draw(1000000), false};
        uint64_t cas = 0;
        if (copy.value == NULL) return;
        uint64_t token = mc_cache_token(cache, &name);
        uint64_t write = mc_cache_write_begin(cache, &name, now);
        entry->there = false;
        if (kind == 0)
            assert_false(mc_cache_fill(cache, &name, token, &copy, now, &cas));
        else
            assert_true(mc_cache_write_end(cache, &name, write, &copy, now, &cas));
        if (kind == 1 && model_set(entry, &put, copy.expiry) == MC_OK) entry->cas = cas;
        if (kind == 1) assert_true(copy.cas == 0 || cas == copy.cas);
        mc_request_clear(&put);
    } else if (kind == 2) {
        mc_cache_forget(cache, &name);
        entry->there = false;
    } else if (draw(200) == 0) {
        mc_cache_forget_if(cache, begins, "key:1");
        for (uint32_t i = 0; i < KEYS; i++) {
            snprintf(key, sizeof key, "key:%u", i);
            if (key[4] == '1') model[i].there = false;
        }
    }
}

static void step_time(struct mc_cache *cache)
{
    if (draw(20) == 0) now++;
    if (draw(3000) == 0) {
        struct mc_request flush = {.command = MC_FLUSH_ALL};
        flush_at = flush.expiry = now + draw(30);
        mc_cache_execute(cache, &flush, now);
    }
    if (flush_at == 0 || flush_at > now) return;
    flush_at = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        model[i].there = false;
}

static void test_model(void **state)
{
    (void)state;
    const struct mc_cache_options options = {.bytes_max = 64u << 20, .value_max = VALUE_MAX};
    const char *seed = getenv("MC_SEED");
    random_state = seed != NULL ? strtoull(seed, NULL, 10) : 88172645463325252u;
    now = 1000000;
    struct mc_cache *cache = mc_cache_create(&options);
    assert_non_null(cache);
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        step_time(cache);
        if (draw(10) == 0)
            step_aside(cache);
        else
            step(cache);
    }
    struct mc_cache_figures figures;
    mc_cache_forget_if(cache, begins, "");
    mc_cache_figures(cache, now, &figures);
    assert_int_equal(figures.items, 0);
    assert_int_equal(figures.bytes, 0);
    mc_cache_free(cache);
}

/* ---- Copies of a row: reads and writes of it in any order ---- */

#define ACTORS      6u
#define INTERLEAVED 300000u

/* A row is a number that grows by one with each write. */
struct row {
    uint64_t number, answered; /* What it is, and the last one whose write was answered. */
    uint64_t disturbances;     /* Writes that have begun or ended, and copies that were dropped. */
    uint64_t reads, writes, kept;
};

struct actor {
    enum { IDLE = 0, READING, READ, WRITING, WRITTEN } state;
    uint64_t token, number, disturbances;
};

static struct mc_copy copy_of_number(uint64_t number)
{
    struct mc_copy copy = {.value = mc_value_create(sizeof number)};
    assert_non_null(copy.value);
    memcpy(copy.value->bytes, &number, sizeof number);
    return copy;
}

static void begin_at_row(struct mc_cache *cache, struct row *row, struct actor *actor)
{
    bool writes = draw(2) == 0;
    if (writes) row->disturbances++;
    actor->token =
        writes ? mc_cache_write_begin(cache, NAME("row"), now) : mc_cache_token(cache, NAME("row"));
    actor->disturbances = row->disturbances;
    actor->state = writes ? WRITING : READING;
}

/* Kept if nobody has disturbed it, and only then. */
static void end_at_row(struct mc_cache *cache, struct row *row, struct actor *actor)
{
    struct mc_copy copy = copy_of_number(actor->number);
    bool alone = actor->disturbances == row->disturbances;
    if (actor->state == READ) {
        assert_int_equal(mc_cache_fill(cache, NAME("row"), actor->token, &copy, now, NULL), alone);
        row->reads++;
    } else {
        bool known = draw(8) != 0; /* Else it was done, but the answer says nothing of the value. */
        assert_int_equal(
            mc_cache_write_end(cache, NAME("row"), actor->token, known ? &copy : NULL, now, NULL),
            alone && known);
        row->disturbances++;
        row->writes++;
        row->kept += alone && known;
        if (actor->number > row->answered) row->answered = actor->number;
    }
    mc_value_release(copy.value);
    actor->state = IDLE;
}

static void step_at_row(struct mc_cache *cache, struct row *row, struct actor *actor)
{
    switch (actor->state) {
    case IDLE:
        begin_at_row(cache, row, actor);
        break;
    case READING:
        actor->number = row->number;
        actor->state = READ;
        break;
    case WRITING:
        actor->number = ++row->number;
        actor->state = WRITTEN;
        break;
    case READ:
    case WRITTEN:
        end_at_row(cache, row, actor);
    }
}

static void check_copy(struct mc_cache *cache, const struct row *row)
{
    struct mc_request get = {.command = MC_GET, .key = "row", .key_size = 3, .want_value = true};
    uint64_t number;
    mc_cache_execute(cache, &get, now);
    if (get.result.status == MC_OK) {
        memcpy(&number, get.result.value->bytes, sizeof number);
        assert_true(number >= row->answered);
        assert_true(number <= row->number);
    }
    mc_request_clear(&get);
}

static void test_row(void **state)
{
    (void)state;
    const struct mc_cache_options options = {.bytes_max = 64u << 20, .value_max = VALUE_MAX};
    struct mc_cache *cache = mc_cache_create(&options);
    struct actor actors[ACTORS] = {{IDLE, 0, 0, 0}};
    struct row row = {0};
    assert_non_null(cache);
    for (uint32_t i = 0; i < INTERLEAVED; i++) {
        uint32_t busy = 1 + i / 1000 % ACTORS; /* From one at a time to all of them. */
        step_at_row(cache, &row, &actors[draw(busy)]);
        if (draw(500) == 0) {
            mc_cache_forget(cache, NAME("row"));
            row.disturbances++;
        }
        check_copy(cache, &row);
    }
    assert_true(row.reads > 1000 && row.writes > 1000);
    assert_true(row.kept > 1000 && row.kept < row.writes / 2);
    mc_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model), cmocka_unit_test(test_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
