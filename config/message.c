/* message.c -- reads messages of the management protocol from a stream of untrusted bytes. */
/* SPDX-License-Identifier: MIT */
#include "config/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int mgm_parser_init(struct mgm_parser *parser, uint32_t pairs_max, uint32_t text_max)
{
    *parser = (struct mgm_parser){.pairs_max = pairs_max, .text_max = text_max};
    parser->text = malloc(text_max);
    parser->pairs = calloc(pairs_max, sizeof(*parser->pairs));
    if (parser->text == NULL || parser->pairs == NULL) {
        mgm_parser_free(parser);
        return -1;
    }
    mgm_parser_reset(parser);
    return 0;
}

void mgm_parser_free(struct mgm_parser *parser)
{
    free(parser->text);
    free(parser->pairs);
    parser->text = NULL;
    parser->pairs = NULL;
}

void mgm_parser_reset(struct mgm_parser *parser)
{
    parser->text[0] = '\0';
    parser->text_used = 1;
    parser->pair_count = 0;
    parser->has_command = false;
}

bool mgm_parser_between(const struct mgm_parser *parser)
{
    return !parser->has_command && parser->line_used == 0;
}

static enum mgm_parse refuse(struct mgm_parser *parser, const char *reason)
{
    (void)snprintf(parser->error, sizeof(parser->error), "%s", reason);
    return MGM_PARSE_ERROR;
}

/* Copies a piece of the line; its offset, or 0 when the text is full (offset 0 is the empty
 * string). */
static uint32_t keep(struct mgm_parser *parser, const char *from, size_t length)
{
    uint32_t at = parser->text_used;

    while (length > 0 && (from[length - 1] == ' ' || from[length - 1] == '\t'))
        length--;
    if (length + 1 > parser->text_max - parser->text_used) return 0;
    memcpy(parser->text + at, from, length);
    parser->text[at + length] = '\0';
    parser->text_used += (uint32_t)length + 1;
    return at;
}

static enum mgm_parse take_line(struct mgm_parser *parser)
{
    char *line = parser->line;
    size_t length = parser->line_used;

    parser->line_used = 0;
    if (length > 0 && line[length - 1] == '\r') length--;
    while (length > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    if (length == 0) return parser->has_command ? MGM_PARSE_DONE : MGM_PARSE_MORE;
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line[i] < ' ' && line[i] != '\t') {
            return refuse(parser, "control character in a line");
        }
    }
    if (!parser->has_command) {
        if (keep(parser, line, length) == 0) return refuse(parser, "message is too long");
        parser->has_command = true;
        return MGM_PARSE_MORE;
    }
    const char *colon = memchr(line, ':', length);
    if (colon == NULL || colon == line) return refuse(parser, "line is not \"name: value\"");
    if (parser->pair_count == parser->pairs_max)
        return refuse(parser, "message has too many lines");
    const char *value = colon + 1;
    while (value < line + length && (*value == ' ' || *value == '\t'))
        value++;
    struct mgm_pair pair = {.name = keep(parser, line, (size_t)(colon - line)),
                            .value = keep(parser, value, (size_t)(line + length - value))};
    if (pair.name == 0 || pair.value == 0) return refuse(parser, "message is too long");
    parser->pairs[parser->pair_count++] = pair;
    return MGM_PARSE_MORE;
}

enum mgm_parse mgm_parser_feed(struct mgm_parser *parser, const uint8_t *bytes, size_t size,
                               size_t *consumed)
{
    for (size_t i = 0; i < size; i++) {
        *consumed = i + 1;
        if (bytes[i] == '\n') {
            enum mgm_parse state = take_line(parser);
            if (state != MGM_PARSE_MORE) return state;
            continue;
        }
        if (parser->line_used == MGM_LINE_MAX) return refuse(parser, "line is too long");
        parser->line[parser->line_used++] = (char)bytes[i];
    }
    *consumed = size;
    return MGM_PARSE_MORE;
}

const char *mgm_command(const struct mgm_parser *parser)
{
    return parser->has_command ? parser->text + 1 : "";
}

const char *mgm_value(const struct mgm_parser *parser, const char *name)
{
    for (uint32_t i = 0; i < parser->pair_count; i++) {
        if (strcasecmp(parser->text + parser->pairs[i].name, name) == 0) {
            return parser->text + parser->pairs[i].value;
        }
    }
    return NULL;
}

const char *mgm_pair_name(const struct mgm_parser *parser, uint32_t index)
{
    return index < parser->pair_count ? parser->text + parser->pairs[index].name : "";
}

const char *mgm_pair_value(const struct mgm_parser *parser, uint32_t index)
{
    return index < parser->pair_count ? parser->text + parser->pairs[index].value : "";
}

int mgm_parse_number(const char *text, int64_t *value)
{
    int64_t sum = 0;
    bool negative = *text == '-';

    *value = 0;
    if (negative) text++;
    if (*text < '0' || *text > '9') return -1;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (sum > (INT64_MAX - 9) / 10) return -1;
        sum = sum * 10 + (*text - '0');
    }
    if (*text != '\0') return -1;
    *value = negative ? -sum : sum;
    return 0;
}

int mgm_parse_id(const char *text, uint64_t *id)
{
    uint64_t sum = 0;

    *id = 0;
    if (text == NULL || *text == '\0') return -1;
    for (; *text >= '0' && *text <= '9'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (sum > (UINT64_MAX - digit) / 10) return -1;
        sum = sum * 10 + digit;
    }
    if (*text != '\0' || sum == 0) return -1;
    *id = sum;
    return 0;
}

int mgm_number(const struct mgm_parser *parser, const char *name, int64_t min, int64_t max,
               int64_t missing, int64_t *value)
{
    const char *text = mgm_value(parser, name);

    *value = missing;
    if (text == NULL) return 0;
    if (mgm_parse_number(text, value) != 0 || *value < min || *value > max) return -1;
    return 0;
}
