/* cmvmi_state.h -- CMVMI's own records. Private to blocks/cmvmi. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/cmvmi/cmvmi.h"
#include "blocks/cmvmi/event.h"
#include "signals/event_log.h"
#include "signals/redo.h"

#define EVENT_RING           128u /* Events kept for late listeners; a start makes about 30. */
#define EVENT_KEPT_THRESHOLD 8u   /* Highest threshold of an event that is kept. */
#define EVENT_TEXT_WORDS     (1u + EVENT_TEXT_MAX / 4u)

struct saved_event {
    uint64_t at_ms;
    struct event_rep rep;
    uint32_t text_words; /* 0 = none. */
    uint32_t text[EVENT_TEXT_WORDS];
};

/* A management server that listens, by node id. */
struct event_listener {
    uint32_t ref; /* 0 = none. */
    uint32_t level[EVENT_CATEGORIES];
    uint32_t delivered; /* Events with a smaller number were sent in an earlier life of the link. */
};

#define DISK_PARTS_MAX 64u /* Log parts that a report tells of. */
#define DISK_ASKERS    8u  /* More at a time get the last figures. */
struct disk_asker {
    uint32_t ref;
    uint32_t sender_data;
};

#define MEMORY_ASKERS 8u /* More at a time are answered with the last figures. */
struct memory_asker {
    uint32_t ref; /* 0: a dump order, which wants events. */
    uint32_t sender_data;
};

struct cmvmi {
    struct block block;
    struct event_listener listener[NODE_ID_MAX + 1];
    struct saved_event ring[EVENT_RING];
    uint32_t event_next;                  /* Number of the next event. */
    uint32_t own_level[EVENT_CATEGORIES]; /* Level by category of the own log; 0 = nothing. */

    /* What the other blocks have told. */
    uint32_t start_level;
    uint32_t start_type;
    uint32_t start_percent; /* Percent of the data that is read back. */
    uint32_t start_left_s;  /* How long that still takes, about; 0 = not known. */
    uint32_t arbit_state;   /* enum arbit_state, as QMGR said last. */
    uint32_t arbit_node;    /* Node id of the arbitrator, as QMGR said last; 0 = there is none. */
    uint32_t start_phase;
    uint32_t president;
    uint32_t single_user;
    uint32_t slow; /* The members have found this node slow. */
    uint32_t dynamic_id;

    /* Who waits for the count of the pages that hold rows, which goes on. */
    struct {
        uint32_t running;
        uint32_t instance; /* TUP instance that was asked. */
        uint32_t row_pages;
        uint32_t last_row_pages; /* Pages of the last complete count. */
        uint32_t waiting;
        struct memory_asker asker[MEMORY_ASKERS];
    } memory;

    /* The same for redo logs and checkpoints. */
    struct {
        uint32_t running;
        uint32_t serial; /* Number of the last questions; their answers have it. */
        uint32_t expected;
        uint32_t waiting;
        struct disk_asker asker[DISK_ASKERS];
        struct lcp_status_conf lcp;
        uint32_t words[DISK_PARTS_MAX * DISK_REPORT_WORDS];
    } disk;

    uint32_t memory_step; /* Highest threshold of DataMemory that was reported as passed. */
};

enum cmvmi_work { CMVMI_MEMORY_TICK = 1 };

static inline struct cmvmi *cmvmi_of(struct block *block)
{
    return (struct cmvmi *)(void *)block;
}

static inline uint32_t cmvmi_local(const struct cmvmi *cmvmi, uint32_t block_no)
{
    return block_ref(block_config(&cmvmi->block)->own_node, block_no, 0);
}

/* cmvmi_event.c */
void cmvmi_exec_EVENT_REP(struct block *block, const struct signal *sig);
void cmvmi_exec_EVENT_SUBSCRIBE_REQ(struct block *block, const struct signal *sig);
void cmvmi_exec_EVENT_LOG_REQ(struct block *block, const struct signal *sig);
void cmvmi_exec_SET_LOGLEVEL_ORD(struct block *block, const struct signal *sig);

/* Forgets the listener of a management server that is gone. */
void cmvmi_listener_gone(struct cmvmi *cmvmi, uint32_t node);

/* cmvmi_memory.c */
void cmvmi_memory_tick(struct cmvmi *cmvmi); /* Reports DataMemory that passes a threshold. */
void cmvmi_memory_dump(struct cmvmi *cmvmi); /* Reports memory as events. */
void cmvmi_exec_MEMORY_REPORT_REQ(struct block *block, const struct signal *sig);
void cmvmi_exec_LDM_MEMORY_CONF(struct block *block, const struct signal *sig);

/* cmvmi_disk.c */
void cmvmi_exec_THREAD_REPORT_REQ(struct block *block, const struct signal *sig);
void cmvmi_exec_DISK_REPORT_REQ(struct block *block, const struct signal *sig);
void cmvmi_exec_REDO_STATUS_CONF(struct block *block, const struct signal *sig);
void cmvmi_exec_LCP_STATUS_CONF(struct block *block, const struct signal *sig);
