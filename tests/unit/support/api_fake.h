/* api_fake.h -- a scripted server for the client core's tests: keeps what is sent, makes answers.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "api/core/api_core.h"
#include "api/core/api_dict.h"
#include "api/core/api_scan.h"
#include "api/core/api_tx.h"
#include "signals/api_reg.h"
#include "values/errors.h"

#define OWN_NODE 50u

/* One signal that the core has sent. */
struct sent {
    uint32_t peer;
    uint32_t words[4096];
};

struct fake {
    struct api_core *core;
    struct api_client *client;
    struct sent *sent;
    uint32_t sent_count;
    uint32_t sent_read;
    uint32_t epoch[256];
    uint32_t closed;    /* Peer whose link the core wanted closed. */
    bool full;          /* Refuses to send. */
    uint32_t full_peer; /* The node that it refuses to send to. */
    uint32_t room;      /* Words that it takes before it is full; 0 = any number. */
    bool crowded;
    bool copied; /* The table has two copy fragments, of partitions 0 and 1. */
    uint64_t now;
};

/* The next signal sent, which must be this one. Registrations are passed over. */
const uint32_t *fake_next(struct fake *fake, uint32_t gsn, uint32_t *peer);
void fake_expect_nothing(struct fake *fake);

/* An answer from `sender`; sections one after the other, each given as words and size. */
bool fake_answer_to(struct fake *fake, uint32_t receiver, uint32_t sender, uint32_t gsn,
                    const void *payload, uint32_t words, uint32_t sections,
                    const uint32_t *const *section, const uint32_t *size);
#define ANSWER(fake, sender, GSN_NAME, ...)                                                        \
    fake_answer((fake), (sender), GSN_##GSN_NAME, &(__VA_ARGS__), sizeof(__VA_ARGS__) / 4u)
void fake_answer(struct fake *fake, uint32_t sender, uint32_t gsn, const void *payload,
                 uint32_t words);
void fake_answer_section(struct fake *fake, uint32_t sender, uint32_t gsn, const void *payload,
                         uint32_t words, const uint32_t *section, uint32_t size);
void fake_register(struct fake *fake, uint32_t node, uint32_t level, uint32_t president);

/* Both nodes are started, and node 1 says which are slow. */
void fake_slow(struct fake *fake, uint32_t slow);
void fake_link_up(struct fake *fake, uint32_t node, uint32_t epoch);
void fake_link_down(struct fake *fake, uint32_t node);

/* Data nodes 1..nodes, all started, node 1 president. */
struct fake *fake_create(uint32_t nodes);
void fake_destroy(struct fake *fake);
void fake_sleep(struct fake *fake, uint32_t ms);

/* Table test/def/t: id int unsigned key, v int unsigned with an ordered index; two fragments,
 * primaries on node 1 and 2 (if there are two). */
struct table_def *fake_table_def(void);

struct fake_dict {
    uint32_t calls;
    struct api_dict_result result;
};

void fake_dict_done(void *context, const struct api_dict_result *result);

/* The GET_TABINFO_CONF for a request, from `node`, with this version of the table. */
bool fake_answer_version(struct fake *fake, uint32_t node, const uint32_t *request, uint32_t nodes,
                         uint32_t version);
bool fake_answer_table(struct fake *fake, uint32_t node, const uint32_t *request, uint32_t nodes);

/* Opens the table: all that are asked answer alike. */
struct api_table *fake_table(struct fake *fake, uint32_t nodes);
void fake_no_table(struct fake *fake, uint32_t node, const uint32_t *request);

/* ---- Operations on that table. ---- */

struct fake_row {
    uint32_t calls;
    uint32_t pairs[16];
    uint32_t words;
};

struct op_step {
    enum key_operation operation;
    enum lock_mode lock;
    uint32_t flags;
    uint32_t key;
    struct fake_row *row;
};

struct api_op *fake_op_step(struct api_tx *tx, struct api_table *table, const struct op_step *step);
#define fake_op(tx, table, ...) fake_op_step((tx), (table), &(struct op_step){__VA_ARGS__})
/* Executes with a 1000 ms deadline and counts completions in `*done`. */
void fake_done(void *context, struct api_tx *tx);
#define TC(node)            block_ref((node), BLOCK_DBTC, 1)
#define TCKEYREQ_OF(words)  ((const struct tckeyreq *)(const void *)((words) + SIGNAL_HEAD_WORDS))
#define TC_CONNECT_OF(node) (0x5000u + (node))
/* Answers the TCSEIZEREQ that must have been sent to `node`. Returns the client's api_connect. */
uint32_t fake_seize(struct fake *fake, uint32_t node);

struct keyconf_step {
    uint32_t api_connect;
    uint64_t transid;
    bool committed;
};

void fake_keyconf_step(struct fake *fake, uint32_t node, const struct keyconf_step *step);
#define fake_keyconf(fake, node, ...)                                                              \
    fake_keyconf_step((fake), (node), &(struct keyconf_step){__VA_ARGS__})

struct row_step {
    uint32_t api_op;
    uint64_t transid;
    uint32_t value;
};

void fake_row_step(struct fake *fake, uint32_t node, const struct row_step *step);
#define fake_row(fake, node, ...) fake_row_step((fake), (node), &(struct row_step){__VA_ARGS__})
