/* config_ini.h -- a configuration file as written: sections and their name=value lines. Private. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

#define INI_SECTIONS_MAX      5000u /* Nodes, links, defaults. */
#define INI_PAIRS_MAX         50000u
#define INI_SECTION_PAIRS_MAX 500u /* A section that sets everything has about 70. */

struct ini_pair {
    char *name;
    char *value;
    uint32_t line;
};

struct ini_section {
    char *name;
    uint32_t line;
    uint32_t first_pair;
    uint32_t pair_count;
};

struct ini_file {
    struct ini_section *sections;
    uint32_t section_count;
    struct ini_pair *pairs;
    uint32_t pair_count;
};

/* Splits the text; problems of form go to the report. ini_file_free() in any case afterwards. */
void ini_file_read(struct ini_file *ini, const char *text, size_t length, const char *file,
                   struct config_report *report);
void ini_file_free(struct ini_file *ini);
