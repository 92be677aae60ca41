/* range_client.h -- what the files of range_client share. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <ndb/ndb.h>
#include <stdint.h>

#define ROWS    3000u
#define NUMBERS 500u
#define ANY     INT64_MIN

struct row {
    uint32_t id;
    int64_t number;
    char text[24];
};

struct client {
    ndb_t *ndb;
    struct ndb_table *table;
    struct ndb_record *record;
};

extern struct ndb_cluster_connection *connection;
extern struct row rows[ROWS]; /* Rows of table `ranged`. */

_Noreturn void die(const char *what, const ndb_error_t *error);
void want(const char *what, int64_t is, int64_t should);
/* With a new ndb_t; the records are struct row. */
void client_open(struct client *client, const char *table);
void client_close(struct client *client);
/* Makes the table, whatever was there, by this CREATE TABLE. */
void make_table(const char *table, const char *sql);

/* Ready for work; frees it: ndb_connection_free(). */
struct ndb_cluster_connection *connect_cluster(void);

/* range_several.c */
void check_several(struct client *client); /* Ranges in one scan. */
void check_pruned(void);                   /* Ranges that are in one fragment each. */
/* range_where.c */
void check_where(struct client *client); /* Ranges made from conditions. */
/* range_reopen.c */
void check_reopen(struct client *client); /* Indexes that another client creates and drops. */
/* range_async.c */
void check_async(void); /* Scans with callbacks. */
/* Reads the whole table by such scans, 16 at a time, until now() is `until`. */
void move_async(double until, uint32_t *finished, uint32_t *failed);

double now(void); /* Seconds. */
/* Rows with an odd id stay where they are while the others move. */
void check_standing(const struct row *found, int64_t count);
