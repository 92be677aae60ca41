/* config_parse.h -- reads config.ini. Only ndb_mgmd, ndb_config and tests link this (library
 * config_parse). */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "config/config.h"

/* Bytes; 255 nodes with everything set need about 500 KB. */
#define CONFIG_FILE_SIZE_MAX (1u << 20)
#define CONFIG_FILE_LINE_MAX 1500u /* Characters; a path of 1023 and its name fit. */

/* Reads and checks a whole configuration. Returns it, or NULL when the report holds errors (each as
 * `file:line: [section] Name: what is wrong (allowed ...)`). Warnings alone do not refuse it.
 * `file` is only for messages. config_parse_file: "-" reads standard input. */
struct cluster_config *config_parse_text(const char *text, size_t length, const char *file,
                                         struct config_report *report);
struct cluster_config *config_parse_file(const char *file, struct config_report *report);
