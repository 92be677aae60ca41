/* trix_state.h -- TRIX's own records. Private to blocks/trix. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/trix/trix.h"
#include "signals/durable.h"
#include "values/errors.h"
#include "signals/scan.h"
#include "signals/start.h"
#include "values/table_def.h"
#include "signals/tckey.h"
#include "signals/trix.h"

#define TRIX_LANES     8u /* Fragments that are read at the same time. */
#define TRIX_BATCH     8u /* Rows of each that are read at a time. */
#define TRIX_SLOTS     (TRIX_LANES * TRIX_BATCH)
#define TRIX_SCAN_DATA TRIX_SLOTS /* Number of the scan's connect record. */
#define TRIX_KEY_WORDS 1088u      /* Words of TABLE_KEY_BYTES_MAX and every column's padding. */
#define TRIX_NO_LANE   UINT32_MAX

/*
 * IDLE -> SEIZING -> COUNTING -> WALKING -> SETTLING -> RELEASING -> IDLE
 *                                 |    ^
 *                                 v    |
 *                                PAUSING          an error, or CANCEL: any -> RELEASING
 */
enum trix_state {
    TRIX_IDLE = 0,
    TRIX_SEIZING,   /* It seizes connect records of TC. */
    TRIX_COUNTING,  /* It counts the rows. */
    TRIX_WALKING,   /* Each row gets its entry. */
    TRIX_PAUSING,   /* The scan has failed, and begins anew when no slot is in use. */
    TRIX_SETTLING,  /* What was committed is not on disk yet. */
    TRIX_RELEASING, /* It gives back the connect records. */
    TRIX_STATES
};

enum trix_slot_state {
    SLOT_FREE = 0,
    SLOT_SENT, /* Its transaction is under way. */
    SLOT_LATER /* Its transaction was refused, and is tried again. */
};

/* A row that gets its entry, by a transaction of its own. */
struct trix_slot {
    uint32_t tc_ref;
    uint32_t tc_connect; /* Its connect record; REF_NONE: it got none. */
    uint32_t state;      /* enum trix_slot_state */
    uint32_t transid2;
    uint32_t lane;
    uint64_t since_ms; /* When the row was first tried. */
    uint32_t key_words;
    uint32_t key[TRIX_KEY_WORDS];
};

/* A batch of a fragment's rows. */
struct trix_lane {
    bool used;
    bool told; /* SCAN_TABCONF has said how many rows it has. */
    uint32_t fragment_id;
    uint32_t rows;     /* `told`: number of its rows. */
    uint32_t received; /* Rows that have come. */
    uint32_t finished; /* Rows that have their entry. */
};

struct trix_scan {
    uint32_t tc_ref;
    uint32_t tc_connect;
    uint32_t transid2; /* The scan under way: half of its transaction's id, and its api_scan. */
    bool open;
    bool closing;
};

struct trix {
    struct block block;
    uint32_t state; /* enum trix_state */
    uint32_t sender;
    struct build_indx_req job;
    uint32_t column_count;
    uint32_t column[TABLE_KEY_COLUMNS_MAX]; /* Columns of the primary key. */
    uint32_t error;                         /* Why it fails; 0: it does not. */
    uint32_t transid2;                      /* The last one that was given to a transaction. */
    uint32_t waiting;     /* TCSEIZEREQs, or TCRELEASEREQs, that are not answered. */
    uint32_t seize_error; /* Error of the last TCSEIZEREF. */
    uint32_t lane_count;  /* Lanes that may be used. */
    bool settling;        /* WAIT_DURABLE_REQ is not answered. */
    uint32_t busy;        /* Slots in use. */
    uint64_t rows;        /* Rows that have their entry, since the walk began. */
    uint64_t total;       /* Rows that were counted. */
    uint64_t moved_ms;    /* When the scan last had a row. */
    uint64_t told_ms;     /* When DBDICT was last told how far it is. */
    struct trix_scan scan;
    struct trix_lane lane[TRIX_LANES];
    struct trix_slot slot[TRIX_SLOTS];
};

static inline struct trix *trix_of(struct block *block)
{
    return (struct trix *)(void *)block;
}

/* trix.c */
void trix_move(struct trix *trix, enum trix_state state);
uint32_t trix_next_transid(struct trix *trix);
/* Is it worth while to try again what failed with this error, since the time given? */
bool trix_patient(const struct trix *trix, uint32_t error, uint64_t since_ms);
void trix_fail(struct trix *trix, uint32_t error); /* The first error is the one that is told. */
void trix_look(struct trix *trix);                 /* Goes on if what was under way has ended. */
/* Is the answer of the own node? False: it is of another one, which is cut off. */
bool trix_of_own(struct trix *trix, const struct signal *sig);

/* trix_walk.c: the scan of the table. */
void trix_count_begin(struct trix *trix);
void trix_walk_begin(struct trix *trix);
void trix_scan_close(struct trix *trix);
void trix_lane_row(struct trix *trix, uint32_t lane); /* One of its rows has its entry. */
void trix_exec_SCAN_TABCONF(struct block *block, const struct signal *sig);
void trix_exec_SCAN_TABREF(struct block *block, const struct signal *sig);
void trix_exec_TRANSID_AI(struct block *block, const struct signal *sig);

/* trix_fill.c: a row's transaction. */
struct trix_slot *trix_slot_free(struct trix *trix); /* NULL: all are in use. */
void trix_slot_begin(struct trix *trix, struct trix_slot *slot);
void trix_slots_again(struct trix *trix); /* Tries those again that were refused. */
void trix_slots_drop(struct trix *trix);
void trix_exec_TCKEYCONF(struct block *block, const struct signal *sig);
void trix_exec_TCKEYREF(struct block *block, const struct signal *sig);
void trix_exec_TCROLLBACKREP(struct block *block, const struct signal *sig);
