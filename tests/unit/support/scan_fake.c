/* scan_fake.c -- scans of the client core against a scripted server: what it sends, what the server
 * answers. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/scan_fake.h"

void scan_on_ready(void *context, struct api_scan *scan)
{
    (void)scan;
    ((struct scan_run *)context)->ready++;
}

struct scan_run scan_begin_step(struct fake *fake, struct api_table *table,
                                const struct scan_begin_step *step)
{
    uint32_t attrs[1] = {attr_header(ATTR_READ_ALL, 0)};
    uint32_t error = 0;
    struct api_scan_options options = {.table = table,
                                       .lock = step->lock,
                                       .attrs = attrs,
                                       .attr_words = step->count ? 0 : 1,
                                       .ready = scan_on_ready,
                                       .context = step->run};
    *step->run = (struct scan_run){0};
    step->run->scan = api_scan_start(fake->client, &options, 1000, &error);
    assert_int_equal(error, 0);
    step->run->node = fake->sent[fake->sent_read].peer;
    fake_seize(fake, step->run->node);
    const uint32_t *words = fake_next(fake, GSN_SCAN_TABREQ, NULL);
    assert_int_equal(SCAN_OF(words)->tc_connect, TC_CONNECT_OF(step->run->node));
    assert_int_equal(key_lock_mode(SCAN_OF(words)->request_info), step->lock);
    step->run->api_scan = SCAN_OF(words)->api_scan;
    step->run->transid = (uint64_t)SCAN_OF(words)->transid2 << 32 | SCAN_OF(words)->transid1;
    return *step->run;
}

void scan_rows_step(struct fake *fake, const struct scan_run *run,
                    const struct scan_rows_step *step)
{
    struct transid_ai ai = {.api_op = run->api_scan,
                            .transid1 = (uint32_t)run->transid,
                            .transid2 = (uint32_t)(run->transid >> 32),
                            .rows = step->count,
                            .fragment_id = step->fragment};
    uint32_t section[64];
    for (uint32_t i = 0; i < step->count; i++) {
        section[3 * i] = 2;
        section[3 * i + 1] = attr_header(0, 4);
        section[3 * i + 2] = step->first + i;
    }
    fake_answer_section(fake, block_ref(step->node, BLOCK_DBLQH, 1), GSN_TRANSID_AI, &ai,
                        sizeof ai / 4u, section, 3 * step->count);
}

void scan_conf(struct fake *fake, const struct scan_run *run, uint32_t flags,
               const uint32_t *entries, uint32_t words)
{
    struct scan_tabconf tabconf = {.api_scan = run->api_scan,
                                   .transid1 = (uint32_t)run->transid,
                                   .transid2 = (uint32_t)(run->transid >> 32),
                                   .flags = flags};
    fake_answer_section(fake, TC(run->node), GSN_SCAN_TABCONF, &tabconf, sizeof tabconf / 4u,
                        entries, words);
}

void scan_idle(struct fake *fake)
{
    assert_int_equal(api_client_pending(fake->client), 0);
    assert_int_equal(api_client_unclean(fake->client), 0);
}

uint32_t scan_take(struct scan_run *run)
{
    struct api_row row;
    assert_int_equal(api_scan_next(run->scan, &row), API_SCAN_ROW);
    assert_int_equal(row.words, 2);
    return row.pairs[1];
}

enum api_scan_step scan_peek(struct scan_run *run)
{
    struct api_row row;
    return api_scan_next(run->scan, &row);
}

void scan_begin_merged(struct fake *fake, struct api_table *table, enum lock_mode lock,
                       uint32_t flags, struct scan_run *run)
{
    const uint32_t attrs[1] = {attr_header(0, 0)};
    const struct scan_range range = {.flags = SCAN_MERGED | flags};
    uint32_t words[SCAN_RANGE_HEAD];
    uint32_t error = 0;
    struct api_scan_options options = {.table = table,
                                       .lock = lock,
                                       .attrs = attrs,
                                       .attr_words = 1,
                                       .range = words,
                                       .ready = scan_on_ready,
                                       .context = run};
    options.range_words = scan_range_encode(&range, words, SCAN_RANGE_HEAD);
    *run = (struct scan_run){0};
    run->scan = api_scan_start(fake->client, &options, 1000, &error);
    assert_int_equal(error, 0);
    run->node = fake->sent[fake->sent_read].peer;
    fake_seize(fake, run->node);
    const uint32_t *sent = fake_next(fake, GSN_SCAN_TABREQ, NULL);
    const uint32_t *sizes = sent + SIGNAL_HEAD_WORDS + kind_words(sent[0]);
    assert_int_equal(kind_sections(sent[0]), 3);
    assert_int_equal(sizes[0], 2);
    assert_int_equal(sizes[1], 0);
    assert_int_equal(sizes[2], SCAN_RANGE_HEAD);
    assert_int_equal(sizes[3], attr_header(0, 0));
    assert_int_equal(sizes[4], attr_header(1, 0));
    assert_memory_equal(sizes + 5, words, sizeof words);
    run->api_scan = SCAN_OF(sent)->api_scan;
    run->transid = (uint64_t)SCAN_OF(sent)->transid2 << 32 | SCAN_OF(sent)->transid1;
}

void scan_merged_rows(struct fake *fake, const struct scan_run *run, uint32_t fragment,
                      const uint32_t (*row)[2], uint32_t count)
{
    struct transid_ai ai = {.api_op = run->api_scan,
                            .transid1 = (uint32_t)run->transid,
                            .transid2 = (uint32_t)(run->transid >> 32),
                            .rows = count,
                            .fragment_id = fragment};
    uint32_t section[64];
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool null = row[i][1] == NO_V;
        section[at++] = null ? 3 : 4;
        section[at++] = attr_header(0, 4);
        section[at++] = row[i][0];
        section[at++] = attr_header(1, null ? 0 : 4);
        if (!null) section[at++] = row[i][1];
    }
    fake_answer_section(fake, block_ref(1, BLOCK_DBLQH, 1), GSN_TRANSID_AI, &ai, sizeof ai / 4u,
                        section, at);
}
