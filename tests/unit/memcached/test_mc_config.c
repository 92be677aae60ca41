/* test_mc_config.c -- which prefix a key has. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "servers/memcached/mc_config.h"
#include "servers/memcached/mc_config_rows.h"

#define PREFIXES_MAX 60u
#define ROUNDS       3000u
#define KEYS         100u

static uint64_t random_state = 88172645463325252ull;

static uint32_t random_below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 20) % bound);
}

static struct mc_cell cell(const char *text)
{
    return (struct mc_cell){(char *)(uintptr_t)text, text == NULL ? 0 : (uint32_t)strlen(text)};
}

/* Rows of a role 7 "r" whose prefixes are for the cache only, by mc_config_compile: as a server has
 * them, in whatever order they come. */
static void begin_tables(struct mc_tables *tables)
{
    const struct mc_cell role[] = {cell("r"), cell("7"), cell("500"), cell(NULL)};
    const struct mc_cell cluster[] = {cell("0"), cell(""), cell("300")};
    const struct mc_cell policy[] = {cell("p"), cell("cache_only"), cell("CACHE_ONLY"),
                                     cell("disabled"), cell("true")};

    memset(tables, 0, sizeof(*tables));
    assert_true(mc_rows_add(&tables->of[MC_TABLE_ROLES], 4, role));
    assert_true(mc_rows_add(&tables->of[MC_TABLE_CLUSTERS], 3, cluster));
    assert_true(mc_rows_add(&tables->of[MC_TABLE_POLICIES], 5, policy));
}

static void add_prefix(struct mc_tables *tables, const char *role_id, const char *prefix,
                       uint32_t size)
{
    const struct mc_cell row[] = {
        cell(role_id), {(char *)(uintptr_t)prefix, size}, cell("0"), cell("p"), cell(NULL)};

    assert_true(mc_rows_add(&tables->of[MC_TABLE_PREFIXES], 5, row));
}

static struct mc_config *compile(struct mc_tables *tables)
{
    const struct mc_config_source source = {0};
    struct mc_config_error error = {{0}};
    uint32_t refused;
    struct mc_config *config = mc_config_compile(&source, tables, "r", &refused, &error);

    assert_non_null(config);
    assert_int_equal(refused, 0);
    mc_tables_free(tables);
    return config;
}

static void finds(const struct mc_config *config, const char *key, uint32_t key_size,
                  const char *prefix, uint32_t size)
{
    const struct mc_prefix *found = mc_config_find(config, key, key_size);

    assert_non_null(found);
    assert_int_equal(found->size, size);
    assert_memory_equal(found->prefix, prefix, size);
}

static void test_local(void **state)
{
    (void)state;
    struct mc_config *config = mc_config_local("some-role");
    assert_non_null(config);
    assert_string_equal(config->role, "some-role");
    finds(config, "key", 3, "", 0);
    finds(config, "", 0, "", 0);
    const struct mc_prefix *prefix = mc_config_find(config, "key", 3);
    assert_int_equal(prefix->get, MC_CACHE_ONLY);
    assert_int_equal(prefix->set, MC_CACHE_ONLY);
    assert_int_equal(prefix->delete_, MC_CACHE_ONLY);
    assert_null(prefix->container);
    assert_ptr_equal(mc_config_hold(config), config);
    mc_config_release(config);
    finds(config, "key", 3, "", 0);
    mc_config_release(config);
    mc_config_release(NULL);
}

static void test_longest(void **state)
{
    static const char *const prefixes[] = {"user:", "u", "user:1:", "user", "zz", "user:1:a"};
    struct mc_tables tables;
    (void)state;
    begin_tables(&tables);
    for (uint32_t i = 0; i < 6; i++)
        add_prefix(&tables, "7", prefixes[i], (uint32_t)strlen(prefixes[i]));
    add_prefix(&tables, "8", "user:1:abc", 10); /* Another role's. */
    struct mc_config *config = compile(&tables);
    assert_int_equal(config->prefix_count, 7); /* And the empty one. */
    assert_int_equal(config->role_id, 7);
    assert_int_equal(config->max_tps, 500);
    assert_int_equal(config->cluster_count, 1);
    assert_int_equal(config->clusters[0].microsec_rtt, 300);
    finds(config, "user:1:abc", 10, "user:1:a", 8);
    finds(config, "user:1:b", 8, "user:1:", 7);
    finds(config, "user:1:", 7, "user:1:", 7);
    finds(config, "user:1", 6, "user:", 5);
    finds(config, "user:zzz", 8, "user:", 5);
    finds(config, "users", 5, "user", 4);
    finds(config, "uzz", 3, "u", 1);
    finds(config, "t", 1, "", 0);
    finds(config, "z", 1, "", 0);
    finds(config, "zz", 2, "zz", 2);
    finds(config, "zzz", 3, "zz", 2);
    assert_true(mc_config_find(config, "u", 1)->flush_from_db);
    assert_int_equal(mc_config_find(config, "u", 1)->set, MC_CACHE_ONLY);
    assert_int_equal(mc_config_find(config, "u", 1)->delete_, MC_DISABLED);
    assert_string_equal(mc_config_find(config, "u", 1)->policy, "p");
    assert_string_equal(mc_config_find(config, "t", 1)->policy, ""); /* The built-in one. */
    mc_config_release(config);
}

static void test_binary(void **state)
{
    struct mc_tables tables;
    (void)state;
    begin_tables(&tables);
    add_prefix(&tables, "7", "\xff\xff", 2);
    add_prefix(&tables, "7", "a\0b", 3);
    add_prefix(&tables, "7", "a\0", 2);
    add_prefix(&tables, "7", "\x80", 1);
    add_prefix(&tables, "7", "", 0);
    struct mc_config *config = compile(&tables);
    assert_int_equal(config->prefix_count, 5);
    finds(config, "a\0bc", 4, "a\0b", 3);
    finds(config, "a\0c", 3, "a\0", 2);
    finds(config, "a", 1, "", 0);
    finds(config, "\xff\xfe", 2, "", 0);
    finds(config, "\xff\xff\xff", 3, "\xff\xff", 2);
    finds(config, "\x80z", 2, "\x80", 1);
    assert_string_equal(mc_config_find(config, "a", 1)->policy, "p"); /* Not the built-in one. */
    mc_config_release(config);
}

/* Few letters, so that many begin alike. */
static uint32_t random_text(char *text, uint32_t size_max)
{
    static const char letters[] = {'a', 'b', '\0', (char)0xff};
    uint32_t size = random_below(size_max + 1);

    for (uint32_t i = 0; i < size; i++)
        text[i] = letters[random_below(random_below(2) == 0 ? 2 : 4)];
    return size;
}

static const struct mc_prefix *linear_find(const struct mc_config *config, const char *key,
                                           uint32_t size)
{
    const struct mc_prefix *best = NULL;

    for (uint32_t i = 0; i < config->prefix_count; i++) {
        const struct mc_prefix *prefix = &config->prefixes[i];
        if (prefix->size <= size && memcmp(prefix->prefix, key, prefix->size) == 0 &&
            (best == NULL || prefix->size > best->size))
            best = prefix;
    }
    return best;
}

static void test_random(void **state)
{
    char text[MC_KEY_MAX];
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct mc_tables tables;
        uint32_t size_max = round % 10 == 0 ? MC_KEY_MAX : 1 + random_below(8);
        begin_tables(&tables);
        for (uint32_t count = random_below(PREFIXES_MAX); count > 0; count--)
            add_prefix(&tables, "7", text, random_text(text, size_max));
        struct mc_config *config = compile(&tables);
        for (uint32_t i = 0; i < KEYS; i++) {
            uint32_t size = random_text(text, size_max);
            const struct mc_prefix *found = mc_config_find(config, text, size);
            const struct mc_prefix *expected = linear_find(config, text, size);
            assert_int_equal(found->size, expected->size); /* Equal ones may be there twice here. */
            assert_memory_equal(found->prefix, expected->prefix, found->size);
        }
        mc_config_release(config);
    }
}

/* What needs no cluster to be refused. */
static char told[600];
static void note(void *context, const char *line)
{
    (void)context;
    (void)strncpy(told, line, sizeof(told) - 1);
}

static void refused(const struct mc_cell *policy, const struct mc_cell *prefix, const char *reason)
{
    const struct mc_config_source source = {.log = note};
    struct mc_tables tables;
    struct mc_config_error error = {{0}};
    uint32_t count = 0;

    begin_tables(&tables);
    if (policy != NULL) assert_true(mc_rows_add(&tables.of[MC_TABLE_POLICIES], 5, policy));
    assert_true(mc_rows_add(&tables.of[MC_TABLE_PREFIXES], 5, prefix));
    told[0] = '\0';
    struct mc_config *config = mc_config_compile(&source, &tables, "r", &count, &error);
    assert_non_null(config);
    assert_int_equal(count, 1);
    assert_int_equal(config->prefix_count, 2); /* The built-in one, too. */
    assert_int_equal(config->refused_count, 1);
    const struct mc_prefix *found = mc_config_find(config, "a\n\"1", 4);
    assert_true(found->refused);
    assert_int_equal(found->get, MC_DISABLED);
    assert_int_equal(found->set, MC_DISABLED);
    assert_int_equal(found->delete_, MC_DISABLED);
    assert_null(found->container);
    assert_false(mc_config_find(config, "b", 1)->refused);
    assert_string_equal(told, reason);
    mc_config_release(config);
    mc_tables_free(&tables);
}

static void test_refused(void **state)
{
    char huge[MC_KEY_MAX + 2];
    (void)state;
    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    const struct mc_cell long_one[] = {cell("7"), cell(huge), cell("0"), cell("p"), cell(NULL)};
    struct mc_tables tables;
    struct mc_config_error error = {{0}};
    const struct mc_config_source source = {0};
    uint32_t count = 0;
    begin_tables(&tables);
    assert_true(mc_rows_add(&tables.of[MC_TABLE_PREFIXES], 5, long_one));
    struct mc_config *config = mc_config_compile(&source, &tables, "r", &count, &error);
    assert_non_null(config);
    assert_int_equal(count, 1);
    mc_config_release(config);
    assert_null(mc_config_compile(&source, &tables, "other", &count, &error));
    assert_string_equal(error.text,
                        "there is no role \"other\" in ndbmemcache.memcache_server_roles");
    mc_tables_free(&tables);

    const struct mc_cell words[] = {cell("q"), cell("caching"), cell("often"), cell("caching"),
                                    cell("false")};
    const struct mc_cell flush[] = {cell("q"), cell("caching"), cell("caching"), cell("caching"),
                                    cell("maybe")};
    const struct mc_cell ndb[] = {cell("q"), cell("ndb_only"), cell("disabled"), cell("disabled"),
                                  cell("false")};
    const struct mc_cell row_q[] = {cell("7"), cell("a\n\""), cell("0"), cell("q"), cell(NULL)};
    const struct mc_cell row_c[] = {cell("7"), cell("a"), cell("0"), cell("q"), cell("c")};
    const struct mc_cell row_p[] = {cell("7"), cell("a"), cell("0"), cell("p"), cell("c")};
    const struct mc_cell row_9[] = {cell("7"), cell("a"), cell("9"), cell("p"), cell(NULL)};
    refused(NULL, row_q,
            "key prefix \"a\\x0a\\x22\" of role r is refused: there is no policy \"q\" in "
            "cache_policies");
    refused(words, row_c,
            "key prefix \"a\" of role r is refused: set_policy \"often\" of policy \"q\" is not "
            "cache_only, ndb_only, caching or disabled");
    refused(flush, row_c,
            "key prefix \"a\" of role r is refused: flush_from_db \"maybe\" of policy \"q\" is "
            "neither true nor false");
    refused(ndb, row_q,
            "key prefix \"a\\x0a\\x22\" of role r is refused: policy \"q\" needs a container");
    refused(ndb, row_c,
            "key prefix \"a\" of role r is refused: there is no container \"c\" in containers");
    refused(NULL, row_p,
            "key prefix \"a\" of role r is refused: policy \"p\" is for the cache only, and cannot "
            "have container \"c\"");
    refused(NULL, row_9,
            "key prefix \"a\" of role r is refused: there is no cluster 9 in ndb_clusters");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local),   cmocka_unit_test(test_longest),
        cmocka_unit_test(test_binary),  cmocka_unit_test(test_random),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
