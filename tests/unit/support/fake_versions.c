/* fake_versions.c -- tables whose first version is known: else it is a random number. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/fake_versions.h"
#include "values/table_version.h"

void fake_versions_from_one(struct dict *dict)
{
    for (uint32_t id = 1; id < dict->table_count; id++)
        dict->table[id].version = TABLE_VERSION_MAJOR;
}
