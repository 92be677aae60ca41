/* mc_output.h -- bytes on their way to a client. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Grows as needed. When memory is out `failed` is set, further bytes are dropped, and the
   connection is closed. Empty: all zero. */
struct mc_output {
    char *bytes;
    uint32_t size;
    uint32_t room;
    bool failed;
};

void mc_put(struct mc_output *output, const void *bytes, uint32_t size);
void mc_put_text(struct mc_output *output, const char *text);
void mc_put_number(struct mc_output *output, uint64_t number);
/* Space for so many bytes at its end, which the caller fills; NULL: failed. */
char *mc_put_space(struct mc_output *output, uint32_t size);
void mc_output_free(struct mc_output *output);
