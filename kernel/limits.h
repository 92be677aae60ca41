/* limits.h -- the kernel's default limits, with unit and reason. A node gets them as values, see
 * node_config.h. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/base/signal.h"

/* 1 MB: two of the largest signals fit with room. */
#define JOB_QUEUE_WORDS_DEFAULT   (4u * SIGNAL_EXTENT_MAX)
#define JOB_QUEUE_SIGNALS_DEFAULT 0xFFFFFFFFu /* The words are the limit. */
#define OVERFLOW_SEGMENTS_DEFAULT 64u /* 64 x 512 KB per thread: room for what is admitted. */
#define OVERFLOW_SEGMENT_WORDS    (2u * SIGNAL_EXTENT_MAX)
#define DELAYED_DEFAULT           4096u /* Timers are per block, not per transaction. */
/* Signals to another thread that become visible together, at most. */
#define FLUSH_SIGNALS       16u
#define FLUSH_WORDS_DEFAULT 4096u /* 16 KB: a good size for one system call. */
/* One page per thread and link; larger signals go through a scratch run. */
#define LINK_BUFFER_WORDS    8192u
#define ROUND_BUDGET_DEFAULT 512u /* B signals per round, before sockets are looked at again. */
/* Memory of one LDM for LCPWRITER's and LCPREADER's buffers and zstd states. */
#define LDM_CHECKPOINT_BYTES (5u * 512u * 1024u)
/* What an LDM or a TC takes of RG_TRANSACTION for good: most of it the first page of each pool,
 * with two of its map. */
#define INSTANCE_BYTES (17u * 128u * 1024u)
/* Memory of DIH for the longest system files, and what they say. */
#define SYSTEM_FILES_BYTES  (512u * 1024u)
#define TRACE_SIGNALS       512u /* Last signals kept per thread; power of two. */
#define TRACE_PAYLOAD_WORDS 11u  /* Payload words of an entry, which so is one cache line. */

static_assert(JOB_QUEUE_WORDS_DEFAULT >= 2 * SIGNAL_EXTENT_MAX,
              "a ring must hold a signal that wraps");
static_assert((JOB_QUEUE_WORDS_DEFAULT & (JOB_QUEUE_WORDS_DEFAULT - 1)) == 0,
              "rings are powers of two");
static_assert((TRACE_SIGNALS & (TRACE_SIGNALS - 1)) == 0, "rings are powers of two");
