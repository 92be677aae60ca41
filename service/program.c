/* program.c -- what each program does first and last: its standard streams. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "service/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program;
static int lost_status; /* 0: the output is not looked at. */

/* The wrong way round, so that reading and writing fail; a lower number is open by then, so the
 * stream's own is the one that is free. */
static void open_closed_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
        int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (open("/dev/null", mode) < 0) /* NOLINT: it stays open as this stream */
            _exit(1);                    /* There is nobody to tell. */
    }
}

static void look_at_output(int status, void *unused)
{
    (void)unused;
    if (lost_status == 0) return;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return;
    if (errno == 0) (void)!write(STDOUT_FILENO, "", 0); /* It failed earlier: for what reason? */
    (void)fprintf(stderr, "%s: output: %s\n", program,
                  errno != 0 ? strerror(errno) : "it could not be written");
    if (status == 0) _exit(lost_status);
}

char *program_begin(char *path, int output_lost)
{
    char *slash = path == NULL ? NULL : strrchr(path, '/');
    char *name = slash == NULL ? path : slash + 1;

    open_closed_streams();
    program = name == NULL ? "" : name;
    lost_status = output_lost;
    if (output_lost != 0) (void)on_exit(look_at_output, NULL);
    return name;
}

void program_serves(void)
{
    lost_status = 0;
}

void program_takes_no_hangup(bool background)
{
    bool terminal =
        isatty(STDIN_FILENO) == 1 || isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1;

    if (background || !terminal) (void)signal(SIGHUP, SIG_IGN);
}
