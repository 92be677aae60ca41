/* mgmd_alloc.c -- which node id a process gets, by its type, host and wish, and when an id is free
 * again. With several servers the data nodes are asked behind that: mgmd_nodeids.c. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "mgmd/mgmd.h"
#include "mgmd/mgmd_session.h"

/* Is a process with this id linked, to us or to a data node? */
static bool id_linked(const struct mgmd *mgmd, uint32_t id)
{
    if (mgmd->nodes[id].linked || id == mgmd->own_node) return true;
    for (uint32_t node = 1; node <= CONFIG_DATA_NODES_MAX; node++) {
        if (mgmd->nodes[node].linked && node_mask_has(&mgmd->nodes[node].clients, id)) return true;
    }
    return false;
}

/* Is the id in use: held by a session, or linked? A session that has held it for long without any
 * use lets go of it when somebody asks. */
static bool id_taken(const struct mgmd *mgmd, uint32_t id)
{
    const struct mgmd_node *node = &mgmd->nodes[id];
    bool unused = uv_now(mgmd->loop) >= node->unused_since + MGMD_UNUSED_ID_MS;

    return id_linked(mgmd, id) || (node->holder != 0 && !unused);
}

/* An id counts as used while a process is linked with it, and while there is nobody that a client
 * could link to. */
void mgmd_note_used_ids(struct mgmd *mgmd)
{
    bool started = mgmd_president(mgmd) != 0;

    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        struct mgmd_node *node = &mgmd->nodes[id];
        if (node->holder == 0) continue;
        const struct config_section *section = config_node(mgmd->config, id);
        bool data = section != NULL && config_section_kind(section) == CONFIG_NDBD;
        if (id_linked(mgmd, id) || (!data && !started)) node->unused_since = uv_now(mgmd->loop);
    }
}

static bool loopback(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0 || strncmp(host, "::ffff:127.", 11) == 0;
}

/* Does the slot's host name stand for this address or name? */
static bool host_matches(const char *slot, const char *host)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    bool found = false;

    if (slot[0] == '\0' || strcasecmp(slot, host) == 0) return true;
    if (loopback(slot) && loopback(host)) return true;
    if (strncmp(host, "::ffff:", 7) == 0) host += 7;
    if (getaddrinfo(slot, NULL, &hints, &list) != 0) return false;
    for (const struct addrinfo *at = list; at != NULL && !found; at = at->ai_next) {
        char text[NI_MAXHOST];
        if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST) ==
            0) {
            found = strcmp(text, host) == 0;
        }
    }
    freeaddrinfo(list);
    return found;
}

static enum config_kind kind_of_type(enum ndb_mgm_node_type type)
{
    switch (type) {
    case NDB_MGM_NODE_NDB:
        return CONFIG_NDBD;
    case NDB_MGM_NODE_API:
        return CONFIG_API;
    case NDB_MGM_NODE_MGM:
        break;
    }
    return CONFIG_MGMD;
}

/* "1, 2", as far as there is room. */
static void name_ids(const struct mgmd *mgmd, enum config_kind kind, char *text, size_t size)
{
    const struct config_section *node = config_next_node(mgmd->config, 0, kind);
    size_t used = 0;

    text[0] = '\0';
    for (; node != NULL && used + sizeof ", 255, ..." <= size;
         node = config_next_node(mgmd->config, config_section_node(node), kind))
        used += (size_t)snprintf(text + used, size - used, "%s%u", used == 0 ? "" : ", ",
                                 config_section_node(node));
    if (node != NULL) (void)snprintf(text + used, size - used, ", ...");
}

static uint32_t alloc_wanted(struct mgmd *mgmd, enum config_kind kind, uint32_t wanted,
                             const char *host, int *code, char *why, size_t size)
{
    const struct config_section *node = config_node(mgmd->config, wanted);

    *code = NDB_MGM_ALLOCID_CONFIG_MISMATCH;
    if (node == NULL || config_section_kind(node) != kind) {
        char ids[64];
        name_ids(mgmd, kind, ids, sizeof(ids));
        (void)snprintf(why, size, "node id %u is not configured as [%s] (which has: %s)", wanted,
                       config_kind_name(kind), ids[0] != '\0' ? ids : "none");
        return 0;
    }
    if (!host_matches(config_get_text(node, CFG_NDBD_HostName), host)) {
        (void)snprintf(why, size, "node id %u belongs to host \"%.100s\", not to \"%.100s\"",
                       wanted, config_get_text(node, CFG_NDBD_HostName), host);
        return 0;
    }
    if (id_taken(mgmd, wanted)) {
        *code = NDB_MGM_ALLOCID_RETRY;
        (void)snprintf(why, size, "node id %u is already in use", wanted);
        return 0;
    }
    return wanted;
}

uint32_t mgmd_alloc_id(struct mgmd *mgmd, struct mgmd_session *session, enum ndb_mgm_node_type type,
                       uint32_t wanted, const char *host, int *code, char *why, size_t why_size)
{
    enum config_kind kind = kind_of_type(type);
    uint32_t id = 0;
    uint32_t unused = 0; /* Held in vain: better than none. */
    bool fits = false;

    if (wanted != 0) {
        id = alloc_wanted(mgmd, kind, wanted, host, code, why, why_size);
    } else {
        for (struct config_section *node = config_next_node(mgmd->config, 0, kind);
             node != NULL && id == 0;
             node = config_next_node(mgmd->config, config_section_node(node), kind)) {
            if (config_get_u64(node, CFG_NDBD_Dedicated) != 0) continue;
            if (!host_matches(config_get_text(node, CFG_NDBD_HostName), host)) continue;
            fits = true;
            uint32_t slot = config_section_node(node);
            if (mgmd->nodes[slot].kept_until > uv_now(mgmd->loop) || id_taken(mgmd, slot)) continue;
            if (mgmd->nodes[slot].holder == 0)
                id = slot;
            else if (unused == 0)
                unused = slot;
        }
        if (id == 0) id = unused;
        *code = fits ? NDB_MGM_ALLOCID_RETRY : NDB_MGM_ALLOCID_CONFIG_MISMATCH;
        (void)snprintf(why, why_size,
                       fits ? "no [%s] slot is free for host \"%.100s\""
                            : "no [%s] slot is configured for host \"%.100s\"",
                       config_kind_name(kind), host);
    }
    if (id == 0) return 0;
    mgmd->nodes[id].holder = mgmd_session_id(session);
    mgmd->nodes[id].unused_since = uv_now(mgmd->loop);
    mgmd->nodes[id].linked_once = false;
    mgmd->nodes[id].kept_until = 0;
    if (kind != CONFIG_NDBD) { /* A data node's comes from its link. */
        (void)snprintf(mgmd->nodes[id].address, sizeof(mgmd->nodes[id].address), "%s",
                       mgmd_session_address(session));
    }
    return id;
}

/* A data node's angel asks for an id, ends its session, and its worker then asks for this id: in
 * between it is not given to another process. Once the node was linked there is nothing to wait
 * for. */
void mgmd_free_ids(struct mgmd *mgmd, uint32_t session)
{
    for (uint32_t id = 1; id <= CONFIG_NODES_MAX; id++) {
        struct mgmd_node *node = &mgmd->nodes[id];
        const struct config_section *section = config_node(mgmd->config, id);
        if (node->holder != session) continue;
        node->holder = 0;
        if (section != NULL && config_section_kind(section) == CONFIG_API)
            mgmd_order_nodeid_free(mgmd, id);
        if (section == NULL || config_section_kind(section) != CONFIG_NDBD || node->linked_once)
            continue;
        node->kept_until = uv_now(mgmd->loop) + MGMD_KEEP_ID_MS;
    }
}
