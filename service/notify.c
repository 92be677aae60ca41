/* notify.c -- sends what a program tells to the service manager, as datagrams to its socket. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "service/notify.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define WAIT_US 500000

/* The manager's queue is short, and full while it is busy: then false. */
static bool send_text(const char *text, size_t size, bool wait)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_usec = WAIT_US};

    if (path == NULL || (path[0] != '/' && path[0] != '@')) return true; /* Nobody listens. */
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path) return true;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = '\0'; /* In the abstract name space. */
    int out = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (out < 0) return false;
    (void)setsockopt(out, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    socklen_t address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    ssize_t sent = sendto(out, text, size, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT),
                          (const struct sockaddr *)&address, address_size);
    (void)close(out);
    return sent == (ssize_t)size;
}

/* What the manager has to hear, and could not when it was said; a newer word takes its place. */
static pthread_mutex_t owed_lock = PTHREAD_MUTEX_INITIALIZER;
static char owed[512];

static void say_what_is_owed(void)
{
    pthread_mutex_lock(&owed_lock);
    if (owed[0] != '\0' && send_text(owed, strlen(owed), false)) owed[0] = '\0';
    pthread_mutex_unlock(&owed_lock);
}

void service_ready(const char *format, ...)
{
    va_list arguments;

    pthread_mutex_lock(&owed_lock);
    int head = snprintf(owed, sizeof owed, "READY=1\nSTATUS=");
    va_start(arguments, format);
    (void)vsnprintf(owed + head, sizeof owed - (size_t)head, format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&owed_lock);
    say_what_is_owed();
}

void service_notify(const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size > 0 && (size_t)size < sizeof text) (void)send_text(text, (size_t)size, true);
}

void service_status(const char *format, ...)
{
    char text[512] = "STATUS=";
    size_t head = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    int size = vsnprintf(text + head, sizeof text - head, format, arguments);
    va_end(arguments);
    if (size > 0 && (size_t)size < sizeof text - head)
        (void)send_text(text, head + (size_t)size, false);
}

/* Microseconds after which the manager takes a program that is silent for dead; 0: it does not. */
static uint64_t watched_us(void)
{
    const char *text = getenv("WATCHDOG_USEC");
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

static bool unwatched;

void service_not_watched(void)
{
    if (watched_us() == 0) return;
    unwatched = true;
    service_notify("WATCHDOG_USEC=0");
}

void service_alive(uint32_t every_ms)
{
    static uint64_t last_us;
    uint64_t limit_us = watched_us();
    struct timespec now;

    say_what_is_owed();
    if (limit_us == 0) return;
    if (limit_us < 2000u * (uint64_t)every_ms) {
        if (!unwatched) service_not_watched();
        return;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_us = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
    char text[64];
    if (unwatched)
        (void)snprintf(text, sizeof text, "WATCHDOG_USEC=%" PRIu64 "\nWATCHDOG=1", limit_us);
    else if (now_us - last_us >= limit_us / 4u)
        (void)snprintf(text, sizeof text, "WATCHDOG=1");
    else
        return;
    if (!send_text(text, strlen(text), false)) return; /* The next time. */
    unwatched = false;
    last_us = now_us;
}
