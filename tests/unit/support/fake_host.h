/* fake_host.h -- a host for unit tests of nodes: keeps what is sent, logged and failed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel/node.h"

#define FAKE_SENT_MAX (1u << 20)

struct fake_host {
    struct host host; /* First. */
    jmp_buf on_fail;
    struct node_failure failure;
    char failure_text[256];
    uint32_t sent[FAKE_SENT_MAX]; /* Words handed over, all peers. */
    uint32_t sent_words;
    uint32_t sent_peer; /* Peer of the last call. */
    uint32_t closed_peer;
    char close_reason[256];
    uint32_t stopped;
    uint32_t stop_flags;
    uint64_t seed_next;
    uint32_t verbose;
};

void fake_host_init(struct fake_host *fake);
