/* mc_config_client.c -- what a memcached server does with its configuration, printed. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mc_config_client CONNECT_STRING load ROLE     loads it and prints it
 *                                 stamp ROLE    update_timestamp is another one after each touch
 *                                 sign_on ROLE  as two servers on node 77
 *                                 lost ROLE     says "holding", and after a line of input, when no
 *                                               data node is left, that nothing is known
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "servers/memcached/mc_config_rows.h"

#define TOUCHES 200

static void print_line(void *context, const char *line)
{
    (void)context;
    printf("%s\n", line);
}

static void print_column(const char *what, const struct ndb_table *table, uint32_t id)
{
    struct ndb_column_info column;

    if (id != MC_NO_COLUMN && ndb_table_column(table, id, &column) == 0)
        printf(" %s=%s", what, column.name);
}

static void print_container(const struct mc_container *container)
{
    static const char *const accesses[] = {"primary", "unique", "ordered"};
    struct ndb_index_info index = {.name = ""};

    if (container->access == MC_BY_UNIQUE_INDEX)
        (void)ndb_table_unique(container->table, container->index, &index);
    if (container->access == MC_BY_ORDERED_INDEX)
        (void)ndb_table_index(container->table, container->index, &index);
    printf("container %s: %s(%s)", container->name, accesses[container->access], index.name);
    for (uint32_t i = 0; i < container->key_count; i++)
        print_column("key", container->table, container->key[i]);
    for (uint32_t i = 0; i < container->value_count; i++)
        print_column("value", container->table, container->value[i]);
    print_column("flags", container->table, container->flags_column);
    print_column("increment", container->table, container->increment_column);
    print_column("cas", container->table, container->cas_column);
    print_column("expire", container->table, container->expire_column);
    printf(" constant=%u dup=%d", container->flags, container->dup_numbers);
    if (container->parts != NULL) {
        print_column("ext_id", container->table, container->ext_id_column);
        print_column("ext_size", container->table, container->ext_size_column);
        print_column("part_id", container->parts, container->part_id);
        print_column("part_number", container->parts, container->part_number);
        print_column("part_content", container->parts, container->part_content);
        printf(" part_bytes=%u", container->part_bytes);
    }
    (void)putchar('\n');
}

static void *use_elsewhere(void *context)
{
    struct mc_config *config = context;

    for (uint32_t i = 0; i < config->container_count; i++)
        print_container(&config->containers[i]);
    mc_config_release(config); /* The last one: the thread that has loaded it is done with it. */
    return NULL;
}

static int load(ndb_t *ndb, const char *role)
{
    const struct mc_config_source source = {.primary = ndb, .log = print_line};
    struct mc_config_error error = {{0}};
    struct mc_config *config = mc_config_load(&source, role, 3, &error);
    pthread_t thread;

    if (config == NULL) {
        printf("not loaded: %s\n", error.text);
        return 1;
    }
    printf("config %u of role %s (%u): max_tps %u, %u clusters, stamp %s\n", config->number,
           config->role, config->role_id, config->max_tps, config->cluster_count,
           config->stamp == mc_config_stamp(ndb, role, &error) ? "same" : "other");
    for (uint32_t i = 0; i < config->prefix_count; i++) {
        const struct mc_prefix *prefix = &config->prefixes[i];
        printf("prefix '%s': %d %d %d flush %d cluster %u container %s\n", prefix->prefix,
               prefix->get, prefix->set, prefix->delete_, prefix->flush_from_db, prefix->cluster,
               prefix->container != NULL ? prefix->container->name : "-");
    }
    if (pthread_create(&thread, NULL, use_elsewhere, mc_config_hold(config)) != 0) return 1;
    mc_config_release(config);
    return pthread_join(thread, NULL);
}

static int stamp(ndb_t *ndb, const char *role)
{
    struct mc_config_error error = {{0}};
    uint64_t last = mc_config_stamp(ndb, role, &error), same = mc_config_stamp(ndb, role, &error);

    if (last == 0 || same != last) {
        printf("no stamp, or another one without change: %s\n", error.text);
        return 1;
    }
    for (int i = 0; i < TOUCHES; i++) {
        if (mc_config_touch(ndb, role, &error) != 0) {
            printf("not touched: %s\n", error.text);
            return 1;
        }
        uint64_t next = mc_config_stamp(ndb, role, &error);
        if (next == 0 || next == last) {
            printf("touch %d is not seen: %s\n", i, error.text);
            return 1;
        }
        last = next;
    }
    printf("stamp: all is right\n");
    return 0;
}

static int sign_on(ndb_t *ndb, const char *role)
{
    return mc_config_sign_on(ndb, 77, "first.example", role) != 0 ||
           mc_config_sign_on(ndb, 77, "second.example", role) != 0;
}

/* Without an answer of the cluster nothing is known: the old configuration stays, not half of a new
 * one. */
static int lost(ndb_t *ndb, const char *role)
{
    const struct mc_config_source source = {.primary = ndb, .log = print_line};
    struct mc_config_error error = {{0}};
    struct mc_tables tables = {0};
    uint32_t refused = 0;
    int code = 0;

    if (mc_tables_read(ndb, &tables, &error) != 0) return 1;
    printf("holding\n");
    (void)fflush(stdout);
    (void)getchar();
    if (mc_config_compile(&source, &tables, role, &refused, &error) != NULL || refused != 0)
        code = 1;
    printf("compile: %s\n", error.text);
    mc_tables_free(&tables);
    if (mc_config_load(&source, role, 1, &error) != NULL) code = 1;
    printf("load: %s\n", error.text);
    if (mc_config_stamp(ndb, role, &error) != 0) code = 1;
    printf("stamp: %s\n", error.text);
    if (mc_config_touch(ndb, role, &error) != -1) code = 1;
    printf("touch: %s\n", error.text);
    if (mc_config_bootstrap(ndb, NULL, NULL, &error) != -1) code = 1;
    printf("bootstrap: %s\n", error.text);
    if (mc_config_sign_on(ndb, 77, "host", role) != -1 || ndb_error(ndb)->code == 0) code = 1;
    printf("sign_on: %d\n", ndb_error(ndb)->code);
    return code;
}

int main(int argc, char **argv)
{
    int code = 1;

    if (argc != 4) return 2;
    const struct ndb_connection_options options = {.default_timeout_ms =
                                                       strcmp(argv[2], "lost") == 0 ? 1000 : 0};
    struct ndb_cluster_connection *connection = ndb_connection_create(argv[1], &options);
    if (ndb_connection_connect(connection, 60000) != 0 ||
        ndb_connection_wait_until_ready(connection, 60000) < 0)
        return 1;
    ndb_t *ndb = ndb_open(connection, NULL);
    if (strcmp(argv[2], "load") == 0) code = load(ndb, argv[3]);
    if (strcmp(argv[2], "stamp") == 0) code = stamp(ndb, argv[3]);
    if (strcmp(argv[2], "sign_on") == 0) code = sign_on(ndb, argv[3]);
    if (strcmp(argv[2], "lost") == 0) code = lost(ndb, argv[3]);
    ndb_close(ndb);
    ndb_connection_free(connection);
    return code;
}
