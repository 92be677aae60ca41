/* mc_hostile_gen.c -- requests of a memcached client, good ones and damaged ones, from a seed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/cluster/mc_hostile_gen.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_binary_private.h"

#define KEY_LONGEST   250u
#define VALUE_MOST    4000u
#define VALUE_LARGE   200000u /* Seldom: in parts, or too large for a column. */
#define LINE_LONG     2100u   /* A line that is none of the protocol. */
#define COPIES_MOST   30u
#define AT_EXTRAS     24u
#define ARRAY_SIZE(a) ((uint32_t)(sizeof(a) / sizeof(a)[0]))

static uint32_t below(struct rng *rng, uint32_t bound)
{
    return (uint32_t)rng_below(rng, bound);
}

void mc_bytes_put(struct mc_bytes *to, const void *bytes, size_t size)
{
    if (size == 0) return;
    if (to->size + size > to->room) {
        uint32_t room = to->room == 0 ? 4096u : to->room;
        while (room < to->size + size)
            room *= 2;
        to->bytes = realloc(to->bytes, room);
        if (to->bytes == NULL) abort();
        to->room = room;
    }
    memcpy(to->bytes + to->size, bytes, size);
    to->size += (uint32_t)size;
}

__attribute__((format(printf, 2, 3))) static void put(struct mc_bytes *to, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    mc_bytes_put(to, text, (size_t)size);
}

static const char *pick(struct rng *rng, const char *const *list, uint32_t count)
{
    return list[below(rng, count)];
}
#define PICK(rng, list) pick(rng, list, ARRAY_SIZE(list))

/* ---- What good requests consist of. ---- */

/* Few keys, so that requests meet what others have left; some of each prefix that is shipped. */
static uint32_t key_of(struct rng *rng, char *key)
{
    static const char *const prefixes[] = {"", "", "", "", "b:", "t:", "mc:"};
    uint32_t kind = below(rng, 40);
    if (kind == 0) {
        memset(key, 'k', KEY_LONGEST);
        return KEY_LONGEST;
    }
    const char *prefix = PICK(rng, prefixes);
    if (kind == 1) return (uint32_t)sprintf(key, "%sschl\xc3\xbcssel", prefix);
    /* Keys of t: are numbers. */
    if (kind < 10) return (uint32_t)sprintf(key, "%s%u", prefix, below(rng, 20));
    return (uint32_t)sprintf(key, "%skey%u", prefix, below(rng, 20));
}

static uint32_t value_size(struct rng *rng)
{
    uint32_t kind = below(rng, 400);
    if (kind == 0) return below(rng, VALUE_LARGE);
    return kind < 40 ? below(rng, VALUE_MOST) : below(rng, 40);
}

/* Every third one is a number. */
static void put_value(struct rng *rng, struct mc_bytes *to, uint32_t size)
{
    bool number = below(rng, 3) == 0;
    for (uint32_t i = 0; i < size; i++) {
        uint8_t byte = number ? (uint8_t)('0' + below(rng, 10)) : (uint8_t)rng_next(rng);
        mc_bytes_put(to, &byte, 1);
    }
}

static const char *exptime(struct rng *rng)
{
    static const char *const times[] = {"0",  "0",       "0",       "1",         "100",
                                        "-1", "2592000", "2592001", "4000000000"};
    return PICK(rng, times);
}

static const char *number(struct rng *rng)
{
    static const char *const numbers[] = {
        "0", "1",    "2",    "10",         "250",        "251",        "65535",
        "1", "1024", "4096", "2147483647", "4294967295", "9007199254", "18446744073709551615"};
    return PICK(rng, numbers);
}

static const char *quiet(struct rng *rng)
{
    return below(rng, 5) == 0 ? " noreply" : "";
}

/* ---- Text. ---- */

static void text_store(struct rng *rng, struct mc_bytes *to, const char *key)
{
    static const char *const names[] = {"set", "set", "set", "add", "replace", "append", "prepend"};
    uint32_t size = value_size(rng);
    if (below(rng, 8) == 0)
        put(to, "cas %s %u %s %u %s%s\r\n", key, below(rng, 100), exptime(rng), size, number(rng),
            quiet(rng));
    else
        put(to, "%s %s %u %s %u%s\r\n", PICK(rng, names), key, below(rng, 100), exptime(rng), size,
            quiet(rng));
    put_value(rng, to, size);
    put(to, "\r\n");
}

static void text_get(struct rng *rng, struct mc_bytes *to)
{
    uint32_t kind = below(rng, 4);
    uint32_t count = 1 + below(rng, below(rng, 20) == 0 ? 100 : 4);
    if (kind < 2)
        put(to, "%s", kind == 0 ? "get" : "gets");
    else
        put(to, "%s %s", kind == 2 ? "gat" : "gats", exptime(rng));
    for (uint32_t i = 0; i < count; i++) {
        char key[KEY_LONGEST + 1] = {0};
        key_of(rng, key);
        put(to, " %s", key);
    }
    put(to, "\r\n");
}

static void text_seldom(struct rng *rng, struct mc_bytes *to)
{
    static const char *const lines[] = {"version",
                                        "verbosity 1",
                                        "stats",
                                        "stats settings",
                                        "stats items",
                                        "stats ndb",
                                        "stats scheduler",
                                        "stats errors",
                                        "stats conns",
                                        "stats slabs",
                                        "stats sizes",
                                        "stats reconf",
                                        "stats detail on",
                                        "flush_all",
                                        "flush_all 0",
                                        "flush_all 10",
                                        "flush_all noreply",
                                        "shutdown",
                                        "mn",
                                        "cache_memlimit 1024",
                                        "slabs automove 1",
                                        "lru tune 10 25",
                                        "lru_crawler crawl 1",
                                        "watch fetchers",
                                        "debugtime p",
                                        "verbosity 1 noreply",
                                        ""};
    if (below(rng, 20) == 0)
        put(to, "quit\r\n");
    else
        put(to, "%s\r\n", PICK(rng, lines));
}

static void text(struct rng *rng, struct mc_bytes *to)
{
    char key[KEY_LONGEST + 1] = {0};
    key_of(rng, key);
    uint32_t kind = below(rng, 20);
    if (kind < 7)
        text_store(rng, to, key);
    else if (kind < 13)
        text_get(rng, to);
    else if (kind < 15)
        put(to, "%s %s %s%s\r\n", below(rng, 2) == 0 ? "incr" : "decr", key, number(rng),
            quiet(rng));
    else if (kind < 17)
        put(to, "delete %s%s%s\r\n", key, below(rng, 5) == 0 ? " 0" : "", quiet(rng));
    else if (kind < 18)
        put(to, "touch %s %s%s\r\n", key, exptime(rng), quiet(rng));
    else
        text_seldom(rng, to);
}

/* ---- Meta. ---- */

static void meta_flags(struct rng *rng, struct mc_bytes *to)
{
    static const char letters[] = "bcfhklqstuvxIOCEFJDMNRTLP";
    static const char *const modes[] = {"E", "A", "P", "R", "S", "I", "D", "+", "-"};
    for (uint32_t i = below(rng, 7); i > 0; i--) {
        char letter = letters[below(rng, sizeof letters - 1)];
        if (letter == 'b' && below(rng, 4) != 0) continue; /* Mostly no base64. */
        if (letter == 'M')
            put(to, " M%s", PICK(rng, modes));
        else if (letter == 'O')
            put(to, " Oopaque%u", below(rng, 1000));
        else if (letter == 'N' || letter == 'R' || letter == 'T')
            put(to, " %c%s", letter, exptime(rng));
        else if (strchr("CEFJD", letter) != NULL)
            put(to, " %c%s", letter, number(rng));
        else
            put(to, " %c", letter);
    }
}

static void meta(struct rng *rng, struct mc_bytes *to)
{
    static const char *const base64[] = {"a2V5MQ==", "a2V5", "AAECAw==", "/////w=="};
    char key[KEY_LONGEST + 1] = {0};
    if (below(rng, 10) == 0)
        strcpy(key, PICK(rng, base64));
    else
        key_of(rng, key);
    uint32_t kind = below(rng, 20);
    if (kind < 7) {
        uint32_t size = value_size(rng);
        put(to, "ms %s %u", key, size);
        meta_flags(rng, to);
        put(to, "\r\n");
        put_value(rng, to, size);
        put(to, "\r\n");
    } else if (kind < 18) {
        put(to, "%s %s", kind < 13 ? "mg" : kind < 16 ? "ma" : "md", key);
        if (kind < 10) put(to, " v");
        meta_flags(rng, to);
        put(to, "\r\n");
    } else if (kind == 18) {
        put(to, "me %s\r\n", key);
    } else {
        text_seldom(rng, to);
    }
}

/* ---- Binary. ---- */

static void put_number(struct mc_bytes *to, uint64_t value, uint32_t size)
{
    for (uint32_t i = size; i > 0; i--) {
        uint8_t byte = (uint8_t)(value >> (8 * (i - 1)));
        mc_bytes_put(to, &byte, 1);
    }
}

static const uint64_t odd[] = {0,          1,          0xff,        250,           251,
                               0x7fff,     0xffff,     1048576,     1048577,       0x7fffffff,
                               0x80000000, 0xffffffff, 0x100000000, INT64_MAX,     UINT64_MAX,
                               2592000,    2592001,    4000000000,  1073741824 + 1};

/* By opcode: how many bytes of extras, and whether there is a key (1) and a value (2). */
struct shape {
    uint8_t opcode, extras, parts;
};
static const struct shape shapes[] = {
    {MC_OP_GET, 0, 1},         {MC_OP_GET, 0, 1},        {MC_OP_GETQ, 0, 1},
    {MC_OP_GETK, 0, 1},        {MC_OP_GETKQ, 0, 1},      {MC_OP_TOUCH, 4, 1},
    {MC_OP_GAT, 4, 1},         {MC_OP_GATQ, 4, 1},       {MC_OP_GATK, 4, 1},
    {MC_OP_GATKQ, 4, 1},       {MC_OP_SET, 8, 3},        {MC_OP_SET, 8, 3},
    {MC_OP_SETQ, 8, 3},        {MC_OP_ADD, 8, 3},        {MC_OP_ADDQ, 8, 3},
    {MC_OP_REPLACE, 8, 3},     {MC_OP_REPLACEQ, 8, 3},   {MC_OP_APPEND, 0, 3},
    {MC_OP_APPENDQ, 0, 3},     {MC_OP_PREPEND, 0, 3},    {MC_OP_PREPENDQ, 0, 3},
    {MC_OP_DELETE, 0, 1},      {MC_OP_DELETEQ, 0, 1},    {MC_OP_INCREMENT, 20, 1},
    {MC_OP_INCREMENTQ, 20, 1}, {MC_OP_DECREMENT, 20, 1}, {MC_OP_DECREMENTQ, 20, 1},
    {MC_OP_FLUSH, 0, 0},       {MC_OP_FLUSHQ, 4, 0},     {MC_OP_NOOP, 0, 0},
    {MC_OP_VERSION, 0, 0},     {MC_OP_STAT, 0, 0},       {MC_OP_STAT, 0, 1},
    {MC_OP_SASL_LIST, 0, 0},   {MC_OP_SASL_AUTH, 0, 3},  {MC_OP_SASL_STEP, 0, 3},
};

static void binary(struct rng *rng, struct mc_bytes *to)
{
    const struct shape *shape = &shapes[below(rng, ARRAY_SIZE(shapes))];
    char key[KEY_LONGEST + 1] = {0};
    uint8_t opcode = shape->opcode;
    if (below(rng, 300) == 0) opcode = below(rng, 2) == 0 ? MC_OP_QUIT : MC_OP_QUITQ;
    uint32_t key_size = (shape->parts & 1) != 0 ? key_of(rng, key) : 0;
    uint32_t size = (shape->parts & 2) != 0 ? value_size(rng) : 0;
    put_number(to, MC_BINARY_REQUEST, 1);
    put_number(to, opcode, 1);
    put_number(to, key_size, 2);
    put_number(to, shape->extras, 1);
    put_number(to, 0, 3);
    put_number(to, shape->extras + key_size + size, 4);
    put_number(to, rng_next(rng), 4);
    put_number(to, below(rng, 8) == 0 ? 1 + below(rng, 1000) : 0, 8);
    for (uint32_t i = 0; i < shape->extras; i += 4)
        put_number(to, below(rng, 3) == 0 ? odd[below(rng, ARRAY_SIZE(odd))] : below(rng, 10), 4);
    mc_bytes_put(to, key, key_size);
    put_value(rng, to, size);
}

void mc_hostile_good(struct rng *rng, enum mc_hostile_protocol protocol, struct mc_bytes *to)
{
    if (protocol == HOSTILE_BINARY)
        binary(rng, to);
    else if (protocol == HOSTILE_META)
        meta(rng, to);
    else
        text(rng, to);
}

/* ---- Damage: of the bytes from `begin` on, which are the last ones. ---- */

struct damaged {
    struct rng *rng;
    enum mc_hostile_protocol protocol;
    struct mc_bytes *all;
    uint32_t begin;
};

/* Takes `gone` bytes out at `at` and puts others in. */
static void replace(struct damaged *damaged, uint32_t at, uint32_t gone, const void *bytes,
                    uint32_t size)
{
    struct mc_bytes *all = damaged->all;
    struct mc_bytes rest = {0};
    mc_bytes_put(&rest, all->bytes + at + gone, all->size - at - gone);
    all->size = at;
    mc_bytes_put(all, bytes, size);
    mc_bytes_put(all, rest.bytes, rest.size);
    free(rest.bytes);
}

static uint32_t size_of(const struct damaged *damaged)
{
    return damaged->all->size - damaged->begin;
}

/* Mostly near the beginning, where the commands and the sizes are. */
static uint32_t place(struct damaged *damaged)
{
    uint32_t size = size_of(damaged);
    uint32_t near = size > 40 && below(damaged->rng, 4) != 0 ? 40 : size;
    return damaged->begin + below(damaged->rng, near);
}

static void flip_bits(struct damaged *damaged)
{
    for (uint32_t i = 1 + below(damaged->rng, 4); i > 0; i--) {
        uint8_t *byte = &damaged->all->bytes[place(damaged)];
        *byte = (uint8_t)(*byte ^ 1u << below(damaged->rng, 8));
    }
}

static void other_byte(struct damaged *damaged)
{
    static const uint8_t bytes[] = {0, ' ', '\r', '\n', '0', '9', '-', 0x7f, 0x80, 0x81, 0xff};
    damaged->all->bytes[place(damaged)] = below(damaged->rng, 2) == 0
                                              ? bytes[below(damaged->rng, sizeof bytes)]
                                              : (uint8_t)rng_next(damaged->rng);
}

static void insert_bytes(struct damaged *damaged)
{
    uint64_t bytes = rng_next(damaged->rng);
    replace(damaged, place(damaged), 0, &bytes, 1 + below(damaged->rng, 8));
}

static void delete_bytes(struct damaged *damaged)
{
    uint32_t at = place(damaged);
    uint32_t rest = damaged->all->size - at;
    uint32_t gone = 1 + below(damaged->rng, 8);
    replace(damaged, at, gone < rest ? gone : rest, NULL, 0);
}

static void duplicate(struct damaged *damaged)
{
    uint32_t at = place(damaged);
    uint32_t size = 1 + below(damaged->rng, damaged->all->size - at);
    struct mc_bytes copy = {0};
    mc_bytes_put(&copy, damaged->all->bytes + at, size);
    replace(damaged, at, 0, copy.bytes, copy.size);
    free(copy.bytes);
}

static void truncate_it(struct damaged *damaged)
{
    damaged->all->size = damaged->begin + below(damaged->rng, size_of(damaged));
}

static void splice(struct damaged *damaged)
{
    struct mc_bytes other = {0};
    mc_hostile_good(damaged->rng, damaged->protocol, &other);
    uint32_t from = below(damaged->rng, other.size);
    truncate_it(damaged);
    mc_bytes_put(damaged->all, other.bytes + from, other.size - from);
    free(other.bytes);
}

/* Changes a word of digits of a text request, or a field of the header or extras of a binary
   one. */
static void odd_number(struct damaged *damaged)
{
    static const char *const words[] = {"-1",
                                        "0",
                                        "00000000000000000001",
                                        "+5",
                                        "250",
                                        "251",
                                        "1048576",
                                        "1048577",
                                        "2147483647",
                                        "2147483648",
                                        "4294967295",
                                        "4294967296",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "99999999999999999999999999999999",
                                        "1e9",
                                        "0x10",
                                        "1.5"};
    struct rng *rng = damaged->rng;
    uint8_t *bytes = damaged->all->bytes;
    uint32_t end = damaged->all->size;
    if (damaged->protocol == HOSTILE_BINARY) {
        static const uint8_t at[] = {MC_AT_KEY_SIZE,  MC_AT_EXTRAS_SIZE, MC_AT_BODY_SIZE,
                                     MC_AT_BODY_SIZE, MC_AT_CAS,         AT_EXTRAS,
                                     AT_EXTRAS + 16};
        static const uint8_t size[] = {2, 1, 4, 4, 8, 4, 4};
        uint32_t field = below(rng, ARRAY_SIZE(at));
        uint64_t value = odd[below(rng, ARRAY_SIZE(odd))];
        for (uint32_t i = 0; i < size[field] && damaged->begin + at[field] + i < end; i++)
            bytes[damaged->begin + at[field] + i] = (uint8_t)(value >> 8 * (size[field] - 1u - i));
        return;
    }
    uint32_t from = place(damaged);
    while (from < end && (bytes[from] < '0' || bytes[from] > '9'))
        from++;
    uint32_t to = from;
    while (to < end && bytes[to] >= '0' && bytes[to] <= '9')
        to++;
    const char *word = PICK(rng, words);
    replace(damaged, from, to - from, word, (uint32_t)strlen(word));
}

/* One end of a line loses CR, LF or both, or there is one where none was. */
static void line_end(struct damaged *damaged)
{
    struct mc_bytes *all = damaged->all;
    uint32_t at = place(damaged);
    if (below(damaged->rng, 4) == 0) {
        replace(damaged, at, 0, "\r\n", 2);
        return;
    }
    const uint8_t *found = memchr(all->bytes + at, '\r', all->size - at);
    if (found == NULL) return;
    at = (uint32_t)(found - all->bytes);
    uint32_t what = below(damaged->rng, 3);
    uint32_t gone = what == 0 ? 2 : 1;
    if (what == 1) at++;
    if (at + gone <= all->size) replace(damaged, at, gone, NULL, 0);
}

static void fill_in(struct damaged *damaged, uint8_t byte, uint32_t size)
{
    struct mc_bytes many = {0};
    for (uint32_t i = 0; i < size; i++)
        mc_bytes_put(&many, &byte, 1);
    replace(damaged, place(damaged), 0, many.bytes, many.size);
    free(many.bytes);
}

static void long_key(struct damaged *damaged)
{
    fill_in(damaged, 'x', 240 + below(damaged->rng, 20));
}

static void many_blanks(struct damaged *damaged)
{
    fill_in(damaged, below(damaged->rng, 4) == 0 ? 0 : ' ', 1 + below(damaged->rng, 200));
}

static void long_line(struct damaged *damaged)
{
    fill_in(damaged, 'y', LINE_LONG);
}

static void several(struct damaged *damaged)
{
    struct mc_bytes copy = {0};
    if (size_of(damaged) > VALUE_MOST) return;
    mc_bytes_put(&copy, damaged->all->bytes + damaged->begin, size_of(damaged));
    for (uint32_t i = below(damaged->rng, COPIES_MOST); i > 0; i--)
        mc_bytes_put(damaged->all, copy.bytes, copy.size);
    free(copy.bytes);
}

void mc_hostile_bad(struct rng *rng, enum mc_hostile_protocol protocol, struct mc_bytes *to)
{
    static void (*const damages[])(struct damaged *) = {
        flip_bits,   flip_bits,  other_byte,  other_byte, insert_bytes, delete_bytes,
        duplicate,   odd_number, odd_number,  odd_number, line_end,     splice,
        truncate_it, long_key,   many_blanks, several,    long_line};
    struct damaged damaged = {.rng = rng, .protocol = protocol, .all = to, .begin = to->size};
    mc_hostile_good(rng, protocol, to);
    for (uint32_t i = 1 + below(rng, 3); i > 0 && size_of(&damaged) > 0; i--) {
        void (*damage)(struct damaged *) = damages[below(rng, ARRAY_SIZE(damages))];
        if (damage == long_line && below(rng, 4) != 0) continue; /* It ends the connection. */
        damage(&damaged);
    }
}
