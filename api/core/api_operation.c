/* api_operation.c -- key operations: packed into their transaction's train when they are defined.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/core/api_table_state.h"
#include "api/core/api_tx_state.h"
#include "values/table_index.h"

static bool grow_train(struct api_tx *tx, uint32_t words)
{
    if (words > UINT32_MAX / 8u) return false;
    uint32_t room = tx->train_room == 0 ? 256 : tx->train_room;
    while (room < words)
        room *= 2;
    uint32_t *train = realloc(tx->train, (size_t)room * 4u);
    if (train == NULL) return false;
    tx->train = train;
    tx->train_room = room;
    return true;
}

/* Two section lengths stand before the key; end moves it when there is only one section. */
uint32_t *api_op_begin(struct api_tx *tx, uint32_t words_max)
{
    if (tx->state != TX_IDLE || tx->outcome != API_ACTIVE || words_max > SIGNAL_EXTENT_MAX)
        return NULL;
    uint32_t need = tx->train_words + KEYREQ_WORDS + 2 + words_max + 1;
    if (need > tx->train_room && !grow_train(tx, need)) return NULL;
    return tx->train + tx->train_words + KEYREQ_WORDS + 2;
}

static void append_op(struct api_tx *tx, struct api_op *op)
{
    op->next = NULL;
    if (tx->last != NULL) {
        tx->last->next = op;
    } else {
        tx->first = op;
    }
    tx->last = op;
    if (tx->batch == NULL) tx->batch = op;
}

/* A unique key without a lock could lead to a row that has another one by now. */
static enum lock_mode lock_of(const struct api_op_options *options)
{
    bool locks = options->unique != 0 && options->lock == LOCK_COMMITTED;
    return locks ? LOCK_SHARED : options->lock;
}

static void pack_keyreq(struct api_tx *tx, struct api_op *op, const struct api_op_options *options,
                        uint32_t key_words, uint32_t attr_words)
{
    uint32_t *out = tx->train + op->at;
    const struct table_def *def = options->table->def;
    uint32_t sections = attr_words == 0 ? 1 : 2;
    uint32_t wire = options->flags & (KEY_IGNORE_ERROR | KEY_NOWAIT | KEY_PROGRAM);
    struct table_index unique;
    struct tckeyreq *req = (void *)(out + SIGNAL_HEAD_WORDS);

    if ((options->flags & API_OP_MAY_MISS) != 0) wire |= KEY_IGNORE_ERROR;
    api_pack_head(out, GSN_TCKEYREQ, 0, tx->client->own_ref, sizeof *req / 4u, sections);
    out[3] += key_words + attr_words;
    req->tc_connect = 0;
    req->api_op = op->record.ref;
    req->table_id = def->table_id;
    req->schema_version = def->version;
    if (op->unique != 0 && table_def_unique(def, op->unique - 1u, &unique)) {
        wire |= KEY_UNIQUE;
        req->table_id = unique.table_id;
        req->schema_version = unique.version;
    }
    req->request_info = key_request_info(options->operation, lock_of(options), wire);
    req->transid1 = (uint32_t)tx->transid;
    req->transid2 = (uint32_t)(tx->transid >> 32);
    out[KEYREQ_WORDS] = key_words;
    if (sections == 2) {
        out[KEYREQ_WORDS + 1] = attr_words;
    } else {
        memmove(out + KEYREQ_WORDS + 1, out + KEYREQ_WORDS + 2, key_words * 4u);
    }
    op->extent = out[3];
}

struct api_op *api_op_end(struct api_tx *tx, const struct api_op_options *options,
                          uint32_t key_words, uint32_t attr_words)
{
    struct api_op *op = api_pool_seize(&tx->client->ops);
    if (op == NULL) return NULL;
    bool read = options->operation == OP_READ;
    op->committed_read = read && lock_of(options) == LOCK_COMMITTED;
    op->unique = (uint8_t)options->unique;
    if (op->committed_read &&
        attr_words == 0) { /* It must be answered by a row: ask for a key column. */
        tx->train[tx->train_words + KEYREQ_WORDS + 2 + key_words] =
            attr_header(options->table->def->key_columns[0], 0);
        attr_words = 1;
    }
    op->tx = tx;
    op->table = options->table;
    op->row = options->row;
    op->context = options->context;
    op->context2 = options->context2;
    op->at = tx->train_words;
    op->error = 0;
    op->fragment = UINT32_MAX;
    op->node = 0;
    op->state = OP_DEFINED;
    op->attempts = 0;
    op->changes = !read;
    op->wants_row = read && attr_words > 0;
    if ((options->flags & KEY_PROGRAM) != 0) /* Its second word is how many reads there are. */
        op->wants_row = tx->train[tx->train_words + KEYREQ_WORDS + 2 + key_words + 1] > 0;
    const uint32_t *attrs = tx->train + tx->train_words + KEYREQ_WORDS + 2 + key_words;
    bool program = (options->flags & KEY_PROGRAM) != 0;
    op->row_words =
        op->wants_row ? api_op_row_words(options->table, program, attrs, attr_words) : 0;
    op->tolerant = (options->flags & KEY_IGNORE_ERROR) != 0;
    op->may_miss = (options->flags & API_OP_MAY_MISS) != 0;
    pack_keyreq(tx, op, options, key_words, attr_words);
    tx->train_words += op->extent;
    append_op(tx, op);
    tx->client->statistics.key_operations++;
    return op;
}

/* ---- Asking. ---- */

enum api_outcome api_tx_outcome(const struct api_tx *tx)
{
    return tx->outcome;
}
bool api_tx_in_flight(const struct api_tx *tx)
{
    return tx->state != TX_IDLE;
}
bool api_tx_changed(const struct api_tx *tx)
{
    const struct api_op *op = tx->first;
    while (op != NULL && !op->changes)
        op = op->next;
    return op != NULL;
}
uint32_t api_tx_error(const struct api_tx *tx)
{
    return tx->error;
}
struct api_op *api_tx_error_op(const struct api_tx *tx)
{
    return tx->error_op;
}
const char *api_tx_error_index(const struct api_tx *tx)
{
    struct table_index index;
    if (tx->error != ERR_UNIQUE_DUPLICATE || tx->error_op == NULL) return "";
    const struct table_def *def = tx->error_op->table->def;
    for (uint32_t i = 0; table_def_unique(def, i, &index); i++) {
        if (index.table_id == tx->error_data) return index.name;
    }
    return "";
}
uint32_t api_tx_error_fits(const struct api_tx *tx)
{
    bool known = tx->error == ERR_TC_OPERATIONS_LIMIT || tx->error == ERR_TRANSACTION_TOO_BIG;
    return known ? tx->error_data : 0;
}
struct api_op *api_tx_first(const struct api_tx *tx)
{
    return tx->first;
}
uint64_t api_tx_epoch(const struct api_tx *tx)
{
    return api_tx_changed(tx) ? tx->epoch : 0;
}
bool api_tx_durable(const struct api_tx *tx)
{
    return tx->durable;
}
uint64_t api_tx_id(const struct api_tx *tx)
{
    return tx->transid;
}
uint32_t api_tx_node(const struct api_tx *tx)
{
    return tx->node;
}
struct api_client *api_tx_client(const struct api_tx *tx)
{
    return tx->client;
}
void api_tx_prefer(struct api_tx *tx, uint32_t node)
{
    tx->prefer = node;
}
void *api_op_context(const struct api_op *op)
{
    return op->context;
}
void *api_op_context2(const struct api_op *op)
{
    return op->context2;
}
uint32_t api_op_error(const struct api_op *op)
{
    return op->error;
}
struct api_op *api_op_next(const struct api_op *op)
{
    return op->next;
}
struct api_tx *api_op_tx(const struct api_op *op)
{
    return op->tx;
}
