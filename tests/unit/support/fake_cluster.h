/* fake_cluster.h -- several nodes in one process, with links between them and clients made of plain
 * functions. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time is virtual and moves only in fc_run(). Links open when both ends allow it and the test does
 * not cut them; a link that breaks loses what was on its way. Ids of data nodes are below
 * fc_first_client, those of clients from there on.
 */
#pragma once
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel/node.h"
#include "signals/gsn.h"
#include "signals/print.h"

#define FC_NODES 11u /* Node ids below this, data and clients. */

struct fc_signal {
    struct fc_signal *next;
    uint32_t from;
    uint32_t seen;
    struct signal sig;
    uint32_t words[]; /* The extent. */
};

struct fake_cluster;

struct fc_node {
    struct host host; /* First. */
    struct fake_cluster *cluster;
    uint32_t id;
    struct node *node; /* NULL: a client, or dead. */
    uint32_t client;
    bool allowed[FC_NODES];
    bool dead;
    bool stopped;
    uint32_t stop_flags;
    uint32_t exit_code;
    char failure[256];
    char damaged[500];          /* The node's last log line with the word "damaged". */
    uint32_t watched;           /* Log lines with the cluster's `watch` in them. */
    struct fc_signal *received; /* Clients: in order. */
};

struct fc_link {    /* A link from one node to another. */
    uint32_t epoch; /* 0 = down. */
    bool cut;
    bool stalled; /* Up, but nothing arrives. */
    uint32_t *words;
    uint32_t used;
    uint32_t size;
};

/* A test that needs more data nodes sets it in main(). */
extern uint32_t fc_first_client;

struct fake_cluster {
    struct fc_node node[FC_NODES];
    struct fc_link link[FC_NODES][FC_NODES];
    uint64_t now;
    uint32_t epoch_next;
    uint32_t sent_total;
    uint64_t seed;
    jmp_buf on_fail;
    uint32_t verbose;
    const char *watch; /* What log lines are counted for; NULL: nothing. */
    /* May change what is about to arrive at a data node; the words stay whole signals. NULL: nobody
     * does. */
    void (*tamper)(struct fake_cluster *fc, uint32_t from, uint32_t to, uint32_t *words,
                   uint32_t count);
};

void fc_append(struct fake_cluster *fc, uint32_t from, uint32_t to, const uint32_t *words,
               uint32_t count);
void fc_init(struct fake_cluster *fc);

/* Makes data node `id`; the test adds its blocks. */
struct node *fc_create(struct fake_cluster *fc, uint32_t id, const struct node_config *config);

/* A client is there (or, with false, gone). */
void fc_client(struct fake_cluster *fc, uint32_t id, bool there);
bool fc_alive(const struct fake_cluster *fc, uint32_t id);
void fc_cut(struct fake_cluster *fc, uint32_t a, uint32_t b, bool cut);
void fc_kill(struct fake_cluster *fc, uint32_t id);
void fc_links(struct fake_cluster *fc);
bool fc_deliver(struct fake_cluster *fc, uint32_t from, uint32_t to);
bool fc_run_node(struct fake_cluster *fc, uint32_t id);

/* Lets `ms` milliseconds pass. */
void fc_run(struct fake_cluster *fc, uint32_t ms);

/* A client sends a signal. */
void fc_send(struct fake_cluster *fc, uint32_t client, uint32_t receiver, uint32_t gsn,
             const void *payload, uint32_t words, const struct section *sections, uint32_t count);
#define fc_sig_send(fc, client, receiver, gsn, payload)                                            \
    fc_send(fc, client, receiver, gsn, payload, sizeof(*(payload)) / 4u, NULL, 0)
/* The first signal of this kind that the client has not looked at, or NULL. */
const struct signal *fc_take(struct fake_cluster *fc, uint32_t client, uint32_t gsn);
void fc_check(struct fake_cluster *fc);
void fc_destroy(struct fake_cluster *fc);
