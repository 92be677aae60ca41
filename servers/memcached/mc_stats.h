/* mc_stats.h -- what is counted, and what `stats` tells of it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mc_client;
struct mc_job;
struct mc_output;
struct mc_request;
struct mc_server;
struct mc_worker;

/* What clients were told, whoever has answered: each request counts once. */
enum mc_figure {
    MC_CMD_GET = 0,
    MC_CMD_SET,
    MC_CMD_FLUSH,
    MC_CMD_TOUCH,
    MC_CMD_META,
    MC_GET_HITS,
    MC_GET_MISSES,
    MC_DELETE_MISSES,
    MC_DELETE_HITS,
    MC_INCR_MISSES,
    MC_INCR_HITS,
    MC_DECR_MISSES,
    MC_DECR_HITS,
    MC_CAS_MISSES,
    MC_CAS_HITS,
    MC_CAS_BADVAL,
    MC_TOUCH_HITS,
    MC_TOUCH_MISSES,
    MC_STORE_TOO_LARGE,
    MC_STORE_NO_MEMORY,
    MC_NDB_READS, /* Reads that went to the database. */
    MC_NDB_CHANGES,
    MC_NDB_UNREACHABLE, /* Requests whose cluster could not be reached. */
    MC_NDB_TEMPORARY,   /* Requests that ended with a temporary error. */
    MC_NDB_FAILED,      /* Requests that the database refused. */
    MC_FIGURES
};

/* Figures of one thread, which others may read at any time. */
struct mc_worker_figures {
    atomic_ullong bytes_read, bytes_written, requests, auth_commands, auth_errors;
    atomic_ullong count[MC_FIGURES];
    atomic_uint connections;
};

/* What only grows, until "stats reset" makes it begin anew. */
struct mc_totals {
    uint64_t count[MC_FIGURES];
    uint64_t bytes_read, bytes_written, auth_commands, auth_errors;
    uint64_t connections, listen_disabled, listen_disabled_us;
};

/* mc_stats.c: prints the group that the request names. False: there is none, nothing is printed. */
bool mc_stats(struct mc_worker *worker, const struct mc_request *request, struct mc_output *output);
/* The request's result is complete. */
void mc_stats_count(struct mc_worker *worker, const struct mc_request *request);
void mc_stats_add(struct mc_worker *worker, enum mc_figure figure);
/* What the others may know of the worker, now. Its own thread. */
void mc_stats_tell(struct mc_worker *worker);
/* mc_stats_conns.c: who is connected, from the first of these calls to the second. */
void mc_client_enter(struct mc_server *server, struct mc_client *client);
void mc_client_leave(struct mc_server *server, struct mc_client *client);
void mc_stats_conns(struct mc_server *server, const struct mc_request *request,
                    struct mc_output *output);
/* mc_stats_detail.c: by the key's prefix. False: it is not this group. */
void mc_stats_count_prefix(const struct mc_job *job);
bool mc_stats_detail(struct mc_worker *worker, const struct mc_request *request,
                     struct mc_output *output);
