/* test_mgm_server.c -- a real ndb_mgmd over the C management API, with data nodes that only answer
 * signals. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "signals/api_reg.h"
#include "tests/unit/support/mgm_server.h"

#include <pthread.h>

/* ---- tests ---- */

static void node_ids_are_given_once(void **state)
{
    struct server *server = *state;
    ndb_mgm_handle_t *other = server_connect_to(server);

    assert_int_equal(ndb_mgm_get_mgmd_nodeid(server->handle), 49);
    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_NDB, 0, NULL), 1);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_NDB, 1, NULL), -1);
    assert_int_equal(ndb_mgm_error_code(other), NDB_MGM_ALLOCID_RETRY);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_NDB, 0, NULL), 2);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_NDB, 0, NULL), -1);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_API, 1, NULL), -1);
    assert_int_equal(ndb_mgm_error_code(other), NDB_MGM_ALLOCID_CONFIG_MISMATCH);
    /* 60 is for anybody, 61 only on request, 62 for another host. */
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_API, 0, "10.1.2.3"), 60);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_API, 0, "10.1.2.3"), -1);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_API, 61, NULL), 61);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_API, 62, "10.1.2.3"), -1);
    assert_int_equal(ndb_mgm_free_nodeid(other, 60), 0);
    assert_int_equal(ndb_mgm_free_nodeid(other, 60), -1);
    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_API, 60, "10.1.2.3"), 60);
    /* The end of a session gives its ids back, a data node's at first only to who asks for this
     * one. */
    ndb_mgm_destroy_handle(server->handle);
    server->handle = server_connect_to(server);
    int id = -1;
    while (id < 0)
        id = ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_API, 60, NULL);
    assert_int_equal(id, 60);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_NDB, 0, NULL), -1);
    assert_int_equal(ndb_mgm_error_code(other), NDB_MGM_ALLOCID_RETRY);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_NDB, 1, NULL), 1);
    ndb_mgm_destroy_handle(other);
}

/* Who asks for a wrong id is told the right ones, and that there are more than fit. */
static void the_first_node_ids_are_named(void **state)
{
    struct server *server = *state;
    char nodes[2000] = "";
    size_t used = 0;

    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_API, 1, NULL), -1);
    assert_non_null(strstr(ndb_mgm_error_text(server->handle), "(which has: 60, 61, 62)"));
    for (uint32_t id = 101; id <= 130; id++)
        used += (size_t)snprintf(nodes + used, sizeof(nodes) - used, "[api]\nNodeId=%u\n", id);
    server_write_config(server, nodes);
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 2);
    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_API, 1, NULL), -1);
    assert_non_null(
        strstr(ndb_mgm_error_text(server->handle),
               "(which has: 60, 61, 62, 101, 102, 103, 104, 105, 106, 107, 108, 109, ...)"));
}

static void the_configuration_arrives(void **state)
{
    struct server *server = *state;
    struct cluster_config *config = server_configuration_of(server);

    assert_int_equal(config_generation(config), 1);
    assert_true(config_cluster_id(config) != 0);
    assert_int_equal(config_count(config, CONFIG_NONE), 6);
    assert_true(strncmp(config_get_text(config_system(config), CFG_SYSTEM_Name), "MC_", 3) == 0);
    config_free(config);
}

static void damage_file(const struct server *server, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", server->directory, name);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 100, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, 100, SEEK_SET), 0);
    (void)fputc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
}

/* Without one that can be read nobody knows the cluster's id; the number of one that cannot is not
 * given to another. */
static void damaged_generations(void **state)
{
    struct server *server = *state;
    uint64_t cluster;
    uint64_t now;

    assert_int_equal(server_generation_of(server, &cluster), 1);
    server_write_config(server, "DataMemory=64M\n");
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 2);
    server_stop_server(server);
    damage_file(server, "ndb_49_config.bin.2");
    server_write_config(server, "DataMemory=65M\n");
    assert_int_equal(server_launch(server, NULL), -1);
    server->handle = server_connect_to(server);
    assert_int_equal(server_generation_of(server, &now), 3);
    assert_int_equal(now, cluster);
    server_stop_server(server);
    damage_file(server, "ndb_49_config.bin.1");
    damage_file(server, "ndb_49_config.bin.3");
    assert_int_equal(server_launch(server, NULL), 1);
    assert_true(server_file_exists(server, "ndb_49_config.bin.3"));
    assert_int_equal(server_launch(server, "--initial"), -1);
    server->handle = server_connect_to(server);
    assert_int_equal(server_generation_of(server, &now), 1);
    assert_int_not_equal(now, cluster);
    assert_false(server_file_exists(server, "ndb_49_config.bin.3"));
}

static void generations_follow_the_file(void **state)
{
    struct server *server = *state;
    uint8_t *bytes;
    size_t size;
    char why[128];

    assert_true(server_file_exists(server, "ndb_49_config.bin.1"));
    assert_true(server_file_exists(server, "ndb_49.pid"));
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 1);
    server_write_config(server, "DataMemory=64M\n");
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 2);
    assert_true(server_file_exists(server, "ndb_49_config.bin.2"));
    server_write_config(server, "DataMemory=lots\n");
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), -1);
    assert_non_null(strstr(ndb_mgm_error_text(server->handle),
                           "[ndbd] DataMemory: value \"lots\" is not a number"));
    server_stop_server(server);
    assert_false(server_file_exists(server, "ndb_49.pid"));
    assert_int_equal(server_launch(server, NULL),
                     1); /* A wrong file is refused, the cache is not used in its place. */
    server_write_config(server, "DataMemory=65M\n");
    assert_int_equal(server_launch(server, "--reload"), -1);
    server->handle = server_connect_to(server);
    assert_int_equal(ndb_mgm_get_configuration(server->handle, &bytes, &size), 0);
    struct cluster_config *config = config_decode(bytes, size, why, sizeof(why));
    assert_int_equal(config_generation(config), 3);
    uint64_t cluster = config_cluster_id(config);
    config_free(config);
    free(bytes);
    server_stop_server(server);
    assert_int_equal(server_launch(server, "--initial"), -1);
    server->handle = server_connect_to(server);
    assert_false(server_file_exists(server, "ndb_49_config.bin.3"));
    assert_int_equal(ndb_mgm_get_configuration(server->handle, &bytes, &size), 0);
    config = config_decode(bytes, size, why, sizeof(why));
    assert_int_equal(config_generation(config), 1);
    assert_true(config_cluster_id(config) == cluster);
    config_free(config);
    free(bytes);
}

static void the_log_has_filters_and_rotates(void **state)
{
    struct server *server = *state;
    int enabled[NDB_MGM_SEVERITIES];
    uint32_t levels[NDB_MGM_CATEGORIES];

    assert_int_equal(ndb_mgm_get_logfilter(server->handle, enabled), 0);
    assert_int_equal(enabled[NDB_MGM_SEVERITY_DEBUG], 0);
    assert_int_equal(enabled[NDB_MGM_SEVERITY_INFO], 1);
    assert_int_equal(ndb_mgm_set_logfilter(server->handle, NDB_MGM_SEVERITY_DEBUG, -1), 1);
    assert_int_equal(ndb_mgm_set_logfilter(server->handle, NDB_MGM_SEVERITY_DEBUG, 5), -1);
    /* CLUSTERLOG FILTER without a severity: the whole log, the other way; the severities stay. */
    assert_int_equal(ndb_mgm_set_logfilter(server->handle, NDB_MGM_SEVERITY_ON, -1), 0);
    assert_int_equal(ndb_mgm_get_logfilter(server->handle, enabled), 0);
    assert_int_equal(enabled[NDB_MGM_SEVERITY_ON], 0);
    assert_int_equal(enabled[NDB_MGM_SEVERITY_INFO], 1);
    assert_int_equal(ndb_mgm_set_logfilter(server->handle, NDB_MGM_SEVERITY_ON, -1), 1);
    assert_int_equal(ndb_mgm_set_cluster_loglevel(server->handle, 49, NDB_MGM_CATEGORY_BACKUP, 3),
                     0);
    assert_int_equal(ndb_mgm_get_cluster_loglevel(server->handle, levels), 0);
    assert_int_equal(levels[NDB_MGM_CATEGORY_BACKUP - NDB_MGM_CATEGORY_FIRST], 3);
    assert_int_equal(levels[NDB_MGM_CATEGORY_ERROR - NDB_MGM_CATEGORY_FIRST], 15);
    assert_int_equal(ndb_mgm_set_cluster_loglevel(server->handle, 7, NDB_MGM_CATEGORY_BACKUP, 3),
                     -1);
    /* Each of these writes a line; 4 KB are full after some forty. */
    for (uint32_t i = 0; i < 200; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "client %u", i);
        ndb_mgm_set_name(server->handle, name);
        assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_API, 60, NULL), 60);
        assert_int_equal(ndb_mgm_free_nodeid(server->handle, 60), 0);
    }
    assert_true(server_file_exists(server, "c.log"));
    assert_true(server_file_exists(server, "c.log.1"));
    assert_true(server_file_exists(server, "c.log.2"));
    assert_false(server_file_exists(server, "c.log.3"));
}

static int raw_connect(const struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(descriptor, (const struct sockaddr *)&address, sizeof(address)), 0);
    return descriptor;
}

/* Reads until the server closes; the text so far. */
static void raw_read_all(int descriptor, char *text, size_t size)
{
    size_t used = 0;

    for (ssize_t n; (n = recv(descriptor, text + used, size - 1 - used, 0)) > 0;)
        used += (size_t)n;
    text[used] = '\0';
    (void)close(descriptor);
}

static void hostile_clients_do_no_harm(void **state)
{
    struct server *server = *state;
    static char big[200000];
    char text[4096];

    memset(big, 'a', sizeof(big));
    int descriptor = raw_connect(server);
    (void)send(descriptor, big, sizeof(big), MSG_NOSIGNAL);
    raw_read_all(descriptor, text, sizeof(text)); /* The answer may be lost with unread input. */
    descriptor = raw_connect(server);
    (void)send(descriptor, "get status\nno colon here\n\n", 26, MSG_NOSIGNAL);
    raw_read_all(descriptor, text, sizeof(text));
    assert_string_equal(
        text, "get status reply\nresult: 5001 line is not \"name: value\"\nerror_code: 5001\n\n");
    descriptor = raw_connect(server);
    (void)send(descriptor, "fly away\n\nbye\n\n", 15, MSG_NOSIGNAL);
    raw_read_all(descriptor, text, sizeof(text));
    assert_string_equal(
        text, "fly away reply\nresult: 5001 unknown command \"fly away\"\nerror_code: 5001\n\n");
    for (uint32_t i = 0; i < 50; i++) { /* Ended in the middle of whatever. */
        descriptor = raw_connect(server);
        (void)send(descriptor, "get config\n\nget status\n\nget sta", i % 32, MSG_NOSIGNAL);
        (void)close(descriptor);
    }
    int many[300]; /* More than there can be: who was silent for longest goes. */
    for (uint32_t i = 0; i < 300; i++)
        many[i] = raw_connect(server);
    (void)send(many[299], "check connection\n\nbye\n\n", 23, MSG_NOSIGNAL);
    raw_read_all(many[299], text, sizeof(text));
    assert_string_equal(text, "check connection reply\nresult: Ok\n\n");
    for (uint32_t i = 0; i < 40; i++) {
        raw_read_all(many[i], text, sizeof(text));
        assert_string_equal(text, "");
    }
    for (uint32_t i = 40; i < 299; i++)
        (void)close(many[i]);
    /* A hello of the node link that is none. */
    uint32_t hello[64] = {0};
    for (uint32_t magic = 0; magic < 8; magic++) {
        descriptor = raw_connect(server);
        memcpy(hello, "NDBL\0\0\0\1", 8);
        (void)send(descriptor, (const char *)hello + magic, sizeof(hello) - 8, MSG_NOSIGNAL);
        (void)close(descriptor);
    }
    struct ndb_mgm_cluster_state *cluster = malloc(sizeof(*cluster));
    assert_int_equal(ndb_mgm_get_status(server->handle, cluster), 0);
    free(cluster);
}

/* Node 1 answers, node 2 (not started) answers with less than it announces. */
static void files_are_reported(struct server *server)
{
    struct ndb_mgm_disk *reports = calloc(4, sizeof(*reports));

    assert_int_equal(ndb_mgm_report_disk(server->handle, 0, reports, 4), 2);
    assert_int_equal(reports[0].node_id, 1);
    assert_int_equal(reports[0].error, 0);
    assert_int_equal(reports[0].gci, 71);
    assert_int_equal(reports[0].durable, 70);
    assert_int_equal(reports[0].lcp_state, NDB_MGM_LCP_WRITING);
    assert_int_equal(reports[0].lcp_id, 69);
    assert_int_equal(reports[0].lcp_ms, 1500);
    assert_int_equal(reports[0].last_id, 60);
    assert_int_equal(reports[0].last_age_ms, 20000);
    assert_int_equal(reports[0].last_failed, 1);
    assert_int_equal(reports[0].last_kbytes, 4096);
    assert_int_equal(reports[0].part_count, 2);
    assert_int_equal(reports[0].parts[0].state, 1); /* Words 1, 2, 3 ... of the answer. */
    assert_int_equal(reports[0].parts[0].fill, 3);
    assert_int_equal(reports[0].parts[0].file_kb, 20);
    assert_int_equal(reports[0].parts[0].delayed, 9);
    assert_true(reports[0].parts[0].lsn == (11ull << 32 | 10));
    assert_true(reports[0].parts[1].bytes == (30ull << 32 | 29));
    assert_int_equal(reports[1].node_id, 2);
    assert_int_equal(reports[1].error, 5005);
    struct ndb_mgm_event events[8];
    assert_int_equal(ndb_mgm_report_events(server->handle, 0, events, 8), 2);
    assert_int_equal(events[0].source_node, 1); /* The older one first. */
    assert_int_equal(events[1].source_node, 2);
    assert_string_equal(events[1].text, "one?tw");
    assert_int_equal(events[1].category, NDB_MGM_CATEGORY_INFO);
    assert_int_equal(ndb_mgm_report_events(server->handle, 2, events, 8), 1);
    assert_int_equal(ndb_mgm_report_events(server->handle, 7, events, 8), -1);
    assert_int_equal(ndb_mgm_report_disk(server->handle, 7, reports, 4), -1);
    assert_int_equal(ndb_mgm_error_code(server->handle), 5066);
    free(reports);
}

static void threads_are_reported(struct server *server)
{
    struct ndb_mgm_threads *reports = calloc(4, sizeof(*reports));

    assert_int_equal(ndb_mgm_report_threads(server->handle, 0, reports, 4), 2);
    assert_int_equal(reports[0].node_id, 1);
    assert_int_equal(reports[0].error, 0);
    assert_int_equal(reports[0].thread_count, 2);
    assert_string_equal(reports[0].threads[0].name, "ldm");
    assert_true(reports[0].threads[0].at_us == 9000000);
    assert_true(reports[0].threads[0].user_us == (2ull << 32 | 100));
    assert_true(reports[0].threads[0].sleep_us == 7);
    assert_string_equal(reports[0].threads[1].name, "a?b?proc");
    assert_true(reports[0].threads[1].system_us == 8);
    assert_int_equal(reports[1].node_id, 2);
    assert_int_equal(reports[1].error, 5005);
    assert_int_equal(reports[1].thread_count, 0);
    assert_int_equal(ndb_mgm_report_threads(server->handle, 7, reports, 4), -1);
    assert_int_equal(ndb_mgm_error_code(server->handle), 5066);
    free(reports);
}

static void data_nodes_are_linked_and_ordered(void **state)
{
    struct server *server = *state;
    struct ndb_mgm_memory reports[4];
    struct ndb_mgm_cluster_state *cluster = malloc(sizeof(*cluster));
    uint32_t both[2] = {1, 2};
    uint32_t code = 42;
    pid_t first = server_start_fake(server, 1, START_STARTED);
    pid_t second = server_start_fake(server, 2, START_CMVMI);

    server_await_status(server, 1, NDB_MGM_STATUS_STARTED);
    server_await_status(server, 2, NDB_MGM_STATUS_NOT_STARTED);
    assert_int_equal(ndb_mgm_get_status(server->handle, cluster), 0);
    assert_int_equal(cluster->count, 6);
    assert_int_equal(cluster->nodes[0].president, 1);
    assert_int_equal(cluster->nodes[0].version, 0x010000);
    assert_int_equal(cluster->nodes[0].node_group, 0);
    assert_int_equal(cluster->nodes[1].president, 0);
    assert_int_equal(cluster->nodes[1].start_percent, 45);
    assert_int_equal(cluster->nodes[1].start_left_s, 12);
    assert_int_equal(cluster->nodes[3].status,
                     NDB_MGM_STATUS_CONNECTED); /* 60: the data nodes say so. */
    assert_int_equal(cluster->nodes[4].status, NDB_MGM_STATUS_NO_CONTACT);
    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_API, 60, NULL), -1);
    assert_int_equal(ndb_mgm_alloc_nodeid(server->handle, NDB_MGM_NODE_NDB, 1, NULL), -1);

    ndb_mgm_handle_t *stranger = server_connect_to(server);
    int port = ndb_mgm_get_connection_port(stranger, 1, 0);
    assert_true(port > 9);
    assert_int_equal(ndb_mgm_set_connection_port(stranger, 1, 0, 9), -1);
    assert_int_equal(ndb_mgm_error_code(stranger), NDB_MGM_CONFIG_CHANGE_FAILED);
    assert_int_equal(ndb_mgm_get_connection_port(stranger, 1, 0), port);
    ndb_mgm_destroy_handle(stranger);
    files_are_reported(server);
    threads_are_reported(server);
    assert_int_equal(ndb_mgm_start(server->handle, &both[1], 1), 1);
    server_await_status(server, 2, NDB_MGM_STATUS_STARTED);
    assert_int_equal(ndb_mgm_report_memory(server->handle, 0, reports, 4), 2);
    assert_int_equal(reports[1].node_id, 2);
    assert_int_equal(reports[1].data_used, ROWS_PAGES);
    assert_int_equal(reports[1].total, 400);
    assert_int_equal(reports[1].groups[1].failed, 5);

    /* What a data node tells reaches listeners. */
    ndb_mgm_handle_t *listener = server_connect_to(server);
    uint32_t levels[NDB_MGM_CATEGORIES] = {0};
    struct ndb_mgm_event event = {.type = 0};
    levels[NDB_MGM_CATEGORY_INFO - NDB_MGM_CATEGORY_FIRST] = 15;
    assert_int_equal(ndb_mgm_listen_events(listener, levels), 0);
    assert_int_equal(ndb_mgm_dump_state(server->handle, 2, &code, 1), 0);
    assert_int_equal(ndb_mgm_next_event(listener, &event, 20000), 1);
    assert_int_equal(event.source_node, 2);
    assert_string_equal(event.text, "dumped 0042");
    ndb_mgm_destroy_handle(listener);

    /* Node 1 refuses alone, and goes with the others. */
    assert_int_equal(ndb_mgm_stop(server->handle, &both[0], 1, 0, NULL), -1);
    assert_int_equal(ndb_mgm_error_code(server->handle), 5028);
    assert_int_equal(ndb_mgm_restart(server->handle, &both[1], 1, 0, NULL), 1);
    server_reap(second, 0);
    server_await_status(server, 2, NDB_MGM_STATUS_NO_CONTACT);
    assert_int_equal(ndb_mgm_stop(server->handle, &both[1], 1, 0, NULL), -1);
    assert_int_equal(ndb_mgm_error_code(server->handle), 5000);
    assert_int_equal(ndb_mgm_shutdown(server->handle), 2); /* Node 1 and the server itself. */
    server_reap(first, 0);
    server_reap(server->pid, 0);
    server->pid = 0;
    free(cluster);
}

static void a_dead_data_node_answers_nothing(void **state)
{
    struct server *server = *state;
    uint32_t node = 2;
    int status;
    pid_t fake = server_start_fake(server, node, START_STARTED);

    server_await_status(server, node, NDB_MGM_STATUS_STARTED);
    assert_int_equal(kill(fake, SIGKILL), 0);
    assert_int_equal(waitpid(fake, &status, 0), fake);
    server_await_status(server, node, NDB_MGM_STATUS_NO_CONTACT);
    assert_int_equal(ndb_mgm_dump_state(server->handle, node, &node, 1), -1);
    assert_int_equal(ndb_mgm_error_code(server->handle), 5000);
    /* Its next life gets the id and is linked again. */
    fake = server_start_fake(server, node, START_STARTED);
    server_await_status(server, node, NDB_MGM_STATUS_STARTED);
    assert_int_equal(ndb_mgm_stop(server->handle, NULL, 0, 0, NULL), 1);
    server_reap(fake, 0);
}

static void a_start_that_takes_long_is_logged(void **state)
{
    struct server *server = *state;

    server_write_config(server, "StartupStatusReportFrequency=1\n");
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 2);
    pid_t fake = server_start_fake(server, 2, START_STARTING);
    server_await_status(server, 2, NDB_MGM_STATUS_STARTING);
    while (!server_log_has(server, "Node 2: 45% of the data read back, 12 s left"))
        server_await_status(server, 2, NDB_MGM_STATUS_STARTING);
    assert_int_equal(ndb_mgm_stop(server->handle, NULL, 0, 0, NULL), 1);
    server_reap(fake, 0);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, server_setup, server_teardown)

/* A listener on a free port of 127.0.0.1. */
static int listen_somewhere(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(descriptor, 4), 0);
    assert_int_equal(getsockname(descriptor, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return descriptor;
}

static void *greet(void *context)
{
    static const char greeting[] = "SSH-2.0-Something\r\n";
    int peer = accept(*(const int *)context, NULL, NULL);

    (void)send(peer, greeting, sizeof(greeting) - 1, MSG_NOSIGNAL);
    (void)shutdown(peer, SHUT_WR);
    return (void *)(intptr_t)peer;
}

/* Each address that does not count is named with its own reason. */
static void reasons_have_their_address(void **state)
{
    ndb_mgm_handle_t *handle = ndb_mgm_create_handle();
    uint16_t silent_port;
    uint16_t greeting_port;
    int silent = listen_somewhere(&silent_port); /* Nobody accepts. */
    int greeting = listen_somewhere(&greeting_port);
    char text[256];
    pthread_t thread;
    void *peer;

    (void)state;
    ndb_mgm_set_timeout(handle, 300);
    (void)snprintf(text, sizeof(text), "127.0.0.1:1,127.0.0.1:%u", silent_port);
    assert_int_equal(ndb_mgm_set_connectstring(handle, text), 0);
    assert_int_equal(ndb_mgm_connect(handle, 0, 0), -1);
    (void)snprintf(text, sizeof(text),
                   "127.0.0.1 port 1: Connection refused; 127.0.0.1 port %u: Connection to "
                   "management server lost: no reply in time",
                   silent_port);
    assert_string_equal(ndb_mgm_error_text(handle), text);

    (void)snprintf(text, sizeof(text), "127.0.0.1:%u", greeting_port);
    assert_int_equal(ndb_mgm_set_connectstring(handle, text), 0);
    assert_int_equal(pthread_create(&thread, NULL, greet, &greeting), 0);
    ndb_mgm_set_timeout(handle, 20000);
    assert_int_equal(ndb_mgm_connect(handle, 0, 0), -1);
    (void)snprintf(text, sizeof(text),
                   "127.0.0.1 port %u: it is no management server: it says \"SSH-2.0-Something\"",
                   greeting_port);
    assert_string_equal(ndb_mgm_error_text(handle), text);
    assert_int_equal(pthread_join(thread, &peer), 0);
    (void)close((int)(intptr_t)peer);
    (void)close(greeting);
    (void)close(silent);
    ndb_mgm_destroy_handle(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(node_ids_are_given_once),
        WITH_SERVER(the_first_node_ids_are_named),
        WITH_SERVER(the_configuration_arrives),
        WITH_SERVER(generations_follow_the_file),
        WITH_SERVER(damaged_generations),
        WITH_SERVER(the_log_has_filters_and_rotates),
        WITH_SERVER(hostile_clients_do_no_harm),
        WITH_SERVER(data_nodes_are_linked_and_ordered),
        WITH_SERVER(a_dead_data_node_answers_nothing),
        WITH_SERVER(a_start_that_takes_long_is_logged),
        cmocka_unit_test(reasons_have_their_address),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
