/* unique_client.h -- what the files of unique_client share. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <ndb/ndb.h>
#include <stdint.h>

#define DUPLICATE 893
#define NO_ROW    626

/* A row of table `people`. */
struct row {
    uint32_t id;
    char email[64];
    int32_t a;
    int32_t b;
    uint8_t nulls; /* 1: email, 2: a */
};

struct client {
    ndb_t *ndb;
    struct ndb_table *table;
    struct ndb_record *record;
    struct ndb_record *by_email;
    struct ndb_record *by_ab;
    /* Finds rows by an index that comes and goes; NULL: the table has none. */
    struct ndb_record *later;
};

extern struct ndb_cluster_connection *connection;
extern uint32_t row_count; /* Rows of the table; there are a quarter more emails than rows. */

_Noreturn void die(const char *what, const ndb_error_t *error);
void want(const char *what, int64_t is, int64_t should);
/* With a new ndb_t. */
void client_open(struct client *client);
/* The table with the indexes that it has now. When no data node can say that, all is as before. */
void client_reopen(struct client *client);
void client_close(struct client *client);
/* Makes the table, whatever was there, and opens it. */
void make_rows(struct client *client);
/* As make_rows() makes it, but with this email. */
struct row row_of(uint32_t id, uint32_t email);

/* The transaction's error after `operation`; it is committed if it can be. */
int execute(struct ndb_transaction *t, const struct ndb_operation *operation);
/* In several ways: `row` is a duplicate in this index ("": one that the client does not know). */
void check_duplicate(struct client *client, struct row row, const char *index);
/* Each row is found by its unique keys, and the indexes have no other entries. */
void verify_rows(struct client *client);
/* How many entries this index has. */
uint64_t entries_of(struct client *client, const char *index);

/* Exit codes. unique_create.c: indexes are made and dropped. */
int create(void);
/* unique_move.c: threads give rows other emails. */
int move(double seconds);
