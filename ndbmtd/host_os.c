/* host_os.c -- the world of a node that is a real process: clock, sockets, log, wake-ups. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "ndbmtd/process.h"
#include "service/notify.h"
#include "signals/management.h"

uint64_t process_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t process_now_ms(const struct process *process)
{
    return (process_now_ns() - process->start_ns) / 1000000u;
}

static uint64_t host_realtime_us(struct host *host)
{
    (void)host;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static uint64_t random_number(void)
{
    uint64_t number = 0;
    while (number == 0) {
        if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
            number = process_now_ns();
    }
    return number;
}

static uint64_t host_seed(struct host *host)
{
    (void)host;
    return random_number();
}

static struct sockets *link_sockets(struct process *process, uint32_t peer)
{
    return process->worker[layout_link_thread(&process->config, peer)].sockets;
}

static struct sockets *writer_sockets(struct process *process, uint32_t peer)
{
    return process->worker[layout_writer_thread(&process->config, peer)].sockets;
}

static void host_wake(struct host *host, uint32_t thread_no)
{
    struct process *process = (struct process *)host;
    struct worker *worker = &process->worker[thread_no];
    /* Pairs with the fence in worker.c: either we see that it sleeps, or it sees what we have sent.
     */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&worker->sleeping, memory_order_relaxed) == 0) return;
    if (worker->sockets != NULL) {
        uv_async_send(&worker->sockets->wake);
        return;
    }
    pthread_mutex_lock(&worker->lock);
    worker->signalled = true;
    pthread_cond_signal(&worker->wakeup);
    pthread_mutex_unlock(&worker->lock);
}

static void host_link_send(struct host *host, uint32_t thread_no, uint32_t peer, uint32_t epoch,
                           const uint32_t *words, uint32_t count)
{
    struct process *process = (struct process *)host;
    struct sockets *to = writer_sockets(process, peer);
    if (to->queues == NULL) { /* One thread does all. */
        transporter_send(to->transporter, peer, epoch, words, count);
        return;
    }
    /* Who writes never waits for anybody, and sends nothing itself, so a full ring empties; until
     * it has left its loop. */
    while (!send_queue_put(to->queues, thread_no, peer, epoch, words, count)) {
        if (atomic_load(&process->stopping) != 0) return;
        uv_async_send(&to->wake);
        sched_yield();
    }
    if (send_queues_must_wake(to->queues)) uv_async_send(&to->wake);
}

/* --- Wishes: link orders of other threads, and of a recv thread from within a callback. --- */

static void announce_wish(struct process *process, uint32_t peer)
{
    struct sockets *sockets = link_sockets(process, peer);
    atomic_store(&sockets->wishes, 1);
    uv_async_send(&sockets->wake);
}

static void host_link_close(struct host *host, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct process *process = (struct process *)host;
    pthread_mutex_lock(&process->wish_lock);
    struct link_wish *wish = &process->wish[peer];
    wish->close = 1;
    wish->epoch = epoch;
    snprintf(wish->reason, sizeof wish->reason, "%s", reason);
    pthread_mutex_unlock(&process->wish_lock);
    announce_wish(process, peer);
}

static void host_link_allow(struct host *host, uint32_t peer, uint32_t allowed)
{
    struct process *process = (struct process *)host;
    pthread_mutex_lock(&process->wish_lock);
    process->wish[peer].allow = allowed != 0 ? 2 : 1;
    pthread_mutex_unlock(&process->wish_lock);
    announce_wish(process, peer);
}

void host_os_peer_port(struct process *process, uint32_t peer, uint16_t port)
{
    pthread_mutex_lock(&process->wish_lock);
    process->wish[peer].port = port;
    pthread_mutex_unlock(&process->wish_lock);
    announce_wish(process, peer);
}

static void set_peer(struct process *process, uint32_t node, uint16_t port);

void host_os_wishes(struct worker *worker)
{
    struct process *process = worker->process;
    struct transporter *transporter = worker->sockets->transporter;
    if (atomic_load_explicit(&worker->sockets->wishes, memory_order_relaxed) == 0) return;
    atomic_exchange(&worker->sockets->wishes, 0);
    for (uint32_t peer = 1; peer <= NODE_ID_MAX; peer++) {
        if (layout_link_thread(&process->config, peer) != worker->no) continue;
        pthread_mutex_lock(&process->wish_lock);
        struct link_wish wish = process->wish[peer];
        memset(&process->wish[peer], 0, sizeof wish);
        pthread_mutex_unlock(&process->wish_lock);
        if (wish.close != 0) transporter_close(transporter, peer, wish.epoch, wish.reason);
        if (wish.port != 0) set_peer(process, peer, wish.port);
        if (wish.allow != 0) transporter_allow(transporter, peer, wish.allow == 2);
    }
}

/* --- What the transporters tell us, each on the recv thread of its peers. --- */

static uint32_t class_of_role(uint32_t role)
{
    if (role == LINK_ROLE_DATA) return FROM_DATA;
    return role == LINK_ROLE_MGM ? FROM_MGM : FROM_API;
}

static void on_link_up(void *context, uint32_t peer, uint32_t role, uint32_t epoch)
{
    struct process *process = context;
    node_link_up(process->node, layout_link_thread(&process->config, peer), peer,
                 class_of_role(role), epoch);
}

static void on_link_down(void *context, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct process *process = context;
    process_log(process, LOG_LEVEL_INFO, "link to node %u is down: %s", peer, reason);
    node_link_down(process->node, layout_link_thread(&process->config, peer), peer, epoch);
    if (process->config.node[peer].type == NODE_DATA && peer < process->config.own_node)
        port_finder_lost(process);
}

static void on_dismissed(void *context, uint32_t peer, uint32_t epoch)
{
    struct process *process = context;
    node_link_dismissed(process->node, peer, epoch);
}

static bool on_signals(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                       uint32_t count)
{
    struct process *process = context;
    return node_deliver(process->node, layout_link_thread(&process->config, peer), peer, epoch,
                        words, count);
}

static void on_level(void *context, uint32_t peer, enum link_level level)
{
    struct process *process = context;
    node_link_level(process->node, peer, level);
}

static void on_log(void *context, uint32_t level, const char *text)
{
    process_log(context, (enum log_level)level, "%s", text);
}

static const struct transporter_callbacks transporter_calls = {
    .link_up = on_link_up,
    .link_down = on_link_down,
    .signals = on_signals,
    .level = on_level,
    .log = on_log,
    .dismissed = on_dismissed,
};

static uint32_t role_of_kind(enum config_kind kind)
{
    if (kind == CONFIG_NDBD) return LINK_ROLE_DATA;
    return kind == CONFIG_MGMD ? LINK_ROLE_MGM : LINK_ROLE_API;
}

/* The higher data node id connects to the lower; clients and management servers connect to data
 * nodes. */
static void set_peer(struct process *process, uint32_t node, uint16_t port)
{
    const struct config_section *section = config_node(process->cluster, node);
    const struct config_section *link =
        config_link(process->cluster, process->config.own_node, node);
    enum config_kind kind = config_section_kind(section);
    bool connect = kind == CONFIG_NDBD && node < process->config.own_node;
    uint16_t server_port =
        kind == CONFIG_NDBD ? (uint16_t)config_get_u64(section, CFG_NDBD_ServerPort) : 0;
    struct transporter_peer peer = {
        .node = node,
        .role = role_of_kind(kind),
        .host = kind == CONFIG_NDBD
                    ? config_link_host(process->cluster, process->config.own_node, node)
                    : NULL,
        .port = port != 0 ? port : server_port,
        .connect = connect,
        .allowed = kind == CONFIG_NDBD,
        .once = kind != CONFIG_NDBD, /* QMGR lets it in when all blocks have forgotten its past. */
        .send_buffer_bytes = (uint32_t)config_get_u64(link, CFG_TCP_SendBufferMemory),
        .overload_bytes = (uint32_t)config_get_u64(link, CFG_TCP_OverloadLimit),
    };
    int error = transporter_set_peer(link_sockets(process, node)->transporter, &peer);
    if (error != 0) process_log(process, LOG_LEVEL_ERROR, "node %u: %s", node, uv_strerror(error));
}

static int listen_somewhere(struct process *process)
{
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    uint16_t port = (uint16_t)config_get_u64(own, CFG_NDBD_ServerPort);
    const char *name = config_get_text(own, CFG_NDBD_HostName);
    bool any = config_get_u64(own, CFG_NDBD_TcpBind_INADDR_ANY) != 0;
    /* A numeric or loopback HostName is the address to listen on; a name may stand for several, so
     * all are taken. */
    const char *address = NULL;
    if (!any && (strcmp(name, "localhost") == 0 || strncmp(name, "127.", 4) == 0))
        address = "127.0.0.1";
    int bound = transporter_listen(workers_first_sockets(process)->transporter, address, port);
    if (bound < 0) {
        process_log(process, LOG_LEVEL_ERROR, "cannot listen on %s port %u: %s",
                    address != NULL ? address : "any address", port, uv_strerror(bound));
        return -1;
    }
    process->port = (uint16_t)bound;
    return 0;
}

static struct transporter *owner_of(void *context, uint32_t peer)
{
    return link_sockets(context, peer)->transporter;
}

static struct link_writer *writer_of(void *context, uint32_t peer)
{
    return writer_sockets(context, peer)->writer;
}

static int open_transporters(struct process *process)
{
    const struct node_config *config = &process->config;
    struct transporter_options options = {
        .calls = &transporter_calls,
        .context = process,
        .own_node = config->own_node,
        .own_role = LINK_ROLE_DATA,
        .cluster_id = config->cluster_id,
        .incarnation = random_number(),
        .owner = layout_recv_count(config) > 1 ? owner_of : NULL,
        .writer = config->send_count > 0 ? writer_of : NULL,
    };
    for (uint32_t no = layout_socket_thread(config); no < config->thread_count; no++) {
        struct sockets *sockets = process->worker[no].sockets;
        options.loop = &sockets->loop;
        sockets->transporter = transporter_create(&options);
        if (sockets->transporter == NULL) {
            process_log(process, LOG_LEVEL_ERROR, "%s", exit_code_text(EXIT_MEMALLOC));
            return -1;
        }
    }
    return 0;
}

int host_os_open(struct process *process)
{
    if (open_transporters(process) != 0) return -1;
    if (listen_somewhere(process) != 0) return -1;
    for (const struct config_section *node = config_next_node(process->cluster, 0, CONFIG_NONE);
         node != NULL;
         node = config_next_node(process->cluster, config_section_node(node), CONFIG_NONE)) {
        if (config_section_node(node) != process->config.own_node)
            set_peer(process, config_section_node(node), 0);
    }
    return 0;
}

/* --- Log, failure, stop. --- */

static void host_log(struct host *host, enum log_level level, const char *text)
{
    process_log((struct process *)host, level, "%s", text);
}

static void __attribute__((noreturn))
host_fail(struct host *host, const struct node_failure *failure)
{
    process_fail((struct process *)host, failure);
}

static void host_phase(struct host *host, uint32_t phase)
{
    const struct process *process = (const struct process *)host;
    service_status("Node %u starts: phase %u is completed", process->config.own_node, phase);
}

static void host_started(struct host *host)
{
    struct process *process = (struct process *)host;
    angel_tell_started(process);
    service_ready("Node %u is started", process->config.own_node);
}

static void host_stopped(struct host *host, uint32_t restart_flags)
{
    struct process *process = (struct process *)host;
    process->restart_flags = restart_flags;
    service_notify((restart_flags & STOP_RESTART) != 0 ? "STATUS=Node %u is restarted"
                                                       : "STOPPING=1\nSTATUS=Node %u is stopped",
                   process->config.own_node);
    atomic_store(&process->stopping, 1);
    for (uint32_t no = 0; no < layout_workers(&process->config); no++) {
        host_wake(host, no);
        if (process->worker[no].sockets != NULL) uv_async_send(&process->worker[no].sockets->wake);
    }
}

void host_os_init(struct process *process)
{
    process->host = (struct host){
        .realtime_us = host_realtime_us,
        .wake = host_wake,
        .link_send = host_link_send,
        .link_close = host_link_close,
        .link_allow = host_link_allow,
        .seed = host_seed,
        .log = host_log,
        .fail = host_fail,
        .thread_times = account_times,
        .phase = host_phase,
        .started = host_started,
        .stopped = host_stopped,
    };
}
