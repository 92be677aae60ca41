/* fuzz_config.c -- any bytes as a config.ini: refused with errors, or a configuration that survives
 * its binary form. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "config/config_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct config_report report = {.lines = NULL};
    struct cluster_config *config = config_parse_text((const char *)bytes, size, "c.ini", &report);
    char why[128];
    size_t encoded_size;

    if ((config == NULL) != (report.errors > 0)) abort();
    config_report_clear(&report);
    if (config == NULL) return 0;
    uint8_t *encoded = config_encode(config, &encoded_size);
    if (encoded == NULL) abort();
    struct cluster_config *again = config_decode(encoded, encoded_size, why, sizeof(why));
    if (again == NULL || !config_equal(config, again, NULL, 0)) abort();
    config_free(again);
    config_free(config);
    free(encoded);
    return 0;
}
