/* mgmd_peers.h -- the other management servers. Private to mgmd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cluster_config;
struct mgmd;

/* Does this server make the changes of the configuration? The lowest id does. */
bool mgmd_leads(const struct mgmd *mgmd);
bool mgmd_peer_alive(const struct mgmd *mgmd, uint32_t id);
/* Why the configuration cannot be changed with another server, and what helps. */
struct mgmd_unlike {
    const char *what;
    const char *cure;
};
/* A server that is not like this one, with the reason; 0 = all are. */
uint32_t mgmd_peer_missing(const struct mgmd *mgmd, struct mgmd_unlike *why);
void mgmd_peers_tick(struct mgmd *mgmd);
void mgmd_peers_free(struct mgmd *mgmd);
/* Asks the servers of `known` once and gives the newest configuration, which is the caller's, whose
 * it is, and whether that server is fresh: then nobody else has any. NULL: nobody answers. Waits.
 */
struct cluster_config *mgmd_peers_first(const struct cluster_config *known, uint32_t own_node,
                                        uint32_t *from, bool *fresh);
