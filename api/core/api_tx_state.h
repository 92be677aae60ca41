/* api_tx_state.h -- private: transactions and their operations, and what the rest of the core asks
 * of them. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/core/api_state.h"
#include "api/core/api_tx.h"
#include "signals/tckey.h"

struct table_def;

/* Words of a TCKEYREQ before its section lengths. */
#define KEYREQ_WORDS (SIGNAL_HEAD_WORDS + (uint32_t)sizeof(struct tckeyreq) / 4u)

enum api_op_state { OP_DEFINED = 0, OP_SENT, OP_DONE };

struct api_op {
    struct api_record record; /* ref = api_op */
    struct api_tx *tx;
    struct api_op *next;
    struct api_table *table;
    uint32_t (*row)(struct api_op *op, const uint32_t *pairs, uint32_t words);
    void *context;
    void *context2;
    uint32_t at; /* Where its TCKEYREQ begins in tx->train. */
    uint32_t extent;
    uint32_t error;
    uint32_t fragment;  /* Fragment of its row; UINT32_MAX = not computed. */
    uint32_t row_words; /* Words that its row may take; 0: it wants none, or it is there. */
    uint8_t unique;     /* 1 + number of the unique index whose key it has; 0 = the primary key. */
    uint8_t node;       /* Node that it was sent to. */
    uint8_t state;      /* enum api_op_state */
    uint8_t attempts;
    bool committed_read;
    bool wants_row; /* A TRANSID_AI or TCKEYREF is due by itself. */
    bool tolerant;  /* Any error leaves the transaction alive. */
    bool may_miss;  /* ERR_ROW_NOT_FOUND leaves the transaction alive. */
    bool changes;   /* It is not a read. */
};

/*
 *   IDLE --execute--> SEIZING --> EXECUTING --> IDLE     (no commit)
 *                                 EXECUTING --> COMMITTING --> IDLE + ended
 *   IDLE --rollback--> ROLLING_BACK --> IDLE + ended
 *   IDLE, outcome unknown --ask--> ASKING --> IDLE
 */
enum api_tx_state {
    TX_IDLE = 0,
    TX_SEIZING,
    TX_EXECUTING,
    TX_COMMITTING,
    TX_ROLLING_BACK,
    TX_ASKING
};

struct api_tx {
    struct api_client *client;
    struct api_tx *next; /* Next transaction of the client (prev too), or of the free list. */
    struct api_tx *prev;
    struct api_tx *same; /* The next one of its bucket in by_transid. */
    enum api_tx_state state;
    enum api_outcome outcome;
    enum api_execute type; /* Type of the execute in flight. */
    bool started;          /* START was sent: the TC knows the transaction. */
    bool answer_due;       /* TCKEYCONF or TC_COMMITCONF is due. */
    bool doubt;            /* Its coordinator is lost: another node tells what has become of it. */
    uint32_t rows_due;     /* Operations whose own answer is due. */
    uint64_t rows_words;   /* Words that the rows under way may take. */
    uint32_t error;
    uint32_t error_data; /* As in TCROLLBACKREP. */
    struct api_op *error_op;
    struct api_connect *connect;
    uint32_t prefer;
    uint64_t transid;
    uint64_t epoch;
    bool want_durable;
    bool durable; /* The commit is known to be on disk. */
    /* Another node has told of the commit, which is not known to be durable; NULL: none has. */
    struct api_durable *durable_wait;
    uint64_t told_epoch; /* Epoch that durable_wait waits for. */
    uint64_t deadline_ms;
    uint64_t limit_ms;     /* deadline_ms as it was before the doubt. */
    struct node_mask lost; /* Nodes whose links were lost since the execute began. */
    struct api_op *first;
    struct api_op *last;
    struct api_op *batch; /* First operation not yet executed, or first of the batch in flight. */
    /* First operation of the batch that found no room yet, or whose row would find none on its way;
     * NULL: all are sent. */
    struct api_op *unsent;
    /* The last operation that the coordinator answers for; NULL: none. */
    struct api_op *execute_op;
    uint32_t *train; /* Packed TCKEYREQs of the batch. */
    uint32_t train_words;
    uint32_t train_room;
    uint32_t node;        /* The last coordinator. */
    uint32_t tc_ref;      /* TC of the last coordinator. */
    uint64_t begin_ms;    /* When the transaction was first executed. */
    uint64_t ask_ms;      /* In doubt, or ASKING: when the cluster is asked again. */
    uint64_t denied_ms;   /* It was not committed, if this is heard by then; 0 = nobody says so. */
    uint32_t ask_wait_ms; /* Milliseconds for which an answer counts. */
    uint32_t batch_error; /* An operation's error that ends the transaction. */
    struct api_op *batch_error_op;
    api_tx_done done;
    void *context;
};

/* A walk over all transactions of a client: what ends one runs application code that may close any
 * other, or begin new ones, which the walk does not meet. */
struct api_walk {
    struct api_tx *next;
    struct api_walk *outer;
};

/* api_transaction.c */
void api_tx_rolled_back(struct api_tx *tx);
void api_tx_drop_all(struct api_client *client);

/* api_execute.c */
void api_tx_seized(struct api_tx *tx, uint32_t error);
/* Sends more of the batches that found no room at once: as much as there is room for now. */
void api_tx_send_parts(struct api_client *client);

/* api_answer.c */
void api_exec_TCKEYCONF(struct api_client *client, const uint32_t *words);
void api_exec_TCKEYREF(struct api_client *client, const uint32_t *words);
void api_exec_TC_COMMITCONF(struct api_client *client, const uint32_t *words);
void api_exec_TC_COMMITREF(struct api_client *client, const uint32_t *words);
void api_exec_TCROLLBACKREP(struct api_client *client, const uint32_t *words);
void api_exec_TRANSID_AI(struct api_client *client, const uint32_t *words);

/* api_rows.c: the room that rows under way need. */
/* How many words the longest row of a table has as an answer. */
uint32_t api_row_words(const struct table_def *def);
/* The same for an operation that reads `attrs`; a program may read anything, once. */
uint32_t api_op_row_words(const struct api_table *table, bool program, const uint32_t *attrs,
                          uint32_t count);
/* May `words` more be asked for? */
bool api_rows_fit(const struct api_tx *tx, uint64_t words);
/* The operation's row is there, or will not come. */
void api_row_ended(struct api_op *op);

/* api_lost.c */
void api_tx_link_down(struct api_client *client, uint32_t peer);
void api_tx_connect_lost(struct api_tx *tx);
void api_tx_expire(struct api_client *client);
void api_tx_was_committed(struct api_tx *tx, uint64_t epoch); /* What api_outcome.c has heard. */
void api_tx_was_aborted(struct api_tx *tx);
void api_tx_is_unknown(struct api_tx *tx);
void api_exec_TCKEY_FAILCONF(struct api_client *client, const uint32_t *words);
void api_exec_TCKEY_FAILREF(struct api_client *client, const uint32_t *words);

/* api_outcome.c */
void api_outcome_doubt(struct api_tx *tx);
void api_outcome_tick(struct api_client *client);
void api_exec_OUTCOME_CONF(struct api_client *client, const uint32_t *words);
void api_exec_OUTCOME_REF(struct api_client *client, const uint32_t *words);
