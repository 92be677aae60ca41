/* import_interrupt.c -- Ctrl-C and SIGTERM end an import in good order, also one that waits for its
 * input. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "tools/import.h"

static volatile sig_atomic_t interrupted;
static int woken[2] = {-1, -1}; /* A pipe that can be read when a signal has come. */

static void on_signal(int number)
{
    int saved = errno;

    interrupted = number;
    /* Any thread may have got the signal, and it may come a moment before the wait. */
    if (write(woken[1], "", 1) != 1) interrupted = number; /* The pipe is full of them. */
    errno = saved;
}

void import_interrupts_begin(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction ours = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    struct sigaction before;

    if (pipe2(woken, O_CLOEXEC | O_NONBLOCK) != 0) return; /* They end it at once. */
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &ours, NULL); /* A second one ends it at once. */
    }
}

int import_interrupted(void)
{
    return interrupted;
}

bool import_wait_readable(int fd)
{
    struct pollfd both[] = {{.fd = fd, .events = POLLIN}, {.fd = woken[0], .events = POLLIN}};

    while (interrupted == 0 && poll(both, 2, -1) < 0 && errno == EINTR) {
    }
    return interrupted == 0;
}
