/* node_harness.h -- one real data node in this process, with links that a test speaks on word by
 * word. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include <stdbool.h>
#include "kernel/node.h"

/*
 * The node is node 1 with all its blocks; time is virtual and moves only in harness_run(). Nothing
 * here is thread-safe.
 */
#define HARNESS_NODE  1u
#define HARNESS_DATA  2u /* A configured data node that never ran: its link may speak as one. */
#define HARNESS_API   6u /* 6 to 8: API nodes. */
#define HARNESS_GOOD  8u /* The API node that the tests let behave. */
#define HARNESS_MGM   9u
#define HARNESS_PEERS 10u

struct harness;

struct harness_options {
    uint64_t seed;
    uint32_t split_threads; /* 0: one thread; else one per role. */
    uint32_t ldm_count;
    uint32_t tc_count;
    uint32_t tiny;       /* Pools so small that everything runs out. */
    uint32_t data_peer;  /* Node 2 is configured as well; the node starts without it. */
    uint32_t verbose;    /* The node's log goes to stderr. */
    uint32_t keep_quiet; /* A failure is not printed (tests of failures). */
    /* Every signal that the node sends, while the harness runs. May be NULL. */
    void (*received)(void *context, uint32_t peer, const struct signal *sig);
    void *context;
};

struct harness_failure {
    bool failed;
    uint32_t exit_code;
    char text[300]; /* file:line: text */
};

/* Makes the node and lets it start. NULL when it does not get to START_STARTED (said on stderr). */
struct harness *harness_create(const struct harness_options *options);
void harness_destroy(struct harness *harness);

/* Opens the link of a peer; waits (in virtual time) until the node allows it. False: it does not.
 */
bool harness_up(struct harness *harness, uint32_t peer);
/* Closes it from the peer's side. */
void harness_down(struct harness *harness, uint32_t peer);
bool harness_is_up(const struct harness *harness, uint32_t peer);

/* Why the node last closed this peer's link. */
const char *harness_close_reason(const struct harness *harness, uint32_t peer);

/*
 * Words as they come off a link behind a good checksum. What is not a run of whole signals closes
 * the link, as the transporter does. True when the node took them.
 */
bool harness_words(struct harness *harness, uint32_t peer, const uint32_t *words, uint32_t count);

/* A well-formed signal; the sender is block `sender_block`, instance 1 of the peer. */
bool harness_send(struct harness *harness, uint32_t peer, uint32_t receiver, uint32_t gsn,
                  const void *payload, uint32_t words, const struct section *sections,
                  uint32_t section_count);
#define harness_sig(harness, peer, receiver, gsn, payload)                                         \
    harness_send(harness, peer, receiver, gsn, payload, sizeof(*(payload)) / 4u, NULL, 0)

/* Runs until nothing is left to do, then `ms` milliseconds more. */
void harness_run(struct harness *harness, uint32_t ms);

/* False when the node has failed or was stopped in good order. */
bool harness_alive(const struct harness *harness);
bool harness_stopped(const struct harness *harness);
const struct harness_failure *harness_failure_of(const struct harness *harness);

/* All blocks' checks. False when one fails (see harness_failure_of). */
bool harness_check(struct harness *harness);

/* What is in use besides tables and rows; all 0 on a quiet node without clients. */
struct harness_usage {
    uint32_t connects;
    uint32_t transactions;
    uint32_t operations; /* TC and LQH. */
    uint32_t scans;
    uint32_t segments;
    uint32_t locks;
    uint32_t changes;
    uint32_t schema_busy;
};
void harness_usage_get(struct harness *harness, struct harness_usage *usage);

struct node *harness_node(struct harness *harness);
uint64_t harness_now(const struct harness *harness);
