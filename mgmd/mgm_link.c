/* mgm_link.c -- the management server's links to the data nodes: the only file that knows the
 * transporter. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mgmd/mgm_link.h"
#include "mgmd/mgmd.h"
#include "mgmd/mgmd_config.h"
#include "transporters/transporter.h"

struct mgm_link {
    struct mgmd *mgmd;
    struct transporter *transporter;
    /* Epoch of the open link to each node; 0 = none is open. */
    uint32_t epoch[CONFIG_NODES_MAX + 1];
};

static void link_up(void *context, uint32_t peer, uint32_t role, uint32_t epoch)
{
    struct mgm_link *link = context;

    (void)role;
    if (peer > CONFIG_NODES_MAX) return;
    link->epoch[peer] = epoch;
    uint16_t port = mgmd_node_port(link->mgmd, peer);
    if (port != 0 && link->mgmd->nodes[peer].port == 0) {
        link->mgmd->nodes[peer].port = port; /* It listens there, whatever is configured later. */
        mgmd_ports_store(link->mgmd);
    }
    mgmd_node_link_up(link->mgmd, peer);
}

/* A node that has left the configuration keeps its link while it runs, as it counts when others are
 * restarted. Nobody looks for it later. */
static void look_no_more(struct mgm_link *link, uint32_t node)
{
    const struct config_section *section = config_node(link->mgmd->config, node);

    if (link->epoch[node] == 0 && (section == NULL || config_section_kind(section) != CONFIG_NDBD))
        transporter_allow(link->transporter, node, false);
}

static void link_down(void *context, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct mgm_link *link = context;

    (void)epoch;
    if (peer > CONFIG_NODES_MAX) return;
    link->epoch[peer] = 0;
    mgmd_node_link_down(link->mgmd, peer, reason);
    look_no_more(link, peer);
}

static bool take_signals(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                         uint32_t count)
{
    struct mgm_link *link = context;

    (void)epoch;
    while (count > 0) {
        struct signal sig;
        uint32_t extent = signal_extent_check(words, count);
        if (extent == 0) return false;
        signal_open(&sig, words);
        if (!mgmd_node_signal(link->mgmd, peer, &sig)) return false;
        words += extent;
        count -= extent;
    }
    return true;
}

static void link_log(void *context, uint32_t level, const char *text)
{
    struct mgm_link *link = context;
    /* Level 1 debug .. 5 alert. */
    static const enum ndb_mgm_severity severities[] = {
        NDB_MGM_SEVERITY_INFO,    NDB_MGM_SEVERITY_DEBUG, NDB_MGM_SEVERITY_INFO,
        NDB_MGM_SEVERITY_WARNING, NDB_MGM_SEVERITY_ERROR, NDB_MGM_SEVERITY_ALERT};

    cluster_log_write(link->mgmd->log, level < 6 ? severities[level] : NDB_MGM_SEVERITY_INFO, 0,
                      text);
}

static void link_refused_by(void *context, uint32_t peer, enum link_refusal refusal,
                            uint64_t cluster_id, const char *reason)
{
    struct mgm_link *link = context;
    char why[400];

    (void)refusal;
    (void)reason;
    if (cluster_id != 0 && !link->mgmd->stopping)
        (void)mgmd_identity_claim(link->mgmd, peer, cluster_id, true, why, sizeof(why));
}

static const struct transporter_callbacks calls = {.link_up = link_up,
                                                   .link_down = link_down,
                                                   .signals = take_signals,
                                                   .log = link_log,
                                                   .refused = link_refused_by};

struct mgm_link *mgm_link_start(struct mgmd *mgmd)
{
    struct mgm_link *link = calloc(1, sizeof(*link));
    struct transporter_options options = {.loop = mgmd->loop,
                                          .calls = &calls,
                                          .context = link,
                                          .own_node = mgmd->own_node,
                                          .own_role = LINK_ROLE_MGM,
                                          .cluster_id = config_cluster_id(mgmd->config)};

    if (link == NULL) return NULL;
    (void)uv_random(NULL, NULL, &options.incarnation, sizeof(options.incarnation), 0, NULL);
    if (options.incarnation == 0) options.incarnation = uv_hrtime() | 1;
    link->mgmd = mgmd;
    link->transporter = transporter_create(&options);
    if (link->transporter == NULL) {
        free(link);
        return NULL;
    }
    mgm_link_update(link);
    return link;
}

void mgm_link_update(struct mgm_link *link)
{
    struct mgmd *mgmd = link->mgmd;

    transporter_set_cluster(link->transporter, config_cluster_id(mgmd->config));
    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++)
        look_no_more(link, id);
    for (struct config_section *node = config_next_node(mgmd->config, 0, CONFIG_NDBD); node != NULL;
         node = config_next_node(mgmd->config, config_section_node(node), CONFIG_NDBD)) {
        uint32_t id = config_section_node(node);
        const struct config_section *tcp = config_link(mgmd->config, id, mgmd->own_node);
        struct transporter_peer peer = {
            .node = id,
            .role = LINK_ROLE_DATA,
            .host = config_link_host(mgmd->config, mgmd->own_node, id),
            .port = mgmd_node_port(mgmd, id),
            .connect = true,
            .allowed = true,
            .send_buffer_bytes = (uint32_t)config_get_u64(tcp, CFG_TCP_SendBufferMemory),
            .overload_bytes = (uint32_t)config_get_u64(tcp, CFG_TCP_OverloadLimit)};
        int rc = transporter_set_peer(link->transporter, &peer);
        if (rc != 0) {
            cluster_log_printf(mgmd->log, NDB_MGM_SEVERITY_ERROR, "Link to node %u: %s", id,
                               uv_strerror(rc));
        }
        transporter_allow(link->transporter, id, true); /* It may have come back. */
    }
}

int mgm_link_send(struct mgm_link *link, uint32_t node, uint32_t block, uint32_t gsn, uint32_t prio,
                  const void *payload, uint32_t words)
{
    uint32_t signal[SIGNAL_HEAD_WORDS + SIGNAL_WORDS_MAX];

    if (node > CONFIG_NODES_MAX || link->epoch[node] == 0 || words > SIGNAL_WORDS_MAX) return -1;
    signal[0] = signal_kind(gsn, words, 0, prio, 0);
    signal[1] = block_ref(node, block, 0);
    signal[2] = block_ref(link->mgmd->own_node, BLOCK_MGM, 0);
    signal[3] = SIGNAL_HEAD_WORDS + words;
    memcpy(signal + SIGNAL_HEAD_WORDS, payload, 4 * (size_t)words);
    transporter_send(link->transporter, node, link->epoch[node], signal, SIGNAL_HEAD_WORDS + words);
    return 0;
}

void mgm_link_flush(struct mgm_link *link)
{
    transporter_flush(link->transporter);
}

bool mgm_link_is_hello(const void *bytes, uint32_t size)
{
    return transporter_is_hello(bytes, size);
}

void mgm_link_adopt(struct mgm_link *link, int descriptor, const void *bytes, uint32_t size)
{
    (void)transporter_adopt(link->transporter, descriptor, bytes, size);
}

void mgm_link_address(struct mgm_link *link, uint32_t node, char *address, uint32_t size)
{
    struct link_statistics statistics;

    address[0] = '\0';
    (void)transporter_statistics(link->transporter, node, &statistics, address, size);
    /* The port is cut off: "10.0.0.1:1186" or "[::1]:1186". */
    char *colon = strrchr(address, ':');
    char *close = strchr(address, ']');
    if (address[0] == '[' && close != NULL) {
        *close = '\0';
        memmove(address, address + 1, strlen(address));
    } else if (colon != NULL && strchr(address, ':') == colon) {
        *colon = '\0';
    }
    if (strncmp(address, "::ffff:", 7) == 0) memmove(address, address + 7, strlen(address + 7) + 1);
}

void mgm_link_stop(struct mgm_link *link)
{
    transporter_stop(link->transporter);
}

bool mgm_link_stopped(const struct mgm_link *link)
{
    return transporter_stopped(link->transporter);
}

void mgm_link_free(struct mgm_link *link)
{
    if (link == NULL) return;
    transporter_destroy(link->transporter);
    free(link);
}
