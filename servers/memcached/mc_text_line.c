/* mc_text_line.c -- tokens, numbers and base64 of the text protocol. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_text_line.h"
#include <string.h>

void mc_line_split(struct mc_line *line, const char *bytes, uint32_t newline)
{
    uint32_t at = 0;

    line->taken = newline + 1;
    line->size = newline > 0 && bytes[newline - 1] == '\r' ? newline - 1 : newline;
    line->count = 0;
    while (line->count < MC_TOKENS_MAX) {
        while (at < line->size && bytes[at] == ' ')
            at++;
        if (at == line->size) return;
        uint32_t begin = at;
        while (at < line->size && bytes[at] != ' ')
            at++;
        line->token[line->count++] = (struct mc_token){.at = bytes + begin, .size = at - begin};
    }
}

bool mc_token_is(const struct mc_token *token, const char *text)
{
    return token->size == strlen(text) && memcmp(token->at, text, token->size) == 0;
}

static bool digits(const char *at, uint32_t size, uint64_t max, uint64_t *number)
{
    uint64_t sum = 0;

    if (size == 0) return false;
    for (uint32_t index = 0; index < size; index++) {
        uint8_t digit = (uint8_t)(at[index] - '0');
        if (digit > 9 || sum > max / 10 || sum * 10 > max - digit) return false;
        sum = sum * 10 + digit;
    }
    *number = sum;
    return true;
}

bool mc_token_unsigned(const struct mc_token *token, uint64_t max, uint64_t *number)
{
    uint32_t sign = token->size > 0 && token->at[0] == '+';
    return digits(token->at + sign, token->size - sign, max, number);
}

bool mc_token_signed(const struct mc_token *token, int64_t *number)
{
    uint64_t size = 0;
    bool negative = token->size > 0 && token->at[0] == '-';
    uint32_t sign = negative || (token->size > 0 && token->at[0] == '+');

    if (!digits(token->at + sign, token->size - sign, (uint64_t)INT64_MAX, &size)) return false;
    *number = negative ? -(int64_t)size : (int64_t)size;
    return true;
}

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 64: not one of them. */
static uint32_t base64_value(char letter)
{
    const char *at = letter == '\0' ? NULL : strchr(base64, letter);
    return at == NULL ? 64 : (uint32_t)(at - base64);
}

/* Four letters; returns the number of bytes that they stand for, 0 if they are none. */
static uint32_t decode_group(const char *text, char *bytes)
{
    uint32_t filling = text[3] != '=' ? 0 : text[2] != '=' ? 1 : 2;
    uint32_t bits = 0;

    for (uint32_t index = 0; index < 4; index++) {
        uint32_t value = index >= 4 - filling ? 0 : base64_value(text[index]);
        if (value == 64) return 0;
        bits = bits << 6 | value;
    }
    if (filling > 0 && (bits & ((1u << (8 * filling)) - 1)) != 0) return 0; /* Stray bits. */
    for (uint32_t index = 0; index < 3 - filling; index++)
        bytes[index] = (char)(uint8_t)(bits >> (16 - 8 * index));
    return 3 - filling;
}

uint32_t mc_base64_decode(const char *text, uint32_t size, char *bytes)
{
    uint32_t count = 0;

    if (size == 0 || size % 4 != 0) return 0;
    for (uint32_t at = 0; at < size; at += 4) {
        uint32_t got = decode_group(text + at, bytes + count);
        if (got == 0 || (got < 3 && at + 4 < size)) return 0;
        count += got;
    }
    return count;
}

void mc_base64_put(const char *bytes, uint32_t size, struct mc_output *output)
{
    for (uint32_t at = 0; at < size; at += 3) {
        uint32_t left = size - at, bits = 0;
        char *letters = mc_put_space(output, 4);
        if (letters == NULL) return;
        for (uint32_t index = 0; index < 3; index++)
            bits = bits << 8 | (index < left ? (uint8_t)bytes[at + index] : 0u);
        for (uint32_t index = 0; index < 4; index++)
            letters[index] = index > left ? '=' : base64[bits >> (18 - 6 * index) & 63];
    }
}
