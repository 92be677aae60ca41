/* cluster_log.h -- the cluster log: targets, rotation, severity filter, folding of repeats. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/log_destination.h"
#include "ndb/mgm.h"

struct cluster_log;

/* The path of a target that is a file: a relative name is put into `directory`, which ends with a
 * slash, and a missing one becomes ndb_<node>_cluster.log. */
void cluster_log_path(const struct log_target *target, const char *directory, uint32_t node,
                      char *path, size_t size);
/* Opens the targets. NULL with the reason in `why` when one cannot be opened. */
struct cluster_log *cluster_log_open(const struct log_destination *destination,
                                     const char *directory, uint32_t node, char *why,
                                     size_t why_size);
void cluster_log_close(struct cluster_log *log);

/* One line; `node` 0 is the server itself. Text is cut at 1000 characters, control characters
 * become '?'. */
void cluster_log_write(struct cluster_log *log, enum ndb_mgm_severity severity, uint32_t node,
                       const char *text);
/* printf form, of the server itself. `log` may be NULL: nothing happens. */
void cluster_log_printf(struct cluster_log *log, enum ndb_mgm_severity severity, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));

/* Severity ON is the master switch, ALL means all of them. */
void cluster_log_enable(struct cluster_log *log, enum ndb_mgm_severity severity, bool enable);
bool cluster_log_enabled(const struct cluster_log *log, enum ndb_mgm_severity severity);
/* Also print each line on standard output. */
void cluster_log_echo(struct cluster_log *log, bool echo);
/* Writes out a repeat count that is held back, if its time is over. Call about once a second. */
void cluster_log_tick(struct cluster_log *log);
/* A line on standard error, behind "ndb_mgmd: ". One that would have to wait for a reader is lost. */
void cluster_log_stderr(const char *format, ...) __attribute__((format(printf, 1, 2)));
