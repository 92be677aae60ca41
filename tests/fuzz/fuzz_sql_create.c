/* fuzz_sql_create.c -- any text as a CREATE TABLE statement. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/sql/sql_create.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sql_create_input input = {
        .text = (const char *)data, .text_size = size, .database = "db"};
    struct sql_create_result result;
    struct sql_create_error error;
    void *memory = malloc(table_def_size_max());

    uint32_t code = sql_create_parse(&input, memory, table_def_size_max(), &result, &error);
    /* An error says where and what; a success is a definition that checks out. */
    if (code != error.code || (code == 0) != (result.def != NULL)) abort();
    if (code != 0 && (error.line == 0 || error.column == 0 || error.text[0] == 0)) abort();
    if (code == 0 && (result.consumed > size || table_def_check(result.def) != 0)) abort();
    free(memory);
    return 0;
}
