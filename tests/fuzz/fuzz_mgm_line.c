/* fuzz_mgm_line.c -- any bytes as a management session, a connect string and a console command. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/mgm_handle.h"
#include "config/message.h"
#include "tools/ndb_mgm_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void fuzz_session(const uint8_t *bytes, size_t size)
{
    struct mgm_parser parser;
    size_t at = 0;

    if (mgm_parser_init(&parser, MGM_REQUEST_PAIRS_MAX, MGM_REQUEST_TEXT_MAX) != 0) return;
    while (at < size) {
        size_t used = 0;
        enum mgm_parse state = mgm_parser_feed(&parser, bytes + at, size - at, &used);
        if (used == 0 || used > size - at) abort();
        at += used;
        if (state == MGM_PARSE_ERROR) break;
        if (state != MGM_PARSE_DONE) continue;
        (void)mgm_value(&parser, "node");
        mgm_parser_reset(&parser);
    }
    mgm_parser_free(&parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct mgm_connectstring *target = malloc(sizeof(*target));
    struct console_command command;
    char why[512];
    char *text = malloc(size + 1);

    fuzz_session(bytes, size);
    if (text != NULL && target != NULL) {
        memcpy(text, bytes, size);
        text[size] = '\0';
        (void)console_parse(text, &command, why, sizeof(why));
        (void)mgm_connectstring_parse(text, target, why, sizeof(why));
    }
    free(text);
    free(target);
    return 0;
}
