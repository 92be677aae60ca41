/* config_query.h -- what ndb_config prints: parts of a configuration, and facts about parameters.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

enum query_sections { QUERY_NODES, QUERY_CONNECTIONS, QUERY_SYSTEM };
enum query_form { QUERY_ROWS, QUERY_ALL, QUERY_DIFFERENCES };

#define QUERY_COLUMNS_MAX 256u

struct config_query {
    enum query_sections sections;
    enum query_form form;
    const char *columns[QUERY_COLUMNS_MAX]; /* Names, pseudo names or numbers of parameters. */
    uint32_t column_count;
    const char *host;      /* Only nodes of this host; NULL: all. */
    uint32_t node_id;      /* Only this node, or its links; 0: all. */
    enum config_kind kind; /* Only sections of this kind; NONE: all. */
    const char *field_separator, *row_separator;
    bool json;
};

/* Splits "a,b,c" in place, or takes the sections' default when `text` is NULL. False: the name that
 * is none is in *wrong (NULL: too many names). */
bool config_query_columns(struct config_query *query, char *text, const char **wrong);
/* Prints what is asked for on standard output. */
void config_query_print(const struct config_query *query, const struct cluster_config *config);
/* All parameters that there are, as text, XML, or one JSON list. */
void config_info_print(void);
void config_info_print_xml(void);
void config_info_print_json(void);
