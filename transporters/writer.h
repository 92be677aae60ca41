/* writer.h -- writes the words of a share of the links, on a thread and a loop of its own. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * A send thread. Transporters that know it (transporter_options.writer) give it the sending half of
 * each link that opens, with a descriptor of its own for the socket; they keep reading. It gives a
 * half back when it meets an error or is asked to, and touches it no more: only then does the
 * transporter report link_down(). docs/protocols/link.md draws who owns what.
 *
 * Every function is called on the thread of `loop`. SIGPIPE is never raised.
 */
struct link_writer;

/* NULL = no memory. */
struct link_writer *link_writer_create(uv_loop_t *loop);

/*
 * Copies packed whole signals into the send buffer of the link to `peer`; they leave with
 * link_writer_flush(). Words for another epoch than that of the open link are dropped. A link whose
 * buffer and reserve are full is closed. The level is told by transporter_callbacks.level, on this
 * thread.
 */
void link_writer_send(struct link_writer *writer, uint32_t peer, uint32_t epoch,
                      const uint32_t *words, uint32_t count);

/* Writes what waits, one system call per link. Call once per round. */
void link_writer_flush(struct link_writer *writer);

/* After transporter_stopped() of all who know it. The loop must run on until link_writer_stopped().
 */
void link_writer_stop(struct link_writer *writer);
bool link_writer_stopped(const struct link_writer *writer);
void link_writer_destroy(struct link_writer *writer);
