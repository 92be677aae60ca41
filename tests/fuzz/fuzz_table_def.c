/* fuzz_table_def.c -- any words as the wire form of a table definition. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "values/table_def.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t count = (uint32_t)(size / 4);
    uint32_t *words = malloc(count * 4 + 4);
    struct table_def *def;

    memcpy(words, data, count * 4);
    if (count > 1) words[1] = count; /* Or hardly any input would get past its length. */
    size_t needed = table_def_decode_size(words, count);
    void *memory = malloc(needed > 0 ? needed : 1);
    uint32_t code = table_def_decode(words, count, memory, needed, &def);
    if ((code == 0) != (def != NULL)) abort();
    if (code == 0) {
        uint32_t *again = malloc(count * 4);
        if (table_def_encode(def, again, count) != count || memcmp(again, words, count * 4) != 0)
            abort(); /* What is accepted has one spelling. */
        free(again);
    }
    free(memory);
    free(words);
    return 0;
}
