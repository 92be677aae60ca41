/* tcp_mail.c -- what other threads tell a transporter: sockets handed over, halves given back. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "transporters/tcp/tcp_state.h"

/* A socket whose hello named one of our peers; accepted by another thread's transporter. */
struct handed_socket {
    struct handed_socket *next;
    int descriptor;
    uint8_t hello[LINK_HELLO_BYTES];
};

/* A second descriptor for the socket, which lives as long as either does. -1: none is left. */
static int copy_descriptor(const struct connection *connection)
{
    uv_os_fd_t own;
    if (uv_fileno((const uv_handle_t *)&connection->tcp, &own) != 0) return -1;
    int copy = dup(own);
    if (copy >= 0) (void)fcntl(copy, F_SETFD, FD_CLOEXEC);
    return copy;
}

/* --- Sockets. --- */

/* Any thread. The descriptor is closed when it cannot be taken. */
static void hand_over(struct transporter *t, int descriptor, const uint8_t *hello)
{
    struct handed_socket *handed = malloc(sizeof *handed);
    if (handed == NULL) {
        close(descriptor);
        return;
    }
    handed->descriptor = descriptor;
    memcpy(handed->hello, hello, sizeof handed->hello);
    pthread_mutex_lock(&t->mail_lock);
    bool closed = t->mail_closed;
    if (!closed) {
        handed->next = t->handed;
        t->handed = handed;
        uv_async_send(&t->mail);
    }
    pthread_mutex_unlock(&t->mail_lock);
    if (!closed) return;
    close(descriptor);
    free(handed);
}

bool connection_hand_over(struct connection *connection)
{
    struct transporter *t = connection->t;
    struct transporter *owner =
        t->options.owner(t->options.context, link_hello_node(connection->hello));
    if (owner == NULL || owner == t) return false;
    int descriptor = copy_descriptor(connection);
    if (descriptor >= 0) hand_over(owner, descriptor, connection->hello);
    connection->moved = true;
    link_broken(connection->link, "the socket went to another thread");
    connection_end(connection);
    return true;
}

static struct handed_socket *next_handed(struct transporter *t)
{
    pthread_mutex_lock(&t->mail_lock);
    struct handed_socket *handed = t->handed;
    if (handed != NULL) t->handed = handed->next;
    pthread_mutex_unlock(&t->mail_lock);
    return handed;
}

/* --- Sending halves. --- */

bool outlet_open(struct connection *connection)
{
    struct transporter *t = connection->t;
    struct link_writer *writer = t->options.writer(t->options.context, connection->peer);
    struct outlet *outlet = calloc(1, sizeof *outlet);
    if (outlet == NULL) return false;
    outlet->descriptor = connection->writing == 0 ? copy_descriptor(connection) : -1;
    if (outlet->descriptor < 0) {
        free(outlet);
        return false;
    }
    outlet->writer = writer;
    outlet->owner = t;
    outlet->connection = connection;
    outlet->peer = connection->peer;
    outlet->epoch = connection->epoch;
    link_split(connection->link, &outlet->send);
    connection->outlet = outlet;
    outlet_order(outlet, false);
    return true;
}

void outlet_close(struct outlet *outlet, const char *farewell)
{
    /* The writer looks at these only after the order. */
    outlet->goodbye = farewell != NULL;
    if (farewell != NULL) snprintf(outlet->farewell, sizeof outlet->farewell, "%s", farewell);
    outlet_order(outlet, true);
}

/* The last of an outlet's news may be read, and its memory be freed, as soon as the lock is free.
 */
static void tell(struct outlet *outlet)
{
    struct transporter *t = outlet->owner;
    if (!outlet->news_queued) {
        outlet->news_queued = true;
        outlet->next_news = t->news;
        t->news = outlet;
    }
    uv_async_send(&t->mail);
}

void outlet_tell_failed(struct outlet *outlet, bool broken, const char *reason)
{
    struct transporter *t = outlet->owner;
    pthread_mutex_lock(&t->mail_lock);
    outlet->failed = true;
    outlet->failed_broken = broken;
    snprintf(outlet->reason, sizeof outlet->reason, "%s", reason);
    tell(outlet);
    pthread_mutex_unlock(&t->mail_lock);
}

void outlet_tell_released(struct outlet *outlet)
{
    struct transporter *t = outlet->owner;
    pthread_mutex_lock(&t->mail_lock);
    outlet->released = true;
    tell(outlet);
    pthread_mutex_unlock(&t->mail_lock);
}

struct news {
    bool failed;
    bool broken;
    bool released;
    char reason[LINK_REASON_SIZE];
};

static struct outlet *next_news(struct transporter *t, struct news *news)
{
    pthread_mutex_lock(&t->mail_lock);
    struct outlet *outlet = t->news;
    if (outlet != NULL) {
        t->news = outlet->next_news;
        outlet->news_queued = false;
        *news = (struct news){outlet->failed, outlet->failed_broken, outlet->released, ""};
        snprintf(news->reason, sizeof news->reason, "%s", outlet->reason);
    }
    pthread_mutex_unlock(&t->mail_lock);
    return outlet;
}

static void on_failed(struct connection *connection, const struct news *news)
{
    if (connection->ended || link_state(connection->link) == LINK_CLOSING) return;
    if (news->broken) {
        link_broken(connection->link, news->reason);
        transporter_end_soon(connection->t);
    } else {
        transporter_close(connection->t, connection->peer, connection->epoch, news->reason);
    }
}

/* --- The box. --- */

static void on_mail(uv_async_t *async)
{
    struct transporter *t = async->data;
    struct handed_socket *handed;
    struct outlet *outlet;
    struct news news;
    while ((handed = next_handed(t)) != NULL) {
        (void)transporter_adopt(t, handed->descriptor, handed->hello, sizeof handed->hello);
        free(handed);
    }
    while ((outlet = next_news(t, &news)) != NULL) {
        struct connection *connection = outlet->connection;
        if (news.failed) on_failed(connection, &news);
        if (news.released) connection_gone(connection);
    }
}

int mail_open(struct transporter *t)
{
    if (t->options.owner == NULL && t->options.writer == NULL) return 0;
    int error = uv_async_init(t->options.loop, &t->mail, on_mail);
    if (error != 0) return error;
    t->mail.data = t;
    pthread_mutex_init(&t->mail_lock, NULL);
    t->has_mail = true;
    t->handles++;
    return 0;
}

static void on_mail_closed(uv_handle_t *handle)
{
    struct transporter *t = handle->data;
    t->handles--;
}

void mail_close(struct transporter *t)
{
    if (!t->has_mail || !t->stopping || t->mail_closed) return;
    for (const struct connection *at = t->connections; at != NULL; at = at->next) {
        if (at->outlet != NULL) return; /* Its writer has something to say yet. */
    }
    pthread_mutex_lock(&t->mail_lock);
    t->mail_closed = true;
    pthread_mutex_unlock(&t->mail_lock);
    struct handed_socket *handed;
    while ((handed = next_handed(t)) != NULL) {
        close(handed->descriptor);
        free(handed);
    }
    uv_close((uv_handle_t *)&t->mail, on_mail_closed);
}

#ifdef __SANITIZE_THREAD__
/*
 * libuv closes descriptors by raw system calls, which TSan does not see: when the number comes
 * again on another thread, it takes that for a race with its former life.
 */
const char *__tsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void)
{
    return "race:interceptor_accept4$\nrace:interceptor_dup$\nrace:interceptor_socket$\n"
           "race:interceptor_close$\n";
}
#endif
