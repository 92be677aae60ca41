/* mc_binary_parse.c -- requests of the binary protocol. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_binary_private.h"
#include "servers/memcached/mc_parse.h"
#include <string.h>

#define EXTRAS_STORE  8u /* Flags and exptime. */
#define EXTRAS_NUMBER 20u
#define EXTRAS_TIME   4u
#define NEVER_CREATE  UINT32_MAX /* An exptime of INCREMENT: a missing number is not made. */
/* No client means that: what follows would be swallowed for hours. */
#define BODY_ABSURD (MC_VALUE_MAX + MC_KEY_MAX + EXTRAS_NUMBER)

enum presence { NONE = 0, GIVEN, PERHAPS };

/* What a request of an opcode consists of. */
struct shape {
    bool known;
    enum mc_command command;
    uint8_t extras_size;
    enum presence extras;
    enum presence key;
    bool value;
    bool quiet;
};

static const struct shape shapes[MC_OPCODES] = {
    [MC_OP_GET] = {.known = true, .command = MC_GET, .key = GIVEN},
    [MC_OP_GETQ] = {.known = true, .command = MC_GET, .key = GIVEN, .quiet = true},
    [MC_OP_GETK] = {.known = true, .command = MC_GET, .key = GIVEN},
    [MC_OP_GETKQ] = {.known = true, .command = MC_GET, .key = GIVEN, .quiet = true},
    [MC_OP_TOUCH] = {true, MC_GET, EXTRAS_TIME, GIVEN, GIVEN, false, false},
    [MC_OP_GAT] = {true, MC_GET, EXTRAS_TIME, GIVEN, GIVEN, false, false},
    [MC_OP_GATQ] = {true, MC_GET, EXTRAS_TIME, GIVEN, GIVEN, false, true},
    [MC_OP_GATK] = {true, MC_GET, EXTRAS_TIME, GIVEN, GIVEN, false, false},
    [MC_OP_GATKQ] = {true, MC_GET, EXTRAS_TIME, GIVEN, GIVEN, false, true},
    [MC_OP_SET] = {true, MC_SET, EXTRAS_STORE, GIVEN, GIVEN, true, false},
    [MC_OP_SETQ] = {true, MC_SET, EXTRAS_STORE, GIVEN, GIVEN, true, true},
    [MC_OP_ADD] = {true, MC_ADD, EXTRAS_STORE, GIVEN, GIVEN, true, false},
    [MC_OP_ADDQ] = {true, MC_ADD, EXTRAS_STORE, GIVEN, GIVEN, true, true},
    [MC_OP_REPLACE] = {true, MC_REPLACE, EXTRAS_STORE, GIVEN, GIVEN, true, false},
    [MC_OP_REPLACEQ] = {true, MC_REPLACE, EXTRAS_STORE, GIVEN, GIVEN, true, true},
    [MC_OP_APPEND] = {.known = true, .command = MC_APPEND, .key = GIVEN, .value = true},
    [MC_OP_APPENDQ] = {true, MC_APPEND, 0, NONE, GIVEN, true, true},
    [MC_OP_PREPEND] = {.known = true, .command = MC_PREPEND, .key = GIVEN, .value = true},
    [MC_OP_PREPENDQ] = {true, MC_PREPEND, 0, NONE, GIVEN, true, true},
    [MC_OP_DELETE] = {.known = true, .command = MC_DELETE, .key = GIVEN},
    [MC_OP_DELETEQ] = {.known = true, .command = MC_DELETE, .key = GIVEN, .quiet = true},
    [MC_OP_INCREMENT] = {true, MC_INCREMENT, EXTRAS_NUMBER, GIVEN, GIVEN, false, false},
    [MC_OP_INCREMENTQ] = {true, MC_INCREMENT, EXTRAS_NUMBER, GIVEN, GIVEN, false, true},
    [MC_OP_DECREMENT] = {true, MC_DECREMENT, EXTRAS_NUMBER, GIVEN, GIVEN, false, false},
    [MC_OP_DECREMENTQ] = {true, MC_DECREMENT, EXTRAS_NUMBER, GIVEN, GIVEN, false, true},
    [MC_OP_FLUSH] = {true, MC_FLUSH_ALL, EXTRAS_TIME, PERHAPS, NONE, false, false},
    [MC_OP_FLUSHQ] = {true, MC_FLUSH_ALL, EXTRAS_TIME, PERHAPS, NONE, false, true},
    [MC_OP_QUIT] = {.known = true, .command = MC_QUIT},
    [MC_OP_QUITQ] = {.known = true, .command = MC_QUIT, .quiet = true},
    [MC_OP_NOOP] = {.known = true, .command = MC_NOOP},
    [MC_OP_VERSION] = {.known = true, .command = MC_VERSION},
    [MC_OP_STAT] = {.known = true, .command = MC_STATS, .key = PERHAPS},
    [MC_OP_SASL_LIST] = {.known = true, .command = MC_AUTH_LIST},
    [MC_OP_SASL_AUTH] = {.known = true, .command = MC_AUTH, .key = GIVEN, .value = true},
    [MC_OP_SASL_STEP] = {.known = true, .command = MC_AUTH, .key = GIVEN, .value = true},
};

struct header {
    uint8_t opcode;
    uint8_t extras_size;
    uint16_t key_size;
    uint32_t body_size;
    uint32_t value_size; /* Only of a header that is well-formed. */
    uint64_t cas;
    const struct shape *shape; /* NULL: an unknown opcode. */
};

static uint64_t number_at(const char *bytes, uint32_t size)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < size; i++)
        number = number << 8 | (uint8_t)bytes[i];
    return number;
}

static struct header header_read(const char *bytes)
{
    struct header header = {
        .opcode = (uint8_t)bytes[MC_AT_OPCODE],
        .extras_size = (uint8_t)bytes[MC_AT_EXTRAS_SIZE],
        .key_size = (uint16_t)number_at(bytes + MC_AT_KEY_SIZE, 2),
        .body_size = (uint32_t)number_at(bytes + MC_AT_BODY_SIZE, 4),
        .cas = number_at(bytes + MC_AT_CAS, 8),
    };
    if (header.opcode < MC_OPCODES && shapes[header.opcode].known)
        header.shape = &shapes[header.opcode];
    return header;
}

static bool size_fits(uint32_t size, enum presence presence, uint32_t size_given)
{
    if (size == 0) return presence != GIVEN;
    return presence != NONE && size <= size_given;
}

/* Whether the sizes are those of the opcode; fills value_size. */
static bool header_fits(struct header *header)
{
    const struct shape *shape = header->shape;
    uint32_t front = (uint32_t)header->extras_size + header->key_size;
    if (front > header->body_size) return false;
    header->value_size = header->body_size - front;
    if (header->extras_size != 0 && header->extras_size != shape->extras_size) return false;
    return size_fits(header->extras_size, shape->extras, shape->extras_size) &&
           size_fits(header->key_size, shape->key, MC_KEY_MAX) &&
           (shape->value || header->value_size == 0);
}

/* A mistake is answered at once; its body, which need not have come yet, is swallowed. */
static void refuse(struct mc_parser *parser, const struct header *header, uint32_t size,
                   enum mc_status status, struct mc_request *request, uint32_t *used)
{
    uint64_t whole = (uint64_t)MC_BINARY_HEADER + header->body_size;
    *used = whole < size ? (uint32_t)whole : size;
    parser->skip = whole - *used;
    request->command = MC_BAD;
    request->result.status = status;
}

/* ---- What the parts mean ---- */

static void take_key(const struct header *header, const char *body, struct mc_request *request)
{
    request->key_size = (uint8_t)header->key_size;
    memcpy(request->key, body + header->extras_size, header->key_size);
}

static void take_get(const struct header *header, const char *extras, uint32_t now,
                     struct mc_request *request)
{
    request->want_value = header->opcode != MC_OP_TOUCH;
    request->form.touch_only = header->opcode == MC_OP_TOUCH;
    request->touch = header->extras_size > 0;
    if (request->touch) request->expiry = mc_expiry((int64_t)number_at(extras, 4), now);
}

static void take_number(const char *extras, uint32_t now, struct mc_request *request)
{
    uint64_t exptime = number_at(extras + 16, 4);
    request->delta = number_at(extras, 8);
    request->initial = number_at(extras + 8, 8);
    request->create = exptime != NEVER_CREATE;
    if (request->create) request->expiry = mc_expiry((int64_t)exptime, now);
}

static void take_extras(const struct header *header, const char *extras, uint32_t now,
                        struct mc_request *request)
{
    switch ((int)request->command) {
    case MC_GET:
        take_get(header, extras, now, request);
        break;
    case MC_INCREMENT:
    case MC_DECREMENT:
        take_number(extras, now, request);
        break;
    case MC_SET:
    case MC_ADD:
    case MC_REPLACE:
        request->flags = (uint32_t)number_at(extras, 4);
        request->expiry = mc_expiry((int64_t)number_at(extras + 4, 4), now);
        break;
    case MC_FLUSH_ALL:
        if (header->extras_size > 0)
            request->expiry = mc_expiry((int64_t)number_at(extras, 4), now);
        break;
    default:
        break;
    }
}

/* A CAS number makes of a set, an add and a replace the same: a store that compares. */
static void take_cas(const struct header *header, struct mc_request *request)
{
    if (header->cas == 0 || request->command == MC_GET || request->command >= MC_FLUSH_ALL) return;
    if (request->command == MC_ADD) request->command = MC_SET;
    request->cas_given = true;
    request->cas = header->cas;
}

/* The whole request is there. False: no memory for its value. */
static bool take(const struct header *header, const char *body, uint32_t now,
                 struct mc_request *request)
{
    request->command = header->shape->command;
    take_key(header, body, request);
    take_extras(header, body, now, request);
    take_cas(header, request);
    if (!header->shape->value) return true;
    request->value = mc_value_create(header->value_size);
    if (request->value == NULL) return false;
    memcpy(request->value->bytes, body + header->extras_size + header->key_size,
           header->value_size);
    return true;
}

/* ---- The parser ---- */

static enum mc_parsed swallow(struct mc_parser *parser, uint32_t size, uint32_t *used)
{
    *used = parser->skip < size ? (uint32_t)parser->skip : size;
    parser->skip -= *used;
    return *used > 0 ? MC_PARSED_NOTHING : MC_PARSED_MORE;
}

static enum mc_parsed more(uint32_t whole, uint32_t *need)
{
    *need = whole;
    return MC_PARSED_MORE;
}

/* Whether the value is too large, and, of a set, whose: the old value must not stay either. The key
   is waited for, the value is not. */
static enum mc_parsed parse_large(struct mc_parser *parser, const struct header *header,
                                  const char *bytes, uint32_t size, struct mc_request *request,
                                  uint32_t *used, uint32_t *need)
{
    uint32_t front = MC_BINARY_HEADER + header->extras_size + header->key_size;
    if (size < front) return more(front, need);
    if (header->shape->command == MC_SET) take_key(header, bytes + MC_BINARY_HEADER, request);
    refuse(parser, header, size, MC_TOO_LARGE, request, used);
    return MC_PARSED_REQUEST;
}

static enum mc_parsed parse_body(struct mc_parser *parser, struct header *header, const char *bytes,
                                 uint32_t size, uint32_t now, struct mc_request *request,
                                 uint32_t *used, uint32_t *need)
{
    enum mc_status wrong = MC_OK;
    if (header->shape == NULL)
        wrong = MC_NOT_SUPPORTED;
    else if (!header_fits(header))
        wrong = MC_INVALID;
    if (wrong != MC_OK) {
        refuse(parser, header, size, wrong, request, used);
        return MC_PARSED_REQUEST;
    }
    if (header->value_size > parser->value_max)
        return parse_large(parser, header, bytes, size, request, used, need);
    uint32_t whole = MC_BINARY_HEADER + header->body_size;
    if (size < whole) return more(whole, need);
    if (take(header, bytes + MC_BINARY_HEADER, now, request))
        *used = whole;
    else
        refuse(parser, header, size, MC_NO_MEMORY, request, used);
    return MC_PARSED_REQUEST;
}

enum mc_parsed mc_binary_parse(struct mc_parser *parser, const char *bytes, uint32_t size,
                               uint32_t now, struct mc_request *request, uint32_t *used,
                               uint32_t *need)
{
    *used = *need = 0;
    if (parser->skip > 0) return swallow(parser, size, used);
    if (size > 0 && (uint8_t)bytes[0] != MC_BINARY_REQUEST) return MC_PARSED_CLOSE;
    if (size < MC_BINARY_HEADER) return more(MC_BINARY_HEADER, need);
    struct header header = header_read(bytes);
    if (header.body_size > BODY_ABSURD) return MC_PARSED_CLOSE;
    request->form.protocol = MC_BINARY;
    request->form.opcode = header.opcode;
    request->form.opaque = (uint32_t)number_at(bytes + MC_AT_OPAQUE, 4);
    request->form.quiet = header.shape != NULL && header.shape->quiet;
    return parse_body(parser, &header, bytes, size, now, request, used, need);
}
