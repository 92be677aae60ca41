/* api_fake.c -- a scripted server for the client core's tests: keeps what is sent, makes answers.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/api_fake.h"
#include "values/table_index.h"

#define SENT_MAX 512u
static bool fake_send(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                      uint32_t count)
{
    struct fake *fake = context;
    if (fake->full || fake->full_peer == peer || fake->epoch[peer] != epoch) return false;
    if (fake->room > 0) {
        if (count >= fake->room) return false;
        fake->room -= count;
    }
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        uint32_t extent = signal_extent_check(words + at, count - at);
        assert_int_not_equal(extent, 0);
        assert_true(extent <= 4096 && fake->sent_count < SENT_MAX);
        struct sent *sent = &fake->sent[fake->sent_count++];
        sent->peer = peer;
        memcpy(sent->words, words + at, extent * 4u);
    }
    return true;
}

static bool fake_crowded(void *context, uint32_t peer)
{
    (void)peer;
    return ((struct fake *)context)->crowded;
}

static void fake_close(void *context, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct fake *fake = context;
    (void)epoch;
    (void)reason;
    fake->closed = peer;
}

const uint32_t *fake_next(struct fake *fake, uint32_t gsn, uint32_t *peer)
{
    while (fake->sent_read < fake->sent_count &&
           kind_gsn(fake->sent[fake->sent_read].words[0]) == GSN_API_REGREQ)
        fake->sent_read++;
    assert_true(fake->sent_read < fake->sent_count);
    const struct sent *sent = &fake->sent[fake->sent_read++];
    assert_int_equal(kind_gsn(sent->words[0]), gsn);
    if (peer != NULL) *peer = sent->peer;
    return sent->words;
}

void fake_expect_nothing(struct fake *fake)
{
    while (fake->sent_read < fake->sent_count &&
           kind_gsn(fake->sent[fake->sent_read].words[0]) == GSN_API_REGREQ)
        fake->sent_read++;
    assert_int_equal(fake->sent_read, fake->sent_count);
    fake->sent_count = fake->sent_read = 0;
}

bool fake_answer_to(struct fake *fake, uint32_t receiver, uint32_t sender, uint32_t gsn,
                    const void *payload, uint32_t words, uint32_t sections,
                    const uint32_t *const *section, const uint32_t *size)
{
    uint32_t total = SIGNAL_HEAD_WORDS + words + sections;
    for (uint32_t i = 0; i < sections; i++)
        total += size[i];
    uint32_t *out = malloc(total * 4u);
    out[0] = signal_kind(gsn, words, sections, PRIO_B, 0);
    out[1] = receiver;
    out[2] = sender;
    out[3] = total;
    memcpy(out + SIGNAL_HEAD_WORDS, payload, words * 4u);
    uint32_t at = SIGNAL_HEAD_WORDS + words + sections;
    for (uint32_t i = 0; i < sections; i++) {
        out[SIGNAL_HEAD_WORDS + words + i] = size[i];
        if (size[i] > 0) memcpy(out + at, section[i], size[i] * 4u);
        at += size[i];
    }
    uint32_t node = ref_node(sender);
    bool fine = api_core_signals(fake->core, node, fake->epoch[node], out, total);
    free(out);
    return fine;
}

void fake_answer(struct fake *fake, uint32_t sender, uint32_t gsn, const void *payload,
                 uint32_t words)
{
    uint32_t receiver = block_ref(OWN_NODE, BLOCK_API, api_client_instance(fake->client));
    assert_true(fake_answer_to(fake, receiver, sender, gsn, payload, words, 0, NULL, NULL));
}

void fake_answer_section(struct fake *fake, uint32_t sender, uint32_t gsn, const void *payload,
                         uint32_t words, const uint32_t *section, uint32_t size)
{
    uint32_t receiver = block_ref(OWN_NODE, BLOCK_API, api_client_instance(fake->client));
    assert_true(fake_answer_to(fake, receiver, sender, gsn, payload, words, 1, &section, &size));
}

void fake_register(struct fake *fake, uint32_t node, uint32_t level, uint32_t president)
{
    struct api_regconf conf = {.sender_data = fake->epoch[node],
                               .version = NDB_VERSION,
                               .heartbeat_ms = 1000,
                               .start_level = level,
                               .president = president,
                               .tc_count = 1};
    assert_true(fake_answer_to(fake, block_ref(OWN_NODE, BLOCK_API, 0),
                               block_ref(node, BLOCK_QMGR, 0), GSN_API_REGCONF, &conf,
                               sizeof conf / 4u, 0, NULL, NULL));
}

void fake_slow(struct fake *fake, uint32_t slow)
{
    struct api_regconf conf = {.sender_data = fake->epoch[1],
                               .version = NDB_VERSION,
                               .heartbeat_ms = 1000,
                               .start_level = START_STARTED,
                               .president = 1,
                               .tc_count = 1,
                               .started = {{6}},
                               .slow = {{slow << 1}}};
    assert_true(fake_answer_to(fake, block_ref(OWN_NODE, BLOCK_API, 0), block_ref(1, BLOCK_QMGR, 0),
                               GSN_API_REGCONF, &conf, sizeof conf / 4u, 0, NULL, NULL));
}

void fake_link_up(struct fake *fake, uint32_t node, uint32_t epoch)
{
    fake->epoch[node] = epoch;
    api_core_link_up(fake->core, node, epoch);
}

void fake_link_down(struct fake *fake, uint32_t node)
{
    uint32_t epoch = fake->epoch[node];
    fake->epoch[node] = 0;
    api_core_link_down(fake->core, node, epoch);
}

struct fake *fake_create(uint32_t nodes)
{
    struct fake *fake = calloc(1, sizeof *fake);
    fake->sent = calloc(SENT_MAX, sizeof *fake->sent);
    fake->now = 1000;
    struct api_config config = {.own_node = OWN_NODE, .generation = 1, .transid_start = 7};
    struct api_host host = {
        .context = fake, .send = fake_send, .crowded = fake_crowded, .close = fake_close};
    for (uint32_t node = 1; node <= nodes; node++)
        node_mask_add(&config.data_nodes, node);
    fake->core = api_core_create(&config, &host);
    api_core_tick(fake->core, fake->now);
    fake->client = api_client_open(fake->core);
    for (uint32_t node = 1; node <= nodes; node++) {
        fake_link_up(fake, node, 10 + node);
        fake_register(fake, node, START_STARTED, 1);
    }
    fake_expect_nothing(fake);
    return fake;
}

void fake_destroy(struct fake *fake)
{
    api_client_close(fake->client);
    api_core_destroy(fake->core);
    free(fake->sent);
    free(fake);
}

void fake_sleep(struct fake *fake, uint32_t ms)
{
    fake->now += ms;
    api_core_tick(fake->core, fake->now);
}

struct table_def *fake_table_def(void)
{
    size_t size = table_def_size(4, 256);
    struct table_def *def = table_def_init(malloc(size), size, 4);
    struct table_column_options id = {.name = "id",
                                      .name_size = 2,
                                      .format = {.type = COLUMN_UNSIGNED, .length = 1},
                                      .flags = COLUMN_PRIMARY_KEY};
    struct table_column_options v = {.name = "v",
                                     .name_size = 1,
                                     .format = {.type = COLUMN_UNSIGNED, .length = 1},
                                     .flags = COLUMN_NULLABLE};
    assert_int_equal(table_def_set_name(def, "test", 4, "t", 1), 0);
    assert_int_equal(table_def_add_column(def, &id), 0);
    assert_int_equal(table_def_add_column(def, &v), 0);
    assert_int_equal(table_def_add_index(def, "by_v", 4, (const uint16_t[]){1}, 1), 0);
    assert_int_equal(table_def_check(def), 0);
    def->table_id = 7;
    def->version = 3;
    return def;
}

void fake_dict_done(void *context, const struct api_dict_result *result)
{
    struct fake_dict *dict = context;
    dict->calls++;
    dict->result = *result;
}

bool fake_answer_version(struct fake *fake, uint32_t node, const uint32_t *request, uint32_t nodes,
                         uint32_t version)
{
    struct table_def *def = fake_table_def();
    def->version = version;
    uint32_t words[512];
    uint32_t distribution[3 + 2 * 4 + 4] = {fake->copied ? 4 : 2, 2, 8};
    uint32_t at = 3;
    for (uint32_t f = 0; f < distribution[0]; f++) {
        distribution[at++] = nodes > 1 ? 1 + f % 2 : 1;
        distribution[at++] = nodes > 1 ? 2 - f % 2 : 0;
    }
    for (uint32_t i = 0; i < 4; i++)
        distribution[at++] = 0u | 1u << 16;
    const uint32_t *sections[2] = {words, distribution};
    uint32_t sizes[2] = {table_def_encode(def, words, 512), at};
    struct get_tabinfo_conf conf = {.sender_data = request[SIGNAL_HEAD_WORDS],
                                    .table_id = def->table_id,
                                    .version = def->version};
    free(def);
    return fake_answer_to(fake, request[2], block_ref(node, BLOCK_DBDICT, 0), GSN_GET_TABINFO_CONF,
                          &conf, sizeof conf / 4u, 2, sections, sizes);
}

bool fake_answer_table(struct fake *fake, uint32_t node, const uint32_t *request, uint32_t nodes)
{
    return fake_answer_version(fake, node, request, nodes, 3);
}

struct api_table *fake_table(struct fake *fake, uint32_t nodes)
{
    struct fake_dict dict = {0};
    uint32_t peer = 0;
    assert_int_equal(api_dict_get(fake->client, "test/def/t", 1000, fake_dict_done, &dict), 0);
    while (dict.calls == 0) {
        const uint32_t *request = fake_next(fake, GSN_GET_TABINFO_REQ, &peer);
        assert_true(fake_answer_table(fake, peer, request, nodes));
    }
    assert_int_equal(dict.calls, 1);
    assert_int_equal(dict.result.error, 0);
    assert_non_null(dict.result.table);
    fake_expect_nothing(fake);
    return dict.result.table;
}

void fake_no_table(struct fake *fake, uint32_t node, const uint32_t *request)
{
    struct get_tabinfo_ref ref = {.sender_data = request[SIGNAL_HEAD_WORDS],
                                  .error = ERR_NO_SUCH_TABLE};
    ANSWER(fake, block_ref(node, BLOCK_DBDICT, 0), GET_TABINFO_REF, ref);
}

/* ---- Operations on that table. ---- */

static uint32_t fake_row_in(struct api_op *op, const uint32_t *pairs, uint32_t words)
{
    struct fake_row *row = api_op_context(op);
    row->calls++;
    row->words = words;
    memcpy(row->pairs, pairs, words * 4u);
    return 0;
}

struct api_op *fake_op_step(struct api_tx *tx, struct api_table *table, const struct op_step *step)
{
    struct api_op_options options = {.table = table,
                                     .operation = step->operation,
                                     .lock = step->lock,
                                     .flags = step->flags,
                                     .row = step->row == NULL ? NULL : fake_row_in,
                                     .context = step->row};
    uint32_t attrs = 0;
    uint32_t *out = api_op_begin(tx, 8);
    if (out == NULL) return NULL;
    out[0] = step->key;
    if (step->operation == OP_READ) {
        out[1] = attr_header(1, 0);
        attrs = 1;
    } else if (step->operation != OP_DELETE) {
        out[1] = attr_header(1, 4);
        out[2] = 77;
        attrs = 2;
    }
    return api_op_end(tx, &options, 1, attrs);
}

void fake_done(void *context, struct api_tx *tx)
{
    (void)tx;
    ++*(uint32_t *)context;
}

uint32_t fake_seize(struct fake *fake, uint32_t node)
{
    uint32_t peer = 0;
    const uint32_t *req = fake_next(fake, GSN_TCSEIZEREQ, &peer);
    assert_int_equal(peer, node);
    uint32_t api_connect = req[SIGNAL_HEAD_WORDS];
    struct tcseizeconf conf = {.sender_data = api_connect, .tc_connect = TC_CONNECT_OF(node)};
    ANSWER(fake, TC(node), TCSEIZECONF, conf);
    return api_connect;
}

void fake_keyconf_step(struct fake *fake, uint32_t node, const struct keyconf_step *step)
{
    struct tckeyconf conf = {.api_connect = step->api_connect,
                             .transid1 = (uint32_t)step->transid,
                             .transid2 = (uint32_t)(step->transid >> 32),
                             .flags = step->committed ? KEYCONF_COMMITTED : 0,
                             .gci_hi = 5,
                             .gci_lo = 6};
    ANSWER(fake, TC(node), TCKEYCONF, conf);
}

void fake_row_step(struct fake *fake, uint32_t node, const struct row_step *step)
{
    struct transid_ai ai = {.api_op = step->api_op,
                            .transid1 = (uint32_t)step->transid,
                            .transid2 = (uint32_t)(step->transid >> 32),
                            .rows = 1};
    uint32_t row[3] = {2, attr_header(1, 4), step->value};
    fake_answer_section(fake, block_ref(node, BLOCK_DBLQH, 1), GSN_TRANSID_AI, &ai, sizeof ai / 4u,
                        row, 3);
}
