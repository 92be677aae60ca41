/* test_mgm_server.c -- a real ndb_mgmd over the C management API, with data nodes that only answer
 * signals. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mgmd/config.h"
#include "ndb/mgm.h"
#include "signals/event_log.h"
#include "transporters/transporter.h"

#define ROWS_PAGES 40u

struct server {
    char directory[64];
    pid_t pid;
    uint16_t port;
    ndb_mgm_handle_t *handle;
};

/* ---- a server in its own directory ---- */

static void write_config(const struct server *server, const char *extra)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/config.ini", server->directory);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    (void)fprintf(out,
                  "[ndb_mgmd]\nNodeId=49\nHostName=localhost\nPortNumber=0\nDataDir=%s\n"
                  "LogDestination=FILE:filename=c.log,maxsize=4K,maxfiles=2\n"
                  "[ndbd default]\nDataDir=%s\n%s[ndbd]\nNodeId=1\n[ndbd]\nNodeId=2\n"
                  "[mysqld]\nNodeId=60\n[mysqld]\nNodeId=61\nDedicated=1\n[mysqld]\nNodeId="
                  "62\nHostName=127.0.0.9\n",
                  server->directory, server->directory, extra);
    assert_int_equal(fclose(out), 0);
}

/* Starts it and reads the port from its first line. Returns the exit status when it ends at once,
 * else -1. */
static int launch(struct server *server, const char *option)
{
    char path[128];
    char line[256] = "";
    int ends[2];
    int status;

    (void)snprintf(path, sizeof(path), "%s/config.ini", server->directory);
    assert_int_equal(pipe(ends), 0);
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(ends[1], 1);
        (void)dup2(open("/dev/null", O_WRONLY), 2);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execl(NDB_MGMD, "ndb_mgmd", "--nodaemon", "-f", path, option, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    bool started = fgets(line, sizeof(line), in) != NULL;
    (void)fclose(in);
    if (!started) {
        assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
        server->pid = 0;
        return WEXITSTATUS(status);
    }
    unsigned node;
    unsigned port;
    assert_int_equal(sscanf(line, "ndb_mgmd: node %u listens on port %u", &node, &port), 2);
    assert_int_equal(node, 49);
    server->port = (uint16_t)port;
    return -1;
}

static ndb_mgm_handle_t *connect_to(const struct server *server)
{
    ndb_mgm_handle_t *handle = ndb_mgm_create_handle();
    char text[32];

    (void)snprintf(text, sizeof(text), "127.0.0.1:%u", server->port);
    assert_int_equal(ndb_mgm_set_connectstring(handle, text), 0);
    ndb_mgm_set_timeout(handle, 20000);
    assert_int_equal(ndb_mgm_connect(handle, 0, 0), 0);
    return handle;
}

static int setup(void **state)
{
    struct server *server = calloc(1, sizeof(*server));

    (void)snprintf(server->directory, sizeof(server->directory), "/tmp/ndb_mgm_XXXXXX");
    assert_non_null(mkdtemp(server->directory));
    write_config(server, "");
    assert_int_equal(launch(server, NULL), -1);
    server->handle = connect_to(server);
    *state = server;
    return 0;
}

static void stop_server(struct server *server)
{
    ndb_mgm_destroy_handle(server->handle);
    server->handle = NULL;
    if (server->pid == 0) return;
    int status;
    (void)kill(server->pid, SIGTERM);
    assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    server->pid = 0;
}

static int teardown(void **state)
{
    struct server *server = *state;
    char path[400];

    stop_server(server);
    DIR *directory = opendir(server->directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        (void)snprintf(path, sizeof(path), "%s/%s", server->directory, entry->d_name);
        if (entry->d_name[0] != '.') (void)unlink(path);
    }
    (void)closedir(directory);
    (void)rmdir(server->directory);
    free(server);
    return 0;
}

static bool file_exists(const struct server *server, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", server->directory, name);
    return access(path, F_OK) == 0;
}

/* ---- a data node that only answers its management server ---- */

struct fake_node {
    uv_loop_t loop;
    struct transporter *transporter;
    uint32_t node;
    uint32_t level;
};

static void fake_answer(struct fake_node *fake, uint32_t epoch, const struct signal *sig,
                        uint32_t gsn, const void *payload, uint32_t words, const uint32_t *section,
                        uint32_t size)
{
    uint32_t signal[200] = {signal_kind(gsn, words, size > 0, PRIO_B, 0), sig->sender,
                            block_ref(fake->node, BLOCK_CMVMI, 0),
                            SIGNAL_HEAD_WORDS + words + (size > 0) + size};

    memcpy(signal + SIGNAL_HEAD_WORDS, payload, 4 * (size_t)words);
    if (size > 0) {
        signal[SIGNAL_HEAD_WORDS + words] = size;
        memcpy(signal + SIGNAL_HEAD_WORDS + words + 1, section, 4 * (size_t)size);
    }
    transporter_send(fake->transporter, 49, epoch, signal, signal[3]);
}

static void fake_signal(struct fake_node *fake, uint32_t epoch, const struct signal *sig)
{
    if (sig->gsn == GSN_NODE_STATUS_REQ) {
        struct node_status_conf conf = {.sender_data = fake->node,
                                        .start_level = fake->level,
                                        .start_phase = 101,
                                        .president = 1,
                                        .dynamic_id = fake->node,
                                        .version = 0x010000,
                                        .start_percent = fake->level == START_STARTED ? 100 : 45,
                                        .start_left_s = 12};
        node_mask_add(&conf.connected, 60);
        fake_answer(fake, epoch, sig, GSN_NODE_STATUS_CONF, &conf, sizeof(conf) / 4, NULL, 0);
    } else if (sig->gsn == GSN_MEMORY_REPORT_REQ) {
        struct memory_report_conf conf = {
            .sender_data = sig->payload[0], .page_size = 32768, .groups = 2};
        uint32_t section[12] = {50, 400, 400, 60, 0, 1, 2, 3, 4, 5, ROWS_PAGES, 10};
        fake_answer(fake, epoch, sig, GSN_MEMORY_REPORT_CONF, &conf, sizeof(conf) / 4, section, 12);
    } else if (sig->gsn == GSN_DISK_REPORT_REQ) {
        struct disk_report_conf conf = {.sender_data = sig->payload[0],
                                        .parts = 2,
                                        .gci = 71,
                                        .durable = 70,
                                        .lcp_state = LCP_REPORT_WRITING,
                                        .lcp_id = 69,
                                        .lcp_ms = 1500,
                                        .last_id = 60,
                                        .last_age_ms = 20000,
                                        .last_ms = 3000,
                                        .last_fragments = 8,
                                        .last_failed = 1,
                                        .last_kbytes = 4096};
        uint32_t section[2 * DISK_REPORT_WORDS];
        for (uint32_t i = 0; i < 2 * DISK_REPORT_WORDS; i++)
            section[i] = i + 1;
        /* A node that is not started tells less than it says. */
        fake_answer(fake, epoch, sig, GSN_DISK_REPORT_CONF, &conf, sizeof(conf) / 4, section,
                    fake->level == START_CMVMI ? 3 : 2 * DISK_REPORT_WORDS);
    } else if (sig->gsn == GSN_THREAD_REPORT_REQ) {
        struct thread_report_conf conf = {.sender_data = sig->payload[0], .threads = 2};
        struct thread_use uses[2] = {{.at = {9000000, 0}, .user = {100, 2}, .sleep = {7, 0}},
                                     {.at = {9000001, 0}, .system = {8, 0}}};
        memcpy(uses[0].name, "ldm", 4);
        memcpy(uses[1].name, "a b\nprocess", 8); /* No end, and what no name has. */
        uint32_t section[28];
        memcpy(section, uses, sizeof(section));
        fake_answer(fake, epoch, sig, GSN_THREAD_REPORT_CONF, &conf, sizeof(conf) / 4, section,
                    fake->level == START_CMVMI ? 27 : 28);
    } else if (sig->gsn == GSN_EVENT_LOG_REQ) {
        struct event_log_rep rep = {.sender_data = sig->payload[0],
                                    .age_ms = 5000u - 1000u * fake->node,
                                    .type = EVENT_INFO,
                                    .node = fake->node};
        struct event_log_conf conf = {.sender_data = sig->payload[0], .count = 1};
        uint32_t section[3] = {6, 0, 0};
        memcpy(section + 1, "one\ntw", 6);
        fake_answer(fake, epoch, sig, GSN_EVENT_LOG_REP, &rep, sizeof(rep) / 4, section, 3);
        fake_answer(fake, epoch, sig, GSN_EVENT_LOG_CONF, &conf, sizeof(conf) / 4, NULL, 0);
    } else if (sig->gsn == GSN_STOP_REQ && fake->node == 1 &&
               (SIG_PAYLOAD(sig, stop_req)->flags & (STOP_SYSTEM | STOP_FORCE)) == 0) {
        struct stop_ref ref = {.sender_data = sig->payload[0], .error = 5028};
        fake_answer(fake, epoch, sig, GSN_STOP_REF, &ref, sizeof(ref) / 4, NULL, 0);
    } else if (sig->gsn == GSN_STOP_REQ) {
        struct stop_conf conf = {.sender_data = sig->payload[0]};
        fake_answer(fake, epoch, sig, GSN_STOP_CONF, &conf, sizeof(conf) / 4, NULL, 0);
        transporter_flush(fake->transporter);
        transporter_stop(fake->transporter);
    } else if (sig->gsn == GSN_START_ORD) {
        fake->level = START_STARTED;
    } else if (sig->gsn == GSN_DUMP_STATE_ORD) {
        /* Shows as an event what it was ordered; the text is in section 0. */
        struct event_rep rep = {.type = EVENT_INFO, .node = fake->node};
        uint32_t section[4] = {11, 0, 0, 0};
        char text[12];
        (void)snprintf(text, sizeof(text), "dumped %04u",
                       SIG_PAYLOAD(sig, dump_state_ord)->data[0] % 10000);
        memcpy(section + 1, text, 12);
        fake_answer(fake, epoch, sig, GSN_EVENT_REP, &rep, sizeof(rep) / 4, section, 4);
    }
}

static bool fake_signals(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                         uint32_t count)
{
    struct fake_node *fake = context;

    (void)peer;
    while (count > 0) {
        struct signal sig;
        uint32_t extent = signal_extent_check(words, count);
        if (extent == 0) return false;
        signal_open(&sig, words);
        fake_signal(fake, epoch, &sig);
        words += extent;
        count -= extent;
    }
    transporter_flush(fake->transporter);
    return true;
}

static void fake_up(void *context, uint32_t peer, uint32_t role, uint32_t epoch)
{
    (void)context;
    (void)peer;
    (void)role;
    (void)epoch;
}

static void fake_down(void *context, uint32_t peer, uint32_t epoch, const char *reason)
{
    (void)context;
    (void)peer;
    (void)epoch;
    (void)reason;
}

static int run_fake(const struct server *server, uint32_t node, uint32_t level)
{
    static const struct transporter_callbacks calls = {
        .link_up = fake_up, .link_down = fake_down, .signals = fake_signals};
    struct fake_node fake = {.node = node, .level = level};
    ndb_mgm_handle_t *handle = connect_to(server);
    uint8_t *bytes;
    size_t size;
    char why[128];

    if (ndb_mgm_alloc_nodeid(handle, NDB_MGM_NODE_NDB, node, NULL) != (int)node) return 1;
    if (ndb_mgm_get_configuration(handle, &bytes, &size) != 0) return 2;
    struct cluster_config *config = config_decode(bytes, size, why, sizeof(why));
    if (config == NULL) return 3;
    (void)uv_loop_init(&fake.loop);
    struct transporter_options options = {.loop = &fake.loop,
                                          .calls = &calls,
                                          .context = &fake,
                                          .own_node = node,
                                          .own_role = LINK_ROLE_DATA,
                                          .cluster_id = config_cluster_id(config),
                                          .incarnation = (uint64_t)getpid()};
    fake.transporter = transporter_create(&options);
    struct transporter_peer peer = {.node = 49, .role = LINK_ROLE_MGM, .allowed = true};
    if (transporter_set_peer(fake.transporter, &peer) != 0) return 4;
    int port = transporter_listen(fake.transporter, "127.0.0.1", 0);
    if (port <= 0 || ndb_mgm_set_connection_port(handle, node, 0, (uint32_t)port) != 0) return 5;
    (void)uv_run(&fake.loop, UV_RUN_DEFAULT);
    ndb_mgm_destroy_handle(handle);
    transporter_destroy(fake.transporter);
    (void)uv_loop_close(&fake.loop);
    config_free(config);
    free(bytes);
    return 0;
}

static pid_t start_fake(const struct server *server, uint32_t node, uint32_t level)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(run_fake(server, node, level));
    }
    return pid;
}

/* Asks until the node has this status. Every question waits for an answer, so this needs no pause.
 */
static void await_status(struct server *server, uint32_t node, enum ndb_mgm_node_status status)
{
    struct ndb_mgm_cluster_state *state = malloc(sizeof(*state));
    bool reached = false;

    for (uint32_t i = 0; i < 1000000 && !reached; i++) {
        assert_int_equal(ndb_mgm_get_status(server->handle, state), 0);
        for (uint32_t j = 0; j < state->count; j++) {
            if (state->nodes[j].node_id == node) reached = state->nodes[j].status == status;
        }
    }
    free(state);
    assert_true(reached);
}

static void reap(pid_t pid, int wanted)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), wanted);
}

/* ---- tests ---- */

static void node_ids_are_given_once(void **state)
{
    struct server *server = *state;
    ndb_mgm_handle_t *other = connect_to(server);

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
    server->handle = connect_to(server);
    int id = -1;
    while (id < 0)
        id = ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_API, 60, NULL);
    assert_int_equal(id, 60);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_NDB, 0, NULL), -1);
    assert_int_equal(ndb_mgm_error_code(other), NDB_MGM_ALLOCID_RETRY);
    assert_int_equal(ndb_mgm_alloc_nodeid(other, NDB_MGM_NODE_NDB, 1, NULL), 1);
    ndb_mgm_destroy_handle(other);
}

static void the_configuration_arrives(void **state)
{
    struct server *server = *state;
    uint8_t *bytes;
    size_t size;
    char why[128];

    assert_int_equal(ndb_mgm_get_configuration(server->handle, &bytes, &size), 0);
    struct cluster_config *config = config_decode(bytes, size, why, sizeof(why));
    assert_non_null(config);
    assert_int_equal(config_generation(config), 1);
    assert_true(config_cluster_id(config) != 0);
    assert_int_equal(config_count(config, CONFIG_NONE), 6);
    assert_true(strncmp(config_get_text(config_system(config), CFG_SYSTEM_Name), "MC_", 3) == 0);
    config_free(config);
    free(bytes);
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

static uint32_t generation_of(const struct server *server, uint64_t *cluster)
{
    uint8_t *bytes;
    size_t size;
    char why[128];

    assert_int_equal(ndb_mgm_get_configuration(server->handle, &bytes, &size), 0);
    struct cluster_config *config = config_decode(bytes, size, why, sizeof(why));
    assert_non_null(config);
    uint32_t generation = config_generation(config);
    *cluster = config_cluster_id(config);
    config_free(config);
    free(bytes);
    return generation;
}

/* Without one that can be read nobody knows the cluster's id; the number of one that cannot is not
 * given to another. */
static void damaged_generations(void **state)
{
    struct server *server = *state;
    uint64_t cluster;
    uint64_t now;

    assert_int_equal(generation_of(server, &cluster), 1);
    write_config(server, "DataMemory=64M\n");
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 2);
    stop_server(server);
    damage_file(server, "ndb_49_config.bin.2");
    write_config(server, "DataMemory=65M\n");
    assert_int_equal(launch(server, NULL), -1);
    server->handle = connect_to(server);
    assert_int_equal(generation_of(server, &now), 3);
    assert_int_equal(now, cluster);
    stop_server(server);
    damage_file(server, "ndb_49_config.bin.1");
    damage_file(server, "ndb_49_config.bin.3");
    assert_int_equal(launch(server, NULL), 1);
    assert_true(file_exists(server, "ndb_49_config.bin.3"));
    assert_int_equal(launch(server, "--initial"), -1);
    server->handle = connect_to(server);
    assert_int_equal(generation_of(server, &now), 1);
    assert_int_not_equal(now, cluster);
    assert_false(file_exists(server, "ndb_49_config.bin.3"));
}

static void generations_follow_the_file(void **state)
{
    struct server *server = *state;
    uint8_t *bytes;
    size_t size;
    char why[128];

    assert_true(file_exists(server, "ndb_49_config.bin.1"));
    assert_true(file_exists(server, "ndb_49.pid"));
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 1);
    write_config(server, "DataMemory=64M\n");
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 2);
    assert_true(file_exists(server, "ndb_49_config.bin.2"));
    write_config(server, "DataMemory=lots\n");
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), -1);
    assert_non_null(strstr(ndb_mgm_error_text(server->handle),
                           "[ndbd] DataMemory: value \"lots\" is not a number"));
    stop_server(server);
    assert_false(file_exists(server, "ndb_49.pid"));
    assert_int_equal(launch(server, NULL),
                     1); /* A wrong file is refused, the cache is not used in its place. */
    write_config(server, "DataMemory=65M\n");
    assert_int_equal(launch(server, "--reload"), -1);
    server->handle = connect_to(server);
    assert_int_equal(ndb_mgm_get_configuration(server->handle, &bytes, &size), 0);
    struct cluster_config *config = config_decode(bytes, size, why, sizeof(why));
    assert_int_equal(config_generation(config), 3);
    uint64_t cluster = config_cluster_id(config);
    config_free(config);
    free(bytes);
    stop_server(server);
    assert_int_equal(launch(server, "--initial"), -1);
    server->handle = connect_to(server);
    assert_false(file_exists(server, "ndb_49_config.bin.3"));
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
    assert_true(file_exists(server, "c.log"));
    assert_true(file_exists(server, "c.log.1"));
    assert_true(file_exists(server, "c.log.2"));
    assert_false(file_exists(server, "c.log.3"));
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
    assert_int_equal(ndb_mgm_error_code(server->handle), 5002);
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
    assert_int_equal(ndb_mgm_error_code(server->handle), 5002);
    free(reports);
}

static void data_nodes_are_linked_and_ordered(void **state)
{
    struct server *server = *state;
    struct ndb_mgm_memory reports[4];
    struct ndb_mgm_cluster_state *cluster = malloc(sizeof(*cluster));
    uint32_t both[2] = {1, 2};
    uint32_t code = 42;
    pid_t first = start_fake(server, 1, START_STARTED);
    pid_t second = start_fake(server, 2, START_CMVMI);

    await_status(server, 1, NDB_MGM_STATUS_STARTED);
    await_status(server, 2, NDB_MGM_STATUS_NOT_STARTED);
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

    files_are_reported(server);
    threads_are_reported(server);
    assert_int_equal(ndb_mgm_start(server->handle, &both[1], 1), 1);
    await_status(server, 2, NDB_MGM_STATUS_STARTED);
    assert_int_equal(ndb_mgm_report_memory(server->handle, 0, reports, 4), 2);
    assert_int_equal(reports[1].node_id, 2);
    assert_int_equal(reports[1].data_used, ROWS_PAGES);
    assert_int_equal(reports[1].total, 400);
    assert_int_equal(reports[1].groups[1].failed, 5);

    /* What a data node tells reaches listeners. */
    ndb_mgm_handle_t *listener = connect_to(server);
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
    reap(second, 0);
    await_status(server, 2, NDB_MGM_STATUS_NO_CONTACT);
    assert_int_equal(ndb_mgm_stop(server->handle, &both[1], 1, 0, NULL), -1);
    assert_int_equal(ndb_mgm_error_code(server->handle), 5000);
    assert_int_equal(ndb_mgm_shutdown(server->handle), 2); /* Node 1 and the server itself. */
    reap(first, 0);
    reap(server->pid, 0);
    server->pid = 0;
    free(cluster);
}

static void a_dead_data_node_answers_nothing(void **state)
{
    struct server *server = *state;
    uint32_t node = 2;
    int status;
    pid_t fake = start_fake(server, node, START_STARTED);

    await_status(server, node, NDB_MGM_STATUS_STARTED);
    assert_int_equal(kill(fake, SIGKILL), 0);
    assert_int_equal(waitpid(fake, &status, 0), fake);
    await_status(server, node, NDB_MGM_STATUS_NO_CONTACT);
    assert_int_equal(ndb_mgm_dump_state(server->handle, node, &node, 1), -1);
    assert_int_equal(ndb_mgm_error_code(server->handle), 5000);
    /* Its next life gets the id and is linked again. */
    fake = start_fake(server, node, START_STARTED);
    await_status(server, node, NDB_MGM_STATUS_STARTED);
    assert_int_equal(ndb_mgm_stop(server->handle, NULL, 0, 0, NULL), 1);
    reap(fake, 0);
}

static bool log_has(const struct server *server, const char *text)
{
    char path[128];
    char line[512];
    bool found = false;

    (void)snprintf(path, sizeof(path), "%s/c.log", server->directory);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    while (!found && fgets(line, sizeof(line), in) != NULL)
        found = strstr(line, text) != NULL;
    (void)fclose(in);
    return found;
}

static void a_start_that_takes_long_is_logged(void **state)
{
    struct server *server = *state;

    write_config(server, "StartupStatusReportFrequency=1\n");
    assert_int_equal(ndb_mgm_reload_config(server->handle, NULL), 2);
    pid_t fake = start_fake(server, 2, START_STARTING);
    await_status(server, 2, NDB_MGM_STATUS_STARTING);
    while (!log_has(server, "Node 2: 45% of the data read back, 12 s left"))
        await_status(server, 2, NDB_MGM_STATUS_STARTING);
    assert_int_equal(ndb_mgm_stop(server->handle, NULL, 0, 0, NULL), 1);
    reap(fake, 0);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(node_ids_are_given_once),
        WITH_SERVER(the_configuration_arrives),
        WITH_SERVER(generations_follow_the_file),
        WITH_SERVER(damaged_generations),
        WITH_SERVER(the_log_has_filters_and_rotates),
        WITH_SERVER(hostile_clients_do_no_harm),
        WITH_SERVER(data_nodes_are_linked_and_ordered),
        WITH_SERVER(a_dead_data_node_answers_nothing),
        WITH_SERVER(a_start_that_takes_long_is_logged),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
