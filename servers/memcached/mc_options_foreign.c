/* mc_options_foreign.c -- memcached's switches that have nothing to set here: they are told, and
 * passed over. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who comes from memcached brings its command line along. What tunes its slabs, its threads behind
 * the scenes or its storage has no counterpart; a name that is none of memcached's is an error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_options.h"

/* Sub-options of -o; each may have "no_" before it, and a value. */
static const char *const extended[] = {
    "maxconns_fast",
    "hashpower",
    "tail_repair_time",
    "hash_algorithm",
    "lru_crawler",
    "lru_crawler_sleep",
    "lru_crawler_tocrawl",
    "read_buf_mem_limit",
    "lru_maintainer",
    "hot_lru_pct",
    "warm_lru_pct",
    "hot_max_factor",
    "warm_max_factor",
    "temporary_ttl",
    "idle_timeout",
    "slab_chunk_max",
    "slab_reassign",
    "slab_automove",
    "slab_automove_ratio",
    "slab_automove_window",
    "slab_automove_freeratio",
    "watcher_logbuf_size",
    "worker_logbuf_size",
    "track_sizes",
    "hashexpand",
    "modern",
    "sock_cookie_id",
    "inline_ascii_resp",
    "inline_ascii_response",
    "chunked_items",
    "resp_obj_mem_limit",
    "drop_privileges",
    "relaxed_privileges",
    "meta_response_old",
    "memory_file",
    "tap_backlog",
    "ext_path",
    "ext_page_size",
    "ext_wbuf_size",
    "ext_threads",
    "ext_item_size",
    "ext_item_age",
    "ext_low_ttl",
    "ext_drop_unread",
    "ext_recache_rate",
    "ext_compact_under",
    "ext_drop_under",
    "ext_max_frag",
    "ext_max_sleep",
    "ext_free_memchunks",
    "ext_io_depth",
    "ext_global_pool_min",
    "ssl_keyformat",
    "ssl_verify_mode",
    "ssl_ciphers",
    "ssl_ca_cert",
    "ssl_wbuf_size",
    "ssl_session_cache",
    "ssl_kernel_tls",
    "ssl_min_version",
    "proxy_config",
    "proxy_uring",
    "proxy_arg",
    "proxy_memprofile",
};

void mc_options_passed_over(const char *what)
{
    fprintf(stderr, "ndb_memcached: %s means nothing here and is passed over\n", what);
}

static bool is_extended(const char *name)
{
    for (uint32_t i = 0; i < sizeof extended / sizeof extended[0]; i++)
        if (strcmp(name, extended[i]) == 0) return true;
    return strncmp(name, "no_", 3) == 0 && is_extended(name + 3);
}

int mc_options_extended(struct mc_options *options, char *text)
{
    char *rest;
    char shown[128];
    for (char *item = strtok_r(text, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest)) {
        char *equal = strchr(item, '=');
        if (equal != NULL) *equal = '\0';
        if (equal != NULL && strcmp(item, "ssl_chain_cert") == 0) {
            options->tls_chain = equal + 1;
        } else if (equal != NULL && strcmp(item, "ssl_key") == 0) {
            options->tls_key = equal + 1;
        } else if (is_extended(item)) {
            snprintf(shown, sizeof shown, "-o %s", item);
            mc_options_passed_over(shown);
        } else {
            fprintf(stderr, "ndb_memcached: -o knows no %s\n", item);
            return -1;
        }
    }
    return 0;
}
