/* ndb_mgm_parse.h -- one line of the management console as a command. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ndb/mgm.h"

enum console_verb {
    VERB_NONE, /* Empty line or comment. */
    VERB_HELP,
    VERB_SHOW,
    VERB_CONNECT,
    VERB_SLEEP,
    VERB_QUIT,
    VERB_SHUTDOWN,
    VERB_PROMPT,
    VERB_CLUSTERLOG_INFO,
    VERB_CLUSTERLOG_SET,
    VERB_START,
    VERB_STOP,
    VERB_RESTART,
    VERB_ROLLING_RESTART,
    VERB_STATUS,
    VERB_REPORT_LIST,
    VERB_REPORT_MEMORY,
    VERB_REPORT_REDO,
    VERB_REPORT_CHECKPOINT,
    VERB_REPORT_EVENTS,
    VERB_NODE_CLUSTERLOG,
    VERB_NODE_LOGLEVEL,
    VERB_DUMP,
    VERB_ENTER_SINGLE_USER,
    VERB_EXIT_SINGLE_USER,
    VERB_PURGE
};

#define CONSOLE_NUMBERS_MAX 24u

struct console_command {
    enum console_verb verb;
    bool all; /* ALL, or every node: node_count is 0. */
    uint32_t node_count;
    uint32_t nodes[NDB_MGM_NODES_MAX];
    uint32_t flags; /* NDB_MGM_FLAG_ of STOP and RESTART. */
    int enable;     /* CLUSTERLOG: 1 on, 0 off, -1 toggle. */
    uint32_t number_count;
    uint32_t numbers[CONSOLE_NUMBERS_MAX]; /* DUMP words, SLEEP seconds, severities, category and
                                              level in turn. */
    char text[512];                        /* HELP topic, CONNECT string, PROMPT. */
};

/* 0, or -1 with what the console prints in `why` (may hold several lines, no last newline). */
int console_parse(const char *line, struct console_command *command, char *why, size_t why_size);
