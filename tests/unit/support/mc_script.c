/* mc_script.c -- a client's bytes through mc_text_parse, in pieces of any size. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/mc_script.h"
#include <stdlib.h>
#include <stddef.h>
#include <string.h>

static const char *const command_names[MC_COMMANDS] = {
    [MC_GET] = "GET",
    [MC_SET] = "SET",
    [MC_ADD] = "ADD",
    [MC_REPLACE] = "REPLACE",
    [MC_APPEND] = "APPEND",
    [MC_PREPEND] = "PREPEND",
    [MC_DELETE] = "DELETE",
    [MC_INCREMENT] = "INCREMENT",
    [MC_DECREMENT] = "DECREMENT",
    [MC_FLUSH_ALL] = "FLUSH_ALL",
    [MC_STATS] = "STATS",
    [MC_VERSION] = "VERSION",
    [MC_VERBOSITY] = "VERBOSITY",
    [MC_NOOP] = "NOOP",
    [MC_BAD] = "BAD",
    [MC_AUTH] = "AUTH",
    [MC_AUTH_LIST] = "AUTH_LIST",
    [MC_QUIT] = "QUIT",
    [MC_SHUTDOWN] = "SHUTDOWN",
};

static void put_bytes(struct mc_output *out, const char *name, const char *bytes, uint32_t size)
{
    static const char digits[] = "0123456789abcdef";

    mc_put_text(out, name);
    for (uint32_t index = 0; index < size; index++) {
        uint8_t byte = (uint8_t)bytes[index];
        char text[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        bool plain = byte > ' ' && byte < 0x7f;
        mc_put(out, plain ? bytes + index : text, plain ? 1 : sizeof text);
    }
}

static void put_number(struct mc_output *out, const char *name, bool given, uint64_t number)
{
    if (!given) return;
    mc_put_text(out, name);
    mc_put_number(out, number);
}

static void put_mark(struct mc_output *out, const char *name, bool given)
{
    if (given) mc_put_text(out, name);
}

static void put_form(struct mc_output *out, const struct mc_form *form)
{
    put_mark(out, form->protocol == MC_META ? " meta" : "", true);
    if (form->opcode != 0) mc_put(out, &form->opcode, 1);
    put_mark(out, " quiet", form->quiet);
    put_mark(out, " with_cas", form->with_cas);
    put_mark(out, " touch_only", form->touch_only);
    put_mark(out, " base64", form->key_in_base64);
    put_mark(out, " mute", form->mute_if_same_cas);
    if (form->flag_count > 0) put_bytes(out, " return=", form->flag, form->flag_count);
    if (form->opaque_size > 0) put_bytes(out, " opaque=", form->opaque_text, form->opaque_size);
}

static void put_meta(struct mc_output *out, const struct mc_meta *meta)
{
    put_mark(out, " no_bump", meta->no_bump);
    put_number(out, " vivify=", meta->vivify_given, meta->vivify);
    put_number(out, " recache=", meta->recache_given, meta->recache);
    put_mark(out, " invalidate", meta->invalidate);
    put_mark(out, " drop_value", meta->drop_value);
    put_number(out, " new_cas=", meta->new_cas_given, meta->new_cas);
}

/* Everything that is not as in an empty request. */
static void put_request(struct mc_output *out, const struct mc_request *request)
{
    mc_put_text(out, command_names[request->command]);
    if (request->key_size > 0) put_bytes(out, " ", request->key, request->key_size);
    put_form(out, &request->form);
    if (request->value != NULL)
        put_bytes(out, " value=", request->value->bytes, request->value->size);
    put_number(out, " flags=", request->flags != 0, request->flags);
    put_number(out, " expiry=", request->expiry != 0, request->expiry);
    put_mark(out, " want", request->want_value);
    put_mark(out, " touch", request->touch);
    put_number(out, " cas=", request->cas_given || request->cas != 0, request->cas);
    put_mark(out, " create", request->create);
    put_number(out, " delta=", request->delta != 0, request->delta);
    put_number(out, " initial=", request->initial != 0, request->initial);
    put_meta(out, &request->meta);
    if (request->result.message != NULL) {
        mc_put_text(out, ": ");
        mc_put_text(out, request->result.message);
    }
    mc_put_text(out, "\n");
}

void mc_script_begin(struct mc_script *script)
{
    memset(script, 0, sizeof *script);
    script->parser.value_max = 1000;
}

static enum mc_parsed call(struct mc_script *script, const char *bytes, uint32_t size,
                           struct mc_request *request, uint32_t *used, uint32_t *need)
{
    struct mc_parser *parser = &script->parser;

    if (!script->exact)
        return mc_text_parse(parser, bytes, size, MC_SCRIPT_NOW, request, used, need);
    char *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL) abort();
    memcpy(copy, bytes, size);
    enum mc_parsed parsed = mc_text_parse(parser, copy, size, MC_SCRIPT_NOW, request, used, need);
    free(copy);
    return parsed;
}

static void check(struct mc_script *script, enum mc_parsed parsed, uint32_t size, uint32_t used,
                  uint32_t need, uint32_t line_at)
{
    bool further = used > 0 || script->parser.line_at > line_at;

    if (used > size) script->broken = "more bytes are taken than there are";
    if (parsed == MC_PARSED_MORE && used != 0) script->broken = "bytes are taken of no request";
    if (parsed == MC_PARSED_MORE && need != 0 && need <= size)
        script->broken = "bytes are missed that are there";
    if ((parsed == MC_PARSED_REQUEST || parsed == MC_PARSED_NOTHING) && !further)
        script->broken = "it does not go on";
}

/* Requests of what is there, of which it returns how much was taken. */
static uint32_t parse_some(struct mc_script *script, const char *bytes, uint32_t size)
{
    static const struct mc_request empty;
    struct mc_request request = {0};
    uint32_t taken = 0, used = 0, need = 0;

    for (;;) {
        uint32_t line_at = script->parser.line_at;
        enum mc_parsed parsed = call(script, bytes + taken, size - taken, &request, &used, &need);
        check(script, parsed, size - taken, used, need, line_at);
        if (script->broken != NULL) break;
        taken += used;
        if (parsed == MC_PARSED_REQUEST) {
            script->requests++;
            if (!script->silent) put_request(&script->transcript, &request);
            mc_request_clear(&request);
        } else if (memcmp(&request, &empty, offsetof(struct mc_request, key)) != 0) {
            script->broken = "there is something of a request";
        }
        script->closed = parsed == MC_PARSED_CLOSE;
        if (parsed == MC_PARSED_MORE || script->closed) break;
    }
    mc_request_clear(&request);
    return taken;
}

void mc_script_run(struct mc_script *script, const char *bytes, uint32_t size)
{
    uint32_t taken = 0, come = 0;

    while (come < size && !script->closed && script->broken == NULL) {
        uint32_t piece = script->piece == NULL ? size : script->piece(script->context);
        come = piece > size - come ? size : come + piece;
        taken += parse_some(script, bytes + taken, come - taken);
    }
    script->left = size - taken;
    if (script->closed) mc_put_text(&script->transcript, "CLOSE\n");
}

const char *mc_script_text(struct mc_script *script)
{
    char *end = mc_put_space(&script->transcript, 1);

    if (end == NULL) abort();
    *end = '\0';
    script->transcript.size--;
    return script->transcript.bytes;
}

void mc_script_end(struct mc_script *script)
{
    mc_output_free(&script->transcript);
}
