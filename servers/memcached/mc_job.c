/* mc_job.c -- a request's place among the replies of its connection: taken, queued, completed,
 * given back. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "servers/memcached/mc_connection_private.h"

struct mc_job *mc_job_take(struct mc_connection *connection)
{
    struct mc_worker *worker = connection->worker;
    struct mc_job *job = worker->free_jobs;
    if (job == NULL) return calloc(1, sizeof *job);
    worker->free_jobs = job->next;
    memset(job, 0, offsetof(struct mc_job, request) + offsetof(struct mc_request, key));
    return job;
}

void mc_job_give(struct mc_worker *worker, struct mc_job *job)
{
    mc_config_release(job->config); /* The reply names columns of it. */
    job->config = NULL;
    mc_request_release(&job->request);
    job->next = worker->free_jobs;
    worker->free_jobs = job;
}

uint32_t mc_job_value_bytes(const struct mc_job *job)
{
    return job->request.result.value == NULL ? 0 : job->request.result.value->size;
}

void mc_job_queue(struct mc_connection *connection, struct mc_job *job)
{
    job->connection = connection;
    job->worker = connection->worker;
    if (connection->last == NULL)
        connection->first = job;
    else
        connection->last->next = job;
    connection->last = job;
    connection->jobs++;
}

void mc_job_completed(struct mc_job *job)
{
    job->completed = true;
    if (job->connection == NULL) {
        mc_job_give(job->worker, job);
        return;
    }
    job->connection->reply_bytes += mc_job_value_bytes(job);
    if (job->ordered) mc_order_leave(job->connection, job);
    mc_connection_mark(job->connection);
}
