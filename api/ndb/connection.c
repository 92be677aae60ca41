/* connection.c -- the life of a connection: management server, node id, configuration, the
 * background thread. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <uv.h>
#include "api/ndb/connection_state.h"
#include "config/config.h"
#include "values/errors.h"

#define DEFAULT_TIMEOUT_MS 10000u
#define DEFAULT_SPIN_US    50u
#define DEFAULT_FLUSH      (32u << 10)
#define DEFAULT_BUFFER     (8u << 20)
#define BUFFER_MIN         (1u << 20) /* Holds the largest signal. */
#define MGM_CALL_MS        3000u
#define MGM_RETRY_MS       100u
#define BACKGROUND_MS      20u /* Between rounds of the background thread. */
#define BACKGROUND_FAST_MS 2u  /* The same while links are missing. */
#define PORT_ASK_MS        50u
#define PORT_FIXED_MS      1000u
#define PORT_CALL_MS       500u /* The same thread sends heartbeats. */

static void init_locks(struct ndb_cluster_connection *connection)
{
    pthread_mutexattr_t recursive;
    pthread_condattr_t monotonic;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&connection->state_lock, NULL);
    pthread_mutex_init(&connection->poll_lock, NULL);
    pthread_mutex_init(&connection->table_lock, NULL);
    pthread_mutex_init(&connection->send_lock,
                       &recursive); /* A send may close the link, which drops its buffer. */
    pthread_cond_init(&connection->reserved_wake, &monotonic);
    pthread_mutexattr_destroy(&recursive);
    pthread_condattr_destroy(&monotonic);
}

struct ndb_cluster_connection *ndb_connection_create(const char *connect_string,
                                                     const struct ndb_connection_options *options)
{
    struct ndb_cluster_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) return NULL;
    if (options != NULL) connection->options = *options;
    struct ndb_connection_options *o = &connection->options;
    if (o->spin_us == 0) o->spin_us = DEFAULT_SPIN_US;
    if (o->flush_bytes == 0) o->flush_bytes = DEFAULT_FLUSH;
    if (o->buffer_bytes == 0) o->buffer_bytes = DEFAULT_BUFFER;
    if (o->buffer_bytes < BUFFER_MIN) o->buffer_bytes = BUFFER_MIN;
    connection->default_timeout_ms =
        o->default_timeout_ms == 0 ? DEFAULT_TIMEOUT_MS : o->default_timeout_ms;
    snprintf(connection->name, sizeof connection->name, "%s",
             o->name == NULL ? "ndbclient" : o->name);
    o->name = connection->name;
    connection->spin_credit = 4;
    if (connect_string != NULL) {
        connection->connect_string = strdup(connect_string);
        if (connection->connect_string == NULL) {
            free(connection);
            return NULL;
        }
    }
    error_clear(&connection->error);
    init_locks(connection);
    return connection;
}

void ndb_connection_error(struct ndb_cluster_connection *connection, ndb_error_t *error)
{
    if (error == NULL) return;
    if (connection == NULL) {
        *error = *ndb_error(NULL);
        return;
    }
    pthread_mutex_lock(&connection->state_lock);
    *error = connection->error.error;
    pthread_mutex_unlock(&connection->state_lock);
}

static void pause_ms(uint32_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000u, .tv_nsec = (long)(ms % 1000u) * 1000000};
    nanosleep(&time, NULL);
}

/* ---- Connecting. The state lock is held. ---- */

static int management_error(struct ndb_cluster_connection *connection, uint32_t code)
{
    return error_set(&connection->error, code, "%s", ndb_mgm_error_text(connection->mgm));
}

/* One try: a management server, a node id, the configuration. 0, -1 = worth another try, -2 = not.
 */
static int try_management(struct ndb_cluster_connection *connection)
{
    ndb_mgm_handle_t *mgm = connection->mgm;
    if (!ndb_mgm_is_connected(mgm) && ndb_mgm_connect(mgm, 0, 0) != 0)
        return management_error(connection, ERR_API_NO_MANAGEMENT);
    uint32_t wanted = connection->options.node_id;
    if (wanted == 0) wanted = ndb_mgm_configured_nodeid(mgm);
    int node = ndb_mgm_alloc_nodeid(mgm, NDB_MGM_NODE_API, wanted, NULL);
    if (node <= 0) {
        bool again = ndb_mgm_error_code(mgm) != NDB_MGM_ALLOCID_CONFIG_MISMATCH;
        management_error(connection, again ? ERR_NODE_ID_RESERVED : ERR_NODE_TYPE);
        return again ? -1 : -2;
    }
    uint8_t *bytes = NULL;
    size_t size = 0;
    char why[NDB_DETAIL_SIZE] = "";
    if (ndb_mgm_get_configuration(mgm, &bytes, &size) != 0)
        return management_error(connection, ERR_API_NO_MANAGEMENT);
    connection->config = config_decode(bytes, size, why, sizeof why);
    free(bytes);
    if (connection->config == NULL)
        return error_set(&connection->error, ERR_API_NO_MANAGEMENT, "%s", why);
    connection->node_id = (uint32_t)node;
    return 0;
}

static int ask_management(struct ndb_cluster_connection *connection, uint64_t end_ms)
{
    connection->mgm = ndb_mgm_create_handle();
    if (connection->mgm == NULL) return error_set(&connection->error, ERR_API_MEMORY, NULL);
    if (ndb_mgm_set_connectstring(connection->mgm, connection->connect_string) != 0)
        return management_error(connection, ERR_PARAMETER);
    ndb_mgm_set_name(connection->mgm, connection->name);
    ndb_mgm_set_timeout(connection->mgm, MGM_CALL_MS);
    for (;;) {
        int result = try_management(connection);
        if (result == 0) return 0;
        if (result == -2 || now_ms() + MGM_RETRY_MS >= end_ms) return -1;
        pause_ms(MGM_RETRY_MS);
    }
}

static void close_link(void *context, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct ndb_cluster_connection *connection = context;
    io_close_link(connection->io, peer, epoch, reason);
}

/* A quarter of what a data node keeps for us, or of where it begins to refuse: in words. */
static uint32_t rows_words(const struct ndb_cluster_connection *connection, uint32_t node)
{
    const struct config_section *tcp = config_link(connection->config, node, connection->node_id);
    uint64_t bytes = config_get_u64(tcp, CFG_TCP_SendBufferMemory);
    uint64_t limit = config_get_u64(tcp, CFG_TCP_OverloadLimit);
    if (limit > 0 && limit < bytes) bytes = limit;
    return (uint32_t)(bytes / 16u) | 1u; /* 0 would be the default. */
}

static int make_core(struct ndb_cluster_connection *connection)
{
    struct api_host host = {.context = connection,
                            .send = connection_send,
                            .crowded = connection_crowded,
                            .close = close_link};
    struct api_config config = {
        .own_node = connection->node_id,
        .generation = config_generation(connection->config),
        .arbitration_delay_ms = (uint32_t)config_get_u64(
            config_node(connection->config, connection->node_id), CFG_API_ArbitrationDelay)};
    uint64_t incarnation = 0;
    for (struct config_section *node = config_next_node(connection->config, 0, CONFIG_NDBD);
         node != NULL;
         node = config_next_node(connection->config, config_section_node(node), CONFIG_NDBD)) {
        uint32_t words = rows_words(connection, config_section_node(node));
        if (config.rows_words == 0 || words < config.rows_words) config.rows_words = words;
        node_mask_add(&config.data_nodes, config_section_node(node));
    }
    connection->data_node_count = node_mask_count(&config.data_nodes);
    if (getrandom(&config.transid_start, sizeof config.transid_start, 0) < 0)
        config.transid_start = now_ns();
    if (getrandom(&incarnation, sizeof incarnation, 0) < 0) incarnation = now_ns();
    connection->core = api_core_create(&config, &host);
    if (connection->core == NULL) return error_set(&connection->error, ERR_API_MEMORY, NULL);
    int error = io_create(connection, config_cluster_id(connection->config), incarnation | 1u);
    if (error != 0) return error_set(&connection->error, ERR_API_MEMORY, "%s", uv_strerror(error));
    api_core_node_tick(connection->core, now_ms());
    return 0;
}

/* ---- The background thread: links, heartbeats and ports while no application thread polls. ----
 */

/* A management server that had lost its directory may have given us an id that it has dropped
 * since: the data nodes' one counts. */
static void find_cluster(struct ndb_cluster_connection *connection)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    char why[NDB_DETAIL_SIZE];
    if (!ndb_mgm_is_connected(connection->mgm) && ndb_mgm_connect(connection->mgm, 0, 0) != 0)
        return;
    if (ndb_mgm_get_configuration(connection->mgm, &bytes, &size) != 0) return;
    struct cluster_config *config = config_decode(bytes, size, why, sizeof why);
    free(bytes);
    if (config != NULL) io_set_cluster(connection, config_cluster_id(config));
    config_free(config);
}

/* The port of a data node, 0: not known. `linked`: others are, and hear heartbeats. -1: no
 * management server has answered in time. */
static int ask_port(struct ndb_cluster_connection *connection, uint32_t node, bool linked)
{
    ndb_mgm_set_timeout(connection->mgm, linked ? PORT_CALL_MS : MGM_CALL_MS);
    bool connected =
        ndb_mgm_is_connected(connection->mgm) != 0 || ndb_mgm_connect(connection->mgm, 0, 0) == 0;
    int port = connected ? ndb_mgm_get_connection_port(connection->mgm, node, 0) : -1;
    if (port < 0 && connected && ndb_mgm_is_connected(connection->mgm) != 0) port = 0;
    ndb_mgm_set_timeout(connection->mgm, MGM_CALL_MS);
    return port;
}

static bool any_linked(struct ndb_cluster_connection *connection)
{
    struct config_section *node = config_next_node(connection->config, 0, CONFIG_NDBD);
    while (node != NULL && !io_linked(connection->io, config_section_node(node)))
        node = config_next_node(connection->config, config_section_node(node), CONFIG_NDBD);
    return node != NULL;
}

/* When management servers are asked next: of ports that nodes choose, and of configured ones. */
struct port_asks {
    uint64_t chosen_ms, fixed_ms;
};

/* Data nodes choose their ports; management servers know them, also where a node still listens
 * whose configured port has been changed since it began. Returns whether a link is missing. */
static bool find_ports(struct ndb_cluster_connection *connection, struct port_asks *asks)
{
    bool missing = false;
    bool answered = true;
    bool linked = any_linked(connection);
    uint64_t now = now_ms();
    struct config_section *node = config_next_node(connection->config, 0, CONFIG_NDBD);
    if (now >= asks->chosen_ms && io_foreign(connection)) find_cluster(connection);
    for (; node != NULL;
         node = config_next_node(connection->config, config_section_node(node), CONFIG_NDBD)) {
        uint32_t id = config_section_node(node);
        if (io_linked(connection->io, id)) continue;
        missing = true;
        if (now < (io_port_is_fixed(connection, id) ? asks->fixed_ms : asks->chosen_ms)) continue;
        int port = ask_port(connection, id, linked);
        answered = port >= 0;
        if (!answered) break;
        if (port > 0) io_set_port(connection, id, (uint32_t)port);
    }
    uint64_t asked = now_ms(); /* Whoever does not answer is asked seldom: links are served here. */
    if (now >= asks->chosen_ms) asks->chosen_ms = asked + (answered ? PORT_ASK_MS : PORT_FIXED_MS);
    if (now >= asks->fixed_ms) asks->fixed_ms = asked + PORT_FIXED_MS;
    return missing;
}

static bool is_stopped(struct ndb_cluster_connection *connection)
{
    pthread_mutex_lock(&connection->state_lock);
    bool stop = connection->stop;
    pthread_mutex_unlock(&connection->state_lock);
    return stop;
}

static void *background(void *context)
{
    struct ndb_cluster_connection *connection = context;
    struct port_asks asks = {.fixed_ms = now_ms() + PORT_FIXED_MS};
    bool missing = true;
    while (!is_stopped(connection)) {
        connection_serve(connection, missing ? BACKGROUND_FAST_MS : BACKGROUND_MS);
        missing = find_ports(connection, &asks);
        if (!connection_try_poll(connection, NULL, false)) continue;
        connection_round(connection, 0);
        connection_end_poll(connection);
    }
    return NULL;
}

static void drop_all(struct ndb_cluster_connection *connection)
{
    io_destroy(connection);
    api_core_destroy(connection->core);
    config_free(connection->config);
    ndb_mgm_destroy_handle(connection->mgm);
    connection->core = NULL;
    connection->config = NULL;
    connection->mgm = NULL;
}

int ndb_connection_connect(struct ndb_cluster_connection *connection, uint32_t timeout_ms)
{
    if (connection == NULL) return -1;
    uint32_t wait = timeout_of(connection, timeout_ms);
    uint64_t end_ms = wait == NDB_NO_TIMEOUT ? UINT64_MAX : now_ms() + wait;
    pthread_mutex_lock(&connection->state_lock);
    int result = 0;
    if (!connection->connected) {
        result = ask_management(connection, end_ms);
        if (result == 0) result = make_core(connection);
        if (result == 0 && pthread_create(&connection->thread, NULL, background, connection) != 0)
            result = error_set(&connection->error, ERR_API_MEMORY, "no thread");
        if (result == 0) {
            connection->connected = true;
            connection->thread_runs = true;
        } else {
            drop_all(connection);
        }
    }
    pthread_mutex_unlock(&connection->state_lock);
    return result;
}

/* Why nobody is ready, as far as this end knows: "" if it does not. */
static void why_none(struct ndb_cluster_connection *connection, char *why, size_t size)
{
    uint32_t node = 0;
    uint32_t refused = api_core_refusal(connection->core, &node);
    ndb_error_t error;
    if (refused == 0) { /* Who is there and refuses says more than a link that is missing. */
        io_failure(connection, why, size);
        return;
    }
    ndb_error_lookup((int32_t)refused, &error);
    snprintf(why, size, "node %u refuses this client: %s", node,
             refused == ERR_QMGR_UNDEFINED ? "it is of another major version" : error.text);
}

static int none_ready(struct ndb_cluster_connection *connection)
{
    char why[NDB_DETAIL_SIZE];
    why_none(connection, why, sizeof why);
    pthread_mutex_lock(&connection->state_lock);
    error_set(&connection->error, ERR_CLUSTER_FAILURE, "no data node is ready%s%s",
              why[0] != '\0' ? "; " : "", why);
    pthread_mutex_unlock(&connection->state_lock);
    return -1;
}

#define OTHERS_MS 1000u /* How long the others are waited for when the first node is ready. */

int ndb_connection_wait_until_ready(struct ndb_cluster_connection *connection, uint32_t timeout_ms)
{
    if (connection == NULL) return -1;
    pthread_mutex_lock(&connection->state_lock);
    bool connected = connection->connected;
    if (!connected)
        error_set(&connection->error, ERR_API_NO_CONNECTION, "ndb_connection_connect first");
    pthread_mutex_unlock(&connection->state_lock);
    if (!connected) return -1;
    uint32_t wait = timeout_of(connection, timeout_ms);
    uint64_t end_ms = wait == NDB_NO_TIMEOUT ? UINT64_MAX : now_ms() + wait;
    bool some = false;
    for (;;) {
        uint32_t ready = ndb_connection_ready_nodes(connection);
        if (ready == connection->data_node_count) return 0;
        if (ready > 0 && !some) { /* The work can begin; those that are down may stay so. */
            some = true;
            if (end_ms > now_ms() + OTHERS_MS) end_ms = now_ms() + OTHERS_MS;
        }
        if (now_ms() >= end_ms) {
            if (ready > 0) return (int)(connection->data_node_count - ready);
            return none_ready(connection);
        }
        if (connection_try_poll(connection, NULL, false)) {
            connection_round(connection, 1);
            connection_end_poll(connection);
        } else {
            pause_ms(1);
        }
    }
}

void ndb_connection_free(struct ndb_cluster_connection *connection)
{
    if (connection == NULL) return;
    if (connection->thread_runs) {
        pthread_mutex_lock(&connection->state_lock);
        connection->stop = true;
        pthread_mutex_unlock(&connection->state_lock);
        pthread_join(connection->thread, NULL);
    }
    for (uint32_t i = 1; i <= connection->ndb_high; i++)
        ndb_close(connection->ndbs[i]);
    if (connection->io != NULL) connection_push_all(connection);
    drop_all(connection);
    for (uint32_t i = 0; i <= NODE_ID_MAX; i++)
        free(connection->out[i].words);
    pthread_mutex_destroy(&connection->state_lock);
    pthread_mutex_destroy(&connection->poll_lock);
    pthread_mutex_destroy(&connection->table_lock);
    pthread_mutex_destroy(&connection->send_lock);
    pthread_cond_destroy(&connection->reserved_wake);
    free(connection->connect_string);
    free(connection);
}

/* ---- Asking. ---- */

uint32_t ndb_connection_node_id(const struct ndb_cluster_connection *connection)
{
    return connection == NULL ? 0 : connection->node_id;
}

uint32_t ndb_connection_data_nodes(const struct ndb_cluster_connection *connection)
{
    return connection == NULL ? 0 : connection->data_node_count;
}

uint32_t ndb_connection_ready_nodes(const struct ndb_cluster_connection *connection)
{
    if (connection == NULL || connection->core == NULL) return 0;
    struct node_mask ready = api_core_ready(connection->core);
    return node_mask_count(&ready);
}

uint32_t ndb_connection_lives(const struct ndb_cluster_connection *connection)
{
    if (connection == NULL || connection->core == NULL) return 0;
    return api_core_lives(connection->core);
}

uint32_t ndb_connection_next_ready_node(const struct ndb_cluster_connection *connection,
                                        uint32_t node_id)
{
    if (connection == NULL || connection->core == NULL) return 0;
    struct node_mask ready = api_core_ready(connection->core);
    return node_mask_next(&ready, node_id);
}
