/* fuzz_mc_binary.c -- any bytes as a memcached client of the binary protocol, on a cache. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_cache.h"
#include "servers/memcached/mc_parse.h"

#define NOW 1000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(struct mc_cache *cache, struct mc_request *request, struct mc_output *output)
{
    if (request->command < MC_ENGINE_COMMANDS) mc_cache_execute(cache, request, NOW);
    if (request->command == MC_STATS) mc_binary_reply_stat(request, "name", "value", output);
    mc_binary_reply(request, output);
    mc_request_clear(request);
}

/* What has come up to `end`; returns where the next request begins, or SIZE_MAX: closed. */
static size_t feed(struct mc_parser *parser, const uint8_t *data, size_t at, size_t end,
                   struct mc_cache *cache, struct mc_output *output)
{
    for (;;) {
        struct mc_request request = {.command = MC_GET};
        uint32_t used = 0, need = 0, size = (uint32_t)(end - at);
        enum mc_parsed parsed =
            mc_binary_parse(parser, (const char *)data + at, size, NOW, &request, &used, &need);
        if (used > size) abort();
        if (parsed == MC_PARSED_CLOSE) return SIZE_MAX;
        if (parsed == MC_PARSED_MORE && used != 0) abort();
        if (parsed == MC_PARSED_MORE) return at;
        if (used == 0) abort();
        at += used;
        if (parsed == MC_PARSED_REQUEST) answer(cache, &request, output);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mc_cache_options options = {.bytes_max = 10000, .value_max = 1000};
    struct mc_parser parser = {.value_max = 1000};
    struct mc_output output = {0};
    if (size == 0 || size > 100000) return 0;
    struct mc_cache *cache = mc_cache_create(&options);
    if (cache == NULL) return 0;
    size_t step = data[0] + 1u, at = 1;
    for (size_t end = 1; at != SIZE_MAX && end < size;) {
        end = size - end > step ? end + step : size;
        at = feed(&parser, data, at, end, cache, &output);
    }
    mc_output_free(&output);
    mc_cache_free(cache);
    return 0;
}
