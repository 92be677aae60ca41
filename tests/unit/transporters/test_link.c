/* test_link.c -- the link without sockets: every chunking, bit, refusal and limit. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kernel/base/rng.h"
#include "transporters/frame.h"
#include "transporters/link.h"

#define STREAM_MAX (1u << 20)

/* One end of a link, and what it saw. */
struct end {
    struct link_options options;
    struct link *link;
    enum link_refusal answer;
    uint32_t epoch_last;
    uint32_t ups;
    uint32_t runs;
    uint32_t refuse_run; /* The n-th run of signals is refused, 0 = none. */
    uint32_t received_words;
    uint64_t received_hash;
    enum link_level level;
    uint32_t level_changes;
};

static enum link_refusal end_check(void *context, struct link *link, const struct link_peer *peer,
                                   uint32_t *epoch_last)
{
    struct end *end = context;
    (void)link;
    (void)peer;
    *epoch_last = end->epoch_last;
    return end->answer;
}

static void end_up(void *context, struct link *link, const struct link_peer *peer)
{
    struct end *end = context;
    end->ups++;
    assert_true(peer->epoch > 0);
    assert_int_equal(link_state(link), LINK_OPEN);
}

static uint64_t hash_words(uint64_t hash, const uint32_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * 0x100000001B3ULL;
    return hash;
}

static bool end_signals(void *context, struct link *link, const uint32_t *words, uint32_t count)
{
    struct end *end = context;
    (void)link;
    assert_int_equal((uintptr_t)words % 4, 0);
    end->received_words += count;
    end->received_hash = hash_words(end->received_hash, words, count);
    return ++end->runs != end->refuse_run;
}

static void end_level(void *context, struct link *link, enum link_level level)
{
    struct end *end = context;
    (void)link;
    end->level = level;
    end->level_changes++;
}

static const struct link_callbacks end_calls = {end_check, end_up, end_signals, end_level};

static void end_init(struct end *end, uint32_t node, bool connect)
{
    *end = (struct end){.options = {
                            .calls = &end_calls,
                            .own_node = node,
                            .own_role = LINK_ROLE_DATA,
                            .cluster_id = 0x1122334455667788u,
                            .incarnation = 1000 + node,
                            .connect = connect,
                        }};
}

static void end_open(struct end *end)
{
    end->options.context = end;
    end->link = link_create(&end->options);
    assert_non_null(end->link);
    link_start(end->link, 0);
}

/* Takes all that one end wants to write. */
static uint32_t take_output(struct link *link, uint8_t *to)
{
    struct link_bytes pieces[3];
    uint32_t size = 0;
    for (uint32_t count; (count = link_output(link, pieces, 3)) > 0;) {
        size_t part = 0;
        for (uint32_t i = 0; i < count; i++) {
            assert_true(size + part + pieces[i].size <= STREAM_MAX);
            memcpy(to + size + part, pieces[i].at, pieces[i].size);
            part += pieces[i].size;
        }
        link_sent(link, part);
        size += (uint32_t)part;
    }
    assert_false(link_has_output(link));
    return size;
}

static uint8_t stream[STREAM_MAX];

/* Moves bytes both ways until nobody has any left. */
static void pump(struct end *a, struct end *b)
{
    uint32_t moved = 1;
    while (moved > 0) {
        moved = take_output(a->link, stream);
        link_receive(b->link, stream, moved);
        uint32_t back = take_output(b->link, stream);
        link_receive(a->link, stream, back);
        moved += back;
    }
}

static void close_both(struct end *a, struct end *b)
{
    link_destroy(a->link);
    link_destroy(b->link);
}

static void open_pair(struct end *a, struct end *b)
{
    end_init(a, 2, true);
    end_init(b, 1, false);
    a->options.peer = 1;
    a->options.peer_role = LINK_ROLE_DATA;
    end_open(a);
    end_open(b);
    pump(a, b);
    assert_int_equal(link_state(a->link), LINK_OPEN);
    assert_int_equal(link_state(b->link), LINK_OPEN);
}

/* Writes one signal with `payload` words and up to two sections; returns its extent. */
static uint32_t put_signal(uint32_t *to, uint32_t gsn, uint32_t payload, uint32_t section)
{
    uint32_t sections = section > 0 ? 1 : 0;
    uint32_t extent = SIGNAL_HEAD_WORDS + payload + sections + section;
    to[0] = signal_kind(gsn, payload, sections, PRIO_B, 0);
    to[1] = block_ref(1, BLOCK_DBTC, 1);
    to[2] = block_ref(2, BLOCK_DBTC, 1);
    to[3] = extent;
    for (uint32_t i = 0; i < payload; i++)
        to[4 + i] = gsn * 31 + i;
    if (sections > 0) to[4 + payload] = section;
    for (uint32_t i = 0; i < section; i++)
        to[5 + payload + i] = gsn ^ i;
    return extent;
}

static uint32_t put_signals(uint32_t *to, uint32_t signals)
{
    uint32_t words = 0;
    for (uint32_t i = 0; i < signals; i++)
        words += put_signal(to + words, i + 1, i % 26, i % 3 == 0 ? i : 0);
    return words;
}

/* --- Handshake. --- */

static void test_opens_with_growing_epochs(void **state)
{
    (void)state;
    const uint32_t last[][3] = {{0, 0, 1}, {7, 0, 8}, {0, 9, 10}, {5, 5, 6}, {3, 12, 13}};
    for (uint32_t i = 0; i < 5; i++) {
        struct end a, b;
        end_init(&a, 2, true);
        end_init(&b, 1, false);
        a.options.epoch_last = last[i][0];
        b.epoch_last = last[i][1];
        end_open(&a);
        end_open(&b);
        pump(&a, &b);
        assert_int_equal(a.ups, 1);
        assert_int_equal(b.ups, 1);
        assert_int_equal(link_peer_of(a.link)->epoch, last[i][2]);
        assert_int_equal(link_peer_of(b.link)->epoch, last[i][2]);
        assert_int_equal(link_peer_of(a.link)->node, 1);
        assert_int_equal(link_peer_of(b.link)->node, 2);
        assert_int_equal(link_peer_of(b.link)->incarnation, 1002);
        close_both(&a, &b);
    }
}

/* Makes the handshake of case `i` fail; returns how. */
static enum link_refusal spoil(uint32_t i, struct end *a, struct end *b)
{
    switch (i) {
    case 0:
        a->options.cluster_id ^= 1ULL << 40;
        return LINK_REFUSED_CLUSTER;
    case 1:
        a->options.peer = 3;
        return LINK_REFUSED_NOT_ME;
    case 2:
        a->options.own_node = b->options.own_node;
        return LINK_REFUSED_UNKNOWN;
    case 3:
        a->options.peer_role = LINK_ROLE_MGM;
        return LINK_REFUSED_ROLE;
    case 4:
        b->epoch_last = UINT32_MAX;
        return LINK_REFUSED_EPOCH;
    default: /* What the acceptor's owner answers. */
        b->answer = (enum link_refusal)(i - 5 + LINK_REFUSED_UNKNOWN);
        return b->answer;
    }
}

static void test_refuses(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        struct end a, b;
        end_init(&a, 2, true);
        end_init(&b, 1, false);
        enum link_refusal expected = spoil(i, &a, &b);
        end_open(&a);
        end_open(&b);
        pump(&a, &b);
        assert_int_equal(link_state(a.link), LINK_CLOSING);
        assert_int_equal(link_state(b.link), LINK_CLOSING);
        assert_int_equal(link_refused(a.link), expected);
        assert_int_equal(link_refused(b.link), expected);
        assert_int_equal(a.ups + b.ups, 0);
        assert_true(strlen(link_reason(a.link)) > 10);
        assert_non_null(strstr(link_reason(a.link), link_refusal_text(expected)));
        close_both(&a, &b);
    }
}

/* A hello with another value in one word and a right checksum. */
static enum link_refusal answer_to_changed_hello(uint32_t word, uint32_t value, const char **reason)
{
    static char text[LINK_REASON_SIZE];
    struct end a, b;
    end_init(&a, 2, true);
    end_init(&b, 1, false);
    end_open(&a);
    end_open(&b);
    uint32_t hello[32];
    assert_int_equal(take_output(a.link, (uint8_t *)hello), sizeof hello);
    hello[word] = value;
    uint64_t check = frame_hash(hello, 120, 0x6C696E6B68656C6FULL);
    hello[30] = (uint32_t)check;
    hello[31] = (uint32_t)(check >> 32);
    bool alive = link_receive(b.link, hello, sizeof hello);
    assert_int_equal(alive, link_state(b.link) != LINK_CLOSING);
    snprintf(text, sizeof text, "%s", link_reason(b.link));
    *reason = text;
    enum link_refusal refusal = link_refused(b.link);
    close_both(&a, &b);
    return refusal;
}

static void test_refuses_strange_hellos(void **state)
{
    (void)state;
    const char *reason;
    assert_int_equal(answer_to_changed_hello(13, 0, &reason), LINK_ACCEPTED);
    assert_string_equal(reason, "");
    assert_int_equal(answer_to_changed_hello(3, 2, &reason), LINK_REFUSED_VERSION);
    assert_int_equal(answer_to_changed_hello(2, 0, &reason), LINK_REFUSED_VERSION);
    assert_int_equal(answer_to_changed_hello(11, 0, &reason), LINK_REFUSED_EPOCH);
    assert_int_equal(answer_to_changed_hello(11, UINT32_MAX, &reason), LINK_REFUSED_EPOCH);
    assert_int_equal(answer_to_changed_hello(2, 9, &reason),
                     LINK_ACCEPTED); /* Newer, but speaks ours too. */
    assert_string_equal(reason, "");
    const uint32_t wrong[][2] = {{0, 0x12345678}, {1, 0},   {1, 2}, {1, 3}, {1, 5},
                                 {8, 0},          {8, 256}, {9, 0}, {9, 4}};
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        answer_to_changed_hello(wrong[i][0], wrong[i][1], &reason);
        assert_true(strlen(reason) > 10);
    }
}

static void test_handshake_times_out(void **state)
{
    (void)state;
    for (uint32_t connect = 0; connect < 2; connect++) {
        struct end a;
        end_init(&a, 2, connect == 1);
        end_open(&a);
        link_tick(a.link, LINK_HANDSHAKE_MS - 1);
        assert_true(link_state(a.link) != LINK_CLOSING);
        link_tick(a.link, LINK_HANDSHAKE_MS);
        assert_int_equal(link_state(a.link), LINK_CLOSING);
        link_destroy(a.link);
    }
    struct end a, b;
    open_pair(&a, &b);
    link_tick(a.link, 100 * LINK_HANDSHAKE_MS);
    assert_int_equal(link_state(a.link), LINK_OPEN);
    close_both(&a, &b);
}

static void test_recognises_hello(void **state)
{
    (void)state;
    assert_true(link_is_hello("NDBL....", 8));
    assert_true(link_is_hello("ND", 2));
    assert_false(link_is_hello("ND", 0));
    assert_false(link_is_hello("get nodeid", 10));
    assert_false(link_is_hello("NDBX", 4));
}

/* --- Streams. --- */

/* All bytes that `a` writes to `b`, from the first of the hello, and what `b` must have received
 * from them. */
struct recording {
    uint8_t *bytes;
    uint32_t size;
    uint32_t words;
    uint64_t hash;
};

static void record(struct recording *recording, const uint32_t *words, uint32_t count,
                   uint32_t frame_words)
{
    struct end a, b;
    end_init(&a, 2, true);
    end_init(&b, 1, false);
    a.options.frame_words = frame_words;
    end_open(&a);
    end_open(&b);
    recording->bytes = malloc(STREAM_MAX);
    uint32_t size = take_output(a.link, recording->bytes);
    link_receive(b.link, recording->bytes, size);
    link_receive(a.link, stream, take_output(b.link, stream));
    assert_int_equal(link_state(a.link), LINK_OPEN);
    assert_int_equal(link_send(a.link, words, count), LINK_SENT);
    recording->size = size + take_output(a.link, recording->bytes + size);
    recording->words = count;
    recording->hash = hash_words(0, words, count);
    close_both(&a, &b);
}

static void listen_to(struct end *b)
{
    end_init(b, 1, false);
    end_open(b);
}

static void test_any_chunking(void **state)
{
    (void)state;
    static uint32_t words[4096];
    struct recording recording;
    uint32_t count = put_signals(words, 40);
    record(&recording, words, count, 100);
    for (uint32_t chunk = 1; chunk < 70; chunk++) {
        struct end b;
        listen_to(&b);
        for (uint32_t at = 0; at < recording.size; at += chunk) {
            uint32_t part = recording.size - at < chunk ? recording.size - at : chunk;
            assert_true(link_receive(b.link, recording.bytes + at, part));
        }
        assert_int_equal(b.received_words, recording.words);
        assert_int_equal(b.received_hash, recording.hash);
        link_destroy(b.link);
    }
    for (uint32_t cut = 0; cut <= recording.size;
         cut++) { /* Two pieces, cut at every byte; and truncation. */
        struct end b;
        listen_to(&b);
        assert_true(link_receive(b.link, recording.bytes, cut));
        assert_true(b.received_words <= recording.words);
        if (cut < recording.size) assert_true(b.received_words < recording.words);
        if (cut % 2 == 0) {
            assert_true(link_receive(b.link, recording.bytes + cut, recording.size - cut));
            assert_int_equal(b.received_hash, recording.hash);
        } else {
            assert_int_equal(b.received_hash, hash_words(0, words, b.received_words));
        }
        link_broken(b.link, NULL);
        assert_int_equal(link_state(b.link), LINK_CLOSING);
        link_destroy(b.link);
    }
    free(recording.bytes);
}

static void test_every_bit_flip_is_found(void **state)
{
    (void)state;
    static uint32_t words[512];
    struct recording recording;
    uint32_t count = put_signals(words, 12);
    record(&recording, words, count, 64);
    for (uint32_t bit = 0; bit < 8 * recording.size; bit++) {
        struct end b;
        listen_to(&b);
        recording.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(link_receive(b.link, recording.bytes, recording.size));
        recording.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(link_state(b.link), LINK_CLOSING);
        assert_true(b.received_words < recording.words);
        assert_int_equal(b.received_hash, hash_words(0, words, b.received_words)); /* A prefix. */
        assert_true(strlen(link_reason(b.link)) > 10);
        link_destroy(b.link);
    }
    free(recording.bytes);
}

static void test_other_life_does_not_pass(void **state)
{
    (void)state;
    uint32_t words[16];
    uint32_t count = put_signal(words, 5, 3, 0);
    for (uint32_t what = 0; what < 3; what++) {
        struct end a, b, c, d;
        open_pair(&a, &b);
        end_init(&c, 2, true);
        end_init(&d, 1, false);
        if (what == 0) c.options.epoch_last = 1;
        if (what == 1) c.options.incarnation++;
        if (what == 2) d.options.incarnation++;
        end_open(&c);
        end_open(&d);
        pump(&c, &d);
        assert_int_equal(link_state(d.link), LINK_OPEN);
        assert_int_equal(link_send(a.link, words, count), LINK_SENT);
        uint32_t size = take_output(a.link, stream);
        assert_false(link_receive(d.link, stream, size));
        assert_int_equal(d.runs, 0);
        assert_false(link_receive(a.link, stream, size)); /* Its own bytes, thrown back. */
        assert_int_equal(a.runs, 0);
        close_both(&a, &b);
        close_both(&c, &d);
    }
}

static void test_repeated_or_lost_frame(void **state)
{
    (void)state;
    uint32_t words[16];
    uint32_t count = put_signal(words, 5, 3, 0);
    for (uint32_t lost = 0; lost < 2; lost++) {
        struct end a, b;
        open_pair(&a, &b);
        link_send(a.link, words, count);
        uint32_t size = take_output(a.link, stream);
        if (lost == 0) {
            assert_true(link_receive(b.link, stream, size));
        } else {
            link_send(a.link, words, count);
            size = take_output(a.link, stream);
        }
        assert_false(link_receive(b.link, stream, size));
        assert_int_equal(b.runs, 1 - lost);
        assert_non_null(strstr(link_reason(b.link), "out of order"));
        close_both(&a, &b);
    }
}

/* The peer's own checksums are right, but what it says is not. */
static void test_malformed_with_right_checksum(void **state)
{
    (void)state;
    for (uint32_t what = 0; what < 7; what++) {
        struct end a, b;
        open_pair(&a, &b);
        struct frame_session session = {1, 2, 1, 1002, 1001};
        uint32_t frame[FRAME_HEAD_WORDS + 64] = {0};
        uint32_t *body = frame + FRAME_HEAD_WORDS;
        uint32_t count = put_signal(body, 1, 5, 6);
        count += put_signal(body + count, 2, 25, 0);
        uint32_t kind = FRAME_SIGNALS;
        uint32_t told = count;
        switch (what) {
        case 0:
            break; /* All is well. */
        case 1:
            told = count - 1;
            break; /* The last signal is not whole. */
        case 2:
            told = count + 1;
            break; /* A word too many. */
        case 3:
            body[3] = 0;
            break; /* Extent 0. */
        case 4:
            body[9] = 0xFFFFFFF0u;
            break; /* A section that wraps. */
        case 5:
            kind = 7;
            break;
        default:
            told = 0;
            break;
        }
        frame_seal(frame, (enum frame_kind)kind, told, 1, frame_seed(&session));
        bool alive = link_receive(b.link, frame, FRAME_HEAD_BYTES + 4 * told);
        assert_int_equal(alive, what == 0);
        assert_int_equal(b.runs, what == 0 ? 1 : 0);
        if (what != 0) assert_non_null(strstr(link_reason(b.link), "node 2"));
        close_both(&a, &b);
    }
    struct end a, b; /* A huge length is refused at once, not waited for. */
    open_pair(&a, &b);
    struct frame_session session = {1, 2, 1, 1002, 1001};
    static uint32_t frame[FRAME_HEAD_WORDS + FRAME_BODY_MAX + 1];
    frame_seal(frame, FRAME_SIGNALS, FRAME_BODY_MAX + 1, 1, frame_seed(&session));
    assert_false(link_receive(b.link, frame, FRAME_HEAD_BYTES));
    assert_non_null(strstr(link_reason(b.link), "impossible length"));
    close_both(&a, &b);
}

/* --- Sending. --- */

static void test_largest_signals(void **state)
{
    (void)state;
    uint32_t *words = malloc(4 * 3 * SIGNAL_EXTENT_MAX);
    struct end a, b;
    open_pair(&a, &b);
    for (uint32_t round = 0; round < 3; round++) {
        uint32_t count = put_signal(words, 1, 3, 100);
        count += put_signal(words + count, 2, 25, SIGNAL_EXTENT_MAX - 30);
        count += put_signal(words + count, 3, 1, 9000);
        count += put_signal(words + count, 4, 0, 0);
        b.received_hash = 0;
        assert_int_equal(link_send(a.link, words, count), LINK_SENT);
        pump(&a, &b);
        assert_int_equal(b.received_hash, hash_words(0, words, count));
    }
    close_both(&a, &b);
    free(words);
}

static void test_levels_and_no_room(void **state)
{
    (void)state;
    static uint32_t words[32 * 1024];
    struct end a, b;
    end_init(&a, 2, true);
    end_init(&b, 1, false);
    a.options.send_buffer_bytes = 100 * 1024;
    a.options.reserve_bytes = 20 * 1024;
    end_open(&a);
    end_open(&b);
    pump(&a, &b);
    uint32_t kilobyte = put_signal(words, 9, 0, 251);
    assert_int_equal(kilobyte, 256);
    uint32_t sent = 0;
    uint32_t rose[4] = {0};
    while (link_send(a.link, words, kilobyte) == LINK_SENT) {
        sent++;
        if (rose[a.level] == 0) rose[a.level] = sent;
    }
    assert_in_range(rose[LINK_HIGH], 46, 49);
    assert_in_range(rose[LINK_OVERLOAD], 79, 81);
    assert_in_range(rose[LINK_FULL], 99, 101);
    assert_in_range(sent, 118, 120);
    assert_int_equal(a.level_changes, 3);
    assert_int_equal(link_state(a.link), LINK_OPEN); /* What to do is the owner's decision. */
    struct link_statistics statistics;
    link_statistics(a.link, &statistics);
    assert_int_equal(statistics.overload_count, 1);
    pump(&a, &b);
    assert_int_equal(a.level, LINK_NORMAL);
    assert_int_equal(b.received_words, sent * kilobyte);
    link_statistics(a.link, &statistics);
    assert_int_equal(statistics.send_bytes, 0);
    assert_int_equal(link_send(a.link, words, kilobyte), LINK_SENT);
    close_both(&a, &b);
}

static void test_gathers_small_signals(void **state)
{
    (void)state;
    uint32_t words[64];
    struct end a, b;
    open_pair(&a, &b);
    uint32_t count = put_signal(words, 9, 18, 0);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(link_send(a.link, words, count), LINK_SENT);
    pump(&a, &b);
    assert_int_equal(b.received_words, 1000 * count);
    assert_int_equal(b.runs, (1000 * count + FRAME_WORDS - 1) / FRAME_WORDS);
    close_both(&a, &b);
}

static void test_partial_writes(void **state)
{
    (void)state;
    static uint32_t words[4096];
    struct end a, b;
    open_pair(&a, &b);
    uint32_t count = put_signals(words, 40);
    uint64_t expected = 0;
    for (uint32_t round = 0; round < 200; round++) { /* Sends while older bytes are half written. */
        link_send(a.link, words, count);
        expected = hash_words(expected, words, count);
        struct link_bytes piece;
        assert_int_equal(link_output(a.link, &piece, 1), 1);
        size_t part = piece.size > 1000 ? 1000 + round : piece.size;
        link_receive(b.link, piece.at, part);
        link_sent(a.link, part);
    }
    pump(&a, &b);
    assert_int_equal(b.received_hash, expected);
    close_both(&a, &b);
}

static void test_refuses_own_malformed_words(void **state)
{
    (void)state;
    static uint32_t words[20000]; /* Zeros: no signal, and too long for one frame. */
    struct end a, b;
    open_pair(&a, &b);
    assert_int_equal(link_send(a.link, words, 20000), LINK_SEND_NOT_OPEN);
    assert_int_equal(link_state(a.link), LINK_CLOSING);
    close_both(&a, &b);
}

/* --- Ending. --- */

static void test_goodbye_tells_why(void **state)
{
    (void)state;
    uint32_t words[32];
    struct end a, b;
    open_pair(&a, &b);
    uint32_t count = put_signal(words, 1, 2, 0);
    link_send(a.link, words, count);
    link_close(a.link, "the operator wants it");
    link_close(a.link, "a later reason");
    assert_int_equal(link_send(a.link, words, count), LINK_SEND_NOT_OPEN);
    pump(&a, &b);
    assert_int_equal(b.runs, 1); /* What was sent before the end arrives. */
    assert_int_equal(link_state(b.link), LINK_CLOSING);
    assert_string_equal(link_reason(b.link), "closed by node 2: the operator wants it");
    assert_string_equal(link_reason(a.link), "the operator wants it");
    close_both(&a, &b);
}

static void test_refused_run_closes(void **state)
{
    (void)state;
    uint32_t words[32];
    struct end a, b;
    open_pair(&a, &b);
    b.refuse_run = 2;
    uint32_t count = put_signal(words, 1, 2, 0);
    for (uint32_t i = 0; i < 3; i++) {
        link_send(a.link, words, count);
        link_receive(b.link, stream, take_output(a.link, stream));
    }
    assert_int_equal(b.runs, 2);
    assert_int_equal(link_state(b.link), LINK_CLOSING);
    close_both(&a, &b);
}

static void test_broken_in_frame(void **state)
{
    (void)state;
    uint32_t words[32];
    struct end a, b;
    open_pair(&a, &b);
    link_send(a.link, words, put_signal(words, 1, 2, 0));
    uint32_t size = take_output(a.link, stream);
    link_receive(b.link, stream, size - 1);
    link_broken(b.link, NULL);
    assert_string_equal(link_reason(b.link), "closed by the peer in the middle of a frame");
    assert_false(link_receive(b.link, stream + size - 1, 1)); /* Too late. */
    assert_int_equal(b.runs, 0);
    close_both(&a, &b);
}

/* --- Mutations. --- */

static uint32_t mutations(void)
{
    const char *text = getenv("LINK_MUTATIONS");
    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : 100000;
}

/* Damages a few bytes, or moves, cuts or repeats a stretch. */
static uint32_t mutate(struct rng *rng, const struct recording *recording, uint8_t *to)
{
    uint32_t size = recording->size;
    uint32_t from = rng_chance(rng, 1, 10) ? 0 : 256; /* Mostly behind the handshake. */
    memcpy(to, recording->bytes, size);
    uint32_t at = from + (uint32_t)rng_below(rng, size - from);
    uint32_t length = 1 + (uint32_t)rng_below(rng, size - at);
    switch (rng_below(rng, 5)) {
    case 0:
        to[at] = (uint8_t)rng_next(rng);
        break;
    case 1:
        memmove(to + at, to + at + length, size - at - length);
        return size - length;
    case 2:
        memmove(to + at + length, to + at, size - at);
        return size + length;
    case 3:
        for (uint32_t i = 0; i < length; i++)
            to[at + i] = (uint8_t)rng_next(rng);
        break;
    default:
        for (uint32_t i = 0; i < 4; i++)
            to[from + rng_below(rng, size - from)] ^= (uint8_t)(1u << rng_below(rng, 8));
        break;
    }
    return size;
}

static void test_mutated_streams(void **state)
{
    (void)state;
    static uint32_t words[1024];
    static uint8_t bytes[2 * 16384];
    struct recording recording;
    struct rng rng;
    uint32_t count = put_signals(words, 20);
    record(&recording, words, count, 64);
    assert_true(2 * recording.size <= sizeof bytes);
    rng_seed(&rng, 20240607);
    uint32_t rounds = mutations();
    for (uint32_t i = 0; i < rounds; i++) {
        struct end b;
        listen_to(&b);
        uint32_t size = mutate(&rng, &recording, bytes);
        uint32_t cut = (uint32_t)rng_below(&rng, size + 1);
        if (link_receive(b.link, bytes, cut)) (void)link_receive(b.link, bytes + cut, size - cut);
        assert_true(b.received_words <= recording.words);
        assert_int_equal(b.received_hash, hash_words(0, words, b.received_words));
        link_destroy(b.link);
    }
    free(recording.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opens_with_growing_epochs),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_refuses_strange_hellos),
        cmocka_unit_test(test_handshake_times_out),
        cmocka_unit_test(test_recognises_hello),
        cmocka_unit_test(test_any_chunking),
        cmocka_unit_test(test_every_bit_flip_is_found),
        cmocka_unit_test(test_other_life_does_not_pass),
        cmocka_unit_test(test_repeated_or_lost_frame),
        cmocka_unit_test(test_malformed_with_right_checksum),
        cmocka_unit_test(test_largest_signals),
        cmocka_unit_test(test_levels_and_no_room),
        cmocka_unit_test(test_gathers_small_signals),
        cmocka_unit_test(test_partial_writes),
        cmocka_unit_test(test_refuses_own_malformed_words),
        cmocka_unit_test(test_goodbye_tells_why),
        cmocka_unit_test(test_refused_run_closes),
        cmocka_unit_test(test_broken_in_frame),
        cmocka_unit_test(test_mutated_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
