/* mc_config_check.c -- a role's rows become a configuration; prefixes that are wrong are left out.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "servers/memcached/mc_config_rows.h"

struct builder {
    const struct mc_config_source *source;
    const struct mc_tables *tables;
    struct mc_config *config;
    ndb_t **ndbs;                /* One for each cluster, by the cluster's index. */
    uint32_t *container_cluster; /* The cluster of each container, by the container's index. */
    uint32_t refused;
    struct mc_config_error *error;
};

static const char *prefix_text(const struct builder *builder, uint32_t row, uint32_t column)
{
    return mc_rows_text(&builder->tables->of[MC_TABLE_PREFIXES], row, column);
}

/* ---- Policies ---- */

static bool read_word(const char *text, enum mc_policy *policy)
{
    static const char *const words[] = {[MC_DISABLED] = "disabled",
                                        [MC_CACHE_ONLY] = "cache_only",
                                        [MC_NDB_ONLY] = "ndb_only",
                                        [MC_CACHING] = "caching"};

    for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(text, words[i]) != 0) continue;
        *policy = (enum mc_policy)i;
        return true;
    }
    return false;
}

static enum mc_checked read_policy(struct builder *builder, uint32_t row, struct mc_prefix *prefix)
{
    const struct mc_rows *policies = &builder->tables->of[MC_TABLE_POLICIES];
    const char *name = prefix_text(builder, row, PREFIX_POLICY);
    uint32_t at = mc_rows_find(policies, POLICY_NAME, name);
    enum mc_policy *const members[] = {&prefix->get, &prefix->set, &prefix->delete_};

    if (at == UINT32_MAX)
        return mc_config_fail(builder->error, "there is no policy \"%s\" in cache_policies", name);
    for (uint32_t i = 0; i < 3; i++) {
        const char *word = mc_rows_text(policies, at, POLICY_GET + i);
        if (!read_word(word, members[i]))
            return mc_config_fail(builder->error,
                                  "%s \"%s\" of policy \"%s\" is not cache_only, ndb_only, caching "
                                  "or disabled",
                                  mc_table_forms[MC_TABLE_POLICIES].column[POLICY_GET + i], word,
                                  name);
    }
    const char *flush = mc_rows_text(policies, at, POLICY_FLUSH);
    prefix->flush_from_db = strcasecmp(flush, "true") == 0;
    if (!prefix->flush_from_db && strcasecmp(flush, "false") != 0)
        return mc_config_fail(builder->error,
                              "flush_from_db \"%s\" of policy \"%s\" is neither true nor false",
                              flush, name);
    (void)snprintf(prefix->policy, sizeof(prefix->policy), "%s", name);
    return MC_CHECKED;
}

static bool uses_database(const struct mc_prefix *prefix)
{
    return prefix->get >= MC_NDB_ONLY || prefix->set >= MC_NDB_ONLY ||
           prefix->delete_ >= MC_NDB_ONLY;
}

static bool all_disabled(const struct mc_prefix *prefix)
{
    return prefix->get == MC_DISABLED && prefix->set == MC_DISABLED &&
           prefix->delete_ == MC_DISABLED;
}

/* ---- Clusters ---- */

/* Finds the index of a cluster_id. Clusters that the primary connection reaches have index 0. */
static enum mc_checked find_cluster(struct builder *builder, uint32_t id, uint32_t *index)
{
    const struct mc_rows *rows = &builder->tables->of[MC_TABLE_CLUSTERS];
    struct mc_config *config = builder->config;
    uint32_t row = mc_rows_find_number(rows, CLUSTER_ID, id);

    *index = 0;
    if (row == UINT32_MAX)
        return mc_config_fail(builder->error, "there is no cluster %u in ndb_clusters", id);
    const char *connect_string = mc_rows_text(rows, row, CLUSTER_CONNECT_STRING);
    if (id == 0 || connect_string[0] == '\0') return MC_CHECKED;
    for (uint32_t i = 1; i < config->cluster_count; i++) {
        if (config->clusters[i].id != id) continue;
        *index = i;
        return MC_CHECKED;
    }
    *index = config->cluster_count++;
    struct mc_cluster *cluster = &config->clusters[*index];
    cluster->id = id;
    cluster->microsec_rtt = mc_rows_number(rows, row, CLUSTER_RTT);
    (void)snprintf(cluster->connect_string, sizeof(cluster->connect_string), "%s", connect_string);
    if (builder->source->connect != NULL)
        builder->ndbs[*index] = builder->source->connect(builder->source->context, cluster);
    return MC_CHECKED;
}

static void begin_clusters(struct builder *builder)
{
    const struct mc_rows *rows = &builder->tables->of[MC_TABLE_CLUSTERS];
    uint32_t row = mc_rows_find_number(rows, CLUSTER_ID, 0);

    builder->config->cluster_count = 1;
    builder->config->clusters[0].microsec_rtt =
        row == UINT32_MAX ? 250 : mc_rows_number(rows, row, CLUSTER_RTT);
    builder->ndbs[0] = builder->source->primary;
}

/* ---- Containers ---- */

static enum mc_checked compile_container(struct builder *builder, const char *name,
                                         struct mc_prefix *prefix)
{
    const struct mc_rows *rows = &builder->tables->of[MC_TABLE_CONTAINERS];
    struct mc_config *config = builder->config;
    uint32_t row = mc_rows_find(rows, CONTAINER_NAME, name);

    if (row == UINT32_MAX)
        return mc_config_fail(builder->error, "there is no container \"%s\" in containers", name);
    for (uint32_t i = 0; i < config->container_count; i++) {
        if (strcmp(config->containers[i].name, name) != 0 ||
            builder->container_cluster[i] != prefix->cluster)
            continue;
        prefix->container = &config->containers[i];
        return MC_CHECKED;
    }
    if (builder->ndbs[prefix->cluster] == NULL) {
        config->unreachable = true;
        return mc_config_fail(builder->error, "cluster %u at \"%s\" cannot be reached",
                              config->clusters[prefix->cluster].id,
                              config->clusters[prefix->cluster].connect_string);
    }
    struct mc_container *container = &config->containers[config->container_count];
    enum mc_checked checked =
        mc_container_compile(builder->ndbs[prefix->cluster], rows, row, container, builder->error);
    if (checked != MC_CHECKED) {
        mc_container_clear(container);
        return checked;
    }
    builder->container_cluster[config->container_count++] = prefix->cluster;
    prefix->container = container;
    return MC_CHECKED;
}

static enum mc_checked read_container(struct builder *builder, uint32_t row,
                                      struct mc_prefix *prefix)
{
    const char *name = prefix_text(builder, row, PREFIX_CONTAINER);

    if (uses_database(prefix)) {
        if (name[0] != '\0') return compile_container(builder, name, prefix);
        return mc_config_fail(builder->error, "policy \"%s\" needs a container", prefix->policy);
    }
    if (name[0] == '\0') return MC_CHECKED;
    if (all_disabled(prefix)) return compile_container(builder, name, prefix);
    return mc_config_fail(builder->error,
                          "policy \"%s\" is for the cache only, and cannot have container \"%s\"",
                          prefix->policy, name);
}

/* ---- Prefixes ---- */

static enum mc_checked read_prefix(struct builder *builder, uint32_t row, struct mc_prefix *prefix)
{
    const struct mc_cell *text =
        mc_rows_cell(&builder->tables->of[MC_TABLE_PREFIXES], row, PREFIX_PREFIX);
    uint32_t cluster = mc_rows_number(&builder->tables->of[MC_TABLE_PREFIXES], row, PREFIX_CLUSTER);

    prefix->size = text->size;
    if (text->size > MC_KEY_MAX)
        return mc_config_fail(builder->error, "it is longer than a key can be");
    if (text->text != NULL) memcpy(prefix->prefix, text->text, text->size);
    enum mc_checked checked = read_policy(builder, row, prefix);
    if (checked == MC_CHECKED) checked = find_cluster(builder, cluster, &prefix->cluster);
    if (checked == MC_CHECKED) checked = read_container(builder, row, prefix);
    return checked;
}

static void tell_refused(struct builder *builder, uint32_t row)
{
    const struct mc_cell *text =
        mc_rows_cell(&builder->tables->of[MC_TABLE_PREFIXES], row, PREFIX_PREFIX);
    char shown[MC_SHOWN_MAX], line[MC_SHOWN_MAX + sizeof(builder->error->text) + 100];

    if (builder->source->log == NULL) return;
    (void)snprintf(line, sizeof(line), "key prefix \"%s\" of role %s is refused: %s",
                   mc_config_shown(text->text, text->size, shown), builder->config->role,
                   builder->error->text);
    builder->source->log(builder->source->context, line);
}

/* It stays, with nothing allowed: its keys must not go to where a shorter prefix leads. One that no
 * key can have is none. */
static void keep_refused(struct builder *builder, struct mc_prefix *prefix)
{
    struct mc_prefix refused = {.size = prefix->size, .refused = true};
    memcpy(refused.prefix, prefix->prefix, sizeof(refused.prefix));
    (void)snprintf(refused.policy, sizeof(refused.policy), "%s", prefix->policy);
    builder->refused++;
    *prefix = (struct mc_prefix){0};
    if (refused.size > MC_KEY_MAX) return;
    *prefix = refused;
    builder->config->prefix_count++;
    builder->config->refused_count++;
}

static int by_bytes(const void *left, const void *right)
{
    const struct mc_prefix *a = left, *b = right;
    int order = memcmp(a->prefix, b->prefix, a->size < b->size ? a->size : b->size);

    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* False: the cluster did not answer; *error says what. */
static bool read_prefixes(struct builder *builder)
{
    const struct mc_rows *rows = &builder->tables->of[MC_TABLE_PREFIXES];
    struct mc_config *config = builder->config;
    bool empty = false;

    for (uint32_t i = 0; i < rows->count; i++) {
        if (mc_rows_number(rows, i, PREFIX_ROLE_ID) != config->role_id) continue;
        struct mc_prefix *prefix = &config->prefixes[config->prefix_count];
        enum mc_checked checked = read_prefix(builder, i, prefix);
        if (checked == MC_CHECKED_UNKNOWN) return false;
        empty = empty || prefix->size == 0;
        if (checked == MC_CHECKED) {
            config->prefix_count++;
            if (prefix->container != NULL && prefix->get == MC_CACHING)
                prefix->container->copied = true;
        } else {
            tell_refused(builder, i);
            keep_refused(builder, prefix);
        }
    }
    if (!empty) /* What is not said otherwise is in the cache only. */
        config->prefixes[config->prefix_count++] = (struct mc_prefix){
            .get = MC_CACHE_ONLY, .set = MC_CACHE_ONLY, .delete_ = MC_CACHE_ONLY};
    qsort(config->prefixes, config->prefix_count, sizeof(*config->prefixes), by_bytes);
    return true;
}

/* Room for as many as there can be: prefixes point to their containers. */
static bool make_room(struct builder *builder)
{
    struct mc_config *config = builder->config;
    uint32_t prefixes = builder->tables->of[MC_TABLE_PREFIXES].count;
    uint32_t clusters = builder->tables->of[MC_TABLE_CLUSTERS].count + 1;

    config->clusters = calloc(clusters, sizeof(*config->clusters));
    config->prefixes = calloc((size_t)prefixes + 1, sizeof(*config->prefixes));
    config->figures = calloc((size_t)prefixes + 1, sizeof(*config->figures));
    config->containers = calloc((size_t)prefixes + 1, sizeof(*config->containers));
    builder->ndbs = calloc(clusters, sizeof(*builder->ndbs));
    builder->container_cluster = calloc((size_t)prefixes + 1, sizeof(uint32_t));
    return config->clusters != NULL && config->prefixes != NULL && config->figures != NULL &&
           config->containers != NULL && builder->ndbs != NULL &&
           builder->container_cluster != NULL;
}

static bool find_role(struct builder *builder, const char *role)
{
    const struct mc_rows *rows = &builder->tables->of[MC_TABLE_ROLES];
    struct mc_config *config = builder->config;
    uint32_t row = mc_rows_find(rows, ROLE_NAME, role);

    if (row == UINT32_MAX) {
        (void)mc_config_fail(
            builder->error, "there is no role \"%s\" in " MC_SCHEMA ".memcache_server_roles", role);
        return false;
    }
    (void)snprintf(config->role, sizeof(config->role), "%s", role);
    config->role_id = mc_rows_number(rows, row, ROLE_ID);
    config->max_tps = mc_rows_number(rows, row, ROLE_MAX_TPS);
    return true;
}

struct mc_config *mc_config_compile(const struct mc_config_source *source,
                                    const struct mc_tables *tables, const char *role,
                                    uint32_t *refused, struct mc_config_error *error)
{
    struct builder builder = {.source = source, .tables = tables, .error = error};
    bool done = false;

    builder.config = calloc(1, sizeof(*builder.config));
    if (builder.config != NULL) builder.config->references = 1;
    if (builder.config == NULL || !make_room(&builder)) {
        (void)mc_config_fail(error, "out of memory");
    } else if (find_role(&builder, role)) {
        begin_clusters(&builder);
        done = read_prefixes(&builder);
        if (done &&
            !mc_containers_relate(builder.config->containers, builder.config->container_count)) {
            (void)mc_config_fail(error, "out of memory");
            done = false;
        }
    }
    free(builder.ndbs);
    free(builder.container_cluster);
    if (refused != NULL) *refused = builder.refused;
    if (done) return builder.config;
    mc_config_release(builder.config);
    return NULL;
}

/* The newest version that is there counts. */
static int check_version(ndb_t *ndb, struct mc_config_error *error)
{
    static const char *const versions[] = {"1.2", "1.1", "1.0"};
    struct mc_rows rows = {0};
    bool found = false, old = false;

    if (mc_rows_read(ndb, MC_TABLE_META, &rows, error) != 0) return -1;
    for (uint32_t i = 0; i < rows.count; i++) {
        const char *version = mc_rows_text(&rows, i, META_VERSION);
        if (strcmp(mc_rows_text(&rows, i, META_APPLICATION), MC_SCHEMA) != 0) continue;
        for (uint32_t v = 0; v < 3; v++)
            found = found || strcmp(version, versions[v]) == 0;
        old = old || strcmp(version, "1.0a") == 0;
    }
    mc_rows_free(&rows);
    if (found) return 0;
    if (old)
        return mc_config_fail(error, "the tables of " MC_SCHEMA " have version 1.0a, which was "
                                     "never released: drop them and make them anew");
    return mc_config_fail(error, "the tables of " MC_SCHEMA " have none of the versions 1.2, 1.1 "
                                 "and 1.0 in table meta");
}

struct mc_config *mc_config_load(const struct mc_config_source *source, const char *role,
                                 uint32_t number, struct mc_config_error *error)
{
    struct mc_tables tables = {0};

    if (check_version(source->primary, error) != 0) return NULL;
    /* Before all others: who changes a row later has given the role another one then. */
    uint64_t stamp = mc_config_stamp(source->primary, role, error);
    if (stamp == 0 || mc_tables_read(source->primary, &tables, error) != 0) return NULL;
    struct mc_config *config = mc_config_compile(source, &tables, role, NULL, error);
    mc_tables_free(&tables);
    if (config == NULL) return NULL;
    config->number = number;
    config->stamp = stamp;
    return config;
}
