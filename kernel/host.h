/* host.h -- all that a node may ask of the world. Production: ndbmtd/. Simulation: kernel/sim. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "kernel/io_request.h"

enum log_level {
    LOG_LEVEL_DEBUG = 1,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_ALERT
};

/* Why a node stopped, as node_fail() tells it. */
struct node_failure {
    uint32_t exit_code; /* kernel/exit_codes.def */
    uint32_t thread_no;
    const char *file;
    uint32_t line;
    const char *text;
};

/* What a thread of the process has used so far, in microseconds; see struct thread_use of
 * signals/node_report.h. */
struct thread_times {
    char name[8];
    uint64_t at_us, user_us, system_us, work_us, spin_us, sleep_us;
};

struct host {
    /* Wall clock in microseconds since 1970: for log lines only, never for decisions. */
    uint64_t (*realtime_us)(struct host *host);

    /* Makes sure that the thread runs soon (it may be asleep). */
    void (*wake)(struct host *host, uint32_t thread_no);

    /*
     * Hands `count` words of packed whole signals for node `peer` to the transporter, which copies
     * them. `epoch` is the link epoch for which they were packed: words for a former life of the
     * link are dropped. Called by the thread `thread_no` only, so each pair of nodes keeps one
     * order per sending thread.
     */
    void (*link_send)(struct host *host, uint32_t thread_no, uint32_t peer, uint32_t epoch,
                      const uint32_t *words, uint32_t count);

    /* Closes the link because of what the peer sent; `reason` is logged once. Any thread. */
    void (*link_close)(struct host *host, uint32_t peer, uint32_t epoch, const char *reason);

    /* Opens or forbids links to a peer: QMGR decides who may speak. Any thread. */
    void (*link_allow)(struct host *host, uint32_t peer, uint32_t allowed);

    /*
     * Takes over a file operation (kernel/io_request.h) and answers with node_io_done(), from any
     * thread. Never blocks. NULL: this host has no files.
     */
    void (*io_submit)(struct host *host, struct io_request *request);

    /* A random number that seeds a thread's generator. Called once per thread, when the node is
     * made. */
    uint64_t (*seed)(struct host *host);

    void (*log)(struct host *host, enum log_level level, const char *text);

    /* The node stops: writes traces and ends the process, or drops the simulated node. Does not
     * return. */
    void (*fail)(struct host *host, const struct node_failure *failure) __attribute__((noreturn));

    /* Thread number `no` of the layout, and behind the last one the whole process. False: no such
     * thread. NULL: this host's threads are not the operating system's. Any thread. */
    bool (*thread_times)(struct host *host, uint32_t no, struct thread_times *times);

    /* The node has passed this start phase. May be NULL. */
    void (*phase)(struct host *host, uint32_t phase);

    /* The node has passed its last start phase. May be NULL. */
    void (*started)(struct host *host);

    /* An orderly stop: the node's work is done, the process may end with this restart wish.
     * Returns. */
    void (*stopped)(struct host *host, uint32_t restart_flags);
};
