/* mc_store_client.h -- what the parts of mc_store_client share. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_store.h"

#define DATABASE "ndbmemcache"
#define WAIT_MS  100000u /* What takes longer hangs. */

struct client {
    ndb_t *ndb;
    struct mc_store *store;
    uint32_t now; /* 0: as the clock says. */
};

/* How a container's table is seen; names of columns, NULL: none. */
struct view {
    const char *table, *keys, *values, *flags, *increment, *cas, *expire, *large;
};

extern struct ndb_cluster_connection *connection;

_Noreturn void die(const char *what, const ndb_error_t *error);
void want(const char *what, uint64_t is, uint64_t should);
void want_text(const char *what, const struct mc_request *request, const char *text);
void client_open(struct client *client, uint32_t deadline_ms, uint32_t value_max);
void client_close(struct client *client);
/* Drops the table first, if it is there. */
void make_table(struct client *client, const char *name, const char *columns);
void container_open(struct client *client, struct mc_container *container, const struct view *view);
void container_close(struct mc_container *container);

/* An empty request for a key. */
struct mc_request request_of(enum mc_command command, const char *key);
void give_value(struct mc_request *request, const void *bytes, uint32_t size);
void begin(struct client *client, const struct mc_container *container, struct mc_request *request,
           bool *done);
void wait_for(struct client *client, const bool *done);
/* begin() and wait_for(). */
enum mc_status run(struct client *client, const struct mc_container *container,
                   struct mc_request *request);
/* The same of a key and a value; what it was is forgotten. */
enum mc_status put(struct client *client, const struct mc_container *container,
                   enum mc_command command, const char *key, const char *value);
enum mc_status count(struct client *client, const struct mc_container *container,
                     enum mc_command command, const char *key, uint64_t delta, uint64_t *number);
enum mc_status drop(struct client *client, const struct mc_container *container, const char *key);
/* The value of a key must be this one; NULL: there must be none. */
void must_be(struct client *client, const struct mc_container *container, const char *key,
             const char *value);
/* So many rows in the table. */
uint64_t rows_of(struct client *client, struct ndb_table *table);

/* Tables of the races and of large values, and how they are seen. */
extern const struct view race_view;
extern const struct view large_view;
void make_tables(struct client *client);
/* A value tells from its first bytes what all of it must be. */
struct mc_value *pattern(uint32_t size, uint32_t seed);
bool is_pattern(const struct mc_value *value);
enum mc_status put_pattern(struct client *client, const struct mc_container *c,
                           enum mc_command command, const char *key, uint32_t size, uint32_t seed);

void check_commands(struct client *client);
void check_columns(struct client *client);
void check_large(struct client *client);
/* Until the cluster's memory is full, and then it is not. */
int fill(void);
/* Says "ready", waits for a line: all data nodes are lost then. */
int lose(void);
int race(uint32_t threads, uint32_t seconds);
