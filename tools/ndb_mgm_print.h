/* ndb_mgm_print.h -- what the console shows: as people know it, or as JSON. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ndb/mgm.h"

void print_show(FILE *out, const struct ndb_mgm_cluster_state *state);
void print_status(FILE *out, const struct ndb_mgm_node_state *node);
void print_memory(FILE *out, const struct ndb_mgm_memory *report);
void print_redo(FILE *out, const struct ndb_mgm_disk *report);
void print_checkpoint(FILE *out, const struct ndb_mgm_disk *report);
void print_events(FILE *out, const struct ndb_mgm_event *events, uint32_t count);
/* The nodes that an order for all does not reach, and what becomes of them; none: nothing. */
void print_unreached(FILE *out, const uint32_t *nodes, uint32_t count, const char *order,
                     const char *then);

/* The same as one JSON object and a newline. `node` 0: all data nodes. */
void print_show_json(FILE *out, const struct ndb_mgm_cluster_state *state);
void print_status_json(FILE *out, const struct ndb_mgm_cluster_state *state, uint32_t node);
void print_memory_json(FILE *out, const struct ndb_mgm_memory *reports, uint32_t count);
void print_disk_json(FILE *out, const struct ndb_mgm_disk *reports, uint32_t count);
void print_logfilter_json(FILE *out, const int enabled[NDB_MGM_SEVERITIES]);
void print_events_json(FILE *out, const struct ndb_mgm_event *events, uint32_t count);

/* The text of HELP or HELP topic; false when there is no such topic. */
bool print_help_topic(FILE *out, const char *topic);
/* The index-th (from 0) topic of HELP; NULL: there are no more. */
const char *help_topic(uint32_t index);
