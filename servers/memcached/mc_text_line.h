/* mc_text_line.h -- lines of the text protocol, and what its parsers share; private to them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_parse.h"

/* More than any command but get has: command, key, size, MC_META_FLAGS_MAX flags, and some. */
#define MC_TOKENS_MAX 32u

struct mc_token {
    const char *at;
    uint32_t size;
};

struct mc_line {
    uint32_t size;  /* Bytes without the line's end. */
    uint32_t taken; /* Bytes with it: LF, or CR and LF. */
    uint32_t count; /* Tokens; at most MC_TOKENS_MAX: there may be more then. */
    struct mc_token token[MC_TOKENS_MAX];
};

/* One call of mc_text_parse. */
struct mc_text_input {
    struct mc_parser *parser;
    const char *bytes;
    uint32_t size, now;
    struct mc_request *request;
    uint32_t used, need;
    struct mc_line line;
};

/* Splits the line whose LF stands at `newline`. */
void mc_line_split(struct mc_line *line, const char *bytes, uint32_t newline);

bool mc_token_is(const struct mc_token *token, const char *text);
/* Decimal, perhaps with a sign; false: it is no such number, or too large a one. */
bool mc_token_unsigned(const struct mc_token *token, uint64_t max, uint64_t *number);
bool mc_token_signed(const struct mc_token *token, int64_t *number);

/* Returns the number of bytes, or 0: it is not base64 of at least one byte. Writes at most
   3/4 of `size`. */
uint32_t mc_base64_decode(const char *text, uint32_t size, char *bytes);
/* Appends it. */
void mc_base64_put(const char *bytes, uint32_t size, struct mc_output *output);

/* The key, unless it is too long (or empty). */
bool mc_text_take_key(struct mc_request *request, const struct mc_token *token);
/* The line is taken and answered by `message`, unless it is noreply. */
enum mc_parsed mc_text_bad(struct mc_text_input *input, const char *message);
/* So is the data block that follows. */
enum mc_parsed mc_text_refuse(struct mc_text_input *input, const char *message, uint64_t size);
/* The request is complete without its value, which follows the line; `size` is up to
   MC_TEXT_SIZE_MAX. */
enum mc_parsed mc_text_data(struct mc_text_input *input, uint64_t size);
/* The same for a request without a value. */
enum mc_parsed mc_text_done(struct mc_text_input *input, enum mc_command command);

/* Larger sizes are not taken for sizes at all: nothing is swallowed. */
#define MC_TEXT_SIZE_MAX 2147483645u

/* A new line with several keys, and the next of them. */
enum mc_parsed mc_text_get(struct mc_text_input *input, enum mc_command command);
enum mc_parsed mc_text_gat(struct mc_text_input *input, enum mc_command command);
enum mc_parsed mc_text_next_key(struct mc_text_input *input);

/* Commands with a data block, and the one that is taken before a user is known. */
enum mc_parsed mc_text_store(struct mc_text_input *input, enum mc_command command);
enum mc_parsed mc_text_cas(struct mc_text_input *input, enum mc_command command);
enum mc_parsed mc_text_authenticate(struct mc_text_input *input);

/* mg, ms, md, ma, mn, me: the first token has two letters and the first one is m. */
enum mc_parsed mc_meta_parse(struct mc_text_input *input);

/* "SERVER_ERROR ..." or "CLIENT_ERROR ..." of a status that has no word of its own in a protocol.
 */
void mc_text_put_error(const struct mc_request *request, struct mc_output *output);

#define MC_TEXT_BAD_FORMAT "CLIENT_ERROR bad command line format"
