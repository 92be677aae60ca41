/* lcpw_state.h -- LCPWRITER's records and states, and which file answers for what. Private to
 * blocks/lcpwriter. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <string.h>
#include "blocks/lcpwriter/lcpw.h"
#include "blocks/lcpwriter/lcpw_rows.h"
#include "blocks/dblqh/lqh_frags.h"
#include "blocks/ndbfs/fs_client.h"
#include "signals/lcp.h"
#include "signals/redo.h"
#include "signals/start.h"

#define LCPW_STEP_ROWS 48u     /* Rows and pages of one step; then others have their turn. */
#define LCPW_WRITE     131072u /* Least bytes of a write, but for the last of a file. */
/* LCPW_WRITE, what one step adds, and the part below LCP_ALIGN that stays. */
#define LCPW_BUFFER     229376u
#define LCPW_BUFFERS    2u
#define LCPW_PAUSE_MS   2u
#define LCPW_ASK_LOG_MS 100u
#define LCPW_FILL_FAST  50u /* Percent of the log that is used from which the speed is full. */

static_assert(LCPW_WRITE + LCP_OUT_ROOM + 2u * LCP_ALIGN <= LCPW_BUFFER,
              "a step fits behind an almost full write");

/* What is known of a fragment's files. */
struct lcpw_frag {
    struct pool_record pool;
    uint32_t table_id;
    uint32_t version;
    uint32_t fragment_id;
    uint32_t next;   /* Reference of the table's next fragment; REF_NONE ends. */
    uint32_t number; /* Number of its newest control file; 0 = it has none. */
    uint32_t seq;
    uint32_t pages;
    uint32_t start_gci;
    uint32_t end_gci;
    uint32_t gci_seen; /* TUP's newest GCI when the newest file was begun. */
    uint32_t file_count;
    struct lcp_ctl_file file[LCP_FILES_MAX];
    uint32_t remove_first; /* Data files from this one to before the first of `file` are not needed;
                              0 = none. */
    uint32_t listed; /* While restoring: number of the control file that must be there; 0 = none. */
    uint32_t listed_kbytes;
    bool full;       /* Marks have been lost: the next file has all pages. */
    bool dropped;    /* All files go, then the record. */
    bool ctl_broken; /* The slot of the control file that is being written begins anew. */
};

/*
 * IDLE --LCP_PART_REQ--> FINDING <-> { OPENING -> SCANNING -> CLOSING
 *   ^                      |           -> CTL_OPENING -> CTL_WRITING -> CTL_CLOSING }
 *   |                      `--end--> WRITTEN --LCP_USABLE_REQ--> PART_OPENING -> PART_WRITING
 *   |                                           -> PART_CLOSING -> CLEANING --+
 *   +<------------------------------------------------------------------------+
 * After a failure SCANNING or CLOSING goes to DISCARDING (the file is removed), then to FINDING. A
 * table that is dropped while IDLE starts CLEANING as well.
 */
enum lcpw_state {
    LCPW_IDLE = 0,
    LCPW_FINDING,
    LCPW_OPENING,
    LCPW_SCANNING,
    LCPW_CLOSING,
    LCPW_CTL_OPENING,
    LCPW_CTL_WRITING,
    LCPW_CTL_CLOSING,
    LCPW_DISCARDING,
    LCPW_WRITTEN,
    LCPW_PART_OPENING,
    LCPW_PART_WRITING,
    LCPW_PART_CLOSING,
    LCPW_CLEANING,
};

/* sender_data of requests to NDBFS: what was asked, and for a write its buffer. */
enum lcpw_ask {
    ASK_OPEN = 1,
    ASK_WRITE = 16,
    ASK_CLOSE = 32,
    ASK_CTL_OPEN,
    ASK_CTL_WRITE,
    ASK_CTL_CLOSE,
    ASK_DISCARD,
    ASK_CLEAN,
    ASK_PART_OPEN,
    ASK_PART_WRITE,
    ASK_PART_CLOSE
};

struct lcpw_round {
    uint32_t sender; /* DIH; 0 = no round. */
    uint32_t lcp_id;
    uint32_t start_gci;
    bool copied; /* The newest GCI does not tell whether there are new rows. */
    uint32_t end_gci;
    uint32_t fragments;
    uint32_t failed;
    uint32_t error;
    uint32_t pages; /* Pages that are written, delta pages included. */
    uint32_t deltas;
    uint64_t delta_rows; /* Rows in these delta pages. */
    uint64_t bytes;
    struct lqh_frag_position at;
};

/* The fragment being written. */
struct lcpw_current {
    uint32_t frag; /* Reference of its record. */
    uint32_t tup_frag;
    struct lcpw_rows rows;
    struct lcp_writer writer;
    struct lcp_data_head head;
    uint32_t gci_seen;
    uint32_t pages;
    uint32_t file; /* NDBFS's handle, 0 = none. */
    uint64_t offset;
    uint32_t buffer; /* Buffer that is being filled. */
    bool busy[LCPW_BUFFERS];
    bool ended;   /* The last write has been given to NDBFS. */
    bool waiting; /* The scan waits for a buffer. */
    bool dropped; /* The table goes: TUP's fragment is not touched any more. */
    uint32_t error;
};

struct lcpw_cleaning {
    uint32_t frag;  /* Index of the record in front of the one looked at; 0 = there is none. */
    uint32_t of;    /* Reference of the record of which files are being removed; REF_NONE = none. */
    uint32_t step;  /* Files of it removed so far. */
    bool all;       /* The fragment was dropped: all its files go. */
    uint32_t asker; /* DIH waits for LCP_USABLE_CONF; 0 = nobody. */
};

/* The LDM's list of fragments with a usable checkpoint. */
struct lcpw_part {
    uint32_t number; /* Number of the newest durable list; 0 = there is none. */
    uint32_t check;  /* Check of that list (lcp_part_chain()). */
    uint32_t check_new;
    /* GCI of that list: fragments that it does not name have no records of older ones. */
    uint32_t tail_gci;
    uint32_t tail_new; /* The same GCI of the list that is being written. */
    uint32_t blocks;
    uint32_t block; /* Blocks that are filled so far. */
    uint32_t frag;  /* Index of the last record written. */
    uint32_t file;
    uint32_t error;
    uint64_t kbytes; /* Kilobytes of the data files that the list names which was read. */
};

struct lcpw {
    struct block block;
    struct tup *tup; /* TUP of this LDM; NULL: the node is diskless. */
    struct block *lqh;
    uint32_t state;  /* enum lcpw_state */
    uint32_t serial; /* Number of the CONTINUEB that counts. */
    struct pool frags;
    uint32_t *table; /* Reference of each table's first record; REF_NONE = none. */
    uint32_t table_count;
    struct lcpw_round round;
    struct lcpw_current now;
    struct lcpw_cleaning cleaning;
    struct lcpw_part part;
    struct lcp_part_req next_round; /* Request for a round that came while CLEANING. */
    uint32_t next_sender;
    bool drops; /* Records wait for being cleaned. */
    uint8_t *buffer[LCPW_BUFFERS];
    struct lcp_ctl *ctl;
    void *zip;
    uint32_t *raw;
    /* Speed. */
    uint32_t log_fill; /* Percent of the log that is used, as REDO has said last. */
    uint64_t log_asked_ms;
    int64_t tokens; /* Bytes that may be written now. */
    uint64_t tokens_ms;
};

struct lcpw_continueb {
    uint32_t work; /* Unused: there is one kind. */
    uint32_t serial;
};
SIGNAL_STRUCT(lcpw_continueb, 2);

static inline struct lcpw *lcpw_of(struct block *block)
{
    return (struct lcpw *)(void *)block;
}

/* lcpw.c */
void lcpw_continue(struct lcpw *lcpw, uint32_t delay_ms);
struct lcpw_frag *lcpw_frag_get(struct lcpw *lcpw, uint32_t ref);
struct lcpw_frag *lcpw_frag_find(struct lcpw *lcpw, uint32_t table_id, uint32_t fragment_id);
struct lcpw_frag *lcpw_frag_add(struct lcpw *lcpw, uint32_t table_id, uint32_t version,
                                uint32_t fragment_id);
void lcpw_frag_release(struct lcpw *lcpw, struct lcpw_frag *frag);
void lcpw_find(struct lcpw *lcpw);
/* A restart goes back behind no GCI older than the round's first: the next life of the cluster
 * would use it again, and its records would not be replayed. */
uint32_t lcpw_end_gci_min(const struct lcpw *lcpw);
/* The life of the LDM's redo log, which is made anew when the node's life begins anew: lists and
 * control files have it. */
uint32_t lcpw_log_life(const struct lcpw *lcpw);
void lcpw_round_begin(struct lcpw *lcpw, uint32_t sender, const struct lcp_part_req *req);
/* The fragment at hand has failed: goes on with the next one. */
void lcpw_failed(struct lcpw *lcpw, uint32_t error);

/* lcpw_file.c */
void lcpw_file_begin(struct lcpw *lcpw, struct lcpw_frag *frag, const struct lqh_frag *info);
void lcpw_file_opened(struct lcpw *lcpw, uint32_t file);
void lcpw_file_step(struct lcpw *lcpw);
void lcpw_file_written(struct lcpw *lcpw, uint32_t buffer);
void lcpw_file_closed(struct lcpw *lcpw);
void lcpw_ctl_begin(struct lcpw *lcpw);
void lcpw_ctl_opened(struct lcpw *lcpw, uint32_t file);
void lcpw_ctl_written(struct lcpw *lcpw);
void lcpw_ctl_closed(struct lcpw *lcpw);
void lcpw_file_error(struct lcpw *lcpw, uint32_t ask, uint32_t error);

/* lcpw_part.c */
void lcpw_part_begin(struct lcpw *lcpw);
void lcpw_part_opened(struct lcpw *lcpw, uint32_t file);
void lcpw_part_written(struct lcpw *lcpw);
void lcpw_part_closed(struct lcpw *lcpw);
void lcpw_part_error(struct lcpw *lcpw, uint32_t ask, uint32_t error);

/* lcpw_clean.c */
void lcpw_part_failed(struct lcpw *lcpw); /* The list could not be written: no file may go. */
void lcpw_clean_begin(struct lcpw *lcpw);
void lcpw_clean_step(struct lcpw *lcpw);
