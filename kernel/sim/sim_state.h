/* sim_state.h -- the simulator's own view of its world. Private to kernel/sim. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include "kernel/sim/sim_disk.h"
#include "kernel/sim/sim_world.h"
#include "kernel/sim/sim_trace.h"
#include "transporters/link.h"

#define SIM_NEVER    UINT64_MAX
#define SIM_SEGMENTS 64u /* Writes under way per direction; more are joined. */
#define SIM_HOLDS    8u

/* Something that can be drawn. Tasks live as long as the world. */
enum sim_task_kind { TASK_THREAD = 0, TASK_CLIENT, TASK_DELIVER, TASK_END, TASK_ROUTE, TASK_DISK };

struct sim_task {
    enum sim_task_kind kind;
    uint32_t id;    /* Index into task[] and wake_at[]. */
    uint32_t ready; /* 1 + index into ready[]; 0 = not there. */
    bool lazy;
    void *owner;
};

struct sim_thread {
    struct sim_task task;
    struct sim_process *process;
    uint32_t no;
    uint64_t rest_until; /* A slow thread does not run before. */
    uint64_t rest_us;
    uint64_t slow_until;
    uint64_t round_us; /* A slow node: when the round under way takes place; 0 = none is. */
};

/* A node of any kind. */
struct sim_process {
    struct host host; /* First: the node's own door to the world. */
    struct sim_world *world;
    uint32_t id;   /* Node id; 0 = unused. */
    uint32_t role; /* enum link_role */
    bool alive;
    /* Nodes that a goodbye has not reached, as there was no room for it. */
    struct node_mask unheard;
    uint64_t hang_until; /* The process does not run before. */
    uint64_t slow_until; /* Until then each round takes slow_round_us. */
    uint64_t slow_round_us;
    uint64_t starve_until; /* Until then the process has a turn only now and then. */
    uint64_t turn_us;      /* When the last turn began. */
    uint64_t turn_next_us; /* When the next turn begins. */
    uint64_t gap_us;       /* The next gap between two turns is not longer than this; it grows. */
    uint64_t gap_max_us;   /* No gap becomes longer than this. */
    bool stopping;         /* An orderly stop was asked for; the process ends after this round. */
    uint64_t incarnation;
    struct rng rng;
    struct node_config config;
    struct sim_data_options data;
    struct node *node;
    struct sim_thread *threads;
    struct sim_exit exit;
    struct sim_disk *disk; /* Disk of a data node; it outlives the process. */
    struct sim_task disk_task;
    uint64_t power_at;    /* The power goes with this file operation; 0 = never. */
    bool power_all;       /* Then the power of all data nodes goes. */
    uint32_t power_ms;    /* They begin new lives within so long. */
    struct sim_task task; /* Task of a client. */
    const struct sim_client_calls *calls;
    void *context;
};

struct sim_segment {
    uint64_t arrive_us;
    uint64_t end; /* Position in the stream. */
};

/* Bytes under way in one direction. */
struct sim_stream {
    struct sim_task task;
    struct sim_conn *conn;
    uint32_t side; /* Side of the sender: index into conn->end[]. */
    uint8_t *bytes;
    uint64_t head;    /* Bytes up to here are delivered. */
    uint64_t arrived; /* Bytes up to here may be delivered. */
    uint64_t tail;
    struct sim_segment segment[SIM_SEGMENTS];
    uint32_t segment_first;
    uint32_t segment_count;
    uint64_t last_arrive;
    uint64_t sent; /* The segments reach up to here. */
    uint64_t stall_until;
    uint64_t slow_until;    /* Until then the stream is slow. */
    uint64_t slow_delay_us; /* How much longer bytes are under way then. */
    uint64_t slow_bytes_s;  /* How many bytes pass in a second then. */
    bool ended;             /* Nothing comes behind tail. */
};

struct sim_end {
    struct sim_task task;
    struct sim_conn *conn;
    uint32_t side;
    struct sim_process *process;
    uint32_t peer;  /* Node id of the peer, as the link itself found out; 0 before. */
    uint32_t epoch; /* Epoch of the link; 0 until it is up, and again when it was reported down. */
    struct link *link; /* NULL: closed. */
};

struct sim_conn {
    struct sim_world *world;
    struct sim_route *route;
    bool used;
    struct sim_end end[2];       /* The connector is 0. */
    struct sim_stream stream[2]; /* Streams by the side of their sender. */
};

/* Who connects to whom. */
struct sim_route {
    struct sim_task task;
    struct sim_process *from;
    struct sim_process *to;
    struct sim_conn *conn; /* Connection whose connecting end is open. */
    uint64_t retry_us;
};

/* What one process knows of another. */
struct sim_pair {
    uint32_t epoch_last;
    bool allowed;
    struct sim_end *end; /* Own end, once up. */
};

struct sim_held {
    uint32_t from;
    uint32_t to;
    uint32_t gsn;
    bool holding;
    uint32_t *words;
    uint32_t used;
    uint32_t size;
};

struct sim_world {
    struct sim_options options;
    uint64_t now_us;
    uint64_t steps;
    struct sim_task **task;
    uint64_t *wake_at;
    struct sim_task **ready;
    uint32_t task_count;
    uint32_t task_size;
    uint32_t ready_count;
    struct rng rng[SIM_RNG_NODE];
    struct sim_process *process[SIM_NODES];
    struct sim_pair pair[SIM_NODES][SIM_NODES]; /* [own][peer] */
    struct sim_route **route;
    uint32_t route_count;
    struct sim_conn **conn;
    uint32_t conn_count;
    struct sim_held held[SIM_HOLDS];
    struct sim_trace trace;
    struct sim_plan plan;
    /* Signals seen so far of each event; UINT32_MAX = the event has happened. */
    uint32_t plan_seen[SIM_EVENTS_MAX];
    uint64_t plan_next_us;
    uint32_t plan_due; /* A signal trigger has fired: it is applied after this round. */
    uint8_t plan_gsn[GSN_TABLE];
    bool faults_off;
    uint32_t link_downs;
    enum sim_verdict verdict;
    char text[600];
    struct sim_process *running; /* Process whose code runs; node_fail() jumps back from there. */
    bool idle_round;             /* The last round of a thread executed nothing. */
    uint32_t *tampered;          /* Words that options.tamper has seen. */
    uint32_t tampered_size;
    jmp_buf on_fail;
    struct jam_ring jam; /* Where jams go after a node's memory is gone. */
};

/* --- sim_world.c --- */
void sim_task_add(struct sim_world *world, struct sim_task *task, enum sim_task_kind kind,
                  void *owner);
void sim_task_ready(struct sim_world *world, struct sim_task *task);
void sim_task_at(struct sim_world *world, struct sim_task *task,
                 uint64_t at_us); /* Ready then, at the latest. */
void sim_task_off(struct sim_world *world, struct sim_task *task);
void *sim_alloc(size_t size); /* Zeroed; ends the program when there is none. */
void sim_plan_signal(struct sim_world *world, uint32_t gsn, uint32_t node);
void sim_plan_refresh(struct sim_world *world);

/* --- sim_host.c --- */
void sim_run_thread(struct sim_world *world, struct sim_thread *thread);
void sim_run_client(struct sim_world *world, struct sim_process *process);
void sim_run_disk(struct sim_world *world, struct sim_process *process);
void sim_process_free(struct sim_process *process);
void sim_node_touched(struct sim_process *process); /* Its link thread has got something to do. */
void sim_seen(struct sim_process *process, uint32_t thread_no, const uint32_t *words);
void sim_sweep(struct sim_world *world,
               struct sim_process *process); /* Ends a process that stopped or failed. */

/* --- sim_net.c --- */
bool sim_net_welcome(const struct sim_world *world, uint32_t peer);
void sim_net_kill(struct sim_process *process);
void sim_net_revive(struct sim_process *process);
bool sim_net_send(struct sim_process *process, uint32_t peer, uint32_t epoch, const uint32_t *words,
                  uint32_t count);
void sim_net_close(struct sim_process *process, uint32_t peer, uint32_t epoch, const char *reason);
void sim_net_allow(struct sim_process *process, uint32_t peer, bool allowed);
void sim_net_free(struct sim_world *world);

/* --- sim_route.c --- */
void sim_routes_add(struct sim_world *world, struct sim_process *process);
void sim_run_route(struct sim_world *world, struct sim_route *route);

/* --- sim_end.c --- */
void sim_run_end(struct sim_world *world, struct sim_end *end);
void sim_run_stream(struct sim_world *world, struct sim_stream *stream);

/* --- sim_stream.c --- */
/* Whatever slowed it is over, also for what is under way. */
void sim_link_calm(struct sim_world *world, struct sim_stream *stream);
