/* fuzz_config_binary.c -- any bytes as an encoded configuration; the header is made right, so that
 * the rest is reached. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Magic, format and length are put in, and the checksum behind. */
static void fuzz_sealed(const uint8_t *bytes, size_t size)
{
    size_t words = size / 4;
    char why[128];
    uint8_t *sealed = calloc(words + 10, 4);

    if (sealed == NULL) return;
    memcpy(sealed, "NDBCFIN1", 8);
    uint32_t head[2] = {1, (uint32_t)words + 6};
    memcpy(sealed + 8, head, 8);
    memcpy(sealed + 16, bytes, words * 4);
    uint64_t sum = XXH3_64bits(sealed, 16 + words * 4);
    memcpy(sealed + 16 + words * 4, &sum, 8);
    config_free(config_decode(sealed, 24 + words * 4, why, sizeof(why)));
    free(sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char why[128];
    size_t decoded_size;
    uint8_t *decoded = config_base64_decode((const char *)bytes, size, &decoded_size);

    free(decoded);
    config_free(config_decode(bytes, size, why, sizeof(why)));
    if (size >= 16) fuzz_sealed(bytes, size);
    return 0;
}
