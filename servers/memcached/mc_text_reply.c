/* mc_text_reply.c -- results as lines of the text protocol. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_text_line.h"
#include <stddef.h>

void mc_text_put_error(const struct mc_request *request, struct mc_output *output)
{
    static const struct {
        const char *prefix, *text;
    } errors[MC_STATUSES] = {
        [MC_TOO_LARGE] = {"SERVER_ERROR ", "object too large for cache"},
        [MC_INVALID] = {"CLIENT_ERROR ", "invalid arguments"},
        [MC_NON_NUMERIC] = {"CLIENT_ERROR ", "cannot increment or decrement non-numeric value"},
        [MC_NO_MEMORY] = {"SERVER_ERROR ", "out of memory storing object"},
        [MC_NOT_SUPPORTED] = {"SERVER_ERROR ", "not supported"},
        [MC_TEMPORARY] = {"SERVER_ERROR ", "temporary failure"},
        [MC_FAILED] = {"SERVER_ERROR ", "database error"},
        [MC_AUTH_ERROR] = {"CLIENT_ERROR ", "authentication failure"},
    };
    const struct mc_result *result = &request->result;
    enum mc_status status = result->status;
    char refusal[MC_REFUSAL_MAX];
    const char *text = result->message;

    if (text == NULL) text = mc_request_refusal(result, refusal);
    if (status >= MC_STATUSES || errors[status].prefix == NULL) status = MC_FAILED;
    mc_put_text(output, errors[status].prefix);
    mc_put_text(output, text != NULL ? text : errors[status].text);
    mc_put_text(output, "\r\n");
}

static void put_line(const char *text, struct mc_output *output)
{
    mc_put_text(output, text);
    mc_put_text(output, "\r\n");
}

/* What there is to say when the status is not MC_OK. */
static void put_refusal(const struct mc_request *request, struct mc_output *output)
{
    switch (request->result.status) {
    case MC_NOT_FOUND:
        put_line("NOT_FOUND", output);
        break;
    case MC_EXISTS:
        put_line("EXISTS", output);
        break;
    case MC_NOT_STORED:
        put_line("NOT_STORED", output);
        break;
    case MC_OK:
    case MC_TOO_LARGE:
    case MC_INVALID:
    case MC_NON_NUMERIC:
    case MC_NO_MEMORY:
    case MC_NOT_SUPPORTED:
    case MC_TEMPORARY:
    case MC_FAILED:
    case MC_AUTH_ERROR:
    case MC_STATUSES:
        mc_text_put_error(request, output);
        break;
    }
}

/* VALUE key flags size [cas], and the value. */
static void put_value(const struct mc_request *request, struct mc_output *output)
{
    const struct mc_value *value = request->result.value;

    mc_put_text(output, "VALUE ");
    mc_put(output, request->key, request->key_size);
    mc_put_text(output, " ");
    mc_put_number(output, request->result.flags);
    mc_put_text(output, " ");
    mc_put_number(output, value == NULL ? 0 : value->size);
    if (request->form.with_cas) {
        mc_put_text(output, " ");
        mc_put_number(output, request->result.cas);
    }
    mc_put_text(output, "\r\n");
    if (value != NULL) mc_put(output, value->bytes, value->size);
    mc_put_text(output, "\r\n");
}

static void reply_get(const struct mc_request *request, struct mc_output *output)
{
    enum mc_status status = request->result.status;

    if (status == MC_OK && !request->form.touch_only) {
        put_value(request, output);
    } else if (status == MC_OK) {
        put_line("TOUCHED", output);
    } else if (status != MC_NOT_FOUND || request->form.touch_only) { /* A miss is not told. */
        put_refusal(request, output);
    }
}

static void reply_done(const struct mc_request *request, const char *word, struct mc_output *output)
{
    if (request->result.status == MC_OK) {
        put_line(word, output);
    } else {
        put_refusal(request, output);
    }
}

static void reply_number(const struct mc_request *request, struct mc_output *output)
{
    if (request->result.status == MC_OK) {
        mc_put_number(output, request->result.number);
        mc_put_text(output, "\r\n");
    } else {
        put_refusal(request, output);
    }
}

static void put_message(const struct mc_request *request, const char *prefix,
                        struct mc_output *output)
{
    if (request->result.message == NULL) return;
    mc_put_text(output, prefix);
    put_line(request->result.message, output);
}

void mc_text_reply(const struct mc_request *request, struct mc_output *output)
{
    if (request->form.quiet) return;
    switch (request->command) {
    case MC_GET:
        reply_get(request, output);
        break;
    case MC_SET:
    case MC_ADD:
    case MC_REPLACE:
    case MC_APPEND:
    case MC_PREPEND:
    case MC_AUTH:
        reply_done(request, "STORED", output);
        break;
    case MC_DELETE:
        reply_done(request, "DELETED", output);
        break;
    case MC_INCREMENT:
    case MC_DECREMENT:
        reply_number(request, output);
        break;
    case MC_FLUSH_ALL:
    case MC_VERBOSITY:
        reply_done(request, "OK", output);
        break;
    case MC_VERSION:
        put_message(request, "VERSION ", output);
        break;
    case MC_NOOP:
        put_line("END", output);
        break;
    case MC_STATS: /* Lines, if any, were printed by mc_text_reply_stat. */
    case MC_BAD:
    case MC_SHUTDOWN:
        put_message(request, "", output);
        break;
    case MC_AUTH_LIST:
    case MC_QUIT:
    case MC_COMMANDS:
        break;
    }
}

void mc_text_reply_stat(const char *name, const char *value, struct mc_output *output)
{
    if (name == NULL || name[0] == '\0') {
        put_line("END", output);
        return;
    }
    mc_put_text(output, "STAT ");
    mc_put_text(output, name);
    mc_put_text(output, " ");
    put_line(value == NULL ? "" : value, output);
}
