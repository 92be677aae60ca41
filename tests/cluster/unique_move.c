/* unique_move.c -- rows change their emails, by id and by unique keys, while indexes come and go
 * and data nodes are lost. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "tests/cluster/unique_client.h"

#define THREADS      4u
#define REOPEN_EVERY 50u /* Operations: then the table may have other indexes. */

static atomic_bool stop_moving;
static atomic_uint moved, duplicates, not_now, found_later;

/* What somebody hears who looks for a row by an index that is about to come, or is gone. */
static bool index_is_away(int code)
{
    return code == 283 || code == 284 || code == 241 || code == 1232;
}

/* The transaction's error after `operation`; ends the program if it is none that may be. */
static int end(struct ndb_transaction *t, const struct ndb_operation *operation, bool later)
{
    int code = execute(t, operation);
    if (code != 0 && code != DUPLICATE && code != NO_ROW && !(later && index_is_away(code)) &&
        ndb_transaction_error(t)->status == NDB_STATUS_PERMANENT)
        die("a row and its email", ndb_transaction_error(t));
    ndb_transaction_close(t);
    return code;
}

/* By this key; the row may have lost its email meanwhile. */
static int give_email(struct client *client, const struct ndb_record *by, const struct row *key,
                      const struct row *row)
{
    const uint8_t only_email[1] = {1u << 1};
    const struct ndb_operation_options options = {.mask = only_email};
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    return end(t, ndb_update(t, by, key, client->record, row, &options), by == client->later);
}

/* Whoever has the email is found by it, or nobody is. */
static int find_email(struct client *client, const struct ndb_record *by, const struct row *key)
{
    struct row found = {0};
    struct ndb_transaction *t = ndb_transaction_start(client->ndb);
    int code = end(t, ndb_read(t, by, key, client->record, &found, NULL), by == client->later);
    if (code != 0) return code;
    want("the email of a row that was found by it", strcmp(found.email, key->email), 0);
    want("an email that is NULL is found", found.nulls & 1u, 0);
    if (by == client->later) atomic_fetch_add(&found_later, 1);
    return code;
}

static int change(struct client *client, uint32_t random)
{
    const struct ndb_record *const keys[4] = {client->record, client->by_email, client->later,
                                              client->record};
    uint32_t emails = row_count + row_count / 4u;
    struct row row = row_of((random >> 8) % row_count, (random >> 16) % emails);
    struct row key = row_of(row.id, (random >> 4) / 7u % emails);
    const struct ndb_record *by = keys[(random >> 6) % 4u];
    if (by == NULL) by = client->by_email;
    key.nulls = 0;
    if (random >> 28 == 0) row.nulls |= 1;
    if (by != client->record && (random >> 11) % 4u == 0) return find_email(client, by, &key);
    int code = give_email(client, by, &key, &row);
    if (code == 0) atomic_fetch_add(&moved, 1);
    return code;
}

static void *mover(void *context)
{
    struct client client;
    uint32_t random = *(const uint32_t *)context * 2654435761u;
    const struct timespec pause = {.tv_nsec = 1000000}; /* Data nodes are lost, or come back. */
    client_open(&client);
    for (uint32_t i = 1; !atomic_load(&stop_moving); i++) {
        random = random * 1664525u + 1013904223u;
        int code = change(&client, random);
        if (code == DUPLICATE) atomic_fetch_add(&duplicates, 1);
        if (code != 0 && code != DUPLICATE) atomic_fetch_add(&not_now, 1);
        if (code != 0 && code != DUPLICATE && code != NO_ROW) (void)nanosleep(&pause, NULL);
        if (i % REOPEN_EVERY == 0 || index_is_away(code)) client_reopen(&client);
    }
    client_close(&client);
    return NULL;
}

int move(double seconds)
{
    struct client client;
    pthread_t threads[THREADS];
    uint32_t seeds[THREADS];
    struct timespec pause = {.tv_sec = (time_t)seconds};
    make_rows(&client);
    for (uint32_t i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        pthread_create(&threads[i], NULL, mover, &seeds[i]);
    }
    printf("moving\n");
    fflush(stdout);
    (void)nanosleep(&pause, NULL);
    atomic_store(&stop_moving, true);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("move: %u emails given, %u duplicates refused, %u found by an index that came, %u other "
           "errors\n",
           atomic_load(&moved), atomic_load(&duplicates), atomic_load(&found_later),
           atomic_load(&not_now));
    client_close(&client);
    return atomic_load(&moved) > 0 && atomic_load(&duplicates) > 0 ? 0 : 1;
}
