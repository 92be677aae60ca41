/* config_base64.c -- bytes as base64 text, as the management protocol carries configurations. */
/* SPDX-License-Identifier: MIT */
#include "config/config.h"

#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *config_base64_encode(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size / 3 * 4 + 5);
    char *at = text;

    if (text == NULL) return NULL;
    for (size_t i = 0; i < size; i += 3) {
        size_t n = size - i < 3 ? size - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16;
        if (n > 1) bits |= (uint32_t)bytes[i + 1] << 8;
        if (n > 2) bits |= (uint32_t)bytes[i + 2];
        *at++ = alphabet[bits >> 18 & 63];
        *at++ = alphabet[bits >> 12 & 63];
        *at++ = n > 1 ? alphabet[bits >> 6 & 63] : '=';
        *at++ = n > 2 ? alphabet[bits & 63] : '=';
    }
    *at = '\0';
    return text;
}

static int letter_value(char c)
{
    const char *at = c == '\0' ? NULL : strchr(alphabet, c);

    return at == NULL ? -1 : (int)(at - alphabet);
}

uint8_t *config_base64_decode(const char *text, size_t length, size_t *size)
{
    uint8_t *bytes = malloc(length / 4 * 3 + 3);
    uint32_t bits = 0;
    uint32_t letters = 0;
    uint32_t pads = 0;
    size_t count = 0;

    *size = 0;
    if (bytes == NULL) return NULL;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '\n' || c == '\r' || c == ' ') continue;
        int value = letter_value(c);
        if (c == '=' && letters % 4 >= 2) {
            value = 0;
            pads++;
        }
        if (value < 0 || (pads > 0 && c != '=') || pads > 2) {
            free(bytes);
            return NULL;
        }
        bits = bits << 6 | (uint32_t)value;
        if (++letters % 4 != 0) continue;
        bytes[count++] = (uint8_t)(bits >> 16);
        bytes[count++] = (uint8_t)(bits >> 8);
        bytes[count++] = (uint8_t)bits;
    }
    if (letters % 4 != 0) {
        free(bytes);
        return NULL;
    }
    *size = count - pads;
    return bytes;
}
