/* mgm_report.h -- the C management API: what servers tell of nodes. A part of mgm.h. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "ndb/mgm_base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ndb_mgm_node_state {
    uint32_t node_id;
    enum ndb_mgm_node_type type;
    enum ndb_mgm_node_status status;
    uint32_t start_phase;   /* Last start phase that was completed. */
    uint32_t dynamic_id;    /* Order of joining; 0 = not joined. */
    uint32_t node_group;    /* Node group of a data node; 65536: none. */
    uint32_t version;       /* major << 16 | minor << 8 | build; 0 while unknown. */
    uint32_t connect_count; /* Times that it connected to this server. */
    uint32_t start_percent; /* While it starts: percent of its data that has been read back. */
    uint32_t start_left_s;  /* Seconds that reading will take, estimated; 0 = not known. */
    int president;          /* 1: this data node leads. */
    uint32_t arbit_state;   /* Data nodes: 0 none, 6 there is an arbitrator, else one is chosen. */
    uint32_t arbitrator;    /* Data nodes: node id of the arbitrator, 0 = none. */
    int slow;               /* 1: this data node is slow; others are asked in its place. */
    int is_single_user;     /* 1: this client alone may work (single user mode). */
    char address[64];       /* Address of the connected process; empty when unknown. */
    char host[256];         /* Host of the configuration; empty: any. */
};

struct ndb_mgm_cluster_state {
    uint32_t count;
    struct ndb_mgm_node_state nodes[NDB_MGM_NODES_MAX];
};

#define NDB_MGM_GROUPS_MAX 16
struct ndb_mgm_memory_group {
    uint64_t used; /* Pages in use; all figures are pages, but `failed` is requests. */
    uint64_t max;
    uint64_t reserved;
    uint64_t high;
    uint64_t failed;
};

struct ndb_mgm_memory {
    uint32_t node_id;
    uint32_t error;      /* 0, or why this node did not answer: 5000 no contact, 5005 no answer. */
    uint32_t page_size;  /* Bytes. */
    uint64_t data_used;  /* Pages that hold rows. */
    uint64_t index_used; /* Pages that hold hash indexes. */
    uint64_t total;      /* Pages of DataMemory. */
    uint32_t group_count;
    struct ndb_mgm_memory_group groups[NDB_MGM_GROUPS_MAX];
};

/* One part of a node's redo log. */
struct ndb_mgm_log_part {
    uint32_t state;     /* 0 closed, 1-2 being opened, 3-7 being replayed, 8 running. */
    uint32_t percent;   /* Percent of opening or replaying that is done. */
    uint32_t fill;      /* Percent of the files that checkpoints have not freed yet. */
    uint32_t files;     /* Files of the part. */
    uint32_t file_kb;   /* KB of each file. */
    uint32_t head_file; /* File that is being written. */
    uint32_t head_mb;   /* MB of that file before the place of writing. */
    uint32_t tail_file; /* Oldest file that is needed. */
    uint32_t delayed;   /* Operations held back until there is room. */
    uint64_t lsn;       /* Number of the last page that is durable. */
    uint64_t records;   /* Records written since the node started. */
    uint64_t bytes;     /* Bytes written since the node started. */
};

enum ndb_mgm_lcp_state {
    NDB_MGM_LCP_IDLE = 0,
    NDB_MGM_LCP_WRITING = 1,
    NDB_MGM_LCP_WAITING = 2, /* It is written, and waits for its last GCI to become durable. */
    NDB_MGM_LCP_CLEANING = 3 /* Replaced files are removed. */
};

#define NDB_MGM_LOG_PARTS_MAX 64
struct ndb_mgm_disk {
    uint32_t node_id;
    uint32_t error;    /* 0, or why this node did not answer: 5000 no contact, 5005 no answer. */
    uint32_t diskless; /* 1: the node keeps nothing on disk. */
    uint32_t gci;      /* GCI that commits have now. */
    uint32_t durable;  /* Newest GCI that survives the loss of the whole cluster. */
    enum ndb_mgm_lcp_state lcp_state;
    uint32_t lcp_id;      /* Local checkpoint under way, 0 = none. */
    uint32_t lcp_ms;      /* Milliseconds since it began. */
    uint32_t last_id;     /* Last completed one, 0 = none since the node started. */
    uint32_t last_age_ms; /* Milliseconds since it was completed. */
    uint32_t last_ms;     /* Milliseconds that it took. */
    uint32_t last_fragments;
    uint32_t last_failed; /* Fragments that keep their former checkpoint. */
    uint32_t last_kbytes; /* KB that it has written. */
    uint32_t part_count;
    struct ndb_mgm_log_part parts[NDB_MGM_LOG_PARTS_MAX];
};

/* A thread of a data node; microseconds since its process began. */
struct ndb_mgm_thread {
    char name[12];  /* "main", "ldm", ...; "process" is the whole process, other threads too. */
    uint64_t at_us; /* Time of this report. */
    uint64_t user_us, system_us;         /* Time on a CPU, as the operating system counts. */
    uint64_t work_us, spin_us, sleep_us; /* Time as the thread measures it; 0 of the process. */
};

#define NDB_MGM_THREADS_MAX 96
struct ndb_mgm_threads {
    uint32_t node_id;
    uint32_t error; /* 0, or why this node did not answer: 5000 no contact, 5005 no answer. */
    uint32_t thread_count; /* The last one is the process. */
    struct ndb_mgm_thread threads[NDB_MGM_THREADS_MAX];
};

/* Flags of stop and restart. */
#define NDB_MGM_FLAG_NOSTART 1u
#define NDB_MGM_FLAG_INITIAL 2u
#define NDB_MGM_FLAG_ABORT   4u
#define NDB_MGM_FLAG_FORCE   8u

#define NDB_MGM_EVENTS_MAX 8192u /* Events in one report. */

struct ndb_mgm_event {
    uint32_t type;
    uint64_t time;        /* Time of the event, seconds since 1970. */
    uint32_t time_ms;     /* Milliseconds of that second; 0 from ndb_mgm_next_event(). */
    uint32_t source_node; /* Node that the event is from. */
    enum ndb_mgm_category category;
    enum ndb_mgm_severity severity;
    char text[512];
    uint32_t order; /* Place among the same node's events; only from ndb_mgm_report_events(). */
};

#ifdef __cplusplus
}
#endif
