/* mc_output.c -- bytes on their way to a client. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_output.h"
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 2048u

char *mc_put_space(struct mc_output *output, uint32_t size)
{
    uint64_t need = (uint64_t)output->size + size;
    if (output->failed) return NULL;
    if (need > output->room) {
        uint64_t room = output->room == 0 ? ROOM_FIRST : output->room;
        while (room < need)
            room *= 2;
        char *grown = room <= UINT32_MAX ? realloc(output->bytes, (size_t)room) : NULL;
        if (grown == NULL) {
            output->failed = true;
            return NULL;
        }
        output->bytes = grown;
        output->room = (uint32_t)room;
    }
    char *at = output->bytes + output->size;
    output->size = (uint32_t)need;
    return at;
}

void mc_put(struct mc_output *output, const void *bytes, uint32_t size)
{
    if (size == 0) return;
    char *at = mc_put_space(output, size);
    if (at != NULL) memcpy(at, bytes, size);
}

void mc_put_text(struct mc_output *output, const char *text)
{
    mc_put(output, text, (uint32_t)strlen(text));
}

void mc_put_number(struct mc_output *output, uint64_t number)
{
    char digits[20];
    uint32_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    mc_put(output, digits + at, (uint32_t)sizeof digits - at);
}

void mc_output_free(struct mc_output *output)
{
    free(output->bytes);
    *output = (struct mc_output){0};
}
