/* mc_connection_answer.c -- what the engine has no part in: who the client is, and what it asks of
 * the server itself. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "servers/memcached/mc_connection_private.h"
#include "servers/memcached/mc_engine.h"

static void answer_auth(struct mc_connection *connection, struct mc_request *request)
{
    const struct mc_server *server = connection->worker->server;
    bool text = request->form.protocol != MC_BINARY;
    bool plain = request->key_size == 5 && memcmp(request->key, "PLAIN", 5) == 0;
    bool good = text ? mc_auth_text(server, request->value)
                     : plain && mc_auth_plain(server, request->value);
    atomic_fetch_add(&connection->worker->figures.auth_commands, 1);
    if (!good) atomic_fetch_add(&connection->worker->figures.auth_errors, 1);
    connection->authenticated = good;
    connection->parser.authenticating = text && !good;
    request->result.status = good ? MC_OK : MC_AUTH_ERROR;
}

/* Who could not store a larger value does not want to read the old one. Who sends binary requests
   that are none is not heard any more: nothing says that what follows is a request. */
static void answer_bad(struct mc_connection *connection, struct mc_job *job)
{
    const struct mc_request *request = &job->request;
    if (request->result.status == MC_TOO_LARGE && request->key_size > 0)
        mc_engine_forget(connection->worker, job);
    if (request->result.status == MC_INVALID && request->form.protocol == MC_BINARY)
        connection->quitting = true;
}

/* Without SASL there is nothing to prove, and who tries is not made a stranger. */
static bool offers_auth(const struct mc_server *server, const struct mc_request *request)
{
    return server->options.sasl || request->form.protocol != MC_BINARY;
}

static void shut_down(struct mc_connection *connection, struct mc_request *request)
{
    struct mc_server *server = connection->worker->server;
    bool allowed = server->options.shutdown_allowed;
    if (!allowed || request->delta != 0) {
        request->command = MC_BAD;
        request->result.message =
            allowed ? "CLIENT_ERROR invalid shutdown mode" : "SERVER_ERROR: shutdown not enabled";
        return;
    }
    atomic_store(&server->stopping, true);
    uv_async_send(&server->wake);
    connection->quitting = true;
}

void mc_connection_answer(struct mc_connection *connection, struct mc_job *job)
{
    struct mc_request *request = &job->request;
    struct mc_server *server = connection->worker->server;
    if (request->command != MC_BAD) request->result.status = MC_OK; /* Else the parser's. */
    switch ((uint32_t)request->command) {
    case MC_VERSION:
        request->result.message = MC_VERSION_TEXT;
        break;
    case MC_VERBOSITY:
        atomic_store(&server->verbosity, request->delta < MC_VERBOSITY_MAX
                                             ? (uint32_t)request->delta
                                             : MC_VERBOSITY_MAX);
        break;
    case MC_AUTH: /* Who need not prove anything stays who he is. */
        if (offers_auth(server, request))
            answer_auth(connection, request);
        else
            request->result.status = MC_NOT_SUPPORTED;
        break;
    case MC_AUTH_LIST:
        if (offers_auth(server, request))
            request->result.message = "PLAIN";
        else
            request->result.status = MC_NOT_SUPPORTED;
        break;
    case MC_QUIT:
        connection->quitting = true;
        break;
    case MC_BAD:
        answer_bad(connection, job);
        break;
    case MC_SHUTDOWN:
        shut_down(connection, request);
        break;
    default:
        break;
    }
    mc_job_completed(job);
}
