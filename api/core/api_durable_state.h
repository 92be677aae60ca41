/* api_durable_state.h -- private: waits until an epoch is durable. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/core/api_state.h"
#include "api/core/api_tx.h"

struct api_durable {          /* A wait for an epoch. */
    struct api_record record; /* ref = sender_data */
    struct api_client *client;
    uint64_t epoch;
    uint32_t node; /* Asked node, 0 = to be sent at retry_ms. */
    uint64_t retry_ms;
    uint64_t deadline_ms;
    api_durable_done done;
    void *context;
};

/* api_durable.c */
/* As api_wait_durable(); NULL: no memory. Until `done` is called it may be ended without that. */
struct api_durable *api_durable_begin(struct api_client *client, uint64_t epoch,
                                      uint32_t timeout_ms, api_durable_done done, void *context);
void api_durable_end(struct api_durable *wait);
/* The epoch is known to be durable. */
void api_epoch_known(struct api_core *core, uint64_t epoch);
void api_durable_link_down(struct api_client *client, uint32_t peer);
void api_durable_expire(struct api_client *client);
void api_durable_drop_all(struct api_client *client);
void api_exec_WAIT_DURABLE_CONF(struct api_client *client, uint32_t peer, const uint32_t *words);
void api_exec_WAIT_DURABLE_REF(struct api_client *client, uint32_t peer, const uint32_t *words);
