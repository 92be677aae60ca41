/* message.h -- the line grammar of the management protocol, for server and client. */
/* SPDX-License-Identifier: MIT
 *
 * A message is a command line, `name: value` lines and an empty line. See
 * docs/protocols/management.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MGM_LINE_MAX          1024u
#define MGM_REQUEST_PAIRS_MAX 64u
#define MGM_REQUEST_TEXT_MAX  16384u
#define MGM_REPLY_PAIRS_MAX   8192u /* Lines of a reply: 255 nodes with 20 lines each are less. */
#define MGM_REPLY_TEXT_MAX    (1u << 20)

struct mgm_pair {
    uint32_t name; /* Offsets into text. */
    uint32_t value;
};

struct mgm_parser {
    char *text; /* Command, names and values, each ended by NUL. Owned. */
    struct mgm_pair *pairs;
    uint32_t text_max;
    uint32_t text_used;
    uint32_t pairs_max;
    uint32_t pair_count;
    bool has_command;
    uint32_t line_used;
    char line[MGM_LINE_MAX + 1];
    char error[96];
};

enum mgm_parse { MGM_PARSE_MORE, MGM_PARSE_DONE, MGM_PARSE_ERROR };

/* 0, or -1 when memory is out. */
int mgm_parser_init(struct mgm_parser *parser, uint32_t pairs_max, uint32_t text_max);
void mgm_parser_free(struct mgm_parser *parser);

/* Forgets the message that was read; a half line stays. */
void mgm_parser_reset(struct mgm_parser *parser);
/* Nothing of a message was read, apart from what is empty. */
bool mgm_parser_between(const struct mgm_parser *parser);

/* Takes bytes until one message is complete; `*consumed` says how many. ERROR: see parser->error;
 * the stream cannot be read further. */
enum mgm_parse mgm_parser_feed(struct mgm_parser *parser, const uint8_t *bytes, size_t size,
                               size_t *consumed);

const char *mgm_command(const struct mgm_parser *parser);
/* NULL when the message has no such name. Any case. */
const char *mgm_value(const struct mgm_parser *parser, const char *name);
/* `*value` is set to `missing` when there is no such name. 0, or -1: no decimal number in min..max.
 */
int mgm_number(const struct mgm_parser *parser, const char *name, int64_t min, int64_t max,
               int64_t missing, int64_t *value);
const char *mgm_pair_name(const struct mgm_parser *parser, uint32_t index);
const char *mgm_pair_value(const struct mgm_parser *parser, uint32_t index);

/* A decimal number with optional sign and nothing else. 0 or -1. */
int mgm_parse_number(const char *text, int64_t *value);
/* A cluster id: decimal, not 0. 0 or -1. */
int mgm_parse_id(const char *text, uint64_t *id);
