/* node_report.h -- a management server asks CMVMI of a data node how it stands: state, memory, disk,
 * threads. See docs/protocols/management.md. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/api_reg.h"

struct node_status_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(node_status_req, 1);
struct node_status_conf {
    uint32_t sender_data;
    uint32_t start_level;
    uint32_t start_phase;
    uint32_t start_type;
    uint32_t nodegroup; /* NODEGROUP_NONE = none. */
    uint32_t president;
    uint32_t dynamic_id;
    uint32_t version;
    struct node_mask connected; /* Clients and management servers linked to this node. */
    uint32_t start_percent;     /* As in NODE_STATE_REP. */
    uint32_t start_left_s;
    uint32_t arbit_state; /* enum arbit_state of arbit.h, as far as the node knows. */
    uint32_t arbit_node;  /* 0 = none. */
    uint32_t single_user; /* Client that may work alone, 0 = all may. */
    uint32_t generation;  /* Generation of the configuration that the node runs with. */
    uint32_t slow;        /* 1: the members have found it slow (pace.md). */
    uint32_t digest;      /* Digest of that configuration's content; 0: it is not told. */
};
SIGNAL_STRUCT(node_status_conf, 24);

struct memory_report_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(memory_report_req, 1);
/* Section 0: per resource group 5 words: pages used, max, reserved, high, failed, in the order of
 * enum resource_group; then 2 words: pages of RG_DATA that hold rows, pages that hold hash index
 * and its bookkeeping: together all pages used. */
struct memory_report_conf {
    uint32_t sender_data;
    uint32_t page_size;
    uint32_t groups;
};
SIGNAL_STRUCT(memory_report_conf, 3);

/* CMVMI to each TUP instance: how many pages hold rows? Asked again with `next` as position until
 * that is 0. */
struct ldm_memory_req {
    uint32_t sender_data;
    uint32_t position; /* 0 = from the beginning. */
};
SIGNAL_STRUCT(ldm_memory_req, 2);
struct ldm_memory_conf {
    uint32_t sender_data;
    uint32_t next;      /* Position to go on with; 0 = that was all. */
    uint32_t row_pages; /* Pages that hold rows in the fragments looked at in this step. */
};
SIGNAL_STRUCT(ldm_memory_conf, 3);

/*
 * How full redo logs and how old checkpoints are: a management server to CMVMI, which asks its LQHs
 * (REDO_STATUS_REQ) and its DIH. Section 0 of the CONF: per log part DISK_REPORT_WORDS words, those
 * of redo_status_conf without sender_data; missing in a diskless node.
 */
struct disk_report_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(disk_report_req, 1);
#define DISK_REPORT_WORDS 15u
struct disk_report_conf {
    uint32_t sender_data;
    uint32_t diskless;
    uint32_t parts;
    uint32_t gci;         /* GCI that commits have now. */
    uint32_t durable;     /* Newest GCI that survives the loss of the cluster. */
    uint32_t lcp_state;   /* enum lcp_report_state */
    uint32_t lcp_id;      /* Local checkpoint under way; 0 = none. */
    uint32_t lcp_ms;      /* Milliseconds since it began. */
    uint32_t last_id;     /* Last completed one; 0 = none since the node started. */
    uint32_t last_age_ms; /* Milliseconds since it was completed. */
    uint32_t last_ms;     /* Milliseconds that it took. */
    uint32_t last_fragments;
    uint32_t last_failed; /* Fragments that keep their former checkpoint. */
    uint32_t last_kbytes;
};
SIGNAL_STRUCT(disk_report_conf, 14);
enum lcp_report_state {
    LCP_REPORT_IDLE = 0,
    LCP_REPORT_WRITING,
    LCP_REPORT_WAITING, /* It waits for its last GCI to become durable. */
    LCP_REPORT_CLEANING /* Replaced files are removed. */
};

/*
 * What the threads of the node's process have done since it began; times in microseconds. Section 0
 * of the CONF: a struct thread_use for each of them in the order of their numbers, and a last one,
 * "process", for all that the process has used, its other threads too. None where there are no
 * threads of an operating system.
 */
struct thread_report_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(thread_report_req, 1);
struct thread_report_conf {
    uint32_t sender_data;
    uint32_t threads; /* Structs in the section. */
};
SIGNAL_STRUCT(thread_report_conf, 2);
#define THREAD_NAME_BYTES 8u
#define THREAD_USES_MAX   96u
struct thread_use {
    uint32_t name[THREAD_NAME_BYTES / 4u]; /* Name, padded with zero bytes, one at least. */
    uint32_t at[2];     /* Time of the report since the process began. Low word, high word. */
    uint32_t user[2];   /* Time on a CPU outside of the kernel, as the operating system counts. */
    uint32_t system[2]; /* Time on a CPU in the kernel, as the operating system counts. */
    uint32_t work[2];   /* Time at work, as the thread measures; 0 for "process". */
    uint32_t spin[2];   /* Time spent looking for work, the same. */
    uint32_t sleep[2];  /* Time asleep, the same. */
};
SIGNAL_STRUCT(thread_use, 14);

/* CMVMI to its DIH. */
struct lcp_status_req {
    uint32_t sender_data;
};
SIGNAL_STRUCT(lcp_status_req, 1);
struct lcp_status_conf { /* As in disk_report_conf. */
    uint32_t sender_data;
    uint32_t gci;
    uint32_t durable;
    uint32_t lcp_state;
    uint32_t lcp_id;
    uint32_t lcp_ms;
    uint32_t last_id;
    uint32_t last_age_ms;
    uint32_t last_ms;
    uint32_t last_fragments;
    uint32_t last_failed;
    uint32_t last_kbytes;
};
SIGNAL_STRUCT(lcp_status_conf, 12);
