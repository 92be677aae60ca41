/* test_mgm_identity.c -- whose cluster id counts: a server's that has made it, or a data node's. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "signals/api_reg.h"
#include "tests/unit/support/mgm_server.h"

#include <time.h>

#define MARK "ndb_49_new_cluster"

static uint64_t cluster_of(const struct server *server)
{
    uint64_t cluster;

    (void)server_generation_of(server, &cluster);
    return cluster;
}

static void await_log(struct server *server, const char *text)
{
    bool has = false;

    for (uint32_t i = 0; i < 1000000 && !(has = server_log_has(server, text)); i++)
        assert_int_equal(ndb_mgm_get_mgmd_nodeid(server->handle), 49);
    assert_true(has);
}

static void a_fresh_server_goes_on_with_a_node_that_runs(void **state)
{
    struct server *server = *state;
    int status;

    assert_true(server_file_exists(server, MARK));
    server_write_config(server, "DataMemory=64M\n"); /* A change does not confirm the id. */
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 2);
    pid_t first = server_start_fake_of(server, 1, START_STARTED, 4711);
    server_await_status(server, 1, NDB_MGM_STATUS_STARTED);
    uint64_t cluster;
    assert_int_equal(server_generation_of(server, &cluster), 2);
    assert_true(cluster == 4711);
    assert_false(server_file_exists(server, MARK));
    assert_true(server_log_has(server,
                               "Node 1 runs with the cluster id 4711: this management server goes "
                               "on with it"));
    /* One of a third cluster comes too late. */
    pid_t second = server_start_fake_of(server, 2, START_STARTED, 4712);
    await_log(server, "Node 2 runs with the cluster id 4712, this management server has 4711");
    assert_true(cluster_of(server) == 4711);
    assert_int_equal(kill(second, SIGKILL), 0);
    assert_int_equal(waitpid(second, &status, 0), second);
    /* The cache has it. */
    server_stop_server(server);
    assert_int_equal(server_launch(server, NULL), -1);
    server->handle = server_connect_to(server);
    assert_true(cluster_of(server) == 4711);
    assert_int_equal(kill(first, SIGKILL), 0);
    assert_int_equal(waitpid(first, &status, 0), first);
}

static void a_fresh_server_goes_on_with_files(void **state)
{
    struct server *server = *state;

    server_stop_server(server); /* It stays fresh over a restart, and with --initial. */
    assert_int_equal(server_launch(server, "--initial"), -1);
    server->handle = server_connect_to(server);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 1, 5), -1); /* Without the node's id. */
    assert_int_equal(ndb_mgm_error_code(server->handle), NDB_MGM_USAGE_ERROR);
    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_NDB, 1, NULL), 1);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 1, 0), -1);
    assert_int_equal(ndb_mgm_error_code(server->handle), NDB_MGM_USAGE_ERROR);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 1, UINT64_MAX), 0);
    assert_true(cluster_of(server) == UINT64_MAX);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 1, UINT64_MAX), 0);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 1, 6), -1);
    assert_int_equal(ndb_mgm_error_code(server->handle), NDB_MGM_CONFIG_CHANGE_FAILED);
    assert_non_null(strstr(ndb_mgm_error_text(server->handle), "has files with the cluster id 6"));
    assert_non_null(strstr(ndb_mgm_error_text(server->handle), "server has 18446744073709551615"));
    assert_non_null(strstr(ndb_mgm_error_text(server->handle), "--initial --cluster-id=6"));
    assert_true(cluster_of(server) == UINT64_MAX);
}

static void a_server_with_a_data_node_keeps_its_id(void **state)
{
    struct server *server = *state;
    uint64_t cluster = cluster_of(server);
    pid_t fake = server_start_fake(server, 1, START_STARTED);

    server_await_status(server, 1, NDB_MGM_STATUS_STARTED);
    assert_false(server_file_exists(server, MARK));
    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_NDB, 2, NULL), 2);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 2, 5), -1);
    assert_true(cluster_of(server) == cluster);
    assert_int_equal(ndb_mgm_stop(server->handle, NULL, 0, 0, NULL), 1);
    server_reap(fake, 0);
    /* Over a restart, too. */
    server_stop_server(server);
    assert_int_equal(server_launch(server, NULL), -1);
    server->handle = server_connect_to(server);
    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_NDB, 2, NULL), 2);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 2, 5), -1);
    assert_true(cluster_of(server) == cluster);
}

/* It has nothing, so it has nothing to say; and what had the dropped id goes. */
static void a_node_that_is_not_started_confirms_nothing(void **state)
{
    struct server *server = *state;
    int status;

    server_write_config(server, "DataMemory=64M\n");
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 2);
    pid_t fake = server_start_fake(server, 1, START_CMVMI);
    server_await_status(server, 1, NDB_MGM_STATUS_NOT_STARTED);
    assert_true(server_file_exists(server, MARK));
    assert_true(server_file_exists(server, "ndb_49_config.bin.1"));
    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_NDB, 2, NULL), 2);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 2, 5), 0);
    assert_true(cluster_of(server) == 5);
    assert_false(server_file_exists(server, MARK));
    assert_false(server_file_exists(server, "ndb_49_config.bin.1"));
    server_await_status(server, 1,
                        NDB_MGM_STATUS_NO_CONTACT); /* Its link was one of the other cluster. */
    assert_int_equal(kill(fake, SIGKILL), 0);
    assert_int_equal(waitpid(fake, &status, 0), fake);
}

static void files_of_its_own_cluster_confirm_it(void **state)
{
    struct server *server = *state;
    uint64_t cluster = cluster_of(server);

    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_NDB, 1, NULL), 1);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 1, cluster), 0);
    assert_false(server_file_exists(server, MARK));
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 1, 5), -1);
    assert_int_equal(ndb_mgm_error_code(server->handle), NDB_MGM_CONFIG_CHANGE_FAILED);
    assert_true(cluster_of(server) == cluster);
}

/* A directory where the file would be written first. */
static void block_cache(const struct server *server, bool blocked)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/ndb_49_config.bin.1.tmp", server->directory);
    assert_int_equal(blocked ? mkdir(path, 0700) : rmdir(path), 0);
}

static void an_id_that_cannot_be_kept_is_not_taken(void **state)
{
    struct server *server = *state;
    uint64_t cluster = cluster_of(server);

    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_NDB, 1, NULL), 1);
    block_cache(server, true);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 1, 5), -1);
    assert_non_null(strstr(ndb_mgm_error_text(server->handle), "cannot be written"));
    assert_true(cluster_of(server) == cluster);
    assert_true(server_file_exists(server, MARK));
    block_cache(server, false);
    assert_int_equal(ndb_mgm_claim_cluster(server->handle, 1, 5), 0);
    assert_true(cluster_of(server) == 5);
}

/* What is kept goes when the new one is there: an order that fails leaves the cluster its id. */
static void an_initial_that_cannot_be_stored_costs_nothing(void **state)
{
    struct server *server = *state;
    uint64_t cluster = cluster_of(server);

    server_write_config(server, "DataMemory=64M\n");
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 2);
    server_stop_server(server);
    block_cache(server, true);
    assert_int_equal(server_launch(server, "--initial"), 1);
    block_cache(server, false);
    assert_int_equal(server_launch(server, NULL), -1);
    server->handle = server_connect_to(server);
    uint64_t now;
    assert_int_equal(server_generation_of(server, &now), 2);
    assert_true(now == cluster);
    server_stop_server(server);
    assert_int_equal(server_launch(server, "--initial"), -1);
    server->handle = server_connect_to(server);
    assert_int_equal(server_generation_of(server, &now), 1);
    assert_true(now == cluster);
    assert_false(server_file_exists(server, "ndb_49_config.bin.2"));
}

/* As if its directory had been lost. */
static void forget_all(const struct server *server)
{
    char path[400];
    DIR *directory = opendir(server->directory);

    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        (void)snprintf(path, sizeof(path), "%s/%s", server->directory, entry->d_name);
        if (strncmp(entry->d_name, "ndb_49_", 7) == 0) assert_int_equal(unlink(path), 0);
    }
    (void)closedir(directory);
}

#define WHEN_TOLD UINT32_MAX /* As soon as the claimer has its answer. */

/* Claims in a process of its own; the server is killed so many microseconds later. */
static void claim_and_kill(struct server *server, uint32_t delay_us)
{
    struct timespec begin;
    struct timespec now;
    int status;

    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_NDB, 1, NULL), 1);
    pid_t claimer = fork();
    assert_true(claimer >= 0);
    if (claimer == 0) {
        (void)ndb_mgm_claim_cluster(server->handle, 1, 5);
        _exit(0);
    }
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &begin), 0);
    do {
        assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    } while (delay_us != WHEN_TOLD &&
             (now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 <
                 delay_us);
    if (delay_us == WHEN_TOLD) assert_int_equal(waitpid(claimer, &status, 0), claimer);
    assert_int_equal(kill(server->pid, SIGKILL), 0);
    assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
    if (delay_us != WHEN_TOLD) assert_int_equal(waitpid(claimer, &status, 0), claimer);
    server->pid = 0;
    server_stop_server(server);
}

/* It has the one id or the other, and knows whether it is sure of it. */
static void a_kill_while_it_takes_an_id_costs_nothing(void **state)
{
    struct server *server = *state;
    uint32_t taken = 0;

    for (uint32_t i = 0; i < 40; i++) {
        server_stop_server(server);
        forget_all(server);
        assert_int_equal(server_launch(server, NULL), -1);
        server->handle = server_connect_to(server);
        uint64_t own = cluster_of(server);
        bool told = i >= 35;
        claim_and_kill(server, told ? WHEN_TOLD : i * 200);
        assert_int_equal(server_launch(server, NULL), -1);
        server->handle = server_connect_to(server);
        uint64_t now = cluster_of(server);
        assert_true(now == 5 || (now == own && !told));
        taken += now == 5;
        assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_NDB, 2, NULL), 2);
        if (now == 5) assert_int_equal(ndb_mgm_claim_cluster(server->handle, 2, 6), -1);
        assert_int_equal(ndb_mgm_claim_cluster(server->handle, 2, 5), 0);
        assert_int_equal(ndb_mgm_claim_cluster(server->handle, 2, 6), -1);
        assert_true(cluster_of(server) == 5);
    }
    print_message("%u of 40 servers had taken the id when they were killed\n", taken);
}

static void an_id_that_is_ordered_is_that_of_the_cache(void **state)
{
    struct server *server = *state;
    char path[128];
    char option[128];

    server_stop_server(server);
    (void)snprintf(path, sizeof(path), "%s/config.ini", server->directory);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(option, sizeof(option), "--cluster-id=%u", 777);
    assert_int_equal(server_launch(server, option), 1);
}

static void a_missing_file_is_replaced_by_the_cache(void **state)
{
    struct server *server = *state;
    uint64_t cluster = cluster_of(server);
    char path[128];

    server_stop_server(server);
    (void)snprintf(path, sizeof(path), "%s/config.ini", server->directory);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(server_launch(server, "--reload"), 1);
    char option[128];
    (void)snprintf(option, sizeof(option), "--config-dir=%s", server->directory);
    assert_int_equal(server_launch(server, option), -1);
    server->handle = server_connect_to(server);
    assert_true(cluster_of(server) == cluster);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, server_setup, server_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_fresh_server_goes_on_with_a_node_that_runs),
        WITH_SERVER(a_fresh_server_goes_on_with_files),
        WITH_SERVER(a_server_with_a_data_node_keeps_its_id),
        WITH_SERVER(a_node_that_is_not_started_confirms_nothing),
        WITH_SERVER(files_of_its_own_cluster_confirm_it),
        WITH_SERVER(an_id_that_cannot_be_kept_is_not_taken),
        WITH_SERVER(an_initial_that_cannot_be_stored_costs_nothing),
        WITH_SERVER(a_kill_while_it_takes_an_id_costs_nothing),
        WITH_SERVER(an_id_that_is_ordered_is_that_of_the_cache),
        WITH_SERVER(a_missing_file_is_replaced_by_the_cache),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
