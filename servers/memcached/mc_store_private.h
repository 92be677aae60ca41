/* mc_store_private.h -- what the files of the store share: a store, and jobs from begin to end. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A request under way is a job. It begins (job->begin), executes transactions one after the other,
 * each with the step that follows, and ends by mc_work_end(). After a temporary error it begins
 * anew. Whoever calls a function that may end the job (all those that say so) does not touch it
 * afterwards.
 */
#pragma once
#include "servers/memcached/mc_store.h"
#include "servers/memcached/mc_store_row.h"

/* Errors of the cluster that mean something here; 6001 and up are those of our own programs. */
enum mc_code {
    CODE_NO_ROW = 626,
    CODE_ROW_EXISTS = 630,
    CODE_NO_DATA_MEMORY = 827,
    CODE_KEY_UPDATE = 897,
    CODE_NO_COPY_MEMORY = 921,
    CODE_NO_CLIENT_MEMORY = 4000,
    CODE_TIME_IS_UP = 4012,
    CODE_ROWS_LOST = 4115, /* Committed, but what it read did not come. */
    CODE_OUT_OF_RANGE = 4314,
    CODE_OTHER_CAS = 6001,
    CODE_NOT_EXPIRED = 6002,
    CODE_NO_NUMBER = 6003,
    CODE_CHANGED = 6004
};

#define MC_SCRATCH_BYTES (192u * 1024u) /* More than a row's text. */
#define MC_VALUE_BYTES   32768u         /* More than a column's stored value. */
#define MC_CODES_MAX     64u
#define MC_RECORDS_KEPT  16u   /* Tables whose records a thread keeps while it does not use them. */
#define MC_SPARE_ROWS    1024u /* Spare rows of each table's records. */
#define MC_BATCH_MAX     64u   /* Reads that share a transaction. */
#define MC_MASK_BYTES    64u   /* A bit for each column that a table may have. */

#define MC_PRIMARY UINT32_MAX

/* How rows of a table lie in memory. */
struct mc_records {
    struct mc_records *next;
    struct ndb_table *table; /* Only to be compared: the records keep it. */
    uint32_t index;          /* The unique index by which they are found, or MC_PRIMARY. */
    uint32_t uses;
    struct ndb_record *key; /* NULL: `row` will do. */
    struct ndb_record *row; /* All columns. */
    uint32_t row_size;
    uint32_t spare_count;
    struct mc_spare_row *spare;
};

enum mc_action {
    ACTION_GET = 0,
    ACTION_SET,
    ACTION_ADD,
    ACTION_REPLACE,
    ACTION_APPEND,
    ACTION_PREPEND,
    ACTION_DELETE,
    ACTION_INCREMENT,
    ACTION_DECREMENT,
    ACTION_FLUSH,
    ACTION_PURGE /* Deletes a row that has expired; answers that there is none. */
};

struct mc_flush;
struct mc_large;

struct mc_work {
    struct mc_work *next, *prev;
    struct mc_store *store;
    const struct mc_container *container;
    struct mc_request *request;
    void (*done)(struct mc_request *request, void *context);
    void *context;

    enum mc_action action;
    void (*begin)(struct mc_work *job);
    void (*step)(struct mc_work *job, const ndb_error_t *error);
    /* When it gives up; when it begins anew, 0: it does not wait. */
    uint64_t deadline_ms, again_ms;
    uint32_t pause_ms;
    bool changes; /* Its outcome matters: it is not begun anew when that is not known. */
    uint64_t cas; /* The number that the row gets. */

    struct ndb_transaction *transaction;
    struct ndb_operation *operation; /* Has read the row, unless `scan` or `row` has it. */
    struct ndb_scan *scan; /* Has read the row, if not NULL; else `row` has it, if not NULL. */
    struct mc_records *records;
    uint8_t *row;
    struct mc_key *primary; /* The row's primary key: `key` or `found`; NULL: not known yet. */
    bool exists, expired;   /* The locked row is there; it is there and has expired. */
    void (*locked)(struct mc_work *job);
    struct mc_new_row row_new; /* What the row gets. */
    struct mc_value *value;    /* Holds the text of `row_new`; NULL: none was made. */
    struct mc_large *large;
    struct mc_flush *flush;
    struct mc_key key;   /* The key that was asked for. */
    struct mc_key found; /* The primary key of the row, when it was found by another one. */
};

struct mc_count {
    int32_t code;
    uint64_t count;
};

struct mc_store {
    ndb_t *ndb;
    struct mc_store_options options;
    struct mc_store_figures figures;
    bool queued; /* Something was sent since the last tick. */
    struct mc_work *jobs;
    struct mc_work *spare_jobs;
    uint32_t spare_job_count;
    uint64_t clock_ms;          /* The time in this round; 0: not read yet. */
    struct mc_batch *gathering; /* Reads that are not sent yet; NULL: none. */
    struct mc_batch *batches;   /* All batches that are not spare ones. */
    struct mc_batch *spare_batches;
    uint64_t random;
    uint64_t cas_base; /* Marker and node id in all of its CAS numbers. */
    uint32_t code_count;
    struct mc_count codes[MC_CODES_MAX]; /* The most frequent first. */
    struct mc_records *records;
    uint8_t stored[MC_VALUE_BYTES]; /* Room for one stored value at a time. */
    char text[MC_SCRATCH_BYTES];
};

/* ---- mc_store.c ---- */

uint64_t mc_store_now_ms(void);
uint32_t mc_store_now(const struct mc_store *store);
uint64_t mc_store_random(struct mc_store *store);
/* Unique among all processes with the store's node id. */
uint64_t mc_store_new_cas(struct mc_store *store);
void mc_store_count(struct mc_store *store, int32_t code);

/* A new transaction, the former one is closed. False: the job has ended. */
bool mc_work_transaction(struct mc_work *job);
/* Sends what is defined; then `step` is called with the transaction's error (code 0: none). May end
   the job. */
void mc_work_execute(struct mc_work *job, enum ndb_execute_type type,
                     void (*step)(struct mc_work *job, const ndb_error_t *error));
/* The job ends with that result; the rest of request->result is complete. */
void mc_work_end(struct mc_work *job, enum mc_status status, const char *message);
/* Begins anew, or ends: by what the error is. */
void mc_work_fail(struct mc_work *job, const ndb_error_t *error);
/* Begins anew after a pause, as long as there is time; else it ends. */
void mc_work_again(struct mc_work *job, const char *message);
/* An operation could not be defined. */
void mc_work_undefined(struct mc_work *job);
/* Lets go of transaction, scan and row. */
void mc_work_release(struct mc_work *job);

/* ---- mc_store_records.c ---- */

/* job->records, and a row of them whose content is not set. False: no memory. */
bool mc_records_take(struct mc_work *job);
void mc_records_give(struct mc_work *job);
/* job->row has the key that was asked for. False: it cannot. */
bool mc_records_set_key(struct mc_work *job);
void mc_records_free(struct mc_store *store);

/* ---- mc_store_batch.c ---- */

/* Reads the row by its primary key into job->row, with the next mc_batch_send() at the latest; then
   `then` is called with the read's error (code 0: none). False: it could not be defined. */
bool mc_batch_read(struct mc_work *job, bool value,
                   void (*then)(struct mc_work *job, const ndb_error_t *error));
/* False: there was nothing to send. */
bool mc_batch_send(struct mc_store *store);
/* Reads under way are dropped. */
void mc_batches_free(struct mc_store *store);

/* ---- The commands. All may end the job. ---- */

void mc_read_begin(struct mc_work *job);
void mc_touch_begin(struct mc_work *job);
/* The row that was read has expired: deletes it, and answers that there is none. */
void mc_purge(struct mc_work *job);
void mc_write_begin(struct mc_work *job);
void mc_delete_begin(struct mc_work *job);
void mc_increment_begin(struct mc_work *job);
void mc_flush_begin(struct mc_work *job);
void mc_flush_free(struct mc_work *job);

/* ---- mc_store_lock.c: with the row locked first, for what one operation cannot do. ---- */

/* Whatever the action. */
void mc_lock_begin(struct mc_work *job);
/* Reads the row with a lock of that kind, by its primary key or a unique index; sets exists and
   expired, and calls `then`. */
void mc_lock_row(struct mc_work *job, enum ndb_lock_mode lock, enum ndb_execute_type type,
                 void (*then)(struct mc_work *job));
/* The locked row, or a new one, gets that; then it is committed. */
void mc_lock_store(struct mc_work *job, const struct mc_new_row *row);
void mc_lock_commit(struct mc_work *job);
/* The row is locked, and lives: what it gets is up to its old value. */
void mc_append_locked(struct mc_work *job);
void mc_increment_locked(struct mc_work *job);
/* There is none that lives. */
void mc_increment_create(struct mc_work *job);
