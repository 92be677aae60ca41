/* event.h -- how any block reports an event to the cluster log. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "signals/event_report.h"
#include "signals/management.h"
#include "signals/node_report.h"

/*
 * Tells the own CMVMI; `count` words of `data` (at most 12), whose meaning is the event's. Never
 * fails, never blocks.
 */
void event_report(struct block *from, enum event_type type, const uint32_t *data, uint32_t count);

/* The same with the words as arguments. */
#define event_send(from, type, ...)                                                                \
    event_report(from, type, (const uint32_t[]){__VA_ARGS__},                                      \
                 sizeof((const uint32_t[]){__VA_ARGS__}) / 4u)

/* Free text: EVENT_INFO or EVENT_WARNING; cut at EVENT_TEXT_MAX bytes. */
#define EVENT_TEXT_MAX 120u
void event_text(struct block *from, enum event_type type, const char *text);
