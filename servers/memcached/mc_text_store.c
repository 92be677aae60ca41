/* mc_text_store.c -- commands of the text protocol that are followed by a data block. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_text_line.h"
#include <string.h>

#define AUTHENTICATION_MAX 2048u /* Bytes of user and password. */

enum mc_parsed mc_text_refuse(struct mc_text_input *input, const char *message, uint64_t size)
{
    input->parser->skip = size + 2;
    return mc_text_bad(input, message);
}

/* As memcached does, a plain set that is too large leaves nothing under its key: the request names
   the key then, and who executes requests removes it. */
static enum mc_parsed too_large(struct mc_text_input *input, uint64_t size)
{
    struct mc_request *request = input->request;
    bool removes = request->command == MC_SET && !request->cas_given;
    char bytes[MC_KEY_MAX]; /* A copy of the key, since the request is emptied. */
    struct mc_token key = {.at = bytes, .size = request->key_size};

    memcpy(bytes, request->key, request->key_size);
    mc_text_refuse(input, "SERVER_ERROR object too large for cache", size);
    if (removes) mc_text_take_key(request, &key);
    request->result.status = MC_TOO_LARGE;
    return MC_PARSED_REQUEST;
}

enum mc_parsed mc_text_data(struct mc_text_input *input, uint64_t size)
{
    struct mc_request *request = input->request;
    uint64_t total = input->line.taken + size + 2;
    const char *data = input->bytes + input->line.taken;

    if (size > input->parser->value_max || size > MC_VALUE_MAX) return too_large(input, size);
    if (input->size < total) {
        input->need = (uint32_t)total;
        return MC_PARSED_MORE;
    }
    /* From here on the block is at hand: it is taken together with the line. */
    input->line.taken = (uint32_t)total;
    if (memcmp(data + size, "\r\n", 2) != 0)
        return mc_text_bad(input, "CLIENT_ERROR bad data chunk");
    request->value = mc_value_create((uint32_t)size);
    if (request->value == NULL) {
        mc_text_bad(input, "SERVER_ERROR out of memory storing object");
        request->result.status = MC_NO_MEMORY;
        return MC_PARSED_REQUEST;
    }
    memcpy(request->value->bytes, data, size);
    return mc_text_done(input, request->command);
}

static bool takes_cas(struct mc_request *request, const struct mc_line *line)
{
    return line->count > 5 && mc_token_unsigned(&line->token[5], UINT64_MAX, &request->cas);
}

/* <command> key flags exptime size ... [noreply] */
static enum mc_parsed store(struct mc_text_input *input, enum mc_command command)
{
    const struct mc_line *line = &input->line;
    struct mc_request *request = input->request;
    uint64_t flags = 0, size = 0;
    int64_t exptime = 0;

    request->command = command;
    request->form.quiet = mc_token_is(&line->token[line->count - 1], "noreply");
    if (!mc_token_unsigned(&line->token[4], MC_TEXT_SIZE_MAX, &size))
        return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    /* As soon as the size is known mistakes do not leave the data behind. */
    if (!mc_text_take_key(request, &line->token[1]) ||
        !mc_token_unsigned(&line->token[2], UINT32_MAX, &flags) ||
        !mc_token_signed(&line->token[3], &exptime) ||
        (request->cas_given && !takes_cas(request, line)))
        return mc_text_refuse(input, MC_TEXT_BAD_FORMAT, size);
    request->flags = (uint32_t)flags;
    request->expiry = mc_expiry(exptime, input->now);
    return mc_text_data(input, size);
}

enum mc_parsed mc_text_store(struct mc_text_input *input, enum mc_command command)
{
    return store(input, command);
}

enum mc_parsed mc_text_cas(struct mc_text_input *input, enum mc_command command)
{
    input->request->cas_given = true;
    return store(input, command);
}

enum mc_parsed mc_text_authenticate(struct mc_text_input *input)
{
    const struct mc_line *line = &input->line;
    uint64_t size = 0;

    /* Key, flags and exptime say nothing, and an answer is always given. */
    if (line->count < 5 || !mc_token_is(&line->token[0], "set") ||
        !mc_token_unsigned(&line->token[4], MC_TEXT_SIZE_MAX, &size)) {
        return mc_text_bad(input, "CLIENT_ERROR unauthenticated");
    }
    if (size > AUTHENTICATION_MAX)
        return mc_text_refuse(input, "CLIENT_ERROR unauthenticated", size);
    input->request->command = MC_AUTH;
    return mc_text_data(input, size);
}
