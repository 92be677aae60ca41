/* kvt_table.h -- the table of the tests below DICT: k Unsigned, v Unsigned, t Varbinary(200). */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "values/table_def.h"

/* k is the primary key, v and t may be NULL. Free it. */
struct table_def *kvt_table(uint32_t table_id, uint32_t version, uint32_t fragments,
                            uint32_t flags);
