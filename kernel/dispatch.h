/* dispatch.h -- the border guard: checks a record against the handler table, traces it, runs the
 * handler. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/thread_state.h"

/* Executes one record of a job queue. */
void dispatch(struct thread *thread, const uint32_t *record);
