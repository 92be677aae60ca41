/* import_totals.h -- what an import has done with a file, as a line and as JSON. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cjson/cJSON.h>

#include "tools/import.h"

/* One line on standard output. */
void import_totals_print(const char *database, const char *table,
                         const struct import_totals *totals);
/* One object more in the list. */
void import_totals_add(cJSON *list, const char *database, const char *table, const char *path,
                       const struct import_totals *totals);
