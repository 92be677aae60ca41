/* test_mc_binary.c -- the binary protocol: each opcode, each error, any bytes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "servers/memcached/mc_parse.h"

#define NOW       1000000u
#define VALUE_MAX 1000u
#define OPAQUE    0x01020304u
#define RANDOM    100000u

/* ---- Memory that runs out ---- */

static bool no_memory;
struct mc_value *__real_mc_value_create(uint32_t size);
struct mc_value *__wrap_mc_value_create(uint32_t size);

struct mc_value *__wrap_mc_value_create(uint32_t size)
{
    return no_memory ? NULL : __real_mc_value_create(size);
}

/* ---- Bytes ---- */

struct bytes {
    uint32_t size;
    char at[4000];
};

static void add_number(struct bytes *bytes, uint32_t size, uint64_t number)
{
    for (uint32_t i = size; i-- > 0;)
        bytes->at[bytes->size++] = (char)(number >> 8 * i);
}

static void add_text(struct bytes *bytes, const char *text)
{
    memcpy(bytes->at + bytes->size, text, strlen(text));
    bytes->size += (uint32_t)strlen(text);
}

struct parts {
    const struct bytes *extras;
    const char *key, *value;
    uint16_t status;
    uint64_t cas;
};

static void add_packet(struct bytes *bytes, uint8_t magic, uint8_t opcode, struct parts parts)
{
    static const struct bytes none;
    const struct bytes *extras = parts.extras != NULL ? parts.extras : &none;
    const char *key = parts.key != NULL ? parts.key : "";
    const char *value = parts.value != NULL ? parts.value : "";
    add_number(bytes, 1, magic);
    add_number(bytes, 1, opcode);
    add_number(bytes, 2, strlen(key));
    add_number(bytes, 1, extras->size);
    add_number(bytes, 1, 0);
    add_number(bytes, 2, parts.status);
    add_number(bytes, 4, extras->size + strlen(key) + strlen(value));
    add_number(bytes, 4, OPAQUE);
    add_number(bytes, 8, parts.cas);
    memcpy(bytes->at + bytes->size, extras->at, extras->size);
    bytes->size += extras->size;
    add_text(bytes, key);
    add_text(bytes, value);
}

static struct bytes request_of(uint8_t opcode, struct parts parts)
{
    struct bytes bytes = {0};
    add_packet(&bytes, 0x80, opcode, parts);
    return bytes;
}

static struct bytes extras_of(uint32_t flags, uint32_t exptime)
{
    struct bytes extras = {0};
    add_number(&extras, 4, flags);
    add_number(&extras, 4, exptime);
    return extras;
}

static struct bytes extras_time(uint32_t exptime)
{
    struct bytes extras = {0};
    add_number(&extras, 4, exptime);
    return extras;
}

static struct bytes extras_number(uint64_t delta, uint64_t initial, uint32_t exptime)
{
    struct bytes extras = {0};
    add_number(&extras, 8, delta);
    add_number(&extras, 8, initial);
    add_number(&extras, 4, exptime);
    return extras;
}

/* ---- Parsing ---- */

static enum mc_parsed parse(struct mc_parser *parser, const struct bytes *bytes, uint32_t size,
                            struct mc_request *request, uint32_t *used, uint32_t *need)
{
    memset(request, 0, sizeof *request);
    parser->value_max = VALUE_MAX;
    char *exact = malloc(size > 0 ? size : 1); /* Nothing behind what has come may be read. */
    assert_non_null(exact);
    memcpy(exact, bytes->at, size);
    enum mc_parsed parsed = mc_binary_parse(parser, exact, size, NOW, request, used, need);
    free(exact);
    return parsed;
}

/* Cut after each byte: what is too short asks for more, and the whole is one request. */
static struct mc_request parse_whole(const struct bytes *bytes)
{
    struct mc_request request;
    struct mc_parser parser = {0};
    uint32_t used, need;
    for (uint32_t size = 0; size < bytes->size; size++) {
        assert_int_equal(parse(&parser, bytes, size, &request, &used, &need), MC_PARSED_MORE);
        assert_int_equal(used, 0);
        assert_true(need > size && need <= bytes->size);
    }
    assert_int_equal(parse(&parser, bytes, bytes->size, &request, &used, &need), MC_PARSED_REQUEST);
    assert_int_equal(used, bytes->size);
    assert_int_equal(request.form.protocol, MC_BINARY);
    assert_int_equal(request.form.opaque, OPAQUE);
    assert_int_equal(request.form.opcode, (uint8_t)bytes->at[1]);
    return request;
}

static void assert_key(const struct mc_request *request, const char *key)
{
    assert_int_equal(request->key_size, strlen(key));
    assert_memory_equal(request->key, key, strlen(key));
}

static void test_gets(void **state)
{
    (void)state;
    static const struct {
        uint8_t opcode;
        bool quiet, touch, value;
    } steps[] = {{0x00, false, false, true}, {0x09, true, false, true},  {0x0c, false, false, true},
                 {0x0d, true, false, true},  {0x1c, false, true, false}, {0x1d, false, true, true},
                 {0x1e, true, true, true},   {0x23, false, true, true},  {0x24, true, true, true}};
    struct bytes extras = extras_time(100);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct parts parts = {.key = "key", .cas = 7};
        if (steps[i].touch) parts.extras = &extras;
        struct bytes bytes = request_of(steps[i].opcode, parts);
        struct mc_request request = parse_whole(&bytes);
        assert_int_equal(request.command, MC_GET);
        assert_key(&request, "key");
        assert_int_equal(request.form.quiet, steps[i].quiet);
        assert_int_equal(request.touch, steps[i].touch);
        assert_int_equal(request.want_value, steps[i].value);
        assert_int_equal(request.form.touch_only, !steps[i].value);
        assert_int_equal(request.expiry, steps[i].touch ? NOW + 100 : 0);
        assert_false(request.cas_given);
    }
}

static void test_stores(void **state)
{
    (void)state;
    static const struct {
        uint8_t opcode, quiet_opcode;
        enum mc_command command, with_cas;
        bool extras;
    } steps[] = {{0x01, 0x11, MC_SET, MC_SET, true},
                 {0x02, 0x12, MC_ADD, MC_SET, true},
                 {0x03, 0x13, MC_REPLACE, MC_REPLACE, true},
                 {0x0e, 0x19, MC_APPEND, MC_APPEND, false},
                 {0x0f, 0x1a, MC_PREPEND, MC_PREPEND, false}};
    struct bytes extras = extras_of(0xdeadbeef, 60 * 60 * 24 * 30 + 1);
    for (size_t i = 0; i < 4 * sizeof steps / sizeof steps[0]; i++) {
        bool quiet = i & 1, compared = i & 2;
        uint8_t opcode = quiet ? steps[i / 4].quiet_opcode : steps[i / 4].opcode;
        struct parts parts = {.key = "key", .value = i % 4 == 0 ? "" : "value"};
        if (steps[i / 4].extras) parts.extras = &extras;
        if (compared) parts.cas = 0x1122334455667788u;
        struct bytes bytes = request_of(opcode, parts);
        struct mc_request request = parse_whole(&bytes);
        assert_int_equal(request.command, compared ? steps[i / 4].with_cas : steps[i / 4].command);
        assert_key(&request, "key");
        assert_int_equal(request.form.quiet, quiet);
        assert_int_equal(request.value->size, strlen(parts.value));
        assert_memory_equal(request.value->bytes, parts.value, strlen(parts.value));
        assert_int_equal(request.flags, steps[i / 4].extras ? 0xdeadbeef : 0);
        assert_int_equal(request.expiry, steps[i / 4].extras ? 60 * 60 * 24 * 30 + 1 : 0);
        assert_int_equal(request.cas_given, compared);
        assert_int_equal(request.cas, parts.cas);
        mc_request_clear(&request);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    static const uint8_t opcodes[] = {0x05, 0x15, 0x06, 0x16};
    struct bytes create = extras_number(UINT64_MAX, 1u << 31, 10);
    struct bytes never = extras_number(2, 3, UINT32_MAX);
    for (size_t i = 0; i < sizeof opcodes; i++) {
        struct bytes bytes = request_of(opcodes[i], (struct parts){.key = "n", .extras = &create});
        struct mc_request request = parse_whole(&bytes);
        assert_int_equal(request.command, i < 2 ? MC_INCREMENT : MC_DECREMENT);
        assert_int_equal(request.form.quiet, i % 2);
        assert_true(request.create);
        assert_int_equal(request.delta, UINT64_MAX);
        assert_int_equal(request.initial, 1u << 31);
        assert_int_equal(request.expiry, NOW + 10);
        bytes = request_of(opcodes[i], (struct parts){.key = "n", .extras = &never, .cas = 5});
        request = parse_whole(&bytes);
        assert_false(request.create);
        assert_true(request.cas_given);
        assert_int_equal(request.delta, 2);
    }
}

static void test_others(void **state)
{
    (void)state;
    static const struct {
        uint8_t opcode;
        enum mc_command command;
        const char *key, *value;
        bool quiet;
    } steps[] = {{0x04, MC_DELETE, "key", "", false},    {0x14, MC_DELETE, "key", "", true},
                 {0x07, MC_QUIT, "", "", false},         {0x17, MC_QUIT, "", "", true},
                 {0x08, MC_FLUSH_ALL, "", "", false},    {0x18, MC_FLUSH_ALL, "", "", true},
                 {0x0a, MC_NOOP, "", "", false},         {0x0b, MC_VERSION, "", "", false},
                 {0x10, MC_STATS, "", "", false},        {0x10, MC_STATS, "items", "", false},
                 {0x20, MC_AUTH_LIST, "", "", false},    {0x21, MC_AUTH, "PLAIN", "ab", false},
                 {0x22, MC_AUTH, "PLAIN", "xyz", false}, {0x21, MC_AUTH, "PLAIN", "", false}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct parts parts = {.key = steps[i].key, .value = steps[i].value, .cas = 9};
        struct bytes bytes = request_of(steps[i].opcode, parts);
        struct mc_request request = parse_whole(&bytes);
        assert_int_equal(request.command, steps[i].command);
        assert_key(&request, steps[i].key);
        assert_int_equal(request.form.quiet, steps[i].quiet);
        assert_int_equal(request.cas_given, steps[i].command == MC_DELETE);
        assert_int_equal(request.value != NULL, steps[i].command == MC_AUTH);
        if (request.value != NULL) assert_int_equal(request.value->size, strlen(steps[i].value));
        mc_request_clear(&request);
    }
    struct bytes extras = extras_time(20);
    struct bytes bytes = request_of(0x18, (struct parts){.extras = &extras});
    assert_int_equal(parse_whole(&bytes).expiry, NOW + 20);
}

/* ---- Mistakes ---- */

/* The header is enough to be answered; the body is swallowed in whatever pieces it comes, and the
   next request is understood. */
static void assert_refused(struct bytes bytes, enum mc_status status, uint32_t front)
{
    struct mc_parser parser = {0};
    struct mc_request request;
    uint32_t used, need, whole = bytes.size;
    add_packet(&bytes, 0x80, 0x0a, (struct parts){0});
    for (uint32_t size = 0; size < front; size++)
        assert_int_equal(parse(&parser, &bytes, size, &request, &used, &need), MC_PARSED_MORE);
    for (uint32_t size = front; size <= whole; size++) {
        parser.skip = 0;
        assert_int_equal(parse(&parser, &bytes, size, &request, &used, &need), MC_PARSED_REQUEST);
        assert_int_equal(request.command, MC_BAD);
        assert_int_equal(request.result.status, status);
        assert_int_equal(request.form.opaque, OPAQUE);
        assert_int_equal(used, size);
        assert_int_equal(parser.skip, whole - size);
        assert_null(request.value);
    }
    parser.skip = 0;
    (void)parse(&parser, &bytes, front, &request, &used, &need);
    assert_int_equal(parse(&parser, &bytes, 0, &request, &used, &need), MC_PARSED_MORE);
    for (uint32_t at = front; at < whole; at++) {
        assert_int_equal(parse(&parser, &bytes, 1, &request, &used, &need), MC_PARSED_NOTHING);
        assert_int_equal(used, 1);
    }
    struct bytes rest = {.size = bytes.size - whole};
    memcpy(rest.at, bytes.at + whole, rest.size);
    assert_int_equal(parse(&parser, &rest, rest.size, &request, &used, &need), MC_PARSED_REQUEST);
    assert_int_equal(request.command, MC_NOOP);
}

static void test_unknown_opcodes(void **state)
{
    (void)state;
    for (uint32_t opcode = 0; opcode < 256; opcode++) {
        if (opcode <= 0x1a || (opcode >= 0x1c && opcode <= 0x1e)) continue;
        if (opcode >= 0x20 && opcode <= 0x24) continue;
        struct bytes bytes = request_of((uint8_t)opcode, (struct parts){.key = "k", .value = "v"});
        assert_refused(bytes, MC_NOT_SUPPORTED, 24);
    }
}

/* Each opcode with each combination of parts that it does not have. */
static void test_wrong_parts(void **state)
{
    (void)state;
    static const uint8_t sizes[] = {0, 4, 8, 20, 3, 21};
    static const char expected[0x25][9] = {
        /* Two digits of the extras' size ("?4": or none), key, value: yes, no or either. */
        [0x00] = "00yn", [0x01] = "08y?", [0x02] = "08y?", [0x03] = "08y?", [0x04] = "00yn",
        [0x05] = "20yn", [0x06] = "20yn", [0x07] = "00nn", [0x08] = "?4nn", [0x09] = "00yn",
        [0x0a] = "00nn", [0x0b] = "00nn", [0x0c] = "00yn", [0x0d] = "00yn", [0x0e] = "00y?",
        [0x0f] = "00y?", [0x10] = "00?n", [0x11] = "08y?", [0x12] = "08y?", [0x13] = "08y?",
        [0x14] = "00yn", [0x15] = "20yn", [0x16] = "20yn", [0x17] = "00nn", [0x18] = "?4nn",
        [0x19] = "00y?", [0x1a] = "00y?", [0x1c] = "04yn", [0x1d] = "04yn", [0x1e] = "04yn",
        [0x20] = "00nn", [0x21] = "00y?", [0x22] = "00y?", [0x23] = "04yn", [0x24] = "04yn"};
    for (uint32_t opcode = 0; opcode < 0x25; opcode++) {
        const char *shape = expected[opcode];
        for (uint32_t i = 0; i < 4 * sizeof sizes && shape[0] != '\0'; i++) {
            struct bytes extras = {.size = sizes[i / 4]};
            bool key = i & 1, value = i & 2;
            uint32_t size = (uint32_t)atoi(shape[0] == '?' ? shape + 1 : shape);
            bool fits = extras.size == size || (shape[0] == '?' && extras.size == 0);
            fits = fits && (shape[2] == '?' || (shape[2] == 'y') == key);
            fits = fits && (shape[3] == '?' || !value);
            struct parts parts = {&extras, key ? "key" : "", value ? "value" : "", 0, 0};
            struct bytes bytes = request_of((uint8_t)opcode, parts);
            if (!fits) {
                assert_refused(bytes, MC_INVALID, 24);
                continue;
            }
            struct mc_request request = parse_whole(&bytes);
            assert_int_not_equal(request.command, MC_BAD);
            mc_request_clear(&request);
        }
    }
}

static void test_wrong_sizes(void **state)
{
    (void)state;
    char key[252];
    memset(key, 'k', sizeof key);
    key[251] = '\0';
    assert_refused(request_of(0x00, (struct parts){.key = key}), MC_INVALID, 24);
    struct bytes bytes = request_of(0x00, (struct parts){.key = key + 1});
    assert_int_equal(parse_whole(&bytes).key_size, 250);
    bytes = request_of(0x00, (struct parts){.key = "k"});
    bytes.at[3] = 2; /* A key that is longer than the body. */
    assert_refused(bytes, MC_INVALID, 24);
    bytes.at[4] = 4;
    assert_refused(bytes, MC_INVALID, 24);
}

static void test_close(void **state)
{
    (void)state;
    struct bytes bytes = request_of(0x00, (struct parts){.key = "k"});
    struct mc_parser parser = {0};
    struct mc_request request;
    uint32_t used, need;
    for (uint32_t magic = 0; magic < 256; magic++) {
        bytes.at[0] = (char)magic;
        enum mc_parsed parsed = parse(&parser, &bytes, 1, &request, &used, &need);
        assert_int_equal(parsed, magic == 0x80 ? MC_PARSED_MORE : MC_PARSED_CLOSE);
    }
    bytes.at[0] = (char)0x80;
    memset(bytes.at + 8, 0xff, 4);
    assert_int_equal(parse(&parser, &bytes, 24, &request, &used, &need), MC_PARSED_CLOSE);
}

static void test_too_large(void **state)
{
    (void)state;
    char value[VALUE_MAX + 2];
    memset(value, 'v', sizeof value);
    value[VALUE_MAX + 1] = '\0';
    struct bytes extras = extras_of(0, 0);
    struct bytes bytes = request_of(0x01, (struct parts){&extras, "key", value + 1, 0, 0});
    struct mc_request request = parse_whole(&bytes);
    assert_int_equal(request.value->size, VALUE_MAX);
    mc_request_clear(&request);
    bytes = request_of(0x0e, (struct parts){NULL, "key", value, 0, 0});
    assert_refused(bytes, MC_TOO_LARGE, 24 + 3);
    bytes = request_of(0x11, (struct parts){&extras, "key", value, 0, 0});
    assert_refused(bytes, MC_TOO_LARGE, 24 + 8 + 3);
    struct mc_parser parser = {0};
    uint32_t used, need;
    (void)parse(&parser, &bytes, bytes.size, &request, &used, &need);
    assert_key(&request, "key"); /* Whose old value must not stay. */
    parser = (struct mc_parser){0};
    bytes = request_of(0x01, (struct parts){&extras, "key", value, 0, 7});
    (void)parse(&parser, &bytes, bytes.size, &request, &used, &need);
    assert_key(&request, "key"); /* Nor may it if the set compares. */
    parser = (struct mc_parser){0};
    bytes = request_of(0x12, (struct parts){&extras, "key", value, 0, 0});
    (void)parse(&parser, &bytes, bytes.size, &request, &used, &need);
    assert_key(&request, "");
}

static void test_no_memory(void **state)
{
    (void)state;
    struct bytes extras = extras_of(0, 0);
    struct bytes bytes = request_of(0x01, (struct parts){&extras, "key", "value", 0, 0});
    struct mc_parser parser = {0};
    struct mc_request request;
    uint32_t used, need;
    no_memory = true;
    assert_int_equal(parse(&parser, &bytes, bytes.size, &request, &used, &need), MC_PARSED_REQUEST);
    no_memory = false;
    assert_int_equal(request.command, MC_BAD);
    assert_int_equal(request.result.status, MC_NO_MEMORY);
    assert_int_equal(used, bytes.size);
    assert_int_equal(parser.skip, 0);
}

/* ---- Replies ---- */

static struct mc_request answered(enum mc_command command, uint8_t opcode, enum mc_status status)
{
    struct mc_request request = {.command = command, .key = "key", .key_size = 3};
    request.form.protocol = MC_BINARY;
    request.form.opcode = opcode;
    request.form.opaque = OPAQUE;
    request.result.status = status;
    return request;
}

static void assert_bytes(const struct mc_output *output, const struct bytes *expected)
{
    assert_int_equal(output->size, expected->size);
    if (expected->size > 0) assert_memory_equal(output->bytes, expected->at, expected->size);
}

static void assert_reply(const struct mc_request *request, struct parts parts)
{
    struct bytes expected = {0};
    struct mc_output output = {0};
    add_packet(&expected, 0x81, request->form.opcode, parts);
    mc_binary_reply(request, &output);
    assert_bytes(&output, &expected);
    mc_output_free(&output);
}

static void assert_silent(const struct mc_request *request)
{
    struct mc_output output = {0};
    mc_binary_reply(request, &output);
    assert_int_equal(output.size, 0);
    mc_output_free(&output);
}

static void test_get_replies(void **state)
{
    (void)state;
    static const struct {
        uint8_t opcode;
        bool key, quiet, value;
    } steps[] = {
        {0x00, false, false, true}, {0x09, false, true, true},   {0x0c, true, false, true},
        {0x0d, true, true, true},   {0x1c, false, false, false}, {0x1d, false, false, true},
        {0x1e, false, true, true},  {0x23, true, false, true},   {0x24, true, true, true}};
    struct bytes flags = extras_time(0x01020304);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct mc_request request = answered(MC_GET, steps[i].opcode, MC_OK);
        const char *key = steps[i].key ? "key" : NULL;
        request.want_value = steps[i].value;
        request.form.quiet = steps[i].quiet;
        request.result.value = mc_value_create(5);
        memcpy(request.result.value->bytes, "value", 5);
        request.result.flags = 0x01020304;
        request.result.cas = 77;
        assert_reply(&request, (struct parts){&flags, key, steps[i].value ? "value" : NULL, 0, 77});
        mc_value_release(request.result.value);
        request.result = (struct mc_result){.status = MC_NOT_FOUND};
        if (steps[i].quiet)
            assert_silent(&request);
        else
            assert_reply(&request, (struct parts){NULL, key, key != NULL ? "" : "Not found", 1, 0});
        request.result.status = MC_TEMPORARY;
        assert_reply(&request, (struct parts){.value = "Temporary failure.", .status = 0x86});
        mc_request_clear(&request);
    }
}

static void test_other_replies(void **state)
{
    (void)state;
    static const uint8_t stores[] = {0x01, 0x02, 0x03, 0x0e, 0x0f};
    for (uint32_t i = 0; i < sizeof stores; i++) {
        struct mc_request request = answered((enum mc_command)(MC_SET + i), stores[i], MC_OK);
        request.result.cas = 5;
        assert_reply(&request, (struct parts){.cas = 5});
        request.form.quiet = true;
        assert_silent(&request);
    }
    struct mc_request request = answered(MC_INCREMENT, 0x05, MC_OK);
    struct bytes number = {0};
    add_number(&number, 8, 0x3132333435363738u);
    request.result.number = 0x3132333435363738u;
    request.result.cas = 6;
    assert_reply(&request, (struct parts){.value = number.at, .cas = 6});
    request.command = MC_DECREMENT;
    assert_reply(&request, (struct parts){.value = number.at, .cas = 6});
    request = answered(MC_DELETE, 0x04, MC_OK);
    request.result.cas = 6;
    assert_reply(&request, (struct parts){0});
    request = answered(MC_VERSION, 0x0b, MC_OK);
    request.result.message = "1.2.3";
    assert_reply(&request, (struct parts){.value = "1.2.3"});
    request = answered(MC_AUTH, 0x21, MC_OK);
    assert_reply(&request, (struct parts){.value = "Authenticated"});
    request = answered(MC_AUTH_LIST, 0x20, MC_OK);
    assert_reply(&request, (struct parts){.value = "PLAIN"});
    static const enum mc_command bare[] = {MC_NOOP, MC_QUIT, MC_FLUSH_ALL};
    for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++) {
        request = answered(bare[i], 0x0a, MC_OK);
        assert_reply(&request, (struct parts){0});
        request.form.quiet = true;
        assert_silent(&request);
    }
}

static void test_error_replies(void **state)
{
    (void)state;
    static const struct {
        enum mc_command command;
        enum mc_status status;
        uint16_t code;
        const char *text;
    } steps[] = {
        {MC_DELETE, MC_NOT_FOUND, 1, "Not found"},
        {MC_SET, MC_EXISTS, 2, "Data exists for key."},
        {MC_ADD, MC_EXISTS, 2, "Data exists for key."},
        {MC_ADD, MC_NOT_STORED, 2, "Data exists for key."},
        {MC_REPLACE, MC_NOT_STORED, 1, "Not found"},
        {MC_BAD, MC_TOO_LARGE, 3, "Too large."},
        {MC_BAD, MC_INVALID, 4, "Invalid arguments"},
        {MC_APPEND, MC_NOT_STORED, 5, "Not stored."},
        {MC_INCREMENT, MC_NON_NUMERIC, 6, "Non-numeric server-side value for incr or decr"},
        {MC_AUTH, MC_AUTH_ERROR, 0x20, "Auth failure."},
        {MC_GET, MC_AUTH_ERROR, 0x20, "Auth failure."},
        {MC_BAD, MC_NOT_SUPPORTED, 0x81, "Unknown command"},
        {MC_AUTH_LIST, MC_NOT_SUPPORTED, 0x81, "Unknown command"},
        {MC_SET, MC_NO_MEMORY, 0x82, "Out of memory"},
        {MC_SET, MC_NOT_SUPPORTED, 0x83, "Not supported."},
        {MC_SET, MC_FAILED, 0x84, "Internal error."},
        {MC_SET, MC_TEMPORARY, 0x86, "Temporary failure."},
        {MC_STATS, MC_NOT_FOUND, 1, "Not found"},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct mc_request request = answered(steps[i].command, 0, steps[i].status);
        request.form.quiet = true; /* Errors are told all the same. */
        request.result.cas = 99;
        assert_reply(&request, (struct parts){.value = steps[i].text, .status = steps[i].code});
        request.result.message = "its own words";
        assert_reply(&request, (struct parts){.value = "its own words", .status = steps[i].code});
    }
}

static void test_stats(void **state)
{
    (void)state;
    struct mc_request request = answered(MC_STATS, 0x10, MC_OK);
    struct mc_output output = {0};
    struct bytes expected = {0};
    mc_binary_reply_stat(&request, "pid", "123", &output);
    mc_binary_reply_stat(&request, "empty", "", &output);
    mc_binary_reply_stat(&request, NULL, NULL, &output);
    mc_binary_reply(&request, &output); /* Has nothing to add. */
    add_packet(&expected, 0x81, 0x10, (struct parts){.key = "pid", .value = "123"});
    add_packet(&expected, 0x81, 0x10, (struct parts){.key = "empty"});
    add_packet(&expected, 0x81, 0x10, (struct parts){0});
    assert_bytes(&output, &expected);
    mc_output_free(&output);
    request.result.message = "RESET"; /* RESET prints no figures: there is only the end. */
    assert_reply(&request, (struct parts){0});
}

/* ---- Any bytes ---- */

static uint64_t random_state = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 20) % below);
}

/* Requests that are right, but for a byte here and there. */
static struct bytes draw_bytes(void)
{
    struct bytes bytes = {0};
    static const uint8_t sizes[] = {0, 0, 4, 8, 20, 33};
    for (uint32_t i = 0; i < 4; i++) {
        struct bytes extras = {.size = sizes[draw(sizeof sizes)]};
        struct parts parts = {&extras, &"kkkkk"[draw(6)], &"vvvvv"[draw(6)], 0, draw(2)};
        for (uint32_t at = 0; at < extras.size; at++)
            extras.at[at] = (char)draw(256);
        add_packet(&bytes, 0x80, (uint8_t)draw(0x28), parts);
    }
    for (uint32_t i = draw(4); i-- > 0;)
        bytes.at[draw(bytes.size)] = (char)(draw(2) == 0 ? draw(256) : draw(3));
    if (draw(3) == 0) bytes.size = draw(bytes.size);
    return bytes;
}

static void run_bytes(const struct bytes *bytes)
{
    struct mc_parser parser = {0};
    struct mc_output output = {0};
    uint32_t at = 0, end = 0;
    while (at < bytes->size) {
        struct mc_request request;
        uint32_t used, need;
        struct bytes rest = {.size = end - at};
        memcpy(rest.at, bytes->at + at, rest.size);
        enum mc_parsed parsed = parse(&parser, &rest, rest.size, &request, &used, &need);
        assert_true(used <= rest.size);
        at += used;
        if (parsed == MC_PARSED_CLOSE) break;
        if (parsed == MC_PARSED_MORE && end == bytes->size) break;
        if (parsed == MC_PARSED_MORE) end += 1 + draw(bytes->size - end);
        if (parsed != MC_PARSED_REQUEST) continue;
        assert_true(used > 0 && request.key_size <= MC_KEY_MAX);
        if (request.command != MC_BAD) request.result.status = (enum mc_status)draw(MC_STATUSES);
        mc_binary_reply(&request, &output);
        mc_request_clear(&request);
    }
    mc_output_free(&output);
}

static void test_any_bytes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANDOM; i++) {
        struct bytes bytes = draw_bytes();
        run_bytes(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gets),
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_unknown_opcodes),
        cmocka_unit_test(test_wrong_parts),
        cmocka_unit_test(test_wrong_sizes),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_get_replies),
        cmocka_unit_test(test_other_replies),
        cmocka_unit_test(test_error_replies),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
