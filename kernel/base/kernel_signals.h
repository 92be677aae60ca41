/* kernel_signals.h -- the few signals that the kernel itself sends or executes. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "kernel/base/bitmask.h"
#include "kernel/base/signal.h"

/* Numbers below 16 of signals/gsn.def are the kernel's. */
enum kernel_gsn {
    GSN_CONTINUEB = 1,   /* A block to itself: go on with work that was broken off. */
    GSN_LINK_UP_REP = 2, /* Kernel -> QMGR, A: a link to a peer is open. */
    GSN_LINK_DOWN_REP =
        3, /* Kernel -> QMGR, B: behind everything that the link delivered; one per thread. */
    GSN_TAMPER_ORD = 4,  /* Arms (or with 0 disarms) the error insert of the receiving block. */
    GSN_IO_DONE_REP = 5, /* Kernel -> NDBFS, A: the host has finished a file operation. */
};

/* How a link has ended. */
enum link_end {
    LINK_END_PLAIN = 0,
    LINK_END_REFUSED,  /* This node has closed it, for what the peer sent. */
    LINK_END_DISMISSED /* The peer has closed it, and said so. */
};

/* Two reports make one: QMGR acts on a lost link when `threads` reports of the same epoch have
 * come. */
struct link_rep {
    uint32_t node;
    uint32_t epoch;
    uint32_t sender_class; /* enum sender_class of the peer. */
    uint32_t threads;      /* How many LINK_DOWN_REP come in all. */
    uint32_t end;          /* LINK_DOWN_REP: enum link_end. */
};
SIGNAL_STRUCT(link_rep, 5);

struct io_done_rep {
    uint32_t tag; /* Tag of the io_request. */
    uint32_t op;  /* The rest is for traces. */
    uint32_t error;
    uint32_t done;
};
SIGNAL_STRUCT(io_done_rep, 4);

struct tamper_ord {
    uint32_t number; /* Number from kernel/error_inserts.def; 0 = off. */
    uint32_t extra;  /* A value for inserts that take one. */
};
SIGNAL_STRUCT(tamper_ord, 2);
