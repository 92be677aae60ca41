/* mc_engine.h -- who answers a request: what connections, their order and workers ask for. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct mc_config;
struct mc_job;
struct mc_name;
struct mc_worker;

/* mc_engine.c: who answers a request. First the job is put on the worker's configuration. */
void mc_engine_look(struct mc_worker *worker, struct mc_job *job);
/* What the request is about, in the cache and in the order of requests: the client's key, or the
   row that it spells. False: no row has that key. Its bytes are there until the next name. */
bool mc_engine_name(struct mc_job *job, struct mc_name *name);
/* The job is completed by it. */
void mc_engine_start(struct mc_worker *worker, struct mc_job *job);
/* There is a new value for the request's key, which could not be taken: no copy of the old one. */
void mc_engine_forget(struct mc_worker *worker, struct mc_job *job);
/* The worker has another configuration: copies of rows are those of the former one's containers. */
void mc_engine_forget_copies(struct mc_worker *worker, const struct mc_config *former);
/* Requests in the database are given up: their stores are closed. */
void mc_engine_drop(struct mc_worker *worker);
/* The database has as many requests of this worker as it may. */
bool mc_engine_full(const struct mc_worker *worker);
uint32_t mc_engine_limit(const struct mc_worker *worker);
