/* life.h -- from the command line to the end of a life: what the program was started with, and the
 * steps that follow. Private to main.c, look.c, fetch.c and life.c. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "ndbmtd/process.h"

/* The command line. */
struct options {
    const char *connect_string;
    uint32_t node_id;
    bool initial;
    bool accept_data_loss;
    bool no_start;
    bool daemon;
    bool foreground; /* The process stays in the foreground, and has no angel. */
    int retries;
    uint32_t delay_s;
    struct again again; /* What the former life has left; node 0: this is the first one. */
};

/* --- fetch.c --- */
/* How long to wait for a node id that a former life seems to hold, in tenths of a second. At the
 * terminal: most likely another process has it. */
#define ID_WAIT_FIRST 50
/* The same for the angel's next child: the former life is gone, the others learn of it soon. */
#define ID_WAIT_RESTART 300

/* Gets the node id and the configuration, in sight of the user. 0; -1 with a message: there is
 * none. */
int fetch_first(struct process *process, const struct options *options, int id_wait);
/* The same in the process that does the work, which has its node id. */
int fetch_patiently(struct process *process, const struct options *options);

/* --- look.c --- */
/* Looks at configuration and DataDir, locks the pid file and goes to the background, as `options`
 * say. Else the program ends, with a message: -1 when another process may be the node, or the code
 * of the failure. */
int look_first(struct process *process, struct options *options);
/* The log of a node in the background. 0, or -1 with a message. */
int process_open_log(struct process *process);

/* --- life.c --- */
/* The node's life, from its configuration to its end in good order. Returns the exit code; after a
 * failure, or when the process begins again, it does not return. */
int life_run(struct process *process, const struct options *options);
