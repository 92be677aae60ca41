/* fuzz_signals.c -- every signal's validator: whole signals made of arbitrary bytes, to a node with
 * all its blocks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "signals/api_reg.h"
#include "signals/dict.h"
#include "signals/print.h"
#include "signals/tckey.h"
#include "tests/fuzz/node_harness.h"
#include "tests/hostile/hostile_gen.h"

/*
 * Input: signals one after the other: { sender and receiver, signal, payload words given, sections
 * } then payload words and per section a length byte and its words. What is missing at the end is
 * zero. Words below 256 are tiny numbers, so the fuzzer finds references to the table and the
 * transaction record that wait for it.
 */
struct input {
    const uint8_t *at;
    size_t left;
};

static struct harness *harness;
static uint32_t runs;

static uint32_t take_byte(struct input *input)
{
    if (input->left == 0) return 0;
    input->left--;
    return *input->at++;
}

static uint32_t take_word(struct input *input)
{
    uint32_t first = take_byte(input);
    if (first != 255) return first;
    uint32_t word = 0;
    for (uint32_t i = 0; i < 4; i++)
        word = word << 8 | take_byte(input);
    return word;
}

/* A table and a transaction record of the attacker's own, as numbers that an input can name: both
 * begin at 1. */
static void prepare(void)
{
    static uint32_t words[4000];
    struct create_table_req create = {.sender_data = 0};
    struct tcseizereq seize = {.sender_data = 1};
    for (uint32_t layout = 0; layout < GEN_LAYOUTS; layout++) {
        struct section section = {words, gen_table_words(layout, 0, words, 4000)};
        harness_send(harness, HARNESS_API, block_ref(HARNESS_NODE, BLOCK_DBDICT, 0),
                     GSN_CREATE_TABLE_REQ, &create, 1, &section, 1);
        harness_run(harness, 5);
    }
    harness_sig(harness, HARNESS_API, block_ref(HARNESS_NODE, BLOCK_DBTC, 1), GSN_TCSEIZEREQ,
                &seize);
    harness_run(harness, 1);
}

static void make_harness(void)
{
    struct harness_options options = {.seed = 1, .tiny = 1, .data_peer = 1};
    harness_destroy(harness);
    harness = harness_create(&options);
    if (harness == NULL) abort();
    harness_up(harness, HARNESS_API);
    prepare();
}

static void one_signal(struct input *input)
{
    static const uint32_t peers[] = {HARNESS_API, HARNESS_API, HARNESS_MGM, HARNESS_API + 1};
    static uint32_t section_words[SIGNAL_SECTIONS_MAX][256];
    uint32_t who = take_byte(input);
    const struct signal_shape *shape = signal_shape_at(take_byte(input));
    uint32_t peer = peers[who & 3u];
    uint32_t payload[SIGNAL_WORDS_MAX];
    struct section sections[SIGNAL_SECTIONS_MAX];
    if (shape == NULL || shape->gsn == GSN_STOP_REQ) return;
    uint32_t extra = take_byte(input);
    uint32_t count = extra < 240 ? shape->words : extra - 230u; /* Mostly of the right length. */
    for (uint32_t i = 0; i < count; i++)
        payload[i] = take_word(input);
    uint32_t section_count = take_byte(input) & 3u;
    for (uint32_t i = 0; i < section_count; i++) {
        sections[i] = (struct section){section_words[i], take_byte(input)};
        for (uint32_t w = 0; w < sections[i].size; w++)
            section_words[i][w] = take_word(input);
    }
    uint32_t block = 1u + (who >> 2) % 13u;
    if (shape->gsn == GSN_DUMP_STATE_ORD && payload[1] == 9000) return; /* Arms error inserts. */
    harness_up(harness, peer);
    harness_send(harness, peer, block_ref(HARNESS_NODE, block, block >= BLOCK_DBTC ? 1 : 0),
                 shape->gsn, payload, count, sections, section_count);
    if ((who & 1u) != 0) harness_run(harness, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    if (harness == NULL || ++runs % 2000u == 0) make_harness();
    while (input.left > 0 && harness_alive(harness))
        one_signal(&input);
    harness_run(harness, 1);
    if (harness_failure_of(harness)->failed || !harness_check(harness)) abort();
    if (harness_stopped(harness)) make_harness();
    if (runs % 20u != 0) return 0;
    for (uint32_t ms = 0; ms < 500;
         ms += 20) { /* The silent ones are declared dead, and cleaned up after. */
        struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
        harness_sig(harness, HARNESS_GOOD, block_ref(HARNESS_NODE, BLOCK_QMGR, 0), GSN_API_REGREQ,
                    &req);
        harness_run(harness, 20);
    }
    harness_up(harness, HARNESS_API);
    prepare();
    if (harness_failure_of(harness)->failed) abort();
    return 0;
}
