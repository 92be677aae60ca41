/* hostile_gen.c -- chooses what to send next, builds it right, and then damages some of it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/hostile/hostile_gen.h"
#include <string.h>
#include "signals/dict.h"
#include "signals/print.h"
#include "signals/scan.h"

void gen_init(struct gen *gen, uint64_t seed)
{
    memset(gen, 0, sizeof *gen);
    rng_seed(&gen->rng, seed);
    for (uint32_t i = 0; i < GEN_SEEN; i++)
        gen->seen[i] = i / 2;
}

static struct gen_connect *connect_of(struct gen *gen, uint32_t peer, uint32_t transid1,
                                      uint32_t transid2)
{
    for (uint32_t i = 0; i < GEN_CONNECTS; i++) {
        struct gen_connect *connect = &gen->connect[i];
        if (connect->owner == peer && connect->transid1 == transid1 &&
            connect->transid2 == transid2)
            return connect;
    }
    return NULL;
}

static void next_transaction(struct gen *gen, struct gen_connect *connect)
{
    connect->started = connect->executing = connect->scanning = 0;
    connect->transid1 = ++gen->counter;
    connect->transid2 = connect->owner << 20;
}

static void learn_connect(struct gen *gen, uint32_t peer, const struct signal *sig)
{
    struct gen_connect *connect = &gen->connect[1u + gen->connect_next++ % (GEN_CONNECTS - 1u)];
    *connect = (struct gen_connect){.tc_ref = sig->sender, .owner = peer};
    connect->tc_connect = SIG_PAYLOAD(sig, tcseizeconf)->tc_connect;
    next_transaction(gen, connect);
}

/* The newest version of a table, or of the one that has taken its place. */
static void learn_altered(struct gen *gen, const struct alter_table_conf *conf)
{
    for (uint32_t i = 0; i < GEN_TABLES; i++) {
        struct gen_table *table = &gen->table[i];
        bool truncated = table->id == gen->truncated;
        if (table->id != conf->table_id && !truncated) continue;
        table->id = conf->table_id;
        table->version = conf->version;
        if (truncated) gen->truncated = 0;
    }
}

void gen_learn(struct gen *gen, uint32_t peer, const struct signal *sig)
{
    for (uint32_t i = 0; i < sig->words && i < 4; i++)
        gen->seen[gen->seen_next++ % GEN_SEEN] = sig->payload[i];
    struct gen_connect *connect = NULL;
    const uint32_t *word = sig->payload;
    switch (sig->gsn) {
    case GSN_LQHKEYCONF:
        gen->op[gen->op_next++ % GEN_OPS] =
            (struct gen_op){sig->sender, word[3], word[0], word[1], word[2]};
        break;
    case GSN_SCAN_FRAGCONF:
        gen->scan[gen->scan_next++ % GEN_OPS] =
            (struct gen_op){sig->sender, word[3], word[0], word[1], word[2]};
        break;
    case GSN_TCSEIZECONF:
        learn_connect(gen, peer, sig);
        break;
    case GSN_CREATE_TABLE_CONF: {
        struct gen_table *table = &gen->table[gen->table_next++ % GEN_TABLES];
        table->id = SIG_PAYLOAD(sig, create_table_conf)->table_id;
        table->version = SIG_PAYLOAD(sig, create_table_conf)->version;
        table->layout = SIG_PAYLOAD(sig, create_table_conf)->sender_data % GEN_LAYOUTS;
        break;
    }
    case GSN_ALTER_TABLE_CONF:
        learn_altered(gen, SIG_PAYLOAD(sig, alter_table_conf));
        break;
    case GSN_TCKEYCONF:
        connect = connect_of(gen, peer, sig->payload[1], sig->payload[2]);
        if (connect != NULL) connect->executing = 0;
        if ((SIG_PAYLOAD(sig, tckeyconf)->flags & KEYCONF_COMMITTED) == 0) connect = NULL;
        break;
    case GSN_TC_COMMITCONF:
    case GSN_TC_COMMITREF:
    case GSN_TCROLLBACKCONF:
    case GSN_TCROLLBACKREP:
    case GSN_SCAN_TABREF:
        connect = connect_of(gen, peer, sig->payload[1], sig->payload[2]);
        break;
    case GSN_SCAN_TABCONF:
        if ((SIG_PAYLOAD(sig, scan_tabconf)->flags & SCAN_END) != 0)
            connect = connect_of(gen, peer, sig->payload[1], sig->payload[2]);
        break;
    default:
        break;
    }
    if (connect != NULL) next_transaction(gen, connect);
}

void gen_forget(struct gen *gen, uint32_t peer)
{
    for (uint32_t i = 0; i < GEN_CONNECTS; i++) {
        if (gen->connect[i].owner == peer)
            gen->connect[i].owner = 0; /* Its numbers stay, to be tried again. */
    }
}

/* So often a record is passed over because an answer is due; then it is given up. */
#define PATIENCE 30u

/* --- What to send. --- */

struct choice {
    uint32_t gsn;
    uint32_t weight;
};

static const struct choice client_choices[] = {
    {GSN_TCKEYREQ, 200},       {GSN_TCSEIZEREQ, 10},      {GSN_TCRELEASEREQ, 3},
    {GSN_TC_COMMITREQ, 20},    {GSN_TCROLLBACKREQ, 12},   {GSN_SCAN_TABREQ, 30},
    {GSN_SCAN_NEXTREQ, 40},    {GSN_CREATE_TABLE_REQ, 4}, {GSN_DROP_TABLE_REQ, 1},
    {GSN_GET_TABINFO_REQ, 3},  {GSN_LIST_TABLES_REQ, 2},  {GSN_API_REGREQ, 4},
    {GSN_WAIT_DURABLE_REQ, 4}, {GSN_ALTER_TABLE_REQ, 6},
};
static const struct choice mgm_choices[] = {
    {GSN_EVENT_SUBSCRIBE_REQ, 4},
    {GSN_DUMP_STATE_ORD, 6},
    {GSN_NODE_STATUS_REQ, 4},
    {GSN_MEMORY_REPORT_REQ, 4},
    {GSN_DISK_REPORT_REQ, 4},
    {GSN_THREAD_REPORT_REQ, 4},
    {GSN_TCKEYREQ, 3},
    {GSN_API_REGREQ, 2},
    {GSN_STOP_REQ, 1},
    {GSN_START_ORD, 1},
    {GSN_TCSEIZEREQ, 1},
    {GSN_CREATE_TABLE_REQ, 1},
    {GSN_LIST_TABLES_REQ, 1},
};

static const struct choice data_choices[] = {
    {GSN_LQHKEYREQ, 30},       {GSN_COMMIT, 10},
    {GSN_COMPLETE, 8},         {GSN_ABORT, 6},
    {GSN_SCAN_FRAGREQ, 8},     {GSN_SCAN_FRAG_NEXTREQ, 8},
    {GSN_CM_REGREQ, 2},        {GSN_SCHEMA_PREPARE_REQ, 2},
    {GSN_SCHEMA_STEP_REQ, 2},  {GSN_SCHEMA_COPY_REQ, 2},
    {GSN_SCHEMA_COPY_CONF, 1},
};

static uint32_t choose(struct gen *gen, const struct choice *choices, size_t count)
{
    uint32_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += choices[i].weight;
    uint32_t at = (uint32_t)rng_below(&gen->rng, total);
    for (size_t i = 0; i < count; i++) {
        if (at < choices[i].weight) return choices[i].gsn;
        at -= choices[i].weight;
    }
    return choices[0].gsn;
}

#define SHAPES_MAX 300u /* More than there are: what is not there is drawn again. */

/* Any signal of the system that this class may send (or, seldom, may not). */
static uint32_t any_gsn(struct gen *gen, uint32_t sender_class)
{
    for (uint32_t tries = 0; tries < 300; tries++) {
        const struct signal_shape *shape =
            signal_shape_at((uint32_t)rng_below(&gen->rng, SHAPES_MAX));
        if (shape == NULL) continue;
        if ((shape->senders & sender_class) != 0 || rng_chance(&gen->rng, 1, 400))
            return shape->gsn;
    }
    return GSN_API_REGREQ;
}

static uint32_t choose_gsn(struct gen *gen, uint32_t sender_class)
{
    if (sender_class == FROM_DATA && rng_chance(&gen->rng, 3, 4))
        return choose(gen, data_choices, sizeof data_choices / sizeof data_choices[0]);
    if (sender_class == FROM_DATA || rng_chance(&gen->rng, 1, 12))
        return any_gsn(gen, sender_class);
    if (sender_class == FROM_MGM)
        return choose(gen, mgm_choices, sizeof mgm_choices / sizeof mgm_choices[0]);
    return choose(gen, client_choices, sizeof client_choices / sizeof client_choices[0]);
}

/* The block that takes a signal: where its kind is at home, by number. */
static uint32_t receiver_of(struct gen *gen, uint32_t gsn)
{
    uint32_t block = BLOCK_CMVMI;
    uint32_t instance = 0;
    if (gsn >= 32 && gsn < 50)
        block = BLOCK_QMGR;
    else if (gsn >= 50 && gsn < 60)
        block = BLOCK_NDBCNTR;
    else if (gsn >= 60 && gsn < 80)
        block = BLOCK_DBDIH;
    else if (gsn >= 80 && gsn < 100)
        block = BLOCK_QMGR;
    else if (gsn >= 100 && gsn < 130)
        block = BLOCK_DBTC;
    else if (gsn >= 130 && gsn < 139)
        block = gsn == GSN_LQHKEYCONF || gsn == GSN_LQHKEYREF || gsn == GSN_COMMITTED ||
                        gsn == GSN_COMPLETED || gsn == GSN_ABORTED
                    ? BLOCK_DBTC
                    : BLOCK_DBLQH;
    else if (gsn >= 150 && gsn < 160)
        block = gsn == GSN_SCAN_FRAGREQ || gsn == GSN_SCAN_FRAG_NEXTREQ ? BLOCK_DBLQH : BLOCK_DBTC;
    else if (gsn >= 170 && gsn < 230)
        block = BLOCK_DBDICT;
    else if (gsn >= 300 && gsn < 327)
        block = BLOCK_DBDIH;
    else if (gsn >= 327 && gsn < 330)
        block = BLOCK_DBTC;
    else if (gsn < 32)
        block = 1u + (uint32_t)rng_below(&gen->rng, 9);
    if (block == BLOCK_DBTC) instance = 1u + (uint32_t)rng_below(&gen->rng, gen->tc_count);
    if (block >= BLOCK_DBLQH) instance = 1u + (uint32_t)rng_below(&gen->rng, gen->ldm_count);
    if (block == BLOCK_DBTC && gen->using_connect != NULL && rng_chance(&gen->rng, 29, 30))
        return gen->using_connect->tc_ref;
    return block_ref(1, block, instance);
}

/* Is the record in a state in which the signal makes sense? The senseless ones come seldom, but
 * they come. */
static bool suits(const struct gen *gen, const struct gen_connect *connect, uint32_t gsn)
{
    bool for_scans = (connect - gen->connect) % 3 == 2;
    switch (gsn) {
    case GSN_TCKEYREQ:
        return !for_scans && !connect->executing;
    case GSN_TC_COMMITREQ:
    case GSN_TCROLLBACKREQ:
        return connect->started != 0;
    case GSN_SCAN_TABREQ:
        return for_scans && !connect->scanning;
    case GSN_SCAN_NEXTREQ:
        return connect->scanning != 0;
    default:
        return true;
    }
}

static void choose_context(struct gen *gen, uint32_t peer, uint32_t gsn)
{
    struct rng *rng = &gen->rng;
    gen->using_connect = NULL;
    for (uint32_t tries = 0; tries < 20; tries++) {
        struct gen_connect *connect = &gen->connect[rng_below(rng, GEN_CONNECTS)];
        if (connect->executing != 0 && ++connect->executing > PATIENCE)
            next_transaction(gen, connect);
        if (connect->tc_ref == 0 || (connect->owner != peer && !rng_chance(rng, 1, 300))) continue;
        if (!suits(gen, connect, gsn) && !rng_chance(rng, 1, 500)) continue;
        gen->using_connect = connect;
        break;
    }
    gen->using_table = &gen->table[rng_below(rng, GEN_TABLES)];
    if (rng_chance(rng, 1, 15)) {
        gen->focus = (struct gen_table){gen->good_table, gen->good_version, 0};
        gen->using_table = &gen->focus;
    }
    if (gen->using_table->id == 0) gen->using_table = NULL;
}

/* As a data node: which of its blocks speaks, and of which operation. */
static void choose_op(struct gen *gen, uint32_t peer, uint32_t sender_class, uint32_t gsn)
{
    struct rng *rng = &gen->rng;
    uint32_t block = BLOCK_API;
    gen->using_op = NULL;
    if (sender_class == FROM_DATA) block = ref_block(receiver_of(gen, gsn));
    if (sender_class == FROM_DATA && block == BLOCK_DBLQH && rng_chance(rng, 15, 16))
        block = BLOCK_DBTC;
    gen->sender = block_ref(peer, block, block < BLOCK_DBTC ? 0 : 1);
    if (sender_class != FROM_DATA) return;
    if (gsn == GSN_COMMIT || gsn == GSN_COMPLETE || gsn == GSN_ABORT)
        gen->using_op = &gen->op[rng_below(rng, GEN_OPS)];
    if (gsn == GSN_SCAN_FRAG_NEXTREQ) gen->using_op = &gen->scan[rng_below(rng, GEN_OPS)];
    if (gen->using_op != NULL && gen->using_op->lqh_ref == 0) gen->using_op = NULL;
}

/* --- Damage. --- */

struct draft {
    uint32_t gsn;
    uint32_t receiver;
    uint32_t sender;
    uint32_t prio;
    uint32_t payload_words;
    uint32_t payload[32];
    uint32_t sections;
    uint32_t size[SIGNAL_SECTIONS_MAX];
    uint32_t section[SIGNAL_SECTIONS_MAX][24000];
};

static void damage_section(struct gen *gen, struct draft *draft)
{
    struct rng *rng = &gen->rng;
    if (draft->sections == 0) return;
    uint32_t i = (uint32_t)rng_below(rng, draft->sections);
    uint32_t size = draft->size[i];
    switch (rng_below(rng, 5)) {
    case 0:
        draft->size[i] = 0;
        break;
    case 1:
        draft->size[i] = (uint32_t)rng_below(rng, size + 1u);
        break;
    case 2:
        if (size + 3u < 24000u) draft->size[i] = size + 1u + (uint32_t)rng_below(rng, 2);
        break;
    case 3:
        if (size > 0) draft->section[i][rng_below(rng, size)] ^= 1u << rng_below(rng, 32);
        break;
    default:
        if (size > 0) draft->section[i][rng_below(rng, size)] = gen_odd(gen);
        break;
    }
}

/* Kinds that end the link at once are rare: behind a closed link nothing is tested. */
static void damage(struct gen *gen, struct draft *draft)
{
    struct rng *rng = &gen->rng;
    uint32_t word = (uint32_t)rng_below(rng, draft->payload_words);
    switch (rng_below(rng, 9)) {
    case 0:
        draft->payload[word] ^= 1u << rng_below(rng, 32);
        break;
    case 1:
    case 2:
        draft->payload[word] = gen_odd(gen);
        break;
    case 3:
        while (draft->payload_words < SIGNAL_WORDS_MAX && rng_chance(rng, 3, 4))
            draft->payload[draft->payload_words++] = gen_odd(gen);
        break;
    case 4:
        draft->prio ^= 1u;
        break;
    case 5:
        draft->sender ^= (uint32_t)rng_below(rng, 0x1000000u);
        break;
    case 6:
    case 7:
        damage_section(gen, draft);
        break;
    default:
        if (!rng_chance(rng, 1, 8)) break;
        switch (rng_below(rng, 6)) {
        case 0:
            draft->payload_words = (uint32_t)rng_below(rng, draft->payload_words + 1u);
            break;
        case 1:
            draft->sections = (uint32_t)rng_below(rng, 4);
            break;
        case 2:
            draft->receiver ^= 1u << rng_below(rng, 24);
            break;
        case 3:
            draft->receiver = gen_odd(gen);
            break;
        case 4:
            draft->gsn = gen_odd(gen) & 0xFFFFu;
            break;
        default:
            draft->sender = gen_odd(gen);
            break;
        }
    }
}

/* What every client may do to a table is no attack: the good client's rows are left alone. */
static void spare_good(const struct gen *gen, struct draft *draft)
{
    if (draft->gsn == GSN_TCKEYREQ && draft->payload[2] == gen->good_table)
        draft->payload[4] =
            (draft->payload[4] & ~0x1Fu) | key_request_info(OP_READ, LOCK_COMMITTED, 0);
    if (draft->gsn == GSN_SCAN_TABREQ && draft->payload[2] == gen->good_table)
        draft->payload[4] = (draft->payload[4] & ~0x18u) | LOCK_COMMITTED << 3;
    if (draft->gsn == GSN_DROP_TABLE_REQ && draft->payload[1] == gen->good_table)
        draft->payload[2] += 1000;
    if (draft->gsn == GSN_ALTER_TABLE_REQ && draft->payload[1] == gen->good_table &&
        draft->payload[3] == ALTER_TRUNCATE)
        draft->payload[2] += 1000;
    if (draft->gsn == GSN_DUMP_STATE_ORD && draft->payload[1] == 9000)
        draft->payload[1] = 9001; /* Error inserts. */
    bool stops = draft->gsn == GSN_STOP_REQ || draft->gsn == GSN_CNTR_STOP_REP;
    bool closes = draft->gsn == GSN_SINGLE_USER_REQ || draft->gsn == GSN_CNTR_SINGLE_REP;
    if ((stops || closes) && !gen->allow_stop) draft->gsn = GSN_NODE_STATUS_REQ;
}

static uint32_t write_draft(const struct draft *draft, uint32_t *words)
{
    uint32_t extent = SIGNAL_HEAD_WORDS + draft->payload_words + draft->sections;
    memcpy(words + SIGNAL_HEAD_WORDS, draft->payload, draft->payload_words * 4u);
    for (uint32_t i = 0; i < draft->sections; i++)
        words[SIGNAL_HEAD_WORDS + draft->payload_words + i] = draft->size[i];
    for (uint32_t i = 0; i < draft->sections; i++) {
        memcpy(words + extent, draft->section[i], draft->size[i] * 4u);
        extent += draft->size[i];
    }
    words[0] = signal_kind(draft->gsn, draft->payload_words, draft->sections, draft->prio, 0);
    words[1] = draft->receiver;
    words[2] = draft->sender;
    words[3] = extent;
    return extent;
}

static void fill_payload(struct gen *gen, uint32_t peer, const struct signal_shape *shape,
                         struct draft *draft)
{
    for (uint32_t i = 0; i < shape->field_count; i++) {
        const struct signal_field *field = &shape->fields[i];
        for (uint32_t w = 0; w < field->words; w++)
            draft->payload[field->word + w] = field->words > 1
                                                  ? (rng_chance(&gen->rng, 1, 3) ? gen_odd(gen) : 0)
                                                  : gen_field(gen, peer, shape->gsn, field->name);
    }
}

static void note_sent(struct gen *gen, const struct draft *draft)
{
    struct gen_connect *connect = NULL;
    if (draft->gsn == GSN_ALTER_TABLE_REQ)
        gen->truncated = draft->payload[3] == ALTER_TRUNCATE ? draft->payload[1] : 0;
    for (uint32_t i = 0; i < GEN_CONNECTS; i++) {
        if (&gen->connect[i] == gen->using_connect) connect = &gen->connect[i];
    }
    if (connect == NULL) return;
    if (draft->gsn == GSN_TCKEYREQ && (draft->payload[4] & KEY_START) != 0) connect->started = 1;
    if (draft->gsn == GSN_TCKEYREQ && (draft->payload[4] & (KEY_EXECUTE | KEY_COMMIT)) != 0)
        connect->executing = 1;
    if (draft->gsn == GSN_TC_COMMITREQ || draft->gsn == GSN_TCROLLBACKREQ) connect->executing = 1;
    if (draft->gsn == GSN_SCAN_TABREQ) {
        connect->scanning = 1;
        connect->api_scan = draft->payload[1];
    }
}

uint32_t gen_signal(struct gen *gen, uint32_t peer, uint32_t sender_class, uint32_t *words)
{
    static struct draft draft;
    struct rng *rng = &gen->rng;
    uint32_t gsn = choose_gsn(gen, sender_class);
    choose_context(gen, peer, gsn);
    if (gen->using_connect == NULL && sender_class != FROM_DATA && gsn >= GSN_TCRELEASEREQ &&
        gsn <= GSN_SCAN_NEXTREQ && rng_chance(rng, 3, 4))
        gsn = GSN_TCSEIZEREQ;
    choose_op(gen, peer, sender_class, gsn);
    const struct signal_shape *shape = signal_shape(gsn);
    draft.gsn = gsn;
    draft.receiver = receiver_of(gen, gsn);
    draft.sender = gen->sender;
    if (gen->using_op != NULL && rng_chance(rng, 15, 16)) draft.receiver = gen->using_op->lqh_ref;
    draft.prio = PRIO_B;
    draft.payload_words = shape->words;
    fill_payload(gen, peer, shape, &draft);
    draft.sections = shape->sections_min +
                     (uint32_t)rng_below(rng, shape->sections_max - shape->sections_min + 1u);
    if (gsn == GSN_CREATE_TABLE_REQ) { /* The answer tells which layout the table has. */
        gen->focus = (struct gen_table){.id = 1, .layout = draft.payload[0] % GEN_LAYOUTS};
        gen->using_table = &gen->focus;
    }
    for (uint32_t i = 0; i < draft.sections; i++)
        draft.size[i] = gen_section(gen, gsn, i, draft.payload, draft.section[i]);
    if (rng_chance(rng, 1, 8)) damage(gen, &draft);
    spare_good(gen, &draft);
    note_sent(gen, &draft);
    uint32_t count = write_draft(&draft, words);
    if (rng_chance(rng, 1, 1000)) words[rng_below(rng, 4)] ^= 1u << rng_below(rng, 32);
    return count;
}
