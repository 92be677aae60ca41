/* api_core.h -- the client library without input and output: what the simulator drives and the
 * shell wraps. */
/* SPDX-License-Identifier: MIT */
/*
 * Inputs are links going up and down, signals, the time, and the application's requests; outputs
 * are packed signals for a peer (struct api_host) and completion callbacks. Nothing here opens a
 * socket, reads a clock or sleeps.
 *
 * A core is one API node. It knows the data nodes and the dictionary cache, and has clients (one
 * per thread of the application; an ndb_t). A client owns its transactions, scans and connect
 * records, and the instance of the signals' receiver names it: so each client may be driven by
 * another thread, as long as its calls, its signals and its ticks come one at a time. What clients
 * share (node table, dictionary cache) is atomic or locked.
 *
 * Rules
 * - Every request (something with a `done` callback) that was accepted gets exactly one completion:
 * by an answer, by its deadline or by the loss of a link; never from within the call that made it,
 * except where it says so.
 * - Callbacks may make new requests and close what they got. They may not close the client.
 * - Answers are matched by record reference and transaction id; what does not match is dropped and
 * counted.
 * - A transaction given up (deadline, close) is rolled back at its coordinator before the
 * coordinator's record is used again.
 *
 * This header has the node and its clients; what clients ask for stands in api_dict.h (tables),
 * api_tx.h (transactions) and api_scan.h (scans).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kernel/base/bitmask.h"
#include "kernel/base/block_ref.h"

struct api_core;
struct api_client;

#define API_CLIENTS_MAX  4711u /* Per node: "Ndb objects" of the field. */
#define API_NO_TIMEOUT   UINT32_MAX
#define API_OPS_MAX      0xFFFFFFu
#define API_HEARTBEAT_MS 1500u /* Interval of registrations until a data node has said how often. */

struct api_host {
    void *context;
    /* Whole packed signals for a data node, in order; copied or sent before it returns. Dropped
       when `epoch` is not the open link's. False: no room, nothing was taken (the request fails
       with ERR_API_SEND_BUFFER_4022; a batch of which a part was taken before waits). May be called
       by any client's thread. */
    bool (*send)(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                 uint32_t count);
    /* A good part of the room is taken: what comes in parts waits with the next one. Any client's
       thread. May be NULL. */
    bool (*crowded)(void *context, uint32_t peer);
    /* The node has not answered registrations for too long: close the link. From the node's part
     * only. May be NULL. */
    void (*close)(void *context, uint32_t peer, uint32_t epoch, const char *reason);
};

struct api_config {
    uint32_t own_node;
    uint32_t generation;    /* Generation of the configuration. */
    uint64_t transid_start; /* Random start of the transaction counter (low 32 bits are used). */
    struct node_mask data_nodes; /* All configured data nodes. */
    uint32_t neighbour; /* Data node preferred when there is no hint, 0 = none (round robin). */
    /* Words per scan: it fetches ahead while less than this waits. 0 = 1M words. */
    uint32_t scan_buffer_words;
    /* Words per transaction: rows are asked for while those under way may take less than this, a
     * part of what a data node can keep for a client. 0 = 128K words. */
    uint32_t rows_words;
    uint32_t arbitration_delay_ms; /* Milliseconds before it answers as an arbitrator. */
};

/* ---- Core: the node ---- */

/* NULL when memory is out. The host struct is copied. */
struct api_core *api_core_create(const struct api_config *config, const struct api_host *host);
/* Closes all clients (their requests complete with ERR_CLUSTER_FAILURE first). */
void api_core_destroy(struct api_core *core);

/*
 * The four inputs, for a host with one thread (the simulator): they reach the core and every
 * client. Signals are whole and checked by signal_extent_check(). False: the peer sent what is no
 * answer to a client (wrong sender, unknown number, wrong length): close the link.
 */
void api_core_link_up(struct api_core *core, uint32_t peer, uint32_t epoch);
void api_core_link_down(struct api_core *core, uint32_t peer, uint32_t epoch);
bool api_core_signals(struct api_core *core, uint32_t peer, uint32_t epoch, const uint32_t *words,
                      uint32_t count);
void api_core_tick(struct api_core *core, uint64_t now_ms);

/*
 * The same in parts, for a host with threads: first the node's part (one thread at a time), then
 * each client's part by its own thread, in the order in which things came over the link.
 */
void api_core_node_up(struct api_core *core, uint32_t peer, uint32_t epoch);
void api_core_node_down(struct api_core *core, uint32_t peer, uint32_t epoch);
bool api_core_node_signal(struct api_core *core, uint32_t peer, uint32_t epoch,
                          const uint32_t *words);
void api_core_node_tick(struct api_core *core, uint64_t now_ms);
/* Checks one whole signal from `peer`: is it an answer for a client, long enough, from that node?
   Returns the instance it is for (0 = the node's part), or UINT32_MAX = close the link. */
uint32_t api_core_route(const struct api_core *core, uint32_t peer, const uint32_t *words);

void api_client_link_down(struct api_client *client, uint32_t peer, uint32_t epoch);
void api_client_signal(struct api_client *client, uint32_t peer, uint32_t epoch,
                       const uint32_t *words);
/* After a group of signals: sends what they caused (next batches of scans). */
void api_client_flush(struct api_client *client);
/* What begins now is measured from this time on. Nothing ends by it, so no callback runs. */
void api_client_now(struct api_client *client, uint64_t now_ms);
void api_client_tick(struct api_client *client, uint64_t now_ms);
/* Milliseconds until a deadline or retry of this client needs a tick, UINT32_MAX = none. */
uint32_t api_client_next_tick(const struct api_client *client);

/* Data nodes that accept transactions (linked, registered, started). Any thread. */
struct node_mask api_core_ready(const struct api_core *core);
bool api_core_node_ready(const struct api_core *core, uint32_t node);
/* Why a data node refuses to be used, 0 = none does; *node is the first one that does. Any thread.
 */
uint32_t api_core_refusal(const struct api_core *core, uint32_t *node);
uint32_t api_core_president(const struct api_core *core);
/* Another number than before: the cluster may have lost all its data since, and begun anew. It was
 * raised before the first node of another life is ready. Any thread. */
uint32_t api_core_lives(const struct api_core *core);
uint32_t api_core_own_node(const struct api_core *core);

/* ---- Clients ---- */

/* NULL: API_CLIENTS_MAX are open, or no memory. Any thread. */
struct api_client *api_client_open(struct api_core *core);
/* Rolls back and closes everything without waiting: callbacks that have not run will not. Late
 * answers are dropped. */
void api_client_close(struct api_client *client);
uint32_t api_client_instance(const struct api_client *client);
struct api_client *api_core_client(struct api_core *core, uint32_t instance); /* NULL = none. */
/* Requests that have not completed, and coordinator records that are not yet clean. Both 0: idle.
 */
uint32_t api_client_pending(const struct api_client *client);
uint32_t api_client_unclean(const struct api_client *client);

struct api_statistics {
    uint64_t transactions_started, transactions_committed, transactions_aborted,
        transactions_unknown;
    uint64_t key_operations, rows_read, scans, scan_batches, dictionary_requests;
    uint64_t scans_pruned;      /* Scans that left fragments out. */
    uint64_t fragments_scanned; /* Fragments that the cluster has read to their end for scans. */
    uint64_t retries, timeouts, late_answers, bytes_sent, bytes_received;
};
const struct api_statistics *api_client_statistics(const struct api_client *client);
