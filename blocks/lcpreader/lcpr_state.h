/* lcpr_state.h -- LCPREADER's one request at a time and its states. Private to blocks/lcpreader. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <string.h>
#include "blocks/lcpwriter/lcpw.h"
#include "blocks/dblqh/lqh_frags.h"
#include "blocks/ndbfs/fs_client.h"
#include "blocks/lcpreader/lcpr.h"
#include "blocks/lcpreader/lcpr_rows.h"
#include "formats/sysfile_format.h"
#include "signals/lcp.h"
#include "signals/start.h"

#define LCPR_STEP_ROWS 64u
#define LCPR_READ      262144u /* Most bytes of a read. */
#define LCPR_BUFFERS   2u

/*
 * The first request: IDLE -> { PART_OPENING -> PART_READING -> PART_CLOSING } (both lists)
 * -> PART_ASKING (DIH, whether they are what must be there), then as the others:
 *
 * IDLE --RESTORE_FRAG_REQ--> CTL_OPENING <-> CTL_READING <-> CTL_CLOSING (both control files)
 *      --> REMOVING (the unusable one)
 *      --> { OPENING -> ROWS -> CLOSING } (newest data file first) --> IDLE
 *
 * IDLE --RESTORE_END_REQ--> LISTING <-> SWEEPING --> IDLE
 */
enum lcpr_state {
    LCPR_IDLE = 0,
    LCPR_CTL_OPENING,
    LCPR_CTL_READING,
    LCPR_CTL_CLOSING,
    LCPR_REMOVING,
    LCPR_OPENING,
    LCPR_ROWS,
    LCPR_CLOSING,
    LCPR_LISTING,
    LCPR_SWEEPING,
    LCPR_PART_OPENING,
    LCPR_PART_READING,
    LCPR_PART_CLOSING,
    LCPR_PART_ASKING,
};

/* sender_data of requests to NDBFS. */
enum lcpr_ask {
    ASK_CTL_OPEN = 1,
    ASK_CTL_READ,
    ASK_CTL_CLOSE,
    ASK_REMOVE,
    ASK_OPEN,
    ASK_CLOSE,
    ASK_LIST,
    ASK_SWEEP,
    ASK_READ = 16,
    ASK_PART_OPEN = 32,
    ASK_PART_READ,
    ASK_PART_CLOSE
};

enum lcpr_found { CTL_ABSENT = 0, CTL_UNREADABLE, CTL_FORMER, CTL_UNUSABLE, CTL_USABLE };

struct lcpr_part {
    uint32_t found; /* enum lcpr_found */
    uint32_t number;
    uint32_t check;  /* Check of the list: lcp_part_chain(). */
    uint32_t before; /* Check of the list before it, as this one says. */
    uint32_t tail_gci;
};

struct lcpr_failure {
    uint32_t error; /* 0 = none. */
    enum lcp_fault fault;
    uint32_t format; /* LCP_OTHER_FORMAT: format of the file. */
    uint64_t offset;
    char name[LCP_NAME_MAX];
};

struct lcpr {
    struct block block;
    struct tup *tup; /* TUP of this LDM; NULL: the node is diskless. */
    struct block *lqh;
    struct block *lcpw;
    uint32_t state; /* enum lcpr_state */
    uint32_t sender;
    struct restore_frag_req req;
    struct lqh_frag frag;
    struct lcp_ident ident;
    /* The LDM's lists. */
    bool lists_read;
    bool ending; /* The request under way is RESTORE_END_REQ, else RESTORE_FRAG_REQ. */
    struct lcpr_part part[2];
    uint32_t list;        /* Slot of the newest list. */
    uint32_t list_number; /* Number of the newest list; 0 = there is none. */
    uint32_t tail_gci;
    /* Control files, or lists. */
    uint32_t slot;
    uint32_t file;     /* NDBFS's handle of the open file. */
    uint32_t found[2]; /* enum lcpr_found */
    struct lcp_ctl *ctl[2];
    struct lcpr_failure ctl_failure[2];
    struct lcp_ctl *chosen;
    uint32_t remove_next; /* Slot of the control file that is looked at next for REMOVING. */
    /* Data files. */
    uint32_t file_next; /* Files still to be read: the newest of them is the next. */
    uint64_t size;
    uint64_t asked; /* Bytes of the file that have been asked for. */
    uint64_t eaten; /* Bytes of the file that have been used up. */
    uint8_t *buffer[LCPR_BUFFERS];
    uint32_t filled[LCPR_BUFFERS]; /* Bytes in the buffer; 0 = it is being read, or free. */
    bool reading[LCPR_BUFFERS];
    uint32_t eating; /* Buffer that is being used up. */
    uint32_t at;     /* Bytes of that buffer that are used up. */
    bool walking;    /* The reader has opened a block. */
    struct lcp_reader reader;
    struct lcpr_rows rows;
    uint64_t bytes;
    struct lcpr_failure failure;
    /* Sweeping. */
    uint32_t end_data;
    uint32_t removed;
    char last[FS_NAME_BYTES + 1]; /* Name up to which the directory has been listed. */
    bool more;
};

struct lcpr_continueb {
    uint32_t work; /* Unused: there is one kind. */
};
SIGNAL_STRUCT(lcpr_continueb, 1);

static inline struct lcpr *lcpr_of(struct block *block)
{
    return (struct lcpr *)(void *)block;
}

/* lcpr.c */
void lcpr_frag_look_up(struct lcpr *lcpr); /* Pointers live no longer than a handler. */
void lcpr_done(struct lcpr *lcpr);         /* CONF, or REF when lcpr->failure says so. */
void lcpr_fail(struct lcpr *lcpr, const char *name, uint32_t error, enum lcp_fault fault,
               uint64_t offset);

void lcpr_go(struct lcpr *lcpr); /* The lists have been read. */

/* What no crash leaves: whatever the other one of two says, it is not this node's. */
bool lcpr_foreign(enum lcp_fault fault);
/* Is this the life of the LDM's redo log, as far as both are known? */
bool lcpr_of_this_life(const struct lcpr *lcpr, uint32_t life);

/* lcpr_part.c */
void lcpr_part_begin(struct lcpr *lcpr);
void lcpr_part_opened(struct lcpr *lcpr, uint32_t file, uint64_t size);
void lcpr_part_read(struct lcpr *lcpr, uint32_t bytes);
void lcpr_part_closed(struct lcpr *lcpr);
void lcpr_part_judged(struct lcpr *lcpr, const struct lcp_list_conf *conf);
void lcpr_part_error(struct lcpr *lcpr, uint32_t ask, uint32_t error);

/* lcpr_ctl.c */
void lcpr_ctl_begin(struct lcpr *lcpr);
void lcpr_ctl_opened(struct lcpr *lcpr, uint32_t file, uint64_t size);
void lcpr_ctl_read(struct lcpr *lcpr);
void lcpr_ctl_closed(struct lcpr *lcpr);
void lcpr_ctl_error(struct lcpr *lcpr, uint32_t ask, uint32_t error);
void lcpr_removed(struct lcpr *lcpr);

/* lcpr_file.c */
void lcpr_file_begin(struct lcpr *lcpr);
void lcpr_file_opened(struct lcpr *lcpr, uint32_t file, uint64_t size);
void lcpr_file_read(struct lcpr *lcpr, uint32_t buffer, uint32_t bytes);
void lcpr_file_step(struct lcpr *lcpr);
void lcpr_file_closed(struct lcpr *lcpr);
void lcpr_file_error(struct lcpr *lcpr, uint32_t ask, uint32_t error);

/* lcpr_sweep.c */
void lcpr_sweep_begin(struct lcpr *lcpr);
void lcpr_sweep_listed(struct lcpr *lcpr, const struct signal *sig);
void lcpr_sweep_again(struct lcpr *lcpr);
