/* mc_store_records.c -- rows as the client library fills them: how a table's columns lie in memory,
 * and memory for rows that are being read. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include "servers/memcached/mc_store_private.h"

/* A row that nobody reads at the moment. */
struct mc_spare_row {
    struct mc_spare_row *next;
};

static uint32_t index_of(const struct mc_container *container)
{
    return container->access == MC_BY_UNIQUE_INDEX ? container->index : MC_PRIMARY;
}

static void free_records(struct mc_records *records)
{
    while (records->spare != NULL) {
        struct mc_spare_row *row = records->spare;
        records->spare = row->next;
        free(row);
    }
    ndb_record_release(records->key);
    ndb_record_release(records->row);
    free(records);
}

/* The key record of a unique index has the index's columns where the row has them. */
static struct ndb_record *key_record(ndb_t *ndb, const struct mc_container *container,
                                     const struct ndb_record *row)
{
    struct ndb_field fields[MC_COLUMNS_MAX];
    for (uint32_t i = 0; i < container->key_count; i++)
        (void)ndb_record_field(row, container->key[i], &fields[i]);
    return ndb_record_create_unique(ndb, container->table, container->index, fields,
                                    container->key_count, ndb_record_row_size(row));
}

static struct mc_records *make_records(struct mc_store *store, const struct mc_container *container)
{
    struct mc_records *records = calloc(1, sizeof *records);
    if (records == NULL) return NULL;
    bool unique = container->access == MC_BY_UNIQUE_INDEX;
    records->row = ndb_record_create_default(store->ndb, container->table);
    if (records->row != NULL && unique)
        records->key = key_record(store->ndb, container, records->row);
    if (records->row == NULL || (unique && records->key == NULL)) {
        free_records(records);
        return NULL;
    }
    records->table = container->table;
    records->index = index_of(container);
    records->row_size = ndb_record_row_size(records->row);
    if (records->row_size < sizeof(struct mc_spare_row))
        records->row_size = sizeof(struct mc_spare_row);
    return records;
}

/* Frees the records that no job uses and that are not among the MC_RECORDS_KEPT used last, as are
   those of former configurations sooner or later. */
static void forget_idle(struct mc_store *store)
{
    struct mc_records **at = &store->records;
    for (uint32_t kept = 0; *at != NULL; kept++) {
        struct mc_records *records = *at;
        if (kept < MC_RECORDS_KEPT || records->uses > 0) {
            at = &records->next;
            continue;
        }
        *at = records->next;
        free_records(records);
    }
}

static struct mc_records *records_of(struct mc_store *store, const struct mc_container *container)
{
    uint32_t index = index_of(container);
    struct mc_records **at = &store->records;
    while (*at != NULL && ((*at)->table != container->table || (*at)->index != index))
        at = &(*at)->next;
    struct mc_records *records = *at;
    if (records == NULL) {
        forget_idle(store);
        records = make_records(store, container);
        if (records == NULL) return NULL;
    } else if (at == &store->records) {
        return records;
    } else {
        *at = records->next;
    }
    records->next = store->records; /* The one used last comes first. */
    store->records = records;
    return records;
}

bool mc_records_take(struct mc_work *job)
{
    if (job->records == NULL) {
        job->records = records_of(job->store, job->container);
        if (job->records == NULL) return false;
        job->records->uses++;
    }
    struct mc_records *records = job->records;
    if (job->row != NULL) return true;
    if (records->spare == NULL) {
        job->row = malloc(records->row_size);
        return job->row != NULL;
    }
    job->row = (uint8_t *)records->spare;
    records->spare = records->spare->next;
    records->spare_count--;
    return true;
}

void mc_records_give(struct mc_work *job)
{
    struct mc_records *records = job->records;
    if (records == NULL) return;
    if (job->row != NULL && records->spare_count < MC_SPARE_ROWS) {
        struct mc_spare_row *row = (struct mc_spare_row *)(void *)job->row;
        row->next = records->spare;
        records->spare = row;
        records->spare_count++;
    } else {
        free(job->row);
    }
    records->uses--;
    job->row = NULL;
    job->records = NULL;
}

bool mc_records_set_key(struct mc_work *job)
{
    const struct mc_records *records = job->records;
    const struct ndb_record *key = records->key != NULL ? records->key : records->row;
    for (uint32_t i = 0; i < job->key.count; i++) {
        const struct mc_key_part *part = &job->key.part[i];
        if (ndb_row_set(key, job->row, part->column, job->key.bytes + part->offset, part->size) !=
            0)
            return false;
    }
    return true;
}

void mc_records_free(struct mc_store *store)
{
    while (store->records != NULL) {
        struct mc_records *records = store->records;
        store->records = records->next;
        free_records(records);
    }
}
