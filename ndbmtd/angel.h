/* angel.h -- how the node is started again: by its angel, or by itself as the next life. Private to
 * ndbmtd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct process;

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
