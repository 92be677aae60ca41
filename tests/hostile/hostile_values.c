/* hostile_values.c -- payload fields by their names, and sections by what the receiver expects in
 * them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "signals/api_reg.h"
#include "signals/dict.h"
#include "signals/lqhkey.h"
#include "values/scan_range.h"
#include "values/table_def.h"
#include "values/table_index.h"
#include "tests/hostile/hostile_gen.h"

uint32_t gen_odd(struct gen *gen)
{
    static const uint32_t odd[] = {0,           1,           2,           3,       0xFFFFFFFFu,
                                   0xFFFFFFFEu, 0x80000000u, 0x7FFFFFFFu, 0xFFFFu, 0x10000u,
                                   0xFFFFFFu,   0x1000001u,  24,          25,      26,
                                   255,         256,         8160,        20320,   3840};
    switch (rng_below(&gen->rng, 4)) {
    case 0:
        return (uint32_t)rng_next(&gen->rng);
    case 1:
        return gen->seen[rng_below(&gen->rng, GEN_SEEN)];
    case 2:
        return 1u << rng_below(&gen->rng, 32);
    default:
        return odd[rng_below(&gen->rng, sizeof odd / sizeof odd[0])];
    }
}

static uint32_t some_ref(struct gen *gen)
{
    uint32_t node = rng_chance(&gen->rng, 3, 4) ? 1 : (uint32_t)rng_below(&gen->rng, 12);
    uint32_t block = rng_chance(&gen->rng, 1, 3) ? BLOCK_API : (uint32_t)rng_below(&gen->rng, 14);
    return block_ref(node, block, (uint32_t)rng_below(&gen->rng, 4));
}

static uint32_t some_record(struct gen *gen)
{
    if (rng_chance(&gen->rng, 1, 8)) return gen_odd(gen);
    return (uint32_t)(rng_below(&gen->rng, 12) | rng_below(&gen->rng, 4) << 24);
}

static uint32_t some_request_info(struct gen *gen, uint32_t gsn)
{
    struct rng *rng = &gen->rng;
    uint32_t mode = (uint32_t)rng_below(rng, 3) << 3;
    if (gsn == GSN_SCAN_TABREQ || gsn == GSN_SCAN_FRAGREQ) return mode;
    static const uint32_t operations[] = {OP_READ,   OP_READ,   OP_READ,   OP_UPDATE,
                                          OP_INSERT, OP_INSERT, OP_INSERT, OP_WRITE,
                                          OP_WRITE,  OP_UPDATE, OP_DELETE};
    uint32_t info = operations[rng_below(rng, sizeof operations / sizeof operations[0])] | mode;
    const struct gen_connect *connect = gen->using_connect;
    if (gsn == GSN_LQHKEYREQ) return info | (rng_chance(rng, 1, 3) ? KEY_NOWAIT : 0);
    if (connect == NULL || !connect->started || rng_chance(rng, 1, 20)) info |= KEY_START;
    if (rng_chance(rng, 1, 3)) info |= KEY_EXECUTE;
    if (rng_chance(rng, 1, 6)) info |= KEY_EXECUTE | KEY_COMMIT;
    if (rng_chance(rng, 1, 2)) info |= KEY_IGNORE_ERROR;
    if (rng_chance(rng, 1, 4)) info |= KEY_NOWAIT;
    return info;
}

static bool is(const char *name, const char *one)
{
    return strcmp(name, one) == 0;
}

uint32_t gen_field(struct gen *gen, uint32_t peer, uint32_t gsn, const char *name)
{
    struct rng *rng = &gen->rng;
    const struct gen_connect *connect = gen->using_connect;
    const struct gen_table *table = gen->using_table;
    if (rng_chance(rng, 1, 150)) return gen_odd(gen);
    if (gen->using_op != NULL && is(name, "transid1")) return gen->using_op->transid1;
    if (gen->using_op != NULL && is(name, "transid2")) return gen->using_op->transid2;
    if (is(name, "tc_connect")) return connect == NULL ? some_record(gen) : connect->tc_connect;
    if (is(name, "transid1")) return connect == NULL ? gen_odd(gen) : connect->transid1;
    if (is(name, "transid2")) return connect == NULL ? gen_odd(gen) : connect->transid2;
    if (is(name, "api_scan") && connect != NULL && gsn == GSN_SCAN_NEXTREQ)
        return connect->api_scan;
    if (is(name, "table_id")) return table == NULL ? (uint32_t)rng_below(rng, 26) : table->id;
    if (is(name, "schema_version") ||
        (is(name, "version") && (gsn == GSN_DROP_TABLE_REQ || gsn == GSN_ALTER_TABLE_REQ)))
        return table == NULL ? (uint32_t)rng_below(rng, 4) : table->version;
    if (is(name, "version") && gsn < 100) return NDB_VERSION;
    if (is(name, "request_info")) return some_request_info(gen, gsn);
    if (is(name, "fragment_id") || is(name, "first_id")) return (uint32_t)rng_below(rng, 5);
    if (is(name, "batch_rows") || is(name, "parallelism")) return (uint32_t)rng_below(rng, 4);
    if (is(name, "batch_bytes")) return (uint32_t)rng_below(rng, 2000);
    if (is(name, "flags")) return rng_chance(rng, 1, 4) ? 1 : 0;
    if (gen->using_op != NULL && is(name, "lqh_scan")) return gen->using_op->lqh_op;
    if (gen->using_op != NULL && is(name, "tc_frag")) return gen->using_op->tc_op;
    if (is(name, "hash") && rng_chance(rng, 1, 2))
        return 5; /* Rows with one hash meet each other in the index. */
    if (is(name, "tc_ref") && rng_chance(rng, 7, 8)) return block_ref(peer, BLOCK_DBTC, 1);
    if (is(name, "prev_ref") && rng_chance(rng, 7, 8))
        return ref_block(gen->sender) == BLOCK_DBLQH ? gen->sender : 0;
    if (is(name, "chain") && rng_chance(rng, 7, 8)) return 0;
    if (is(name, "tc_ref") || is(name, "api_ref") || is(name, "prev_ref") || is(name, "client_ref"))
        return rng_chance(rng, 1, 2) ? block_ref(peer, BLOCK_DBTC, 1) : some_ref(gen);
    if (is(name, "tc_op") || is(name, "lqh_op") || is(name, "prev_op") || is(name, "lqh_scan") ||
        is(name, "tc_frag") || is(name, "tc_trans"))
        return some_record(gen);
    if (is(name, "node") || is(name, "president") || is(name, "candidate") || is(name, "master"))
        return (uint32_t)rng_below(rng, 10);
    if (is(name, "phase") || is(name, "step") || is(name, "operation") || is(name, "cause") ||
        is(name, "point") || is(name, "order") || is(name, "trans_id") || is(name, "dynamic_id") ||
        is(name, "attempt"))
        return (uint32_t)rng_below(rng, 9);
    if (is(name, "incarnation")) return gen->seen[rng_below(rng, GEN_SEEN)];
    if (is(name, "sender_data") || is(name, "api_op") || is(name, "api_scan") ||
        is(name, "api_connect"))
        return ++gen->counter;
    return rng_chance(rng, 1, 2) ? (uint32_t)rng_below(rng, 8) : gen_odd(gen);
}

/* --- Tables: the generator knows their columns, so that keys and rows can be nearly right. --- */

struct gen_column {
    const char *name;
    uint32_t type;
    uint32_t length;
    uint32_t collation;
    uint32_t flags;
};

#define KEY COLUMN_PRIMARY_KEY
#define NUL COLUMN_NULLABLE
static const struct gen_column layouts[GEN_LAYOUTS][7] = {
    {{"k", COLUMN_UNSIGNED, 1, 0, KEY},
     {"v", COLUMN_VARBINARY, 100, 0, NUL},
     {"n", COLUMN_BIGINT, 1, 0, NUL}},
    {{"k", COLUMN_VARCHAR, 12, COLLATION_UTF8MB4_GENERAL_CI, KEY},
     {"j", COLUMN_INT, 1, 0, KEY},
     {"c", COLUMN_CHAR, 20, COLLATION_UTF8MB4_BIN, NUL},
     {"b", COLUMN_BIT, 9, 0, NUL},
     {"d", COLUMN_DATE, 1, 0, NUL},
     {"t", COLUMN_TINYUNSIGNED, 1, 0, 0}},
    {{"a", COLUMN_BINARY, 7, 0, KEY},
     {"l", COLUMN_LONGVARBINARY, 14000, 0, NUL},
     {"m", COLUMN_LONGVARCHAR, 3000, COLLATION_BINARY, 0},
     {"f", COLUMN_DOUBLE, 1, 0, NUL}},
};
#undef KEY
#undef NUL

/* Two ordered indexes of each, over two columns. */
#define GEN_INDEXES 2u
static const uint16_t index_columns[GEN_LAYOUTS][GEN_INDEXES][2] = {
    {{1, 0}, {2, 1}}, {{0, 2}, {4, 5}}, {{2, 3}, {3, 0}}};

uint32_t gen_table_words(uint32_t layout, uint32_t number, uint32_t *words, uint32_t words_max)
{
    static uint8_t memory[400000] __attribute__((aligned(16)));
    char name[32];
    struct table_def *def = table_def_init(memory, sizeof memory, TABLE_COLUMNS_MAX);
    if (def == NULL) return 0;
    snprintf(name, sizeof name, "t%u_%u", layout, number);
    table_def_set_name(def, "hostile", 7, name, (uint32_t)strlen(name));
    for (const struct gen_column *column = layouts[layout]; column->name != NULL; column++) {
        struct table_column_options options = {
            .name = column->name, .name_size = 1, .flags = column->flags};
        options.format.type = (uint8_t)column->type;
        options.format.length = column->length;
        options.format.collation = (uint8_t)column->collation;
        if (table_def_add_column(def, &options) != 0) return 0;
    }
    for (uint32_t i = 0; i < GEN_INDEXES; i++) {
        const char index[2] = {(char)('i' + i), 0};
        if (table_def_add_index(def, index, 1, index_columns[layout][i], 2) != 0) return 0;
    }
    if (table_def_check(def) != 0) return 0;
    return table_def_encode(def, words, words_max);
}

/* A value of a column: bytes that are mostly legal, few enough different keys that rows are met
 * again. */
static uint32_t put_value(struct gen *gen, const struct gen_column *column, uint8_t *to)
{
    struct rng *rng = &gen->rng;
    uint32_t size = 0;
    bool key = (column->flags & COLUMN_PRIMARY_KEY) != 0;
    uint32_t fill = (uint32_t)rng_below(rng, key ? 16 : 256);
    switch (column->type) {
    case COLUMN_UNSIGNED:
    case COLUMN_INT:
        size = 4;
        break;
    case COLUMN_BIGINT:
    case COLUMN_DOUBLE:
        size = 8;
        break;
    case COLUMN_DATE:
        size = 3;
        break;
    case COLUMN_TINYUNSIGNED:
        size = 1;
        break;
    case COLUMN_BIT:
        size = 4;
        break;
    case COLUMN_BINARY:
        size = column->length;
        break;
    case COLUMN_CHAR:
        size = column->length;
        memset(to, ' ', size);
        to[0] = (uint8_t)('a' + fill % 26u);
        return size;
    case COLUMN_VARCHAR:
    case COLUMN_VARBINARY:
        size = (uint32_t)rng_below(rng, key ? 3 : column->length + 1u);
        to[0] = (uint8_t)size;
        memset(to + 1, column->type == COLUMN_VARCHAR ? 'A' + (int)(fill % 26u) : (int)fill, size);
        return size + 1;
    default:
        size = (uint32_t)rng_below(rng, rng_chance(rng, 1, 8) ? column->length + 1u : 60);
        to[0] = (uint8_t)size;
        to[1] = (uint8_t)(size >> 8);
        memset(to + 2, (int)fill, size);
        return size + 2;
    }
    memset(to, 0, size);
    to[0] = (uint8_t)fill;
    if (column->type == COLUMN_DATE) to[0] = (uint8_t)(1u + fill % 28u) | 1u << 5;
    return size;
}

static uint32_t put_key(struct gen *gen, uint32_t layout, uint32_t *words)
{
    uint32_t at = 0;
    for (const struct gen_column *column = layouts[layout]; column->name != NULL; column++) {
        if ((column->flags & COLUMN_PRIMARY_KEY) == 0) continue;
        uint8_t bytes[64] = {0};
        uint32_t size = put_value(gen, column, bytes);
        memcpy(words + at, bytes, words_of(size) * 4u);
        at += words_of(size);
    }
    return at;
}

static uint32_t put_write(struct gen *gen, uint32_t layout, uint32_t *words)
{
    struct rng *rng = &gen->rng;
    uint32_t at = 0;
    uint32_t number = 0;
    for (const struct gen_column *column = layouts[layout]; column->name != NULL;
         column++, number++) {
        if ((column->flags & COLUMN_PRIMARY_KEY) != 0 && !rng_chance(rng, 1, 30)) continue;
        if (rng_chance(rng, 1, 5)) continue;
        static uint8_t bytes[16384 + 8];
        memset(bytes, 0, 64);
        uint32_t size = put_value(gen, column, bytes);
        if ((column->flags & COLUMN_NULLABLE) != 0 && rng_chance(rng, 1, 5)) size = 0;
        memset(bytes + size, 0, 4);
        words[at++] = attr_header(number, size);
        memcpy(words + at, bytes, words_of(size) * 4u);
        at += words_of(size);
    }
    return at;
}

static uint32_t put_read(struct gen *gen, uint32_t *words)
{
    struct rng *rng = &gen->rng;
    if (rng_chance(rng, 1, 2)) {
        words[0] = attr_header(ATTR_READ_ALL, 0);
        return 1;
    }
    uint32_t count = (uint32_t)rng_below(rng, rng_chance(rng, 1, 20) ? 600 : 7);
    for (uint32_t i = 0; i < count; i++)
        words[i] = attr_header((uint32_t)rng_below(rng, 8), 0);
    return count;
}

/* --- Changes of tables. --- */

/* Puts one of few names, so that they meet each other, or a text that no name can be. Returns its
 * size. */
static uint32_t put_text(struct gen *gen, char *to)
{
    struct rng *rng = &gen->rng;
    uint32_t size = (uint32_t)rng_below(rng, rng_chance(rng, 1, 12) ? 140 : 4);
    memset(to, 0, 144);
    for (uint32_t i = 0; i < size; i++)
        to[i] = rng_chance(rng, 1, 60) ? (char)gen_odd(gen) : (char)('a' + rng_below(rng, 12));
    return size;
}

static uint32_t put_names(struct gen *gen, uint32_t *words)
{
    char text[144];
    uint32_t at = 1;
    words[0] = 0;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t size = put_text(gen, text);
        words[0] |= size << 16 * i;
        memcpy(words + at, text, words_of(size) * 4u);
        at += words_of(size);
    }
    return at;
}

/* An index's name, behind the columns that it gets; of one that is dropped only the name. */
static uint32_t put_index(struct gen *gen, bool columns, uint32_t *words)
{
    struct rng *rng = &gen->rng;
    char text[144];
    uint32_t size = put_text(gen, text);
    uint32_t count = columns ? (uint32_t)rng_below(rng, rng_chance(rng, 1, 12) ? 70 : 4) : 0;
    uint32_t at = 1u + (count + 1u) / 2u;
    words[0] = size | count << 16;
    for (uint32_t i = 1; i < at; i++)
        words[i] = (uint32_t)(rng_below(rng, 8) | rng_below(rng, 8) << 16);
    memcpy(words + at, text, words_of(size) * 4u);
    return at + words_of(size);
}

static uint32_t put_column(struct gen *gen, uint32_t layout, uint32_t *words)
{
    struct rng *rng = &gen->rng;
    const struct gen_column *column = &layouts[layout][rng_below(rng, 3)];
    char text[144];
    uint32_t size = put_text(gen, text);
    uint32_t flags = rng_chance(rng, 1, 8) ? (uint32_t)rng_below(rng, 256) : COLUMN_NULLABLE;
    words[0] = column->type | column->collation << 8 | (rng_chance(rng, 1, 12) ? gen_odd(gen) : 0);
    words[1] = rng_chance(rng, 1, 12) ? gen_odd(gen) : column->length;
    words[2] = flags | size << 8 | (rng_chance(rng, 1, 20) ? gen_odd(gen) << 16 : 0);
    memcpy(words + 3, text, words_of(size) * 4u);
    return 3u + words_of(size);
}

static uint32_t put_change(struct gen *gen, uint32_t layout, uint32_t kind, uint32_t *words)
{
    uint32_t count = 0;
    if (kind == ALTER_CREATE_INDEX || kind == ALTER_DROP_INDEX)
        count = put_index(gen, kind == ALTER_CREATE_INDEX, words);
    else if (kind == ALTER_ADD_COLUMN)
        count = put_column(gen, layout, words);
    else if (kind != ALTER_TRUNCATE)
        count = put_names(gen, words);
    if (rng_chance(&gen->rng, 1, 20)) words[0] = gen_odd(gen);
    return rng_chance(&gen->rng, 1, 20) ? (uint32_t)rng_below(&gen->rng, 60) : count;
}

/* Its bounds are new, what it has besides is given. */
static uint32_t put_range(struct gen *gen, uint32_t layout, struct scan_range *range,
                          uint32_t *words)
{
    static uint8_t bytes[2][2][16384 + 8];
    struct rng *rng = &gen->rng;
    struct scan_bound *bounds[2] = {&range->low, &range->high};
    for (uint32_t b = 0; b < 2; b++) {
        struct scan_bound *bound = bounds[b];
        bound->columns = (uint32_t)rng_below(rng, 3);
        bound->exclusive = bound->columns > 0 && rng_chance(rng, 1, 2);
        for (uint32_t i = 0; i < bound->columns; i++) {
            uint32_t column = index_columns[layout][range->index % GEN_INDEXES][i];
            memset(bytes[b][i], 0, 64);
            uint32_t size = put_value(gen, &layouts[layout][column], bytes[b][i]);
            bound->value[i] = (struct scan_value){bytes[b][i], rng_chance(rng, 1, 6) ? 0 : size};
        }
    }
    return scan_range_encode(range, words, SCAN_RANGE_WORDS_MAX + 100u);
}

/* Ranges of an index that is mostly there, mostly as they should be. */
static uint32_t put_ranges(struct gen *gen, uint32_t layout, uint32_t *words)
{
    static struct scan_range range;
    struct rng *rng = &gen->rng;
    uint32_t count = rng_chance(rng, 1, 2) ? 1u : 1u + (uint32_t)rng_below(rng, 9);
    uint32_t used = 0;
    range.index = (uint32_t)rng_below(rng, rng_chance(rng, 1, 8) ? 5 : GEN_INDEXES);
    range.flags = (uint32_t)rng_below(rng, 4);
    range.number = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (rng_chance(rng, 1, 3)) range.flags ^= SCAN_ONE_PARTITION;
        range.partition = gen_odd(gen);
        used += put_range(gen, layout, &range, words + used);
        if (!rng_chance(rng, 1, 10)) range.number += 1u + (uint32_t)rng_below(rng, 25);
        if (rng_chance(rng, 1, 20)) range.flags ^= 1u << rng_below(rng, 4);
        if (rng_chance(rng, 1, 20)) range.index ^= 1;
    }
    return used;
}

static uint32_t put_train(struct gen *gen, uint32_t *words)
{
    uint32_t count = 1u + (uint32_t)rng_below(&gen->rng, rng_chance(&gen->rng, 1, 10) ? 80 : 4);
    for (uint32_t i = 0; i < count; i++) {
        const struct gen_op *op = i == 0 && gen->using_op != NULL
                                      ? gen->using_op
                                      : &gen->op[rng_below(&gen->rng, GEN_OPS)];
        uint32_t *entry = words + i * TRAIN_ENTRY_WORDS;
        entry[0] = rng_chance(&gen->rng, 1, 8) ? some_record(gen) : op->lqh_op;
        entry[1] = rng_chance(&gen->rng, 1, 8) ? some_record(gen) : op->tc_op;
        entry[2] = rng_chance(&gen->rng, 1, 8) ? gen_odd(gen) : op->transid1;
    }
    return count * TRAIN_ENTRY_WORDS;
}

static uint32_t put_noise(struct gen *gen, uint32_t *words)
{
    uint32_t count = (uint32_t)rng_below(&gen->rng, rng_chance(&gen->rng, 1, 100) ? 20000 : 40);
    for (uint32_t i = 0; i < count; i++)
        words[i] = gen_odd(gen);
    return count;
}

static uint32_t put_name(struct gen *gen, uint32_t *words)
{
    char name[64];
    snprintf(name, sizeof name, "hostile/def/t%u_%u", (uint32_t)rng_below(&gen->rng, 3),
             (uint32_t)rng_below(&gen->rng, 9));
    uint32_t size = (uint32_t)strlen(name);
    memset(words, 0, sizeof name + 4);
    words[0] = rng_chance(&gen->rng, 1, 20) ? gen_odd(gen) : size;
    memcpy(words + 1, name, size);
    return 1 + words_of(size);
}

uint32_t gen_section(struct gen *gen, uint32_t gsn, uint32_t number, const uint32_t *payload,
                     uint32_t *words)
{
    uint32_t layout = gen->using_table == NULL ? (uint32_t)rng_below(&gen->rng, GEN_LAYOUTS)
                                               : gen->using_table->layout;
    if (rng_chance(&gen->rng, 1, 40)) return put_noise(gen, words);
    switch (gsn) {
    case GSN_TCKEYREQ:
    case GSN_LQHKEYREQ: {
        uint32_t info = gsn == GSN_TCKEYREQ
                            ? ((const struct tckeyreq *)(const void *)payload)->request_info
                            : ((const struct lqhkeyreq *)(const void *)payload)->request_info;
        if (number == 0) return put_key(gen, layout, words);
        return key_operation_of(info) == OP_READ ? put_read(gen, words)
                                                 : put_write(gen, layout, words);
    }
    case GSN_SCAN_TABREQ:
    case GSN_SCAN_FRAGREQ:
        if (number == 1 && rng_chance(&gen->rng, 3, 4)) return 0; /* A range without a program. */
        if (number == 2) return put_ranges(gen, layout, words);
        return rng_chance(&gen->rng, 1, 4) ? 0 : put_read(gen, words);
    case GSN_SCAN_NEXTREQ: {
        uint32_t count = (uint32_t)rng_below(&gen->rng, 5);
        for (uint32_t i = 0; i < count; i++)
            words[i] = (uint32_t)rng_below(&gen->rng, 6);
        return count;
    }
    case GSN_CREATE_TABLE_REQ:
    case GSN_SCHEMA_PREPARE_REQ:
        if (number == 0)
            return gen_table_words(layout, (uint32_t)rng_below(&gen->rng, 9), words, 4000);
        return put_noise(gen, words);
    case GSN_ALTER_TABLE_REQ:
        return put_change(gen, layout,
                          ((const struct alter_table_req *)(const void *)payload)->kind, words);
    case GSN_GET_TABINFO_REQ:
        return put_name(gen, words);
    case GSN_COMMIT:
    case GSN_COMMITTED:
    case GSN_COMPLETE:
    case GSN_COMPLETED:
    case GSN_ABORT:
    case GSN_ABORTED:
        return put_train(gen, words);
    default:
        return put_noise(gen, words);
    }
}
