/* mc_meta_parse.c -- the text protocol's meta commands: mg, ms, md, ma, mn, me. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_text_line.h"
#include <string.h>

#define BAD_TOKEN "CLIENT_ERROR bad token in command line format"
#define BAD_KEY   "CLIENT_ERROR error decoding key"
#define BAD_FLAG  "CLIENT_ERROR invalid or duplicate flag" /* All that ma says. */

static const char too_many_flags[] = "CLIENT_ERROR options flags are too long";
static const char bad_client_flags[] = MC_TEXT_BAD_FORMAT;
static const char opaque_too_long[] = "CLIENT_ERROR opaque token too long";

/*
 * All commands take the same flags, of which each one looks at those that mean something to it:
 * what a command has no use for is no mistake.
 */

/* What an answer says of the item, and marks in between that a printer and an engine look for: v,
   that there is to be a value, and T, N, R and t, which of them comes first. */
static const char *returned_flags(uint8_t opcode)
{
    switch (opcode) {
    case 'g':
        return "cfhklOstvTNR";
    case 's':
        return "ckOs";
    case 'd':
        return "kO";
    case 'a':
        return "ckOtvTN";
    default:
        return "";
    }
}

static void note_returned(struct mc_request *request, char letter)
{
    struct mc_form *form = &request->form;

    if (strchr(returned_flags(form->opcode), letter) != NULL)
        form->flag[form->flag_count++] = letter;
}

static bool take_expiry(const struct mc_token *token, uint32_t now, bool *given, uint32_t *expiry)
{
    int64_t exptime = 0;

    if (!mc_token_signed(token, &exptime)) return false;
    *given = true;
    *expiry = mc_expiry(exptime, now);
    return true;
}

static const char *take_opaque(struct mc_form *form, const struct mc_token *token)
{
    if (token->size > MC_OPAQUE_MAX) return opaque_too_long;
    form->opaque_size = (uint8_t)token->size;
    memcpy(form->opaque_text, token->at, token->size);
    return NULL;
}

static const char *take_client_flags(struct mc_request *request, const struct mc_token *token)
{
    uint64_t flags = 0;

    if (!mc_token_unsigned(token, UINT32_MAX, &flags)) return bad_client_flags;
    request->flags = (uint32_t)flags;
    return NULL;
}

/* A flag in upper case: `token` is what follows its letter. */
static const char *take_token_flag(struct mc_text_input *input, char letter,
                                   const struct mc_token *token, char *mode)
{
    struct mc_request *request = input->request;
    struct mc_meta *meta = &request->meta;
    bool good = true;

    switch (letter) {
    case 'C':
        request->cas_given = true;
        good = mc_token_unsigned(token, UINT64_MAX, &request->cas);
        break;
    case 'D':
        if (mc_token_unsigned(token, UINT64_MAX, &request->delta)) return NULL;
        return "CLIENT_ERROR invalid numeric delta value";
    case 'E':
        meta->new_cas_given = true;
        good = mc_token_unsigned(token, UINT64_MAX, &meta->new_cas);
        break;
    case 'F':
        return take_client_flags(request, token);
    case 'J':
        if (mc_token_unsigned(token, UINT64_MAX, &request->initial)) return NULL;
        return "CLIENT_ERROR invalid numeric initial value";
    case 'M':
        if (token->size != 1) return "CLIENT_ERROR incorrect length for M token";
        *mode = token->at[0];
        break;
    case 'N':
        good = take_expiry(token, input->now, &meta->vivify_given, &meta->vivify);
        break;
    case 'O':
        return take_opaque(&request->form, token);
    case 'R':
        good = take_expiry(token, input->now, &meta->recache_given, &meta->recache);
        break;
    case 'T':
        good = take_expiry(token, input->now, &request->touch, &request->expiry);
        break;
    default: /* L and P are proxies'. */
        break;
    }
    return good ? NULL : BAD_TOKEN;
}

static const char *take_flag(struct mc_text_input *input, const struct mc_token *token, char *mode)
{
    struct mc_request *request = input->request;
    struct mc_token rest = {.at = token->at + 1, .size = token->size - 1};
    char letter = token->at[0];

    switch (letter) {
    case 'b':
        request->form.key_in_base64 = true;
        break;
    case 'I':
        request->meta.invalidate = true;
        break;
    case 'q':
        request->form.quiet = true;
        break;
    case 'u':
        request->meta.no_bump = true;
        break;
    case 'x':
        request->meta.drop_value = true;
        break;
    default:
        break;
    }
    note_returned(request, letter);
    return take_token_flag(input, letter, &rest, mode);
}

static bool decode_key(struct mc_request *request)
{
    char bytes[MC_KEY_MAX];
    uint32_t size = mc_base64_decode(request->key, request->key_size, bytes);

    memcpy(request->key, bytes, size);
    request->key_size = (uint8_t)size;
    return size > 0;
}

/* Takes the flags from token `first` on, and decodes the key if one says so; NULL, or what is
   wrong: a letter that is none, or for the second time, before the last of the tokens that are
   wrong. F has no word of its own: it gives way to others, and a too long opaque to all. */
static const char *take_flags(struct mc_text_input *input, uint32_t first, char *mode)
{
    static const char known[] = "bcfhklqstuvxCDEFIJLMNOPRT";
    const struct mc_line *line = &input->line;
    const char *last = NULL, *weak = NULL;
    uint32_t seen = 0; /* A bit for each of those. */

    if (line->count > first + MC_META_FLAGS_MAX) return too_many_flags;
    for (uint32_t index = first; index < line->count; index++) {
        const struct mc_token *token = &line->token[index];
        const char *at = memchr(known, token->at[0], sizeof known - 1);
        if (at == NULL) return "CLIENT_ERROR invalid flag";
        uint32_t bit = 1u << (at - known);
        if ((seen & bit) != 0) return "CLIENT_ERROR duplicate flag";
        seen |= bit;
        const char *wrong = take_flag(input, token, mode);
        if (wrong == NULL && token->at[0] == 'b' && !decode_key(input->request)) wrong = BAD_KEY;
        if (wrong == bad_client_flags || (wrong == opaque_too_long && weak == NULL)) {
            weak = wrong;
        } else if (wrong != opaque_too_long && wrong != NULL) {
            last = wrong;
        }
    }
    return last != NULL ? last : weak;
}

/* ---- The commands; their key is taken already ---- */

static const char *finish_get(struct mc_text_input *input, char mode)
{
    struct mc_request *request = input->request;

    (void)mode;
    request->form.mute_if_same_cas = request->cas_given;
    request->cas_given = false;
    request->want_value = memchr(request->form.flag, 'v', request->form.flag_count) != NULL ||
                          memchr(request->form.flag, 's', request->form.flag_count) != NULL;
    request->meta.invalidate = request->meta.drop_value = false;
    request->command = MC_GET;
    return NULL;
}

/* C0 is no number of CAS; only a set and a replace take it for one, which no item has. */
static void drop_zero_cas(struct mc_request *request)
{
    if (request->cas == 0 && request->command != MC_SET && request->command != MC_REPLACE)
        request->cas_given = false;
}

static const char *finish_set(struct mc_text_input *input, char mode)
{
    struct mc_request *request = input->request;

    switch (mode) {
    case 'A':
        request->command = MC_APPEND;
        break;
    case 'E':
        request->command = MC_ADD;
        break;
    case 'P':
        request->command = MC_PREPEND;
        break;
    case 'R':
        request->command = MC_REPLACE;
        break;
    case '\0':
    case 'S':
        request->command = MC_SET;
        break;
    default:
        return "CLIENT_ERROR invalid mode for ms M token";
    }
    if (request->command != MC_APPEND && request->command != MC_PREPEND)
        request->meta.vivify_given = false;
    request->touch = request->meta.drop_value = false;
    drop_zero_cas(request);
    return NULL;
}

static const char *finish_delete(struct mc_text_input *input, char mode)
{
    struct mc_request *request = input->request;

    (void)mode;
    if (!request->meta.invalidate) { /* T goes with I only. */
        request->touch = false;
        request->expiry = 0;
    }
    request->meta.vivify_given = false;
    request->command = MC_DELETE;
    return NULL;
}

/* `expiry` is T's or, without T, N's; meta.vivify is N's in both cases. */
static const char *finish_arithmetic(struct mc_text_input *input, char mode)
{
    struct mc_request *request = input->request;

    if (mode == '\0' || mode == 'I' || mode == '+') {
        request->command = MC_INCREMENT;
    } else if (mode == 'D' || mode == '-') {
        request->command = MC_DECREMENT;
    } else {
        return "CLIENT_ERROR invalid mode for ma M token";
    }
    request->create = request->meta.vivify_given;
    if (request->create && !request->touch) request->expiry = request->meta.vivify;
    request->meta.invalidate = request->meta.drop_value = false;
    drop_zero_cas(request);
    return NULL;
}

/* mg, md, ma */
static enum mc_parsed parse_item(struct mc_text_input *input)
{
    struct mc_request *request = input->request;
    uint8_t opcode = request->form.opcode;
    char mode = '\0';

    const char *wrong = take_flags(input, 2, &mode);
    if (wrong != NULL && opcode == 'a' && wrong != too_many_flags && wrong != opaque_too_long)
        wrong = BAD_FLAG;
    if (wrong == NULL) {
        wrong = opcode == 'g'   ? finish_get(input, mode)
                : opcode == 'd' ? finish_delete(input, mode)
                                : finish_arithmetic(input, mode);
    }
    if (wrong != NULL) return mc_text_bad(input, wrong);
    return mc_text_done(input, request->command);
}

/* ms key size flag...: as soon as the size is known mistakes do not leave the data behind. */
static enum mc_parsed parse_set(struct mc_text_input *input)
{
    const struct mc_line *line = &input->line;
    uint64_t size = 0;
    char mode = '\0';

    if (line->count < 3 || !mc_token_unsigned(&line->token[2], MC_TEXT_SIZE_MAX, &size))
        return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    if (!mc_text_take_key(input->request, &line->token[1]))
        return mc_text_refuse(input, MC_TEXT_BAD_FORMAT, size);
    const char *wrong = take_flags(input, 3, &mode);
    if (wrong == NULL) wrong = finish_set(input, mode);
    if (wrong != NULL) return mc_text_refuse(input, wrong, size);
    return mc_text_data(input, size);
}

/* me key [b] */
static enum mc_parsed parse_debug(struct mc_text_input *input)
{
    const struct mc_line *line = &input->line;
    struct mc_request *request = input->request;

    if (line->count > 2 && mc_token_is(&line->token[2], "b")) {
        request->form.key_in_base64 = true;
        if (!decode_key(request)) return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    }
    request->want_value = true; /* For its size. */
    request->meta.no_bump = true;
    return mc_text_done(input, MC_GET);
}

enum mc_parsed mc_meta_parse(struct mc_text_input *input)
{
    const struct mc_line *line = &input->line;
    struct mc_request *request = input->request;
    char opcode = line->token[0].at[1];

    if (memchr("gsdaen", opcode, 6) == NULL) return mc_text_bad(input, "ERROR");
    request->form.protocol = MC_META;
    request->form.opcode = (uint8_t)opcode;
    if (opcode == 'n') return mc_text_done(input, MC_NOOP);
    if (line->count < 2) return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    if (opcode == 's') return parse_set(input);
    if (!mc_text_take_key(request, &line->token[1])) return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    request->delta = opcode == 'a' ? 1 : 0;
    return opcode == 'e' ? parse_debug(input) : parse_item(input);
}
