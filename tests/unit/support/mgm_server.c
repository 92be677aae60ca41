/* mgm_server.c -- a real ndb_mgmd in a directory of its own, and data nodes that only answer
 * signals. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/mgm_server.h"
#include "signals/event_report.h"
#include "signals/management.h"
#include "signals/node_report.h"

/* ---- a server in its own directory ---- */

void server_write_config(const struct server *server, const char *extra)
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

int server_launch(struct server *server, const char *option)
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

ndb_mgm_handle_t *server_connect_to(const struct server *server)
{
    ndb_mgm_handle_t *handle = ndb_mgm_create_handle();
    char text[32];

    (void)snprintf(text, sizeof(text), "127.0.0.1:%u", server->port);
    assert_int_equal(ndb_mgm_set_connectstring(handle, text), 0);
    ndb_mgm_set_timeout(handle, 20000);
    assert_int_equal(ndb_mgm_connect(handle, 0, 0), 0);
    return handle;
}

int server_setup(void **state)
{
    struct server *server = calloc(1, sizeof(*server));

    temp_directory_make(server->directory);
    server_write_config(server, "");
    assert_int_equal(server_launch(server, NULL), -1);
    server->handle = server_connect_to(server);
    *state = server;
    return 0;
}

void server_stop_server(struct server *server)
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

int server_teardown(void **state)
{
    struct server *server = *state;

    server_stop_server(server);
    temp_directory_remove(server->directory);
    free(server);
    return 0;
}

bool server_file_exists(const struct server *server, const char *name)
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
        /* As a node of before the digest does. */
        fake_answer(fake, epoch, sig, GSN_NODE_STATUS_CONF, &conf,
                    offsetof(struct node_status_conf, digest) / 4, NULL, 0);
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

/* `cluster`: the id that the node has; 0: that of the configuration. */
static int run_fake(const struct server *server, uint32_t node, uint32_t level, uint64_t cluster)
{
    static const struct transporter_callbacks calls = {
        .link_up = fake_up, .link_down = fake_down, .signals = fake_signals};
    struct fake_node fake = {.node = node, .level = level};
    ndb_mgm_handle_t *handle = server_connect_to(server);
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
                                          .cluster_id =
                                              cluster != 0 ? cluster : config_cluster_id(config),
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

pid_t server_start_fake_of(const struct server *server, uint32_t node, uint32_t level,
                           uint64_t cluster)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(run_fake(server, node, level, cluster));
    }
    return pid;
}

pid_t server_start_fake(const struct server *server, uint32_t node, uint32_t level)
{
    return server_start_fake_of(server, node, level, 0);
}

void server_await_status(struct server *server, uint32_t node, enum ndb_mgm_node_status status)
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

void server_reap(pid_t pid, int wanted)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), wanted);
}

struct cluster_config *server_configuration_of(const struct server *server)
{
    uint8_t *bytes;
    size_t size;
    char why[128];

    assert_int_equal(ndb_mgm_get_configuration(server->handle, &bytes, &size), 0);
    struct cluster_config *config = config_decode(bytes, size, why, sizeof(why));
    assert_non_null(config);
    free(bytes);
    return config;
}

uint32_t server_generation_of(const struct server *server, uint64_t *cluster)
{
    struct cluster_config *config = server_configuration_of(server);
    uint32_t generation = config_generation(config);
    *cluster = config_cluster_id(config);
    config_free(config);
    return generation;
}

bool server_log_has(const struct server *server, const char *text)
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
