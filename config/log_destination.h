/* log_destination.h -- the parsed form of a management server's LogDestination. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum log_target_kind { LOG_TARGET_CONSOLE, LOG_TARGET_SYSLOG, LOG_TARGET_FILE };

#define LOG_TARGETS_MAX   8
#define LOG_FILE_SIZE_MIN 4096u

struct log_target {
    enum log_target_kind kind;
    char filename[1024]; /* FILE: empty means ndb_<id>_cluster.log. */
    uint64_t max_size;   /* FILE: bytes after which it is rotated. */
    uint32_t max_files;  /* FILE: rotated files that are kept. */
    char facility[16];   /* SYSLOG. */
};

struct log_destination {
    uint32_t count;
    struct log_target targets[LOG_TARGETS_MAX];
};

/* Reads `TYPE[:key=value[,key=value]...][;TYPE...]`; an empty text is one FILE with its defaults.
 * 0, or -1 with the reason and what is allowed in `why`. */
int log_destination_parse(const char *text, struct log_destination *destination, char *why,
                          size_t why_size);
