/* fake_host.c -- a host for unit tests of nodes: keeps what is sent, logged and failed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/fake_host.h"

static uint64_t fake_realtime(struct host *host)
{
    (void)host;
    return 0;
}

static void fake_wake(struct host *host, uint32_t thread_no)
{
    (void)host;
    (void)thread_no;
}

static void fake_link_send(struct host *host, uint32_t thread_no, uint32_t peer, uint32_t epoch,
                           const uint32_t *words, uint32_t count)
{
    struct fake_host *fake = (struct fake_host *)host;
    (void)thread_no;
    (void)epoch;
    if (fake->sent_words + count > FAKE_SENT_MAX) abort();
    memcpy(fake->sent + fake->sent_words, words, (size_t)count * 4u);
    fake->sent_words += count;
    fake->sent_peer = peer;
}

static void fake_link_close(struct host *host, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct fake_host *fake = (struct fake_host *)host;
    (void)epoch;
    fake->closed_peer = peer;
    snprintf(fake->close_reason, sizeof fake->close_reason, "%s", reason);
}

static void fake_link_allow(struct host *host, uint32_t peer, uint32_t allowed)
{
    (void)host;
    (void)peer;
    (void)allowed;
}

static uint64_t fake_seed(struct host *host)
{
    return ((struct fake_host *)host)->seed_next++;
}

static void fake_log(struct host *host, enum log_level level, const char *text)
{
    if (((struct fake_host *)host)->verbose != 0) fprintf(stderr, "%d %s\n", (int)level, text);
}

static void __attribute__((noreturn))
fake_fail(struct host *host, const struct node_failure *failure)
{
    struct fake_host *fake = (struct fake_host *)host;
    fake->failure = *failure;
    snprintf(fake->failure_text, sizeof fake->failure_text, "%s", failure->text);
    longjmp(fake->on_fail, 1);
}

static void fake_stopped(struct host *host, uint32_t restart_flags)
{
    ((struct fake_host *)host)->stopped = 1;
    ((struct fake_host *)host)->stop_flags = restart_flags;
}

void fake_host_init(struct fake_host *fake)
{
    memset(fake, 0, sizeof *fake);
    fake->host = (struct host){
        .realtime_us = fake_realtime,
        .wake = fake_wake,
        .link_send = fake_link_send,
        .link_close = fake_link_close,
        .link_allow = fake_link_allow,
        .seed = fake_seed,
        .log = fake_log,
        .fail = fake_fail,
        .stopped = fake_stopped,
    };
}
