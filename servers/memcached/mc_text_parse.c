/* mc_text_parse.c -- the text protocol: lines to requests. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_text_line.h"
#include <string.h>
#include <strings.h>

#define LINE_MAX_DEFAULT (1024u * 1024u)
#define LINE_MAX_OTHERS  2048u /* Longest line, unless it asks for several keys. */
#define BLANKS_MAX       100u  /* Blanks before the command of a long line. */
#define SHORTEST         4u /* Bytes of a line with its end: there is no command of one letter. */

bool mc_text_take_key(struct mc_request *request, const struct mc_token *token)
{
    if (token->size == 0 || token->size > MC_KEY_MAX) return false;
    request->key_size = (uint8_t)token->size;
    memcpy(request->key, token->at, token->size);
    return true;
}

enum mc_parsed mc_text_bad(struct mc_text_input *input, const char *message)
{
    struct mc_request *request = input->request;
    struct mc_form form = {.protocol = request->form.protocol, .quiet = request->form.quiet};

    if (form.protocol == MC_META) form.quiet = false; /* Mistakes are told in spite of q. */
    mc_request_clear(request);
    request->command = MC_BAD;
    request->form = form;
    request->result.status = MC_INVALID;
    request->result.message = message;
    input->used = input->line.taken;
    return MC_PARSED_REQUEST;
}

enum mc_parsed mc_text_done(struct mc_text_input *input, enum mc_command command)
{
    input->request->command = command;
    input->used = input->line.taken;
    return MC_PARSED_REQUEST;
}

static bool noreply(const struct mc_text_input *input)
{
    return mc_token_is(&input->line.token[input->line.count - 1], "noreply");
}

/* touch key exptime [noreply] */
static enum mc_parsed touch(struct mc_text_input *input, enum mc_command command)
{
    struct mc_request *request = input->request;
    int64_t exptime = 0;

    request->form.quiet = noreply(input);
    if (!mc_text_take_key(request, &input->line.token[1]))
        return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    if (!mc_token_signed(&input->line.token[2], &exptime))
        return mc_text_bad(input, "CLIENT_ERROR invalid exptime argument");
    request->form.touch_only = true;
    request->touch = true;
    request->expiry = mc_expiry(exptime, input->now);
    return mc_text_done(input, command);
}

/* delete key [0] [noreply]: the number was once a time, and old clients still send it. */
static enum mc_parsed delete_key(struct mc_text_input *input, enum mc_command command)
{
    const struct mc_line *line = &input->line;
    bool zero = line->count > 2 && mc_token_is(&line->token[2], "0");
    bool quiet = line->count > 2 && noreply(input);

    input->request->form.quiet = quiet;
    if (line->count > 2u + zero + quiet)
        return mc_text_bad(input, MC_TEXT_BAD_FORMAT ".  Usage: delete <key> [noreply]");
    if (!mc_text_take_key(input->request, &line->token[1]))
        return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    return mc_text_done(input, command);
}

/* incr key delta [noreply], decr */
static enum mc_parsed arithmetic(struct mc_text_input *input, enum mc_command command)
{
    struct mc_request *request = input->request;

    request->form.quiet = noreply(input);
    if (!mc_text_take_key(request, &input->line.token[1]))
        return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    if (!mc_token_unsigned(&input->line.token[2], UINT64_MAX, &request->delta))
        return mc_text_bad(input, "CLIENT_ERROR invalid numeric delta argument");
    return mc_text_done(input, command);
}

/* flush_all [delay] [noreply] */
static enum mc_parsed flush_all(struct mc_text_input *input, enum mc_command command)
{
    const struct mc_line *line = &input->line;
    struct mc_request *request = input->request;
    int64_t delay = 0;

    request->form.quiet = noreply(input);
    if (line->count > (request->form.quiet ? 2u : 1u)) {
        if (!mc_token_signed(&line->token[1], &delay))
            return mc_text_bad(input, "CLIENT_ERROR invalid exptime argument");
        request->expiry = mc_expiry(delay, input->now);
        if (request->expiry == MC_EXPIRED) request->expiry = 0; /* A time that is over: at once. */
    }
    return mc_text_done(input, command);
}

/* verbosity level [noreply] */
static enum mc_parsed verbosity(struct mc_text_input *input, enum mc_command command)
{
    input->request->form.quiet = noreply(input);
    if (!mc_token_unsigned(&input->line.token[1], UINT64_MAX, &input->request->delta))
        return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    return mc_text_done(input, command);
}

/* stats [group [arguments]]: all of it is the key. */
static enum mc_parsed stats(struct mc_text_input *input, enum mc_command command)
{
    const struct mc_line *line = &input->line;

    if (line->count > 1) {
        const struct mc_token *first = &line->token[1];
        struct mc_token rest = {.at = first->at};
        rest.size = line->size - (uint32_t)(first->at - input->bytes);
        while (rest.at[rest.size - 1] == ' ')
            rest.size--;
        if (!mc_text_take_key(input->request, &rest))
            return mc_text_bad(input, "CLIENT_ERROR bad command line");
    }
    return mc_text_done(input, command);
}

/* shutdown [graceful]; delta says whether it is something else: first of all it is to be allowed.
 */
static enum mc_parsed stop(struct mc_text_input *input, enum mc_command command)
{
    const struct mc_line *line = &input->line;
    bool graceful = line->count == 2 && mc_token_is(&line->token[1], "graceful");

    input->request->delta = line->count > 1 && !graceful;
    return mc_text_done(input, command);
}

/* What these do to memcached's memory has no counterpart here. */
static enum mc_parsed not_here(struct mc_text_input *input, enum mc_command command)
{
    (void)command;
    return mc_text_bad(input, "CLIENT_ERROR command not supported by this server");
}

/* The least number of tokens with the command's own; those that are too many are passed over. */
static const struct text_command {
    const char *name;
    uint32_t count_min;
    enum mc_command command;
    enum mc_parsed (*parse)(struct mc_text_input *input, enum mc_command command);
} text_commands[] = {
    {"get", 2, MC_GET, mc_text_get},
    {"gets", 2, MC_GET, mc_text_get},
    {"bget", 2, MC_GET, mc_text_get}, /* An old name of get. */
    {"set", 5, MC_SET, mc_text_store},
    {"add", 5, MC_ADD, mc_text_store},
    {"replace", 5, MC_REPLACE, mc_text_store},
    {"append", 5, MC_APPEND, mc_text_store},
    {"prepend", 5, MC_PREPEND, mc_text_store},
    {"cas", 5, MC_SET, mc_text_cas},
    {"gat", 3, MC_GET, mc_text_gat},
    {"gats", 3, MC_GET, mc_text_gat},
    {"touch", 3, MC_GET, touch},
    {"delete", 2, MC_DELETE, delete_key},
    {"incr", 3, MC_INCREMENT, arithmetic},
    {"decr", 3, MC_DECREMENT, arithmetic},
    {"flush_all", 1, MC_FLUSH_ALL, flush_all},
    {"version", 1, MC_VERSION, mc_text_done},
    {"verbosity", 2, MC_VERBOSITY, verbosity},
    {"stats", 1, MC_STATS, stats},
    {"quit", 1, MC_QUIT, mc_text_done},
    {"shutdown", 1, MC_SHUTDOWN, stop},
    {"cache_memlimit", 1, MC_BAD, not_here},
    {"slabs", 1, MC_BAD, not_here},
    {"lru", 1, MC_BAD, not_here},
    {"lru_crawler", 1, MC_BAD, not_here},
    {"watch", 1, MC_BAD, not_here},
};

static enum mc_parsed dispatch(struct mc_text_input *input)
{
    const struct mc_line *line = &input->line;

    if (input->parser->authenticating) return mc_text_authenticate(input);
    if (line->taken < SHORTEST) return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
    if (line->count == 0) return mc_text_bad(input, "ERROR");
    if (line->token[0].size == 2 && line->token[0].at[0] == 'm') return mc_meta_parse(input);
    for (uint32_t index = 0; index < sizeof text_commands / sizeof text_commands[0]; index++) {
        const struct text_command *command = &text_commands[index];
        if (!mc_token_is(&line->token[0], command->name)) continue;
        if (line->count < command->count_min) return mc_text_bad(input, MC_TEXT_BAD_FORMAT);
        return command->parse(input, command->command);
    }
    return mc_text_bad(input, "ERROR");
}

/* The line that a browser begins with, of whatever method, or the header that follows it. */
static bool is_http(const char *bytes, const struct mc_line *line)
{
    const struct mc_token *first = &line->token[0];
    uint32_t end = line->size;

    while (end > 0 && bytes[end - 1] == ' ')
        end--;
    uint32_t begin = end;
    while (begin > 0 && bytes[begin - 1] != ' ')
        begin--;
    bool host = line->count > 0 && first->size >= 5 && strncasecmp(first->at, "host:", 5) == 0;
    return host || (begin > 0 && end - begin >= 5 && memcmp(bytes + begin, "HTTP/", 5) == 0);
}

/* Requests of ours may stand in what a browser was made to send: of HTTP nothing is taken, once a
   line shows that it is none of this protocol. */
static enum mc_parsed refuse_http(struct mc_text_input *input, enum mc_parsed parsed)
{
    const struct mc_request *request = input->request;
    bool mistake = parsed == MC_PARSED_REQUEST && request->command == MC_BAD &&
                   request->result.status == MC_INVALID;

    if (!mistake || !is_http(input->bytes, &input->line)) return parsed;
    input->used = 0;
    input->parser->skip = 0;
    return MC_PARSED_CLOSE;
}

/* Does the line, of which `size` bytes are there, ask for several keys? */
static bool may_be_long(const char *bytes, uint32_t size)
{
    static const char *const names[] = {"get ", "gets ", "gat ", "gats "};
    uint32_t at = 0;

    while (at < size && at < BLANKS_MAX && bytes[at] == ' ')
        at++;
    for (uint32_t index = 0; index < sizeof names / sizeof names[0]; index++) {
        size_t length = strlen(names[index]);
        if (size - at >= length && memcmp(bytes + at, names[index], length) == 0) return true;
    }
    return false;
}

/* Whether a line of at least so many bytes is one of this protocol. The same whether its end has
   come or not, so that it does not matter how the bytes are cut on their way. */
static bool too_long(const struct mc_text_input *input, uint32_t length)
{
    uint32_t line_max = input->parser->line_max;

    if (length <= LINE_MAX_OTHERS) return false;
    if (line_max == 0) line_max = LINE_MAX_DEFAULT;
    return length > line_max || !may_be_long(input->bytes, length);
}

static enum mc_parsed parse_line(struct mc_text_input *input)
{
    struct mc_parser *parser = input->parser;
    uint32_t seen = parser->line_seen <= input->size ? parser->line_seen : 0;
    const char *newline = memchr(input->bytes + seen, '\n', input->size - seen);

    parser->line_seen = newline == NULL ? input->size : (uint32_t)(newline - input->bytes);
    if (too_long(input, parser->line_seen)) return MC_PARSED_CLOSE;
    if (newline == NULL) return MC_PARSED_MORE;
    mc_line_split(&input->line, input->bytes, parser->line_seen);
    return refuse_http(input, dispatch(input));
}

static enum mc_parsed swallow(struct mc_text_input *input)
{
    uint64_t skip = input->parser->skip;

    input->used = skip < input->size ? (uint32_t)skip : input->size;
    input->parser->skip = skip - input->used;
    return MC_PARSED_NOTHING;
}

enum mc_parsed mc_text_parse(struct mc_parser *parser, const char *bytes, uint32_t size,
                             uint32_t now, struct mc_request *request, uint32_t *used,
                             uint32_t *need)
{
    struct mc_text_input input = {
        .parser = parser, .bytes = bytes, .size = size, .now = now, .request = request};
    enum mc_parsed parsed = MC_PARSED_MORE;

    if (size > 0 && parser->line_at > 0) {
        parsed = mc_text_next_key(&input);
    } else if (size > 0) {
        parsed = parser->skip > 0 ? swallow(&input) : parse_line(&input);
    }
    if (input.used > 0) parser->line_seen = 0;
    if (parsed != MC_PARSED_REQUEST) mc_request_clear(request); /* Frees what was begun. */
    *used = input.used;
    *need = input.need;
    return parsed;
}
