/* restore_state.h -- RESTORE's one request at a time and its states. Private to blocks/restore. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <string.h>
#include "blocks/backup/backup.h"
#include "blocks/dblqh/lqh_frags.h"
#include "blocks/ndbfs/fs_client.h"
#include "blocks/restore/restore.h"
#include "blocks/restore/restore_rows.h"
#include "formats/sysfile_format.h"
#include "signals/lcp.h"
#include "signals/start.h"

#define RESTORE_STEP_ROWS 64u
#define RESTORE_READ      262144u /* Most bytes of a read. */
#define RESTORE_BUFFERS   2u

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
enum restore_state {
    RESTORE_IDLE = 0,
    RESTORE_CTL_OPENING,
    RESTORE_CTL_READING,
    RESTORE_CTL_CLOSING,
    RESTORE_REMOVING,
    RESTORE_OPENING,
    RESTORE_ROWS,
    RESTORE_CLOSING,
    RESTORE_LISTING,
    RESTORE_SWEEPING,
    RESTORE_PART_OPENING,
    RESTORE_PART_READING,
    RESTORE_PART_CLOSING,
    RESTORE_PART_ASKING,
};

/* sender_data of requests to NDBFS. */
enum restore_ask {
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

enum restore_found { CTL_ABSENT = 0, CTL_UNREADABLE, CTL_FORMER, CTL_UNUSABLE, CTL_USABLE };

struct restore_part {
    uint32_t found; /* enum restore_found */
    uint32_t number;
    uint32_t check;  /* Check of the list: lcp_part_chain(). */
    uint32_t before; /* Check of the list before it, as this one says. */
    uint32_t tail_gci;
};

struct restore_failure {
    uint32_t error; /* 0 = none. */
    enum lcp_fault fault;
    uint32_t format; /* LCP_OTHER_FORMAT: format of the file. */
    uint64_t offset;
    char name[LCP_NAME_MAX];
};

struct restore {
    struct block block;
    struct tup *tup; /* TUP of this LDM; NULL: the node is diskless. */
    struct block *lqh;
    struct block *backup;
    uint32_t state; /* enum restore_state */
    uint32_t sender;
    struct restore_frag_req req;
    struct lqh_frag frag;
    struct lcp_ident ident;
    /* The LDM's lists. */
    bool lists_read;
    bool ending; /* The request under way is RESTORE_END_REQ, else RESTORE_FRAG_REQ. */
    struct restore_part part[2];
    uint32_t list;        /* Slot of the newest list. */
    uint32_t list_number; /* Number of the newest list; 0 = there is none. */
    uint32_t tail_gci;
    /* Control files, or lists. */
    uint32_t slot;
    uint32_t file;     /* NDBFS's handle of the open file. */
    uint32_t found[2]; /* enum restore_found */
    struct lcp_ctl *ctl[2];
    struct restore_failure ctl_failure[2];
    struct lcp_ctl *chosen;
    uint32_t remove_next; /* Slot of the control file that is looked at next for REMOVING. */
    /* Data files. */
    uint32_t file_next; /* Files still to be read: the newest of them is the next. */
    uint64_t size;
    uint64_t asked; /* Bytes of the file that have been asked for. */
    uint64_t eaten; /* Bytes of the file that have been used up. */
    uint8_t *buffer[RESTORE_BUFFERS];
    uint32_t filled[RESTORE_BUFFERS]; /* Bytes in the buffer; 0 = it is being read, or free. */
    bool reading[RESTORE_BUFFERS];
    uint32_t eating; /* Buffer that is being used up. */
    uint32_t at;     /* Bytes of that buffer that are used up. */
    bool walking;    /* The reader has opened a block. */
    struct lcp_reader reader;
    struct restore_rows rows;
    uint64_t bytes;
    struct restore_failure failure;
    /* Sweeping. */
    uint32_t end_data;
    uint32_t removed;
    char last[FS_NAME_BYTES + 1]; /* Name up to which the directory has been listed. */
    bool more;
};

struct restore_continueb {
    uint32_t work; /* Unused: there is one kind. */
};
SIGNAL_STRUCT(restore_continueb, 1);

static inline struct restore *restore_of(struct block *block)
{
    return (struct restore *)(void *)block;
}

/* restore.c */
void restore_frag_look_up(struct restore *restore); /* Pointers live no longer than a handler. */
void restore_done(struct restore *restore); /* CONF, or REF when restore->failure says so. */
void restore_fail(struct restore *restore, const char *name, uint32_t error, enum lcp_fault fault,
                  uint64_t offset);

void restore_go(struct restore *restore); /* The lists have been read. */

/* What no crash leaves: whatever the other one of two says, it is not this node's. */
bool restore_foreign(enum lcp_fault fault);
/* Is this the life of the LDM's redo log, as far as both are known? */
bool restore_of_this_life(const struct restore *restore, uint32_t life);

/* restore_part.c */
void restore_part_begin(struct restore *restore);
void restore_part_opened(struct restore *restore, uint32_t file, uint64_t size);
void restore_part_read(struct restore *restore, uint32_t bytes);
void restore_part_closed(struct restore *restore);
void restore_part_judged(struct restore *restore, const struct lcp_list_conf *conf);
void restore_part_error(struct restore *restore, uint32_t ask, uint32_t error);

/* restore_ctl.c */
void restore_ctl_begin(struct restore *restore);
void restore_ctl_opened(struct restore *restore, uint32_t file, uint64_t size);
void restore_ctl_read(struct restore *restore);
void restore_ctl_closed(struct restore *restore);
void restore_ctl_error(struct restore *restore, uint32_t ask, uint32_t error);
void restore_removed(struct restore *restore);

/* restore_file.c */
void restore_file_begin(struct restore *restore);
void restore_file_opened(struct restore *restore, uint32_t file, uint64_t size);
void restore_file_read(struct restore *restore, uint32_t buffer, uint32_t bytes);
void restore_file_step(struct restore *restore);
void restore_file_closed(struct restore *restore);
void restore_file_error(struct restore *restore, uint32_t ask, uint32_t error);

/* restore_sweep.c */
void restore_sweep_begin(struct restore *restore);
void restore_sweep_listed(struct restore *restore, const struct signal *sig);
void restore_sweep_again(struct restore *restore);
