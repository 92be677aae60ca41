/* process.h -- one data node as an operating system process: its node, threads, sockets and files.
 * Private to ndbmtd/. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 * The threads are in worker.h, how the node is started again in angel.h, what it is made from in
 * configure.h, the steps of the program in life.h.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include "config/config.h"
#include "config/thread_config.h"
#include "kernel/node.h"
#include "ndb/mgm.h"
#include "ndb/version.h"
#include "ndbmtd/angel.h"
#include "ndbmtd/layout.h"
#include "ndbmtd/worker.h"

#define NDB_VERSION_TEXT "ndb-" NDB_CLIENT_VERSION_STRING

struct process {
    struct host host; /* It comes first: what the kernel calls. */
    struct node *node;
    struct node_config config;
    const struct cluster_config *cluster;
    struct worker worker[WORKERS_MAX];

    struct io_threads *io; /* I/O threads; NULL: the node has no files. */
    uint16_t port;         /* Port where the first recv thread listens. */

    /* Wishes of other threads for those that own the links (guarded by wish_lock). */
    pthread_mutex_t wish_lock;
    struct link_wish {
        uint8_t close;
        uint8_t allow; /* 0 = nothing, 1 = forbid, 2 = allow */
        uint16_t port; /* A peer's listening port was found. */
        uint32_t epoch;
        char reason[160];
    } wish[NODE_ID_MAX + 1];

    struct thread_config threads; /* ThreadConfig, for the places and priorities of threads. */
    bool realtime;                /* RealtimeScheduler. */
    uint64_t spin_ns; /* SchedulerSpinTimer; ThreadConfig may say otherwise for a thread. */
    uint64_t start_ns;
    atomic_uint stopping;   /* The node has stopped in good order: leave the loops. */
    uint64_t terminated_ns; /* When a signal asked for an end; 0: none has. */
    struct io_request stop_wish;
    uint32_t restart_flags; /* S_RESTART... of signals/management.h */
    /* In the child: what it has said last. In the angel: what it has heard last. */
    struct angel_words words;
    uint32_t failed_starts; /* Angel: starts that have failed one after the other. */
    int angel_pipe;         /* Pipe to the angel; -1 without one. */
    bool no_start;
    uint32_t pause_s;      /* How long it waits before it begins: again.c. */
    bool stand_aside;      /* Its files are damaged: it gets all rows from the others. */
    atomic_bool bare;      /* It began without files, and is not started yet: port_finder.c. */
    bool initial;          /* --initial, or a restart with -i: once, see angel.c. */
    bool accept_data_loss; /* --i-accept-data-loss: with it. */

    const char *data_dir;
    FILE *log;    /* The log's file; NULL: the terminal. */
    int pid_file; /* The pid file, locked while this process or a child of it lives; -1 before. */
    pthread_mutex_t log_lock;
    pthread_mutex_t fail_lock;

    /* Management. */
    const char *connect_string; /* Connect string; NULL: the environment's, or the default. */
    ndb_mgm_handle_t *mgm;
    pthread_t port_finder;
    pthread_mutex_t port_lock;
    pthread_cond_t port_changed;
    bool port_stop;
    uint32_t port_asks;   /* How many times more the ports are asked for often. */
    uint32_t traces_kept; /* MaxNoOfSavedMessages: error log entries and sets of trace files. */
};

/* Monotonic nanoseconds. */
uint64_t process_now_ns(void);
/* Milliseconds since the process began: what handlers see as now. */
uint64_t process_now_ms(const struct process *process);

/* --- host_os.c --- */
void host_os_init(struct process *process);
/* Carries out what other threads wished of the links of this recv thread, which calls it. */
void host_os_wishes(struct worker *worker);
/* Sets up the sockets of all threads: listens, and knows all peers. 0, or -1 with a message
 * logged. */
int host_os_open(struct process *process);
/* Leaves a wish for the peer's recv thread: `port` of a peer was found. Any thread. */
void host_os_peer_port(struct process *process, uint32_t peer, uint16_t port);

/* --- failure.c --- */
void process_log(struct process *process, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The path is that of the log which a node in the background has. */
void process_log_path(const struct process *process, char *path, size_t size);
/* Leaves error log entry and traces, tells angel and cluster log, ends the process. Any thread; the
 * first one counts. */
_Noreturn void process_fail(struct process *process, const struct node_failure *failure);
/* From now on a fault in this process (SIGSEGV and the like) is a failure of the node, with traces.
 */
void process_catch_faults(struct process *process);
/*
 * Tells service manager and cluster log that the node has ended with `exit_code`, by the operating
 * system's signal `number` (0 none). Best effort, bounded by seconds: the management server may be
 * gone.
 */
void process_report_failure(struct process *process, uint32_t restart_flags, uint32_t number,
                            uint32_t exit_code);
/* Class and text of an exit code; a sentence for unknown codes. */
const char *exit_code_text(uint32_t code);
const char *exit_code_class(uint32_t code);

/* --- files.c --- */
/* Opens the node's file system directory and gives the host its I/O threads. 0, or -1 with a
 * message logged. */
int files_open(struct process *process);
/* The cluster that the node's files are of, by its system file; 0: none, or that cannot be told. */
uint64_t files_cluster(const struct process *process);
/* Carries out what is under way and closes. After workers_run(). */
void files_close(struct process *process);

/* --- look.c --- */
void remove_pid_file(const struct process *process);

/* --- watchdog.c --- */
/* 0, or why the thread could not be started, as in errno; the same below. */
int watchdog_start(struct process *process);

/* --- memory_ahead.c --- */
/* A thread that has the next pages of the node's memory provided before they are needed, where the
 * system can do that. It ends when the node has stopped. */
int memory_ahead_start(struct process *process);

/* --- port_finder.c --- */
int port_finder_start(struct process *process);
/* The link to a data node that this one connects to is down: it comes back with another port. Any
 * thread. */
void port_finder_lost(struct process *process);
void port_finder_stop(struct process *process);
