/* table_version.h -- what the version of a table says, and which ones follow each other. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A table's version: how often its number was used in the low 24 bits (major; the first use is a
 * random number), the changes of this table since then in the others (minor). Rows, requests and
 * files of one minor version are good under every other one: docs/protocols/online.md.
 */
#define TABLE_VERSION_MAJOR 0xFFFFFFu

static inline uint32_t table_version_major(uint32_t version)
{
    return version & TABLE_VERSION_MAJOR;
}

static inline uint32_t table_version_next(uint32_t version)
{
    return version + TABLE_VERSION_MAJOR + 1u; /* Goes round. */
}

/* The version of the next table that gets the number. Never 0, which is that of a number that was
 * never used. */
static inline uint32_t table_version_reborn(uint32_t version)
{
    uint32_t major = table_version_major(version + 1u);
    return major == 0 ? 1u : major;
}

/* The first table of a number begins anywhere up to here (docs/protocols/schema.md). */
#define TABLE_VERSION_FIRST_MAX 0x7FFFFFu

/* Can the next table of a number with that version have this one? */
static inline bool table_version_follows(uint32_t version, uint32_t next)
{
    if (version == 0) return next != 0 && next <= TABLE_VERSION_FIRST_MAX;
    return next == table_version_reborn(version);
}
