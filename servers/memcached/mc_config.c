/* mc_config.c -- a configuration that is loaded: who holds it, and which prefix a key has. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "servers/memcached/mc_config_rows.h"

/* As memcmp; of two that begin alike the shorter one is before. */
static int compare(const char *a, uint32_t a_size, const char *b, uint32_t b_size)
{
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

/* The last prefix that is not behind these bytes. */
static const struct mc_prefix *last_not_behind(const struct mc_config *config, const char *key,
                                               uint32_t key_size)
{
    uint32_t low = 0, high = config->prefix_count; /* Never 0: the empty one is there. */

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        const struct mc_prefix *prefix = &config->prefixes[middle];
        if (compare(prefix->prefix, prefix->size, key, key_size) <= 0)
            low = middle;
        else
            high = middle;
    }
    return &config->prefixes[low];
}

/*
 * Whatever stands between a prefix of the key and the key begins with that prefix. So the last one
 * that is not behind the key is the one, or it has in common with the key what the one can be of at
 * most: the key is cut there and looked for again.
 */
const struct mc_prefix *mc_config_find(const struct mc_config *config, const char *key,
                                       uint32_t key_size)
{
    for (;;) {
        const struct mc_prefix *prefix = last_not_behind(config, key, key_size);
        uint32_t common = 0;
        while (common < prefix->size && common < key_size && prefix->prefix[common] == key[common])
            common++;
        if (common == prefix->size) return prefix;
        key_size = common;
    }
}

struct mc_config *mc_config_local(const char *role)
{
    struct mc_config *config = calloc(1, sizeof(*config));

    if (config == NULL) return NULL;
    config->references = 1;
    config->clusters = calloc(1, sizeof(*config->clusters));
    config->prefixes = calloc(1, sizeof(*config->prefixes));
    config->figures = calloc(1, sizeof(*config->figures));
    if (config->clusters == NULL || config->prefixes == NULL || config->figures == NULL) {
        mc_config_release(config);
        return NULL;
    }
    (void)snprintf(config->role, sizeof(config->role), "%s", role);
    config->cluster_count = 1;
    config->prefix_count = 1;
    config->prefixes[0].get = MC_CACHE_ONLY;
    config->prefixes[0].set = MC_CACHE_ONLY;
    config->prefixes[0].delete_ = MC_CACHE_ONLY;
    return config;
}

struct mc_config *mc_config_hold(struct mc_config *config)
{
    (void)__atomic_add_fetch(&config->references, 1, __ATOMIC_RELAXED);
    return config;
}

void mc_config_release(struct mc_config *config)
{
    if (config == NULL || __atomic_sub_fetch(&config->references, 1, __ATOMIC_ACQ_REL) != 0) return;
    for (uint32_t i = 0; i < config->container_count; i++)
        mc_container_clear(&config->containers[i]);
    free(config->containers);
    free(config->clusters);
    free(config->prefixes);
    free(config->figures);
    free(config);
}
