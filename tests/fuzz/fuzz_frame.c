/* fuzz_frame.c -- what strangers and hostile nodes may send: raw, or with right checksums. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "transporters/frame.h"
#include "transporters/handshake.h"
#include "transporters/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum link_refusal on_check(void *context, struct link *link, const struct link_peer *peer,
                                  uint32_t *epoch_last)
{
    (void)context;
    (void)link;
    *epoch_last = 3;
    return peer->node > 200 ? LINK_REFUSED_UNKNOWN : LINK_ACCEPTED;
}

static void on_up(void *context, struct link *link, const struct link_peer *peer)
{
    (void)context;
    (void)link;
    (void)peer;
}

/* Reads every word that a handler may read. */
static bool on_signals(void *context, struct link *link, const uint32_t *words, uint32_t count)
{
    uint32_t *sum = context;
    uint32_t at = 0;
    (void)link;
    while (at < count) {
        struct signal sig;
        signal_open(&sig, words + at);
        for (uint32_t i = 0; i < sig.words; i++) {
            *sum += sig.payload[i];
        }
        for (uint32_t s = 0; s < sig.section_count; s++) {
            for (uint32_t i = 0; i < sig.section[s].size; i++) {
                *sum += sig.section[s].words[i];
            }
        }
        at += words[at + 3];
    }
    if (at != count) abort();
    return true;
}

static const struct link_callbacks calls = {.check = on_check, .up = on_up, .signals = on_signals};

static struct link *make_link(uint32_t node, bool connect, uint32_t *sum)
{
    struct link_options options = {
        .calls = &calls,
        .context = sum,
        .own_node = node,
        .own_role = LINK_ROLE_DATA,
        .cluster_id = 5,
        .incarnation = 100 + node,
        .connect = connect,
    };
    struct link *link = link_create(&options);
    if (link == NULL) abort();
    link_start(link, 0);
    return link;
}

static void move(struct link *from, struct link *to)
{
    struct link_bytes piece;
    while (link_output(from, &piece, 1) > 0) {
        (void)link_receive(to, piece.at, piece.size);
        link_sent(from, piece.size);
    }
}

/* Bytes as they are, in two pieces. */
static void fuzz_raw(struct link *link, const uint8_t *data, size_t size)
{
    size_t cut = size > 0 ? data[0] % size : 0;
    if (link_receive(link, data, cut)) (void)link_receive(link, data + cut, size - cut);
}

/* Handshake messages whose checksum is right. */
static void fuzz_hello(struct link *link, const uint8_t *data, size_t size)
{
    struct handshake message;
    while (size >= sizeof message) {
        memcpy(&message, data, sizeof message);
        message.magic = HANDSHAKE_MAGIC;
        handshake_seal(&message);
        if (!link_receive(link, &message, sizeof message)) return;
        data += sizeof message;
        size -= sizeof message;
    }
}

/* Frames whose checksums are right; the bodies are the fuzzer's. */
static void fuzz_frames(struct link *link, const uint8_t *data, size_t size)
{
    const struct frame_session session = {4, 2, 1, 102, 101};
    static uint32_t frame[FRAME_HEAD_WORDS + 256];
    for (uint32_t number = 1; size >= 6; number++) {
        uint32_t words = 1 + data[0];
        if (words > (size - 2) / 4) words = (uint32_t)(size - 2) / 4;
        memcpy(frame + FRAME_HEAD_WORDS, data + 2, 4 * words);
        frame_seal(frame, (enum frame_kind)data[1], words, number, frame_seed(&session));
        if (!link_receive(link, frame, FRAME_HEAD_BYTES + 4 * words)) return;
        data += 2 + 4 * words;
        size -= 2 + 4 * words;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t sum = 0;
    if (size == 0) return 0;
    struct link *near = make_link(1, false, &sum);
    struct link *far = make_link(2, true, &sum);
    if (data[0] % 8 >= 4) {
        move(far, near);
        move(near, far);
        move(far, near);
        if (link_state(near) != LINK_OPEN || link_state(far) != LINK_OPEN) abort();
    }
    switch (data[0] % 8) {
    case 0:
    case 4:
        fuzz_raw(near, data + 1, size - 1);
        break;
    case 1:
        fuzz_raw(far, data + 1, size - 1);
        break;
    case 2:
    case 5:
        fuzz_hello(near, data + 1, size - 1);
        break;
    case 3:
        fuzz_hello(far, data + 1, size - 1);
        break;
    default:
        fuzz_frames(near, data + 1, size - 1);
        break;
    }
    link_close(near, "end");
    move(near, far);
    link_destroy(near);
    link_destroy(far);
    return 0;
}
