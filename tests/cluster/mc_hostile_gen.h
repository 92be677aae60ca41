/* mc_hostile_gen.h -- requests of a memcached client, good ones and damaged ones, from a seed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "kernel/base/rng.h"

enum mc_hostile_protocol { HOSTILE_TEXT, HOSTILE_META, HOSTILE_BINARY };

struct mc_bytes {
    uint8_t *bytes;
    uint32_t size;
    uint32_t room;
};

void mc_bytes_put(struct mc_bytes *to, const void *bytes, size_t size);

/* Appends one request as a good client sends it. */
void mc_hostile_good(struct rng *rng, enum mc_hostile_protocol protocol, struct mc_bytes *to);
/* Appends one that is damaged in one to three places. */
void mc_hostile_bad(struct rng *rng, enum mc_hostile_protocol protocol, struct mc_bytes *to);
