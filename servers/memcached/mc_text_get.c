/* mc_text_get.c -- lines with several keys: get, gets, gat, gats. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_text_line.h"
#include <string.h>

/*
 * The line is looked at twice: first for keys that are too long, since then none of them is
 * answered; after that key by key, as the connection asks for the next request.
 */

struct word {
    uint32_t begin, end; /* Equal: the line has no more. */
};

/* The next word of the line at or after `at`. The line's LF is among the bytes. */
static struct word next_word(const char *bytes, uint32_t size, uint32_t at)
{
    struct word word;

    while (at < size && bytes[at] == ' ')
        at++;
    word.begin = at;
    while (at < size && bytes[at] != ' ' && bytes[at] != '\n')
        at++;
    word.end = at;
    if (at < size && bytes[at] == '\n' && at > word.begin && bytes[at - 1] == '\r') word.end--;
    return word;
}

static bool keys_fit(const struct mc_text_input *input, uint32_t at)
{
    for (;;) {
        struct word word = next_word(input->bytes, input->line.taken, at);
        if (word.begin == word.end) return true;
        if (word.end - word.begin > MC_KEY_MAX) return false;
        at = word.end;
    }
}

/* The keys begin at token `first`; parser->line says already whether they are touched. */
static enum mc_parsed begin(struct mc_text_input *input, uint32_t first)
{
    struct mc_parser *parser = input->parser;
    const struct mc_line *line = &input->line;
    uint32_t at =
        first < line->count ? (uint32_t)(line->token[first].at - input->bytes) : line->size;

    if (!keys_fit(input, at)) return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    parser->line_at = at;
    parser->line.form = (struct mc_form){.protocol = MC_TEXT};
    /* gets and gats end with an s. */
    parser->line.form.with_cas = line->token[0].at[line->token[0].size - 1] == 's';
    return mc_text_next_key(input);
}

enum mc_parsed mc_text_get(struct mc_text_input *input, enum mc_command command)
{
    (void)command;
    input->parser->line.touch = false;
    input->parser->line.expiry = 0;
    return begin(input, 1);
}

enum mc_parsed mc_text_gat(struct mc_text_input *input, enum mc_command command)
{
    int64_t exptime = 0;

    (void)command;
    if (!mc_token_signed(&input->line.token[1], &exptime))
        return mc_text_bad(input, "CLIENT_ERROR invalid exptime argument");
    input->parser->line.touch = true;
    input->parser->line.expiry = mc_expiry(exptime, input->now);
    return begin(input, 2);
}

/* The reply's END. */
static enum mc_parsed finish(struct mc_text_input *input, uint32_t at)
{
    const char *newline = memchr(input->bytes + at, '\n', input->size - at);

    if (newline == NULL) return MC_PARSED_CLOSE; /* The caller has lost the line. */
    input->parser->line_at = 0;
    input->request->command = MC_NOOP;
    input->request->form = input->parser->line.form;
    input->used = (uint32_t)(newline - input->bytes) + 1;
    return MC_PARSED_REQUEST;
}

enum mc_parsed mc_text_next_key(struct mc_text_input *input)
{
    const struct mc_request *line = &input->parser->line;
    struct mc_request *request = input->request;

    if (input->parser->line_at >= input->size) return MC_PARSED_CLOSE;
    struct word word = next_word(input->bytes, input->size, input->parser->line_at);
    if (word.begin == word.end) return finish(input, word.begin);
    if (word.end - word.begin > MC_KEY_MAX) return MC_PARSED_CLOSE;
    request->command = MC_GET;
    request->form = line->form;
    request->want_value = true;
    request->cas_unwanted = !line->form.with_cas;
    request->touch = line->touch;
    request->expiry = line->expiry;
    request->key_size = (uint8_t)(word.end - word.begin);
    memcpy(request->key, input->bytes + word.begin, request->key_size);
    input->parser->line_at = word.end;
    return MC_PARSED_REQUEST;
}
