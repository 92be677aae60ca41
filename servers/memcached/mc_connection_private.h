/* mc_connection_private.h -- what the files of one client share: its jobs, its way from bytes to
 * bytes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_server.h"

#define OUT_MAX  (1024u * 1024u) /* Unsent bytes with which no more requests are begun. */
#define KEPT_MAX (256u * 1024u)  /* A buffer that a worker keeps for the next one. */

/* ---- mc_job.c ---- */

/* An empty job, whose connection is not set yet; NULL: no memory. */
struct mc_job *mc_job_take(struct mc_connection *connection);
/* The job is done with: it is in no list, and nobody wants its reply any more. */
void mc_job_give(struct mc_worker *worker, struct mc_job *job);
/* The job is the connection's last one: its reply comes behind those of all others. */
void mc_job_queue(struct mc_connection *connection, struct mc_job *job);
/* Bytes of the value that its reply has. */
uint32_t mc_job_value_bytes(const struct mc_job *job);

/* ---- mc_connection_read.c ---- */

/* Room for what is missing of a large request, and for the next read in any case. False: no
   memory. */
bool mc_connection_make_room(struct mc_connection *connection, uint32_t need);
/* Reads what has come, up to a turn's bytes, and begins it. */
void mc_connection_read(struct mc_connection *connection);
/* Begins what stands in the buffer. *need: see mc_text_parse(). */
void mc_connection_begin(struct mc_connection *connection, uint32_t *need);
/* One more request may be begun now. */
bool mc_connection_may_begin(const struct mc_connection *connection);
/* The job that waited for another one of its key is begun, or waits on. */
void mc_connection_begin_held(struct mc_connection *connection);
/* Gives up the buffer of what was read, if it is empty. */
void mc_connection_give_in(struct mc_connection *connection);

/* ---- mc_connection_answer.c ---- */

/* Does what the job asks of the server itself; the job is completed by it. */
void mc_connection_answer(struct mc_connection *connection, struct mc_job *job);

/* ---- mc_connection_write.c ---- */

/* Bytes of replies that are printed and not sent. */
uint32_t mc_connection_unsent(const struct mc_connection *connection);
/* The next reply is there, and there is room for it. A datagram's is one. */
bool mc_connection_may_print(const struct mc_connection *connection);
/* Prints replies, as long as it may, and gives their jobs back. */
void mc_connection_print(struct mc_connection *connection);
/* Sends what the socket takes. */
void mc_connection_write(struct mc_connection *connection);
/* Gives up the buffer of what was to be sent, if it is empty. */
void mc_connection_give_out(struct mc_connection *connection);

/* ---- mc_connection.c ---- */

/* The connection is looked after at the end of the round. */
void mc_connection_mark(struct mc_connection *connection);
