/* durable.h -- a client asks a TC to be told when an epoch is durable. See docs/protocols/gcp.md.
 */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/gsn.h"

/* Any TC instance of any data node may be asked: durability belongs to the whole cluster. */
struct wait_durable_req {
    uint32_t sender_data;
    uint32_t gci_hi; /* Epoch that a commit has returned. */
    uint32_t gci_lo;
};
SIGNAL_STRUCT(wait_durable_req, 3);
/* A gci_hi inside a node: all that any TC has committed by now. */
#define DURABLE_ALL UINT32_MAX
struct wait_durable_conf {
    uint32_t sender_data;
    uint32_t durable_gci; /* Everything up to this GCI survives the loss of the whole cluster. */
};
SIGNAL_STRUCT(wait_durable_conf, 2);
struct wait_durable_ref {
    uint32_t sender_data;
    /* ERR_TC_RESOURCE_217: no record is free; ERR_NO_FILES_NOT_DURABLE, ERR_EPOCH_IN_FUTURE,
     * ERR_EPOCH_LOST, ERR_EPOCH_FORGOTTEN; or the error of the node's state. */
    uint32_t error;
};
SIGNAL_STRUCT(wait_durable_ref, 2);
