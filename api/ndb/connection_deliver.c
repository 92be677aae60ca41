/* connection_deliver.c -- brings signals and broken links from the loop to each client's own
 * thread. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "api/ndb/ndb_private.h"

/*
 * The poller hands its own signals over directly; those of others go into their inbox, in the order
 * of the link, and their threads are woken once per round. An entry of an inbox: number of words (0
 * = the link went down), peer, epoch, the words.
 */
#define ENTRY_WORDS 3u

void inbox_drop(struct inbox *inbox)
{
    free(inbox->words);
    *inbox = (struct inbox){0};
}

static bool inbox_reserve(struct inbox *inbox, uint32_t words)
{
    uint64_t need = (uint64_t)inbox->count + words;
    if (need <= inbox->room) return true;
    uint64_t room = inbox->room == 0 ? 4096 : inbox->room;
    while (room < need)
        room *= 2;
    if (room > UINT32_MAX / 4u) return false;
    uint32_t *grown = realloc(inbox->words, (size_t)room * 4u);
    if (grown == NULL) return false;
    inbox->words = grown;
    inbox->room = (uint32_t)room;
    return true;
}

static uint32_t signals_in(const uint32_t *words, uint32_t count)
{
    uint32_t signals = 0;
    for (uint32_t at = 0; at < count; at += words[at + 3])
        signals++;
    return signals;
}

/* table_lock is held, so the ndb_t stays. Without memory the signals are lost and deadlines
 * complete the requests. */
static void put(struct ndb_cluster_connection *connection, struct ndb *ndb, uint32_t peer,
                uint32_t epoch, const uint32_t *words, uint32_t count)
{
    pthread_mutex_lock(&ndb->lock);
    if (inbox_reserve(&ndb->inbox, ENTRY_WORDS + count)) {
        uint32_t *out = ndb->inbox.words + ndb->inbox.count;
        out[0] = count;
        out[1] = peer;
        out[2] = epoch;
        if (count > 0) memcpy(out + ENTRY_WORDS, words, (size_t)count * 4u);
        ndb->inbox.count += ENTRY_WORDS + count;
        ndb->inbox.signals += count == 0 ? UINT16_MAX : signals_in(words, count);
    }
    pthread_mutex_unlock(&ndb->lock);
    if (ndb->dirty) return;
    ndb->dirty = true;
    ndb->next_dirty = connection->dirty;
    connection->dirty = ndb;
    atomic_store_explicit(&connection->dirty_any, true, memory_order_relaxed);
}

bool deliver_waits(struct ndb_cluster_connection *connection)
{
    return atomic_load_explicit(&connection->dirty_any, memory_order_relaxed);
}

/* Who waits in its own loop is told by its descriptor. */
static void tell(struct ndb *ndb)
{
    uint64_t one = 1;
    pthread_mutex_lock(&ndb->lock);
    int event_fd = ndb->event_fd;
    pthread_mutex_unlock(&ndb->lock);
    if (event_fd >= 0 && write(event_fd, &one, sizeof one) < 0)
        return; /* Full: it is readable already. */
}

static bool worth_waking(struct ndb *ndb)
{
    uint32_t expects = atomic_load_explicit(&ndb->expects, memory_order_relaxed);
    if (expects <= 1) return true;
    pthread_mutex_lock(&ndb->lock);
    bool enough = ndb->inbox.signals >= expects || ndb->event_fd >= 0;
    pthread_mutex_unlock(&ndb->lock);
    return enough;
}

void deliver_wake(struct ndb_cluster_connection *connection, bool all)
{
    if (!deliver_waits(connection)) return;
    pthread_mutex_lock(&connection->table_lock);
    struct ndb *later = NULL;
    struct wake_set set = {{0}};
    while (connection->dirty != NULL) {
        struct ndb *ndb = connection->dirty;
        connection->dirty = ndb->next_dirty;
        if (!all && !worth_waking(ndb)) {
            ndb->next_dirty = later;
            later = ndb;
            continue;
        }
        ndb->dirty = false;
        tell(ndb);
        wake_add(&set, ndb);
    }
    connection->dirty = later;
    atomic_store_explicit(&connection->dirty_any, later != NULL, memory_order_relaxed);
    pthread_mutex_unlock(&connection->table_lock);
    gather_count(connection, &set);
    wake_all(connection, &set); /* No lock is held: they would run into it. */
}

static void dispatch(struct ndb *ndb, uint32_t peer, uint32_t epoch, const uint32_t *words,
                     uint32_t count)
{
    if (count == 0) {
        api_client_link_down(ndb->client, peer, epoch);
        return;
    }
    uint32_t expects = atomic_load_explicit(&ndb->expects, memory_order_relaxed);
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        api_client_signal(ndb->client, peer, epoch, words + at);
        expects -= expects > 0;
    }
    atomic_store_explicit(&ndb->expects, expects, memory_order_relaxed);
    api_client_flush(ndb->client);
}

/* Own thread. Callbacks may run; they cannot come back here. */
void inbox_process(struct ndb *ndb)
{
    pthread_mutex_lock(&ndb->lock);
    struct inbox full = ndb->inbox;
    if (full.count != 0) {
        ndb->inbox = ndb->spare;
        ndb->inbox.count = ndb->inbox.signals = 0;
        ndb->spare = full;
    }
    pthread_mutex_unlock(&ndb->lock);
    for (uint32_t at = 0; at < full.count; at += ENTRY_WORDS + full.words[at])
        dispatch(ndb, full.words[at + 1], full.words[at + 2], full.words + at + ENTRY_WORDS,
                 full.words[at]);
}

static void deliver_run(struct ndb_cluster_connection *connection, uint32_t instance, uint32_t peer,
                        uint32_t epoch, const uint32_t *words, uint32_t count)
{
    if (instance == 0) {
        for (uint32_t at = 0; at < count; at += words[at + 3])
            api_core_node_signal(connection->core, peer, epoch, words + at);
        return;
    }
    struct ndb *own = connection->poller;
    if (own != NULL && own->instance == instance) {
        dispatch(own, peer, epoch, words, count);
        return;
    }
    pthread_mutex_lock(&connection->table_lock);
    struct ndb *ndb = connection->ndbs[instance];
    if (ndb != NULL) put(connection, ndb, peer, epoch, words, count);
    pthread_mutex_unlock(&connection->table_lock);
}

bool deliver_signals(struct ndb_cluster_connection *connection, uint32_t peer, uint32_t epoch,
                     const uint32_t *words, uint32_t count)
{
    uint32_t run_at = 0;
    uint32_t run_instance = UINT32_MAX;
    uint32_t at = 0;
    while (at < count) {
        uint32_t instance = api_core_route(connection->core, peer, words + at);
        if (instance != run_instance) {
            if (at > run_at)
                deliver_run(connection, run_instance, peer, epoch, words + run_at, at - run_at);
            run_at = at;
            run_instance = instance;
        }
        if (instance == UINT32_MAX) return false;
        at += words[at + 3];
    }
    if (at > run_at)
        deliver_run(connection, run_instance, peer, epoch, words + run_at, at - run_at);
    return true;
}

void deliver_link_up(struct ndb_cluster_connection *connection, uint32_t peer, uint32_t epoch)
{
    pthread_mutex_lock(&connection->send_lock);
    connection->out[peer].count = 0;
    connection->open_epoch[peer] = epoch;
    pthread_mutex_unlock(&connection->send_lock);
    api_core_node_up(connection->core, peer, epoch);
}

void deliver_link_down(struct ndb_cluster_connection *connection, uint32_t peer, uint32_t epoch)
{
    pthread_mutex_lock(&connection->send_lock);
    connection->out[peer].count = 0;
    connection->open_epoch[peer] = 0;
    pthread_mutex_unlock(&connection->send_lock);
    api_core_node_down(connection->core, peer, epoch);
    struct ndb *own = connection->poller;
    pthread_mutex_lock(&connection->table_lock);
    for (uint32_t i = 1; i <= connection->ndb_high; i++) {
        if (connection->ndbs[i] != NULL && connection->ndbs[i] != own)
            put(connection, connection->ndbs[i], peer, epoch, NULL, 0);
    }
    pthread_mutex_unlock(&connection->table_lock);
    if (own != NULL) api_client_link_down(own->client, peer, epoch);
}
