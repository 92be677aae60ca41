/* ndb_mgm_wait.c -- what a console command waits for is told, and Ctrl-C ends the wait. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/ndb_mgm_wait.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#include "service/wait_told.h"

static volatile sig_atomic_t interrupted;
static ndb_mgm_handle_t *waiting; /* The handle whose call ends. */
static struct sigaction before;

/* The call that waits goes on after a signal, so its connection has to end. */
static void on_interrupt(int number)
{
    int saved = errno;
    int connection = ndb_mgm_socket(waiting);

    (void)number;
    interrupted = 1;
    if (connection >= 0) (void)shutdown(connection, SHUT_RDWR);
    errno = saved;
}

void console_interrupts_begin(ndb_mgm_handle_t *handle)
{
    struct sigaction ours = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

    interrupted = 0;
    waiting = handle;
    (void)sigaction(SIGINT, &ours, &before);
}

void console_interrupts_end(void)
{
    (void)sigaction(SIGINT, &before, NULL);
    interrupted = 0;
}

bool console_interrupted(void)
{
    return interrupted != 0;
}

void console_interrupt(void)
{
    interrupted = 1;
}

void console_wait_server(const struct console *console)
{
    wait_told_for(console->wait, "the answer of the management server at %s port %u",
                  ndb_mgm_connected_host(console->handle), ndb_mgm_connected_port(console->handle));
}

/* "1", "1 and 2", "1, 2 and 3" */
static void name_nodes(char *text, size_t size, const uint32_t *nodes, uint32_t count)
{
    size_t used = 0;

    for (uint32_t i = 0; i < count && used < size; i++) {
        const char *between = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        used += (size_t)snprintf(text + used, size - used, "%s%u", between, nodes[i]);
    }
}

void console_wait_answers(const struct console *console, const uint32_t *nodes, uint32_t count)
{
    char names[900] = "";

    name_nodes(names, sizeof(names), nodes, count);
    if (count == 0)
        console_wait_server(console);
    else if (count == 1)
        wait_told_for(console->wait, "node %s's answer", names);
    else
        wait_told_for(console->wait, "the answers of nodes %s", names);
}

void console_wait_ends(const struct console *console, const uint32_t *nodes, uint32_t count)
{
    char names[900] = "";

    name_nodes(names, sizeof(names), nodes, count);
    if (count == 0)
        console_wait_server(console);
    else
        wait_told_for(console->wait, "node%s %s to stop", count == 1 ? "" : "s", names);
}
