/* import_interrupt.c -- Ctrl-C and SIGTERM end an import in good order, also one that waits for its
 * input, or for who reads its rejected rows. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "tools/import.h"

#define LOOK_MS 100 /* Between two looks at something else. */

static const int numbers[] = {SIGINT, SIGTERM};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static volatile sig_atomic_t interrupted;
static bool taken[NUMBERS];     /* Those that are ours, and were not ignored. */
static int woken[2] = {-1, -1}; /* A pipe that can be read when a signal has come. */

/* Whichever comes next ends the program. */
static void on_signal(int number)
{
    int saved = errno;

    for (size_t i = 0; i < NUMBERS; i++)
        if (taken[i]) (void)signal(numbers[i], SIG_DFL);
    if (interrupted == 0) interrupted = number;
    /* Any thread may have got the signal, and it may come a moment before the wait. */
    ssize_t written = write(woken[1], "", 1);
    (void)written; /* The pipe has room for two. */
    errno = saved;
}

void import_interrupts_begin(void)
{
    struct sigaction ours = {.sa_handler = on_signal, .sa_flags = (int)SA_RESTART};
    struct sigaction before;

    /* The second one waits until the first has said what it does. */
    (void)sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < NUMBERS; i++)
        (void)sigaddset(&ours.sa_mask, numbers[i]);
    if (pipe2(woken, O_CLOEXEC | O_NONBLOCK) != 0) return; /* They end it at once. */
    for (size_t i = 0; i < NUMBERS; i++)
        taken[i] = sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN;
    for (size_t i = 0; i < NUMBERS; i++)
        if (taken[i]) (void)sigaction(numbers[i], &ours, NULL);
}

int import_interrupted(void)
{
    return interrupted;
}

int import_readable(int fd, int wait_ms)
{
    struct pollfd both[] = {{.fd = fd, .events = POLLIN}, {.fd = woken[0], .events = POLLIN}};
    int ready = 0;

    do {
        if (interrupted == 0) ready = poll(both, 2, wait_ms);
        if (interrupted != 0) {
            errno = EINTR;
            return -1;
        }
    } while (ready < 0 && errno == EINTR);
    return ready;
}

bool import_writable(int fd, void (*meanwhile)(void *context), void *context)
{
    struct pollfd both[] = {{.fd = fd, .events = POLLOUT}, {.fd = woken[0], .events = POLLIN}};
    int left_ms = IMPORT_PATIENCE_MS;

    for (;;) {
        bool ends = interrupted != 0;
        int ready = poll(both, ends ? 1 : 2, LOOK_MS);
        if (ready > 0 && both[0].revents != 0) return true;
        if (ready < 0 && errno != EINTR) return false;
        if (ends && ready == 0) left_ms -= LOOK_MS;
        if (left_ms <= 0) {
            errno = ECANCELED;
            return false;
        }
        if (meanwhile != NULL) meanwhile(context);
    }
}
