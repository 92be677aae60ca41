/* process.h -- one data node as an operating system process: its node, threads, sockets and files.
 * Private to ndbmtd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <pthread.h>
#include <stdio.h>
#include <uv.h>
#include "ndb/mgm.h"
#include "kernel/node.h"
#include "config/config.h"
#include "config/thread_config.h"
#include "ndb/version.h"
#include "ndbmtd/layout.h"
#include "transporters/send_queue.h"
#include "transporters/transporter.h"
#include "transporters/writer.h"

/* A thread without work wakes up so often: the watchdog's proof of life. */
#define SLEEP_MAX_MS 1000u
/* Without SchedulerSpinTimer: what a client of eight threads takes from its answers to its next
   requests, with room. Who sleeps and is woken in each such gap loses half of the throughput. */
#define SPIN_DEFAULT_NS 100000u

#define NDB_VERSION_TEXT "ndb-" NDB_CLIENT_VERSION_STRING

/* What a thread has that owns sockets. A recv thread (or the only one) reads the links of its
 * peers; a send thread writes those of its share, or the recv thread does it itself. */
struct sockets {
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t sleep_timer;
    struct transporter *transporter; /* Links that it reads; NULL: it is a send thread. */
    struct link_writer *writer;      /* Links that it writes; NULL: there is no send thread. */
    struct send_queues *queues; /* What other threads want written here; NULL: they want nothing. */
    atomic_uint wishes;         /* Some link_wish is for this thread. */
    bool paused;                /* It does not read from clients. */
};

/* What a thread has used so far; it writes, others read. thread_account.c */
struct thread_account {
    atomic_ullong user_us, system_us, spin_ns, sleep_ns;
    atomic_ullong asleep_since_ns; /* When it fell asleep; 0: it is awake. */
    uint64_t sampled_ns;           /* When the operating system was asked last. */
    uint64_t gap_sleep_ns;         /* How long it has slept since it last had work. */
};

/* A thread of the layout as the operating system sees it. */
struct worker {
    struct process *process;
    struct thread *thread;   /* Thread of the kernel; NULL: a send thread, which runs no block. */
    struct sockets *sockets; /* Sockets that it owns; NULL: none. */
    atomic_ullong rounds;    /* Rounds of a send thread. */
    uint32_t no;
    pthread_t os_thread;
    atomic_uint tid;      /* The system's number of the thread; 0 before it runs. */
    atomic_uint sleeping; /* Set before the last look at the queues; a sender that sees it wakes the
                             thread. */
    pthread_mutex_t lock;
    pthread_cond_t wakeup;
    bool signalled;
    uint64_t idle_since_ns; /* When the thread last had work. */
    long ousted;            /* How often others had taken its CPU when it last asked. */
    uint64_t spin_ns;       /* How long it may look for work before it sleeps. */
    struct thread_account account;
    uint64_t gap_ns; /* Smoothed length of idle gaps: spinning pays only when they are short. */
};

/* What the child says to its angel; see angel.c. */
struct angel_words {
    uint32_t ended; /* The node has ended by itself, with this exit code and this wish. */
    uint32_t exit_code;
    uint32_t restart_flags; /* STOP_RESTART... of signals/management.h */
    uint32_t started;       /* It had passed its last start phase. */
    uint32_t survive;       /* Others have its rows, too. */
    uint32_t stop_on_error;
    uint32_t start_retries; /* MaxStartFailRetries; 0 = no limit. */
    uint32_t retry_delay_s;
};

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
    uint32_t restart_flags; /* STOP_RESTART... of signals/management.h */
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

/* --- worker.c --- */
/* The sockets of the first recv thread, which is the process's first thread. */
struct sockets *workers_first_sockets(struct process *process);
/* Makes workers and loops; before any other thread of the process is started: they wake the
 * workers. 0, or -1: no memory. */
int workers_init(struct process *process);
/* Runs all threads of the node until it has stopped; returns then. The calling thread becomes the
 * first recv thread. 0, or why a thread could not be started, as in errno. */
int workers_run(struct process *process);

/* --- thread_account.c --- */
/* The thread itself: in each of its rounds, when it falls asleep and is awake again (the time
 * then), and when work came after `gap_ns` without any. */
void account_round(struct worker *worker, uint64_t now_ns);
void account_sleep(struct worker *worker, uint64_t now_ns);
void account_awake(struct worker *worker);
void account_gap(struct worker *worker, uint64_t gap_ns);
/* Gives struct host the times of any thread, and of the process. */
bool account_times(struct host *host, uint32_t no, struct thread_times *times);

/* --- thread_place.c --- */
/* Binds the calling thread, number `no`, to its CPUs, sets its priority and its spin time. What the
 * system refuses is a warning in the log: the node works without. */
void thread_place(struct process *process, uint32_t no);
/* The same for the calling thread of a kind that is not in the layout: io, watchdog. */
void thread_place_kind(struct process *process, enum thread_kind kind);
/* The entry of ThreadConfig for a thread and, in `index`, its number among the entry's threads;
 * NULL: none. */
const struct thread_config_entry *thread_place_entry(const struct thread_config *threads,
                                                     const struct node_config *config, uint32_t no,
                                                     uint32_t *index);

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
 * Tells the cluster log that the node has ended with `exit_code`, by the operating system's signal
 * `number` (0 none). Best effort, bounded by seconds: the management server may be gone.
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

/* --- machine_memory.c --- */
/* How much memory there is, in bytes; UINT64_MAX = that sets no limit. */
struct memory_room {
    uint64_t machine; /* Memory of the machine, which all data nodes of the host share. */
    uint64_t shared;  /* What control groups allow that several data nodes may be in. */
    uint64_t own; /* What the control group of a service allows, which is its data node's own. */
};
void machine_memory(struct memory_room *room);
/* The same of control groups: `groups` is /proc/self/cgroup, `mounts` /sys/fs/cgroup. */
void cgroup_memory(const char *groups, const char *mounts, struct memory_room *room);

/* --- configure.c --- */
/* node_config from the cluster's configuration. 0, or -1 with the reason in `why`. */
int configure_node(struct process *process, char *why, size_t why_size);
/* Do DataMemory, and all that the data nodes of the host may use, fit into `room`, NULL: this
 * machine's? 0; -1: DataMemory is more than the machine has; 1: the node works until what is
 * allowed is used up. With a sentence in `why`. */
int memory_fits(const struct process *process, const struct memory_room *room, char *why,
                size_t why_size);

/* --- port_finder.c --- */
int port_finder_start(struct process *process);
/* The link to a data node that this one connects to is down: it comes back with another port. Any
 * thread. */
void port_finder_lost(struct process *process);
void port_finder_stop(struct process *process);

/* --- angel.c --- */
/*
 * Forks the process that does the work and stands by it: returns in the child (0) and ends the
 * parent when there is nothing left to restart, with exit code 0 after an orderly end. -1: no
 * process could be made. The pid file is the angel's.
 */
int angel_run(struct process *process);
/* Child, without effect when there is no angel: what to do after a failure; the node has started;
 * how this life ended. */
void angel_tell_settings(struct process *process);
void angel_tell_started(struct process *process);
void angel_tell_end(struct process *process, uint32_t exit_code, uint32_t restart_flags);
/* After a failure, as `words` tells it: the node is started again whatever StopOnError says, after
 * so many seconds. What the next life needs to know stands in `process` then. */
bool angel_in_any_case(struct process *process, uint32_t *pause_s);
/* After an end by order: what the next life needs to know stands in `process` then. */
void angel_take_order(struct process *process, uint32_t restart_flags);

/* --- again.c --- */
/* What a life leaves for the next one, as it stands in an argument of the program. */
struct again {
    uint32_t flags;
    uint32_t pause_s;
    uint32_t node;
    bool taken; /* It has been looked at whether the program was replaced. */
    bool angel; /* The next life is an angel's, with the fields that follow. */
    uint32_t pid_file;
    uint32_t failed_starts;
    uint32_t start_retries;
    uint32_t retry_delay_s;
    const char *data_dir;
};
/* From now on the process may begin again, without an angel if it is in the foreground. Its first
 * thread, before all others. */
void again_remember(char **arguments, bool foreground);
/* False: the text is none. It has to stay. */
bool again_parse(struct again *again, const char *text);
/* The process goes on from there. 0, or -1: the file that it names is not open. */
int again_take(struct process *process, const struct again *again);
/* Without an angel: begins again; returns only when that is not possible. Any thread. */
void again_execute(struct process *process, uint32_t pause_s);
/* When another file lies under the program's path, and it starts: it is executed in place of this
 * one, and goes on as its angel or, if there is none, its node. Returns when not. The only thread.
 */
void again_upgrade(struct process *process, bool angel);
