/* test_tcp_transporter.c -- transporters on one loop, over loopback sockets, and strangers. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "transporters/transporter.h"

#define SIGNAL_COUNT 1000000u

/* A process with its transporter, and what it saw. */
struct side {
    struct transporter *t;
    uint32_t node;
    uint32_t peer_node;
    uint32_t epoch; /* Epoch of the link that is up. */
    uint32_t epoch_before;
    uint32_t ups;
    uint32_t downs;
    uint64_t signals;
    uint64_t expected; /* Next number. */
    uint32_t refuse_at;
    uint32_t refusals;
    enum link_refusal refusal;
    uint64_t foreign_cluster;
    enum link_level level;
    enum link_level level_max;
    uint32_t logs;
    char reason[LINK_REASON_SIZE];
    char log[4 * LINK_REASON_SIZE];
};

static uv_loop_t loop;

static void on_link_up(void *context, uint32_t peer, uint32_t role, uint32_t epoch)
{
    struct side *side = context;
    assert_int_equal(peer, side->peer_node);
    assert_int_equal(side->ups, side->downs); /* The former one was reported as gone. */
    assert_true(role != LINK_ROLE_ANY);
    assert_true(epoch > side->epoch_before);
    side->epoch = epoch;
    side->expected = 0;
    side->ups++;
}

static void on_link_down(void *context, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct side *side = context;
    assert_int_equal(peer, side->peer_node);
    assert_int_equal(epoch, side->epoch);
    side->epoch_before = epoch;
    side->epoch = 0;
    side->downs++;
    snprintf(side->reason, sizeof side->reason, "%s", reason);
}

static bool on_signals(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                       uint32_t count)
{
    struct side *side = context;
    assert_int_equal(peer, side->peer_node);
    assert_int_equal(epoch, side->epoch);
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        if (words[at + 4] != side->expected) fail_msg("signal out of order");
        side->expected++;
        side->signals++;
    }
    return side->refuse_at == 0 || side->signals < side->refuse_at;
}

static void on_level(void *context, uint32_t peer, enum link_level level)
{
    struct side *side = context;
    assert_int_equal(peer, side->peer_node);
    side->level = level;
    if (level > side->level_max) side->level_max = level;
}

static void on_log(void *context, uint32_t level, const char *text)
{
    struct side *side = context;
    (void)level;
    side->logs++;
    snprintf(side->log, sizeof side->log, "%s", text);
}

static void on_refused(void *context, uint32_t peer, enum link_refusal refusal, uint64_t cluster_id,
                       const char *reason)
{
    struct side *side = context;
    assert_int_equal(peer, side->peer_node);
    assert_true(strlen(reason) > 5);
    side->refusal = refusal;
    side->foreign_cluster = cluster_id;
    side->refusals++;
}

static const struct transporter_callbacks calls = {.link_up = on_link_up,
                                                   .link_down = on_link_down,
                                                   .signals = on_signals,
                                                   .level = on_level,
                                                   .log = on_log,
                                                   .refused = on_refused};

static void make_side(struct side *side, uint32_t node, uint32_t peer_node, uint32_t role)
{
    *side = (struct side){.node = node, .peer_node = peer_node};
    struct transporter_options options = {
        .loop = &loop,
        .calls = &calls,
        .context = side,
        .own_node = node,
        .own_role = role,
        .cluster_id = 77,
        .incarnation = 9000 + node,
        .reconnect_ms = 1,
        .reconnect_max_ms = 4,
    };
    side->t = transporter_create(&options);
    assert_non_null(side->t);
}

static void run_once(struct side *a, struct side *b)
{
    transporter_flush(a->t);
    transporter_flush(b->t);
    uv_run(&loop, UV_RUN_ONCE);
}

static void end_sides(struct side *a, struct side *b)
{
    transporter_stop(a->t);
    transporter_stop(b->t);
    while (!transporter_stopped(a->t) || !transporter_stopped(b->t))
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(a->ups, a->downs);
    assert_int_equal(b->ups, b->downs);
    transporter_destroy(a->t);
    transporter_destroy(b->t);
    assert_int_equal(uv_loop_close(&loop), 0); /* No handle is left. */
    uv_loop_init(&loop);
}

/* `a` listens (data node 1), `b` connects (node 2 with `role`). */
static void make_pair(struct side *a, struct side *b, uint32_t role, const char *host)
{
    make_side(a, 1, 2, LINK_ROLE_DATA);
    make_side(b, 2, 1, role);
    int port = transporter_listen(a->t, "127.0.0.1", 0);
    assert_true(port > 0);
    struct transporter_peer to_b = {
        .node = 2, .role = role, .allowed = true, .send_buffer_bytes = 256 * 1024};
    struct transporter_peer to_a = {.node = 1,
                                    .role = LINK_ROLE_DATA,
                                    .host = host,
                                    .port = (uint16_t)port,
                                    .connect = true,
                                    .allowed = true};
    assert_int_equal(transporter_set_peer(a->t, &to_b), 0);
    assert_int_equal(transporter_set_peer(b->t, &to_a), 0);
}

static void wait_up(struct side *a, struct side *b)
{
    while (a->epoch == 0 || b->epoch == 0)
        run_once(a, b);
    assert_int_equal(a->epoch, b->epoch);
    assert_int_equal(transporter_epoch(a->t, 2), a->epoch);
}

static void make_signal(uint32_t *words, uint32_t number, uint32_t payload)
{
    memset(words, 0, 4 * (SIGNAL_HEAD_WORDS + (size_t)payload));
    words[0] = signal_kind(1, payload, 0, PRIO_B, 0);
    words[3] = SIGNAL_HEAD_WORDS + payload;
    words[4] = number;
}

/* Sends up to `batch` signals with ascending numbers while the level allows it. */
static void send_some(struct side *from, uint32_t *next, uint32_t end, uint32_t batch)
{
    uint32_t words[24];
    for (uint32_t i = 0; i < batch && *next < end && from->level < LINK_OVERLOAD; i++) {
        make_signal(words, (*next)++, 18);
        transporter_send(from->t, from->peer_node, from->epoch, words, 22);
    }
}

static void test_million_signals_in_order(void **state)
{
    (void)state;
    struct side a, b;
    make_pair(&a, &b, LINK_ROLE_DATA, "127.0.0.1");
    wait_up(&a, &b);
    uint32_t from_a = 0, from_b = 0;
    uint64_t began = uv_hrtime();
    while (a.signals < SIGNAL_COUNT || b.signals < SIGNAL_COUNT) {
        send_some(&a, &from_a, SIGNAL_COUNT, 2000);
        send_some(&b, &from_b, SIGNAL_COUNT, 1500);
        run_once(&a, &b);
    }
    uint64_t ns = uv_hrtime() - began;
    print_message("%u signals of 88 bytes each way, both ends on one core: %.2f M/s\n",
                  SIGNAL_COUNT, 2e3 * SIGNAL_COUNT / (double)ns);
    struct link_statistics statistics;
    char address[64];
    assert_true(transporter_statistics(a.t, 2, &statistics, address, sizeof address));
    assert_int_equal(statistics.words_received, 22u * SIGNAL_COUNT);
    assert_int_equal(strncmp(address, "127.0.0.1:", 10), 0);
    assert_int_equal(a.downs + b.downs, 0);
    end_sides(&a, &b);
}

static void test_reconnects_with_newer_epoch(void **state)
{
    (void)state;
    struct side a, b;
    make_pair(&a, &b, LINK_ROLE_DATA, "localhost");
    for (uint32_t round = 0; round < 10; round++) {
        struct side *closer = round % 2 == 0 ? &a : &b;
        struct side *other = round % 2 == 0 ? &b : &a;
        uint32_t words[8];
        wait_up(&a, &b);
        uint32_t epoch = closer->epoch;
        make_signal(words, 0, 1);
        transporter_send(closer->t, closer->peer_node, epoch, words, 5);
        transporter_send(closer->t, closer->peer_node, epoch + 1, words,
                         5); /* Other lives: dropped. */
        transporter_send(closer->t, closer->peer_node, epoch - 1, words, 5);
        transporter_close(closer->t, closer->peer_node, epoch + 1, "not this one");
        transporter_close(closer->t, closer->peer_node, epoch, "test closes");
        assert_int_equal(closer->downs, round); /* Not from within the call. */
        while (other->downs == round || closer->downs == round)
            run_once(&a, &b);
        assert_string_equal(closer->reason, "test closes");
        assert_int_equal(other->expected, 1);
        assert_non_null(strstr(other->reason, "test closes"));
    }
    wait_up(&a, &b);
    assert_int_equal(a.ups, 11);
    end_sides(&a, &b);
}

/* Another host takes over the node id: the attempt that hangs at the old address is given up. */
static void test_peer_moves(void **state)
{
    (void)state;
    struct side a, b;
    make_side(&a, 1, 2, LINK_ROLE_DATA);
    make_side(&b, 2, 1, LINK_ROLE_DATA);
    int silent = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(silent, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(silent, 5), 0); /* Connects, and never answers. */
    assert_int_equal(getsockname(silent, (struct sockaddr *)&address, &size), 0);
    struct transporter_peer to_a = {.node = 1, .role = LINK_ROLE_DATA, .host = "127.0.0.1"};
    struct transporter_peer to_b = {.node = 2, .role = LINK_ROLE_DATA, .allowed = true};
    to_a.connect = to_a.allowed = true;
    to_a.port = ntohs(address.sin_port);
    assert_int_equal(transporter_set_peer(a.t, &to_b), 0);
    assert_int_equal(transporter_set_peer(b.t, &to_a), 0);
    int met = -1;
    char hello[4];
    while (met < 0) {
        uv_run(&loop, UV_RUN_NOWAIT);
        met = accept4(silent, NULL, NULL, SOCK_NONBLOCK);
    }
    while (recv(met, hello, sizeof hello, 0) < 1)
        uv_run(&loop, UV_RUN_NOWAIT);
    to_a.port = (uint16_t)transporter_listen(a.t, "127.0.0.1", 0);
    assert_int_equal(transporter_set_peer(b.t, &to_a), 0);
    wait_up(&a, &b);
    close(met);
    close(silent);
    sigset_t set;
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
    assert_int_equal(sigismember(&set, SIGPIPE),
                     1); /* A peer that is gone does not end the process. */
    end_sides(&a, &b);
}

static void test_refusals(void **state)
{
    (void)state;
    const enum link_refusal expected[] = {LINK_REFUSED_UNKNOWN, LINK_REFUSED_ROLE,
                                          LINK_REFUSED_NOT_ALLOWED};
    for (uint32_t i = 0; i < 3; i++) {
        struct side a, b;
        make_side(&a, 1, 2, LINK_ROLE_DATA);
        make_side(&b, 2, 1, LINK_ROLE_API);
        int port = transporter_listen(a.t, NULL, 0);
        assert_true(port > 0);
        struct transporter_peer to_b = {.node = i == 0 ? 3 : 2,
                                        .role = i == 1 ? LINK_ROLE_MGM : LINK_ROLE_API,
                                        .allowed = i != 2};
        struct transporter_peer to_a = {
            .node = 1, .role = LINK_ROLE_DATA, .host = "127.0.0.1", .connect = true};
        to_a.port = (uint16_t)port;
        to_a.allowed = true;
        assert_int_equal(transporter_set_peer(a.t, &to_b), 0);
        assert_int_equal(transporter_set_peer(b.t, &to_a), 0);
        while (b.refusals < 20)
            run_once(&a, &b);
        assert_int_equal(b.refusal, expected[i]);
        assert_int_equal(a.ups + b.ups, 0);
        assert_int_equal(a.logs, 1); /* 20 refusals, one line. */
        assert_int_equal(b.logs, 1);
        to_b = (struct transporter_peer){.node = 2, .role = LINK_ROLE_API, .allowed = true};
        assert_int_equal(transporter_set_peer(a.t, &to_b), 0);
        transporter_allow(a.t, 2, true);
        wait_up(&a, &b);
        transporter_allow(a.t, 2, false);
        while (b.downs == 0 || a.downs == 0)
            run_once(&a, &b);
        end_sides(&a, &b);
    }
}

/* The next process that was given a client's node id waits until its former one is cleaned up. */
static void test_refused_from_the_moment_its_link_is_down(void **state)
{
    (void)state;
    struct side a, b;
    make_side(&a, 1, 2, LINK_ROLE_DATA);
    make_side(&b, 2, 1, LINK_ROLE_API);
    struct transporter_peer to_b = {
        .node = 2, .role = LINK_ROLE_API, .allowed = true, .once = true};
    struct transporter_peer to_a = {.node = 1, .role = LINK_ROLE_DATA, .host = "127.0.0.1"};
    to_a.connect = to_a.allowed = true;
    to_a.port = (uint16_t)transporter_listen(a.t, "127.0.0.1", 0);
    assert_int_equal(transporter_set_peer(a.t, &to_b), 0);
    assert_int_equal(transporter_set_peer(b.t, &to_a), 0);
    for (uint32_t life = 1; life <= 3; life++) {
        wait_up(&a, &b);
        uint32_t refusals = b.refusals;
        transporter_close(b.t, 1, 0, "its process ends");
        while (b.refusals < refusals + 3)
            run_once(&a, &b);
        assert_int_equal(b.refusal, LINK_REFUSED_NOT_ALLOWED);
        assert_int_equal(a.ups, life);
        assert_int_equal(a.downs, life);
        transporter_allow(a.t, 2, true);
    }
    wait_up(&a, &b);
    assert_int_equal(a.downs, 3);
    end_sides(&a, &b);
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    struct side a, b;
    make_side(&a, 1, 2, LINK_ROLE_DATA);
    make_side(&b, 2, 1, LINK_ROLE_DATA);
    struct transporter_peer peer = {.node = 1};
    assert_int_equal(transporter_set_peer(a.t, &peer), UV_EINVAL); /* Itself. */
    peer.node = 256;
    assert_int_equal(transporter_set_peer(a.t, &peer), UV_EINVAL);
    peer = (struct transporter_peer){.node = 2, .connect = true};
    assert_int_equal(transporter_set_peer(a.t, &peer), UV_EINVAL);
    assert_true(transporter_listen(a.t, "no address", 0) < 0);
    int port = transporter_listen(a.t, "127.0.0.1", 0);
    assert_int_equal(transporter_listen(b.t, "127.0.0.1", (uint16_t)port), UV_EADDRINUSE);
    transporter_allow(a.t, 999, true);
    transporter_close(a.t, 999, 0, "");
    transporter_send(a.t, 999, 1, NULL, 0);
    assert_int_equal(transporter_epoch(a.t, 2), 0);
    end_sides(&a, &b);
}

static void test_overload_then_close(void **state)
{
    (void)state;
    struct side a, b;
    make_pair(&a, &b, LINK_ROLE_API, "127.0.0.1");
    wait_up(&a, &b);
    transporter_pause(b.t, 1, true); /* A client that does not read. */
    uint32_t words[1100];
    memset(words, 0, sizeof words);
    for (uint32_t number = 0; a.downs == 0; number++) {
        words[0] = signal_kind(1, 1, 1, PRIO_B, 0);
        words[3] = SIGNAL_HEAD_WORDS + 1 + 1 + 1000;
        words[4] = number;
        words[5] = 1000;
        for (uint32_t i = 0; i < 50; i++) {
            words[4] = number * 50 + i;
            if (a.epoch != 0) transporter_send(a.t, 2, a.epoch, words, words[3]);
        }
        transporter_flush(a.t);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(a.level_max, LINK_FULL);
    assert_int_equal(a.level, LINK_NORMAL); /* There is no buffer any more. */
    assert_non_null(strstr(a.reason, "too slowly"));
    transporter_pause(b.t, 1, false);
    while (b.downs == 0)
        run_once(&a, &b);
    assert_true(b.signals > 0); /* A prefix, in order: checked by on_signals(). */
    wait_up(&a, &b);
    end_sides(&a, &b);
}

static void test_pauses_clients(void **state)
{
    (void)state;
    struct side a, b;
    make_pair(&a, &b, LINK_ROLE_API, "127.0.0.1");
    wait_up(&a, &b);
    uint32_t next = 0;
    transporter_pause_clients(a.t, true);
    for (uint32_t i = 0; i < 50; i++) {
        send_some(&b, &next, 5000, 100);
        transporter_flush(b.t);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(next, 5000);
    assert_int_equal(a.signals, 0);
    transporter_pause_clients(a.t, false);
    while (a.signals < 5000)
        run_once(&a, &b);
    end_sides(&a, &b);
}

static void test_receiver_closes_on_refused_signal(void **state)
{
    (void)state;
    struct side a, b;
    make_pair(&a, &b, LINK_ROLE_DATA, "127.0.0.1");
    a.refuse_at = 10;
    wait_up(&a, &b);
    uint32_t next = 0;
    send_some(&b, &next, 10, 10);
    while (b.downs == 0)
        run_once(&a, &b);
    assert_non_null(strstr(b.reason, "a signal was refused"));
    assert_int_equal(a.downs, 1);
    end_sides(&a, &b);
}

/* --- Raw sockets. --- */

static int raw_connect(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int raw = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(raw >= 0);
    assert_int_equal(connect(raw, (const struct sockaddr *)&address, sizeof address), 0);
    return raw;
}

static bool raw_closed(int raw)
{
    char byte;
    ssize_t got = recv(raw, &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

static void test_strangers_do_no_harm(void **state)
{
    (void)state;
    struct side a, b;
    make_pair(&a, &b, LINK_ROLE_DATA, "127.0.0.1");
    wait_up(&a, &b);
    int port = transporter_listen(a.t, "127.0.0.1", 0);
    int babbler = raw_connect(port);
    assert_int_equal(write(babbler, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    while (!raw_closed(babbler))
        uv_run(&loop, UV_RUN_NOWAIT);
    close(babbler);
    assert_non_null(strstr(a.log, "does not speak this protocol"));

    int quiet[70]; /* More than may wait without a name: the rest is turned away. */
    for (uint32_t i = 0; i < 70; i++) {
        quiet[i] = raw_connect(port);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    uint32_t closed = 0;
    while (closed < 6) {
        closed = 0;
        for (uint32_t i = 0; i < 70; i++)
            closed += raw_closed(quiet[i]) ? 1 : 0;
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(closed, 6);
    assert_true(raw_closed(quiet[0])); /* Those who waited longest. */
    assert_false(raw_closed(quiet[69]));
    for (uint32_t i = 0; i < 70; i++)
        close(quiet[i]);

    uint32_t next = 0; /* The link of the others has not noticed. */
    send_some(&b, &next, 100, 100);
    while (a.signals < 100)
        run_once(&a, &b);
    assert_int_equal(a.downs, 0);
    end_sides(&a, &b);
}

static void test_second_connection_of_a_live_node(void **state)
{
    (void)state;
    struct side a, b, c;
    make_pair(&a, &b, LINK_ROLE_DATA, "127.0.0.1");
    wait_up(&a, &b);
    int port = transporter_listen(a.t, "127.0.0.1", 0);
    make_side(&c, 2, 1, LINK_ROLE_DATA);
    struct transporter_peer to_a = {
        .node = 1, .role = LINK_ROLE_DATA, .host = "127.0.0.1", .connect = true};
    to_a.port = (uint16_t)port;
    to_a.allowed = true;
    assert_int_equal(transporter_set_peer(c.t, &to_a), 0);
    while (c.refusals < 5)
        run_once(&a, &b);
    assert_int_equal(c.refusal, LINK_REFUSED_CONNECTED);
    assert_int_equal(a.downs + b.downs, 0);
    transporter_stop(c.t);
    while (!transporter_stopped(c.t))
        run_once(&a, &b);
    transporter_destroy(c.t);
    end_sides(&a, &b);
}

static void test_adopts_a_socket(void **state)
{
    (void)state;
    struct side a, b;
    make_side(&a, 1, 2, LINK_ROLE_DATA);
    make_side(&b, 2, 1, LINK_ROLE_API);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(server, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server, 5), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);

    struct transporter_peer to_b = {.node = 2, .role = LINK_ROLE_API, .allowed = true};
    struct transporter_peer to_a = {
        .node = 1, .role = LINK_ROLE_DATA, .host = "127.0.0.1", .connect = true};
    to_a.port = ntohs(address.sin_port);
    to_a.allowed = true;
    assert_int_equal(transporter_set_peer(a.t, &to_b), 0);
    assert_int_equal(transporter_set_peer(b.t, &to_a), 0);
    int raw = -1;
    char bytes[20];
    ssize_t got = 0;
    while (raw < 0) {
        uv_run(&loop, UV_RUN_NOWAIT);
        raw = accept4(server, NULL, NULL, SOCK_NONBLOCK);
    }
    while (got <= 0) {
        uv_run(&loop, UV_RUN_NOWAIT);
        got = read(raw, bytes, sizeof bytes);
    }
    assert_true(transporter_is_hello(bytes, (uint32_t)got));
    assert_int_equal(transporter_adopt(a.t, raw, bytes, (uint32_t)got), 0);
    wait_up(&a, &b);
    close(server);
    end_sides(&a, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_million_signals_in_order),
        cmocka_unit_test(test_reconnects_with_newer_epoch),
        cmocka_unit_test(test_peer_moves),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_refused_from_the_moment_its_link_is_down),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_overload_then_close),
        cmocka_unit_test(test_pauses_clients),
        cmocka_unit_test(test_receiver_closes_on_refused_signal),
        cmocka_unit_test(test_strangers_do_no_harm),
        cmocka_unit_test(test_second_connection_of_a_live_node),
        cmocka_unit_test(test_adopts_a_socket),
    };
    uv_loop_init(&loop);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    uv_loop_close(&loop);
    return failed;
}
