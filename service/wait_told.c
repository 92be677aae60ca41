/* wait_told.c -- tells on standard error what a program waits for, and why. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "service/wait_told.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define QUIET_MS     1000u /* What takes no longer is not told; also the pause between two lines. */
#define TEXT_SIZE    1024
#define COLUMNS_ELSE 80 /* When nobody knows how wide the terminal is. */
#define CLEAR_LINE   "\r\033[K"

struct wait_told {
    const char *name;
    bool terminal; /* One line that changes, as standard error is a terminal. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended;
    char text[TEXT_SIZE]; /* "": nothing is waited for. */
    char told[TEXT_SIZE]; /* What was told last. */
    uint64_t since_ms;    /* When the wait began. */
    uint64_t told_ms;
    bool shown; /* A line stands on the terminal. */
    bool whole; /* What was told last stands above the line, on lines of its own. */
};

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void clear_line(struct wait_told *wait)
{
    if (wait->shown) (void)fputs(CLEAR_LINE, stderr);
    wait->shown = false;
}

/* So many bytes of the text as fit into the terminal's line: a longer one could not be changed. */
static int bytes_shown(const char *text)
{
    struct winsize size = {.ws_col = 0};
    size_t columns = COLUMNS_ELSE;
    size_t bytes = 0;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) columns = size.ws_col;
    for (size_t used = 0; text[bytes] != '\0'; bytes++) {
        if (((unsigned char)text[bytes] & 0xC0) == 0x80) continue; /* Continues a character. */
        if (++used >= columns) break;
    }
    return (int)bytes;
}

/* One line that changes. A text that is wider than the terminal is told once, above that line: its
 * end is the reason, which must not be cut off. */
static void tell_terminal(struct wait_told *wait, uint64_t now)
{
    char line[TEXT_SIZE + 128];
    unsigned long long seconds = (unsigned long long)(now - wait->since_ms) / 1000;
    bool same = strcmp(wait->text, wait->told) == 0;

    (void)snprintf(line, sizeof(line), "%s: waits since %llu s for %s", wait->name, seconds,
                   wait->text);
    bool fits = line[bytes_shown(line)] == '\0';
    if (fits) {
        wait->whole = false;
    } else {
        if (!same || !wait->whole)
            (void)fprintf(stderr, CLEAR_LINE "%s: waits for %s\n", wait->name, wait->text);
        wait->whole = true;
        (void)snprintf(line, sizeof(line), "%s: waits since %llu s", wait->name, seconds);
    }
    (void)fprintf(stderr, CLEAR_LINE "%.*s", bytes_shown(line), line);
    (void)fflush(stderr);
    wait->shown = true;
}

static void tell(struct wait_told *wait, uint64_t now)
{
    if (wait->terminal)
        tell_terminal(wait, now);
    else if (strcmp(wait->text, wait->told) != 0)
        (void)fprintf(stderr, "%s: waits for %s\n", wait->name, wait->text);
    (void)snprintf(wait->told, sizeof(wait->told), "%s", wait->text);
    wait->told_ms = now;
}

/* The lock is held. */
static void sleep_until(struct wait_told *wait, uint64_t until_ms)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                                   .tv_nsec = (long)(until_ms % 1000) * 1000000};
    (void)pthread_cond_timedwait(&wait->changed, &wait->lock, &until);
}

static void *teller(void *context)
{
    struct wait_told *wait = context;

    (void)pthread_mutex_lock(&wait->lock);
    while (!wait->ended) {
        uint64_t now = now_ms();
        uint64_t due = wait->since_ms + QUIET_MS;
        if (wait->told_ms + QUIET_MS > due) due = wait->told_ms + QUIET_MS;
        if (wait->text[0] == '\0') {
            (void)pthread_cond_wait(&wait->changed, &wait->lock);
        } else if (now < due) {
            sleep_until(wait, due);
        } else {
            tell(wait, now);
        }
    }
    (void)pthread_mutex_unlock(&wait->lock);
    return NULL;
}

static void init_locks(struct wait_told *wait)
{
    pthread_condattr_t monotonic;

    (void)pthread_mutex_init(&wait->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&wait->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

static void destroy(struct wait_told *wait)
{
    (void)pthread_cond_destroy(&wait->changed);
    (void)pthread_mutex_destroy(&wait->lock);
    free(wait);
}

/* Signals are for the thread that waits: they end its calls. */
static int start_thread(struct wait_told *wait)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    int rc = pthread_create(&wait->thread, NULL, teller, wait);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

struct wait_told *wait_told_begin(const char *name)
{
    struct wait_told *wait = calloc(1, sizeof(*wait));

    if (wait == NULL) return NULL;
    wait->name = name;
    wait->terminal = isatty(STDERR_FILENO) == 1;
    init_locks(wait);
    if (start_thread(wait) == 0) return wait;
    destroy(wait);
    return NULL;
}

void wait_told_for(struct wait_told *wait, const char *format, ...)
{
    va_list arguments;

    if (wait == NULL) return;
    (void)pthread_mutex_lock(&wait->lock);
    bool began = wait->text[0] != '\0';
    va_start(arguments, format);
    (void)vsnprintf(wait->text, sizeof(wait->text), format, arguments);
    va_end(arguments);
    if (wait->text[0] == '\0') {
        clear_line(wait);
        wait->told[0] = '\0';
    } else if (!began) {
        wait->since_ms = now_ms();
    }
    (void)pthread_cond_signal(&wait->changed);
    (void)pthread_mutex_unlock(&wait->lock);
}

const char *wait_told_servers(const char *connect_string)
{
    const char *servers = connect_string;

    if (servers == NULL || servers[0] == '\0') servers = getenv("NDB_CONNECTSTRING");
    if (servers == NULL || servers[0] == '\0') servers = "localhost:1186";
    return servers;
}

void wait_told_for_servers(struct wait_told *wait, const char *connect_string)
{
    wait_told_for(wait, "a management server: no answer yet from %s",
                  wait_told_servers(connect_string));
}

void wait_told_end(struct wait_told *wait)
{
    if (wait == NULL) return;
    (void)pthread_mutex_lock(&wait->lock);
    wait->ended = true;
    clear_line(wait);
    (void)pthread_cond_signal(&wait->changed);
    (void)pthread_mutex_unlock(&wait->lock);
    (void)pthread_join(wait->thread, NULL);
    destroy(wait);
}
