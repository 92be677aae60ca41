/* fuzz_mc_text.c -- any bytes from a memcached client: requests of the text protocol, the same
 * ones however the bytes are cut, and a reply to each. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "servers/memcached/mc_parse.h"

#define NOW 1000000u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What a request says, for comparison, and the printer's answer to it. */
static void note(struct mc_request *request, uint32_t status, struct mc_output *output)
{
    mc_put_number(output, (uint64_t)request->command);
    mc_put(output, request->key, request->key_size);
    if (request->value != NULL) mc_put(output, request->value->bytes, request->value->size);
    mc_put_number(output, request->expiry);
    if (request->command != MC_BAD) {
        request->result.status = (enum mc_status)(status % (MC_STATUSES + 1));
        if (request->want_value && request->result.status == MC_OK)
            request->result.value = mc_value_create(0);
    }
    mc_meta_reply(request, NOW, output);
    mc_text_reply(request, output);
}

/* In pieces of `piece` bytes. A copy of what is there has its own borders. */
static void parse(const uint8_t *bytes, size_t size, size_t piece, bool authenticating,
                  struct mc_output *output)
{
    struct mc_parser parser = {.value_max = 500, .authenticating = authenticating};
    struct mc_request request = {0};
    enum mc_parsed parsed = MC_PARSED_MORE;
    uint32_t status = 0, used, need;

    for (size_t taken = 0, come = 0; come < size && parsed != MC_PARSED_CLOSE;) {
        come = piece > size - come ? size : come + piece;
        do {
            uint32_t line_at = parser.line_at, left = (uint32_t)(come - taken);
            char *copy = malloc(left + 1u);
            if (copy == NULL) abort();
            /* To the end of the block, so that a byte too far is one too many. */
            memcpy(copy + 1, bytes + taken, left);
            parsed = mc_text_parse(&parser, copy + 1, left, NOW, &request, &used, &need);
            free(copy);
            if (used > left) abort();
            if (parsed == MC_PARSED_MORE && (used != 0 || (need != 0 && need <= left))) abort();
            if ((parsed == MC_PARSED_REQUEST || parsed == MC_PARSED_NOTHING) && used == 0 &&
                parser.line_at <= line_at) {
                abort();
            }
            taken += used;
            if (parsed == MC_PARSED_REQUEST) note(&request, status++, output);
            mc_request_clear(&request);
        } while (parsed == MC_PARSED_REQUEST || parsed == MC_PARSED_NOTHING);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct mc_output whole = {0}, pieces = {0};

    if (size < 1) return 0;
    bool authenticating = bytes[0] % 16 == 0;
    size_t piece = 1u + bytes[0] / 16u;
    parse(bytes + 1, size - 1, size, authenticating, &whole);
    parse(bytes + 1, size - 1, piece, authenticating, &pieces);
    if (whole.size != pieces.size) abort();
    if (whole.size > 0 && memcmp(whole.bytes, pieces.bytes, whole.size) != 0) abort();
    mc_output_free(&whole);
    mc_output_free(&pieces);
    return 0;
}
