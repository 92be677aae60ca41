/* api_scan_state.h -- private: scans, their fragments and the rows that wait. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/core/api_scan.h"
#include "api/core/api_state.h"
#include "signals/scan.h"

struct api_chunk { /* Rows of one TRANSID_AI. */
    struct api_chunk *next;
    uint32_t fragment;
    uint32_t at;
    uint32_t words;
    uint32_t room;
    uint32_t data[];
};

/* The chunk's next row. `ranged`: it has a range first, which was checked. */
static inline struct api_row api_chunk_row(const struct api_chunk *chunk, bool ranged)
{
    uint32_t skip = ranged ? 2u : 0u;
    const uint32_t *words = chunk->data + chunk->at;
    return (struct api_row){.pairs = words + 1 + skip,
                            .words = words[0] - skip,
                            .fragment = chunk->fragment,
                            .range = ranged ? words[2] : 0};
}

struct api_scan_fragment {
    uint32_t received;
    uint32_t announced;
    bool done;     /* Nothing more will be announced. */
    bool left_out; /* The fragment can have no row of the ranges, and is not read. */
};
#define API_ALL_FRAGMENTS UINT32_MAX

enum api_scan_state { SCAN_SEIZING = 0, SCAN_OPEN, SCAN_CLOSING, SCAN_ENDED };

struct api_scan {
    struct api_record record; /* ref = api_scan */
    struct api_client *client;
    struct api_scan *next; /* Next scan of the client (prev too). */
    struct api_scan *prev;
    struct api_table *table;
    struct api_connect *connect;
    enum api_scan_state state;
    bool detached; /* The application has closed it. */
    bool waiting;  /* The application was told to wait: `ready` is due, and the deadline counts. */
    bool ended;    /* SCAN_TABCONF has said SCAN_END. */
    bool close_resend;
    uint32_t error;
    uint64_t transid;
    uint64_t deadline_ms;
    uint32_t timeout_ms;
    struct api_scan_options options;
    uint32_t *attrs; /* Columns that are read; then the program, then the ranges. */
    /* Words of the columns: those of `options`; with several ranges ATTR_RANGE before them; in a
     * merge the index's other columns behind them. */
    uint32_t attr_words;
    uint32_t range; /* The highest number of several ranges; the number of a single one. */
    bool ranged;    /* Rows tell their range. */
    bool pruned;    /* Some fragments are left out. */
    /* The only fragment that is read; API_ALL_FRAGMENTS: there are several. */
    uint32_t fragment_only;
    struct api_merge *merge; /* NULL: rows are given out as they come. */
    uint32_t fragment_count; /* Partitions of the table, or with copies its fragments. */
    struct api_scan_fragment *fragments;
    uint32_t *go_on; /* Fragments that wait to be asked for more. */
    uint32_t go_on_count;
    uint64_t rows_announced;
    uint64_t rows_received;
    uint64_t rows_given; /* Rows that the application got. */
    uint64_t words_waiting;
    struct api_chunk *first;
    struct api_chunk *last;
};

/* Milliseconds until it is tried again to ask for more, or to close. */
#define API_SCAN_RESEND_MS 20u

/* api_scan.c */
void api_scan_seized(struct api_scan *scan, uint32_t error);
/* Tells the application once; it asks api_scan_next() what happened. The application may close any
 * scan. */
void api_scan_notify(struct api_scan *scan);
/* The server has nothing of it any more. May free the scan. */
void api_scan_ended(struct api_scan *scan);
/* Its first error counts; its rows are dropped. */
void api_scan_fail(struct api_scan *scan, uint32_t error);
/* Something has come: whoever waits may wait on. */
void api_scan_made_progress(struct api_scan *scan);
/* Ends it at the server, if it is open there. */
void api_scan_close_at_server(struct api_scan *scan);
void api_scan_link_down(struct api_client *client, uint32_t peer);
void api_scan_connect_lost(struct api_scan *scan);
void api_scan_expire(struct api_client *client);
void api_scan_drop_all(struct api_client *client);

/* api_scan_prepare.c */
/* What `options` mean for it. 0, or an error. */
uint32_t api_scan_prepare(struct api_scan *scan, const struct api_scan_options *options);

/* api_scan_answer.c */
void api_scan_rows_in(struct api_client *client, const uint32_t *words);
void api_exec_SCAN_TABCONF(struct api_client *client, const uint32_t *words);
void api_exec_SCAN_TABREF(struct api_client *client, const uint32_t *words);

/* api_scan_next.c */
/* A chunk with room for so many words. NULL: no memory. */
struct api_chunk *api_scan_take_chunk(struct api_client *client, uint32_t words);
/* Gives back all chunks that wait. */
void api_scan_drop_rows(struct api_scan *scan);
void api_scan_go_on(struct api_client *client);
