/* mgmd_config.h -- the server's configuration: how it is chosen, changed and kept, and of which
 * cluster it is. Private to mgmd/. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"
#include "kernel/base/bitmask.h"

struct mgmd;
struct mgmd_node;

/* ---- mgmd_choose.c: which configuration a server starts with ---- */

/* Loads what is kept and the file, decides, stores a new generation. 0, or -1 with messages on
 * standard error. */
int mgmd_config_start(struct mgmd *mgmd);
/* A file's configuration, NULL: it is wrong. What is to say of it is on the standard error. */
struct cluster_config *mgmd_read_config(const char *file);

/* ---- mgmd_change.c: how it becomes another one ---- */

/* Reads the file again (`file` NULL: as started). 0, or -1 with the reason in `why`. */
int mgmd_config_reload(struct mgmd *mgmd, const char *file, char *why, size_t why_size);
/* Another server's newer configuration becomes this one's, which owns it then; `any_cluster`: also
 * if it has another id. 0; -1: it cannot be stored now; 1: it is of another cluster, or without
 * this server, which stops then. */
int mgmd_config_take(struct mgmd *mgmd, struct cluster_config *config, bool any_cluster);
/* The changed file of the start becomes the configuration when all servers are there. */
void mgmd_config_pending(struct mgmd *mgmd);
/* Gives the new configuration its generation and identity (`cached`'s, or a new one) and stores
 * it; generation 1 alone. 0, or -1. */
int mgmd_config_adopt(struct mgmd *mgmd, struct cluster_config *config,
                      const struct cluster_config *cached, uint32_t generation);
/* Why another server's configuration cannot be this one's, or NULL. */
const char *mgmd_config_not_ours(const struct mgmd *mgmd, const struct cluster_config *theirs,
                                 uint64_t cluster_id);

/* ---- mgmd_kept.c: the generations that are kept in the server's directory ---- */

/* The number of the newest below `below`, 0: none. Its file may be damaged. */
uint32_t mgmd_kept_newest(const struct mgmd *mgmd, uint32_t below);
/* One of the generations that are kept, or NULL with the reason. */
struct cluster_config *mgmd_kept_load(const struct mgmd *mgmd, uint32_t generation, char *why,
                                      size_t why_size);
/* The newest that can be read; damaged ones are named and skipped. NULL: there is none. */
struct cluster_config *mgmd_kept_load_newest(struct mgmd *mgmd);
/* The node whose configurations the directory holds; 0: nobody's, or those of several. */
uint32_t mgmd_kept_owner(const struct mgmd *mgmd);
/* The number of the one that follows `config`. */
uint32_t mgmd_kept_next(const struct mgmd *mgmd, const struct cluster_config *config);
/* Writes the configuration into the directory, under its generation. 0, or -1 with errno. */
int mgmd_kept_store(struct mgmd *mgmd, const struct cluster_config *config);
/* Writes it in the place of all that are kept. 0, or -1 with errno. */
int mgmd_kept_store_alone(struct mgmd *mgmd, const struct cluster_config *config);
/* Removes the generations before the present one. */
void mgmd_kept_forget(struct mgmd *mgmd);
/* A data node runs with this generation, which it does not have from here. If that is one of
 * former files, and its number may be one of ours, ours comes behind it. 0, or -1: that could not
 * be stored, and is to be tried again. */
int mgmd_kept_behind(struct mgmd *mgmd, uint32_t generation);
/* The configuration in its binary form, malloc'ed, and its generation: the newest one, or that of a
 * data node (`from_node` not 0). NULL with the reason. */
uint8_t *mgmd_config_encode(const struct mgmd *mgmd, uint32_t from_node, size_t *size,
                            uint32_t *generation, char *why, size_t why_size);
/* Does the node run with this configuration? */
bool mgmd_runs_with(const struct mgmd_node *node, const struct cluster_config *config);
/* What the node runs with, of those that are kept; NULL: none of them, with the reason. */
struct cluster_config *mgmd_running_config(const struct mgmd *mgmd, const struct mgmd_node *node,
                                           char *why, size_t why_size);
/* Would these data nodes work after a restart (one by one, or the `whole` cluster at once), with
 * what has changed since they began? False with the reason. */
bool mgmd_config_fits(struct mgmd *mgmd, const struct node_mask *nodes, bool whole, bool initial,
                      char *why, size_t size);

/* ---- mgmd_files.c ---- */

/* To read. Nobody is waited for: what is no file (EINVAL: a pipe, say) is not opened. NULL with
 * errno. */
FILE *mgmd_open_file(const char *path);
/* A whole file, malloc'ed. NULL with errno. */
uint8_t *mgmd_read_file(const char *path, size_t *size);
/* Writes a file so that its name never stands for half of it, or removes one; it is so after a
 * power cut, too. 0, or -1 with errno. */
int mgmd_write_file(const char *path, const void *bytes, size_t size);
/* What helps when a file in the configuration directory cannot be written: `error` is its errno. */
const char *mgmd_write_cure(int error);
/* The same of a file that every user may read. */
int mgmd_write_public_file(const char *path, const void *bytes, size_t size);
int mgmd_remove_file(const char *path);
/* Makes what was renamed or removed beside `path` outlive a power cut. 0, or -1 with errno. */
int mgmd_sync_directory_of(const char *path);
/* Ports that data nodes told, kept over a restart of the server. */
void mgmd_ports_load(struct mgmd *mgmd);
void mgmd_ports_store(const struct mgmd *mgmd);

/* ---- mgmd_identity.c: which server, of which cluster ---- */

/* The id and name of the configuration's cluster: `cached`'s, or, without one, a new one. */
void mgmd_identity_give(const struct mgmd *mgmd, struct cluster_config *config,
                        const struct cluster_config *cached);
/* A new cluster begins with this configuration: remembers that nobody has confirmed its id. 0, or
 * -1 with a message. */
int mgmd_identity_begin(struct mgmd *mgmd, const struct cluster_config *config);
bool mgmd_identity_fresh(const struct mgmd *mgmd, const struct cluster_config *config);
/* Another server has the same id, or the operator says it: it stays. */
void mgmd_identity_confirm(struct mgmd *mgmd);
/* A data node is started with this id. */
void mgmd_identity_confirm_by_node(struct mgmd *mgmd);
/* Called every second. */
void mgmd_identity_tick(struct mgmd *mgmd);
/* A data node, which `runs` or has files, is of this cluster. 0: so is this server, by now; -1: it
 * is not, 1: it cannot store that it would be, with the reason. */
int mgmd_identity_claim(struct mgmd *mgmd, uint32_t node, uint64_t cluster_id, bool runs, char *why,
                        size_t size);

/* The own node: the id given, or the only management server of the configuration that is for this
 * host. 0 with a message. */
uint32_t mgmd_find_own_node(const struct mgmd *mgmd, const struct cluster_config *config);
