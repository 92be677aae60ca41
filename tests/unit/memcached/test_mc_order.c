/* test_mc_order.c -- which requests of a connection wait for which. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "servers/memcached/mc_cache.h"
#include "servers/memcached/mc_worker.h"

bool __wrap_mc_engine_name(struct mc_job *job, struct mc_name *name);

/* The key as it stands. */
bool __wrap_mc_engine_name(struct mc_job *job, struct mc_name *name)
{
    const struct mc_container *container = job->prefix->container;
    *name = (struct mc_name){.bytes = job->request.key,
                             .size = job->request.key_size,
                             .space = container == NULL ? 0 : container->rows,
                             .shape = container == NULL ? 0 : container->number};
    return true;
}

/* Two containers by the primary key, one by a unique index, and one of another table. */
enum { ID, ID_AGAIN, NAME, APART, LOCAL, PREFIXES };
static uint32_t by_id = 1001, by_name = 2002;
static struct mc_container containers[] = {
    [ID] = {.number = 1, .rows = 1001, .others = &by_name, .other_count = 1},
    [ID_AGAIN] = {.number = 2, .rows = 1001, .others = &by_name, .other_count = 1},
    [NAME] = {.number = 3, .rows = 2002, .others = &by_id, .other_count = 1},
    [APART] = {.number = 4, .rows = 3003},
};
static const struct mc_prefix prefixes[PREFIXES] = {
    [ID] = {.container = &containers[ID]},
    [ID_AGAIN] = {.container = &containers[ID_AGAIN]},
    [NAME] = {.container = &containers[NAME]},
    [APART] = {.container = &containers[APART]}};
static struct mc_config config = {.number = 1};
static struct mc_worker worker;

static struct mc_job job_of(uint32_t prefix, enum mc_command command, const char *key)
{
    struct mc_job job = {.config = &config, .prefix = &prefixes[prefix]};
    job.request.command = command;
    job.request.key_size = (uint8_t)strlen(key);
    memcpy(job.request.key, key, strlen(key));
    return job;
}

/* While `first` is under way, and after it. */
static void assert_waits(struct mc_job first, struct mc_job second, bool waits)
{
    struct mc_connection connection = {.worker = &worker, .first = &first};
    assert_true(mc_order_may_begin(&connection, &first));
    mc_order_enter(&connection, &first);
    assert_int_equal(mc_order_may_begin(&connection, &second), !waits);
    mc_order_leave(&connection, &first);
    assert_true(mc_order_may_begin(&connection, &second));
    assert_null(connection.order.table);
}

static const struct {
    uint32_t first, second;
    const char *first_key, *second_key;
    bool may_be_one; /* Row. */
} pairs[] = {
    {ID, ID, "1", "1", true},          {ID, ID, "1", "2", false},
    {ID, ID_AGAIN, "1", "1", true},    {ID, ID_AGAIN, "1", "2", false},
    {ID, NAME, "1", "bob", true},      {NAME, ID_AGAIN, "bob", "2", true},
    {NAME, NAME, "bob", "eve", false}, {NAME, NAME, "bob", "bob", true},
    {ID, APART, "1", "1", false},      {APART, NAME, "bob", "bob", false},
    {LOCAL, LOCAL, "1", "1", true},    {LOCAL, ID, "1", "1", false},
};

static void test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct mc_job of[2][2];
        for (uint32_t change = 0; change < 2; change++) {
            enum mc_command command = change ? MC_SET : MC_GET;
            of[0][change] = job_of(pairs[i].first, command, pairs[i].first_key);
            of[1][change] = job_of(pairs[i].second, command, pairs[i].second_key);
        }
        assert_waits(of[0][0], of[1][0], false);
        assert_waits(of[0][0], of[1][1], pairs[i].may_be_one);
        assert_waits(of[0][1], of[1][0], pairs[i].may_be_one);
        assert_waits(of[0][1], of[1][1], pairs[i].may_be_one);
    }
}

/* Each one that leaves is forgotten, and none of those that are still under way is. */
static void test_many(void **state)
{
    (void)state;
    struct mc_job gets[] = {job_of(ID, MC_GET, "1"), job_of(ID, MC_GET, "2"),
                            job_of(APART, MC_GET, "1")};
    struct mc_job change = job_of(NAME, MC_SET, "bob"), later = job_of(ID, MC_SET, "3");
    struct mc_connection connection = {.worker = &worker, .first = &gets[0]};
    gets[0].next = &gets[1];
    gets[1].next = &gets[2];
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(mc_order_may_begin(&connection, &gets[i]));
        mc_order_enter(&connection, &gets[i]);
    }
    assert_false(mc_order_may_begin(&connection, &change));
    mc_order_leave(&connection, &gets[0]);
    assert_false(mc_order_may_begin(&connection, &change));
    mc_order_leave(&connection, &gets[1]);
    assert_true(mc_order_may_begin(&connection, &change));
    mc_order_enter(&connection, &change);
    assert_false(mc_order_may_begin(&connection, &later));
    mc_order_leave(&connection, &gets[2]);
    assert_false(mc_order_may_begin(&connection, &later));
    mc_order_leave(&connection, &change);
    assert_true(mc_order_may_begin(&connection, &later));
    assert_null(connection.order.table);
    mc_order_drop_spares(&worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
