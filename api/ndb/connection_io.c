/* connection_io.c -- the loop and the transporter of one connection. Only who has the poll right
 * may be in here. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/ndb/connection_state.h"
#include "config/config.h"
#include "transporters/transporter.h"

struct connection_io {
    struct ndb_cluster_connection *connection;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t timer;
    struct transporter *transporter;
    uint64_t progress;
    uint32_t port[CONFIG_NODES_MAX + 1]; /* Port of each node; 0 = not known. */
    bool fixed_port[CONFIG_NODES_MAX + 1];
    _Atomic bool linked[CONFIG_NODES_MAX + 1];
    /* Port that the background thread has found; 0 = none. */
    _Atomic uint32_t found_port[CONFIG_NODES_MAX + 1];
    _Atomic uint64_t found_cluster; /* Id of the cluster that it has found; 0 = none. */
    _Atomic bool any_found;
    _Atomic bool foreign; /* A data node has refused us: it is of another cluster. */
    pthread_mutex_t failure_lock;
    /* Why the last attempt at a link failed; "" = none has. It is told of one node: failed_node. */
    char failure[NDB_DETAIL_SIZE];
    /* Node of that attempt: the one with the lowest id, so that it stays one text. */
    uint32_t failed_node;
    bool failed_foreign; /* That node belongs to another cluster: told before all other reasons. */
    bool loop_made;
    bool handles_made;
};

static void keep_failure(struct connection_io *io, uint32_t node, bool foreign, const char *reason)
{
    const char *host = config_link_host(io->connection->config, io->connection->node_id, node);
    uint32_t port = io->port[node];
    pthread_mutex_lock(&io->failure_lock);
    bool more = io->failure[0] == '\0' || node == io->failed_node || /* That is over. */
                (foreign && !io->failed_foreign) ||
                (foreign == io->failed_foreign && node < io->failed_node);
    if (!more) {
        pthread_mutex_unlock(&io->failure_lock);
        return;
    }
    io->failed_node = node;
    io->failed_foreign = foreign;
    if (foreign)
        snprintf(io->failure, sizeof io->failure,
                 "node %u at %s port %u belongs to another cluster than the management server's",
                 node, host, port);
    else
        snprintf(io->failure, sizeof io->failure, "no link to node %u at %s port %u: %s", node,
                 host, port, reason);
    pthread_mutex_unlock(&io->failure_lock);
}

static void forget_failure(struct connection_io *io, uint32_t node)
{
    pthread_mutex_lock(&io->failure_lock);
    if (io->failed_node == node) io->failure[0] = '\0';
    pthread_mutex_unlock(&io->failure_lock);
}

void io_failure(struct ndb_cluster_connection *connection, char *text, size_t size)
{
    struct connection_io *io = connection->io;
    text[0] = '\0';
    if (io == NULL) return; /* Nothing has been tried. */
    pthread_mutex_lock(&io->failure_lock);
    snprintf(text, size, "%s", io->failure);
    pthread_mutex_unlock(&io->failure_lock);
}

static void on_link_up(void *context, uint32_t peer, uint32_t role, uint32_t epoch)
{
    struct connection_io *io = context;
    (void)role;
    io->progress++;
    io->linked[peer] = true;
    forget_failure(io, peer);
    deliver_link_up(io->connection, peer, epoch);
}

static void on_link_down(void *context, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct connection_io *io = context;
    (void)reason;
    io->progress++;
    io->linked[peer] = false;
    if (io->connection->options.no_reconnect) transporter_allow(io->transporter, peer, false);
    if (!io->fixed_port[peer])
        io->port[peer] = 0; /* A restarted node may listen elsewhere: ask again. */
    deliver_link_down(io->connection, peer, epoch);
}

static bool on_signals(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                       uint32_t count)
{
    struct connection_io *io = context;
    io->progress++;
    return deliver_signals(io->connection, peer, epoch, words, count);
}

static void on_level(void *context, uint32_t peer, enum link_level level)
{
    struct connection_io *io = context;
    (void)peer;
    (void)level;
    io->progress++; /* There may be room now for what waits. */
}

static void on_refused(void *context, uint32_t peer, enum link_refusal refusal, uint64_t cluster_id,
                       const char *reason)
{
    struct connection_io *io = context;
    (void)refusal;
    keep_failure(io, peer, cluster_id != 0, reason);
    if (cluster_id != 0 && ndb_connection_lives(io->connection) == 0)
        atomic_store(&io->foreign, true);
}

static const struct transporter_callbacks calls = {.link_up = on_link_up,
                                                   .link_down = on_link_down,
                                                   .signals = on_signals,
                                                   .level = on_level,
                                                   .refused = on_refused};

static void on_wake(uv_async_t *handle)
{
    struct connection_io *io = handle->data;
    io->progress++;
}

static void on_timer(uv_timer_t *handle)
{
    (void)handle; /* It only ends a wait. */
}

static int make_loop(struct connection_io *io)
{
    int error = transporter_loop_init(&io->loop);
    if (error != 0) return error;
    io->loop_made = true;
    error = uv_async_init(&io->loop, &io->wake, on_wake);
    if (error == 0) error = uv_timer_init(&io->loop, &io->timer);
    if (error != 0) return error;
    io->handles_made = true;
    io->wake.data = io;
    uv_unref((uv_handle_t *)&io->wake);
    return 0;
}

static void add_peer(struct connection_io *io, uint32_t node, const char *host)
{
    struct transporter_peer peer = {.node = node,
                                    .role = LINK_ROLE_DATA,
                                    .host = host,
                                    .port = (uint16_t)io->port[node],
                                    .connect = true,
                                    .allowed = true,
                                    .send_buffer_bytes = io->connection->options.buffer_bytes};
    transporter_set_peer(io->transporter, &peer);
}

static void add_peers(struct connection_io *io)
{
    const struct cluster_config *config = io->connection->config;
    for (struct config_section *node = config_next_node(config, 0, CONFIG_NDBD); node != NULL;
         node = config_next_node(config, config_section_node(node), CONFIG_NDBD)) {
        uint32_t id = config_section_node(node);
        io->port[id] = (uint32_t)config_get_u64(node, CFG_NDBD_ServerPort);
        io->fixed_port[id] = io->port[id] != 0;
        add_peer(io, id, config_link_host(config, io->connection->node_id, id));
    }
}

int io_create(struct ndb_cluster_connection *connection, uint64_t cluster_id, uint64_t incarnation)
{
    struct connection_io *io = calloc(1, sizeof *io);
    if (io == NULL) return UV_ENOMEM;
    io->connection = connection;
    pthread_mutex_init(&io->failure_lock, NULL);
    connection->io = io;
    struct transporter_options options = {.loop = &io->loop,
                                          .calls = &calls,
                                          .context = io,
                                          .own_node = connection->node_id,
                                          .own_role = LINK_ROLE_API,
                                          .cluster_id = cluster_id,
                                          .incarnation = incarnation};
    int error = make_loop(io);
    if (error == 0) io->transporter = transporter_create(&options);
    if (io->transporter == NULL) {
        io_destroy(connection);
        return error != 0 ? error : UV_ENOMEM;
    }
    add_peers(io);
    return 0;
}

void io_destroy(struct ndb_cluster_connection *connection)
{
    struct connection_io *io = connection->io;
    if (io == NULL) return;
    if (io->transporter != NULL) {
        transporter_flush(io->transporter);
        transporter_stop(io->transporter);
        while (!transporter_stopped(io->transporter))
            io_run_waiting(io, 10);
        transporter_destroy(io->transporter);
    }
    if (io->handles_made) {
        uv_close((uv_handle_t *)&io->wake, NULL);
        uv_close((uv_handle_t *)&io->timer, NULL);
    }
    if (io->loop_made) {
        uv_run(&io->loop, UV_RUN_DEFAULT);
        uv_loop_close(&io->loop);
    }
    connection->io = NULL;
    pthread_mutex_destroy(&io->failure_lock);
    free(io);
}

bool io_port_is_fixed(const struct ndb_cluster_connection *connection, uint32_t node)
{
    return connection->io->fixed_port[node];
}

void io_wake(struct connection_io *io)
{
    uv_async_send(&io->wake);
}

/* A poller may keep the poll right for long, so the port does not wait for it: the next round takes
 * it. */
void io_set_port(struct ndb_cluster_connection *connection, uint32_t node, uint32_t port)
{
    struct connection_io *io = connection->io;
    atomic_store(&io->found_port[node], port);
    atomic_store(&io->any_found, true);
    io_wake(io);
}

bool io_foreign(struct ndb_cluster_connection *connection)
{
    return atomic_exchange(&connection->io->foreign, false);
}

void io_set_cluster(struct ndb_cluster_connection *connection, uint64_t cluster_id)
{
    struct connection_io *io = connection->io;
    atomic_store(&io->found_cluster, cluster_id);
    atomic_store(&io->any_found, true);
    io_wake(io);
}

/* Who has ever met a data node that was ready stays with its cluster, whatever a management server
 * says. */
static void take_cluster(struct connection_io *io)
{
    uint64_t cluster_id = atomic_exchange(&io->found_cluster, 0);
    if (cluster_id != 0 && ndb_connection_lives(io->connection) == 0)
        transporter_set_cluster(io->transporter, cluster_id);
}

static void take_ports(struct connection_io *io)
{
    if (!atomic_load_explicit(&io->any_found, memory_order_relaxed)) return;
    atomic_store(&io->any_found, false);
    take_cluster(io);
    const struct cluster_config *config = io->connection->config;
    for (struct config_section *node = config_next_node(config, 0, CONFIG_NDBD); node != NULL;
         node = config_next_node(config, config_section_node(node), CONFIG_NDBD)) {
        uint32_t id = config_section_node(node);
        uint32_t port = atomic_exchange(&io->found_port[id], 0);
        if (port == 0 || port == io->port[id] || io->linked[id]) continue;
        io->port[id] = port;
        add_peer(io, id, config_link_host(config, io->connection->node_id, id));
    }
}

bool io_overloaded(struct connection_io *io, uint32_t peer)
{
    return transporter_level(io->transporter, peer) >= LINK_OVERLOAD;
}

void io_send(struct connection_io *io, uint32_t peer, uint32_t epoch, const uint32_t *words,
             uint32_t count)
{
    transporter_send(io->transporter, peer, epoch, words, count);
}

void io_flush(struct connection_io *io)
{
    transporter_flush(io->transporter);
}

void io_run(struct connection_io *io)
{
    take_ports(io);
    uv_run(&io->loop, UV_RUN_NOWAIT);
}

void io_run_waiting(struct connection_io *io, uint32_t wait_ms)
{
    take_ports(io);
    uv_update_time(&io->loop);
    uv_timer_start(&io->timer, on_timer, wait_ms, 0);
    uv_run(&io->loop, UV_RUN_ONCE);
    uv_timer_stop(&io->timer);
}

uint64_t io_progress(const struct connection_io *io)
{
    return io->progress;
}

void io_close_link(struct connection_io *io, uint32_t peer, uint32_t epoch, const char *reason)
{
    transporter_close(io->transporter, peer, epoch, reason);
}

int io_backend_fd(const struct connection_io *io)
{
    return uv_backend_fd(&io->loop);
}

bool io_linked(struct connection_io *io, uint32_t node)
{
    return io->linked[node];
}
