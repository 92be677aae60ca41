/* mgm_link.h -- the management server's links to the data nodes. Private to mgmd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mgm_link;
struct mgmd;

struct mgm_link *mgm_link_start(struct mgmd *mgmd);
/* Tells the link where data nodes are; again after each change of ports or configuration. */
void mgm_link_update(struct mgm_link *link);
/* Sends a signal without sections to a block of a data node. -1 when there is no link. */
int mgm_link_send(struct mgm_link *link, uint32_t node, uint32_t block, uint32_t gsn, uint32_t prio,
                  const void *payload, uint32_t words);
void mgm_link_flush(struct mgm_link *link);
bool mgm_link_is_hello(const void *bytes, uint32_t size);
void mgm_link_adopt(struct mgm_link *link, int descriptor, const void *bytes, uint32_t size);
void mgm_link_address(struct mgm_link *link, uint32_t node, char *address, uint32_t size);
void mgm_link_stop(struct mgm_link *link);
bool mgm_link_stopped(const struct mgm_link *link);
void mgm_link_free(struct mgm_link *link);
