/* event.c -- builds event reports for the own CMVMI. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/cmvmi/event.h"
#include <string.h>

static void send_event(struct block *from, const struct event_rep *rep, const struct section *text)
{
    uint32_t cmvmi = block_ref(block_config(from)->own_node, BLOCK_CMVMI, 0);
    signal_send(from, cmvmi, GSN_EVENT_REP, PRIO_B, rep, sizeof(*rep) / 4u, text,
                text == NULL ? 0 : 1);
}

void event_report(struct block *from, enum event_type type, const uint32_t *data, uint32_t count)
{
    struct event_rep rep = {.type = type};
    ndbrequire(count <= sizeof(rep.data) / 4u);
    for (uint32_t i = 0; i < count; i++)
        rep.data[i] = data[i];
    send_event(from, &rep, NULL);
}

void event_text(struct block *from, enum event_type type, const char *text)
{
    struct event_rep rep = {.type = type};
    uint32_t words[1 + EVENT_TEXT_MAX / 4u] = {0};
    size_t size = strlen(text);
    if (size > EVENT_TEXT_MAX) size = EVENT_TEXT_MAX;
    words[0] = (uint32_t)size;
    memcpy(words + 1, text, size);
    struct section section = {.words = words, .size = 1u + ((uint32_t)size + 3u) / 4u};
    send_event(from, &rep, &section);
}
