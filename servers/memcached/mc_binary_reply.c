/* mc_binary_reply.c -- replies of the binary protocol. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_binary_private.h"
#include "servers/memcached/mc_parse.h"
#include <string.h>

/* ---- Errors ---- */

struct error {
    uint16_t code;
    const char *text;
};

static const struct error errors[MC_STATUSES] = {
    [MC_OK] = {0, ""},
    [MC_NOT_FOUND] = {1, "Not found"},
    [MC_EXISTS] = {2, "Data exists for key."},
    [MC_TOO_LARGE] = {3, "Too large."},
    [MC_INVALID] = {4, "Invalid arguments"},
    [MC_NOT_STORED] = {5, "Not stored."},
    [MC_NON_NUMERIC] = {6, "Non-numeric server-side value for incr or decr"},
    [MC_AUTH_ERROR] = {0x20, "Auth failure."},
    [MC_NO_MEMORY] = {0x82, "Out of memory"},
    [MC_NOT_SUPPORTED] = {0x83, "Not supported."},
    [MC_FAILED] = {0x84, "Internal error."},
    [MC_TEMPORARY] = {0x86, "Temporary failure."},
};
static const struct error unknown_command = {0x81, "Unknown command"};

static struct error error_of(const struct mc_request *request)
{
    enum mc_status status = request->result.status;
    if (request->command == MC_ADD && status == MC_NOT_STORED) status = MC_EXISTS;
    if (request->command == MC_REPLACE && status == MC_NOT_STORED) status = MC_NOT_FOUND;
    struct error error = errors[status];
    if (status == MC_NOT_SUPPORTED && request->command >= MC_ENGINE_COMMANDS)
        error = unknown_command;
    if (request->result.message != NULL) error.text = request->result.message;
    return error;
}

/* ---- Parts ---- */

struct reply {
    uint16_t status;
    uint64_t cas;
    uint32_t extras_size, key_size, value_size;
    const char *extras, *key, *value;
};

static void number_to(char *bytes, uint32_t size, uint64_t number)
{
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (char)(number >> 8 * (size - 1 - i));
}

static void reply_print(const struct mc_request *request, const struct reply *reply,
                        struct mc_output *output)
{
    char header[MC_BINARY_HEADER] = {0};
    number_to(header, 1, MC_BINARY_REPLY);
    number_to(header + MC_AT_OPCODE, 1, request->form.opcode);
    number_to(header + MC_AT_KEY_SIZE, 2, reply->key_size);
    number_to(header + MC_AT_EXTRAS_SIZE, 1, reply->extras_size);
    number_to(header + MC_AT_STATUS, 2, reply->status);
    number_to(header + MC_AT_BODY_SIZE, 4,
              reply->extras_size + reply->key_size + reply->value_size);
    number_to(header + MC_AT_OPAQUE, 4, request->form.opaque);
    number_to(header + MC_AT_CAS, 8, reply->cas);
    mc_put(output, header, sizeof header);
    mc_put(output, reply->extras, reply->extras_size);
    mc_put(output, reply->key, reply->key_size);
    mc_put(output, reply->value, reply->value_size);
}

static void text_print(const struct mc_request *request, const char *text, struct mc_output *output)
{
    struct reply reply = {.value = text, .value_size = (uint32_t)strlen(text)};
    reply_print(request, &reply, output);
}

static bool returns_key(const struct mc_request *request)
{
    switch (request->form.opcode) {
    case MC_OP_GETK:
    case MC_OP_GETKQ:
    case MC_OP_GATK:
    case MC_OP_GATKQ:
        return true;
    default:
        return false;
    }
}

/* A miss of those that return the key has it in the place of the text. */
static void error_print(const struct mc_request *request, struct mc_output *output)
{
    struct error error = error_of(request);
    char refusal[MC_REFUSAL_MAX];
    if (request->result.message == NULL && mc_request_refusal(&request->result, refusal) != NULL)
        error.text = refusal;
    struct reply reply = {.status = error.code, .value = error.text};
    reply.value_size = (uint32_t)strlen(error.text);
    if (request->command == MC_GET && returns_key(request) &&
        request->result.status == MC_NOT_FOUND) {
        reply.value_size = 0;
        reply.key = request->key;
        reply.key_size = request->key_size;
    }
    reply_print(request, &reply, output);
}

/* The flags are told of a touch, too. */
static void get_print(const struct mc_request *request, struct mc_output *output)
{
    char flags[4];
    const struct mc_value *value = request->want_value ? request->result.value : NULL;
    struct reply reply = {.cas = request->result.cas, .extras = flags, .extras_size = sizeof flags};
    number_to(flags, sizeof flags, request->result.flags);
    if (value != NULL) {
        reply.value = value->bytes;
        reply.value_size = value->size;
    }
    if (returns_key(request)) {
        reply.key = request->key;
        reply.key_size = request->key_size;
    }
    reply_print(request, &reply, output);
}

static void number_print(const struct mc_request *request, struct mc_output *output)
{
    char number[8];
    struct reply reply = {.cas = request->result.cas, .value = number, .value_size = sizeof number};
    number_to(number, sizeof number, request->result.number);
    reply_print(request, &reply, output);
}

static void done_print(const struct mc_request *request, struct mc_output *output)
{
    struct reply reply = {.cas = request->command < MC_DELETE ? request->result.cas : 0};
    reply_print(request, &reply, output);
}

static const char *message_or(const struct mc_request *request, const char *text)
{
    return request->result.message != NULL ? request->result.message : text;
}

/* ---- Replies ---- */

/* A quiet get says nothing of a miss, a quiet change nothing of its success; errors are told. */
static bool is_silent(const struct mc_request *request)
{
    if (!request->form.quiet) return false;
    if (request->command == MC_GET) return request->result.status == MC_NOT_FOUND;
    return request->result.status == MC_OK;
}

void mc_binary_reply(const struct mc_request *request, struct mc_output *output)
{
    if (is_silent(request)) return;
    if (request->result.status != MC_OK) {
        error_print(request, output);
        return;
    }
    switch ((int)request->command) {
    case MC_GET:
        get_print(request, output);
        break;
    case MC_INCREMENT:
    case MC_DECREMENT:
        number_print(request, output);
        break;
    case MC_STATS: /* The end was printed with the statistics, if there were any. */
        if (request->result.message != NULL) done_print(request, output);
        break;
    case MC_VERSION:
        text_print(request, message_or(request, ""), output);
        break;
    case MC_AUTH:
        text_print(request, message_or(request, "Authenticated"), output);
        break;
    case MC_AUTH_LIST:
        text_print(request, message_or(request, "PLAIN"), output);
        break;
    default:
        done_print(request, output);
        break;
    }
}

void mc_binary_reply_stat(const struct mc_request *request, const char *name, const char *value,
                          struct mc_output *output)
{
    struct reply reply = {.key = name, .value = value};
    if (name != NULL) {
        reply.key_size = (uint32_t)strlen(name);
        reply.value_size = (uint32_t)strlen(value);
    }
    reply_print(request, &reply, output);
}
