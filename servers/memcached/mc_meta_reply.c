/* mc_meta_reply.c -- results as answers to meta commands. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_text_line.h"
#include <string.h>

static void put_key(const struct mc_request *request, struct mc_output *output)
{
    if (request->form.key_in_base64) {
        mc_base64_put(request->key, request->key_size, output);
    } else {
        mc_put(output, request->key, request->key_size);
    }
}

/* -1: for ever. */
static void put_time_left(uint32_t expiry, uint32_t now, struct mc_output *output)
{
    if (expiry == 0) {
        mc_put_text(output, "-1");
    } else {
        mc_put_number(output, expiry > now ? expiry - now : 0);
    }
}

/* Bytes of the item's value after a hit, and of what is there now after ms. */
static uint32_t value_size(const struct mc_request *request)
{
    if (request->command == MC_APPEND || request->command == MC_PREPEND)
        return request->result.size;
    const struct mc_value *value =
        request->result.value != NULL ? request->result.value : request->value;
    return value == NULL ? 0 : value->size;
}

/* What flag `letter` is answered with, after the letter. */
static void put_flag(const struct mc_request *request, char letter, uint32_t now,
                     struct mc_output *output)
{
    const struct mc_result *result = &request->result;

    switch (letter) {
    case 'c':
        mc_put_number(output, result->status == MC_OK ? result->cas : 0);
        break;
    case 'f':
        mc_put_number(output, result->flags);
        break;
    case 'h':
        mc_put_text(output, result->fetched ? "1" : "0");
        break;
    case 'k': /* With the mark that says how it is to be read. */
        put_key(request, output);
        if (request->form.key_in_base64) mc_put_text(output, " b");
        break;
    case 'l':
        mc_put_number(output, result->accessed);
        break;
    case 'O':
        mc_put(output, request->form.opaque_text, request->form.opaque_size);
        break;
    case 's':
        mc_put_number(output, value_size(request));
        break;
    case 't':
        put_time_left(result->expiry, now, output);
        break;
    default:
        break;
    }
}

static void put_flags(const struct mc_request *request, const char *which, uint32_t now,
                      struct mc_output *output)
{
    const struct mc_form *form = &request->form;

    for (uint32_t index = 0; index < form->flag_count; index++) {
        char letter = form->flag[index];
        if (strchr(which, letter) == NULL) continue;
        char text[2] = {' ', letter};
        mc_put(output, text, sizeof text);
        put_flag(request, letter, now, output);
    }
}

/* The code of what did not come about; NULL: it is an error. */
static const char *refusal(const struct mc_request *request)
{
    switch (request->result.status) {
    case MC_NOT_FOUND:
        return request->command == MC_GET ? "EN" : "NF";
    case MC_NOT_STORED:
        return "NS";
    case MC_EXISTS:
        return "EX";
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
        break;
    }
    return NULL;
}

/* "c0" of a set that failed is memcached's custom. */
static void put_refusal(const struct mc_request *request, uint32_t now, struct mc_output *output)
{
    const char *code = refusal(request);

    if (code == NULL) {
        mc_text_put_error(request, output);
        return;
    }
    mc_put_text(output, code);
    put_flags(request, request->form.opcode == 's' ? "ckO" : "kO", now, output);
    mc_put_text(output, "\r\n");
}

/* ME key name=value... */
static void put_debug(const struct mc_request *request, uint32_t now, struct mc_output *output)
{
    const struct mc_result *result = &request->result;

    mc_put_text(output, "ME ");
    put_key(request, output);
    mc_put_text(output, " exp=");
    put_time_left(result->expiry, now, output);
    mc_put_text(output, " la=");
    mc_put_number(output, result->accessed);
    mc_put_text(output, " cas=");
    mc_put_number(output, result->cas);
    mc_put_text(output, result->fetched ? " fetch=yes" : " fetch=no");
    mc_put_text(output, " cls=1 size=");
    mc_put_number(output, (uint64_t)request->key_size + value_size(request));
    mc_put_text(output, "\r\n");
}

/* Whether a value follows: v, unless the client has it already. */
static bool shows_value(const struct mc_request *request)
{
    const struct mc_form *form = &request->form;

    if (form->mute_if_same_cas && request->result.cas == request->cas) return false;
    return memchr(form->flag, 'v', form->flag_count) != NULL;
}

static void put_hit(const struct mc_request *request, uint32_t now, struct mc_output *output)
{
    const struct mc_result *result = &request->result;
    bool value = shows_value(request);
    uint32_t size = value_size(request);

    mc_put_text(output, value ? "VA " : "HD");
    if (value) mc_put_number(output, size);
    put_flags(request, "cfhklOst", now, output);
    if (result->token_sent) mc_put_text(output, " Z");
    if (result->stale) mc_put_text(output, " X");
    if (result->won) mc_put_text(output, " W");
    mc_put_text(output, "\r\n");
    if (!value) return;
    if (result->value != NULL) mc_put(output, result->value->bytes, size);
    mc_put_text(output, "\r\n");
}

static uint32_t digits(uint64_t number)
{
    uint32_t count = 1;

    while (number >= 10) {
        number /= 10;
        count++;
    }
    return count;
}

static void put_number(const struct mc_request *request, uint32_t now, struct mc_output *output)
{
    bool value = shows_value(request);

    mc_put_text(output, value ? "VA " : "HD");
    if (value) mc_put_number(output, digits(request->result.number));
    put_flags(request, "ckOt", now, output);
    mc_put_text(output, "\r\n");
    if (!value) return;
    mc_put_number(output, request->result.number);
    mc_put_text(output, "\r\n");
}

static void reply_get(const struct mc_request *request, uint32_t now, struct mc_output *output)
{
    enum mc_status status = request->result.status;
    bool debug = request->form.opcode == 'e';

    if (status == MC_OK && debug) {
        put_debug(request, now, output);
    } else if (status == MC_OK) {
        put_hit(request, now, output);
    } else if (status != MC_NOT_FOUND || !request->form.quiet) {
        put_refusal(request, now, output);
    }
}

/* ms, md, ma: q takes away the answer to what went well, but not that ma has made the number. */
static void reply_change(const struct mc_request *request, uint32_t now, struct mc_output *output)
{
    if (request->result.status != MC_OK) {
        put_refusal(request, now, output);
    } else if (request->form.quiet && !(request->form.opcode == 'a' && request->result.created)) {
        return;
    } else if (request->form.opcode == 'a') {
        put_number(request, now, output);
    } else {
        mc_put_text(output, "HD");
        put_flags(request, "ckOs", now, output);
        mc_put_text(output, "\r\n");
    }
}

void mc_meta_reply(const struct mc_request *request, uint32_t now, struct mc_output *output)
{
    if (request->command == MC_NOOP) {
        mc_put_text(output, "MN\r\n");
    } else if (request->command == MC_GET) {
        reply_get(request, now, output);
    } else if (request->command < MC_ENGINE_COMMANDS) {
        reply_change(request, now, output);
    } else {
        mc_text_reply(request, output); /* MC_BAD */
    }
}
