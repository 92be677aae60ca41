/* test_tcp_writer.c -- links shared out among receive and send threads, under stalls and cuts. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "kernel/base/rng.h"
#include "transporters/send_queue.h"
#include "transporters/transporter.h"

/*
 * The node (id OWN) has RECEIVERS transporters and, or not, as many writers, each on a thread.
 * SENDERS threads put numbered signals into its rings. Its peers 1..PEERS are plain transporters on
 * the loop of the test's own thread: they stall, close and count. Every epoch's numbers begin at 0
 * for each sender; what arrives must be 0, 1, 2...
 */
#define OWN       10u
#define PEERS     5u
#define RECEIVERS 2u
#define SENDERS   2u
#define PAYLOAD   20u
#define FAULTS    150u

struct socket_thread {
    uint32_t no;
    pthread_t thread;
    uv_loop_t loop;
    uv_async_t wake;
    struct transporter *t;
    struct link_writer *writer;
    struct send_queues *queues; /* NULL: others write. */
};

struct sent {
    uint32_t epoch;
    uint32_t count;
};

static struct socket_thread receiver[RECEIVERS], sender[RECEIVERS];
static bool writers;
static atomic_uint stop_sending, stop_threads;
static atomic_uint epoch_of[PEERS + 1], level_of[PEERS + 1], close_wish[PEERS + 1];
static atomic_uint ups, downs, rises;
static atomic_ullong arrived; /* Signals that arrived at the node. */
static uint32_t node_expects[PEERS + 1];
static struct sent sent[SENDERS][PEERS + 1];
static int node_port;

/* A peer. */
static struct peer {
    struct transporter *t;
    uint32_t node;
    uint32_t epoch;
    uint32_t epoch_before;
    uint32_t doomed; /* The epoch of the link that a fault of its own ends. */
    uint32_t ups;
    uint32_t next; /* Number of its next signal to the node. */
    uint32_t expects[SENDERS];
    uint64_t got;
} peers[PEERS + 1];
static uv_loop_t loop;

/* --- The node. --- */

static void node_up(void *context, uint32_t id, uint32_t role, uint32_t epoch)
{
    (void)context;
    (void)role;
    if (atomic_load(&epoch_of[id]) != 0) fail_msg("two links to one peer");
    node_expects[id] = 0;
    atomic_fetch_add(&ups, 1);
    atomic_store(&level_of[id], LINK_NORMAL);
    atomic_store(&epoch_of[id], epoch);
}

static void node_down(void *context, uint32_t id, uint32_t epoch, const char *reason)
{
    (void)context;
    if (atomic_load(&epoch_of[id]) != epoch || reason[0] == '\0') fail_msg("a link ended twice");
    if (atomic_load(&level_of[id]) != LINK_NORMAL) fail_msg("a level outlived its link");
    atomic_fetch_add(&downs, 1);
    atomic_store(&epoch_of[id], 0);
}

static bool node_signals(void *context, uint32_t id, uint32_t epoch, const uint32_t *words,
                         uint32_t count)
{
    (void)context;
    if (atomic_load(&epoch_of[id]) != epoch) fail_msg("signals of another epoch");
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        if (words[at + 4] != node_expects[id]++) fail_msg("out of order at the node");
    }
    atomic_fetch_add(&arrived, count);
    return true;
}

static void node_level(void *context, uint32_t id, enum link_level level)
{
    (void)context;
    if (level >= LINK_OVERLOAD) atomic_fetch_add(&rises, 1);
    atomic_store(&level_of[id], level);
}

static struct transporter *owner_of(void *context, uint32_t id)
{
    (void)context;
    return receiver[id % RECEIVERS].t;
}

static struct link_writer *writer_of(void *context, uint32_t id)
{
    (void)context;
    return sender[id % RECEIVERS].writer;
}

static struct send_queues *queues_of(uint32_t id)
{
    return writers ? sender[id % RECEIVERS].queues : receiver[id % RECEIVERS].queues;
}

static void take(void *context, uint32_t id, uint32_t epoch, const uint32_t *words, uint32_t count)
{
    struct socket_thread *own = context;
    if (own->writer != NULL) {
        link_writer_send(own->writer, id, epoch, words, count);
    } else {
        transporter_send(own->t, id, epoch, words, count);
    }
}

static void on_wake(uv_async_t *async)
{
    (void)async;
}

static void *socket_main(void *argument)
{
    struct socket_thread *own = argument;
    while (atomic_load(&stop_threads) == 0) {
        for (uint32_t id = 1; own->t != NULL && id <= PEERS; id++) {
            uint32_t epoch = id % RECEIVERS == own->no ? atomic_load(&close_wish[id]) : 0;
            if (epoch != 0) transporter_close(own->t, id, epoch, "the test wants it");
        }
        bool busy = own->queues != NULL && send_queues_drain(own->queues, take, own) > 0;
        if (own->writer != NULL) link_writer_flush(own->writer);
        if (own->t != NULL) transporter_flush(own->t);
        if (!busy && (own->queues == NULL || send_queues_sleep(own->queues))) {
            uv_run(&own->loop, UV_RUN_ONCE);
            if (own->queues != NULL) send_queues_awake(own->queues);
        } else {
            uv_run(&own->loop, UV_RUN_NOWAIT);
        }
    }
    return NULL;
}

static void wake(struct socket_thread *thread)
{
    uv_async_send(&thread->wake);
}

static void wake_writer_of(uint32_t id)
{
    wake(writers ? &sender[id % RECEIVERS] : &receiver[id % RECEIVERS]);
}

static void fill_signal(uint32_t *words, uint32_t number, uint32_t from)
{
    memset(words, 0, 4 * (SIGNAL_HEAD_WORDS + PAYLOAD));
    words[0] = signal_kind(1, PAYLOAD, 0, PRIO_B, 0);
    words[3] = SIGNAL_HEAD_WORDS + PAYLOAD;
    words[4] = number;
    words[5] = from;
}

static void *sender_main(void *argument)
{
    uint32_t no = (uint32_t)(uintptr_t)argument;
    struct rng rng;
    rng_seed(&rng, 99 + no);
    uint32_t words[40 * (SIGNAL_HEAD_WORDS + PAYLOAD)];
    while (atomic_load(&stop_sending) == 0) {
        uint32_t id = 1 + (uint32_t)rng_below(&rng, PEERS);
        uint32_t epoch = atomic_load(&epoch_of[id]);
        /* Now and then it does not care about the level: a link that is too slow gets closed. */
        if (epoch == 0 ||
            (atomic_load(&level_of[id]) >= LINK_OVERLOAD && !rng_chance(&rng, 1, 60))) {
            sched_yield();
            continue;
        }
        struct sent *to = &sent[no][id];
        if (to->epoch != epoch) *to = (struct sent){epoch, 0};
        uint32_t count = 1 + (uint32_t)rng_below(&rng, 40);
        for (uint32_t i = 0; i < count; i++)
            fill_signal(words + i * (SIGNAL_HEAD_WORDS + PAYLOAD), to->count++, no);
        while (!send_queue_put(queues_of(id), no, id, epoch, words,
                               count * (SIGNAL_HEAD_WORDS + PAYLOAD))) {
            wake_writer_of(id);
            sched_yield();
        }
        if (send_queues_must_wake(queues_of(id))) wake_writer_of(id);
    }
    return NULL;
}

static const struct transporter_callbacks node_calls = {
    .link_up = node_up, .link_down = node_down, .signals = node_signals, .level = node_level};

static void open_thread(struct socket_thread *own, uint32_t no, bool writes)
{
    *own = (struct socket_thread){.no = no};
    uv_loop_init(&own->loop);
    uv_async_init(&own->loop, &own->wake, on_wake);
    if (writes) {
        own->queues = send_queues_create(SENDERS, 16384);
        assert_non_null(own->queues);
    }
}

static void open_node(void)
{
    for (uint32_t no = 0; no < RECEIVERS; no++) {
        if (writers) {
            open_thread(&sender[no], no, true);
            sender[no].writer = link_writer_create(&sender[no].loop);
            assert_non_null(sender[no].writer);
        }
        open_thread(&receiver[no], no, !writers);
        struct transporter_options options = {
            .loop = &receiver[no].loop,
            .calls = &node_calls,
            .own_node = OWN,
            .own_role = LINK_ROLE_DATA,
            .cluster_id = 77,
            .incarnation = 4711,
            .reconnect_ms = 1,
            .reconnect_max_ms = 4,
            .owner = owner_of,
            .writer = writers ? writer_of : NULL,
        };
        receiver[no].t = transporter_create(&options);
        assert_non_null(receiver[no].t);
    }
    node_port = transporter_listen(receiver[0].t, "127.0.0.1", 0);
    assert_true(node_port > 0);
}

/* --- The peers. --- */

static void peer_up(void *context, uint32_t id, uint32_t role, uint32_t epoch)
{
    struct peer *peer = context;
    assert_int_equal(id, OWN);
    assert_int_equal(role, LINK_ROLE_DATA);
    assert_true(epoch > peer->epoch_before);
    peer->epoch = peer->epoch_before = epoch;
    peer->next = 0;
    peer->ups++;
    memset(peer->expects, 0, sizeof peer->expects);
}

static void peer_down(void *context, uint32_t id, uint32_t epoch, const char *reason)
{
    struct peer *peer = context;
    (void)id;
    (void)reason;
    assert_int_equal(epoch, peer->epoch);
    peer->epoch = 0;
}

static bool peer_signals(void *context, uint32_t id, uint32_t epoch, const uint32_t *words,
                         uint32_t count)
{
    struct peer *peer = context;
    (void)id;
    assert_int_equal(epoch, peer->epoch);
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        assert_true(words[at + 5] < SENDERS);
        if (words[at + 4] != peer->expects[words[at + 5]]++) fail_msg("out of order at a peer");
        peer->got++;
    }
    return true;
}

static const struct transporter_callbacks peer_calls = {
    .link_up = peer_up, .link_down = peer_down, .signals = peer_signals};

/* Even ones listen and the node connects, odd ones connect. */
static void open_peer(uint32_t id)
{
    struct peer *peer = &peers[id];
    *peer = (struct peer){.node = id};
    struct transporter_options options = {
        .loop = &loop,
        .calls = &peer_calls,
        .context = peer,
        .own_node = id,
        .own_role = LINK_ROLE_API,
        .cluster_id = 77,
        .incarnation = 100 + id,
        .reconnect_ms = 1,
        .reconnect_max_ms = 4,
    };
    peer->t = transporter_create(&options);
    assert_non_null(peer->t);
    struct transporter_peer to_peer = {.node = id,
                                       .role = LINK_ROLE_API,
                                       .host = "127.0.0.1",
                                       .connect = id % 4 >= 2,
                                       .allowed = true,
                                       .send_buffer_bytes = 256 * 1024};
    struct transporter_peer to_node = {.node = OWN,
                                       .role = LINK_ROLE_DATA,
                                       .host = "127.0.0.1",
                                       .port = (uint16_t)node_port,
                                       .connect = !to_peer.connect,
                                       .allowed = true};
    if (to_peer.connect) to_peer.port = (uint16_t)transporter_listen(peer->t, "127.0.0.1", 0);
    assert_int_equal(transporter_set_peer(peer->t, &to_node), 0);
    assert_int_equal(transporter_set_peer(owner_of(NULL, id), &to_peer), 0);
}

/* --- The test. --- */

static void peers_round(void)
{
    for (uint32_t id = 1; id <= PEERS; id++) {
        uint32_t words[SIGNAL_HEAD_WORDS + PAYLOAD];
        if (peers[id].epoch != 0 && transporter_level(peers[id].t, OWN) < LINK_OVERLOAD) {
            fill_signal(words, peers[id].next++, 0);
            transporter_send(peers[id].t, OWN, peers[id].epoch, words, words[3]);
        }
        transporter_flush(peers[id].t);
    }
    uv_run(&loop, UV_RUN_NOWAIT);
    sched_yield();
}

static uint64_t total_got(void)
{
    uint64_t total = 0;
    for (uint32_t id = 1; id <= PEERS; id++)
        total += peers[id].got;
    return total;
}

static void make_fault(struct rng *rng, bool *paused)
{
    uint32_t id = 1 + (uint32_t)rng_below(rng, PEERS);
    switch (rng_below(rng, 5)) {
    case 0:
    case 1:
        transporter_pause(peers[id].t, OWN, paused[id] = !paused[id]);
        break;
    case 2:
        peers[id].doomed = peers[id].epoch;
        transporter_close(peers[id].t, OWN, 0, "the peer's test wants it");
        break;
    case 3:
        atomic_store(&close_wish[id], atomic_load(&epoch_of[id]));
        wake(&receiver[id % RECEIVERS]);
        break;
    default: /* Dies with data unread: the node's writes meet a reset connection. */
        peers[id].doomed = peers[id].epoch;
        transporter_allow(peers[id].t, OWN, false);
        transporter_allow(peers[id].t, OWN, true);
        break;
    }
}

/* Both ends know the same link, and no fault is about to end it. */
static bool link_stays(uint32_t id)
{
    uint32_t epoch = peers[id].epoch;
    return epoch != 0 && epoch == atomic_load(&epoch_of[id]) && epoch != peers[id].doomed &&
           epoch != atomic_load(&close_wish[id]);
}

static bool all_arrived(void)
{
    for (uint32_t id = 1; id <= PEERS; id++) {
        if (!link_stays(id)) return false;
        for (uint32_t no = 0; no < SENDERS; no++) {
            if (sent[no][id].epoch == peers[id].epoch &&
                sent[no][id].count != peers[id].expects[no])
                return false;
        }
    }
    return true;
}

static void close_node(struct socket_thread *threads)
{
    for (uint32_t no = 0; no < RECEIVERS; no++) {
        send_queues_destroy(threads[no].queues);
        transporter_destroy(threads[no].t);
        link_writer_destroy(threads[no].writer);
        uv_close((uv_handle_t *)&threads[no].wake, NULL);
        uv_run(&threads[no].loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&threads[no].loop), 0); /* No handle is left. */
    }
}

/* All threads have ended; this one runs the loops of all. */
static void stop_all(void)
{
    bool stopped = false;
    for (uint32_t no = 0; no < RECEIVERS; no++)
        transporter_stop(receiver[no].t);
    for (uint32_t id = 1; id <= PEERS; id++)
        transporter_stop(peers[id].t);
    while (!stopped) {
        stopped = true;
        uv_run(&loop, UV_RUN_NOWAIT);
        for (uint32_t no = 0; no < RECEIVERS; no++) {
            uv_run(&receiver[no].loop, UV_RUN_NOWAIT);
            if (writers) uv_run(&sender[no].loop, UV_RUN_NOWAIT);
            if (!transporter_stopped(receiver[no].t)) stopped = false;
        }
        for (uint32_t id = 1; id <= PEERS; id++) {
            if (!transporter_stopped(peers[id].t)) stopped = false;
        }
    }
    for (uint32_t id = 1; id <= PEERS; id++)
        transporter_destroy(peers[id].t);
    for (uint32_t no = 0; writers && no < RECEIVERS; no++) {
        link_writer_stop(sender[no].writer);
        while (!link_writer_stopped(sender[no].writer))
            uv_run(&sender[no].loop, UV_RUN_NOWAIT);
    }
    close_node(receiver);
    if (writers) close_node(sender);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void start_threads(pthread_t *senders)
{
    for (uint32_t no = 0; no < RECEIVERS; no++) {
        struct socket_thread *own = &receiver[no];
        assert_int_equal(pthread_create(&own->thread, NULL, socket_main, own), 0);
        own = &sender[no];
        if (writers) assert_int_equal(pthread_create(&own->thread, NULL, socket_main, own), 0);
    }
    for (uint32_t no = 0; no < SENDERS; no++)
        assert_int_equal(pthread_create(&senders[no], NULL, sender_main, (void *)(uintptr_t)no), 0);
}

static void join_threads(void)
{
    atomic_store(&stop_threads, 1);
    for (uint32_t no = 0; no < RECEIVERS; no++) {
        wake(&receiver[no]);
        pthread_join(receiver[no].thread, NULL);
        if (!writers) continue;
        wake(&sender[no]);
        pthread_join(sender[no].thread, NULL);
    }
}

static void run_faults(void)
{
    struct rng rng;
    bool paused[PEERS + 1] = {false};
    rng_seed(&rng, writers ? 5 : 6);
    for (uint32_t fault = 0; fault < FAULTS; fault++) {
        uint64_t until = total_got() + rng_below(&rng, 20000);
        /* Rounds, too: everybody may be stalled. */
        for (uint32_t round = 0; round < 3000 && total_got() < until; round++)
            peers_round();
        make_fault(&rng, paused);
    }
    for (uint32_t id = 1; id <= PEERS; id++)
        transporter_pause(peers[id].t, OWN, false);
}

static void links_keep_order_under_faults(void **state)
{
    pthread_t senders[SENDERS];
    writers = *state != NULL;
    atomic_store(&stop_sending, 0);
    atomic_store(&stop_threads, 0);
    atomic_store(&ups, 0);
    atomic_store(&downs, 0);
    atomic_store(&rises, 0);
    atomic_store(&arrived, 0);
    uv_loop_init(&loop);
    open_node();
    for (uint32_t id = 1; id <= PEERS; id++) {
        atomic_store(&close_wish[id], 0);
        open_peer(id);
    }
    start_threads(senders);
    run_faults();
    atomic_store(&stop_sending, 1);
    for (uint32_t no = 0; no < SENDERS; no++)
        pthread_join(senders[no], NULL);
    while (!all_arrived())
        peers_round();
    for (uint32_t id = 1; id <= PEERS; id++)
        assert_true(peers[id].ups > 1);
    assert_true(atomic_load(&arrived) > 0);
    join_threads();
    for (uint32_t id = 1; id <= PEERS; id++) {
        struct link_statistics statistics;
        assert_true(transporter_statistics(owner_of(NULL, id), id, &statistics, NULL, 0));
        assert_int_equal(statistics.send_bytes, 0);
        uint64_t words = 0;
        for (uint32_t no = 0; no < SENDERS; no++)
            words += peers[id].expects[no] * (uint64_t)(SIGNAL_HEAD_WORDS + PAYLOAD);
        assert_int_equal(statistics.words_sent, words);
    }
    stop_all();
    assert_int_equal(atomic_load(&ups), atomic_load(&downs));
    print_message("%u links, %llu signals, %u overloads\n", atomic_load(&ups),
                  (unsigned long long)total_got(), atomic_load(&rises));
}

int main(void)
{
    static char yes;
    const struct CMUnitTest tests[] = {
        {"receivers_that_write", links_keep_order_under_faults, NULL, NULL, NULL},
        {"receivers_and_writers", links_keep_order_under_faults, NULL, NULL, &yes},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
