/* sim_world.h -- a whole cluster in one process, driven from a seed: nodes, clients, links, clock,
 * faults. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/node.h"
#include "kernel/sim/sim_disk.h"
#include "kernel/sim/sim_plan.h"

/*
 * One operating system thread runs everything. sim_step() draws one task among those that can run
 * (a thread of a node, bytes that arrived on a link, a link with output, a client), lets it do a
 * little, and moves the virtual clock only when nothing can run. The same options give the same
 * steps on every machine and with every compiler.
 *
 * Node ids are 1..SIM_NODES - 1. Data nodes connect to data nodes with lower ids, clients to all
 * data nodes.
 */
#define SIM_NODES 64u

struct sim_world;

/* How a run ended; the numbers are exit codes of the sim program. */
enum sim_verdict { SIM_OK = 0, SIM_CRASH = 127, SIM_LIVENESS = 128, SIM_CORRECTNESS = 129 };

/* Independent random streams, so that leaving out one fault does not shift all the others. */
enum sim_stream_no {
    SIM_RNG_WORKLOAD = 0,
    SIM_RNG_PLAN,
    SIM_RNG_SCHEDULER,
    SIM_RNG_NETWORK,
    SIM_RNG_NODE
};

struct sim_options {
    uint64_t seed;
    uint64_t cluster_id;
    /* Network. */
    uint32_t latency_min_us;
    uint32_t latency_max_us;
    uint32_t chunk_percent;     /* Deliveries that are cut at a random byte. */
    uint32_t stream_bytes;      /* What a socket takes before the sender must wait; power of two. */
    uint32_t send_buffer_bytes; /* Send buffer of a link; 0 = default. */
    /* Scheduler. */
    uint32_t budget_one_percent;  /* Rounds of a thread that may execute one B signal only. */
    uint32_t budget_max;          /* The most B signals of the other rounds. */
    uint32_t lazy_percent;        /* Tasks that are passed over half of the time. */
    struct sim_disk_options disk; /* Disk of each data node; its seed comes from the world's. */
    const char *(*gsn_name)(uint32_t gsn);
    uint32_t (*describe)(const struct signal *sig, char *text, uint32_t size);
    /* Every executed signal, before it is executed; node and thread where. May be NULL. */
    void (*observe)(void *context, uint32_t node, uint32_t thread_no, const uint32_t *words);
    /* A log line of a node. May be NULL. */
    void (*log)(void *context, uint32_t node, enum log_level level, const char *text);
    /* An event of the plan whose action the world does not know (clients). May be NULL. */
    void (*action)(void *context, const struct sim_event *event);
    /* Signals that arrive at a data node from another one; may change them, the words stay whole
     * signals. NULL = nobody does. */
    void (*tamper)(void *context, uint32_t *words, uint32_t count);
    /* A node stops by itself: true = that is announced, the run goes on. NULL = never. */
    bool (*announced)(void *context, uint32_t node, const struct node_failure *failure);
    /* An event of the plan is due: false = it is left out. NULL = all happen. */
    bool (*allowed)(void *context, const struct sim_event *event);
    void *context;
};

/* Fills in middling values; seed, names and callbacks are left zero. */
void sim_options_defaults(struct sim_options *options);

struct sim_world *sim_create(const struct sim_options *options);
void sim_destroy(struct sim_world *world);

/* --- Processes. --- */

struct sim_data_options {
    const struct node_config *config; /* Copied; config->own_node is the id. */
    void (*build)(struct node *node); /* Makes the blocks. */
    uint32_t link_thread;             /* Thread that owns the links. */
};
void sim_add_data(struct sim_world *world, const struct sim_data_options *options);

/* What a client's process does. All is called from sim_step(). */
struct sim_client_calls {
    void (*link_up)(void *context, uint32_t peer, uint32_t epoch);
    void (*link_down)(void *context, uint32_t peer, uint32_t epoch);
    /* Whole signals from `peer`. False closes the link. */
    bool (*signals)(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                    uint32_t count);
    /* Runs a little; returns when it wants to run again in any case, microseconds of virtual time.
     */
    uint64_t (*run)(void *context, uint64_t now_us);
    void (*level)(void *context, uint32_t peer, enum link_level level); /* May be NULL. */
};
void sim_add_client(struct sim_world *world, uint32_t node, const struct sim_client_calls *calls,
                    void *context);

/* The process ends at this moment: links break, memory is gone (a client's own state is the
 * caller's affair). */
void sim_kill(struct sim_world *world, uint32_t node);

/*
 * The machine of a data node loses power: as sim_kill() (when it is alive), and what its disk had
 * not made durable gets a fate each of `fates_allowed` (kernel/sim/sim_disk.h). sim_kill() alone
 * keeps what was written.
 */
void sim_power_cut(struct sim_world *world, uint32_t node, uint32_t fates_allowed);

/* The same right after the `operation`-th file operation from now (1 = the next), before the node
 * hears of it; 0 = never. */
void sim_power_cut_at(struct sim_world *world, uint32_t node, uint64_t operation);

/* A data node's disk, alive or not; NULL for other nodes. It lives as long as the world. */
struct sim_disk *sim_disk_of(struct sim_world *world, uint32_t node);

/* A data node's configuration, to be changed for its next life: alive it has a copy. */
struct node_config *sim_config(struct sim_world *world, uint32_t node);

/* Starts a process that was killed or has ended: a new life with empty memory. */
bool sim_restart(struct sim_world *world, uint32_t node);

bool sim_alive(const struct sim_world *world, uint32_t node);
struct node *sim_node(struct sim_world *world, uint32_t node); /* NULL when it is not alive. */

/* How a data node ended. code 0: it has not, or by an orderly stop (stopped = true). */
struct sim_exit {
    bool stopped;
    uint32_t restart_flags;
    uint32_t code;
    uint32_t line;
    const char *file;
    char text[200];
};
const struct sim_exit *sim_exit_of(const struct sim_world *world, uint32_t node);

/* For clients: as the host's calls of the same name. False: the link is not open (any more). */
bool sim_client_send(struct sim_world *world, uint32_t from, uint32_t peer, uint32_t epoch,
                     const uint32_t *words, uint32_t count);
void sim_client_close(struct sim_world *world, uint32_t from, uint32_t peer, const char *reason);

/* A client has something to do now. */
void sim_client_wake(struct sim_world *world, uint32_t node);

/* --- Running. --- */

/* One step. False when nothing will ever happen again, or the run has failed. */
bool sim_step(struct sim_world *world);

/* Steps until `done` says so (checked about every 64 steps and at each clock move) or the time has
 * come. True = done. */
bool sim_run_until(struct sim_world *world, bool (*done)(void *context), void *context,
                   uint64_t until_us);

uint64_t sim_now_us(const struct sim_world *world);
uint64_t sim_signals(const struct sim_world *world); /* Executed so far, clients included. */
uint64_t sim_steps(const struct sim_world *world);
uint64_t sim_hash(const struct sim_world *world); /* Hash of everything executed so far. */
struct rng *sim_rng(struct sim_world *world, enum sim_stream_no which);

/* Ends the run: the first failure counts. */
void sim_fail(struct sim_world *world, enum sim_verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum sim_verdict sim_verdict_of(const struct sim_world *world);
const char *sim_failure_text(const struct sim_world *world);

/* Runs every living node's node_check(); a failure ends the run. */
void sim_check_nodes(struct sim_world *world);

/* --- Faults. Each may be called at any time between steps; the plan calls them too. --- */

void sim_set_plan(struct sim_world *world, const struct sim_plan *plan);
void sim_apply(struct sim_world *world, const struct sim_event *event);
/* No event of the plan waits for its time any more; those that wait for signals do not count. */
bool sim_plan_over(const struct sim_world *world);

/* From now on no new faults, and the tiniest latencies: the phase in which all must come to an end.
 */
void sim_faults_off(struct sim_world *world);

/* The link between two nodes breaks; each direction delivers a random prefix of what is under way.
 */
void sim_cut(struct sim_world *world, uint32_t a, uint32_t b);
void sim_stall(struct sim_world *world, uint32_t from, uint32_t to, uint64_t us);
/* A node of any kind does not run for so long; what comes for it waits. */
void sim_hang(struct sim_world *world, uint32_t node, uint64_t us);
void sim_slow(struct sim_world *world, uint32_t node, uint32_t thread_no, uint64_t gap_us,
              uint64_t for_us);
/* Rounds of threads take no time otherwise: this is what one is taken to need on a real machine,
 * wake-up and some dozens of signals. */
#define SIM_ROUND_US 200u
/* All threads of a data node are so many times slower for so long. */
void sim_slow_node(struct sim_world *world, uint32_t node, uint32_t times, uint64_t for_us);
/* A data node (0: each of them) gets a processor for a moment only once in up to `gap_us`; the
 * gaps begin small and grow by half. */
void sim_starve(struct sim_world *world, uint32_t node, uint64_t gap_us, uint64_t for_us);
/* The link between two nodes, in both directions: everything is under way `delay_us` longer, and
 * not more than bytes_s pass in a second. */
void sim_slow_link(struct sim_world *world, uint32_t a, uint32_t b, uint64_t delay_us,
                   uint64_t bytes_s, uint64_t for_us);

/* Arms an error insert in every instance of the block that knows it. */
void sim_insert(struct sim_world *world, uint32_t node, uint32_t block_no, uint32_t number,
                uint32_t extra);

/*
 * Holds what `from` sends to `to` from the next signal with this number on (gsn 0: at once), in
 * order, until released. For scripted scenarios that need an exact position; one hold at a time for
 * each pair.
 */
void sim_hold(struct sim_world *world, uint32_t from, uint32_t to, uint32_t gsn);
bool sim_held(const struct sim_world *world, uint32_t from,
              uint32_t to); /* True once something waits. */
void sim_release(struct sim_world *world, uint32_t from, uint32_t to);

/* True when the link between two nodes is open at both ends. */
bool sim_linked(const struct sim_world *world, uint32_t a, uint32_t b);

/* Open links that were cut so far, by faults or otherwise. */
uint32_t sim_link_downs(const struct sim_world *world);
/* `from` has closed its last link to `to`, which lives, with something unsent: that one has not
 * learnt that it was dismissed. */
bool sim_goodbye_lost(const struct sim_world *world, uint32_t from, uint32_t to);
